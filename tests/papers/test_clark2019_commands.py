"""The tables of Clark et al. 2019 that ``headscope table`` prints from results files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.test_mistakes import mistake


@pytest.mark.slow
def test_the_table_of_relations_prints_the_best_head_of_each_relation(clark, run):
    path = clark / "dependency.nc"
    asked = ("table", path, "relations", "--relation", "det", "--relation", "dobj", "--json")
    rows: list[dict[str, Any]] = json.loads(run(*asked).out)
    assert [row["relation"] for row in rows] == ["det", "dobj"]
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in rows)
    every = json.loads(run("table", path, "relations", "--json", "--least", "30").out)
    assert every[0]["relation"] == "all"
    assert min(row["words"] for row in every) >= 30
    shown = run("table", path, "relations")
    assert "det" in shown.out
    assert "held out: chosen on one half of the documents, both ways" in shown.err
    same = json.loads(run("table", path, "relations", "--json", "--train", path).out)
    assert all(row["held_out"] == row["accuracy"] for row in same)
    assert all(row["held_out_baseline"] == pytest.approx(row["baseline"]) for row in same)


@pytest.mark.slow
def test_the_table_of_relations_refuses_unknown_names(clark, run):
    path = clark / "dependency.nc"
    error, _ = mistake(run("table", path, "relations", "--relation", "dett"))
    assert error.startswith("unknown relation 'dett'; did you mean 'det'? ")
    error, _ = mistake(run("table", path, "relations", "--direction", "up"))
    assert error == (
        "the direction must be one of dependent to head, head to dependent, "
        "head to dependent by column; got 'up' instead."
    )
    error, _ = mistake(run("table", path, "relations", "--correction", "bonferroni"))
    assert error == "the correction must be one of bh, holm, none; got 'bonferroni' instead."


@pytest.mark.slow
def test_the_table_of_relations_refuses_results_without_enough_words(clark, run):
    path = clark / "surface.nc"
    error, advice = mistake(run("table", path, "relations"))
    assert error == (
        f"{path} has no table 'relations': it holds no 'dependency'; it has statistics"
    )
    assert advice == f"see what it holds with: headscope ls {path}"
    error, advice = mistake(run("table", clark / "dependency.nc", "relations", "--least", "100000"))
    assert error == "no relation has enough words"
    assert advice == ("use a larger treebank, or accept fewer words per relation: --least 5")


@pytest.mark.slow
def test_the_table_of_antecedents_prints_baselines_and_the_best_head(clark, run):
    path = clark / "coreference.nc"
    rows: list[dict[str, Any]] = json.loads(run("table", path, "coreference", "--json").out)
    assert [row["system"] for row in rows][:3] == ["nearest", "same head word", "rules"]
    assert rows[3]["system"].startswith("head ")
    # All of the three documents are in one half.
    assert rows[4]["system"] == "held out: too few documents to choose on"
    assert rows[4]["all"] is None
    assert rows[5]["all"] == rows[5]["pronoun"] + rows[5]["proper"] + rows[5]["nominal"] > 0
    by_kind = json.loads(run("table", path, "coreference", "--json", "--kinds").out)
    best = next(row for row in by_kind if row["system"] == rows[3]["system"])
    assert (best["kind"], best["accuracy"]) == ("all", rows[3]["all"])
    assert (best["low"], best["high"]) == (None, None)  # three documents are too few for intervals
    words = json.loads(run("table", path, "coreference", "--json", "--candidates", "words").out)
    assert words[3]["all"] <= rows[3]["all"]  # more to choose from


@pytest.mark.slow
def test_the_table_of_antecedents_refuses_an_unknown_kind_of_candidates(clark, run):
    error, _ = mistake(
        run("table", clark / "coreference.nc", "coreference", "--candidates", "word")
    )
    assert error == (
        "the kind of candidates must be one of mentions, words; got 'word' instead. "
        "Did you mean 'words'?"
    )
