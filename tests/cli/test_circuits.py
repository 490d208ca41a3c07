"""``headscope circuits``: its tables and file, what it refuses, and the report beside a survey."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headscope as hs
from cli.conftest import Run
from cli.test_mistakes import mistake


def test_the_strongest_heads_and_pairs_are_printed_and_all_saved(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "circuits.nc"
    asked = ("circuits", tiny_folder, "-o", path, "--top", 2, "--json", "--quiet")
    shown = json.loads(run(*asked).out)
    atlas = hs.open(path)
    copying = atlas["copying"]["mean"].values
    assert [row["copying"] for row in shown["copying"]] == pytest.approx(
        sorted(copying.ravel(), reverse=True)[:2]
    )
    excess = atlas["composition"]["excess"]
    for row in shown["composition"]:
        pairs = [[int(part) for part in row[way].split("-")] for way in ("from", "into")]
        (from_layer, from_head), (layer, head) = pairs
        one = excess.sel(kind=row["kind"], layer=layer, head=head)
        value = float(one.sel(from_layer=from_layer, from_head=from_head))
        assert row["excess"] == pytest.approx(value)
    best = [row["excess"] for row in shown["composition"] if row["kind"] == "K"]
    assert best[0] == pytest.approx(float(excess.sel(kind="K").max()))
    assert len(shown["composition"]) == 6


def test_what_is_left_out_is_said_and_the_file_is_the_result(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    done = run("circuits", tiny_folder, "-o", tmp_path / "circuits.nc")
    assert done.out.splitlines()[-1] == str(tmp_path / "circuits.nc")
    assert "Copying heads" in done.out
    assert "note: this model normalises the residual stream itself (post-norm)" in done.err


def test_a_report_shows_circuits_beside_the_survey_of_the_same_weights(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    survey, circuits, page = (tmp_path / name for name in ("s.nc", "c.nc", "page.html"))
    texts = ["the cat sat", "a small bird sang"]
    hs.survey(str(tiny_folder), texts, measures="position", max_length=32, output=survey)
    run("circuits", tiny_folder, "-o", circuits, "--quiet")
    for given in (("--circuits", circuits), (circuits,)):
        page.unlink(missing_ok=True)
        run("report", survey, *given, "-o", page, "--quiet")
        assert page.exists()
    error, _ = mistake(run("report", circuits, "--circuits", survey, "-o", page, "--quiet"))
    assert error == "these results are not circuits"


def test_a_stack_that_has_no_circuits_is_refused(run: Run, tiny_folder: Path) -> None:
    error, after = mistake(run("circuits", tiny_folder, "--circuits.stack", "cross", "--quiet"))
    assert error.startswith("circuits are not defined for cross attention")
    assert after == "use --circuits.stack encoder or --circuits.stack decoder"
