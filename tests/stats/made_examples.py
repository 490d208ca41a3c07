"""Kept examples made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from headscope.results.kept import KeptMap, KeptText

Link = tuple[int, int]


def text_of(
    words: Sequence[tuple[str, int, str]],
    *,
    number: int = 1,
    pieces: Mapping[int, Sequence[str]] | None = None,
    sentences: Sequence[int] | None = None,
) -> KeptText:
    """A text between [CLS] and [SEP]: words with their heads and relations, some in pieces."""
    tokens, unit = ["[CLS]"], [-1]
    for place, (word, _, _) in enumerate(words):
        for piece in (pieces or {}).get(place, [word]):
            tokens.append(piece)
            unit.append(place)
    tokens.append("[SEP]")
    unit.append(-1)
    special = [one < 0 for one in unit]
    return KeptText(
        number,
        f"text {number}",
        "",
        tuple(tokens),
        tuple(unit),
        tuple(word for word, _, _ in words),
        tuple(special),
        tuple(bad or token in {".", ","} for bad, token in zip(special, tokens, strict=True)),
        tuple(head for _, head, _ in words),
        tuple(relation for _, _, relation in words),
        tuple(sentences or [0] * len(words)),
        len(tokens),
    )


def map_of(text: KeptText, links: Mapping[Link, float], score: float = 0.5) -> KeptMap:
    """A map from links between tokens, by their places."""
    rows: list[list[tuple[float, int]]] = [[] for _ in text.tokens]
    for (query, key), weight in links.items():
        rows[query].append((-weight, key))
    ordered = [sorted(row) for row in rows]
    return KeptMap(
        text,
        score,
        np.array([len(row) for row in ordered], np.uint8),
        np.array([key for row in ordered for _, key in row], np.uint16),
        np.array([-weight for row in ordered for weight, _ in row], np.float32),
    )
