"""The tables of Clark et al. 2019 set our numbers beside the published ones."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from headscope.papers.clark2019.recipe import (
    TABLE_1,
    TABLE_3,
    Relations,
    mention_rows,
    table_2,
    table_3,
)
from headscope.stats import antecedent_table
from stats.made import coreference, dependency, parts, results
from stats.references import document_interval

UP = "dependent to head"


def answers(**relations: tuple[int, int]) -> dict[str, Any]:
    """Right answers of head 1-2 and the number of words of each relation."""
    return {
        name.replace("_", ":"): {
            "n": n,
            "offset_right": n // 2,
            "offset": -1,
            "right": {(UP, 1, 2): (right, 0)},
        }
        for name, (right, n) in relations.items()
    }


def test_table_1_finds_a_relation_under_its_universal_name_and_says_how_it_was_made():
    relations = Relations(
        results(
            dependency=dependency(
                answers(all=(30, 100), obj=(9, 10), nmod_poss=(5, 10), case=(1, 4), det=(2, 8))
                | {"pobj (SD)": answers(pobj=(3, 4))["pobj"]}
            )
        )
    )
    by_relation = {row["relation"]: row for row in relations.table_1()}
    assert list(by_relation) == list(TABLE_1)
    assert {
        name: row["here: label"] for name, row in by_relation.items() if row["here: label"] != "–"
    } == {"all": "all", "pobj": "pobj (SD)", "det": "det", "dobj": "obj", "poss": "nmod:poss"}
    dobj = by_relation["dobj"]
    found = (dobj["words"], dobj["here: head"], dobj["direction"], dobj["here: offset baseline"])
    assert found == (10, "1-2", UP, "50.0 (-1)")
    assert dobj["here: accuracy"] == pytest.approx(90.0)
    assert dobj["difference"] == "+3.2"
    assert by_relation["auxpass"] == {
        "relation": "auxpass",
        "paper: head": "4-10",
        "paper: accuracy": 82.5,
        "paper: offset baseline": "40.5 (1)",
        "here: label": "–",
    }
    assert (dobj["here: held out"], dobj["held-out head"]) == (pytest.approx(90.0), "1-2")
    assert dobj["offset held out"] == "50.0 (-1)"
    assert relations.notes() == [
        "pobj: UD's case with the two words swapped, without the possessive 's.",
        "prep: UD attaches a preposition to its noun, not to the word that the phrase modifies, so "
        "prep has no counterpart.",
    ]


def test_a_treebank_with_the_papers_own_names_is_read_by_them():
    relations = Relations(
        results(dependency=dependency(answers(all=(3, 10), dobj=(5, 10), obj=(9, 10))))
    )
    found = next(row for row in relations.table_1() if row["relation"] == "dobj")["here: label"]
    assert found == "dobj"
    assert relations.notes() == []


def test_table_2_sets_percent_beside_percent_and_counts_mentions():
    made = results(
        coreference=coreference(
            {"all": (50, 10, 20, 30), "pronoun": (50, 10, 20, 30)},
            {("mentions", 2, 1): {"all": (36, 8, 18, 25), "pronoun": (36, 8, 18, 25)}},
        )
    )
    rows = {row["system"]: row for row in table_2(antecedent_table(made))}
    assert list(rows) == [
        "nearest",
        "same head word",
        "rules",
        "neural coreference (Wiseman et al. 2015)",
        "head 2-1 (paper: head 5-4)",
        "held out: head 2-1",
        "mentions",
    ]
    assert [row["paper: all"] for row in rows.values()] == [27, 52, 69, "83*", 65, None, None]
    here = [row["here: all"] for row in rows.values() if "here: all" in row]
    assert here == pytest.approx([20, 40, 60, 72, 72, 50])
    low, high = document_interval(parts(36), parts(50), share=True)
    shown = rows["head 2-1 (paper: head 5-4)"]["95 % interval (all)"]
    assert shown == f"[{100 * low:.1f}, {100 * high:.1f}]"


def test_each_type_of_mention_has_its_own_interval_and_tests():
    made = results(
        coreference=coreference(
            {"all": (50, 10, 20, 30), "pronoun": (50, 10, 20, 30)},
            {("mentions", 2, 1): {"all": (36, 8, 18, 25), "pronoun": (36, 8, 18, 25)}},
        )
    )
    rows = mention_rows(made)
    assert {(row["type"], row["mentions"]) for row in rows} == {("all", 50), ("pronoun", 50)}
    head = next(row for row in rows if row["system"] == "head 2-1" and row["type"] == "pronoun")
    assert head["right (%)"] == pytest.approx(72)
    assert {"p over nearest", "p over same head word", "p over rules"} <= set(head)


def test_table_3_shows_the_papers_number_for_a_probe_that_was_not_made():
    made = pd.DataFrame(
        [{"probe": "attention", "uas": 0.5, "low": 0.4, "high": 0.625, "parameters": 145}]
    )
    rows = {row["probe"]: row for row in table_3(made)}
    published = {name: row["paper"] for name, row in rows.items()}
    probe = "structural probe, UUAS (Hewitt and Manning 2019)"
    assert published == {probe: "80*"} | TABLE_3
    assert rows["attention"] == {
        "probe": "attention",
        "paper": 61,
        "here": 50.0,
        "95 % interval": "[40.0, 62.5]",
        "difference": "-11.0",
        "parameters": 145,
    }
    assert rows["attention + words"] == {"probe": "attention + words", "paper": 77}
