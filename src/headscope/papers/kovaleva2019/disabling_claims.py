"""The claims of Kovaleva et al. 2019 on disabling heads, each with its rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headscope.heads import Head
from headscope.numbers import interval, p_value
from headscope.papers.claims import Claim, Finding
from headscope.papers.kovaleva2019.tables import signed
from headscope.results import Atlas
from headscope.stats.grid import grid_heads
from headscope.stats.tables.ablation import change_table
from headscope.stats.tables.disabling import DisablingSummary

ALPHA = 0.05

SOME = Claim(
    "On every task, disabling some heads raises the score",
    "Section 4.6, Figure 8",
    "by 0.1 (STS-B) to 1.2 points (MRPC)",
    "on every task, the best head gains more than the best head would by chance (p < 0.05) and "
    "gains on other examples too; mean over seeds, median p",
)
ANY = Claim(
    "On MRPC and RTE, disabling a random head raises the score on average",
    "Section 4.6",
    "an increase",
    "the mean over all heads is above 0 with its 95 % interval, on these tasks and all seeds",
)
LAYER = Claim(
    "On RTE, disabling the first layer raises the score",
    "Section 4.6, Figure 9",
    "+3.2 points",
    "it does with every seed, and the 95 % intervals are above 0",
)
ANY_LAYER = Claim(
    "Disabling a whole layer can raise the score",
    "Section 4.6, Figure 9",
    "–",
    "on some task, the best layer gains more than the best layer would by chance (p < 0.05)",
)
FRAMES = Claim(
    "Disabling either of the two frame heads does not lead to a drop",
    "Section 5",
    "–",
    "no model loses significantly without one of them (p < 0.05, corrected)",
)
SAME = Claim(
    "STS-B and RTE rely on the same two heads",
    "Section 5, Figure 8",
    "4-1 and 2-12",
    "the two heads whose removal hurts most are the same (mean over seeds)",
)

Summaries = Mapping[str, Mapping[str, DisablingSummary]]
"""By task and seed."""


def disabling_findings(
    heads: Summaries,
    layers: Summaries,
    results: Mapping[str, Mapping[str, Atlas]],
    gains: Mapping[str, xr.DataArray],
    frame_heads: Sequence[Head],
) -> list[Finding]:
    """Test the claims on disabling heads.

    Parameters
    ----------
    heads, layers
        Summaries of disabling one head and one layer, by task and seed.
    results
        The ablations, by task and seed.
    gains
        What disabling each head gains in points, averaged over seeds, by task.
    frame_heads
        The heads with the most attention along frame links.
    """
    return [
        _some(heads),
        _any(heads),
        _first_layer(results),
        _any_layer(layers),
        _frames(results, [str(head) for head in frame_heads]),
        _same_heads(gains),
    ]


def _some(heads: Summaries) -> Finding:
    texts, holds = [], []
    for task, seeds in heads.items():
        best, fitted, chance, p = (
            np.array([getattr(one, name) for one in seeds.values()])
            for name in ("best_gain", "fitted", "chance", "p")
        )
        texts.append(
            f"{task}: {signed(100 * best.mean())}, by chance {signed(100 * chance.mean())}, on "
            f"other examples {signed(100 * fitted.mean())}, p {p_value(np.median(p))}"
        )
        holds.append(bool(np.median(p) < ALPHA and fitted.mean() > 0))
    return SOME.tested("; ".join(texts), all(holds))


def _any(heads: Summaries) -> Finding:
    chosen = {task: heads[task] for task in ("MRPC", "RTE") if task in heads}
    if not chosen:
        return ANY.untested("neither MRPC nor RTE was run")
    found = [one for seeds in chosen.values() for one in seeds.values()]
    texts = [
        f"{task}, {seed}: {signed(100 * one.mean)} "
        f"{interval(100 * one.mean_low, 100 * one.mean_high, form=signed)}"
        for task, seeds in chosen.items()
        for seed, one in seeds.items()
    ]
    return ANY.tested("; ".join(texts), all(one.mean_low > 0 for one in found))


def _first_layer(results: Mapping[str, Mapping[str, Atlas]]) -> Finding:
    if "RTE" not in results:
        return LAYER.untested("RTE was not run")
    texts, holds = [], []
    for seed, one in results["RTE"].items():
        table = change_table(one, "layer")
        row = table[table["layer off"] == "1"].iloc[0]
        ends = interval(100 * row["low"], 100 * row["high"], form=signed)
        texts.append(f"{seed}: {signed(100 * row['gain'])} {ends}")
        holds.append(bool(row["low"] > 0))
    return LAYER.tested("; ".join(texts), all(holds))


def _any_layer(layers: Summaries) -> Finding:
    found = [
        (f"{task}, {seed}: layer {one.best.removeprefix('layer ')}", one)
        for task, seeds in layers.items()
        for seed, one in seeds.items()
    ]
    name, best = min(found, key=lambda one: one[1].p)
    here = f"at best {name}: {signed(100 * best.best_gain)}, p {p_value(best.p)}"
    return ANY_LAYER.tested(here, best.p < ALPHA)


def _frames(results: Mapping[str, Mapping[str, Atlas]], names: Sequence[str]) -> Finding:
    losses, worst = [], 0.0
    for task, seeds in results.items():
        for seed, one in seeds.items():
            table = change_table(one)
            rows = table[table["head off"].isin(names)]
            worst = min(worst, float(rows["gain"].min()))
            sure = rows[(rows["p corrected"] < ALPHA) & (rows["gain"] < 0)]
            losses += [f"{head} on {task}, {seed}" for head in sure["head off"]]
    here = f"{', '.join(names)}: {signed(100 * worst)} points at worst"
    if losses:
        here += f"; significant: {', '.join(losses)}"
    return FRAMES.tested(here, not losses)


def _same_heads(gains: Mapping[str, xr.DataArray]) -> Finding:
    if not {"STS-B", "RTE"} <= set(gains):
        return SAME.untested("STS-B and RTE are both needed")
    most = {}
    for task in ("STS-B", "RTE"):
        values = gains[task].transpose("layer", "head")
        places = np.argsort(values.values.ravel(), kind="stable")[:2]
        most[task] = [str(grid_heads(values)[place]) for place in places]
    here = "; ".join(f"{task}: {' and '.join(heads)}" for task, heads in most.items())
    return SAME.tested(here, set(most["STS-B"]) == set(most["RTE"]))
