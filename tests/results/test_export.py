"""Flat tables come back from CSV and Parquet as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headscope.errors import ResultsError
from headscope.results import Atlas, export

READERS = {
    ".csv": lambda path: pd.read_csv(path, engine="python"),
    ".parquet": pd.read_parquet,
}  # Python reads floats to the last bit


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("measure", [None, "special"])
def test_an_exported_table_comes_back_as_it_was(
    make, tmp_path: Path, ending: str, measure: str | None
) -> None:
    values = np.random.default_rng(4).random((4, 2, 2, 3, 3))
    values[:, 1, 1] = np.nan
    results = make(special=values, position=values[..., 0])
    path = export(results, tmp_path / "new" / f"table{ending}", measure=measure)
    back = READERS[ending](path)
    pd.testing.assert_frame_equal(back, results.table(measure), check_exact=True, check_dtype=False)
    assert back["mean"].isna().sum() == (9 if measure else 12)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_an_ending_that_is_no_table_names_those_that_are(some: Atlas, tmp_path: Path) -> None:
    with pytest.raises(ResultsError) as caught:
        export(some, tmp_path / "table.xlsx")
    assert (
        caught.value.message == "a table is written as .csv, .parquet or .tex; got '.xlsx' instead"
    )
    assert caught.value.command == "give -o table.csv, -o table.parquet or -o table.tex"
    assert not list(tmp_path.iterdir())


def test_an_unknown_format_names_all_of_them(some: Atlas, tmp_path: Path) -> None:
    with pytest.raises(ResultsError) as caught:
        export(some, tmp_path / "table.csv", format="duo-attention")
    assert caught.value.message == (
        "the format must be one of csv, duoattention, headkv, headvis, latex, parquet; "
        "got 'duo-attention' instead. Did you mean 'duoattention'?"
    )


def test_a_measure_that_is_not_there_leaves_no_file(some: Atlas, tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="Did you mean 'entropy'"):
        export(some, tmp_path / "table.csv", measure="entropie")
    assert not list(tmp_path.iterdir())


def test_a_folder_in_place_of_the_table_cannot_be_written(some: Atlas, tmp_path: Path) -> None:
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(ResultsError, match=r"table\.csv is a folder; a file is"):
        export(some, tmp_path / "table.csv")
