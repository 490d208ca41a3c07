"""Scores with heads off: does disabling a head help or harm by more than chance?

Kovaleva et al. 2019, section 4.6, disable every head in turn. Here a paired bootstrap over
documents, corrected over all heads, separates gains from noise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.bootstrap import CONFIDENCE, LEAST, bootstrap, enough
from headscope.stats.clusters import example_documents
from headscope.stats.grid import labelled_head
from headscope.stats.tests import check_correction, correct

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
    about = results.provenance
    seed = int(about["settings"]["seed"])
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
    metric, documents = str(raw.attrs["metric"]), example_documents(raw)
    scores = bootstrap(
        metric,
        raw["outputs"].values,
        raw["gold"].values,
        seed=seed,
        resamples=resamples,
        documents=documents,
        confidence=confidence,
    ).assign_coords(run=raw["run"])
    baseline = scores.isel(run=0)
    about = {key: raw.attrs[key] for key in COPIED} | {
        "baseline": float(baseline["mean"]),
        "baseline_low": float(baseline["low"]),
        "baseline_high": float(baseline["high"]),
        "resamples": resamples,
        "documents": int(documents.max(initial=-1)) + 1,
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
    scores = bootstrap(
        str(raw.attrs["metric"]),
        raw["outputs"].values,
        raw["gold"].values,
        seed=seed,
        resamples=resamples,
        documents=example_documents(raw),
        confidence=confidence,
    )
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
    if "ablation" not in results.measures:
        raise ResultsError(
            "these results are not of an ablation",
            hint="disable heads with hs.ablate(model, …)",
        )
    return results["ablation"]


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
    if KINDS[kind] not in results.measures:
        argument = 'sets=["3-9,4-1"]' if kind == "set" else f"{kind}s=True"
        raise ResultsError(
            f"these results have no scores with a {kind} off",
            hint=f"disable {kind}s: hs.ablate(model, {argument})",
        )
    data = results[KINDS[kind]]
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    names = ["mean", "difference", "difference_low", "difference_high", "p", "p_corrected"]
    frame = data[names].to_dataframe().reset_index()
    if kind == "head":
        places = zip(frame["layer"], frame["head"], strict=True)
        off = [str(labelled_head(layer, head)) for layer, head in places]
    else:
        off = frame[kind].astype(str).tolist()
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
