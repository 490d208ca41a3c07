"""The dependency chart: each relation with its best head, direction, interval and offset."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.figures import find_figure
from stats.made import dependency, results

UP, DOWN = "dependent to head", "head to dependent"
ANSWERS: dict[str, dict[str, Any]] = {
    "all": {"n": 100, "offset_right": 30, "offset": 1, "right": {(UP, 1, 1): (40, 20)}},
    "det": {"n": 40, "offset_right": 20, "offset": 1, "right": {(UP, 2, 3): (38, 20)}},
    "pobj": {"n": 25, "offset_right": 10, "offset": -2, "right": {(DOWN, 1, 2): (20, 5)}},
}


def drawn() -> dict[str, Any]:
    made = results(dependency=dependency(ANSWERS))
    return find_figure("dependencies", made).draw(made).to_dict()


def rows(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    layer = next(one for one in spec["layer"] if one["mark"]["type"] == mark)
    return spec["datasets"][layer.get("data", spec.get("data"))["name"]]


def test_rows_name_the_head_its_direction_and_the_offset():
    beside = {row["relation"]: row["words beside"] for row in rows(drawn(), "text")}
    assert beside == {
        "all": "1-1, dependent → head; +1",
        "det": "2-3, dependent → head; +1",
        "pobj": "1-2, head → dependent; -2",
    }


def test_accuracies_and_offsets_are_shares_of_the_words():
    found = {(row["relation"], row["what"]): row["value"] for row in rows(drawn(), "point")}
    assert found == {
        ("all", "best head"): pytest.approx(0.4),
        ("det", "best head"): pytest.approx(38 / 40),
        ("pobj", "best head"): pytest.approx(20 / 25),
        ("all", "best fixed offset"): pytest.approx(0.3),
        ("det", "best fixed offset"): pytest.approx(0.5),
        ("pobj", "best fixed offset"): pytest.approx(0.4),
    }
