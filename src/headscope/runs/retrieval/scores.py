"""The arithmetic of retrieval: a head's score on one answer, and how much of an answer is right."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray


def retrieval_scores(
    top_keys: NDArray[np.int64],
    written: NDArray[np.int64],
    prompt: NDArray[np.int64],
    span: tuple[int, int],
) -> NDArray[np.float32]:
    """The share of the answer's tokens that each head copied (Wu et al. 2024, section 2).

    A head copies a token of the answer if, in the step in which the model writes that very token,
    the head attends to it more than to any other token. Each token of the answer counts once.

    Parameters
    ----------
    top_keys
        The place of the token with the most attention, (step, layer, head).
    written
        The token that each step wrote, (step,).
    prompt
        The tokens that were read, (token,).
    span
        The first token of the answer in the prompt, and the one after its last.

    Returns
    -------
    ndarray of float32, (layer, head)
        From 0 to 1.

    Examples
    --------
    One head looks at places 2 and 3 while tokens 7 and 8 are written; only place 2 holds what is
    written then.

    >>> top_keys = np.array([[[2]], [[3]]])
    >>> prompt = np.array([5, 6, 7, 9])
    >>> retrieval_scores(top_keys, np.array([7, 8]), prompt, span=(2, 4)).tolist()
    [[0.5]]
    """
    start, stop = span
    found = np.zeros((*top_keys.shape[1:], stop - start), np.bool_)
    for places, token in zip(top_keys, written, strict=True):
        inside = (places >= start) & (places < stop)
        same = prompt[np.where(inside, places, start)] == token
        layers, heads = np.nonzero(inside & same)
        found[layers, heads, places[layers, heads] - start] = True
    return np.asarray(found.mean(-1), np.float32)


def unigram_recall(answer: str, written: str) -> float:
    """The share of the answer's words that were written (ROUGE-1 recall, without stemming).

    Parameters
    ----------
    answer
        The right answer.
    written
        What the model wrote.

    Examples
    --------
    >>> unigram_recall("a jar of honey", "It is a jar of jam.")
    0.75
    """
    wanted, given = (Counter(re.findall(r"\w+", text.lower())) for text in (answer, written))
    return (wanted & given).total() / max(wanted.total(), 1)
