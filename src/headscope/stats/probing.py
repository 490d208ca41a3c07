"""What probes of heads, layers and chosen heads say (Jo and Myaeng 2020, Tables 3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.labels import lost_tokens
from headscope.results import Atlas
from headscope.stats.grid import grid_heads, labelled_head

WAYS = ("top", "greedy")
"""How heads are chosen: the best ones, or greedily one after the other."""
SCORE = ("test", "low", "high")
EMBEDDINGS = "probe_embeddings"
"""The group of scores of the embeddings alone."""
NAMED = 8
"""How many heads a remark names."""
PROBED = {"probe": "heads", "probe_layer": "layers", "probe_top": "concatenated heads"}

Published = Mapping[str, tuple[float | None, float | None, float | None]]
"""By task: the paper's numbers for the last layer, the best layer and the top heads, in percent;
None where they cannot be read."""


def probing_of(results: Atlas, group: str = "probe") -> xr.Dataset:
    """The scores of probes.

    Parameters
    ----------
    results
        Results of probing.
    group
        What was probed: heads (``probe``), layers (``probe_layer``) or concatenated heads
        (``probe_top``).

    Raises
    ------
    ResultsError
        If there are none; the message says how to get them.
    """
    if group not in results.measures:
        raise ResultsError(
            f"these results have no probes of {PROBED[group]}",
            hint="make some with hs.probe(model, tasks)",
        )
    return results[group]


def task_titles(results: Atlas) -> dict[str, str]:
    """What people call the tasks that were probed, by name.

    Parameters
    ----------
    results
        Results of probing.
    """
    data = probing_of(results)
    return {
        str(name): str(title) or str(name)
        for name, title in zip(data["task"].values, data["title"].values, strict=True)
    }


def best_layer(results: Atlas, task: str) -> int | None:
    """The layer whose hidden state has the best validation score.

    Parameters
    ----------
    results
        Results of probing.
    task
        The task's name.

    Returns
    -------
    int or None
        Counted from 1; of equally good layers the lowest; None where no layer has a score.
    """
    validation = probing_of(results, "probe_layer")["validation"].sel(task=task)
    if not bool(validation.notnull().any()):
        return None
    return int(validation["layer"].values[int(np.nanargmax(validation.values))])


def top_table(
    results: Atlas, published: Published | None = None, *, n: int | None = None
) -> pd.DataFrame:
    """Compare layers with chosen heads, one row per task (Tables 3 and 5).

    Parameters
    ----------
    results
        Results of probing heads, layers and chosen heads.
    published
        The paper's numbers, to show next to these.
    n
        How many heads; by default as many as a layer has, so that all vectors are equally wide.

    Returns
    -------
    pandas.DataFrame
        Test scores in percent of the last layer, the best layer, the top n heads and n greedily
        chosen ones, each with its 95 % interval, and the gain of each in percent of the last
        layer's score; for a task with numbers, Spearman's correlation beside Pearson's. Layer and
        heads are chosen by validation. (Section 3.1 reads as if the paper's best layer were the
        best on the test data.) Where the embeddings alone were probed, their score comes first.

    Raises
    ------
    UserError
        If no n heads were probed.
    """
    heads = probing_of(results)
    layers, top = probing_of(results, "probe_layer"), probing_of(results, "probe_top")
    size = heads.sizes["head"] if n is None else n
    if n is not None and n not in top["n"].values:
        raise UserError(
            f"the number of heads must be one of {', '.join(map(str, top['n'].values))}, "
            f"got {n} instead",
            hint=f"probe {n} heads together: hs.probe(model, tasks, n={n})",
        )
    rows = []
    for name, title in task_titles(results).items():
        mine, states, layer = heads.sel(task=name), layers.sel(task=name), best_layer(results, name)
        row: dict[str, object] = {
            "task": title,
            "metric": str(mine["metric"].values),
            "majority": 100 * float(mine["majority"]),
        }
        if EMBEDDINGS in results.measures:
            row |= _score("embeddings", results[EMBEDDINGS].sel(task=name))
        row |= _score("last", states.isel(layer=-1)) | {"best layer": layer}
        row |= _score("best", None if layer is None else states.sel(layer=layer))
        for way in WAYS:
            probed = size in top["n"].values and way in top["way"].values
            row |= _score(way, top.sel(task=name, way=way, n=size) if probed else None)
        row |= {f"{what} gain": percent_gain(row[what], row["last"]) for what in ("best", *WAYS)}
        if published is not None:
            row |= _published(*published.get(name, (None, None, None)))
        rows.append(row | {"n": size})
    frame = pd.DataFrame(rows)
    paper = [column for column in frame if str(column).startswith("paper: ")]
    return frame.astype({"best layer": "Int64", **dict.fromkeys(paper, "float64")})


def _score(what: str, data: xr.Dataset | None) -> dict[str, object]:
    """A score with its interval, and Spearman's correlation where there is one, in percent."""
    names = {"": "test", " low": "low", " high": "high", " spearman": "spearman"}
    return {
        f"{what}{ending}": np.nan if data is None or part not in data else 100 * float(data[part])
        for ending, part in names.items()
    }


