"""Overlap of roles.

Every number of the Venn diagram stands in its own region, and both diagrams count what a plain loop
counts.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
import xarray as xr

from figures.made_roles import NAMES, lines_of, made, random_scores, rows_of
from headscope.errors import UserError
from headscope.figures import find_figure, upset, venn
from headscope.figures.role_sets import HIGH, LAYOUTS, PIXELS, Ellipse, places
from headscope.stats import COARSE, role_tests
from headscope.stats.tables.roles import FINE


def reach(ellipse: Ellipse, x: float, y: float) -> float:
    """Return the sum of a point's distances to both foci, as a share of the long axis.

    It is below 1 inside the ellipse and above 1 outside.
    """
    away = math.sqrt(ellipse.long**2 - ellipse.short**2)
    turn = math.radians(ellipse.angle)
    foci = [
        (ellipse.x + sign * away * math.cos(turn), ellipse.y + sign * away * math.sin(turn))
        for sign in (-1, 1)
    ]
    return sum(math.dist((x, y), focus) for focus in foci) / (2 * ellipse.long)


def exact(tests: xr.Dataset, roles: list[str]) -> Counter[tuple[str, ...]]:
    """Count, head by head, how many heads have exactly which of some roles."""
    having = [
        [tuple(role for role, one in zip(roles, head, strict=True) if one) for head in layer]
        for layer in tests["has"].sel(role=roles).transpose("layer", "head", "role").values
    ]
    return Counter(names for layer in having for names in layer)


@pytest.mark.parametrize("number", LAYOUTS)
def test_every_combination_has_a_place_within_its_own_ellipses_and_no_others(number):
    found = places(LAYOUTS[number])
    assert set(found) == set(product((False, True), repeat=number)) - {(False,) * number}
    wide, high = 9 / PIXELS, 6 / PIXELS  # half of two digits in the largest type
    for combination, (x, y) in found.items():
        for dx, dy in product((-wide, 0, wide), (-high, 0, high)):
            seen = tuple(reach(ellipse, x + dx, y + dy) < 1 for ellipse in LAYOUTS[number])
            assert seen == combination


@pytest.mark.parametrize("number", LAYOUTS)
def test_outlines_are_the_ellipses_and_names_stand_outside_them(number):
    for ellipse in LAYOUTS[number]:
        found = [reach(ellipse, x, y) for x, y in ellipse.outline()[["x", "y"]].to_numpy()]
        assert found == pytest.approx([1.0] * 73)
        assert all(0 < x < 1 and 0 < y < HIGH for x, y in ellipse.outline()[["x", "y"]].to_numpy())
        below = 20 / PIXELS  # the number of heads is a line under the name
        assert all(
            reach(other, ellipse.name_x, ellipse.name_y - dy) > 1
            for other in LAYOUTS[number]
            for dy in (0, below)
        )
        nearest = min(
            LAYOUTS[number], key=lambda other: reach(other, ellipse.name_x, ellipse.name_y)
        )
        assert nearest is ellipse


@pytest.mark.parametrize(
    "roles", [COARSE, ("local", "syntactic", "delimiter"), ("cls", "sep"), ("nsubj",)]
)
@pytest.mark.parametrize("shape", [(4, 4), (24, 16)])
def test_the_numbers_are_those_of_a_plain_count(shape, roles):
    tests = role_tests(made(random_scores(*shape, sequences=12)))
    counted = exact(tests, list(roles))
    chart = venn(tests, roles=roles)
    numbers = rows_of(chart, "roles", "heads", "which")
    assert len(numbers) == 2 ** len(roles) - 1
    for row in numbers.itertuples():
        names = tuple(row.roles.split(" & "))
        assert row.heads == counted[names]
        assert len([head for head in row.which.split(", ") if head]) == row.heads
        inside = tuple(reach(ellipse, row.x, row.y) < 1 for ellipse in LAYOUTS[len(roles)])
        assert inside == tuple(role in names for role in roles)
    labels = rows_of(chart, "name", "size")
    assert dict(zip(labels["name"], labels["size"], strict=True)) == {
        role: f"{(count := int(tests['has'].sel(role=role).sum()))} head{'s' if count != 1 else ''}"
        for role in roles
    }
    expected = f"none of these roles: {counted[()]} of {shape[0] * shape[1]} heads"
    assert rows_of(chart, "what")["what"][0] == expected


def test_a_role_that_was_not_tested_is_not_a_set():
    tests = role_tests(made(np.where(np.array(NAMES) == "block", np.nan, random_scores())))
    assert list(rows_of(venn(tests), "name", "size")["name"]) == ["local", "syntactic", "delimiter"]


def test_without_any_of_the_four_roles_the_gallery_draws_the_first_four_there_are():
    results = made(np.where(np.isin(NAMES, COARSE), np.nan, random_scores()))
    found = list(rows_of(find_figure("role-venn", results).draw(results), "name", "size")["name"])
    assert found == ["previous-local", "next-local", "cls", "sep"]


def test_a_venn_diagram_of_five_roles_is_refused():
    with pytest.raises(
        UserError,
        match=r"^a Venn diagram takes 1 to 4 roles, got 9 instead\n"
        r"next: choose four of them, or draw the UpSet plot$",
    ):
        venn(role_tests(made(random_scores())), roles=FINE)


@pytest.mark.parametrize("roles", [COARSE, FINE, ("local",)])
def test_bars_are_the_combinations_of_a_plain_count(roles):
    tests = role_tests(made(random_scores(6, 8)))
    counted = exact(tests, list(roles))
    chart = upset(tests, roles=roles, most=1000)
    bars = rows_of(chart, "roles", "degree", "heads")
    assert {
        tuple(label.split(" & ")) if degree else (): heads
        for label, degree, heads in zip(bars["roles"], bars["degree"], bars["heads"], strict=True)
    } == counted
    assert list(bars["heads"]) == sorted(bars["heads"], reverse=True)
    dots = rows_of(chart, "roles", "role", "inside")
    assert len(dots) == len(bars) * len(roles)
    assert all(row.inside == (row.role in row.roles.split(" & ")) for row in dots.itertuples())
    sizes = rows_of(chart, "role", "heads", "colour")
    expected = {role: int(tests["has"].sel(role=role).sum()) for role in roles}
    assert dict(zip(sizes["role"], sizes["heads"], strict=True)) == expected


def test_only_the_largest_combinations_are_drawn_and_that_is_said():
    tests = role_tests(made(random_scores(6, 8)))
    every = sorted(exact(tests, list(FINE)).values(), reverse=True)
    chart = upset(tests, roles=FINE, most=5)
    assert list(rows_of(chart, "roles", "degree")["heads"]) == every[:5]
    assert f"the 5 largest of {len(every)} combinations" in lines_of(chart)


def test_without_any_role_one_bar_says_so():
    bars = rows_of(upset(role_tests(made(random_scores() / 1000))), "roles", "degree", "heads")
    assert list(bars["roles"]) == ["none of these roles"]
    assert list(bars["heads"]) == [12]


def test_colours_of_the_four_roles_differ():
    sizes = rows_of(upset(role_tests(made(random_scores()))), "role", "colour")
    assert all(one != two for one, two in combinations(sizes["colour"], 2))
