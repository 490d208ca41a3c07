"""A corpus whose words are shuffled within each text: the same words, no syntax."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from headscope.corpus.corpus import Corpus
from headscope.corpus.example import Example, Word, join_words

if TYPE_CHECKING:
    import numpy as np

_WORD = re.compile(r"\S+")


def shuffled_words(corpus: Corpus, *, seed: int) -> Corpus:
    """The same corpus with the words of each text in random order.

    Words are those of the annotation, else what stands between white space, which stays where it
    is. The two texts of a pair are shuffled apart. Trees, tags, mentions and frame links no longer
    hold and are dropped; groups stay, so that documents keep their places.

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
    note = f"words shuffled within each text with seed {seed}"

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
    """An example with the words of each of its texts in random order.

    Parameters
    ----------
    example
        The example.
    random
        Decides the order.
    """
    bare = replace(example, mentions=(), links=(), group=example.group or _key(example))
    if not example.words:
        texts = tuple(_shuffled_text(text, random) for text in example.texts)
        return replace(bare, texts=texts)
    words: list[Word] = []
    for segment in sorted({word.segment for word in example.words}):
        own = [word.text for word in example.words if word.segment == segment]
        words += [Word(own[place], segment=segment) for place in random.permutation(len(own))]
    return replace(bare, texts=join_words(tuple(words)), words=tuple(words))


def _shuffled_text(text: str, random: np.random.Generator) -> str:
    words = _WORD.findall(text)
    order = iter(random.permutation(len(words)).tolist())
    return _WORD.sub(lambda _: words[next(order)], text)


def _key(example: Example) -> str:
    """By what an example without a group is put into its bucket."""
    return "\0".join((example.id, *example.texts))
