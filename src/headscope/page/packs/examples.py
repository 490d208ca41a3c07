"""Examples of every head for the page: texts once, and one pack of sparse maps per head."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.heads import Head
from headscope.page.packs.pack import pack
from headscope.page.packs.sample_words import SampleWords
from headscope.page.schema import ExampleKind, HeadExample, Text
from headscope.results import Atlas
from headscope.results.kept import SCALE, KeptMap, KeptText

STRONG: ExampleKind = "strong"
TYPICAL: ExampleKind = "typical"
WEAK: ExampleKind = "weak"
RANDOM: ExampleKind = "random"
QUOTA: dict[ExampleKind, int] = {STRONG: 3, TYPICAL: 3, WEAK: 1, RANDOM: 3}
"""How many examples of each kind a head has at most, in the order in which the page shows them."""
LEVEL = 4
"""How hard gzip tries: there is one pack per head."""


class Chosen(NamedTuple):
    """An example of a head."""

    kind: ExampleKind
    rank: int
    map: KeptMap


def example_packs(atlas: Atlas, *, most: int | None = 10) -> dict[str, bytes]:
    """The packs ``texts`` and ``head/3-9`` of every head, by name.

    Parameters
    ----------
    atlas
        Results of a survey.
    most
        The largest number of examples of a head; None for all that were kept.

    Returns
    -------
    dict of bytes
        Nothing if the results keep no examples.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks."], measures="position")
    >>> sorted(example_packs(atlas))[:3]
    ['head/1-1', 'head/1-10', 'head/1-11']
    """
    try:
        kept = atlas.kept
    except UserError:
        return {}
    if not kept.texts:
        return {}
    lottery, texts = Lottery(kept.texts), _Numbered()
    words: SampleWords | None = None
    made: dict[str, Future[bytes]] = {}
    with ThreadPoolExecutor(1) as pool:  # one head is compressed while the next one is counted
        for head in map(str, _heads(atlas)):
            sample = kept.sample(head)
            words = words or SampleWords([one.text for one in sample])
            chosen = choose(kept.strongest(head), sample, lottery, most=most)
            numbers = [texts.number(one.map.text) for one in chosen]
            about = words.top(sample) | {"sample": len(sample)}
            arrays = dict(zip(("histogram", "uniform"), kept.histogram(head)[1:], strict=True))
            made[head] = pool.submit(_head_pack, chosen, numbers, about, arrays)
    packs = {"texts": pack({"texts": [_text(text) for text in texts.texts]}, {})}
    return packs | {f"head/{head}": one.result() for head, one in made.items()}


class _Numbered:
    """Texts, numbered from 0 as they are first used."""

    def __init__(self) -> None:
        self.texts: list[KeptText] = []
        self._numbers: dict[int, int] = {}

    def number(self, text: KeptText) -> int:
        found = self._numbers.setdefault(id(text), len(self.texts))
        if found == len(self.texts):
            self.texts.append(text)
        return found


def _heads(atlas: Atlas) -> list[Head]:
    layers, heads = atlas.layers, range(atlas.shape[1])
    return [Head(layer - 1, head) for layer in layers for head in heads]


class Lottery:
    """A fixed order of texts that has nothing to do with any head, the same on every computer.

    Parameters
    ----------
    texts
        All texts that may be drawn.
    """

    def __init__(self, texts: Iterable[KeptText]) -> None:
        self._ticket = {
            id(text): zlib.crc32(f"{text.number} {text.id}".encode("utf-8", "replace"))
            for text in texts
        }

    def __call__(self, one: KeptMap) -> int:
        """The place of a map's text in the order."""
        return self._ticket[id(one.text)]


def choose(
    strongest: list[KeptMap], sample: list[KeptMap], lottery: Lottery, *, most: int | None
) -> list[Chosen]:
    """The examples of a head that the page shows, no text twice.

    Parameters
    ----------
    strongest
        The strongest examples of the whole corpus, the strongest first.
    sample
        A random sample, the strongest first.
    lottery
        The order in which random examples are drawn.
    most
        The largest number of examples; None for all.

    Returns
    -------
    list of Chosen
        Strong, typical (nearest the median score of the sample), weak (the lowest score over 0)
        and random ones. A rank counts from 1: among all examples for strong ones, in the sample
        for others.
    """
    ranked = [(rank, one) for rank, one in enumerate(sample, start=1)]
    scores = np.array([one.score for one in sample])
    median = float(np.median(scores)) if len(scores) else 0.0
    candidates = {
        STRONG: [(rank, one) for rank, one in enumerate(strongest, start=1)],
        TYPICAL: sorted(ranked, key=lambda pair: abs(pair[1].score - median)),
        WEAK: [pair for pair in reversed(ranked) if pair[1].score > 0],
        RANDOM: sorted(ranked, key=lambda pair: lottery(pair[1])),
    }
    found: dict[ExampleKind, list[Chosen]] = {kind: [] for kind in QUOTA}
    seen: set[int] = set()
    for kind, wanted in _turns(most):
        for rank, one in candidates[kind]:
            if len(found[kind]) >= wanted or (most is not None and len(seen) >= most):
                break
            if id(one.text) not in seen:
                seen.add(id(one.text))
                found[kind].append(Chosen(kind, rank, one))
    return [one for some in found.values() for one in sorted(some, key=lambda item: item.rank)]


def _turns(most: int | None) -> list[tuple[ExampleKind, int]]:
    """Which kind takes its pick when, and how many examples it may have by then.

    Kinds take turns, so that a small number of examples still has one of each kind.
    """
    turns = [
        (kind, turn)
        for turn in range(1, max(QUOTA.values()) + 1)
        for kind, quota in QUOTA.items()
        if turn <= quota
    ]
    if most is not None and most <= sum(QUOTA.values()):
        return turns
    everything = 1 << 30
    return [*turns, (STRONG, everything), (RANDOM, everything)]


def _head_pack(
    chosen: list[Chosen],
    texts: list[int],
    about: dict[str, Any],
    more: dict[str, NDArray[Any]],
) -> bytes:
    """The pack of one head: its examples with the numbers of their texts, and what is known of the
    sample.
    """
    examples: list[HeadExample] = []
    row = link = 0
    for (kind, rank, one), text in zip(chosen, texts, strict=True):
        example: HeadExample = {
            "text": text,
            "kind": kind,
            "rank": rank,
            "score": round(float(one.score), 5),
            "row": row,
            "rows": len(one.counts),
            "link": link,
        }
        examples.append(example)
        row += len(one.counts)
        link += len(one.keys)
    arrays: dict[str, NDArray[Any]] = {
        "counts": _joined([one.map.counts for one in chosen], np.uint8),
        "keys": _joined([one.map.keys for one in chosen], np.uint16),
        "weights": _joined([np.rint(one.map.weights * SCALE) for one in chosen], np.uint16),
    }
    return pack({"examples": examples} | about, arrays | more, level=LEVEL)


def _joined(parts: list[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _text(text: KeptText) -> Text:
    return {
        "id": text.id,
        "tokens": list(text.tokens),
        "unit": list(text.unit),
        "words": list(text.words),
        "special": [int(one) for one in text.special],
        "sink": [int(one) for one in text.sink],
        "head": list(text.head),
        "relation": list(text.relation),
        "length": text.length,
    }