def _published(last: float | None, best: float | None, top: float | None) -> dict[str, object]:
    return {
        "paper: last": last,
        "paper: best": best,
        "paper: top": top,
        "paper: best gain": percent_gain(best, last),
        "paper: top gain": percent_gain(top, last),
    }


def percent_gain(score: object, base: object) -> float:
    """By how many percent a score is above another.

    Parameters
    ----------
    score, base
        Numbers, or None.

    Returns
    -------
    float
        NaN where one of them is missing, or the base is not above 0 (a correlation may be below).

    Examples
    --------
    >>> round(percent_gain(87.8, 58.0), 1), percent_gain(0.4, -0.1), percent_gain(None, 58.0)
    (51.4, nan, nan)
    """
    if not isinstance(score, int | float) or not isinstance(base, int | float) or not base > 0:
        return float("nan")
    return 100 * (score / base - 1)


def median_gain(table: pd.DataFrame, *, way: str = "top", over: str = "best") -> float:
    """The median gain of chosen heads over layers, in percent (section 4.4).

    Parameters
    ----------
    table
        What :func:`top_table` returns; tables of several models may be concatenated.
    way
        How heads were chosen: top or greedy.
    over
        The baseline: the best or the last layer.

    Examples
    --------
    >>> round(median_gain(pd.DataFrame({"top": [60.0, 80.0], "best": [50.0, 80.0]})), 1)
    10.0
    """
    for kind, given, allowed in (("way", way, WAYS), ("baseline", over, ("best", "last"))):
        if given not in allowed:
            raise unknown(kind, given, allowed)
    pairs = zip(table[way].tolist(), table[over].tolist(), strict=True)
    known = [gain for gain in (percent_gain(*pair) for pair in pairs) if not np.isnan(gain)]
    return float(np.median(known)) if known else float("nan")


def probing_remarks(results: Atlas) -> list[str]:
    """What a reader of the scores should know, in plain sentences.

    Parameters
    ----------
    results
        Results of probing.

    Returns
    -------
    list of str
        That greedy selection tries a shortlist, how many texts were cut, heads with dimensions that
        never change in training, and classifiers that did not quite reach their optimum.
    """
    data = probing_of(results)
    said = _shortlist(results)
    if lost := lost_tokens(results.provenance, split=False):
        said.append(lost)
    for name, title in task_titles(results).items():
        mine = data.sel(task=name)
        if "constant" in mine:
            counts = mine["constant"].transpose("layer", "head")
            still = [
                f"{head} ({int(count)})"
                for head, count in zip(grid_heads(counts), counts.values.ravel(), strict=True)
                if count > 0
            ]
            if still:
                more = f" and {len(still) - NAMED} more" if len(still) > NAMED else ""
                said.append(
                    f"{title}: some dimensions of these heads never change in training and carry "
                    f"no information (how many): {', '.join(still[:NAMED])}{more}."
                )
        if "unsolved" in mine and int(mine["unsolved"]):
            count = int(mine["unsolved"])
            what = "1 classifier had" if count == 1 else f"{count} classifiers had"
            said.append(f"{title}: {what} not quite reached the optimum after the last step.")
    return said


def _shortlist(results: Atlas) -> list[str]:
    """That greedy selection does not try all heads, if it was used."""
    if "probe_top" not in results:
        return []
    top = results["probe_top"]
    used = bool(top["test"].sel(way="greedy").notnull().any())
    if not used or "shortlist" not in top.attrs:  # older results
        return []
    return [
        "Greedy selection does not try every head: at each step it trains a classifier with each "
        f"of the {top.attrs['shortlist']} most promising ones and takes the best."
    ]


def head_table(results: Atlas, task: str, *, count: int | None = 10) -> pd.DataFrame:
    """The heads with the best validation scores in a task.

    Parameters
    ----------
    results
        Results of probing heads.
    task
        The task's name.
    count
        How many heads to show; None for all.

    Returns
    -------
    pandas.DataFrame
        One row per head, as shares: test score with interval, the score of a probe trained on
        shuffled labels (``control``), the difference of the two (``selectivity``), validation score
        and l2.

    Raises
    ------
    UserError
        If the task was not probed.
    """
    data = probing_of(results)
    if task not in data["task"].values:
        raise unknown("task", task, [str(name) for name in data["task"].values])
    chosen = data.sel(task=task)
    selective = chosen.assign(selectivity=chosen["test"] - chosen["control"])
    frame = selective.reset_coords(drop=True).to_dataframe().reset_index()
    places = zip(frame["layer"], frame["head"], strict=True)
    frame["head"] = [str(labelled_head(layer, head)) for layer, head in places]
    best = frame.dropna(subset="test").sort_values(
        "validation", ascending=False, kind="stable", ignore_index=True
    )
    columns = ["head", *SCORE, "control", "selectivity", "validation", "l2"]
    return best[columns].head(len(best) if count is None else count)
