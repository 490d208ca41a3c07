"""Attention along frame links: heads that stand out have a red frame."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import vl_convert

from headscope.figures import find_figure
from headscope.figures.style import RED
from stats.sampled import random_values, sampled

SQUARE = r'aria-roledescription="rect mark" d="M([\d.]+),([\d.]+)h[^"]*" fill="(?:#[0-9a-f]{6}|rgb)'


def draw(values: np.ndarray) -> dict[str, Any]:
    results = sampled({"frame": values})
    return find_figure("frames", results).draw(results).to_dict()


def test_heads_above_the_99th_percentile_are_outlined():
    values = random_values("frame", layers=12, heads=12)
    means = values.mean(0)[..., 0]
    spec = draw(values)
    *_, outline = spec["layer"]
    wanted = ("rect", False, RED)
    assert (outline["mark"]["type"], outline["mark"]["filled"], outline["mark"]["stroke"]) == wanted
    expected = {
        tuple(int(part) + 1 for part in np.unravel_index(place, means.shape))
        for place in np.argsort(-means, axis=None)[:2]
    }
    seen = {(row["layer"], row["head"]) for row in spec["datasets"][outline["data"]["name"]]}
    assert seen == expected
    found = {
        (row["layer"], row["head"]): row["value"] for row in max(spec["datasets"].values(), key=len)
    }
    assert found == pytest.approx(
        {(layer + 1, head + 1): means[layer, head] for layer in range(12) for head in range(12)}
    )


def test_the_outline_is_drawn_around_its_head():
    values = np.full((2, 2, 3, 3), 0.1)
    values[:, 1, 0] = 0.9  # layer 2, head 1: top left
    svg = vl_convert.vegalite_to_svg(draw(values))
    (place,) = re.findall(rf'd="M([\d.-]+),([\d.-]+)h[^"]*"[^>]*stroke="{RED}"', svg)
    places = {(float(x), float(y)) for x, y in re.findall(SQUARE, svg)}
    expected = (min((x for x, _ in places)), min((y for _, y in places)))
    assert (float(place[0]), float(place[1])) == expected
