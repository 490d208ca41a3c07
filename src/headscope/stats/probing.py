"""What probes of heads, layers and chosen heads say (Jo and Myaeng 2020): Tables 3 and 5, the best heads of a task, and the syntactic–semantic scatter (J5, J9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from headscope.errors import ResultsError, UserError, unknown
from headscope.heads import Head
from headscope.results import Results, head_name
from headscope.stats.bootstrap import draws
from headscope.tasks.metrics import METRICS

GROUPS: dict[str, tuple[str, ...]] = {
    "syntactic": ("tree_depth", "top_constituents", "bigram_shift"),
    "semantic": (
        "past_present",
        "subj_number",
        "obj_number",
        "odd_man_out",
        "coordination_inversion",
    ),
}
"""The tasks whose mean is a head's syntactic and semantic score (§6.2), by SentEval's names."""
RESAMPLES = 10_000
CONFIDENCE = 0.95
WAYS = ("top", "greedy")
SCORE = ("test", "low", "high")
NAMED = 8

Published = Mapping[str, tuple[float | None, float | None, float | None]]
"""By task: the paper's numbers for the last layer, the best layer and the top heads, in percent; None where they cannot be read."""


def probing_of(results: Results, group: str = "probe") -> xr.Dataset:
    """The scores of heads (probe), layers (probe_layer) or concatenated heads (probe_top), or an error that says how to get them."""
    if group not in results.measures:
        what = {"probe": "heads", "probe_layer": "layers", "probe_top": "concatenated heads"}[group]
        raise ResultsError(
            f"these results have no probes of {what}",
            hint="make some with: headscope probe MODEL TASKS -o probe.nc",
        )
    return results[group]


def task_titles(results: Results) -> dict[str, str]:
    """The tasks that were probed, by name: what people call them."""
    data = probing_of(results)
    return {
        str(name): str(title) or str(name)
        for name, title in zip(data["task"].values, data["title"].values, strict=True)
    }


def best_layer(results: Results, task: str) -> int | None:
    """The layer whose hidden state has the best validation score (of equal ones the lowest), counted from 1; None where no layer has one."""
    validation = probing_of(results, "probe_layer")["validation"].sel(task=task)
    return (
        int(validation["layer"].values[int(np.nanargmax(validation.values))])
        if bool(validation.notnull().any())
        else None
    )


def top_table(
    results: Results, published: Published | None = None, *, n: int | None = None
) -> pd.DataFrame:
    """One row a task: the test scores, in percent, of the last layer, the best layer, the top n heads and n greedily chosen ones (Tables 3 and 5).

    Each score has its 95 % interval, and a gain: by how many percent it is above the last layer's. ``n`` is by default the number of heads of a layer, so that
    all vectors are equally wide. Layer and heads are chosen by validation (the paper's best layer may be the best on the test data: §3.1 reads so). ``published`` sets the paper's numbers beside.
    """
    heads, layers, top = (
        probing_of(results, name) for name in ("probe", "probe_layer", "probe_top")
    )
    size = heads.sizes["head"] if n is None else n
    if n is not None and n not in top["n"].values:
        raise UserError(
            f"the number of heads must be one of {', '.join(str(one) for one in top['n'].values)}, got {n} instead",
            hint=f"probe with --n {n}",
        )
    rows = []
    for name, title in task_titles(results).items():
        mine, states = heads.sel(task=name), layers.sel(task=name)
        layer = best_layer(results, name)
        row: dict[str, object] = {
            "task": title,
            "metric": str(mine["metric"].values),
            "majority": 100 * float(mine["majority"]),
        }
        row |= (
            _score("last", states.isel(layer=-1))
            | {"best layer": layer}
            | _score("best", None if layer is None else states.sel(layer=layer))
        )
        for way in WAYS:
            row |= _score(
                way,
                top.sel(task=name, way=way, n=size)
                if size in top["n"].values and way in top["way"].values
                else None,
            )
        row |= {f"{what} gain": percent_gain(row[what], row["last"]) for what in ("best", *WAYS)}
        if published is not None:
            last, best, chosen = published.get(name, (None, None, None))
            row |= {"paper: last": last, "paper: best": best, "paper: top": chosen}
            row |= {
                "paper: best gain": percent_gain(best, last),
                "paper: top gain": percent_gain(chosen, last),
            }
        rows.append(row | {"n": size})
    frame = pd.DataFrame(rows)
    return frame.astype(
        {"best layer": "Int64"}
        | {column: np.float64 for column in frame if str(column).startswith("paper: ")}
    )


