"""Figures of ablation: what is drawn, not how it looks."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headscope.figures import find_figure, gallery, save_chart
from headscope.figures.style import BLUE, ORANGE
from headscope.results import Atlas

LAYERS, HEADS = 2, 3


def made(
    metric: str = "accuracy",
    *,
    heads: int = HEADS,
    parts: tuple[str, ...] = ("head_off", "layer_off"),
) -> Atlas:
    """Make scores by hand.

    The baseline is 0.8; head 1-2 gains 0.1 and head 2-3 loses 0.3, both significantly; the score
    of head 2-1 is not defined.
    """
    score = np.full((LAYERS, heads), 0.8)
    score[0, 1], score[1, 2], score[1, 0] = 0.9, 0.5, np.nan
    p = np.ones((LAYERS, heads))
    p[0, 1] = p[1, 2] = 0.01
    better = "lower" if metric == "loss" else "higher"
    attrs = {"metric": metric, "better": better, "baseline": 0.8, "way": "uniform"}
    attrs |= {"unit": metric, "title": "t", "source": "s"}
    dims, coords = ("layer", "head"), {"layer": range(1, LAYERS + 1), "head": range(1, heads + 1)}
    gap = score - 0.8
    values = {"mean": score, "p": p, "p_corrected": p, "n": np.full((LAYERS, heads), 40)}
    values |= {"difference": gap, "difference_low": gap - 0.02, "difference_high": gap + 0.03}
    whole = xr.Dataset({name: (dims, array) for name, array in values.items()}, coords, attrs)
    nodes = {
        "head_off": whole,
        "layer_off": whole.isel(head=1, drop=True),
        "pruning": curves(attrs),
    }
    about = {"model": {"name": "made"}, "corpus": {"name": "c.tsv"}}
    about |= {"counts": {"seen": 40}, "settings": {"seed": 0}}
    root = xr.Dataset(attrs={"headscope_schema": 1, "provenance": json.dumps(about)})
    return Atlas(xr.DataTree.from_dict({"/": root, **{f"/{name}": nodes[name] for name in parts}}))


def curves(attrs: dict[str, Any]) -> xr.Dataset:
    kinds, score = ["baseline", "greedy", "greedy", "importance"], np.array([0.8, 0.82, 0.6, 0.7])
    columns = {"kind": np.array(kinds, object), "left": [6, 4, 2, 3], "n": [20] * 4}
    columns |= {"mean": score, "difference_low": score - 0.9, "difference_high": score - 0.7}
    return xr.Dataset(
        {name: (("run",), values) for name, values in columns.items()},
        {"run": np.array(["none", "a", "b", "c"], object)},
        attrs,
    )


def draw(name: str, results: Atlas) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    spec = find_figure(name, results).draw(results).to_dict()
    return spec, spec["datasets"]


def rows_of(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    return spec["datasets"][spec["layer"][layer].get("data", spec.get("data"))["name"]]


@pytest.mark.parametrize(
    ("metric", "colours"),
    [("accuracy", [ORANGE, "#ffffff", BLUE]), ("loss", [BLUE, "#ffffff", ORANGE])],
)
def test_no_change_is_white_and_a_better_score_is_blue(metric, colours):
    spec, _ = draw("head-off", made(metric))
    scale = spec["layer"][1]["encoding"]["color"]["scale"]
    assert scale["range"] == colours
    assert scale["domain"] == pytest.approx([-0.3, 0, 0.3])
    title = spec["layer"][1]["encoding"]["color"]["title"]
    assert " ".join(title) == f"change in {metric}"


def test_significant_heads_are_framed_and_heads_without_a_score_are_grey():
    spec, _ = draw("head-off", made())
    frame = spec["layer"][2]
    assert frame["mark"]["stroke"] == "black"
    assert frame["transform"] == [{"filter": "datum.p_corrected < 0.05"}]
    rows = rows_of(spec, 2)
    assert sorted(row["name"] for row in rows if row["p_corrected"] < 0.05) == ["1-2", "2-3"]
    assert [row["name"] for row in rows if row["score"] is None] == ["2-1"]
    assert spec["layer"][0]["transform"] == [{"filter": "!isValid(datum.score)"}]


def test_numbers_are_printed_only_where_there_is_room():
    few, many = draw("head-off", made())[0], draw("head-off", made(heads=20))[0]
    assert [layer["mark"]["type"] for layer in few["layer"]] == ["rect", "rect", "rect", "text"]
    assert [layer["mark"]["type"] for layer in many["layer"]] == ["rect", "rect", "rect"]


def test_bars_of_layers_stand_on_the_baseline_with_the_interval_of_the_difference():
    spec, _ = draw("layer-off", made())
    rows = rows_of(spec, 0)
    expected = [(1, pytest.approx(0.9), 0.8), (2, pytest.approx(0.8), 0.8)]
    assert [(row["layer"], row["score"], row["baseline"]) for row in rows] == expected
    assert [(row["from"], row["to"]) for row in rows] == [
        (pytest.approx(0.88), pytest.approx(0.93)),
        (pytest.approx(0.78), pytest.approx(0.83)),
    ]
    assert rows_of(spec, 2) == [{"score": 0.8}]
    assert spec["layer"][2]["mark"]["color"] == ORANGE


def test_intervals_of_a_share_end_at_one():
    results = made()
    high = results["layer_off"].assign(difference_high=("layer", [0.9, 0.1]))
    tree = results.tree.assign({"layer_off": xr.DataTree(high)})
    rows = rows_of(draw("layer-off", Atlas(tree))[0], 0)
    assert [row["to"] for row in rows] == [1.0, pytest.approx(0.9)]


def test_pruning_curves_begin_at_the_whole_model():
    spec, _ = draw("pruning", made(parts=("pruning",)))
    rows = rows_of(spec, 0)
    assert sorted((row["kind"], row["left"], row["score"]) for row in rows) == [
        ("greedy", 2, 0.6),
        ("greedy", 4, 0.82),
        ("greedy", 6, 0.8),
        ("importance", 3, 0.7),
        ("importance", 6, 0.8),
    ]
    assert all(
        (row["low"], row["high"])
        == (pytest.approx(row["score"] - 0.1), pytest.approx(row["score"] + 0.1))
        for row in rows
    )  # the paired interval, around the baseline
    assert [row["score"] for row in rows_of(spec, 1)] == [0.8]
    assert "curves scored on 20" in spec["title"]["subtitle"][0]
    assert '"title": "accuracy, 0–1"' in json.dumps(spec, ensure_ascii=False)


def test_the_gallery_offers_what_the_results_have(tmp_path):
    assert [item.name for item in gallery(made())] == ["head-off", "layer-off"]
    for item in gallery(made(parts=("head_off", "layer_off", "pruning"))):
        chart = item.draw(made(parts=("head_off", "layer_off", "pruning")))
        assert "is better" not in json.dumps(chart.to_dict()), "the range of accuracy is known"
        assert save_chart(chart, tmp_path / f"{item.name}.svg").stat().st_size > 2000
