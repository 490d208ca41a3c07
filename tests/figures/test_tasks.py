"""Figures of several tasks side by side: every panel has its task's values, on the right scale."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import vl_convert

from headscope.figures.ablation import heads_off_by_task, layer_off, layers_off_by_task
from headscope.figures.changes import from_cls_by_task, similarity_by_task, special_by_task
from headscope.measures import Feature, Link
from headscope.stats.tables.ablation import scored
from stats.made_ablation import made_ablation
from stats.sampled import random_values, sampled

FEATURES = Feature.dims["feature"]
LINKS = Link.dims["link"]


def panels(chart: Any) -> list[tuple[str, dict[tuple[int, int], float], list[float]]]:
    """The title, the values by layer and head, and the colour scale of each small map."""
    spec = chart.to_dict()
    found = []
    for panel in spec["concat"]:
        (rows,) = (
            rows
            for name, rows in spec["datasets"].items()
            if name in str(panel) and rows and "value" in rows[0]
        )
        values = {(row["layer"], row["head"]): row["value"] for row in rows}
        title = panel.get("title") or panel["layer"][0]["title"]
        found.append((title["text"], values, _first(panel, "domain")))
    return found


def _first(part: Any, key: str) -> Any:
    """The first value of a key in a chart's description, from top to bottom."""
    if isinstance(part, dict):
        if key in part:
            return part[key]
        part = list(part.values())
    found = (_first(one, key) for one in part) if isinstance(part, list) else ()
    return next((one for one in found if one is not None), None)


def by_head(values: np.ndarray) -> dict[tuple[int, int], float]:
    layers, heads = values.shape
    return {(i + 1, j + 1): values[i, j] for i in range(layers) for j in range(heads)}


def test_similarity_has_one_panel_per_task_on_one_scale():
    values = {name: random_values("change", seed=seed) for seed, name in enumerate(("RTE", "MRPC"))}
    chart = similarity_by_task({name: sampled({"change": one}) for name, one in values.items()})
    for (title, found, domain), (name, one) in zip(panels(chart), values.items(), strict=True):
        assert title == name
        assert found == pytest.approx(by_head(one.mean(0)))
        assert domain == pytest.approx([0, max(v.mean(0).max() for v in values.values())])
    vl_convert.vegalite_to_svg(chart.to_dict())


def test_sep_stands_above_cls_with_all_tasks_on_one_scale():
    values = {
        name: random_values("feature", seed=seed) for seed, name in enumerate(("RTE", "SST-2"))
    }
    chart = special_by_task({name: sampled({"feature": one}) for name, one in values.items()})
    found = panels(chart)
    expected = ["[SEP], RTE", "[SEP], SST-2", "[CLS], RTE", "[CLS], SST-2"]
    assert [title for title, _, _ in found] == expected
    assert chart.to_dict()["columns"] == 2
    special = [FEATURES.index(name) for name in ("sep", "cls")]
    most = max(one.mean(0)[..., special].max() for one in values.values())
    assert found[1][1] == pytest.approx(by_head(values["SST-2"].mean(0)[..., special[0]]))
    assert found[2][1] == pytest.approx(by_head(values["RTE"].mean(0)[..., special[1]]))
    assert [domain for _, _, domain in found] == [pytest.approx([0, most])] * 4


def test_attention_from_cls_is_that_of_the_last_layer_of_each_task():
    values = {name: random_values("link", seed=seed) for seed, name in enumerate(("RTE", "MRPC"))}
    spec = from_cls_by_task(
        {name: sampled({"link": one}) for name, one in values.items()}
    ).to_dict()
    assert [part["title"]["text"] for part in spec["concat"]] == ["RTE", "MRPC"]
    for rows, one in zip(spec["datasets"].values(), values.values(), strict=True):
        noun = {row["head"]: row["value"] for row in rows if row["feature"] == "noun"}
        place = LINKS.index("cls to noun")
        expected = {head + 1: one.mean(0)[-1, head, place] for head in range(3)}
        assert noun == pytest.approx(expected)


def ablated(right: np.ndarray) -> Any:
    """An ablation of a baseline, six heads and two layers; (run, example): is the answer right?"""
    gold = np.zeros(right.shape[1])
    outputs = np.stack([right, ~right], axis=-1).astype(float)
    return scored(made_ablation(outputs, gold), resamples=2000)


def test_gains_are_in_points_and_sure_ones_are_framed():
    right = np.repeat(np.arange(60)[None] < 30, 9, axis=0)
    right[1] = False
    right[2] = np.arange(60) < 33
    other = np.repeat(np.arange(60)[None] < 40, 9, axis=0)
    other[3] = np.arange(60) < 37
    chart = heads_off_by_task({"RTE": ablated(right), "MRPC": ablated(other)})
    (title, values, domain), (_, _, narrow) = panels(chart)
    assert narrow == pytest.approx([-5, 5])
    assert title == "RTE: accuracy 50.0"
    expected = dict.fromkeys(values, 0.0) | {(1, 1): -50.0, (1, 2): 5.0}
    assert values == pytest.approx(expected, abs=1e-9)
    assert domain == pytest.approx([-50, 50])
    framed = [
        rows
        for rows in chart.to_dict()["datasets"].values()
        if rows and set(rows[0]) == {"layer", "head"}
    ]
    assert framed == [[{"layer": 1, "head": 1}]]


def test_the_axis_holds_the_baseline_where_no_layer_changes_anything():
    results = ablated(np.repeat(np.arange(60)[None] < 30, 9, axis=0))
    for chart in (layer_off(results), layers_off_by_task({"RTE": results})):
        svg = vl_convert.vegalite_to_svg(chart.to_dict())
        assert "0.500" in svg
        assert "NaN" not in svg
    scale = layer_off(results).to_dict()["layer"][0]["encoding"]["y"]["scale"]
    assert scale["domain"] == pytest.approx([0.495, 0.505])
