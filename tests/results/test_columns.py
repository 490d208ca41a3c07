"""What people read of a table: titles, units, intervals in one cell, nothing that says nothing."""

import pandas as pd

from headscope.numbers import share
from headscope.results.columns import (
    ANTECEDENTS,
    RELATIONS,
    ROLES,
    Best,
    Column,
    ends,
    for_paper,
    for_people,
)

ROLE = {
    "role": "local",
    "heads": 3,
    "share": 0.04167,
    "sequences": 40,
    "length": 28.75,
    "strongest": "1-3",
    "mean": 6.1,
    "low": 5.04,
    "high": 7.45,
    "effect": 1.2,
    "p": 1e-5,
    "p_corrected": 0.01,
    "position": float("nan"),
    "by position": 0,
}


def test_columns_have_units_and_intervals_one_cell():
    (row,) = for_people(pd.DataFrame([ROLE]), ROLES).to_dict("records")
    assert row["share of heads (%)"] == "4.2"
    assert row["95 % interval"] == "[5.040, 7.450]"  # under 10: three decimals
    assert row["mean (times uniform)"] == 6.1
    assert "low" not in row


def test_a_column_without_any_value_is_left_out():
    without = for_people(pd.DataFrame([ROLE]), ROLES)
    assert not {"times position alone", "heads by position"} & set(without.columns)
    known = for_people(pd.DataFrame([ROLE | {"position": 1.5}]), ROLES)
    assert {"times position alone", "heads by position"} <= set(known.columns)


def test_what_the_table_does_not_have_is_left_out():
    frame = pd.DataFrame([ROLE]).drop(columns="p_corrected")
    assert "p corrected" not in for_people(frame, ROLES).columns


def test_a_terminal_shows_fewer_columns():
    frame = pd.DataFrame([ROLE])
    narrow, wide = for_people(frame, ROLES, screen=True), for_people(frame, ROLES)
    assert set(wide.columns) - set(narrow.columns) == {"mean length (tokens)"}


def test_offsets_have_their_sign_beside_their_accuracy():
    row = {
        "baseline": 0.5,
        "offset": 1,
        "held_out_baseline": 0.25,
        "held_out_offset": "-1 | 12",
        "held_out_head": "",
        "direction": "head to dependent",
    }
    (shown,) = for_people(pd.DataFrame([row]), RELATIONS).to_dict("records")
    assert shown["offset"] == "0.500 (+1)"
    assert shown["offset, held out"] == "0.250 (-1 | +12)"
    assert (shown["held-out head"], shown["direction"]) == ("–", "→ dependent")
    nothing = row | {"baseline": float("nan"), "offset": ""}
    assert for_people(pd.DataFrame([nothing]), RELATIONS)["offset"].tolist() == ["–"]


def test_a_papers_table_has_the_interval_behind_the_value_that_it_is_of():
    (row,) = for_paper(pd.DataFrame([ROLE]), ROLES).to_dict("records")
    assert row["mean (times uniform)"] == "6.100 (+1.350, −1.060)"
    assert set(row) == {
        *("role", "heads", "share of heads (%)", "strongest head"),
        *("mean (times uniform)", "p corrected"),
    }


def test_the_best_of_a_column_is_marked_among_rows_with_an_interval():
    frame = pd.DataFrame(
        {
            "system": ["rules", "head", "mentions"],
            "all": [0.5, 0.75, 20.0],
            "pronoun": [0.5, 0.25, 7.0],
            "low": [0.25, 0.5, None],
            "high": [0.75, 0.875, None],
        }
    )
    shown = for_paper(frame, ANTECEDENTS)
    assert shown["all"].tolist() == ["0.500 ± 0.250", "0.750 (+0.125, −0.250)", "20"]
    best = {name: [isinstance(one, Best) for one in shown[name]] for name in ("all", "pronoun")}
    assert best == {"all": [False, True, False], "pronoun": [True, False, False]}


def test_the_best_of_a_row_is_marked_unless_all_are_equal():
    columns = [Column(name, form=share, rivals="row") for name in ("a", "b")]
    frame = pd.DataFrame({"a": [0.5, 0.5, None], "b": [0.25, 0.5, 0.5]})
    shown = for_paper(frame, columns)
    assert [isinstance(one, Best) for one in shown["a"]] == [True, False, False]
    assert not any(isinstance(one, Best) for one in shown["b"])  # alone, it beats nothing
    assert ends().title not in for_paper(pd.DataFrame([ROLE]), ROLES)
