"""Small maps of all heads, and other figures after Kovaleva et al. 2019.

Every head is in its place with its own value. Checked in the charts' own description, and drawn.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import vl_convert

from headscope.errors import UserError
from headscope.figures import find_figure, gallery, measure_grid
from headscope.figures.style import GREY
from headscope.measures import Feature, Link
from stats.sampled import random_values, sampled

FEATURES = Feature.dims["feature"]
LINKS = Link.dims["link"]

NEEDS = {
    "frames": "frame",
    "change": "change",
    "features": "feature",
    "features-change": "feature-change",
    "links": "link",
    "links-change": "link-change",
    "from-cls": "link",
}
SHOWN = {"cls": "[CLS]", "sep": "[SEP]"}


def draw(name: str, values: np.ndarray) -> dict[str, Any]:
    results = sampled({NEEDS[name]: values})
    return find_figure(name, results).draw(results).to_dict()


def rows_of(spec: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the data of one panel; its layers share them."""
    name = (
        panel.get("data", panel["layer"][0].get("data", {})).get("name")
        if "layer" in panel
        else panel["data"]["name"]
    )
    return spec["datasets"][name]


@pytest.mark.parametrize("name", NEEDS)
def test_results_with_the_measure_allow_the_figure(name):
    results = sampled({NEEDS[name]: random_values(NEEDS[name])})
    assert name in {item.name for item in gallery(results)}
    other = "frame" if NEEDS[name] == "change" else "change"
    with pytest.raises(UserError, match=f"the figure '{name}' needs the measure '{NEEDS[name]}'"):
        find_figure(name, sampled({other: random_values(other)}))


def test_the_similarity_of_maps_is_coloured_from_0_to_1():
    values = random_values("change")
    spec = draw("change", values)
    (rows,) = spec["datasets"].values()
    assert {(row["layer"], row["head"]): row["value"] for row in rows} == pytest.approx(
        {(a + 1, b + 1): values.mean(0)[a, b] for a in range(2) for b in range(3)}
    )
    (scale,) = (
        layer["encoding"]["color"]["scale"]
        for layer in spec["layer"]
        if "scale" in layer["encoding"].get("color", {})
    )
    assert scale["domain"] == [0, 1]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("features", FEATURES),
        ("features-change", FEATURES),
        ("links", LINKS[:4]),
        ("links-change", LINKS[:4]),
    ],
)
def test_a_grid_has_a_small_heat_map_for_each_label_with_the_label_s_own_values(name, labels):
    values = random_values(NEEDS[name], layers=3, heads=4)
    spec = draw(name, values)
    wanted = [SHOWN.get(label, label) for label in labels]
    assert [panel["title"]["text"] for panel in spec["concat"]] == wanted
    for column, panel in enumerate(spec["concat"]):
        means = values.mean(0)[..., column]
        found = {(row["layer"], row["head"]): row["value"] for row in rows_of(spec, panel)}
        assert found == pytest.approx(
            {(layer + 1, head + 1): means[layer, head] for layer in range(3) for head in range(4)}
        )
        domain = panel["layer"][-1]["encoding"]["color"]["scale"]["domain"]
        drawn = np.abs(values.mean(0)[..., : len(labels)])  # changes have one scale for all labels
        most = drawn.max() if "change" in name else means.max()
        assert domain == pytest.approx([-most if "change" in name else 0, most])
        for layer in panel["layer"]:
            expected = ("layer", "descending")
            assert (layer["encoding"]["y"]["field"], layer["encoding"]["y"]["sort"]) == expected


def test_a_change_map_can_have_a_colour_scale_of_its_own():
    values = random_values("feature-change", layers=3, heads=4)
    results = sampled({"feature-change": values})
    spec = measure_grid(results, "feature-change", "Change", scale="each").to_dict()
    for column, panel in enumerate(spec["concat"]):
        most = np.abs(values.mean(0)[..., column]).max()
        domain = panel["layer"][-1]["encoding"]["color"]["scale"]["domain"]
        assert domain == pytest.approx([-most, most])
    assert spec["resolve"]["scale"]["color"] == "independent"
    with pytest.raises(UserError, match="the colour scale must be one of each, one"):
        measure_grid(results, "feature-change", "Change", scale="own")  # type: ignore[arg-type]


def test_more_is_orange_and_less_purple_in_a_difference():
    values = np.zeros((2, 1, 2, len(FEATURES)))
    values[:, 0, 0], values[:, 0, 1] = -0.5, 0.5
    svg = vl_convert.vegalite_to_svg(draw("features-change", values))
    colours = re.findall(
        r'aria-label="[^"]*head: ([12]);[^"]*" role="graphics-symbol" '
        r'aria-roledescription="rect mark"[^>]*fill="rgb\((\d+), (\d+), (\d+)\)"',
        svg,
    )
    assert len(colours) == 2 * len(FEATURES)
    for head, red, _, blue in colours:
        assert (int(red) > int(blue)) == (head == "2")


def test_attention_from_cls_is_that_of_the_last_layer():
    values = random_values("link", layers=3, heads=4)
    (rows,) = draw("from-cls", values)["datasets"].values()
    means = values.mean(0)[-1]
    expected = {
        (head + 1, SHOWN.get(name, name)): means[head, LINKS.index(f"cls to {name}")]
        for head in range(4)
        for name in FEATURES
    }
    assert {(row["head"], row["feature"]): row["value"] for row in rows} == pytest.approx(expected)


@pytest.mark.parametrize("name", ["links", "from-cls"])
def test_undefined_heads_are_grey_and_a_figure_of_undefined_heads_is_drawn(name):
    values = random_values(NEEDS[name])
    values[:, -1, 0] = np.nan
    svg = vl_convert.vegalite_to_svg(draw(name, values))
    assert svg.count(f'fill="{GREY}"') == {"links": 4, "from-cls": len(FEATURES)}[name]
    assert "NaN" not in vl_convert.vegalite_to_svg(draw(name, np.full_like(values, np.nan)))


@pytest.mark.parametrize("shape", [(1, 1), (2, 40)])
@pytest.mark.parametrize("name", NEEDS)
def test_every_figure_is_valid_for_models_of_every_shape(name, shape):
    assert "NaN" not in repr(
        draw(name, random_values(NEEDS[name], layers=shape[0], heads=shape[1], examples=2))
    )
