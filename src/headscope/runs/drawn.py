"""Example sentences for Clark et al. 2019, Figures 1 and 5, drawn with their special tokens.

Figure 1 needs a short text on which heads show what they attend to; Figure 5 a sentence on which a
head is right about a dependency relation, and a few sentences in which it finds an antecedent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from headscope.corpus import ROOT, Example, Mention
from headscope.encode import Encoded
from headscope.heads import Head
from headscope.measures import Dependency
from headscope.models import Model
from headscope.runs.examples import LONGEST_INPUT, PASSAGES, HeadExample, fits
from headscope.runs.text_maps import Maps, head_maps, token_names, word_groups

SENTENCES, EXCERPTS = 30, 60
"""Sentences with a relation, and excerpts with an antecedent, that are tried."""
FEWEST, MOST = 8, 22
"""Words of an excerpt."""
SHORT, LONG = 7, 16
"""Words of a text for Figure 1."""
LEAST_WORDS = 3
"""A shorter sentence is often an abbreviation that ends in a full stop ("The U.S.")."""
Task = tuple[int, list[int], list[int]]
"""A word whose attention is asked for, the candidates, and the right answers."""
SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class WordAttention:
    """One head's attention between the words and special tokens of an example.

    Parameters
    ----------
    words
        The words and the special tokens, in their order.
    weights
        (word, word). To a split word the sum over its pieces, from it the mean.
    place
        From the index of a word of the example to its row and column. Words that were cut off, or
        that have no token of their own, are missing.
    """

    words: tuple[str, ...]
    weights: Maps
    place: Mapping[int, int]

    def strongest(self, word: int, candidates: Iterable[int]) -> int | None:
        """The candidate that a word attends to most; of equals, the first. None without any."""
        row = self.weights[self.place[word]]
        known = [other for other in candidates if other in self.place]
        return max(known, key=lambda other: row[self.place[other]], default=None)

    def weight(self, word: int, other: int) -> float:
        """The attention that a word pays to another."""
        return float(self.weights[self.place[word], self.place[other]])


def example_attention(model: Model, example: Example, head: Head) -> WordAttention:
    """Compute the attention of one head on one example, special tokens included.

    Parameters
    ----------
    model
        The model.
    example
        An example with words; cut to 128 tokens.
    head
        The head.

    Returns
    -------
    WordAttention
        Attention between words and special tokens; rows sum to 1.
    """
    stack = model.main_stack()
    longest = min(LONGEST_INPUT, model.longest or LONGEST_INPUT)
    encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
    (encoded,) = encoder.encode([example])
    groups, words, _ = word_groups(encoded, token_names(model, encoded))
    maps = head_maps(model, encoded, stack, (head,), [head.layer], [head.head], groups)
    return WordAttention(tuple(words), maps[0, 0], _places(encoded, groups))


def _places(encoded: Encoded, groups: Maps) -> dict[int, int]:
    """From each word of the example to its place among the groups of tokens."""
    owners = [int(encoded.word[int(group.argmax())]) for group in groups]
    return {word: place for place, word in enumerate(owners) if word >= 0}


def relation_example(
    model: Model, corpus: Iterable[Example], *, relation: str, head: Head, direction: str
) -> HeadExample | None:
    """Find a short sentence on which a head is right about a dependency relation.

    Parameters
    ----------
    model
        The model.
    corpus
        Sentences with trees; the first 30 of fitting length that have the relation are tried.
    relation
        The relation's label, as the measure ``dependency`` has it: ``pobj (SD)`` is made from UD.
    head
        The head.
    direction
        "dependent to head" or "head to dependent".

    Returns
    -------
    HeadExample or None
        The sentence with the largest share of right answers (of equals, with the most attention
        along them), special tokens included; None if no sentence has the relation. The words whose
        answers count are marked.
    """

    upward = direction == "dependent to head"
    measure = Dependency(stanford=True)

    def tasks(example: Example) -> list[Task]:
        found = []
        for arc in measure.arcs(example.words):
            if arc.head == ROOT or relation not in arc.relations:
                continue
            word, answer = (arc.speaker, arc.head) if upward else (arc.head, arc.speaker)
            others = [other for other in range(len(example.words)) if other != word]
            found.append((word, others, [answer]))
        return found

    short = (example for example in corpus if fits(example))
    return _best(model, short, head, tasks, most=SENTENCES)


def antecedent_example(
    model: Model, corpus: Iterable[Example], *, head: Head
) -> HeadExample | None:
    """Find an excerpt of a document in which a head finds the antecedents of mentions.

    Parameters
    ----------
    model
        The model.
    corpus
        Documents with mentions. The first 60 excerpts of 8 to 22 words are tried that have a
        mention with antecedents, none of them with the same head word; only such mentions count. An
        excerpt is one or more whole sentences.
    head
        The head.

    Returns
    -------
    HeadExample or None
        The excerpt with the largest share of right answers, special tokens included; None if no
        excerpt has such a mention. Mentions with an antecedent and their antecedents are marked.
    """

    def tasks(example: Example) -> list[Task]:
        words = [word.text.lower() for word in example.words]
        found = []
        for mention in example.mentions:
            earlier = [other for other in example.mentions if other.head < mention.head]
            right = [other.head for other in earlier if other.entity == mention.entity]
            if right and words[mention.head] not in {words[answer] for answer in right}:
                found.append((mention.head, sorted({one.head for one in earlier}), right))
        return found

    return _best(model, _excerpts(corpus), head, tasks, most=EXCERPTS, both=True)


def _best(
    model: Model,
    corpus: Iterable[Example],
    head: Head,
    tasks: Callable[[Example], list[Task]],
    *,
    most: int,
    both: bool = False,
) -> HeadExample | None:
    """The example on which a head has the largest share of right answers.

    Of equals, the one with the most attention along right answers: there is something to see.
    """
    best: HeadExample | None = None
    for example in islice((one for one in corpus if tasks(one)), most):
        seen = example_attention(model, example, head)
        asked = [
            task
            for task in tasks(example)
            if task[0] in seen.place and any(answer in seen.place for answer in task[2])
        ]
        if not asked:
            continue
        right = []
        for word, among, answers in asked:
            answer = seen.strongest(word, among)
            if answer is not None and answer in answers:
                right.append(seen.weight(word, answer))
        marked = {word for word, _, _ in asked}
        if both:
            marked |= {answer for _, _, answers in asked for answer in answers}
        places = frozenset(seen.place[word] for word in marked if word in seen.place)
        found = HeadExample(
            seen.words, seen.weights, places, len(right), len(asked), round(sum(right), 4)
        )
        if best is None or _rank(found) > _rank(best):
            best = found
    return best


def _rank(example: HeadExample) -> tuple[float, float]:
    return example.right / example.total, example.weight


def _excerpts(corpus: Iterable[Example]) -> Iterator[Example]:
    """The runs of whole sentences that are short enough to draw, document by document."""
    for example in islice(corpus, PASSAGES):
        numbers = sorted({word.sentence for word in example.words})
        for first in range(len(numbers)):
            for last in range(first, len(numbers)):
                chosen = set(numbers[first : last + 1])
                kept = [
                    index for index, word in enumerate(example.words) if word.sentence in chosen
                ]
                if len(kept) > MOST:
                    break
                if len(kept) >= FEWEST:
                    yield _excerpt(example, kept)


def _excerpt(example: Example, kept: list[int]) -> Example:
    """Some words of an example, with the mentions that lie within them."""
    place = {old: new for new, old in enumerate(kept)}
    words = tuple(replace(example.words[old], segment=0, head=None) for old in kept)
    mentions = tuple(
        Mention(place[one.start], place[one.end], place[one.head], one.entity, one.kind)
        for one in example.mentions
        if {one.start, one.end, one.head} <= place.keys()
    )
    text = " ".join(word.text for word in words)
    return Example(f"{example.id}-{kept[0]}", (text,), words, mentions=mentions)


def short_text(corpus: Iterable[Example]) -> tuple[str, ...] | None:
    """Find a text that is short enough for Figure 1: the sentences around a paragraph break.

    Parameters
    ----------
    corpus
        Single texts or pairs; the first 400 are looked at.

    Returns
    -------
    tuple of str or None
        The last sentence of the first text and the first of the second (of single texts, the first
        sentence alone), 7 to 16 words together and at least 3 each. The first such text with a
        comma, else the first.

    Examples
    --------
    >>> pair = ("Far away. It was found in Taiwan.", "The wings are 24 mm, or more. They are blue.")
    >>> short_text([Example("1", pair)])
    ('It was found in Taiwan.', 'The wings are 24 mm, or more.')
    """
    found: tuple[str, ...] | None = None
    for example in islice(corpus, PASSAGES):
        texts = example.texts
        parts = [SENTENCE.split(text.strip()) for text in texts]
        chosen = (parts[0][-1], parts[1][0]) if len(parts) == 2 else (parts[0][0],)
        words = [len(text.split()) for text in chosen]
        if min(words) < LEAST_WORDS or not SHORT <= sum(words) <= LONG:
            continue
        if any("," in text for text in chosen):
            return chosen
        found = found or chosen
    return found
