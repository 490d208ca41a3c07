"""Scores with heads off: does disabling a head help or harm by more than chance?

Kovaleva et al. 2019, section 4.6, disable every head in turn. Here a paired bootstrap over
documents, corrected over all heads, separates gains from noise. Gradient importance is compared
with it, and groups of heads are disabled beside as many other heads of the same layers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, unknown
from headscope.heads import Head
from headscope.numbers import MISSING, decimals, interval
from headscope.results import Atlas
from headscope.results.atlas import measure_data
from headscope.stats.grid import head_frame
from headscope.stats.inference.bootstrap import (
    CONFIDENCE,
    LEAST,
    Outputs,
    bootstrap,
    enough,
    how_many,
    percentiles,
    resampled,
)
from headscope.stats.inference.correction import check_correction, correct, corrected_by
from headscope.stats.inference.documents import ClusterSums
from headscope.tasks.metrics import example_losses

KINDS = {"head": "head_off", "layer": "layer_off", "set": "set_off"}
"""What can be off, and the name of the dataset with its scores."""
COPIED = ("metric", "better", "way", "objective", "source")
"""Attributes of an ablation that its scores keep."""

FEW = 30
"""With fewer documents, bootstrap intervals are too narrow."""

AnyResults = TypeVar("AnyResults", bound=Atlas)


def scored(
    results: AnyResults,
    *,
    correction: str = "holm",
    resamples: int | None = None,
    confidence: float = CONFIDENCE,
) -> AnyResults:
    """Add scores, intervals and tests to the results of an ablation.

    Parameters
    ----------
    results
        What :func:`headscope.runs.ablate.ablate` returns: the outputs of every run.
    correction
        How p-values are corrected over all heads (layers, sets): holm, bh or none.
    resamples
        How many bootstrap resamples to draw; by default 10,000, or 100 per head if that is more.
    confidence
        Of the intervals.

    Returns
    -------
    Atlas
        The same results, of the same class, with the datasets of :func:`ablation_scores` and, if
        the heads were pruned, the scores of the pruning curve. The seed is that of the run.

    Raises
    ------
    ResultsError
        If these are not the results of an ablation.
    """
    check_correction(correction)
    raw = ablation_of(results)
    seed = int(results.provenance["settings"]["seed"])
    count = resamples or enough(int((raw["kind"] == "head").sum()))
    nodes = ablation_scores(
        raw,
        (results.layers, results.shape[1]),
        seed=seed,
        resamples=count,
        correction=correction,
        confidence=confidence,
    )
    if "pruning" in results.measures:
        nodes["pruning"] = pruning_scores(
            results["pruning"], seed=seed, resamples=min(count, LEAST), confidence=confidence
        )
    return with_nodes(results, nodes)


def ablation_scores(
    raw: xr.Dataset,
    shape: tuple[Sequence[int], int],
    *,
    seed: int,
    resamples: int,
    correction: str = "holm",
    confidence: float = CONFIDENCE,
) -> dict[str, xr.Dataset]:
    """Score an ablation, from its dataset alone.

    Parameters
    ----------
    raw
        The dataset ``ablation``: ``outputs`` (run, example, output), ``gold`` (example,), the
        ``kind`` of every run (baseline first, then head, layer or set), attributes metric, better,
        way and objective.
    shape
        The numbers of the model's layers, from 1, and how many heads each has.
    seed, resamples, correction, confidence
        As in :func:`scored`.

    Returns
    -------
    dict of str to xarray.Dataset
        ``head_off`` (layer, head), ``layer_off`` (layer) and ``set_off`` (set), as far as there are
        such runs. Each has the score ``mean`` with its interval and standard error (``deviation``),
        the ``difference`` from the baseline with its interval, ``p``, ``p_corrected`` and ``n``.
        Attributes say what the baseline is.
    """
    outputs, metric = Outputs.of(raw), str(raw.attrs["metric"])
    scores = bootstrap(outputs, seed=seed, resamples=resamples, confidence=confidence)
    scores = scores.assign_coords(run=raw["run"])
    baseline = scores.isel(run=0)
    about = {key: raw.attrs[key] for key in COPIED} | {
        "baseline": float(baseline["mean"]),
        "baseline_low": float(baseline["low"]),
        "baseline_high": float(baseline["high"]),
        "resamples": resamples,
        "documents": how_many(outputs.units),
        "correction": correction,
        "unit": metric,
        "kind": "score",
    }
    nodes = {}
    for kind, name in KINDS.items():
        part = scores.isel(run=np.flatnonzero(raw["kind"].values == kind))
        if part.sizes["run"]:
            part = part.assign(
                p_corrected=("run", correct(part["p"].values, correction)),
                n=("run", np.full(part.sizes["run"], raw.sizes["example"])),
            )
            nodes[name] = _shaped(part, kind, shape).assign_attrs(
                about,
                title=f"{metric} with one {kind} off",
                listed="yes" if kind == "head" else "no",
            )
    return nodes


def pruning_scores(
    raw: xr.Dataset, *, seed: int, resamples: int, confidence: float = CONFIDENCE
) -> xr.Dataset:
    """Score a pruning curve: the same dataset with scores in place of losses.

    Parameters
    ----------
    raw
        The dataset ``pruning``, whose first run has all heads.
    seed, resamples, confidence
        As in :func:`scored`.
    """
    outputs = Outputs.of(raw)
    scores = bootstrap(outputs, seed=seed, resamples=resamples, confidence=confidence)
    return raw.assign({name: scores[name] for name in scores.data_vars}).assign_attrs(
        unit=raw.attrs["metric"], kind="curve"
    )


def _shaped(part: xr.Dataset, kind: str, shape: tuple[Sequence[int], int]) -> xr.Dataset:
    """Runs by layer and head, by layer, or by set."""
    if kind == "set":
        return part.rename(run="set")
    layers, heads = shape
    if kind == "layer":
        renamed = part.drop_vars("run").rename_dims(run="layer")
        return renamed.assign_coords(layer=list(layers))
    numbers = [number - 1 for number in layers]
    places = [Head.parse(str(name), layers=numbers, heads=heads) for name in part["run"].values]
    rows = [numbers.index(head.layer) for head in places]
    columns = [head.head for head in places]
    variables = {}
    for name, array in part.data_vars.items():
        whole = len(places) == len(layers) * heads  # a grid with holes cannot hold integers
        grid = np.full(
            (len(layers), heads), 0 if whole else np.nan, array.dtype if whole else np.float64
        )
        grid[rows, columns] = array.values
        variables[str(name)] = (("layer", "head"), grid)
    return xr.Dataset(variables, {"layer": list(layers), "head": range(1, heads + 1)})


def with_nodes(results: AnyResults, nodes: Mapping[str, xr.Dataset]) -> AnyResults:
    """The same results with more datasets, which replace those of the same names.

    Parameters
    ----------
    results
        Any results.
    nodes
        Datasets by name.
    """
    datasets = {name: results[name] for name in results} | dict(nodes)
    tree = {"/": xr.Dataset(attrs=results.tree.attrs)}
    tree |= {f"/{name}": dataset for name, dataset in datasets.items()}
    return type(results)(xr.DataTree.from_dict(tree))


def ablation_of(results: Atlas) -> xr.Dataset:
    """The outputs with heads off.

    Parameters
    ----------
    results
        Results of an ablation.

    Raises
    ------
    ResultsError
        If there are none; the message says how to get them.
    """
    how = "disable heads with hs.ablate(model, …)"
    return measure_data(results, "ablation", "are not of an ablation", how)


def few_documents(documents: int, examples: int) -> str:
    """Warn of a bootstrap over few documents; empty if there are enough.

    Examples
    --------
    >>> few_documents(24, 24)
    '24 examples are few for a bootstrap: with fewer than about 30, its intervals are too narrow'
    >>> few_documents(24, 277)[:59]
    '24 documents are few for a bootstrap: with fewer than about'
    >>> few_documents(277, 277)
    ''
    """
    if documents >= FEW:
        return ""
    what = "examples" if documents == examples else "documents"
    return (
        f"{documents} {what} are few for a bootstrap: with fewer than about {FEW}, its intervals "
        "are too narrow"
    )


def change_table(results: Atlas, kind: str = "head") -> pd.DataFrame:
    """What disabling each head (layer, set) does to the score.

    Parameters
    ----------
    results
        Scored results of an ablation.
    kind
        What is off: head, layer or set.

    Returns
    -------
    pandas.DataFrame
        One row per head (layer, set): the score with it off, and the gain over the baseline with
        interval and p, the largest gain first. A gain is an improvement: of a loss, a fall.

    Raises
    ------
    ResultsError
        If nothing of that kind was disabled.
    """
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    argument = 'sets=["3-9,4-1"]' if kind == "set" else f"{kind}s=True"
    how = f"disable {kind}s: hs.ablate(model, {argument})"
    data = measure_data(results, KINDS[kind], f"have no scores with a {kind} off", how)
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    names = ["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]
    frame = head_frame(data[names]) if kind == "head" else data[names].to_dataframe().reset_index()
    off = frame["name" if kind == "head" else kind].astype(str)
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


def change_records(results: Atlas, kind: str = "head") -> pd.DataFrame:
    """The same with names that do not depend on the results: ``kind`` and what is ``off``,
    ``metric``, ``baseline``, ``score``, ``gain``, ``low``, ``high``, ``p`` and ``p_corrected``.
    """
    about, table = results[KINDS[kind]].attrs, change_table(results, kind)
    table.columns = pd.Index(["off", "score", "gain", "low", "high", "p", "p_corrected"])
    for place, (name, value) in enumerate((("kind", kind), ("metric", about["metric"]))):
        table.insert(2 * place, name, value)
    table.insert(3, "baseline", about["baseline"])
    return table


def ablation_notes(results: Atlas) -> Iterator[str]:
    """The baseline and how heads are tested, and what to be careful about."""
    kinds = [kind for kind, name in KINDS.items() if name in results.measures]
    if not kinds:
        return
    about, counts = results[KINDS[kinds[0]]].attrs, results.provenance["counts"]
    more = "more" if about["better"] == "higher" else "less"
    four = partial(decimals, places=4)
    ends = interval(about["baseline_low"], about["baseline_high"], form=four)
    undefined = " (not defined on these examples)" if ends == MISSING else ""
    skipped = f", {counts['nonfinite']} skipped" if counts.get("nonfinite") else ""
    yield (
        f"baseline: {about['metric']} {four(about['baseline'])} {ends}{undefined}, "
        f"{counts['seen']} examples{skipped}; a gain is {more} {about['metric']}; "
        f"p from {about['resamples']} resamples, {corrected_by(about['correction'])}"
    )
    if few := few_documents(about.get("documents", counts["seen"]), counts["seen"]):
        yield f"warning: {few}"


Array = NDArray[Any]


def agreement(
    results: Atlas, *, resamples: int = 2000, confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Rank correlation of gradient importance (Michel et al. 2019) with what disabling heads does.

    Parameters
    ----------
    results
        Results of an ablation with gradient importance.
    resamples
        How many bootstrap resamples of the documents to draw.
    confidence
        Of the percentile intervals.

    Returns
    -------
    pandas.DataFrame
        Two rows with Spearman's correlation over all heads and its interval over documents: with
        the drop in score, and with the mean size of the change in an example's loss, which
        importance estimates to first order if disabled heads give zero.

    Raises
    ------
    ResultsError
        If the results have no importance, or no single heads that were disabled.
    """
    raw = ablation_of(results)
    if "importance" not in results.measures:
        raise ResultsError(
            "these results have no gradient importance",
            hint="ask for it: hs.ablate(model, importance=True)",
        )
    heads = np.flatnonzero(raw["kind"].values == "head")
    if not len(heads):
        raise ResultsError(
            "no single head was disabled, so there is nothing to compare importance with",
            hint="disable heads: hs.ablate(model, heads=True)",
        )
    outputs, seed = Outputs.of(raw), int(results.provenance["settings"]["seed"])
    examples, metric = len(outputs.gold), outputs.metric
    values = results["importance"]["values"].values.reshape(examples, -1).astype(np.float64)
    losses = example_losses(metric, outputs.values.astype(np.float64), outputs.gold)
    sizes = np.abs(losses[heads] - losses[:1]).T

    def correlations(counts: Array) -> Array:
        scores = outputs.scores(counts)
        drop = outputs.sign * (scores[:, :1] - scores[:, heads])
        mine = counts @ values
        return np.stack([row_spearman(mine, drop), row_spearman(mine, counts @ sizes)], axis=1)

    whole = correlations(np.ones((1, examples)))[0]
    low, high = percentiles(resampled(correlations, outputs.units, resamples, seed), confidence)
    drop = "rise in loss" if metric == "loss" else f"drop in {metric}"
    return pd.DataFrame(
        {
            "importance against": [drop, "size of the change in loss"],
            "Spearman": whole,
            "low": low,
            "high": high,
            "heads": len(heads),
        }
    )


