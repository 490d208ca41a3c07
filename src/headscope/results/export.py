"""What leaves Headscope: tables as CSV, Parquet, HTML and LaTeX, and BibTeX entries."""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from html import escape as escape_html
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from headscope.errors import ResultsError, unknown
from headscope.files import atomic_write, check_writable
from headscope.numbers import MISSING, SMALLEST, cell, is_words, p_value
from headscope.results.columns import Best

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas

CACHE = ("duoattention", "headkv")
"""Formats of tools that compress the cache, which get one value of every head."""
ENDINGS = {".csv": "csv", ".tex": "latex", ".html": "html", ".parquet": "parquet"}
"""The formats of tables, by the endings of their files."""
FORMATS = (*ENDINGS.values(), "headvis", *CACHE)
"""What :meth:`headscope.Atlas.export` can write: tables, and files for other tools."""


def table_format(path: str | Path, format: str = "") -> str:
    """The format of a table's file: as given, or as its ending says.

    Raises
    ------
    ResultsError
        If it is neither that of a table.
    """
    if format and format not in ENDINGS.values():
        raise unknown("format", format, FORMATS, error=ResultsError)
    ending = Path(path).suffix
    if format or ending in ENDINGS:
        return format or ENDINGS[ending]
    *others, last = ENDINGS
    raise ResultsError(
        f"a table is written as {', '.join(others)} or {last}; got {ending!r} instead",
        hint="choose a file name such as table.csv or table.tex",
        command=f"give -o table{', -o table'.join(others)} or -o table{last}",
    )


def write_table(
    frame: pd.DataFrame,
    path: str | Path,
    *,
    title: str = "",
    notes: Iterable[str] = (),
    format: str = "",
    label: str = "",
) -> Path:
    """Write a table as .csv, .tex, .html or .parquet, whole or not at all.

    LaTeX and HTML have numbers with sensible digits, the title above and the notes below. CSV has
    all digits, and neither title nor notes, so that any program reads it; text that a spreadsheet
    would run as a formula begins with an apostrophe there.

    Parameters
    ----------
    frame
        Its columns become columns, with their units in their names; its index is not written.
    path
        The file.
    title
        What the table shows.
    notes
        Sentences below it.
    format
        csv, latex, html or parquet. Default: as the file's ending says.
    label
        For LaTeX's references.

    Raises
    ------
    ResultsError
        If the file has another ending, or cannot be written; or if a LaTeX table would be longer
        than a page.

    Examples
    --------
    >>> import tempfile
    >>> frame = pd.DataFrame({"relation": ["=nsubj"], "share": [0.123456]})
    >>> path = write_table(frame, tempfile.mkdtemp() + "/relations.csv")
    >>> path.read_text().splitlines()
    ['relation,share', "'=nsubj,0.123456"]
    """
    path, kind = Path(path), table_format(path, format)
    check_writable(path, error=ResultsError)
    if kind == "latex" and len(frame) > MOST_ROWS:
        raise ResultsError(
            f"a LaTeX table of {len(frame):,} rows fits no page; the most is {MOST_ROWS}",
            hint="write .csv, or choose a table: headscope table RESULTS relations -o x.tex",
        )
    with atomic_write(path, error=ResultsError) as temporary:
        if kind == "parquet":
            frame.to_parquet(temporary, index=False)
        elif kind == "csv":
            temporary.write_text(_csv(frame), encoding="utf-8")
        elif kind == "html":
            temporary.write_text(to_html(frame, title, notes), encoding="utf-8")
        else:
            temporary.write_text(to_latex(frame, title, label, notes=notes), encoding="utf-8")
    return path


# --- CSV and HTML ---

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[-+]?[\d.]+(-\d+)?")
"""Numbers, and names of heads, may begin as a formula does."""


def _csv(frame: pd.DataFrame) -> str:
    """A table as the page writes it, too: what is missing or not finite is an empty cell."""

    def safe(value: Any) -> Any:
        if isinstance(value, int | float | np.number):
            return value if np.isfinite(value) else ""
        text = "" if pd.isna(value) is True else str(value)
        return "'" + text if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    rows = frame.itertuples(index=False, name=None)
    writer.writerows([safe(value) for value in row] for row in (map(str, frame.columns), *rows))
    return file.getvalue()


