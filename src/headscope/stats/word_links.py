"""Links between words in the maps that a survey kept, from links between their tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.results.kept import KeptMap, KeptText

Weights = NDArray[np.float64]


def word_weights(found: KeptMap, *, sinks: bool = True) -> Weights:
    """Attention between the words of a kept text (Clark et al. 2019, Section 4.1).

    Parameters
    ----------
    found
        The map.
    sinks
        Whether attention from and to sinks counts. Special tokens are not words, and never do.

    Returns
    -------
    numpy.ndarray
        (word, word): to a word the sum over its tokens, from a word the mean.

    Examples
    --------
    >>> from headscope.results.kept import KeptText
    >>> text = KeptText(1, "1", "", ("[CLS]", "bark", "s"), (-1, 0, 0), ("barks",),
    ...                 (True, False, False), (True, False, False), (-1,), ("root",), (0,), 3)
    >>> counts, keys = np.array([0, 2, 1], np.uint8), np.array([1, 2, 0], np.uint16)
    >>> word_weights(KeptMap(text, 1.0, counts, keys, np.float32([0.5, 0.25, 1.0]))).tolist()
    [[0.375]]
    """
    text, dense = found.text, found.dense().astype(np.float64)
    if not sinks:
        sink = np.array(text.sink, bool)
        dense[sink], dense[:, sink] = 0.0, 0.0
    groups = word_groups(text)
    weights: Weights = (groups / groups.sum(1, keepdims=True)) @ dense @ groups.T
    return weights


def word_groups(text: KeptText) -> Weights:
    """Which tokens make up each word, (word, token)."""
    unit = np.array(text.unit, np.int64)
    return np.asarray(np.arange(len(text.words))[:, None] == unit, np.float64)


def strongest_links(found: KeptMap, count: int) -> list[tuple[int, int, float]]:
    """The strongest links from a word to another; neither is a sink.

    Parameters
    ----------
    found
        The map.
    count
        How many links.

    Returns
    -------
    list of (query, key, weight)
        Words by their place in the text; the strongest first, of equals the first.
    """
    weights = word_weights(found, sinks=False)
    np.fill_diagonal(weights, 0.0)
    order = np.argsort(-weights, axis=None, kind="stable")[:count]
    places = [divmod(int(place), len(weights)) for place in order]
    return [(*place, float(weights[place])) for place in places if weights[place] > 0]


def show_link(text: KeptText, query: int, key: int, weight: float) -> str:
    """A link as people read it: ``the → dog 0.79``."""
    return f"{text.words[query]} → {text.words[key]} {weight:.2f}"


def excerpt(words: Sequence[str], places: Sequence[int], width: int) -> str:
    """The words around some places of a text, as many as fit.

    Parameters
    ----------
    words
        The text.
    places
        What must be seen. If they are too far apart, only the first of them is.
    width
        Characters.

    Examples
    --------
    >>> excerpt("the old dog saw a cat on the mat".split(), [4, 5], 21)
    '… saw a cat on the …'
    """
    if not places:
        places = [0]
    first, last = min(places), max(places) + 1
    room = width - 4
    if len(" ".join(words[first:last])) > room:
        first, last = places[0], places[0] + 1
    while True:
        wider = [
            (begin, end)
            for begin, end in ((first, last + 1), (first - 1, last + 1), (first - 1, last))
            if begin >= 0 and end <= len(words) and len(" ".join(words[begin:end])) <= room
        ]
        if not wider:
            break
        first, last = max(wider, key=lambda span: span[1] - span[0])
    shown = " ".join(words[first:last])[:room]
    return "… " * (first > 0) + shown + " …" * (last < len(words))