def _score(what: str, data: xr.Dataset | None) -> dict[str, object]:
    """A score with its interval, in percent."""
    return {
        name: np.nan if data is None else 100 * float(data[part])
        for part, name in zip(SCORE, (what, f"{what} low", f"{what} high"), strict=True)
    }


def percent_gain(score: object, base: object) -> float:
    """By how many percent a score is above another; NaN where the other is not above 0 (a correlation), or one of them is not known.

    >>> round(percent_gain(87.8, 58.0), 1), percent_gain(0.4, -0.1), percent_gain(None, 58.0)
    (51.4, nan, nan)
    """
    if not isinstance(score, int | float) or not isinstance(base, int | float) or not base > 0:
        return float("nan")
    return 100 * (score / base - 1)


def median_gain(table: pd.DataFrame, *, way: str = "top", over: str = "best") -> float:
    """The median over tasks (and models: concatenate their tables) of the gain of chosen heads over the best or the last layer, in percent (§4.4)."""
    for kind, given, allowed in (("way", way, WAYS), ("baseline", over, ("best", "last"))):
        if given not in allowed:
            raise unknown(kind, given, allowed)
    gains = [
        percent_gain(score, base)
        for score, base in zip(table[way].tolist(), table[over].tolist(), strict=True)
    ]
    known = [gain for gain in gains if not np.isnan(gain)]
    return float(np.median(known)) if known else float("nan")


def probing_remarks(results: Results) -> list[str]:
    """What a reader of the scores should know: numbers that never change, and classifiers that did not reach their optimum."""
    data = probing_of(results)
    said = []
    for name, title in task_titles(results).items():
        mine = data.sel(task=name)
        still = mine["constant"].stack(unit=("layer", "head")) if "constant" in mine else None
        if still is not None and bool((still > 0).any()):
            units = [
                f"{head_name(layer, head)} ({int(count)})"
                for (layer, head), count in zip(still["unit"].values, still.values, strict=True)
                if count > 0
            ]
            more = f" and {len(units) - NAMED} more" if len(units) > NAMED else ""
            said.append(
                f"{title}: heads with numbers that never change in training, and so tell nothing (how many): {', '.join(units[:NAMED])}{more}"
            )
        if "unsolved" in mine and int(mine["unsolved"]):
            count = int(mine["unsolved"])
            said.append(
                f"{title}: {count} classifier{'s' if count > 1 else ''} of heads had not quite reached their optimum after the last step"
            )
    return said


def head_table(results: Results, task: str, *, count: int | None = 10) -> pd.DataFrame:
    """The heads with the best validation score in a task: test score with interval, the score with shuffled labels, and what is left without it (selectivity). Shares."""
    data = probing_of(results)
    if task not in data["task"].values:
        raise unknown("task", task, [str(name) for name in data["task"].values])
    chosen = data.sel(task=task)
    frame = (
        chosen.assign(selectivity=chosen["test"] - chosen["control"])
        .reset_coords(drop=True)
        .to_dataframe()
        .reset_index()
    )
    frame["head"] = [
        head_name(layer, head) for layer, head in zip(frame["layer"], frame["head"], strict=True)
    ]
    best = frame.dropna(subset="test").sort_values(
        "validation", ascending=False, kind="stable", ignore_index=True
    )
    return best[["head", *SCORE, "control", "selectivity", "validation", "l2"]].head(
        len(best) if count is None else count
    )


def syntactic_semantic(
    results: Results, groups: Mapping[str, Sequence[str]] = GROUPS
) -> pd.DataFrame:
    """One row a head: its mean test score over the syntactic and over the semantic tasks (§6.2, Figure 5).

    Means are over the tasks that were probed; ``attrs["tasks"]`` says which, and ``attrs["missing"]`` which of the paper's were not.
    """
    data, titles = probing_of(results), task_titles(results)
    there = {group: [name for name in names if name in titles] for group, names in groups.items()}
    empty = next((group for group, names in there.items() if not names), None)
    if empty is not None:
        raise ResultsError(
            f"none of the {empty} tasks was probed ({', '.join(groups[empty])})",
            hint="probe at least one syntactic and one semantic task",
        )
    means = xr.Dataset(
        {
            group: data["test"].sel(task=names).mean("task", skipna=False)
            for group, names in there.items()
        }
    )
    frame = means.reset_coords(drop=True).to_dataframe().reset_index()[["layer", "head", *groups]]
    if frame[list(groups)].isna().any(axis=1).all():
        raise ResultsError(
            "no head has a score in all of the syntactic and semantic tasks",
            hint="probe the tasks again",
        )
    frame.attrs["tasks"] = {
        group: [titles[name] for name in names] for group, names in there.items()
    }
    frame.attrs["missing"] = [
        name for names in groups.values() for name in names if name not in titles
    ]
    return frame


