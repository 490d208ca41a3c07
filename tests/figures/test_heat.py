"""The heat map: every head in its place, layer 1 at the bottom, undefined heads grey.

Checked in the chart's own description, and in the drawn SVG.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import vl_convert
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from headscope.figures import find_figure, heat_map
from headscope.figures.style import GREY, legend_ticks
from page.samples import APART, EXAMPLES, made_results, made_values

FIGURES = {
    "heat-previous": ("position", 0),
    "heat-next": ("position", 2),
    "heat-cls": ("special", (0, 0)),
    "heat-sep": ("special", (1, 0)),
    "heat-entropy": ("entropy", 0),
}
STUDENT_T = 2.364624252  # 95 %, seven degrees of freedom: Student's table


def draw(name: str, **options: Any) -> dict[str, Any]:
    results = made_results(**options)
    return find_figure(name, results).draw(results).to_dict()


def rows_of(spec: dict[str, Any]) -> list[dict[str, Any]]:
    (data,) = spec["datasets"].values()
    return data


def grid(values: list[list[float]]) -> xr.DataArray:
    array = np.array(values)
    return xr.DataArray(
        array,
        dims=("layer", "head"),
        coords={"layer": np.arange(1, len(array) + 1), "head": np.arange(1, array.shape[1] + 1)},
    )


def squares(svg: str) -> list[tuple[float, float, str]]:
    """Return the drawn squares, (x, y, colour), from top to bottom and left to right."""
    found = re.findall(
        r'<path aria-label="[^"]*" role="graphics-symbol" aria-roledescription="rect mark" '
        r'd="M([\d.]+),([\d.]+)h[^"]*" fill="([^"]+)"',
        svg,
    )
    return sorted(
        ((float(x), float(y), colour) for x, y, colour in found),
        key=lambda square: (square[1], square[0]),
    )


@pytest.mark.parametrize("name", FIGURES)
def test_every_head_has_its_own_value(name):
    measure, label = FIGURES[name]
    values = made_values(4, 5)[measure]
    found = {
        (row["layer"], row["head"]): row["value"] for row in rows_of(draw(name, layers=4, heads=5))
    }
    cells = np.ndindex(4, 5)
    expected = {(layer + 1, head + 1): values[layer, head][label] for layer, head in cells}
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["heat-previous", "heat-entropy"])
def test_the_interval_is_student_s_and_that_of_a_share_stays_between_0_and_1(name):
    # Eight texts by turns 0.01 below and above the mean: without one it moves by 0.01 / 7.
    error = APART / 7 * math.sqrt(EXAMPLES)
    assert EXAMPLES == 8
    for row in rows_of(draw(name)):
        value = row["value"]
        if name == "heat-previous":  # of the log odds, by the delta method
            centre, reach = special.logit(value), STUDENT_T * error / (value * (1 - value))
            ends = special.expit([centre - reach, centre + reach])
            assert 0 < row["low"] < value < row["high"] < 1
        else:  # of the logarithm
            factor = math.exp(STUDENT_T * error / value)
            ends = value / factor, value * factor
        assert (row["low"], row["high"]) == pytest.approx(tuple(ends), rel=1e-6)


@pytest.mark.parametrize("name", FIGURES)
def test_layer_one_is_at_the_bottom_and_head_one_at_the_left(name):
    for layer in draw(name)["layer"]:
        expected = ("layer", "descending")
        assert (layer["encoding"]["y"]["field"], layer["encoding"]["y"]["sort"]) == expected
        assert layer["encoding"]["x"]["field"] == "head"


def test_the_drawing_has_layer_one_at_the_bottom():
    # Only head 1 of layer 1 is high: the brightest square must be the lowest and leftmost.
    svg = vl_convert.vegalite_to_svg(
        heat_map(grid([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), title="t", domain=(0, 1)).to_dict()
    )
    drawn = squares(svg)
    assert len(drawn) == 6
    bright, dark = drawn[4][2], {drawn[place][2] for place in (0, 1, 2, 3, 5)}
    assert len(dark) == 1
    assert bright not in dark


def color_domain(spec: dict[str, Any]) -> list[float]:
    (scale,) = (
        layer["encoding"]["color"]["scale"]
        for layer in spec["layer"]
        if "scale" in layer["encoding"].get("color", {})
    )
    return scale["domain"]


@pytest.mark.parametrize("name", ["heat-previous", "heat-next", "heat-cls", "heat-sep"])
def test_shares_are_coloured_from_nought_to_one(name):
    assert color_domain(draw(name)) == [0, 1]


def test_entropy_is_coloured_over_its_own_range():
    values = made_values(2, 3)["entropy"][..., 0]
    expected = pytest.approx([values.min(), values.max()], rel=1e-9)
    assert color_domain(draw("heat-entropy")) == expected


def test_undefined_heads_are_drawn_grey_with_a_dash():
    svg = vl_convert.vegalite_to_svg(
        heat_map(grid([[0.5, np.nan], [0.0, 1.0]]), title="t", domain=(0, 1)).to_dict()
    )
    # bottom right: layer 1, head 2
    assert [colour == GREY for _, _, colour in squares(svg)] == [False, False, False, True]
    assert re.findall(r">(0\.00|0\.50|1\.00|–)</text>", svg).count("–") == 1
    assert "NaN" not in svg


def test_undefined_heads_are_grey_in_a_model_too_wide_for_numbers():
    svg = vl_convert.vegalite_to_svg(
        heat_map(grid([[np.nan] + [0.5] * 19]), title="t", domain=(0, 1)).to_dict()
    )
    assert [colour == GREY for _, _, colour in squares(svg)] == [True] + [False] * 19


@pytest.mark.parametrize("domain", [None, (0.0, 1.0)])
def test_a_map_without_a_single_defined_head_is_all_grey(domain):
    svg = vl_convert.vegalite_to_svg(
        heat_map(grid([[np.nan, np.nan]]), title="t", domain=domain).to_dict()
    )
    assert {colour for _, _, colour in squares(svg)} == {GREY}
    assert "NaN" not in svg


def test_numbers_are_readable_on_their_square():
    svg = vl_convert.vegalite_to_svg(
        heat_map(grid([[0.0, 1.0]]), title="t", domain=(0, 1)).to_dict()
    )
    colours = {
        text: colour for colour, text in re.findall(r'fill="(\w+)"[^>]*>(0\.00|1\.00)</text>', svg)
    }
    expected = {"0.00": "white", "1.00": "black"}
    assert colours == expected  # viridis is dark at its low end, bright at its high end


@pytest.mark.parametrize(("heads", "printed"), [(12, True), (16, True), (17, False), (32, False)])
def test_numbers_are_printed_where_there_is_room(heads, printed):
    assert (
        any(layer["mark"]["type"] == "text" for layer in draw("heat-cls", heads=heads)["layer"])
        is printed
    )


def test_a_large_model_has_a_square_for_each_head():
    spec = draw("heat-cls", layers=24, heads=16)
    assert len(rows_of(spec)) == 24 * 16
    assert spec["width"] == 34 * 16
    assert spec["height"] == pytest.approx(34 * 0.8 * 24)


@given(st.floats(-100, 100), st.floats(1e-4, 1e4))
def test_the_legend_has_round_numbers_inside_the_scale(low, width):
    high = low + width
    ticks = legend_ticks(low, high)
    values = ticks["values"]
    slack = 1e-6 * width
    assert 2 <= len(values) <= 7
    assert low - slack <= values[0] < values[-1] <= high + slack
    assert np.ptp(np.diff(values)) == pytest.approx(0, abs=slack)
    # What is written is the value itself, not a rounded one.
    assert [float(format(value, ticks["format"])) for value in values] == values


def test_the_legend_of_a_single_value_is_that_value():
    assert legend_ticks(0.25, 0.25)["values"] == [0.25]
