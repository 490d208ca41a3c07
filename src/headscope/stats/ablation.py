"""Scores with heads off, with paired bootstrap intervals and tests: is a gain from disabling a head more than noise? (K7)

A resample draws examples with replacement, the same ones for every run, so that what all runs find hard cancels out. A resample is a row of
counts (how often each example was drawn); a metric of all runs in all resamples is then a few matrix products of counts and outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.stats import rankdata

from headscope.errors import ResultsError, unknown
from headscope.results import Results
from headscope.stats.bootstrap_metrics import METRICS, Array, example_losses
from headscope.stats.tests import CORRECTIONS, correct

CHUNK = 256
CONFIDENCE = 0.95
LEAST, EACH = 10_000, 100
"""The fewest resamples, and how many a test there should be."""
KINDS = {"head": "head_off", "layer": "layer_off", "set": "set_off"}


def draws(examples: int, resamples: int, seed: int) -> Iterator[Array]:
    """How often each example is drawn in each resample, (resample, example), some resamples at a time."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, CHUNK):
        size = min(CHUNK, resamples - start)
        places = (
            generator.integers(examples, size=(size, examples))
            + np.arange(size)[:, None] * examples
        )
        yield (
            np.bincount(places.ravel(), minlength=size * examples)
            .reshape(size, examples)
            .astype(np.float64)
        )


def enough(tests: int) -> int:
    """So many resamples that a corrected p can become small: the least p is 2 / (resamples + 1), and Holm multiplies it by the number of tests.

    >>> enough(144), enough(400), 400 * 2 / (enough(400) + 1) < 0.05
    (14400, 40000, True)
    """
    return max(LEAST, EACH * tests)


def bootstrap(
    metric: str,
    outputs: Array,
    gold: Array,
    *,
    seed: int,
    resamples: int,
    confidence: float = CONFIDENCE,
) -> xr.Dataset:
    """The score of every run with its percentile interval, and its difference from the first run with interval and two-sided p.

    ``outputs``: (run, example, number). p is twice the smaller share of resamples in which the difference is not above, or not below, zero (one is added
    to both counts, so that it is never 0), and never below what flipping the signs of so few differences could give, 2 / 2ⁿ.
    """
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    prepared = METRICS[metric](np.asarray(outputs, np.float64), np.asarray(gold, np.float64))
    score = prepared(np.ones((1, outputs.shape[1])))[0]
    found = np.concatenate(
        [prepared(counts) for counts in draws(outputs.shape[1], resamples, seed)]
    )
    difference = found - found[:, :1]
    tails = np.stack([(difference <= 0).sum(0), (difference >= 0).sum(0)]).min(0)
    known = np.isfinite(difference).sum(0)
    floor = 2.0 ** (1 - outputs.shape[1])
    p = np.where(known > 0, np.clip(2 * (tails + 1) / (known + 1), floor, 1.0), np.nan)
    ends = [(1 - confidence) / 2, (1 + confidence) / 2]
    (low, high), (least, most) = _quantiles(found, ends), _quantiles(difference, ends)
    error = np.full(len(score), np.nan)
    many = np.isfinite(found).sum(0) > 1
    error[many] = np.nanstd(found[:, many], axis=0, ddof=1)
    columns = {
        "mean": score,
        "low": low,
        "high": high,
        "deviation": error,
        "difference": score - score[0],
        "difference_low": least,
        "difference_high": most,
        "p": p,
    }
    return xr.Dataset({name: (("run",), values) for name, values in columns.items()})


def _quantiles(values: Array, ends: list[float]) -> NDArray[np.float64]:
    """Percentiles over resamples where the metric is defined; NaN where it never is."""
    result = np.full((len(ends), values.shape[1]), np.nan)
    some = np.isfinite(values).any(0)
    if some.any():
        result[:, some] = np.nanquantile(values[:, some], ends, axis=0)
    return result