def row_spearman(one: Array, other: Array) -> Array:
    """Spearman's correlation of two arrays, row by row; NaN where a row is constant.

    >>> row_spearman(np.array([[1, 2, 3], [1, 1, 1]]), np.array([[2, 4, 9], [1, 2, 3]])).tolist()
    [1.0, nan]
    """
    ranks = [scipy.stats.rankdata(values, axis=1) for values in (one, other)]
    first, second = (values - values.mean(1, keepdims=True) for values in ranks)
    scale = np.sqrt((first**2).sum(1) * (second**2).sum(1))
    empty = np.full(len(one), np.nan)
    return np.asarray(np.divide((first * second).sum(1), scale, out=empty, where=scale > 0))


NAME = "group_loss"
"""The group of the results."""
COPIES = ("new", "repeated")
"""The first copy of a passage, and the second."""


def group_dataset(
    losses: Array, groups: Mapping[str, str], *, draws: int, documents: Sequence[str]
) -> xr.Dataset:
    """How much the loss rises with each group of heads disabled.

    Parameters
    ----------
    losses
        (set, passage, copy): with nothing disabled, then for every group with the group disabled
        and with each draw of other heads.
    groups
        The heads of each group, by name.
    draws
        How many draws each group has.
    documents
        The document of each passage; "" for one of its own.

    Returns
    -------
    xarray.Dataset
        ``mean`` is the rise of the loss in nats, with its 95 % interval over documents (Student's
        t); ``draw`` the rise with other heads disabled; ``p`` the share of draws, the group among
        them, whose rise is at least as large; ``more`` the rise on repeated text less that on new
        text, with its interval; ``loss`` the loss with no head disabled.
    """
    whole, rest = losses[0], losses[1:].reshape(len(groups), draws + 1, *losses.shape[1:])
    rise = rest - whole
    own, others = rise[:, 0], rise[:, 1:].mean(2)  # (group, passage, copy), (group, draw, copy)
    cost, more = (
        ClusterSums.of(np.moveaxis(values, 1, 0), documents).ratio
        for values in (own, own[..., 1:] - own[..., :1])
    )
    (low, high), reached = cost.interval(), (others >= cost.value[:, None]).sum(1)
    cells = ("disabled", "text")
    return xr.Dataset(
        {
            "mean": (cells, cost.value),
            "low": (cells, low),
            "high": (cells, high),
            "deviation": (cells, cost.error),
            "n": (cells, np.full(low.shape, losses.shape[1], np.int64)),
            "p": (cells, (1 + reached) / (1 + draws)),
            "draw": (("disabled", "drawn", "text"), others),
            "loss": ("text", whole.mean(0)),
            "more": ("disabled", more.value[:, 0]),
            "more_low": ("disabled", more.interval()[0][:, 0]),
            "more_high": ("disabled", more.interval()[1][:, 0]),
            "heads": ("disabled", np.array(list(groups.values()), dtype=object)),
        },
        {"disabled": np.array(list(groups), dtype=object), "text": np.array(COPIES, dtype=object)},
        {
            "title": "Loss with groups of heads disabled",
            "unit": "nats",
            "source": "Headscope",
            "kind": "curve",
            "listed": "no",
        },
    )


