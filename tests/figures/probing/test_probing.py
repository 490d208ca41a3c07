"""Figures of probes: every head in its place with its own score.

Where heads are sorted the best is on the left, and colour ranges are as the subtitle says.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import vl_convert

from headscope.errors import ResultsError, UserError
from headscope.figures import before_after, find_figure, probe_grid, scatter_grid
from headscope.figures.style import GREY
from headscope.results import Atlas
from headscope.stats.tables.probing import correlation, syntactic_semantic
from stats.made_probing import HALF, TEN, TITLES, changed, made_probing

NAMES = (
    *("probe", "probe-unsorted", "probe-majority", "probe-selectivity"),
    *("top-n", "syntactic-semantic"),
)
LAYERS, HEADS = 3, 4
SOME = ("sentence_length", "tree_depth", "past_present")


def draw(name: str, results: Atlas) -> dict[str, Any]:
    spec: dict[str, Any] = find_figure(name, results).draw(results).to_dict()
    return spec


def rows_of(spec: dict[str, Any], panel: dict[str, Any], layer: int = 0) -> list[dict[str, Any]]:
    data = (
        panel.get("data") or panel["layer"][layer].get("data") or spec["data"]
    )  # what all panels share stands above them
    rows: list[dict[str, Any]] = spec["datasets"][data["name"]]
    return rows


def domain(panel: dict[str, Any]) -> list[float]:
    found: list[float] = panel["layer"][1]["encoding"]["color"]["scale"]["domain"]
    return found


def scores(results: Atlas, task: str, what: str = "test") -> np.ndarray:
    found: np.ndarray = results["probe"][what].sel(task=task).values
    return found


def by_name(values: np.ndarray) -> dict[str, float]:
    """Return values, (layer, head), by the names of the heads."""
    return {f"{layer + 1}-{head + 1}": value for (layer, head), value in np.ndenumerate(values)}


@pytest.mark.parametrize(("name", "column"), [("probe", "place"), ("probe-unsorted", "head")])
def test_each_task_has_a_map_with_layer_1_at_the_bottom_and_each_head_s_score_and_interval(
    name, column
):
    results = made_probing(LAYERS, HEADS, SOME)
    spec = draw(name, results)
    expected = [TITLES[task][0] for task in SOME]
    assert [panel["title"]["text"] for panel in spec["concat"]] == expected
    for task, panel in zip(SOME, spec["concat"], strict=True):
        values = scores(results, task)
        for what, away in (("value", 0), ("low", -HALF), ("high", HALF)):
            expected = pytest.approx(by_name(values + away))
            assert {row["name"]: row[what] for row in rows_of(spec, panel)} == expected
        assert domain(panel) == pytest.approx([values.min(), values.max()])
        for layer in panel["layer"]:
            x, y = layer["encoding"]["x"], layer["encoding"]["y"]
            assert (x["field"], y["field"], y["sort"]) == (column, "layer", "descending")
        tooltip = [part["title"] for part in panel["layer"][1]["encoding"]["tooltip"]]
        assert tooltip == ["head", "accuracy", "95 % from", "to"]


def test_the_best_head_of_each_layer_is_on_the_left_and_one_without_a_score_on_the_right():
    def hole(values):
        values[0, 1, 2] = np.nan
        return values

    results = changed(made_probing(LAYERS, HEADS, TEN[:1]), "probe", test=hole)
    spec = draw("probe", results)
    values = scores(results, TEN[0])
    rows = rows_of(spec, spec["concat"][0])
    for layer, row in enumerate(values, 1):
        order = np.argsort(-np.nan_to_num(row, nan=-1.0)) + 1
        found = sorted((one["place"], one["head"]) for one in rows if one["layer"] == layer)
        assert found == list(enumerate(order.tolist(), 1))
    assert vl_convert.vegalite_to_svg(spec).count(f'fill="{GREY}"') == 1


def test_selectivity_is_the_score_minus_the_control_and_needs_one():
    results = made_probing(LAYERS, HEADS, TEN[:2])
    spec = draw("probe-selectivity", results)
    for task, panel in zip(TEN, spec["concat"], strict=False):
        expected = scores(results, task) - scores(results, task, "control")
        wanted = pytest.approx(by_name(expected))
        assert {row["name"]: row["value"] for row in rows_of(spec, panel)} == wanted
    assert "no probe was trained on shuffled labels" in repr(
        draw("probe-selectivity", made_probing(LAYERS, HEADS, SOME, control=False))
    )


def test_a_grid_has_models_in_rows_and_tasks_in_columns_each_map_with_its_own_colours():
    models = {"small": made_probing(2, 4, seed=1), "large": made_probing(6, 16, seed=2)}
    tasks = ("tree_depth", "sentence_length")
    spec = probe_grid(models, tasks, sorted=False).to_dict()
    assert [row["title"]["text"] for row in spec["vconcat"]] == ["small", "large"]
    for results, row in zip(models.values(), spec["vconcat"], strict=True):
        assert [panel["title"]["text"] for panel in row["concat"]] == ["Depth", "Length"]
        for task, panel in zip(tasks, row["concat"], strict=True):
            values = scores(results, task)
            assert domain(panel) == pytest.approx([values.min(), values.max()])
            assert len(rows_of(spec, panel)) == values.size
            assert panel["layer"][0]["encoding"]["x"]["field"] == "head"
    assert spec["title"]["subtitle"] == ["each map has its own colour range"]
    panels = [panel for row in spec["vconcat"] for panel in row["concat"]]
    assert len({panel["layer"][0].get("width", panel.get("width")) for panel in panels}) == 1


def test_the_maps_of_a_column_can_share_one_colour_range():
    models = {"one": made_probing(2, 4, SOME, seed=1), "other": made_probing(3, 3, SOME, seed=2)}
    spec = probe_grid(models, colours="shared").to_dict()
    for column, task in enumerate(SOME):
        both = np.concatenate([scores(results, task).ravel() for results in models.values()])
        for row in spec["vconcat"]:
            assert domain(row["concat"][column]) == pytest.approx([both.min(), both.max()])
    assert spec["title"]["subtitle"] == ["all maps of a task have the same colour range"]


def test_a_grid_has_the_tasks_that_all_models_have_and_refuses_others():
    models = {"one": made_probing(2, 3, TEN[:4]), "other": made_probing(2, 3, TEN[2:6])}
    panels = probe_grid(models).to_dict()["vconcat"][0]["concat"]
    assert [panel["title"]["text"] for panel in panels] == ["Depth", "TopConst"]
    message = "the task must be one of top_constituents, tree_depth; got 'sentence_length' instead"
    with pytest.raises(UserError, match=message):
        probe_grid(models, ["sentence_length"])
    with pytest.raises(ResultsError, match="the results have no task in common"):
        probe_grid({"one": made_probing(2, 3, TEN[:1]), "other": made_probing(2, 3, TEN[1:2])})
    with pytest.raises(UserError, match="no results were given"):
        probe_grid({})


def test_before_and_after_tuning_is_one_grid_with_one_colour_range_per_model_and_task():
    models = {
        model: {
            task: {
                state: made_probing(2, heads, (task,), seed=10 * heads + seed)
                for seed, state in enumerate(("before", "last layer", "top heads"))
            }
            for task in ("mrpc", "sts-b")
        }
        for model, heads in (("small", 3), ("large", 4))
    }
    spec = before_after(models).to_dict()
    assert [row["title"]["text"] for row in spec["vconcat"]] == ["MRPC", "STS-B"]
    for task, row in zip(("mrpc", "sts-b"), spec["vconcat"], strict=True):
        cells = [
            (model, state, results)
            for model, given in models.items()
            for state, results in given[task].items()
        ]
        assert row["columns"] == 6
        expected = [f"{model}: {state}" for model, state, _ in cells]
        assert [panel["title"]["text"] for panel in row["concat"]] == expected
        for (model, _, results), panel in zip(cells, row["concat"], strict=True):
            every = np.concatenate(
                [scores(one, task).ravel() for one in models[model][task].values()]
            )
            assert domain(panel) == pytest.approx([every.min(), every.max()])
            expected = pytest.approx(sorted(scores(results, task).ravel()))
            assert sorted(part["value"] for part in rows_of(spec, panel)) == expected
    states = {"before": made_probing(2, 3, ("mrpc",)), "after": made_probing(3, 3, ("mrpc",))}
    same = "the states must be of one model, with the same layers and heads; got before: 2 × 3, aft"
    with pytest.raises(ResultsError, match=same):
        before_after({"one": {"mrpc": states}})
    with pytest.raises(UserError, match="no results were given"):
        before_after({})


def test_colours_can_begin_at_the_majority_and_heads_no_better_than_it_are_dotted():
    results = made_probing(LAYERS, HEADS, SOME)
    floor = float(results["probe"]["majority"].sel(task="past_present"))

    def low_heads(values):
        values[2, 0, :2] = floor + HALF / 2 * np.array([-1, 1])
        return values

    results = changed(results, "probe", test=low_heads)
    results = changed(
        results, "probe", low=results["probe"]["test"] - HALF, high=results["probe"]["test"] + HALF
    )
    for spec in (draw("probe-majority", results), draw("probe", results)):
        panel = spec["concat"][2]
        dotted = {row["name"] for row in rows_of(spec, panel) if row["chance"]}
        gap = np.abs(scores(results, "past_present") - floor)
        expected = {name for name, away in by_name(gap).items() if away <= HALF}
        assert dotted == expected
        assert {"1-1", "1-2"} <= dotted
        assert panel["title"]["subtitle"] == ["accuracy; majority 0.50", "1,000 test examples"]
        assert "dot: the head's 95 % interval includes the majority class" in repr(spec["title"])
        marks = [layer for layer in panel["layer"] if layer["mark"]["type"] == "point"]
        assert [layer["transform"] for layer in marks] == [[{"filter": "datum.chance"}]]
    best = scores(results, "past_present").max()
    assert domain(draw("probe-majority", results)["concat"][2]) == pytest.approx([floor, best])
    grid = probe_grid({"one": results, "two": made_probing(2, 3, SOME, seed=4)}, colours="majority")
    ends = {tuple(domain(row["concat"][2])) for row in grid.to_dict()["vconcat"]}
    assert len(ends) == 1
    assert next(iter(ends))[0] == pytest.approx(floor)
    with pytest.raises(UserError, match="the colour range must be one of"):
        probe_grid({"one": results}, colours="rainbow")  # type: ignore[arg-type]


def test_at_most_five_maps_stand_in_a_line():
    spec = probe_grid({"one": made_probing(2, 3), "two": made_probing(2, 3)}).to_dict()
    assert [(row["columns"], len(row["concat"])) for row in spec["vconcat"]] == [(5, 10), (5, 10)]
    for asked, expected in (({}, 3), ({"columns": 6}, 6)):
        six = probe_grid({"one": made_probing(2, 3, TEN[:6])}, **asked).to_dict()
        assert six["vconcat"][0]["columns"] == expected


def test_the_curves_of_chosen_heads_stand_beside_the_last_and_the_best_layer():
    results = made_probing(LAYERS, HEADS, TEN[:2])
    spec = draw("top-n", results)
    top, layers = results["probe_top"], results["probe_layer"]
    for place, panel in enumerate(spec["concat"]):
        rows = rows_of(spec, panel)
        expected = {
            (way, n): top["test"].values[place, i, j]
            for i, way in enumerate(("top", "greedy"))
            for j, n in enumerate(top["n"].values.tolist())
        }
        for what, away in (("test", 0), ("low", -HALF), ("high", HALF)):
            wanted = pytest.approx({key: score + away for key, score in expected.items()})
            assert {(row["what"], row["n"]): row[what] for row in rows} == wanted
        best = int(layers["validation"].values[place].argmax())
        rules = {row["what"]: (row["layer"], row["test"]) for row in rule_rows(spec, panel)}
        assert rules == {
            "last layer": (LAYERS, pytest.approx(layers["test"].values[place, -1])),
            "best layer": (best + 1, pytest.approx(layers["test"].values[place, best])),
        }
        assert panel["layer"][0]["encoding"]["x"]["scale"]["type"] == "log"


def rule_rows(spec: dict[str, Any], panel: dict[str, Any]) -> list[dict[str, Any]]:
    (rule,) = (layer for layer in panel["layer"] if layer["mark"]["type"] == "rule")
    rows: list[dict[str, Any]] = spec["datasets"][rule["data"]["name"]]
    return rows


def test_points_that_were_not_computed_are_not_drawn():
    def none(values):
        values[:, 1] = np.nan
        return values

    results = changed(made_probing(LAYERS, HEADS, TEN[:1]), "probe_top", test=none)
    spec = draw("top-n", results)
    assert {row["what"] for row in rows_of(spec, spec["concat"][0])} == {"top"}


def test_the_scatter_has_one_point_per_head_and_its_subtitle_the_correlations():
    results = made_probing(LAYERS, HEADS, TEN[2:7])
    spec = draw("syntactic-semantic", results)
    frame = syntactic_semantic(results)
    for what in ("syntactic", "semantic", "layer"):
        assert {row["name"]: row[what] for row in rows_of(spec, spec)} == pytest.approx(
            {f"{row['layer']}-{row['head']}": row[what] for row in frame.to_dict("records")}
        )
    pearson, spearman = correlation(frame).to_dict("records")
    model, first, second, *tasks = spec["title"]["subtitle"]
    assert model == "made"
    assert first == (
        f"r = {pearson['value']:.2f} ({pearson['low']:.2f} to {pearson['high']:.2f}; "
        f"over layers {pearson['layer low']:.2f} to {pearson['layer high']:.2f})"
    )
    assert second.startswith(
        f"ρ = {spearman['value']:.2f} ({spearman['low']:.2f} to {spearman['high']:.2f}; over layers"
    )
    assert tasks == ["syntactic: Depth, TopConst, BigramShift", "semantic: Tense, SubjNum"]
    assert spec["encoding"]["color"]["scale"]["scheme"] == "viridis"


def test_results_without_syntactic_tasks_say_so_in_the_figure_and_are_refused_in_a_grid():
    assert "none of the syntactic tasks was probed" in repr(
        draw("syntactic-semantic", made_probing(2, 3, ("mrpc",)))
    )
    with pytest.raises(ResultsError, match="none of the syntactic tasks was probed"):
        scatter_grid({"one": made_probing(2, 3, ("mrpc",))})
    with pytest.raises(UserError, match="no results were given"):
        scatter_grid({})


def test_a_grid_of_scatters_has_one_per_model_with_its_own_correlation():
    models = {
        name: made_probing(LAYERS, HEADS, SOME, seed=seed)
        for seed, name in enumerate(("one", "two", "three"))
    }
    spec = scatter_grid(models).to_dict()
    assert [panel["title"]["text"] for panel in spec["concat"]] == list(models)
    for results, panel in zip(models.values(), spec["concat"], strict=True):
        value = np.corrcoef(
            *(syntactic_semantic(results)[name] for name in ("syntactic", "semantic"))
        )[0, 1]
        assert panel["title"]["subtitle"][0].startswith(f"r = {value:.2f} (")
    every = [syntactic_semantic(results) for results in models.values()]
    for name, axis in (("syntactic", "x"), ("semantic", "y")):
        ends = [min(one[name].min() for one in every), max(one[name].max() for one in every)]
        for panel in spec["concat"]:
            assert panel["encoding"][axis]["scale"]["domain"] == pytest.approx(ends)


@pytest.mark.parametrize("name", NAMES)
def test_results_of_other_measures_do_not_have_the_figure(name):
    with pytest.raises(UserError, match=f"the figure '{name}' needs the measure 'probe'"):
        find_figure(name, made_probing(2, 3, parts=["probe_layer"]))


@pytest.mark.parametrize("shape", [(1, 1), (2, 40)])
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_valid_for_models_of_every_shape(name, shape):
    spec = draw(name, made_probing(*shape, SOME))
    assert "NaN" not in repr(spec)
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")


@pytest.mark.parametrize("name", NAMES)
def test_scores_that_are_all_alike_or_unknown_can_be_drawn(name):
    for value in (0.5, np.nan):
        fill = partial(np.full_like, fill_value=value)
        changes = dict.fromkeys(("test", "low", "high"), fill)
        results = changed(made_probing(2, 3, SOME), "probe", **changes)
        svg = vl_convert.vegalite_to_svg(draw(name, results))
        assert "NaN" not in svg