def scored(
    results: Results,
    *,
    correction: str = "holm",
    resamples: int | None = None,
    confidence: float = CONFIDENCE,
) -> Results:
    """Results of :func:`headscope.runs.ablate.ablate.ablate` with the scores added: ``head_off``, ``layer_off`` and ``set_off``, and ``pruning`` if it is there.

    Each has ``mean`` (the score with the head off; the name that all results share), its interval, the ``difference`` from the baseline with its interval, p, and p corrected
    over all heads (layers, sets). The seed is that of the run.
    """
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    raw = ablation_of(results)
    seed = int(results.provenance["settings"]["seed"])
    tests = int((raw["kind"] == "head").sum())
    count = resamples or enough(tests)
    metric = str(raw.attrs["metric"])
    boot = bootstrap(
        metric,
        raw["outputs"].values,
        raw["gold"].values,
        seed=seed,
        resamples=count,
        confidence=confidence,
    ).assign_coords(run=raw["run"])
    shape = results.provenance["model"]["layers"], results.provenance["model"]["heads"]
    common = {
        "metric": metric,
        "better": raw.attrs["better"],
        "way": raw.attrs["way"],
        "objective": raw.attrs["objective"],
        "baseline": float(boot["mean"][0]),
        "baseline_low": float(boot["low"][0]),
        "baseline_high": float(boot["high"][0]),
        "resamples": count,
        "correction": correction,
        "unit": metric,
        "source": raw.attrs["source"],
    }
    nodes = {}
    for kind, name in KINDS.items():
        part = boot.isel(run=np.flatnonzero(raw["kind"].values == kind))
        if part.sizes["run"]:
            part = part.assign(
                p_corrected=("run", correct(part["p"].values, correction)),
                n=("run", np.full(part.sizes["run"], raw.sizes["example"])),
            )
            listed = "yes" if kind == "head" else "no"
            nodes[name] = _shaped(part, kind, shape).assign_attrs(
                common, title=f"{metric} with one {kind} off", listed=listed
            )
    if "pruning" in results.measures:
        nodes["pruning"] = _pruning(results["pruning"], seed, count, confidence)
    return with_nodes(results, nodes)


def _shaped(part: xr.Dataset, kind: str, shape: tuple[int, int]) -> xr.Dataset:
    """Runs by layer and head, by layer, or by set."""
    if kind == "set":
        return part.rename(run="set")
    sizes = {"layer": shape[0], **({"head": shape[1]} if kind == "head" else {})}
    variables = {
        str(name): (tuple(sizes), array.values.reshape(tuple(sizes.values())))
        for name, array in part.data_vars.items()
    }
    return xr.Dataset(variables, {dim: range(1, size + 1) for dim, size in sizes.items()})


def _pruning(raw: xr.Dataset, seed: int, resamples: int, confidence: float) -> xr.Dataset:
    """The pruning curves with scores in place of losses."""
    boot = bootstrap(
        str(raw.attrs["metric"]),
        raw["outputs"].values,
        raw["gold"].values,
        seed=seed,
        resamples=min(resamples, LEAST),
        confidence=confidence,
    )
    return raw.assign({name: boot[name] for name in boot.data_vars}).assign_attrs(
        unit=raw.attrs["metric"]
    )


def with_nodes(results: Results, nodes: Mapping[str, xr.Dataset]) -> Results:
    """The same results with some datasets more, or put in the place of others."""
    datasets = {name: results[name] for name in results} | dict(nodes)
    return Results(
        xr.DataTree.from_dict(
            {
                "/": xr.Dataset(attrs=results.tree.attrs),
                **{f"/{name}": dataset for name, dataset in datasets.items()},
            }
        )
    )


def ablation_of(results: Results) -> xr.Dataset:
    """The outputs with heads off, or an error that says how to get them."""
    if "ablation" not in results.measures:
        raise ResultsError(
            "these results are not of an ablation",
            hint="make some with: headscope ablate MODEL -o ablation.nc",
        )
    return results["ablation"]


