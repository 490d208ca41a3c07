"""The figures of Kovaleva et al.: every head at its place with its own value, outlined where it stands out. Checked in the charts' own description, and drawn."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import vl_convert

from headscope.errors import UserError
from headscope.figures import find_figure, gallery
from headscope.figures.style import GREY, RED
from headscope.measures.feature import FEATURES
from headscope.measures.link import LINKS
from stats.sampled import random_values, sampled

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
    """The data of one panel; layers of it share theirs."""
    name = (
        panel.get("data", panel["layer"][0].get("data", {})).get("name")
        if "layer" in panel
        else panel["data"]["name"]
    )
    return spec["datasets"][name]


@pytest.mark.parametrize("name", NEEDS)
def test_results_with_the_measure_allow_the_figure(name: str) -> None:
    results = sampled({NEEDS[name]: random_values(NEEDS[name])})
    assert name in {item.name for item in gallery(results)}
    with pytest.raises(UserError, match=f"the figure '{name}' needs the measure '{NEEDS[name]}'"):
        find_figure(
            name,
            sampled(
                {
                    "frame" if NEEDS[name] == "change" else "change": random_values(
                        "frame" if NEEDS[name] == "change" else "change"
                    )
                }
            ),
        )


def test_frame_attention_is_outlined_at_the_heads_over_the_99th_percentile() -> None:
    values = random_values("frame", layers=12, heads=12)
    means = values.mean(0)[..., 0]
    spec = draw("frames", values)
    *_, outline = spec["layer"]
    assert (outline["mark"]["type"], outline["mark"]["filled"], outline["mark"]["stroke"]) == (
        "rect",
        False,
        RED,
    )
    expected = {
        tuple(int(part) + 1 for part in np.unravel_index(place, means.shape))
        for place in np.argsort(-means, axis=None)[:2]
    }
    assert {
        (row["layer"], row["head"]) for row in spec["datasets"][outline["data"]["name"]]
    } == expected
    found = {
        (row["layer"], row["head"]): row["value"] for row in max(spec["datasets"].values(), key=len)
    }
    assert found == pytest.approx(
        {(layer + 1, head + 1): means[layer, head] for layer in range(12) for head in range(12)}
    )


def test_the_outline_is_drawn_around_its_head() -> None:
    values = np.full((2, 2, 3, 3), 0.1)
    values[:, 1, 0] = 0.9  # layer 2, head 1: top left
    svg = vl_convert.vegalite_to_svg(draw("frames", values))
    (place,) = re.findall(rf'd="M([\d.-]+),([\d.-]+)h[^"]*"[^>]*stroke="{RED}"', svg)
    squares = re.findall(
        r'aria-roledescription="rect mark" d="M([\d.]+),([\d.]+)h[^"]*" fill="#[0-9a-f]{6}|aria-roledescription="rect mark" d="M([\d.]+),([\d.]+)h[^"]*" fill="rgb',
        svg,
    )
    places = {(float(a or c), float(b or d)) for a, b, c, d in squares}
    assert (float(place[0]), float(place[1])) == (
        min(x for x, _ in places),
        min(y for _, y in places),
    )


def test_the_likeness_of_maps_is_coloured_from_nought_to_one() -> None:
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
def test_a_grid_has_a_small_heat_map_for_each_label_with_the_label_s_own_values(
    name: str, labels: tuple[str, ...]
) -> None:
    values = random_values(NEEDS[name], layers=3, heads=4)
    spec = draw(name, values)
    assert [panel["title"]["text"] for panel in spec["concat"]] == [
        SHOWN.get(label, label) for label in labels
    ]
    for column, panel in enumerate(spec["concat"]):
        means = values.mean(0)[..., column]
        found = {(row["layer"], row["head"]): row["value"] for row in rows_of(spec, panel)}
        assert found == pytest.approx(
            {(layer + 1, head + 1): means[layer, head] for layer in range(3) for head in range(4)}
        )
        domain = panel["layer"][-1]["encoding"]["color"]["scale"]["domain"]
        assert domain == pytest.approx(
            [-np.abs(means).max() if "change" in name else 0, np.abs(means).max()]
        )
        for layer in panel["layer"]:
            assert (layer["encoding"]["y"]["field"], layer["encoding"]["y"]["sort"]) == (
                "layer",
                "descending",
            )


def test_more_is_orange_and_less_purple_in_a_difference() -> None:
    values = np.zeros((2, 1, 2, len(FEATURES)))
    values[:, 0, 0], values[:, 0, 1] = -0.5, 0.5
    svg = vl_convert.vegalite_to_svg(draw("features-change", values))
    colours = re.findall(
        r'aria-label="[^"]*head: ([12]);[^"]*" role="graphics-symbol" aria-roledescription="rect mark"[^>]*fill="rgb\((\d+), (\d+), (\d+)\)"',
        svg,
    )
    assert len(colours) == 2 * len(FEATURES)
    for head, red, _, blue in colours:
        assert (int(red) > int(blue)) == (head == "2")


def test_attention_from_cls_is_that_of_the_last_layer() -> None:
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
def test_undefined_heads_are_grey_and_a_figure_of_nothing_but_them_is_still_drawn(
    name: str,
) -> None:
    values = random_values(NEEDS[name])
    values[:, -1, 0] = np.nan
    svg = vl_convert.vegalite_to_svg(draw(name, values))
    assert svg.count(f'fill="{GREY}"') == {"links": 4, "from-cls": 8}[name]
    assert "NaN" not in vl_convert.vegalite_to_svg(draw(name, np.full_like(values, np.nan)))


@pytest.mark.parametrize("shape", [(1, 1), (2, 40)])
@pytest.mark.parametrize("name", NEEDS)
def test_every_figure_is_valid_for_models_of_every_shape(name: str, shape: tuple[int, int]) -> None:
    assert "NaN" not in repr(
        draw(name, random_values(NEEDS[name], layers=shape[0], heads=shape[1], examples=2))
    )
