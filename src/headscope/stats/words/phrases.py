"""Small pieces of English that sentences about heads are made of: counts, lists, shares, p."""

from __future__ import annotations

import math
from collections.abc import Sequence

from headscope.heads import Head

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = (*_SMALL, "eleven", "twelve")
"""Numbers that are written out."""


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a row, with "and" (or another word) before the last.

    >>> listed(["1-3"]), listed(["1-3", "2-9"]), listed(["1-3", "2-9", "3-1"], "or")
    ('1-3', '1-3 and 2-9', '1-3, 2-9 or 3-1')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def in_words(number: int) -> str:
    """A count as people write it: small ones in words.

    >>> in_words(1), in_words(12), in_words(47), in_words(1204)
    ('one', 'twelve', '47', '1,204')
    """
    return _NUMBERS[number] if number < len(_NUMBERS) else f"{number:,}"


def heads_in_words(number: int) -> str:
    """How many heads, at the beginning of a sentence.

    >>> heads_in_words(1), heads_in_words(4), heads_in_words(47)
    ('One head', 'Four heads', '47 heads')
    """
    return f"{capital(in_words(number))} {'head' if number == 1 else 'heads'}"


def capital(text: str) -> str:
    """The same text with a capital letter at the beginning.

    >>> capital("looks at [CLS]")
    'Looks at [CLS]'
    """
    return text[:1].upper() + text[1:]


def in_percent(share: float) -> str:
    """A share in percent; only exactly none and all look like 0 and 100.

    >>> in_percent(0.643), in_percent(0.002), in_percent(0.9989), in_percent(1.0)
    ('64 %', 'less than 1 %', 'more than 99 %', '100 %')
    """
    whole = round(100 * share)
    if whole == 0 and share > 0:
        return "less than 1 %"
    return "more than 99 %" if whole == 100 and share < 1 else f"{whole} %"


def with_interval(share: float, low: float, high: float) -> str:
    """A share in percent with its interval, whose width decides on the digits.

    >>> with_interval(0.7004, 0.696, 0.704), with_interval(0.192, 0.161, 0.231)
    ('70.0 % (69.6 to 70.4)', '19 % (16 to 23)')
    >>> with_interval(0.99871, 0.9982, 0.9991), with_interval(0.5, float("nan"), float("nan"))
    ('99.87 % (99.82 to 99.91)', '50 %')
    """
    percent = 50 * (high - low)
    if not percent >= 0.005:  # not known, or nothing at two decimals
        return in_percent(share)
    places = 0 if percent >= 0.95 else 1 if percent >= 0.095 else 2
    mean, *ends = (f"{100 * value:.{places}f}" for value in (share, low, high))
    return f"{mean} % ({' to '.join(ends)})"


def p_words(p: float) -> str:
    """A p-value; small ones by their power of ten.

    >>> p_words(0.0312), p_words(1.9e-5), p_words(0.0), p_words(0.9999), p_words(math.nan)
    ('p = 0.031', 'p < 1e-4', 'p < 1e-300', 'p = 1.00', 'not tested')
    """
    if math.isnan(p):
        return "not tested"
    if p >= 0.001:
        return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    power = 300 if p < 1e-300 else math.floor(-math.log10(p))
    return f"p < 1e-{power}" if power > 2 else "p < 0.001"


def in_layers(heads: Sequence[str]) -> str:
    """The layers that some heads are in, from the first to the last.

    >>> in_layers(["1-3"]), in_layers(["2-10", "1-3", "3-12"])
    ('layer 1', 'layers 1–3')
    """
    numbers = [Head.parse(head).layer + 1 for head in heads]
    first, last = min(numbers), max(numbers)
    return f"layer {first}" if first == last else f"layers {first}–{last}"
