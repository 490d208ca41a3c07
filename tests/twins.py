"""Slow twins: each measure as plain loops over one example's map, written from METHODS.md and from nothing else.

A map is a list of rows, ``map[i][j]`` the attention from token i to token j, real tokens only. NaN is "not defined".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, nan

from headscope.encode import SEPARATOR, START

Map = Sequence[Sequence[float]]


def position(map: Map, *, causal: bool = False) -> dict[str, float]:
    """C2: mean attention to the previous, the current and the next token, over the tokens that have one; no next token in a causal model."""
    found = {}
    for name, step in (("previous", -1), ("current", 0), ("next", 1)):
        total, count = 0.0, 0
        for query in range(len(map)):
            key = query + step
            if 0 <= key < len(map):
                total += map[query][key]
                count += 1
        found[name] = total / count if count and not (causal and step == 1) else nan
    return found


def special(map: Map, kinds: Sequence[int], stops: Sequence[bool]) -> dict[tuple[str, str], float]:
    """C3: mean attention to [CLS], to all [SEP]s together, to "." and "," together, from all rows, from [SEP] rows and from all others."""
    found = {}
    for token in ("cls", "sep", "punctuation"):
        for row in ("all", "sep", "other"):
            total, count, columns = 0.0, 0, 0
            for key in range(len(map)):
                if _is(token, kinds[key], stops[key]):
                    columns += 1
            for query in range(len(map)):
                if row == "all" or (kinds[query] == SEPARATOR) == (row == "sep"):
                    count += 1
                    for key in range(len(map)):
                        if _is(token, kinds[key], stops[key]):
                            total += map[query][key]
            found[token, row] = total / count if count and columns else nan
    return found


def _is(token: str, kind: int, stop: bool) -> bool:
    return {"cls": kind == START, "sep": kind == SEPARATOR, "punctuation": bool(stop)}[token]


def entropy(map: Map, kinds: Sequence[int], *, causal: bool = False) -> dict[str, float]:
    """C5: mean over rows of -Σ α ln α; of the [CLS] row alone; and of uniform attention to what a token sees (ln L where it sees all)."""
    rows, starts, uniform = [], [], []
    for query in range(len(map)):
        total = 0.0
        for weight in map[query]:
            if weight > 0.0:
                total -= weight * log(weight)
        rows.append(total)
        if kinds[query] == START:
            starts.append(total)
        uniform.append(log(query + 1) if causal else log(len(map)))
    return {"all": sum(rows) / len(rows), "cls": sum(starts) / len(starts) if starts else nan, "uniform": sum(uniform) / len(uniform)}


def word_map(map: Map, words: Sequence[int]) -> tuple[list[int], list[list[float]], list[list[float]]]:
    """C6: the words with a piece, in order; the attention from each to each (mean over its pieces of the sum over the other's); and to each token that is no word."""
    order: list[int] = []
    for word in words:
        if word >= 0 and word not in order:
            order.append(word)
    order.sort()
    others = [token for token in range(len(map)) if words[token] < 0]
    between, outside = [], []
    for source in order:
        pieces = [token for token in range(len(map)) if words[token] == source]
        between.append([sum(map[query][key] for query in pieces for key in range(len(map)) if words[key] == target) / len(pieces) for target in order])
        outside.append([sum(map[query][key] for query in pieces) / len(pieces) for key in others])
    return order, between, outside


def mean(values: Sequence[float]) -> tuple[float, int]:
    """The mean of the values that are defined, and how many are."""
    known = [value for value in values if value == value]
    return (sum(known) / len(known) if known else nan), len(known)
