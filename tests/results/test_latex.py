"""LaTeX tables: everything is printed as it is, and numbers are aligned."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.results.columns import Best
from headscope.results.export import SPECIAL, SYMBOLS, escape, to_latex

HOSTILE = [
    r"\input{/etc/passwd}",
    r"\end{tabular}\immediate\write18{rm -rf /}",
    "100 % & more \\\\ # $x^2_1$ ~ {a} \\",
    "[CLS]",
    "*",
    "a\nb\r\n\tc",
    "--- `` '' \" < > |",
    "\x00\x1b\u202e",
]
# What TeX prints for each of the commands that escaping uses, from the LaTeX2e manual and TeX's
# table of ASCII characters. \char takes a number.
PRINTED = {
    r"\textbackslash{}": "\\",
    r"\textasciicircum{}": "^",
    r"\textasciitilde{}": "~",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
}


def printed(text: str) -> str:
    """Print escaped text as TeX would; refuse anything that TeX would interpret."""
    out, place = [], 0
    while place < len(text):
        rest = text[place:]
        if match := re.match(r"\\char(\d+)\{\}", rest):
            out.append(chr(int(match[1])))
        elif match := re.match(r"\\[{}$&#%_]", rest):
            out.append(match[0][1])
        elif match := re.match(r"\{([\[\]*]?)\}", rest):
            out.append(match[1])
        elif match := re.match(r"\\text[a-z]+\{\}", rest):
            out.append(PRINTED[match[0]])
        else:
            assert rest[0] not in SPECIAL, f"{rest[0]!r} is not escaped in {text!r}"
            assert not re.match(r"--|''|``|[?!]`|,,", rest), f"{rest[:2]} is joined in {text!r}"
            match = re.match(".", rest)
            out.append(rest[0])
        assert match
        place += match.end()
    return "".join(out)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_printed_as_it_is(text):
    expected = "".join(c for c in " ".join(text.split()) if c.isprintable())
    assert printed(escape(text)) == expected


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_any_ascii_text_is_printed_as_it_is(text):
    expected = "".join(c for c in " ".join(text.split()) if c.isprintable())
    assert printed(escape(text)) == expected


def body(frame: pd.DataFrame) -> list[list[str]]:
    """Split a table into the cells of its rows, the header first."""
    lines = to_latex(frame).splitlines()
    rows = lines[lines.index(r"\toprule") + 1 : lines.index(r"\bottomrule")]
    rows.remove(r"\midrule")
    assert all(row.endswith(r" \\") for row in rows)
    return [re.split(r"(?<!\\) & ", row.removesuffix(r" \\")) for row in rows]


def test_hostile_text_cannot_add_cells_or_rows():
    frame = pd.DataFrame({HOSTILE[2]: HOSTILE, HOSTILE[1]: HOSTILE, "n": range(len(HOSTILE))})
    rows = body(frame)
    assert len(rows) == 1 + len(HOSTILE)
    assert {len(row) for row in rows} == {3}
    # A row that began with [ or * would be taken for an option of the row's end before it.
    assert not any(row[0].startswith(("[", "*")) for row in rows)


def test_hostile_captions_and_labels_stay_inside_their_braces():
    text = to_latex(pd.DataFrame({"a": [1]}), caption=HOSTILE[1], label="}\\input{x}")
    lines = text.splitlines()
    assert lines[1] == r"\begin{table}"
    assert lines[2].startswith(r"\centering")
    caption = next(line for line in lines if line.startswith(r"\caption{"))
    assert printed(caption.removeprefix(r"\caption{").removesuffix("}")) == HOSTILE[1]
    assert r"\label{inputx}" in lines
    assert lines[-1] == r"\end{table}"


def test_without_caption_and_label_there_is_only_a_tabular():
    lines = to_latex(pd.DataFrame({"a": [1]})).splitlines()
    assert lines[0] == r"% needs \usepackage{booktabs}"
    assert (lines[1], lines[-1]) == (r"\begin{tabular}{r}", r"\end{tabular}")


def test_the_numbers_of_a_column_have_the_same_decimals_and_stand_on_the_right():
    frame = pd.DataFrame(
        {
            "head": ["3-9", "1-2"],
            "mean": [0.5, 1.0],
            "percent": [34.567, 8.0],
            "heads": [12, 1204],
            "whole": [1.0, math.nan],
        }
    )
    assert to_latex(frame).splitlines()[1] == r"\begin{tabular}{rrrrr}"
    expected = [["3-9", "0.500", "34.57", "12", "1"], ["1-2", "1.000", "8.00", "1,204", "--"]]
    assert body(frame)[1:] == expected


@pytest.mark.parametrize("name", ["p", "p corrected", "p_corrected"])
def test_p_values_are_never_shown_as_zero(name):
    frame = pd.DataFrame({name: [0.0, 4.8e-66, 0.0312, math.nan]})
    assert [row[0] for row in body(frame)[1:]] == ["$<$0.001", "$<$0.001", "0.031", "--"]


def test_other_columns_that_begin_with_p_are_no_p_values():
    assert body(pd.DataFrame({"percent": [0.0, 0.5]}))[1:] == [["0.000"], ["0.500"]]


def test_signs_and_powers_are_in_math_mode():
    frame = pd.DataFrame({"gain": [-0.25, 0.00002, -np.inf]})
    assert [row[0] for row in body(frame)[1:]] == ["$-$0.250", r"$2.0\times10^{-5}$", r"$-\infty$"]


def test_truth_values_and_missing_text_are_words():
    frame = pd.DataFrame({"has": [True, False], "who": ["3-9", None]})
    assert to_latex(frame).splitlines()[1] == r"\begin{tabular}{lr}"
    assert body(frame)[1:] == [["yes", "3-9"], ["no", "--"]]


def test_symbols_of_our_tables_are_written_for_plain_fonts():
    assert escape("τ → 0–1") == r"$\tau$ $\rightarrow$ 0--1"
    assert escape("a-–b") == "a-{}--b"
    assert all(ord(c) < 128 for c in escape("".join(SYMBOLS)))


def test_an_empty_table_is_a_table():
    assert body(pd.DataFrame({"a": [], "b": []})) == [["a", "b"]]


def test_a_paper_has_both_sides_of_an_interval_and_the_best_cells_in_bold():
    frame = pd.DataFrame({"a": ["0.5 ± 0.1", Best("0.5 (+0.1, −0.2)")]}, dtype=object)
    expected = [r"0.5 $\pm$ 0.1 \\", r"\textbf{0.5$^{+0.1}_{-0.2}$} \\"]
    assert [line for line in to_latex(frame).splitlines() if "0.5" in line] == expected


def test_a_wide_table_spans_both_columns_of_a_page():
    narrow, wide = (pd.DataFrame({"a": ["x" * width]}) for width in (20, 60))
    assert r"\begin{table}" in to_latex(narrow, "a")
    assert r"\begin{table*}" in to_latex(wide, "a")
    assert r"\end{table*}" in to_latex(wide, "a")
