"""Heads in the plane: every head a point in its place, names that hide nothing, grey context."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headscope.figures import head_points
from headscope.figures.distances import LETTERS, OTHERS, POINT, name_places, name_size


def heads(count: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x, y = random.normal(size=count), random.normal(size=count)
    kinds = ["broad" if number % 3 == 0 else "none" for number in range(count)]
    names = [f"1-{number}" for number in range(1, count + 1)]
    return pd.DataFrame({"name": names, "x": x, "y": y, "layer": 1, "behaviour": kinds})


def rows(spec: dict[str, Any], place: int) -> list[dict[str, Any]]:
    return spec["datasets"][spec["layer"][place]["data"]["name"]]


def test_every_head_is_a_point_in_its_place():
    table = heads(20)
    spec = head_points(table, title="Heads", colour="layer").to_dict()
    found = {row["name"]: (row["x"], row["y"]) for row in rows(spec, 0)}
    assert found == {row.name: (row.x, row.y) for row in table.itertuples(index=False)}


def test_heads_of_the_last_category_are_grey_small_below_and_without_names():
    spec = head_points(
        heads(9), title="Heads", colour="behaviour", categories=["broad", "none"]
    ).to_dict()
    encoding = spec["layer"][0]["encoding"]
    assert encoding["color"]["scale"]["domain"] == ["broad", "none"]
    assert encoding["color"]["scale"]["range"][-1] == OTHERS
    assert encoding["size"]["condition"]["value"] < encoding["size"]["value"]
    context = [row["context"] for row in rows(spec, 0)]
    assert context == sorted(context, reverse=True)
    assert sum(context) == 6
    assert {row["name"] for row in rows(spec, 1)} == {"1-1", "1-4", "1-7"}


def test_names_stand_near_their_own_points():
    table = heads(12)
    spec = head_points(table, title="Heads", colour="layer").to_dict()
    spans = [spec["layer"][0]["encoding"][axis]["scale"]["domain"] for axis in "xy"]
    sides = (spec["width"], spec["height"])
    pixels = [side / (end - start) for side, (start, end) in zip(sides, spans, strict=True)]
    named = rows(spec, 1)
    assert named
    points = table.set_index("name")
    for row in named:
        point = points.loc[row["name"]]
        away = abs(row["x"] - point["x"]) * pixels[0], abs(row["y"] - point["y"]) * pixels[1]
        half, high = name_size(row["name"])
        assert away[0] <= half + 2 * POINT + 1e-6
        assert away[1] <= high + 2 * POINT + 1e-6


@pytest.mark.parametrize("count", [30, 144])
def test_names_hide_no_point_and_no_other_name(count):
    random = np.random.default_rng(1)
    across, down = random.uniform(0, 605, count), random.uniform(0, 520, count)
    names = [f"{1 + number // 12}-{1 + number % 12}" for number in range(count)]
    places = name_places(list(across), list(down), names)
    known = [
        (*place, *name_size(name))
        for place, name in zip(places, names, strict=True)
        if place is not None
    ]
    assert len(known) > 2 * count / 3
    for (x, y, wide, high), (right, below, other, tall) in combinations(known, 2):
        assert abs(x - right) >= wide + other or abs(y - below) >= high + tall
    for x, y, wide, high in known:
        free = (abs(across - x) >= wide + POINT) | (abs(down - y) >= high + POINT)
        assert free.all()


def test_names_are_large_enough_to_read():
    spec = head_points(heads(3), title="Heads", colour="layer").to_dict()
    assert spec["layer"][1]["mark"]["fontSize"] == LETTERS
    # On a page 700 pixels wide, a figure has 622.
    assert LETTERS * min(1, 622 / (spec["width"] + 30)) >= 10.5


def test_heads_that_all_coincide_still_draw():
    table = heads(5).assign(x=0.0, y=0.0)
    spec = head_points(table, title="Heads", colour="layer").to_dict()
    assert len(rows(spec, 0)) == 5
    assert len(rows(spec, 1)) == 5


def test_a_long_subtitle_has_lines_of_its_own():
    chart = head_points(heads(3), title="Heads", subtitle="one\ntwo", colour="layer")
    assert chart.to_dict()["title"]["subtitle"] == ["one", "two"]
