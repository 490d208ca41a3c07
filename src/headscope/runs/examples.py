"""Texts on which a head does what it does: found in a whole corpus, and drawn by papers' recipes.

Kovaleva et al. 2019, Figure 3, needs a short sentence on which a head attends along a frame. Clark
et al. 2019, Figure 1, needs a short text on which heads show what they attend to; Figure 5 a
sentence on which a head is right about a dependency relation, and a few sentences in which it finds
an antecedent, both with their special tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import ROOT, Corpus, Example, Mention, Word
from headscope.encode import Batch, Counts, work_units
from headscope.heads import Head, HeadLike
from headscope.measures import Dependency
from headscope.measures.base import Context
from headscope.models import LayerView, Model
from headscope.options import Pass
from headscope.progress import Reporter
from headscope.results.kept import SCALE, KeptMap
from headscope.runs.keeping import (
    WINDOW,
    away,
    kept_text,
    largest,
    rows_and_keys,
    sparse_map,
    working,
)
from headscope.runs.looking import ExampleOptions
from headscope.runs.preparing import check_not_cross
from headscope.runs.survey.work import SurveyWork
from headscope.runs.text_maps import Maps, head_maps, token_names, word_groups
from headscope.stats.tables.examples import example_table

LONGEST_INPUT = 128
"""Tokens of a sentence; the rest is cut."""
PASSAGES = 400
"""Examples of a corpus that are cut into sentences."""
FRAMES = 60
"""Sentences with a frame that are tried."""
FEWEST_WORDS, MOST_WORDS = 5, 13
"""Shorter and longer sentences are not drawn."""

Map = NDArray[np.float32]


@dataclass(frozen=True)
class HeadExample:
    """A sentence on which a head does something, with the head's word map.

    Parameters
    ----------
    words
        The words of the sentence, and special tokens where they are drawn.
    attention
        (word, word): the head's attention, with a row and a column for each of ``words``.
    marked
        The positions of the words that are joined by the relation.
    right, total
        How many of the relation's arcs the head finds, and how many there are.
    weight
        The attention along those that it finds, summed.
    target
        The positions of the words of a frame's target.
    """

    words: tuple[str, ...]
    attention: Map
    marked: frozenset[int]
    right: int = 1
    total: int = 1
    weight: float = 0.0
    target: frozenset[int] = frozenset()


def frame_example(model: Model, corpus: Iterable[Example], *, head: Head) -> HeadExample | None:
    """Find the short sentence in which a head attends most along a frame link, either way.

    Parameters
    ----------
    model
        The model.
    corpus
        Sentences with frame links; the first 60 of fitting length are tried.
    head
        The head.

    Returns
    -------
    HeadExample or None
        The sentence with target and element marked; None if no sentence has a frame link.
    """
    best: HeadExample | None = None
    most = -1.0
    for example in islice((text for text in corpus if text.links and fits(text)), FRAMES):
        seen = example_attention(model, example, head)
        kept = sorted(seen.place)
        places = [seen.place[word] for word in kept]
        weights = seen.weights[np.ix_(places, places)]
        for link in example.links:
            target, element = (
                [kept.index(word) for word in range(start, end + 1) if word in seen.place]
                for start, end in (link.target, link.filler)
            )
            if not (target and element):
                continue
            both = weights[np.ix_(target, element)], weights[np.ix_(element, target)]
            strongest = max(float(part.max()) for part in both)
            if strongest > most:
                words = tuple(example.words[word].text for word in kept)
                marked = frozenset(target + element)
                best = HeadExample(words, weights, marked, target=frozenset(target))
                most = strongest
    return best


def fits(example: Example) -> bool:
    """Whether a sentence is short enough to draw, and not too short."""
    return FEWEST_WORDS <= len(example.words) <= MOST_WORDS


def sentences(corpus: Iterable[Example]) -> Iterator[Example]:
    """Cut passages into sentences that keep their trees.

    Parameters
    ----------
    corpus
        Examples with words; the first 400 are cut.

    Yields
    ------
    Example
        One sentence.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> first = next(sentences(read("demo", limit=1)))
    >>> sum(word.head == ROOT for word in first.words)
    1
    """
    for example in islice(corpus, PASSAGES):
        numbers = sorted({word.sentence for word in example.words})
        if len(numbers) < 2:
            yield example
            continue
        for number in numbers:
            kept = [index for index, word in enumerate(example.words) if word.sentence == number]
            moved = {old: new for new, old in enumerate(kept)}
            words = tuple(_moved(example.words[old], moved) for old in kept)
            text = " ".join(word.text for word in words)
            yield Example(f"{example.id}-{number}", (text,), words, group=example.group)


def _moved(word: Word, moved: dict[int, int]) -> Word:
    """A word in a sentence of its own: its head word has another index."""
    head = word.head if word.head is None or word.head == ROOT else moved.get(word.head, ROOT)
    return replace(word, segment=0, sentence=0, head=head)


def find_examples(
    model: Model, corpus: Corpus, head: HeadLike, options: ExampleOptions
) -> pd.DataFrame:
    """The examples of :func:`headscope.examples`."""
    chosen = model.shape(options.stack or model.main_stack()).parse(Head.parse(head))[0]
    maps = corpus_maps(model, corpus, chosen, Pass.of(options), options.reporter)
    return example_table(list(maps), str(chosen), relation=options.relation, k=options.top)


def corpus_maps(
    model: Model, corpus: Corpus, head: Head, settings: Pass, reporter: Reporter
) -> Iterator[KeptMap]:
    """What one head attends to in every example of a corpus whose attention is finite.

    Parameters
    ----------
    model, corpus
        The model, and what it is run on.
    head
        The head.
    settings
        How the corpus is run through the model.
    reporter
        Shows how far it is.
    """
    stack = settings.stack or model.main_stack()
    check_not_cross(stack, "so it has no examples")
    context = Context(model.shape(stack), model.causal(stack))
    work = SurveyWork(model, [], stack, context, settings, examples=1)
    counts, size = Counts(), corpus.size()
    with reporter.progress("looking for examples") as update:
        for unit in work_units(corpus, size=settings.batch_size):
            for batch in work.batches(unit, counts):
                yield from _batch_maps(model, batch, head, stack, work.keys)
            update(min(counts.read, size), size)


def _batch_maps(
    model: Model, batch: Batch, head: Head, stack: str, keys: dict[int, int]
) -> Iterator[KeptMap]:
    window = HeadWindow(head, stack, batch, model)
    with torch.inference_mode():
        model.forward(batch, listeners=[window], stack=stack)
    scores, codes = window.found()
    for item, score, code in zip(batch.items, scores.tolist(), codes.numpy(), strict=True):
        if np.isfinite(score):
            text = kept_text(model, item, keys[id(item)], WINDOW)
            sparse = sparse_map(code, len(text.tokens))
            weights = sparse.weights.astype(np.float32) / np.float32(SCALE)
            yield KeptMap(text, score, sparse.counts, sparse.keys, weights)


class HeadWindow:
    """Listens to one head: its scores, and the first rows of its maps.

    Parameters
    ----------
    head, stack
        Which head.
    batch, model
        What it is run on.
    """

    whole_maps = False

    def __init__(self, head: Head, stack: str, batch: Batch, model: Model) -> None:
        self.head, self.stack = head, stack
        self.counted, self.open_keys = map(torch.from_numpy, rows_and_keys(batch))
        self.window = self.counted.shape[1]
        self.blocks: list[Tensor] = []
        self.scores: list[Tensor] = []

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Keep the rows of the window."""
        rows = min(block.shape[2], self.window - first_row)
        if view.stack != self.stack or view.layer != self.head.layer or rows <= 0:
            return
        block = block[:, self.head.head : self.head.head + 1, :rows].float().contiguous()
        open_keys = self.open_keys.to(block.device)
        counted = self.counted[:, first_row : first_row + rows].to(block.device)
        strength = away(block, open_keys, first_row, working(block, open_keys))[:, 0]
        # Padded rows may hold NaN.
        self.scores.append(torch.where(counted > 0, strength, 0.0).sum(1))
        self.blocks.append(block[:, 0, :, : self.window].clone())

    def end(self, view: LayerView) -> None:
        """Nothing is left to do."""

    def found(self) -> tuple[Tensor, Tensor]:
        """The score of each example (NaN without words), and its map as numbers."""
        scores = torch.stack(self.scores).sum(0).cpu() / self.counted.sum(1)
        return scores, largest(torch.cat(self.blocks, 1)).cpu()


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
    maps, *_ = head_maps(model, encoded, stack, (head,), groups)
    owners = [int(encoded.word[int(group.argmax())]) for group in groups]
    places = {word: place for place, word in enumerate(owners) if word >= 0}
    return WordAttention(tuple(words), maps[0, 0], places)


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
        listed = []
        for arc in measure.arcs(example.words):
            if arc.head == ROOT or relation not in arc.relations:
                continue
            word, answer = (arc.speaker, arc.head) if upward else (arc.head, arc.speaker)
            others = [other for other in range(len(example.words)) if other != word]
            listed.append((word, others, [answer]))
        return listed

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
        listed = []
        for mention in example.mentions:
            earlier = [other for other in example.mentions if other.head < mention.head]
            right = [other.head for other in earlier if other.entity == mention.entity]
            if right and words[mention.head] not in {words[answer] for answer in right}:
                listed.append((mention.head, sorted({other.head for other in earlier}), right))
        return listed

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
    for example in islice((fitting for fitting in corpus if tasks(fitting)), most):
        seen = example_attention(model, example, head)
        answerable = [
            task
            for task in tasks(example)
            if task[0] in seen.place and any(answer in seen.place for answer in task[2])
        ]
        if not answerable:
            continue
        right = []
        for word, among, answers in answerable:
            answer = seen.strongest(word, among)
            if answer is not None and answer in answers:
                right.append(seen.weight(word, answer))
        marked = {word for word, _, _ in answerable}
        if both:
            marked |= {answer for _, _, answers in answerable for answer in answers}
        places = frozenset(seen.place[word] for word in marked if word in seen.place)
        candidate = HeadExample(
            seen.words, seen.weights, places, len(right), len(answerable), round(sum(right), 4)
        )
        if best is None or _rank(candidate) > _rank(best):
            best = candidate
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
    moved = {old: new for new, old in enumerate(kept)}
    words = tuple(replace(example.words[old], segment=0, head=None) for old in kept)
    mentions = tuple(
        Mention(moved[one.start], moved[one.end], moved[one.head], one.entity, one.kind)
        for one in example.mentions
        if {one.start, one.end, one.head} <= moved.keys()
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
    first: tuple[str, ...] | None = None
    for example in islice(corpus, PASSAGES):
        parts = [SENTENCE.split(text.strip()) for text in example.texts]
        chosen = (parts[0][-1], parts[1][0]) if len(parts) == 2 else (parts[0][0],)
        words = [len(text.split()) for text in chosen]
        if min(words) < LEAST_WORDS or not SHORT <= sum(words) <= LONG:
            continue
        if any("," in text for text in chosen):
            return chosen
        first = first or chosen
    return first