def change_table(results: Results, kind: str = "head") -> pd.DataFrame:
    """One row a head (layer, set): the score with it off, and the gain over the baseline with interval and p; the largest gain first. A gain is an improvement, also of a loss."""
    name = KINDS[kind]
    if name not in results.measures:
        raise ResultsError(
            f"these results have no scores with a {kind} off",
            hint=f"run headscope ablate with --{kind}s"
            if kind != "set"
            else "run headscope ablate with --set 3-9,4-1",
        )
    data = results[name]
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    frame = (
        data[["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]]
        .to_dataframe()
        .reset_index()
    )
    off = (
        frame["layer"].astype(str) + "-" + frame["head"].astype(str)
        if kind == "head"
        else frame[kind].astype(str)
    )
    ends = sign * frame[["difference_low", "difference_high"]].to_numpy()
    table = pd.DataFrame(
        {
            f"{kind} off": off,
            str(data.attrs["metric"]): frame["mean"],
            "gain": sign * frame["difference"],
            "low": ends.min(1),
            "high": ends.max(1),
            "p": frame["p"],
            "p corrected": frame["p_corrected"],
        }
    )
    return table.sort_values("gain", ascending=False, kind="stable", ignore_index=True)


def agreement(
    results: Results, *, resamples: int = 2000, confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Spearman's rank agreement of gradient importance with what disabling each head does, over all heads, with intervals over examples.

    Two rows: with the drop in score, and with the mean size of the change in an example's loss (what importance estimates to first order, for way zero).
    """
    raw = ablation_of(results)
    if "importance" not in results.measures:
        raise ResultsError(
            "these results have no gradient importance",
            hint="run headscope ablate with --importance",
        )
    heads = np.flatnonzero(raw["kind"].values == "head")
    if not len(heads):
        raise ResultsError(
            "these results have no single heads off to compare importance with",
            hint="run headscope ablate with --heads",
        )
    metric, seed = str(raw.attrs["metric"]), int(results.provenance["settings"]["seed"])
    outputs, gold = raw["outputs"].values.astype(np.float64), raw["gold"].values
    sign = 1.0 if raw.attrs["better"] == "higher" else -1.0
    values = (
        results["importance"]["values"].values.reshape(raw.sizes["example"], -1).astype(np.float64)
    )
    losses = example_losses(metric, outputs, gold)
    sizes = np.abs(losses[heads] - losses[:1]).T
    prepared = METRICS[metric](outputs, gold)

    def rho(counts: Array) -> Array:
        scores = prepared(counts)
        return np.stack(
            [
                _row_spearman(counts @ values, sign * (scores[:, :1] - scores[:, heads])),
                _row_spearman(counts @ values, counts @ sizes),
            ]
        )

    whole = rho(np.ones((1, raw.sizes["example"])))[:, 0]
    found = np.concatenate(
        [rho(counts) for counts in draws(raw.sizes["example"], resamples, seed)], 1
    )
    low, high = _quantiles(found.T, [(1 - confidence) / 2, (1 + confidence) / 2])
    names = [
        f"drop in {metric}" if metric != "loss" else "rise in loss",
        "size of the change in loss",
    ]
    return pd.DataFrame(
        {
            "importance against": names,
            "Spearman": whole,
            "low": low,
            "high": high,
            "heads": len(heads),
        }
    )


def _row_spearman(one: Array, other: Array) -> Array:
    """Spearman's correlation of two arrays, row by row; NaN where a row is constant."""
    ranks = [rankdata(values, axis=1) for values in (one, other)]
    first, second = (values - values.mean(1, keepdims=True) for values in ranks)
    scale = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    return np.asarray(
        np.divide((first * second).sum(1), scale, out=np.full(len(one), np.nan), where=scale > 0)
    )