NUMBER_CELL = ' class="number"'
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; }}
caption {{ font-weight: bold; text-align: left; padding-bottom: 0.5em; }}
th, td {{ padding: 0.2em 0.8em; text-align: left; border-bottom: 1px solid #ddd; }}
.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<table>
{rows}
</table>
{notes}</body>
</html>
"""


def to_html(frame: pd.DataFrame, title: str = "", notes: Iterable[str] = ()) -> str:
    """A data frame as a page of its own. All text is escaped, whatever it holds.

    >>> "<td>&lt;b&gt;</td>" in to_html(pd.DataFrame({"word": ["<b>"]}))
    True
    """
    numbers = [_is_right(frame.iloc[:, place]) for place in range(frame.shape[1])]
    names = [str(name) for name in frame.columns]

    def row(tag: str, values: Iterable[str]) -> str:
        cells = [
            f"<{tag}{NUMBER_CELL if number else ''}>{escape_html(value)}</{tag}>"
            for value, number in zip(values, numbers, strict=True)
        ]
        return f"<tr>{''.join(cells)}</tr>"

    lines = [f"<caption>{escape_html(title)}</caption>"] * bool(title)
    lines.append(f"<thead>{row('th', names)}</thead>\n<tbody>")
    for values in frame.itertuples(index=False, name=None):
        lines.append(row("td", map(cell, values, names)))
    lines.append("</tbody>")
    below = "".join(f"<p>{escape_html(note)}</p>\n" for note in notes)
    return PAGE.format(title=escape_html(title or "Headscope"), rows="\n".join(lines), notes=below)


# --- LaTeX ---

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\char34{}",
    # After the end of a row, [ would begin a length and * forbid a page break.
    "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
"""Characters that mean something to LaTeX, and how they are printed."""
SYMBOLS = {
    "–": "--", "—": "---", "…": r"\ldots{}", "−": "$-$", "±": r"$\pm$", "×": r"$\times$",
    "→": r"$\rightarrow$", "≤": r"$\leq$", "≥": r"$\geq$", "∂": r"$\partial$", "Δ": r"$\Delta$",
    "α": r"$\alpha$",
    "ξ": r"$\xi$", "ρ": r"$\rho$", "τ": r"$\tau$", "§": r"\S{}", "“": "``", "”": "''", "’": "'",
    "\u00a0": "~",
}  # fmt: skip
"""Characters of Headscope's tables that plain LaTeX fonts do not have."""
JOINED = frozenset("-'`,?!")
"""Characters that LaTeX joins with their neighbours: two hyphens become a dash."""
DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""Categories of characters that cannot be printed."""
MOST_PLACES = 3
LOOK = r"\centering\small\setlength{\tabcolsep}{4pt}\renewcommand{\arraystretch}{1.15}"
COLUMN = 52
"""Characters that fit into one of a page's two columns; a wider table spans both."""
MOST_ROWS = 100
"""A longer table is for a spreadsheet."""
SIDES = re.compile(r" \(\+([\d.,]+), \$-\$([\d.,]+)\)")
"""The two sides of an interval, escaped."""


def to_latex(
    frame: pd.DataFrame, caption: str = "", label: str = "", *, notes: Iterable[str] = ()
) -> str:
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
    notes : iterable of str, optional
        Sentences below the table.

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
    sides = ["r" if _is_right(frame.iloc[:, place]) else "l" for place in range(len(names))]
    rows = [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]
    head = " & ".join(escape(name) for name in names) + r" \\"
    lines = [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", head, r"\midrule", *rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par{{\footnotesize\raggedright {escape(note)}\par}}" for note in notes]
    if caption or label:
        about = [rf"\caption{{{escape(caption)}}}"] if caption else []
        about += [rf"\label{{{_safe_label(label)}}}"] if _safe_label(label) else []
        width = sum(
            max(map(len, [name, *map(_printed, cells)])) + 2
            for name, cells in zip(names, columns, strict=True)
        )
        float_ = "table*" if width > COLUMN else "table"
        lines = [rf"\begin{{{float_}}}", LOOK, *about, *lines, rf"\end{{{float_}}}"]
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
        return [_text(value, name) for value in values]
    if cell(0.5, name) != cell(0.0005, name) == p_value(0.0005):
        return [_sign(p_value(value)) for value in values]
    known = [float(value) for value in values if not pd.isna(value)]
    places = _places([value for value in known if math.isfinite(value)])
    return [_number(value, places) for value in values]


def _printed(text: str) -> str:
    r"""About what is seen of a cell.

    >>> _printed(r"\textbf{0.5 $\pm$ 0.1}"), _printed("{[}CLS{]}")
    ('0.5 * 0.1', '[CLS]')
    """
    return re.sub(r"[{}$^_]", "", re.sub(r"\\[a-z]+\b", "*", text.replace(r"\textbf", "")))


def _text(value: Any, name: str) -> str:
    r"""A cell that is no number; the best one of a paper's table in bold.

    >>> print(_text("0.5 (+0.1, −0.2)", "accuracy"), _text(Best("0.5 ± 0.1"), "accuracy"))
    0.5$^{+0.1}_{-0.2}$ \textbf{0.5 $\pm$ 0.1}
    """
    text = escape(_minus(cell(value, name)))
    text = SIDES.sub(lambda sides: f"$^{{+{sides[1]}}}_{{-{sides[2]}}}$", text)
    return rf"\textbf{{{text}}}" if isinstance(value, Best) else text


def _minus(text: str) -> str:
    """A written number with real minus signs; words as they are.

    >>> _minus("[-0.5, +0.1]"), _minus("3-9"), _minus("offset -1")
    ('[−0.5, +0.1]', '3-9', 'offset -1')
    """
    return text if is_words(text) else re.sub(r"(?<![\w.)])-(?=\d)", "−", text)


def _is_number(values: pd.Series) -> bool:
    """Tell whether a column holds numbers (and not truth values)."""
    is_bool = pd.api.types.is_bool_dtype(values)
    return bool(pd.api.types.is_numeric_dtype(values) and not is_bool)


def _is_right(values: pd.Series) -> bool:
    """Tell whether a column is right-aligned: it holds numbers, written ones too."""
    words = any(is_words(value) or isinstance(value, bool | np.bool_) for value in values)
    return not words and len(values) > 0


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


# --- BibTeX ---

BIBLIOGRAPHY = Path(__file__).with_name("citations.bib")


def citations(atlas: Atlas | None = None) -> str:
    """BibTeX entries for Headscope and, given results, for the papers behind their measures.

    Parameters
    ----------
    atlas
        Results. Default: all papers that Headscope implements.

    Examples
    --------
    >>> print(citations().splitlines()[0])
    @software{headscope,
    """
    _, tool, *entries = BIBLIOGRAPHY.read_text(encoding="utf-8").strip().split("\n\n")
    papers = dict(entry.removeprefix("% ").split("\n", 1) for entry in entries)
    if atlas is None:
        sources = " ".join(papers)
    else:
        sources = " ".join(str(atlas[name].attrs.get("source", "")) for name in atlas)
    tool = tool.replace("VERSION", version("headscope"))
    return "\n\n".join([tool, *(entry for name, entry in papers.items() if name in sources)])