def group_table(results: Atlas) -> pd.DataFrame:
    """What disabling each group costs, on new and on repeated text.

    Parameters
    ----------
    results
        Results of :func:`headscope.group_losses`.

    Returns
    -------
    pandas.DataFrame
        One row per group and text: ``group``, ``heads``, ``text`` ("new": the first copy of a
        passage; "repeated": the second), ``loss`` with no head disabled, its ``rise`` with the
        group disabled and the interval ``low`` … ``high``, ``others`` (the mean rise with as many
        other heads of the same layers) and ``most`` of these draws, and ``p``.
    """
    data = _group(results)
    rows = [
        {
            "group": name,
            "heads": str(data["heads"].values[at]),
            "text": text,
            "loss": float(data["loss"].values[copy]),
            "rise": float(data["mean"].values[at, copy]),
            "low": float(data["low"].values[at, copy]),
            "high": float(data["high"].values[at, copy]),
            "others": float(data["draw"].values[at, :, copy].mean()),
            "most": float(data["draw"].values[at, :, copy].max()),
            "p": float(data["p"].values[at, copy]),
        }
        for at, name in enumerate(map(str, data["disabled"].values))
        for copy, text in enumerate(map(str, data["text"].values))
    ]
    return pd.DataFrame(rows)


def repeated_more(results: Atlas) -> pd.DataFrame:
    """By how much more the loss rises on repeated than on new text, one row per group.

    Parameters
    ----------
    results
        Results of :func:`headscope.group_losses`.

    Returns
    -------
    pandas.DataFrame
        ``group``, ``more`` (nats) and its interval over documents, ``low`` … ``high``.
    """
    data = _group(results)
    columns = {"more": "more", "low": "more_low", "high": "more_high"}
    return pd.DataFrame(
        {"group": data["disabled"].values.astype(str)}
        | {name: data[variable].values for name, variable in columns.items()}
    )


def _group(results: Atlas) -> xr.Dataset:
    how = "make them with hs.group_losses(model, corpus, groups)"
    return measure_data(results, NAME, "are not of disabled groups of heads", how)
