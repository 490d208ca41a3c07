"""Scores with heads off: every metric in every resample against a plain loop, intervals against scipy's bootstrap, and planted gains and drops."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from headscope.errors import ResultsError, UserError
from headscope.results import Results
from headscope.results.moments import derive
from headscope.stats.ablation import agreement, bootstrap, change_table, draws, scored
from headscope.stats.bootstrap_metrics import METRICS, example_losses

LAYERS, HEADS, EXAMPLES = 2, 3, 60


def spearman(outputs: Any, gold: Any) -> float:
    return float(stats.spearmanr(outputs[:, 0], gold).statistic)


# Each metric of one run and one resample by somebody else's code.
TWINS: dict[str, Any] = {
    "accuracy": lambda outputs, gold: accuracy_score(gold, outputs.argmax(1)),
    "f1": lambda outputs, gold: f1_score(gold, outputs.argmax(1)),
    "pearson": lambda outputs, gold: stats.pearsonr(outputs[:, 0], gold).statistic,
    "spearman": spearman,
    "mean": lambda outputs, _gold: np.mean(outputs[:, 0]),
    "loss": lambda outputs, _gold: np.mean(outputs[:, 0]),
}


def made(metric: str, runs: int = 4, examples: int = 25, seed: int = 0) -> tuple[Any, Any]:
    """Outputs that have something to do with the right answers, with equal values among them."""
    random = np.random.default_rng(seed)
    gold = (
        random.integers(0, 2, examples).astype(float)
        if metric in {"accuracy", "f1"}
        else random.normal(size=examples).round(1)
    )
    outputs = random.normal(size=(runs, examples, 2)).round(1)
    outputs[..., 0] += gold if metric in {"pearson", "spearman"} else 0
    outputs[..., 1] += gold if metric in {"accuracy", "f1"} else 0
    return outputs, gold


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_of_all_runs_and_resamples_is_that_of_a_loop_over_drawn_examples(
    metric: str,
) -> None:
    outputs, gold = made(metric)
    counts = next(draws(len(gold), 30, seed=1))
    found = METRICS[metric](outputs, gold)(counts)
    for row, drawn in enumerate(counts.astype(int)):
        places = np.repeat(np.arange(len(gold)), drawn)
        for run in range(len(outputs)):
            assert found[row, run] == pytest.approx(
                TWINS[metric](outputs[run, places], gold[places]), abs=1e-9
            )


@pytest.mark.parametrize("metric", ["f1", "pearson", "spearman"])
def test_a_metric_is_undefined_where_there_is_nothing_to_tell(metric: str) -> None:
    outputs, gold = np.tile([1.0, 0.0], (1, 5, 1)), np.zeros(5)
    assert np.isnan(METRICS[metric](outputs, gold)(np.ones((1, 5)))).all()
    boot = bootstrap(metric, np.tile([1.0, 0.0], (2, 5, 1)), gold, seed=0, resamples=20)
    assert np.isnan(boot["p"].values).all()
    assert np.isnan(boot["low"].values).all()


def test_a_resample_draws_as_many_examples_as_there_are_and_the_same_for_one_seed() -> None:
    counts = np.concatenate(list(draws(7, 1000, seed=3)))
    assert counts.shape == (1000, 7)
    assert (counts.sum(1) == 7).all()
    assert np.array_equal(counts, np.concatenate(list(draws(7, 1000, seed=3))))
    assert not np.array_equal(counts, np.concatenate(list(draws(7, 1000, seed=4))))
    assert counts.mean(0) == pytest.approx(np.ones(7), abs=0.15)
    assert counts.var(0) == pytest.approx(
        np.full(7, 6 / 7), abs=0.15
    )  # binomial, 7 draws with chance 1/7


@pytest.mark.parametrize("metric", ["pearson", "loss"])
def test_intervals_and_errors_are_those_of_scipys_paired_bootstrap(metric: str) -> None:
    outputs, gold = made(metric, runs=2, examples=80, seed=2)
    boot = bootstrap(metric, outputs, gold, seed=0, resamples=4000)

    def difference(places: Any) -> float:
        chosen = places.astype(int)
        return float(
            TWINS[metric](outputs[1, chosen], gold[chosen])
            - TWINS[metric](outputs[0, chosen], gold[chosen])
        )

    twin = stats.bootstrap(
        (np.arange(80),),
        difference,
        n_resamples=1000,
        method="percentile",
        vectorized=False,
        rng=np.random.default_rng(5),
    )
    width = twin.confidence_interval.high - twin.confidence_interval.low
    assert float(boot["difference_low"][1]) == pytest.approx(
        twin.confidence_interval.low, abs=0.1 * width
    )
    assert float(boot["difference_high"][1]) == pytest.approx(
        twin.confidence_interval.high, abs=0.1 * width
    )
    assert float(boot["difference"][1]) == pytest.approx(difference(np.arange(80)))
    assert boot["deviation"].values.shape == (2,)


def test_the_error_of_a_mean_is_its_standard_error() -> None:
    outputs, gold = made("mean", runs=1, examples=200)
    error = float(bootstrap("mean", outputs, gold, seed=0, resamples=4000)["deviation"][0])
    assert error == pytest.approx(outputs[0, :, 0].std() / np.sqrt(200), rel=0.05)


def test_p_is_that_of_a_z_test_where_differences_are_normal_and_1_where_there_are_none() -> None:
    random = np.random.default_rng(0)
    base = random.normal(size=400)
    outputs = np.stack([base, base + random.normal(0.05, 0.4, 400), base, base + 1.0])[..., None]
    boot = bootstrap("mean", outputs, np.zeros(400), seed=0, resamples=20000)
    gap = outputs[1, :, 0] - base
    z = gap.mean() / (gap.std() / np.sqrt(400))
    assert float(boot["p"][1]) == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.01)
    assert float(boot["p"][2]) == 1.0
    assert float(boot["p"][3]) == pytest.approx(2 / 20001)


def test_few_examples_cannot_make_p_smaller_than_flipping_their_signs_could() -> None:
    outputs = np.stack([np.zeros(5), np.ones(5)])[..., None]
    p = float(bootstrap("mean", outputs, np.zeros(5), seed=0, resamples=20000)["p"][1])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 5)).reshape(5, -1)
    assert p == pytest.approx((np.abs(signs.sum(0)) >= 5).mean())


def raw(
    outputs: Any, gold: Any, *, metric: str = "accuracy", importance: Any = None, sets: int = 0
) -> Results:
    """Results as the engine makes them: a baseline, 6 heads, 2 layers, some sets."""
    kinds = ["baseline", *["head"] * LAYERS * HEADS, *["layer"] * LAYERS, *["set"] * sets]
    names = [
        "none",
        *(f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3)),
        "layer 1",
        "layer 2",
        *(f"1-1,2-{index + 1}" for index in range(sets)),
    ]
    losses = example_losses(metric, outputs, gold)
    examples = [str(index) for index in range(len(gold))]
    dataset = xr.Dataset(
        {
            "sum": (("block", "run"), losses.sum(1)[None]),
            "square": (("block", "run"), (losses**2).sum(1)[None]),
            "count": (("block", "run"), np.full((1, len(kinds)), len(gold))),
            "outputs": (("run", "example", "output"), outputs.astype(np.float32)),
            "gold": (("example",), gold),
            "kind": (("run",), np.array(kinds, object)),
        },
        {"run": np.array(names, object), "example": np.array(examples, object)},
        {
            "title": "t",
            "unit": "loss",
            "source": "s",
            "listed": "no",
            "metric": metric,
            "better": "lower" if metric == "loss" else "higher",
            "way": "uniform",
            "objective": "made",
        },
    )
    nodes = {"/ablation": derive(dataset)}
    if importance is not None:
        dims = ("example", "layer", "head")
        nodes["/importance"] = xr.Dataset(
            {"values": (dims, importance), "mean": (dims[1:], importance.mean(0))},
            {"layer": [1, 2], "head": [1, 2, 3]},
        )
    about = {
        "model": {"name": "made", "layers": LAYERS, "heads": HEADS},
        "settings": {"seed": 0},
        "corpus": {"name": "made"},
        "counts": {"seen": len(gold)},
    }
    root = xr.Dataset(attrs={"headscope_schema": 1, "provenance": json.dumps(about)})
    return Results(xr.DataTree.from_dict({"/": root, **nodes}))


def planted(sets: int = 0) -> Results:
    """A classifier that is right 45 times of 60; without head 1-2 in 57, without 2-3 in 30, without layer 2 in 30; nothing else changes anything."""
    gold = np.zeros(EXAMPLES)
    outputs = np.zeros((1 + LAYERS * HEADS + LAYERS + sets, EXAMPLES, 2))
    outputs[..., 1] = -1.0
    outputs[:, 45:, 1] = 1.0  # wrong
    outputs[2, 45:57, 1] = -1.0
    outputs[6, 30:45, 1] = 1.0
    outputs[8, 30:45, 1] = 1.0
    return raw(outputs, gold, sets=sets)


def test_planted_gains_and_drops_are_found_and_the_other_heads_are_not() -> None:
    data = scored(planted())["head_off"]
    assert data.attrs["baseline"] == pytest.approx(0.75)
    assert data["mean"].values.tolist() == pytest.approx(
        np.array([[0.75, 0.95, 0.75], [0.75, 0.75, 0.5]])
    )
    assert data["difference"].sel(layer=1, head=2).item() == pytest.approx(0.2)
    assert (data["p_corrected"].values < 0.05).tolist() == [
        [False, True, False],
        [False, False, True],
    ]
    assert data["p"].sel(layer=1, head=1).item() == 1.0
    assert (
        data["difference_low"].sel(layer=1, head=2)
        < 0.2
        < data["difference_high"].sel(layer=1, head=2)
    )
    assert data["difference_low"].sel(layer=1, head=2) > 0


def test_the_table_has_the_largest_gain_first_and_a_gain_in_loss_is_a_fall() -> None:
    table = change_table(scored(planted()))
    assert table["head off"].tolist()[0] == "1-2"
    assert table["head off"].tolist()[-1] == "2-3"
    assert table["gain"].tolist() == pytest.approx([0.2, 0, 0, 0, 0, -0.25])
    outputs = np.ones((9, EXAMPLES, 1))
    outputs[3] = 0.5
    outputs[4] = 2.0
    losses = change_table(scored(raw(outputs, np.zeros(EXAMPLES), metric="loss"), resamples=200))
    assert losses["head off"].tolist()[0] == "1-3"
    assert losses["gain"].tolist() == pytest.approx([0.5, 0, 0, 0, 0, -1.0])
    assert (losses["low"] <= losses["gain"]).all()


def test_layers_and_sets_have_tables_of_their_own() -> None:
    results = scored(planted(sets=1), resamples=500)
    assert change_table(results, "layer")["layer off"].tolist() == ["1", "2"]
    assert change_table(results, "layer")["gain"].tolist() == pytest.approx([0.0, -0.25])
    assert change_table(results, "set")["set off"].tolist() == ["1-1,2-1"]


def test_corrections_are_over_all_heads_and_none_leaves_p_alone() -> None:
    free, holm, bh = (
        scored(planted(), correction=name)["head_off"] for name in ("none", "holm", "bh")
    )
    assert np.array_equal(free["p"].values, free["p_corrected"].values)
    least = float(holm["p"].min())
    assert float(holm["p_corrected"].min()) == pytest.approx(6 * least)
    assert (bh["p_corrected"] <= holm["p_corrected"]).all()
    with pytest.raises(UserError, match="the correction must be one of bh, holm, none"):
        scored(planted(), correction="bonferoni")


def test_scores_survive_save_and_open_and_show_in_the_common_table(tmp_path: Any) -> None:
    results = scored(planted(), resamples=300)
    back = Results.open(results.save(tmp_path / "off.nc"))
    assert back["head_off"]["p"].equals(results["head_off"]["p"])
    table = back.table("head_off")
    assert table.loc[(table["layer"] == 1) & (table["head"] == 2), "mean"].item() == pytest.approx(
        0.95
    )
    assert "head_off" in back.listed
    assert "ablation" not in back.listed


def test_agreement_is_the_rank_correlation_of_importance_with_drops_and_with_changes_of_loss() -> (
    None
):
    random = np.random.default_rng(4)
    outputs, gold = random.normal(size=(9, EXAMPLES, 1)), np.zeros(EXAMPLES)
    importance = random.random((EXAMPLES, LAYERS, HEADS))
    results = raw(outputs, gold, metric="loss", importance=importance)
    table = agreement(results, resamples=400)
    rise = outputs[1:7, :, 0].mean(1) - outputs[0, :, 0].mean()
    size = np.abs(outputs[1:7, :, 0] - outputs[0, :, 0]).mean(1)
    flat = importance.mean(0).ravel()
    assert table["Spearman"].tolist() == pytest.approx(
        [stats.spearmanr(flat, rise).statistic, stats.spearmanr(flat, size).statistic]
    )
    assert (table["low"] <= table["high"]).all()


def test_importance_that_orders_heads_as_disabling_does_agrees_wholly() -> None:
    outputs = np.tile(np.arange(9.0)[:, None, None], (1, EXAMPLES, 1))
    importance = np.tile(np.arange(1.0, 7.0).reshape(1, LAYERS, HEADS), (EXAMPLES, 1, 1))
    table = agreement(
        raw(outputs, np.zeros(EXAMPLES), metric="loss", importance=importance), resamples=50
    )
    assert table[["Spearman", "low", "high"]].to_numpy() == pytest.approx(np.ones((2, 3)))


def test_losses_of_examples_are_cross_entropy_squared_error_or_the_outputs() -> None:
    outputs, gold = made("accuracy", runs=2)
    twin = [
        [
            -np.log(np.exp(row[int(label)]) / np.exp(row).sum())
            for row, label in zip(run, gold, strict=True)
        ]
        for run in outputs
    ]
    assert example_losses("f1", outputs, gold) == pytest.approx(np.array(twin))
    assert example_losses("pearson", outputs, gold) == pytest.approx((outputs[..., 0] - gold) ** 2)
    assert example_losses("loss", outputs, gold) == pytest.approx(outputs[..., 0])
    assert example_losses("mean", outputs, gold) == pytest.approx(-outputs[..., 0])


def test_results_without_what_is_asked_for_say_how_to_get_it() -> None:
    results = planted()
    with pytest.raises(ResultsError, match="no scores with a head off"):
        change_table(results)
    with pytest.raises(ResultsError, match="no gradient importance"):
        agreement(results)
    empty = Results(xr.DataTree.from_dict({"/": xr.Dataset(attrs=results.tree.attrs)}))
    with pytest.raises(ResultsError, match="not of an ablation"):
        scored(empty)
    with pytest.raises(UserError, match="the metric must be one of"):
        bootstrap("acuracy", np.zeros((1, 2, 1)), np.zeros(2), seed=0, resamples=2)
