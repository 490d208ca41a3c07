"""A corpus whose words are shuffled within each sentence, while the tree stays where it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from headscope.corpus.corpus import Corpus
from headscope.corpus.example import Example, join_words

if TYPE_CHECKING:
    import numpy as np

_WORD = re.compile(r"\S+")


def shuffled_words(corpus: Corpus, *, seed: int) -> Corpus:
    """The same corpus with the words of each sentence in random order, and its trees kept.

    What belongs to a word moves with it: its text, tags, lemma and features. What joins positions
    stays: heads and relations of the tree, the spans, entities and kinds of mentions, and frame
    links. The subject of a shuffled sentence is therefore whatever word now stands where the
    subject stood, and a head that still finds it follows positions, not words. All measures stay
    defined; those that read words as well (the coreference baselines that compare strings, links
    between verbs and subjects) find what the moved words give.

    Words are those of the annotation. Text without annotation has no known sentences: what stands
    between white space, which stays where it is, is shuffled within each text. The two texts of a
    pair are shuffled separately. Groups stay, so that documents keep their buckets.

    Parameters
    ----------
    corpus
        The corpus.
    seed
        Of the random order. Each example has a seed of its own, made of this and its number.

    Returns
    -------
    Corpus
        Its notes and its checksum name the seed.

    Examples
    --------
    >>> from headscope.corpus import read
    >>> corpus = read(["the cat saw the old dog"])
    >>> (example,) = shuffled_words(corpus, seed=0)
    >>> sorted(example.texts[0].split())
    ['cat', 'dog', 'old', 'saw', 'the', 'the']
    """
    note = f"words shuffled within each sentence, trees kept, with seed {seed}"

    def source() -> Iterator[Example]:
        import numpy as np

        for number, example in enumerate(corpus.source()):
            yield shuffled_example(example, np.random.default_rng([seed, number]))

    return corpus.derived(
        note,
        source,
        name=f"{corpus.name} (words shuffled)",
        rough=corpus.rough,
        limit=corpus.limit,
        remarks=lambda: (*corpus.notes, note),
    )


def shuffled_example(example: Example, random: np.random.Generator) -> Example:
    """An example with the words of each of its sentences in random order.

    Parameters
    ----------
    example
        The example.
    random
        Decides the order.

    Examples
    --------
    >>> import numpy as np
    >>> from headscope.corpus import Word
    >>> words = (Word("dogs", head=1, relation="nsubj"), Word("bark", head=-1, relation="root"))
    >>> mixed = shuffled_example(Example("1", ("dogs bark",), words), np.random.default_rng(3))
    >>> [(word.text, word.relation) for word in mixed.words]
    [('bark', 'nsubj'), ('dogs', 'root')]
    """
    example = replace(example, group=example.group or _key(example))
    if not example.words:
        return replace(example, texts=tuple(_shuffled_text(text, random) for text in example.texts))
    sentences: dict[tuple[int, int], list[int]] = {}
    for place, word in enumerate(example.words):
        sentences.setdefault((word.segment, word.sentence), []).append(place)
    words = list(example.words)
    for places in sentences.values():
        for place, moved in zip(places, random.permutation(places).tolist(), strict=True):
            stays = example.words[place]
            words[place] = replace(example.words[moved], head=stays.head, relation=stays.relation)
    return replace(example, texts=join_words(tuple(words)), words=tuple(words))


def _shuffled_text(text: str, random: np.random.Generator) -> str:
    words = _WORD.findall(text)
    order = iter(random.permutation(len(words)).tolist())
    return _WORD.sub(lambda _: words[next(order)], text)


def _key(example: Example) -> str:
    """By what an example without a group is put into its bucket."""
    return "\0".join((example.id, *example.texts))
