"""Tables as files: they come back as they were, and their text can do no harm."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from headscope.errors import ResultsError
from headscope.results import write_table
from refusals import refusal

READERS = {
    ".csv": lambda path: pd.read_csv(path, engine="python"),
    ".parquet": pd.read_parquet,
}  # Python reads floats to the last bit


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("measure", [None, "special"])
def test_an_exported_table_comes_back_as_it_was(make, tmp_path, ending, measure):
    values = np.random.default_rng(4).random((4, 2, 2, 3, 3))
    values[:, 1, 1] = np.nan
    results = make(special=values, position=values[..., 0])
    path = results.export(tmp_path / "new" / f"table{ending}", measure=measure)
    back = READERS[ending](path)
    pd.testing.assert_frame_equal(back, results.table(measure), check_exact=True, check_dtype=False)
    assert back["mean"].isna().sum() == (9 if measure else 12)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_ending_that_is_no_table_names_those_that_are(some, tmp_path):
    error = refusal(ResultsError, some.export, tmp_path / "table.xlsx")
    allowed = "a table is written as .csv, .tex, .html or .parquet"
    assert error.message == f"{allowed}; got '.xlsx' instead"
    assert error.command == ("give -o table.csv, -o table.tex, -o table.html or -o table.parquet")
    with pytest.raises(ResultsError, match=re.escape(f"{allowed}; got '.txt' instead")):
        write_table(pd.DataFrame(), tmp_path / "table.txt")
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_names_all_of_them(some, tmp_path):
    assert refusal(
        ResultsError, some.export, tmp_path / "table.csv", format="duo-attention"
    ).message == (
        "the format must be one of csv, duoattention, headkv, headvis, html, latex, parquet; "
        "got 'duo-attention' instead. Did you mean 'duoattention'?"
    )


def test_a_measure_that_is_not_there_leaves_no_file(some, tmp_path):
    with pytest.raises(ResultsError, match="Did you mean 'entropy'"):
        some.export(tmp_path / "table.csv", measure="entropie")
    assert not list(tmp_path.iterdir())


def test_a_folder_in_place_of_the_table_cannot_be_written(some, tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(ResultsError, match=r"table\.csv is a folder; a file is"):
        some.export(tmp_path / "table.csv")


HOSTILE = "</table><script>alert(1)</script>"
FRAME = pd.DataFrame(
    {
        "relation": ["nsubj", HOSTILE, "=cmd|'/C calc'!A0"],
        "share (0-1)": [0.123456789, np.nan, 0.00004],
        "words": [1204, 12, 1],
    }
)


def test_a_table_as_csv_has_all_digits_and_runs_nothing_in_a_spreadsheet(tmp_path):
    path = write_table(FRAME, tmp_path / "new" / "table.csv", title="Not written", notes=["Nor I"])
    back = pd.read_csv(path, engine="python")
    assert back["share (0-1)"].tolist() == pytest.approx([0.123456789, np.nan, 4e-5], nan_ok=True)
    assert back["relation"].tolist() == ["nsubj", HOSTILE, "'=cmd|'/C calc'!A0"]
    assert "Not written" not in path.read_text()


@pytest.mark.parametrize(
    ("value", "written"),
    [
        *((text, f"'{text}") for text in ("=1+1", "@SUM(A1)", "+cmd", "-x", "\tcmd")),
        *((text, text) for text in ("-16", "+0.5", "3-9", "-3-9", "a=b", "")),
        *((missing, "") for missing in (None, np.nan, np.inf, np.float32(np.nan), pd.NA, pd.NaT)),
        *((value, text) for value, text in ((True, "True"), (12, "12"), (["=x"], "['=x']"))),
    ],
)
def test_only_what_a_spreadsheet_would_run_is_quoted(tmp_path, value, written):
    path = write_table(pd.DataFrame({"a": [value], "b": ["x"]}, dtype=object), tmp_path / "a.csv")
    assert path.read_text() == f"a,b\n{written},x\n"


def test_a_table_as_html_is_escaped_and_has_sensible_digits(tmp_path):
    path = write_table(FRAME, tmp_path / "table.html", title="Best <heads>", notes=["p < 0.05"])
    text = path.read_text()
    assert "<script>" not in text
    assert "<caption>Best &lt;heads&gt;</caption>" in text
    assert "<p>p &lt; 0.05</p>" in text
    cells = [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", text)]
    assert cells[::3] == FRAME["relation"].tolist()
    assert cells[1::3] == ["0.123", "–", "4e-05"]
    assert cells[2::3] == ["1,204", "12", "1"]


def test_a_table_as_latex_has_its_title_and_notes(tmp_path):
    lines = write_table(FRAME, tmp_path / "t.tex", title="50 %", notes=["a_b"]).read_text()
    assert r"\caption{50 \%}" in lines
    assert r"\par{\footnotesize\raggedright a\_b\par}" in lines
    assert r"nsubj & 0.123 & 1,204 \\" in lines


def test_a_latex_table_that_fits_no_page_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "t.tex"
    found = refusal(ResultsError, write_table, pd.DataFrame({"a": range(101)}), path).message
    assert found == "a LaTeX table of 101 rows fits no page; the most is 100"
    assert not path.exists()
    assert len(pd.read_csv(write_table(pd.DataFrame({"a": range(101)}), tmp_path / "t.csv"))) == 101
