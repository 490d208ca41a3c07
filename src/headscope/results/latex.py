"""Tables for LaTeX documents: booktabs rules, aligned numbers, and text that cannot do harm."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import pandas as pd

from headscope.numbers import MISSING, SMALLEST, cell, p_value

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    # After the end of a row, [ would begin a length and * forbid a page break.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
"""Characters that mean something to LaTeX, and how they are printed."""
SYMBOLS = {
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "−": "$-$",
    "×": r"$\times$",
    "→": r"$\rightarrow$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∂": r"$\partial$",
    "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "ξ": r"$\xi$",
    "ρ": r"$\rho$",
    "τ": r"$\tau$",
    "§": r"\S{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "\u00a0": "~",
}
"""Characters of Headscope's tables that plain LaTeX fonts do not have."""
JOINED = frozenset("-'`,?!")
"""Characters that LaTeX joins with their neighbours: two hyphens become a dash."""
DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Categories of characters that cannot be printed."""
MOST_PLACES = 3


def to_latex(frame: pd.DataFrame, caption: str = "", label: str = "") -> str:
    r"""Write a data frame as a LaTeX table with booktabs rules.

    All text is escaped, whatever it holds. The numbers of a column have the same number of
    decimals, so that they are aligned; a column of p-values (its name is ``p``, or begins with
    ``p`` and a space or underscore) shows small ones as less than 0.001.

    Parameters
    ----------
    frame : DataFrame
        Its columns become columns; its index is not written.
    caption : str, optional
        Above the table.
    label : str, optional
        For ``\ref``; characters other than letters, digits and ``:._-`` are dropped.

    Returns
    -------
    str
        A ``tabular``, inside a ``table`` if there is a caption or a label. The document must load
        the package booktabs.

    Examples
    --------
    >>> frame = pd.DataFrame({"to": ["[CLS]", "a_b"], "mean": [0.5, 0.1234], "heads": [12, 1204]})
    >>> print(to_latex(frame))
    % needs \usepackage{booktabs}
    \begin{tabular}{lrr}
    \toprule
    to & mean & heads \\
    \midrule
    {[}CLS{]} & 0.500 & 12 \\
    a\_b & 0.123 & 1,204 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    names = [str(name) for name in frame.columns]
    columns = [_column(frame.iloc[:, place], name) for place, name in enumerate(names)]
    sides = ["r" if _is_number(frame.iloc[:, place]) else "l" for place in range(len(names))]
    rows = [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]
    head = " & ".join(escape(name) for name in names) + r" \\"
    lines = [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", head, r"\midrule", *rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if caption or label:
        about = [rf"\caption{{{escape(caption)}}}"] if caption else []
        about += [rf"\label{{{_safe_label(label)}}}"] if _safe_label(label) else []
        lines = [r"\begin{table}", r"\centering", *about, *lines, r"\end{table}"]
    return "\n".join([r"% needs \usepackage{booktabs}", *lines, ""])


def escape(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Parameters
    ----------
    text : str
        Any text. Line breaks and tabs become spaces; other control characters are dropped.

    Returns
    -------
    str
        The text with everything escaped that LaTeX would interpret.

    Examples
    --------
    >>> print(escape(r"50 % of \alpha & $x_1$"))
    50 \% of \textbackslash{}alpha \& \$x\_1\$
    """
    parts: list[str] = []
    for character in " ".join(text.split()):
        if unicodedata.category(character) in DROPPED:
            continue
        part = SPECIAL.get(character) or SYMBOLS.get(character, character)
        if parts and parts[-1][-1] in JOINED and part[0] in JOINED:
            parts.append("{}")
        parts.append(part)
    return "".join(parts)


def _column(values: pd.Series, name: str) -> list[str]:
    """Return the cells of one column."""
    if not _is_number(values):
        return [escape(cell(value, name)) for value in values]
    if cell(0.5, name) != cell(0.0005, name) == p_value(0.0005):
        return [_sign(p_value(value)) for value in values]
    known = [float(value) for value in values if not pd.isna(value)]
    places = _places([value for value in known if math.isfinite(value)])
    return [_number(value, places) for value in values]


def _is_number(values: pd.Series) -> bool:
    """Tell whether a column holds numbers (and not truth values)."""
    is_bool = pd.api.types.is_bool_dtype(values)
    return bool(pd.api.types.is_numeric_dtype(values) and not is_bool)


def _places(values: Sequence[float]) -> int:
    """Return how many decimals the numbers of a column have: none for whole numbers.

    Examples
    --------
    >>> _places([1.0, 12.0]), _places([0.5, 2.0]), _places([34.5, 120.25])
    (0, 3, 1)
    """
    if all(value.is_integer() for value in values):
        return 0
    largest = max(abs(value) for value in values)
    return MOST_PLACES if largest < 10 else 2 if largest < 100 else 1


def _number(value: Any, places: int) -> str:
    r"""Write a number with the decimals of its column; a tiny one as a power of ten.

    Examples
    --------
    >>> print(_number(-0.5, 3), _number(0.00002, 3), _number(float("nan"), 3))
    $-$0.500 $2.0\times10^{-5}$ --
    """
    if pd.isna(value):
        return SYMBOLS[MISSING]
    number = float(value)
    if math.isinf(number):
        return r"$\infty$" if number > 0 else r"$-\infty$"
    if places and 0 < abs(number) < SMALLEST:
        digits, power = f"{number:.1e}".split("e")
        return rf"${digits}\times10^{{{int(power)}}}$"
    return _sign(f"{number:,.{places}f}")


def _sign(text: str) -> str:
    """Write minus and less-than signs of a formatted number in math mode."""
    if text == MISSING:
        return SYMBOLS[MISSING]
    return re.sub(r"^[-<>]", lambda match: f"${match[0]}$", text)


def _safe_label(label: str) -> str:
    """Return a label without characters that LaTeX would interpret.

    Examples
    --------
    >>> _safe_label("tab:heads"), _safe_label("}\\\\input{x}")
    ('tab:heads', 'inputx')
    """
    return re.sub(r"[^A-Za-z0-9:._-]", "", label)
