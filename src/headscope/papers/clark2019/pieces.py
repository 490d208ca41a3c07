"""Counts of tokens, without a forward pass: separators in a text, and words in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from headscope.corpus import Example
from headscope.encode import SEPARATOR, Encoded
from headscope.models import Model


def separator_share(
    model: Model, corpus: Iterable[Example], *, limit: int, max_length: int
) -> float:
    """Compute the share that [SEP] would get if attention were uniform (Section 3.2).

    Parameters
    ----------
    model
        The model, for its tokenizer.
    corpus
        The texts.
    limit, max_length
        Use at most so many texts, cut to so many tokens.

    Returns
    -------
    float
        The mean over texts of the share of visible tokens that are [SEP]; in the paper 1/64. NaN if
        there is no [SEP].
    """
    causal = model.causal(model.main_stack())
    shares = []
    for item in _encoded(model, corpus, limit, max_length):
        separators = item.kind == SEPARATOR
        if causal:
            shares.append((np.cumsum(separators) / np.arange(1, len(item) + 1)).mean())
        else:
            shares.append(separators.mean())
    return float(np.mean(shares)) if any(shares) else float("nan")


def split_share(
    model: Model, corpus: Iterable[Example], *, limit: int | None, max_length: int
) -> float:
    """Compute the share of words that the tokenizer splits into pieces (Section 4.1).

    Parameters
    ----------
    model
        The model, for its tokenizer.
    corpus
        Examples with words.
    limit, max_length
        Use at most so many examples, cut to so many tokens.

    Returns
    -------
    float
        In the paper about 0.08. NaN if there are no words.
    """
    split = words = 0
    for item in _encoded(model, corpus, limit, max_length):
        _, pieces = np.unique(item.word[item.word >= 0], return_counts=True)
        words += len(pieces)
        split += int((pieces > 1).sum())
    return split / words if words else float("nan")


def _encoded(
    model: Model, corpus: Iterable[Example], limit: int | None, max_length: int
) -> Iterator[Encoded]:
    stack = model.main_stack()
    longest = min(max_length, model.longest or max_length)
    encoder = model.encoder(max_length=longest, long="truncate", stack=stack)
    yield from encoder.encode(islice(corpus, limit))
