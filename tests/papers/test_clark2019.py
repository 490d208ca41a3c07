"""The recipe of Clark et al. 2019 on the embedded model: its page, its figures, and that nothing is computed twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Run
from cli.test_mistakes import mistake
from headscope.papers import PAPERS
from headscope.papers.clark2019.facts import CLARK_TABLE_1, CLARK_TABLE_2, CLARK_TABLE_3
from headscope.results import Results
from papers.conftest import EPOCHS, LIMIT, rows_of

SURVEYS = ("surface", "dependency", "coreference", "distance")
FIGURES = (
    "position",
    "special",
    "from-sep",
    "entropy",
    "dependencies",
    "heads-by-layer",
    "heads-by-behaviour",
)


@pytest.mark.slow
def test_the_page_has_every_row_of_the_papers_tables_with_its_numbers(clark: Path) -> None:
    rows = rows_of(clark / "clark2019.html")
    for fact in CLARK_TABLE_1:
        assert [
            fact.relation,
            fact.head,
            f"{fact.accuracy:.1f}",
            f"{fact.baseline:.1f} ({fact.offset})",
        ] in [row[:4] for row in rows]
    for name, numbers in CLARK_TABLE_2.items():
        shown = [
            row
            for row in rows
            if row and (row[0] == name or (name == "head" and row[0].endswith("(paper: head 5-4)")))
        ]
        assert len(shown) == 1
        assert shown[0][1:9:2] == [
            str(numbers[kind]) for kind in ("all", "pronoun", "proper", "nominal")
        ]
    for name, uas in CLARK_TABLE_3.items():
        assert [name, str(uas)] in [row[:2] for row in rows]
    surface = {row[0]: row[1] for row in rows if len(row) == 5}
    assert surface["heads with over half of their attention on the previous token"] == "4"
    assert surface["heads with over half of their attention on the next token"] == "5"
    assert surface["entropy from [CLS] in the last layer (nats)"] == "3.890"


@pytest.mark.slow
def test_our_numbers_stand_beside_them_and_are_those_of_the_results(clark: Path) -> None:
    data = Results.open(clark / "dependency.nc")["dependency"].sel(
        relation="det", words="every", direction=["dependent to head", "head to dependent"]
    )
    row = next(row for row in rows_of(clark / "clark2019.html") if row[:2] == ["det", "8-11"])
    assert row[4:6] == ["det", str(int(data["n"].max()))]
    assert row[8] == f"{100 * float(data['mean'].max()):.1f}"
    probes = {
        row[0]: row for row in rows_of(clark / "clark2019.html") if row and row[0] in CLARK_TABLE_3
    }
    assert probes["attention"][-1] == str(
        2 * 72 + 1
    )  # two weights for each of 6 × 12 heads, and the root
    assert probes["attention + words"][2] == "–"  # no word vectors were given


@pytest.mark.slow
def test_the_previous_token_head_of_the_embedded_model_is_named(clark: Path) -> None:
    row = next(
        row
        for row in rows_of(clark / "clark2019.html")
        if row and row[0].endswith("on the previous token")
    )
    assert "1-3" in row[4].split(", ")


@pytest.mark.slow
def test_figures_are_written_beside_the_page(clark: Path) -> None:
    for name in FIGURES:
        assert (clark / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (clark / "figures" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    page = (clark / "clark2019.html").read_text(encoding="utf-8")
    for name in FIGURES:
        assert f'id="chart-{name}"' in page


@pytest.mark.slow
def test_a_model_without_a_language_model_head_says_so_and_the_other_parts_are_there(
    clark: Path,
) -> None:
    page = (clark / "clark2019.html").read_text(encoding="utf-8")
    assert "Left out: gradient importance (Figure 3): demo has no language-model head" in page
    assert not (clark / "gradient.nc").exists()
    assert 'id="gradients"' not in page
    for section in ("surface", "dependencies", "coreference", "probes", "distances"):
        assert f'<h2 id="{section}">' in page


@pytest.mark.slow
def test_a_second_run_computes_no_survey_again(clark: Path, run: Run) -> None:
    kept = {
        path: path.stat().st_mtime_ns
        for path in [clark / f"{name}.nc" for name in SURVEYS]
        + [path for path in (clark / "word-maps").rglob("*") if path.is_file()]
    }
    page = (clark / "clark2019.html").read_text(encoding="utf-8")
    assert len(kept) > len(SURVEYS)
    done = run("paper", "clark2019", "--limit", LIMIT, "--epochs", EPOCHS, "-o", clark)
    assert (done.code, done.out) == (0, f"{clark / 'clark2019.html'}\n")
    assert "left out: gradient importance (Figure 3): demo has no language-model head" in done.err
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert not list(clark.glob("*.partial"))
    assert rows_of(clark / "clark2019.html") == rows_of_text(page, clark)


def rows_of_text(page: str, folder: Path) -> list[list[str]]:
    path = folder / "before.html"
    path.write_text(page, encoding="utf-8")
    return rows_of(path)


@pytest.mark.slow
def test_another_limit_is_another_run(clark: Path) -> None:
    for name in SURVEYS:
        results = Results.open(clark / f"{name}.nc")
        assert results.provenance["settings"]["limit"] == LIMIT
        assert results.provenance["counts"]["read"] == LIMIT


def test_an_unknown_paper_is_told_with_those_that_are_known(run: Run, tmp_path: Path) -> None:
    error, _ = mistake(run("paper", "clark2018", "-o", tmp_path / "x"))
    assert (
        error
        == f"the paper must be one of {', '.join(sorted(PAPERS))}; got 'clark2018' instead. Did you mean 'clark2019'?"
    )
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_dependencies_prints_the_best_head_of_each_relation(clark: Path, run: Run) -> None:
    rows: list[dict[str, Any]] = json.loads(
        run(
            "dependencies",
            clark / "dependency.nc",
            "--relation",
            "det",
            "--relation",
            "dobj",
            "--json",
        ).out
    )
    assert [row["relation"] for row in rows] == ["det", "dobj"]
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in rows)
    every = json.loads(run("dependencies", clark / "dependency.nc", "--json", "--least", "30").out)
    assert every[0]["relation"] == "all"
    assert min(row["words"] for row in every) >= 30
    assert "det" in run("dependencies", clark / "dependency.nc").out


@pytest.mark.slow
def test_dependencies_tells_what_it_does_not_know(clark: Path, run: Run) -> None:
    error, _ = mistake(run("dependencies", clark / "dependency.nc", "--relation", "dett"))
    assert error.startswith("the relation must be one of ")
    assert error.endswith("got 'dett' instead. Did you mean 'det'?")
    error, _ = mistake(run("dependencies", clark / "dependency.nc", "--direction", "up"))
    assert (
        error
        == "the direction must be one of dependent to head, head to dependent, head to dependent by column; got 'up' instead."
    )
    error, _ = mistake(run("dependencies", clark / "dependency.nc", "--correction", "bonferroni"))
    assert error == "the correction must be one of bh, holm, none; got 'bonferroni' instead."
    error, _ = mistake(run("dependencies", clark / "surface.nc"))
    assert (
        error == "the measure must be one of entropy, position, special; got 'dependency' instead."
    )
    assert mistake(run("dependencies", clark / "dependency.nc", "--least", "100000")) == (
        "no relation has enough words",
        "give a larger treebank, or a smaller least number of words",
    )


@pytest.mark.slow
def test_coreference_prints_baselines_and_the_best_head(clark: Path, run: Run) -> None:
    rows: list[dict[str, Any]] = json.loads(
        run("coreference", clark / "coreference.nc", "--json").out
    )
    assert [row["system"] for row in rows][:3] == ["nearest", "same head word", "rules"]
    assert rows[3]["system"].startswith("head ")
    assert rows[4]["all"] == rows[4]["pronoun"] + rows[4]["proper"] + rows[4]["nominal"] > 0
    words = json.loads(
        run("coreference", clark / "coreference.nc", "--json", "--candidates", "words").out
    )
    assert words[3]["all"] <= rows[3]["all"]  # more to choose from
    error, _ = mistake(run("coreference", clark / "coreference.nc", "--candidates", "word"))
    assert (
        error
        == "the kind of candidates must be one of mentions, words; got 'word' instead. Did you mean 'words'?"
    )


def test_draw_writes_one_head_or_several_beside_each_other(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    done = run(
        "draw",
        tiny_folder,
        "the cat sat",
        "--head",
        "1-3",
        "--head",
        "2-4",
        "--red",
        "Cat",
        "--hide",
        "[SEP]",
        "-o",
        tmp_path / "cat.svg",
        "--quiet",
    )
    assert (done.code, done.out) == (0, f"{tmp_path / 'cat.svg'}\n")
    drawing = (tmp_path / "cat.svg").read_text(encoding="utf-8")
    assert "Head 1-3" in drawing
    assert "Head 2-4" in drawing
    assert "[CLS]" in drawing


def test_draw_tells_of_a_head_that_does_not_exist_and_of_a_word_that_is_not_there(
    run: Run, tiny_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "x.svg"
    assert mistake(
        run("draw", tiny_folder, "the cat sat", "--head", "3-1", "-o", path, "--quiet")
    ) == (
        "the head must be LAYER-HEAD from 1-1 to 2-4, got '3-1' instead",
        "give e.g. --head 1-3",
    )
    error, _ = mistake(
        run(
            "draw",
            tiny_folder,
            "the cat sat",
            "--head",
            "1-1",
            "--red",
            "dog",
            "-o",
            path,
            "--quiet",
        )
    )
    assert error.startswith("the word must be one of ")
    assert "got 'dog' instead" in error
    error, _ = mistake(run("draw", tiny_folder, " ", "--head", "1-1", "-o", path, "--quiet"))
    assert error == "the text ' ' has no tokens"
    assert not path.exists()