def correlation(frame: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Pearson's and Spearman's correlation of the syntactic with the semantic score over heads, with 95 % intervals.

    ``low`` … ``high`` take heads for independent: Fisher's z for Pearson, a bootstrap over heads for Spearman. Heads of a layer are not independent: they read the same input.
    ``layer low`` … ``layer high`` draw whole layers instead of heads (a clustered bootstrap), and are the ones to trust; with few layers they are rough.
    """
    known = frame.dropna(subset=["syntactic", "semantic"])
    one, other = (known[name].to_numpy(np.float64) for name in ("syntactic", "semantic"))
    rows = []
    for name in ("pearson", "spearman"):
        row: dict[str, object] = {
            "correlation": name.title(),
            **dict.fromkeys(("value", "low", "high", "layer low", "layer high"), np.nan),
            "heads": len(known),
        }
        if len(known) > 2 and np.ptp(one) > 0 and np.ptp(other) > 0:
            metric = METRICS[name].prepare(one[None, :, None], other)
            row["value"] = float(metric(np.ones((1, len(known))))[0, 0])
            if name == "pearson":
                row["low"], row["high"] = (
                    float(end) for end in stats.pearsonr(one, other).confidence_interval(CONFIDENCE)
                )
            else:
                row["low"], row["high"] = _ends(
                    np.concatenate(
                        [metric(counts) for counts in draws(len(known), resamples, seed)]
                    )
                )
            layers, place = np.unique(known["layer"].to_numpy(), return_inverse=True)
            if len(layers) > 1:
                row["layer low"], row["layer high"] = _ends(
                    np.concatenate(
                        [metric(counts[:, place]) for counts in draws(len(layers), resamples, seed)]
                    )
                )
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(found: NDArray[np.float64]) -> tuple[float, float]:
    """The percentile interval of resamples in which the correlation is defined."""
    low, high = np.nanquantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def top_heads(results: Results, n: int, task: str | None = None) -> tuple[Head, ...]:
    """The n heads with the best validation scores.

    Parameters
    ----------
    results
        Results of :func:`headscope.runs.probe.probe.probe`.
    n
        Number of heads.
    task
        Name or title of a task, such as ``"past_present"`` or ``"Tense"``. Default: the mean over
        all tasks decides.

    Returns
    -------
    tuple of Head
        From the best head on; equally good heads are in the order of the model. A head without a
        score in one of the tasks is not included.

    Raises
    ------
    UserError
        If the task was not probed, or fewer than n heads have a score.

    See Also
    --------
    head_table : the same heads with their scores.

    Examples
    --------
    >>> scores = xr.DataArray(
    ...     [[[0.5, 0.9], [0.8, 0.6]]],
    ...     coords={"task": ["mine"], "layer": [1, 2], "head": [1, 2]},
    ...     name="validation",
    ... )
    >>> group = scores.to_dataset().assign(title=("task", ["Mine"]))
    >>> results = Results.build({"probe": group}, {})
    >>> [str(head) for head in top_heads(results, 2, task="Mine")]
    ['1-2', '2-1']
    """
    data = probing_of(results)
    if task is None:
        validation = data["validation"].dropna("task", how="all").mean("task", skipna=False)
    else:
        titles = task_titles(results)
        same = {name: {name.lower(), title.lower()} for name, title in titles.items()}
        names = [name for name, known_as in same.items() if task.lower() in known_as]
        if not names:
            raise unknown("task", task, titles)
        validation = data["validation"].sel(task=names[0])
    scores = validation.transpose("layer", "head")
    ranked = np.argsort(-np.nan_to_num(scores.values.ravel(), nan=-np.inf), kind="stable")
    known = int(scores.notnull().sum())
    if not 1 <= n <= known:
        raise UserError(
            f"the number of heads must be between 1 and {known}, the number of heads with a "
            f"validation score; got {n} instead"
        )
    heads = [
        Head(int(layer) - 1, int(head) - 1)
        for layer in scores["layer"].values
        for head in scores["head"].values
    ]
    return tuple(heads[unit] for unit in ranked[:n])
