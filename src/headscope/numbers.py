"""Numbers as people read them: p-values, shares, counts, means and intervals. No torch, no pandas.

Every function takes what a table holds (Python and NumPy numbers, ``None``, NaN, pandas' NA) and
returns text. A value that is missing is shown as an en dash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

MISSING = "–"
"""What stands for a value that is not known or not defined."""
SMALLEST = 0.001
"""Smaller p-values are shown as less than this, and smaller numbers with two significant digits."""
LONG = 40
"""A longer cell is text, even if it is a list of numbers: it is left-aligned and wrapped."""
WRITTEN = re.compile(r"[-+−–±\d.,…()\[\]%<>e*\s]*")
PLACES = ((10.0, 3), (100.0, 2), (1000.0, 1))
"""How many decimals a number under each limit has; larger ones have none."""


def p_value(value: object, *, scientific: bool = False) -> str:
    """Format a p-value; it is never shown as zero.

    Parameters
    ----------
    value
        The p-value, or something missing.
    scientific
        Whether p-values under 0.001 are shown as ``4.8e-66`` instead of ``<0.001``.

    Examples
    --------
    >>> p_value(0.0312), p_value(4.8e-66), p_value(0.0), p_value(float("nan"))
    ('0.031', '<0.001', '<0.001', '–')
    >>> p_value(4.8e-66, scientific=True), p_value(0.0, scientific=True)
    ('4.8e-66', '<1e-300')
    """
    p = _number(value)
    if p is None:
        return MISSING
    if p >= SMALLEST:
        return f"{p:.3f}"
    if not scientific:
        return f"<{SMALLEST}"
    return f"{p:.1e}" if p >= 1e-300 else "<1e-300"


def share(value: object) -> str:
    """Format a share between 0 and 1 so that only exactly none and all look like 0 and 1.

    Parameters
    ----------
    value
        The share, or something missing.

    Examples
    --------
    >>> share(0.43172), share(0.0), share(0.00004), share(0.99999), share(1)
    ('0.432', '0.000', '<0.001', '>0.999', '1.000')
    """
    return _of_whole(value, 1, 3)


def percent(value: object) -> str:
    """Format a share between 0 and 1 in percent, without the sign.

    Parameters
    ----------
    value
        The share, or something missing.

    Examples
    --------
    >>> percent(0.43172), percent(0.0), percent(0.0004), percent(0.9999), percent(None)
    ('43.2', '0.0', '<0.1', '>99.9', '–')
    """
    return _of_whole(value, 100, 1)


def count(value: object) -> str:
    """Format a count: no decimals, thousands separated by commas.

    Parameters
    ----------
    value
        The count, as an integer or as a float that holds one, or something missing.

    Examples
    --------
    >>> count(1204), count(12.0), count(float("nan"))
    ('1,204', '12', '–')
    """
    whole = _number(value)
    return MISSING if whole is None else _unsigned_zero(f"{whole:,.0f}")


def number(value: object, *, signed: bool = False) -> str:
    """Format a mean, a score or a difference with as many digits as are of use.

    Numbers under 10 have three decimals, under 100 two, under 1000 one and larger ones none.
    Numbers under 0.001 have two significant digits, so that a small gradient is not shown as zero.

    Parameters
    ----------
    value
        The number, or something missing.
    signed
        Whether positive numbers have a plus sign, as differences do.

    Examples
    --------
    >>> number(2.34567), number(0.000214), number(34.5678), number(12345.6)
    ('2.346', '0.00021', '34.57', '12,346')
    >>> number(0.0123, signed=True), number(-0.0123, signed=True), number(0.0, signed=True)
    ('+0.012', '-0.012', '0.000')
    """
    known = _number(value)
    if known is None:
        return MISSING
    if math.isinf(known):
        return f"{known:+}" if signed else f"{known}"
    sign = "+" if signed and known > 0 else ""
    if 0 < abs(known) < SMALLEST:
        return f"{sign}{known:.2g}"
    return sign + _unsigned_zero(f"{known:,.{_places(known)}f}")


def decimals(value: object, places: int = 0, *, sign: str = "", times: float = 1) -> str:
    """Format a number with so many decimals, whatever its size.

    Parameters
    ----------
    value
        The number, or something missing.
    places
        How many.
    sign
        "+" to show the sign of positive numbers, too.
    times
        What the number is multiplied by: 100 shows a share in percent.

    Examples
    --------
    >>> decimals(0.12345, 1, times=100), decimals(0.02, 4, sign="+"), decimals(None, 2)
    ('12.3', '+0.0200', '–')
    """
    known = _number(value)
    return MISSING if known is None else f"{times * known:{sign}.{places}f}"


def interval(low: object, high: object, *, form: Callable[[object], str] | None = None) -> str:
    """Format the two ends of an interval.

    Parameters
    ----------
    low, high
        The ends. An interval without any known end is missing.
    form
        How each end is formatted, by default :func:`number` with as many decimals at both ends.

    Examples
    --------
    >>> interval(0.5958, 0.98213), interval(-0.2, 10.5), interval(float("nan"), float("nan"))
    ('[0.596, 0.982]', '[-0.200, 10.500]', '–')
    >>> interval(0.99991, 1.0, form=share)
    '[>0.999, 1.000]'
    """
    ends = [_number(end) for end in (low, high)]
    known = [end for end in ends if end is not None]
    if not known:
        return MISSING
    if form is not None:
        texts = [form(end) for end in ends]
    elif all(end == 0 or abs(end) >= SMALLEST for end in known if math.isfinite(end)):
        places = max((_places(end) for end in known if math.isfinite(end)), default=0)
        texts = [MISSING if end is None else _unsigned_zero(f"{end:,.{places}f}") for end in ends]
    else:
        texts = [number(end) for end in ends]
    return f"[{texts[0]}, {texts[1]}]"


def is_words(text: object) -> bool:
    """Whether a cell holds words, which tables align on the left: not a head, nor written numbers.

    >>> is_words("det"), is_words("3-9"), is_words("26.3 (1)"), is_words("[0.1, 0.2]"), is_words(3)
    (True, False, False, False, False)
    """
    return isinstance(text, str) and (not WRITTEN.fullmatch(text) or len(text) > LONG)


def cell(value: object, column: str = "") -> str:
    """Format a value of a table by its type and by the name of its column.

    Columns called "p", or whose names begin with "p " or "p_" (p corrected, p over nearest), hold
    p-values. Whole numbers are shown as counts, other numbers by :func:`number`, text as it is.

    Parameters
    ----------
    value
        What the table holds.
    column
        The name of its column.

    Examples
    --------
    >>> cell(4.8e-66, "p corrected"), cell(1204, "words"), cell(0.4317, "mean"), cell("3-9")
    ('<0.001', '1,204', '0.432', '3-9')
    >>> cell(True), cell(None), cell(12.0, "heads")
    ('yes', '–', '12')
    """
    if isinstance(value, str):
        return value
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, (str, bool)):
        return item if isinstance(item, str) else "yes" if item else "no"
    if item is not None and not isinstance(item, (int, float)) and _number(item) is None:
        # pandas' NA and NaT, by their names: pandas is not imported here.
        return MISSING if type(item).__name__ in ("NAType", "NaTType") else str(item)
    if column == "p" or column.startswith(("p ", "p_")):
        return p_value(item)
    known = _number(item)
    return count(known) if known is None or known.is_integer() else number(known)


def _of_whole(value: object, whole: int, places: int) -> str:
    """A part of something: only exactly none and all of it look like that."""
    part = _number(value)
    if part is None:
        return MISSING
    text, least = f"{whole * part:.{places}f}", 10.0**-places
    if float(text) == 0 and part > 0:
        return f"<{least:.{places}f}"
    if float(text) == whole and part < 1:
        return f">{whole - least:.{places}f}"
    return _unsigned_zero(text)


def _number(value: object) -> float | None:
    """The value as a float; None where it is missing or not a number."""
    try:
        known = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):  # None, pandas' NA, text
        return None
    return None if math.isnan(known) else known


def _places(value: float) -> int:
    """How many decimals a number has; rounding may lift it over a limit."""
    return next((places for limit, places in PLACES if round(abs(value), places) < limit), 0)


def _unsigned_zero(text: str) -> str:
    """Drop the sign of a number that was rounded to zero."""
    return text.lstrip("-") if not text.strip("-0.,") else text
