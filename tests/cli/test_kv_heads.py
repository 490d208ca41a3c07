"""``headscope heads --kv`` and ``headscope export`` for cache compression."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.conftest import Run
from stats.test_kv_heads import PLANTED, planted

BY = ("--by", "position:previous")


@pytest.fixture
def grouped(tmp_path: Path) -> Path:
    """Results of two layers of four query heads and two KV heads."""
    return planted(kv_heads=2).save(tmp_path / "grouped.nc")


def test_kv_heads_are_sorted_by_their_mean(run: Run, grouped: Path) -> None:
    rows = json.loads(run("heads", grouped, "--kv", *BY, "--top", 2, "--json").out)
    assert [list(row) for row in rows] == [["layer", "kv_head", "mean", "max", "heads"]] * 2
    assert rows[0]["heads"] == "2-1, 2-2"
    assert (rows[0]["mean"], rows[0]["max"]) == (pytest.approx(0.8), pytest.approx(0.9))
    rows = json.loads(run("heads", grouped, "--kv", *BY, "--ascending", "--json").out)
    assert rows[-1]["heads"] == "2-1, 2-2"
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "error: name the value to show per KV head"),
        (
            (*BY, "--where", "layer 1"),
            "error: --where selects query heads, --kv shows KV heads; they cannot be combined",
        ),
    ],
)
def test_kv_needs_a_value_and_no_condition(
    run: Run, grouped: Path, options: tuple[str, ...], told: str
) -> None:
    done = run("heads", grouped, "--kv", *options)
    assert (done.code, done.told[0]) == (2, told)


def test_export_writes_a_folder_for_duoattention_and_says_that_values_were_scaled(
    run: Run, grouped: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pattern"
    done = run("export", grouped, "--format", "duoattention", *BY, "-o", folder)
    assert (done.code, done.out, done.err) == (0, f"{folder}\n", "")
    large = planted(PLANTED * 10, kv_heads=2).save(tmp_path / "large.nc")
    done = run("export", large, "--format", "duoattention", *BY, "-o", folder)
    assert done.err == (
        "position:previous is not between 0 and 1, so it was scaled: 3 became 0 and 9 1\n"
    )
    gates = np.loadtxt(folder / "full_attention_heads.tsv", delimiter="\t")
    np.testing.assert_allclose(gates, [[2 / 6, 1 / 6], [1.0, 0.0]], atol=1e-12)


def test_export_writes_a_file_for_headkv(run: Run, grouped: Path, tmp_path: Path) -> None:
    path = tmp_path / "scores.json"
    done = run("export", grouped, "--format", "headkv", *BY, "-o", path)
    assert (done.code, done.out) == (0, f"{path}\n")
    assert len(json.loads(path.read_text())) == PLANTED.size
