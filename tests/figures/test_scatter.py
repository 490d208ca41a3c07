"""The layer scatter: it plots what the results hold, and nothing where they are not defined.

Nothing is rendered here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.figures import find_figure, layer_scatter
from headscope.figures.attention import from_sep, special
from page.samples import made_results, made_values

FIGURES = {
    "position": {
        f"{name} token": ("position", at) for at, name in enumerate(("previous", "current", "next"))
    },
    "special": {
        f"to {name}": ("special", (at, 0))
        for at, name in enumerate(("[CLS]", "[SEP]", "full stop or comma"))
    },
    "from-sep": {"from [SEP]": ("special", (1, 1)), "from other tokens": ("special", (1, 2))},
    "entropy": {"from all tokens": ("entropy", 0), "from [CLS]": ("entropy", 1)},
}


def draw(name: str, **options: Any) -> dict[str, Any]:
    results = made_results(**options)
    return find_figure(name, results).draw(results).to_dict()


def layer_of(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


def rows_of(spec: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    return spec["datasets"][layer.get("data", spec.get("data"))["name"]]


@pytest.mark.parametrize("name", FIGURES)
def test_every_head_is_a_point_with_its_own_value(name):
    spec, values = draw(name, layers=4, heads=5), made_values(4, 5)
    (points,) = layer_of(spec, "point")
    found = {
        (row["series"], row["layer"], row["head"]): row["value"] for row in rows_of(spec, points)
    }
    expected = {
        (series, layer + 1, head + 1): values[measure][layer, head][label]
        for series, (measure, label) in FIGURES[name].items()
        for layer in range(4)
        for head in range(5)
    }
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", FIGURES)
def test_points_are_above_their_layer_and_named_as_people_write_heads(name):
    spec = draw(name, layers=4, heads=5)
    for row in rows_of(spec, layer_of(spec, "point")[0]):
        assert abs(row["place"] - row["layer"]) < 0.5
        assert row["name"] == f"{row['layer']}-{row['head']}"


@pytest.mark.parametrize("name", FIGURES)
def test_lines_are_means_of_the_same_points_over_the_layer(name):
    spec = draw(name)
    means = layer_of(spec, "line")[0]["encoding"]
    fields = [means[channel]["field"] for channel in ("x", "y", "color")]
    assert (fields, means["y"]["aggregate"]) == (["layer", "value", "series"], "mean")


@pytest.mark.parametrize("name", ["position", "special", "from-sep"])
def test_shares_are_drawn_from_0_to_1_and_the_axis_says_so(name):
    (points,) = layer_of(draw(name), "point")
    assert points["encoding"]["y"]["scale"]["domain"] == [0, 1]
    assert points["encoding"]["y"]["title"] == "share of attention, 0–1"


def test_entropy_starts_at_0_and_has_the_uniform_line():
    spec = draw("entropy", layers=4, heads=5)
    assert layer_of(spec, "point")[0]["encoding"]["y"]["scale"] == {"zero": True}
    reference = layer_of(spec, "line")[1]
    assert reference["mark"]["strokeDash"]
    expected = [(layer, pytest.approx(np.log(20))) for layer in (1, 2, 3, 4)]
    assert [(row["layer"], row["value"]) for row in rows_of(spec, reference)] == expected
    assert rows_of(spec, layer_of(spec, "text")[0])[0]["what"] == "uniform attention"


def test_series_differ_in_shape_as_well_as_colour():
    encoding = layer_of(draw("position"), "point")[0]["encoding"]
    for channel in ("color", "shape"):
        assert len(set(encoding[channel]["scale"]["range"])) == 3


def test_every_layer_is_on_the_axis_even_if_nothing_is_defined_there():
    values = made_values(4, 2)
    values["position"][3] = np.nan
    spec = draw("position", layers=4, heads=2, values=values)
    axis = layer_of(spec, "point")[0]["encoding"]["x"]
    assert axis["axis"]["values"] == [1, 2, 3, 4]
    assert axis["scale"]["domain"] == [0.5, 4.5]
    assert {row["layer"] for row in rows_of(spec, layer_of(spec, "point")[0])} == {1, 2, 3}


def test_a_causal_model_has_no_next_token_and_the_legend_keeps_its_colours():
    whole, causal = draw("position"), draw("position", causal=True)
    expected = {"previous token", "current token"}
    assert {row["series"] for row in rows_of(causal, layer_of(causal, "point")[0])} == expected
    expected = layer_of(whole, "point")[0]["encoding"]["color"]
    assert layer_of(causal, "point")[0]["encoding"]["color"] == expected


def test_a_figure_without_values_says_so():
    assert texts(draw("from-sep", causal=True)) == ["half", "not defined for this model or corpus"]
    assert texts(draw("from-sep")) == ["half"]


def texts(spec: dict[str, Any]) -> list[str]:
    return [row["what"] for layer in layer_of(spec, "text") for row in rows_of(spec, layer)]


@pytest.mark.parametrize("name", ["position", "special", "from-sep"])
def test_half_of_the_attention_is_a_line(name):
    spec = draw(name)
    (line,) = layer_of(spec, "rule")
    assert rows_of(spec, line) == [{"value": 0.5, "what": "half"}]


@pytest.mark.parametrize("figure", [special, from_sep])
def test_uniform_attention_to_separators_is_a_line_where_it_is_known(figure):
    spec = figure(made_results(), uniform=2 / 128).to_dict()
    assert rows_of(spec, layer_of(spec, "rule")[0])[1] == {"value": 1 / 64, "what": "uniform: 1/64"}


def test_heads_with_the_same_value_do_not_hide_each_other():
    values = made_values(3, 12)
    values["special"][:] = 0.02
    spec = draw("special", layers=3, heads=12, values=values)
    points = rows_of(spec, layer_of(spec, "point")[0])
    assert len({round(row["place"], 6) for row in points}) == len(points) == 3 * 3 * 12
    assert layer_of(spec, "point")[0]["mark"]["filled"] is False


def test_series_of_a_layer_stand_beside_each_other_without_mixing():
    spec = draw("special", layers=2, heads=12)
    points = rows_of(spec, layer_of(spec, "point")[0])
    for layer in (1, 2):
        here = sorted((row["place"], row["series"]) for row in points if row["layer"] == layer)
        order = [series for _, series in here]
        assert order == sorted(order, key=list(FIGURES["special"]).index)
        assert [place for place, _ in here] == sorted(place for place, _ in here)
        assert max(abs(place - layer) for place, _ in here) < 0.4


def test_the_subtitle_names_model_corpus_and_number_of_examples():
    found = draw("position", model="google/bert", corpus="data/deep/en.conllu")["title"]["subtitle"]
    assert found == ["google/bert on en.conllu, 8 examples"]


def test_a_model_folder_is_named_by_its_last_part():
    expected = ["bert on texts.txt, 8 examples"]
    assert draw("position", model="/home/me/models/bert/")["title"]["subtitle"] == expected


def test_a_subtitle_is_cut_rather_than_widening_the_figure():
    assert draw("position", model="x" * 300)["title"]["limit"] < 500


def test_more_layers_make_a_wider_figure():
    assert draw("position", layers=24)["width"] > 2 * draw("position", layers=6)["width"]


def test_a_scatter_can_be_made_of_any_array_by_layer_and_head():
    import xarray as xr

    values = xr.DataArray(
        [[0.5, 0.25]], dims=("layer", "head"), coords={"layer": [1], "head": [1, 2]}
    )
    spec = layer_scatter({"mine": values}, title="Mine", unit="things").to_dict()
    assert [row["value"] for row in rows_of(spec, layer_of(spec, "point")[0])] == [0.5, 0.25]
    assert spec["title"]["text"] == "Mine"
