"""What probes say: best heads and layers, tests, repeated splits, syntax against semantics.

The tables are those of Jo and Myaeng 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.errors import ResultsError, UserError, first_few, unknown
from headscope.heads import Head
from headscope.labels import lost_tokens
from headscope.results import Atlas
from headscope.results.atlas import measure_data
from headscope.stats.grid import grid_heads, head_frame
from headscope.stats.inference.bootstrap import CONFIDENCE, percentiles, resampled
from headscope.stats.inference.correction import ALPHA, binomial_tail, correct
from headscope.tasks.metrics import METRICS, FromCounts

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
    how = "make some with hs.probe(model, tasks)"
    return measure_data(results, group, f"have no probes of {PROBED[group]}", how)


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
    for kind, chosen, allowed in (("way", way, WAYS), ("baseline", over, ("best", "last"))):
        if chosen not in allowed:
            raise unknown(kind, chosen, allowed)
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
    said = []
    top = results["probe_top"] if "probe_top" in results.measures else None
    greedy = top is not None and bool(top["test"].sel(way="greedy").notnull().any())
    if top is not None and greedy and "shortlist" in top.attrs:  # older results do not say
        said.append(
            "Greedy selection does not try every head: at each step it trains a classifier with "
            f"each of the {top.attrs['shortlist']} most promising ones and takes the best."
        )
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
                said.append(
                    f"{title}: some dimensions of these heads never change in training and carry "
                    f"no information (how many): {first_few(still, NAMED)}."
                )
        if "unsolved" in mine and int(mine["unsolved"]):
            count = int(mine["unsolved"])
            what = "1 classifier had" if count == 1 else f"{count} classifiers had"
            said.append(f"{title}: {what} not quite reached the optimum after the last step.")
    return said


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
    frame = head_frame(selective).assign(head=lambda rows: rows["name"])
    best = frame.dropna(subset="test").sort_values(
        "validation", ascending=False, kind="stable", ignore_index=True
    )
    columns = ["head", *SCORE, "control", "selectivity", "validation", "l2"]
    return best[columns].head(len(best) if count is None else count)


def best_of_tasks(results: Atlas, *, count: int) -> pd.DataFrame:
    """The best heads of every task, by its title."""
    tables = {
        title: head_table(results, name, count=count)
        for name, title in task_titles(results).items()
    }
    return pd.concat(tables, names=["task"]).reset_index("task").reset_index(drop=True)


def top_heads(results: Atlas, n: int, task: str | None = None) -> tuple[Head, ...]:
    """The n heads with the best validation scores.

    Parameters
    ----------
    results
        Results of :func:`headscope.runs.probe.probe`.
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
    headscope.stats.tables.probing.head_table : the same heads with their scores.

    Examples
    --------
    >>> import xarray as xr
    >>> scores = xr.DataArray(
    ...     [[[0.5, 0.9], [0.8, 0.6]]],
    ...     coords={"task": ["mine"], "layer": [1, 2], "head": [1, 2]},
    ...     name="validation",
    ... )
    >>> group = scores.to_dataset().assign(title=("task", ["Mine"]))
    >>> results = Atlas.build({"probe": group}, {})
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
    heads = grid_heads(scores)
    return tuple(heads[unit] for unit in ranked[:n])


HEADS, TOP = "probe_splits", "probe_splits_top"
"""The groups of results: scores of heads, and of layers and top heads."""
APART = ("past_present", "subj_number", "obj_number")
"""Tasks in whose own splits no target word is both in training and in test sentences."""
Array = NDArray[np.float64]


def split_interval(
    scores: Array, train: int, test: int, *, confidence: float = 0.95
) -> tuple[Array, Array, Array]:
    """The mean over random splits, and its interval.

    The splits share sentences, so their scores are not independent, and the usual interval of a
    mean is too narrow. Nadeau and Bengio (2003) replace the variance s²/k of the mean of k splits
    by s² (1/k + test/train). The interval is that of the expected score of a classifier that is
    trained and tested on random splits of this size.

    Parameters
    ----------
    scores
        (..., split)
    train, test
        How many sentences each split trains and tests on.
    confidence
        Level of the interval.

    Returns
    -------
    mean, low, high
        (...); low and high are NaN for a single split.

    References
    ----------
    Nadeau and Bengio (2003), Inference for the Generalization Error, Machine Learning 52.

    Examples
    --------
    >>> mean, low, high = split_interval(np.array([0.6, 0.7, 0.8]), train=80, test=20)
    >>> [round(float(end), 3) for end in (mean, low, high)]
    [0.7, 0.371, 1.029]
    """
    count, mean = scores.shape[-1], scores.mean(-1)
    if count < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    error = scores.std(-1, ddof=1) * np.sqrt(1 / count + test / train)
    half = special.stdtrit(count - 1, (1 + confidence) / 2) * error
    return mean, mean - half, mean + half


def split_table(results: Atlas) -> pd.DataFrame:
    """Layers and top heads over splits that were drawn again, one row per task.

    Parameters
    ----------
    results
        Results of probing with repeated splits.

    Returns
    -------
    pandas.DataFrame
        Mean test scores in percent of the last layer (``last``), of the layer that is best in a
        split's own validation part (``best``) and of the ``n`` heads that are (``top``), with
        their intervals; and the differences ``top - last`` and ``top - best`` in points, paired by
        split. See :func:`split_interval` for the intervals.

    Raises
    ------
    ResultsError
        If no splits were drawn again.
    """
    how, rows = "make some with hs.probe(model, tasks, repeats=5)", []
    data = measure_data(results, TOP, "have no repeated splits", how)
    for name in data["task"].values:
        mine = data.sel(task=name)
        by_way = {way: mine["each"].sel(way=way).values for way in ("last", "best", "top")}
        sizes = int(mine["train"]), int(mine["test_size"])
        row: dict[str, object] = {
            "task": str(mine["title"].values),
            "splits": mine.sizes["split"],
            "test size": sizes[1],
            "n": mine.sizes["place"],
        }
        for way, scores in by_way.items():
            row |= _ends(way, scores, sizes, bounds=(0.0 if int(mine["classes"]) else -1.0, 1.0))
        for way in ("last", "best"):
            row |= _ends(f"top - {way}", by_way["top"] - by_way[way], sizes)
        rows.append(row)
    return pd.DataFrame(rows)


def _ends(
    name: str, scores: Array, sizes: tuple[int, int], bounds: tuple[float, float] | None = None
) -> dict[str, object]:
    ends = [100 * part for part in split_interval(scores, *sizes)]
    if bounds:
        ends = [np.clip(part, 100 * bounds[0], 100 * bounds[1]) for part in ends]
    return dict(zip((name, f"{name} low", f"{name} high"), map(float, ends), strict=True))


def split_text(results: Atlas) -> str:
    """What repeated splits are, and what they do not keep, in plain sentences.

    Parameters
    ----------
    results
        Results of probing; without repeated splits the text is empty.
    """
    if TOP not in results.measures:
        return ""
    data = results[TOP]
    text = (
        f"Means over {data.sizes['split']} splits: all sentences of a task are divided again at "
        "random, with the same sizes and the same share of each class. Layer, heads and L2 are "
        "chosen on each split's validation part and scored on its test part. The 95 % intervals "
        "are of the score to expect after training on as many sentences, corrected because the "
        "splits share sentences (Nadeau and Bengio 2003)."
    )
    named = zip(data["task"].values, data["title"].values, strict=True)
    apart = [str(title) for name, title in named if name in APART]
    if apart:
        text += (
            f" In the new splits of {', '.join(apart)}, a target word may be in training and in "
            "test sentences, which the task's own split excludes, so scores may be higher."
        )
    return text


SMALL = 100
"""Tests with fewer examples are small: an accuracy of 0.75 has an interval of ± 0.085 or more."""


def better_heads(results: Atlas, *, level: float = ALPHA) -> pd.DataFrame:
    """Count the heads whose test accuracy is above the share of the majority class.

    Parameters
    ----------
    results
        Results of probing heads.
    level
        The level of the tests.

    Returns
    -------
    pandas.DataFrame
        One row per task with classes: heads; how many are better by an exact one-sided binomial
        test, alone (``uncorrected``), with Holm's correction over the heads of the task (``holm``),
        and with that of Benjamini and Hochberg (``bh``); and the number of test examples.
    """
    data, rows = probing_of(results), []
    for name, title in task_titles(results).items():
        mine = data.sel(task=name)
        p = above_majority(mine)
        if not np.isfinite(float(mine["majority"])) or not float(mine["test_size"]) > 0:
            continue
        corrected = {"uncorrected": p} | {name: correct(p, name) for name in ("holm", "bh")}
        counts = {name: int((values < level).sum()) for name, values in corrected.items()}
        row = {"task": title, "heads": int(np.isfinite(p).sum()), **counts}
        rows.append(row | {"test size": int(mine["test_size"])})
    return pd.DataFrame(rows, columns=["task", "heads", "uncorrected", "holm", "bh", "test size"])


def above_majority(task: xr.Dataset) -> Array:
    """p of "no better than the largest class" of every head: the exact binomial test, one-sided.

    Parameters
    ----------
    task
        The probes of one task; p is NaN where it has no classes, and for heads without a score.
    """
    majority, size = float(task["majority"]), float(np.nan_to_num(task["test_size"]))
    scores = task["test"].values.ravel()
    if not np.isfinite(majority) or size < 1:
        return np.full(scores.shape, np.nan)
    right = np.round(np.nan_to_num(scores) * size)
    return np.where(np.isnan(scores), np.nan, binomial_tail(right, size, majority))


def small_tests(results: Atlas, *, least: int = SMALL) -> dict[str, int]:
    """List the tasks with too few test examples to trust a difference of a few points.

    Parameters
    ----------
    results
        Results of probing heads.
    least
        The fewest examples of a test that is not small.

    Returns
    -------
    dict
        The number of test examples, by the task's title.
    """
    data = probing_of(results)
    if "test_size" not in data:  # numbers that others have published
        return {}
    sizes = {
        title: float(data["test_size"].sel(task=name))
        for name, title in task_titles(results).items()
    }
    return {title: int(size) for title, size in sizes.items() if size < least}


def small_test_text(small: Mapping[str, int]) -> str:
    """Warn of gains that rest on few test sentences.

    Parameters
    ----------
    small
        What :func:`small_tests` returned.

    Returns
    -------
    str
        Two sentences; empty if there are no small tests.

    Examples
    --------
    >>> small_test_text({"Tense": 48})
    'Small tests: Tense (48 sentences). A gain of a few points there is one or two sentences.'
    """
    if not small:
        return ""
    sizes = [
        f"{title} ({size}{' sentences' if not place else ''})"
        for place, (title, size) in enumerate(small.items())
    ]
    return f"Small tests: {', '.join(sizes)}. A gain of a few points there is one or two sentences."


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
"""The tasks whose mean is a head's syntactic and semantic score, by SentEval's names."""
RESAMPLES = 10_000


def syntactic_semantic(
    results: Atlas, groups: Mapping[str, Sequence[str]] = GROUPS
) -> pd.DataFrame:
    """The mean test scores of every head over the syntactic and over the semantic tasks.

    Parameters
    ----------
    results
        Results of probing heads.
    groups
        The tasks of each group, by name.

    Returns
    -------
    pandas.DataFrame
        One row per head: layer, head, syntactic and semantic. Means are over the tasks that were
        probed; ``attrs["tasks"]`` says which, ``attrs["missing"]`` which of the groups' were not.

    Raises
    ------
    ResultsError
        If no task of a group was probed, or no head has a score in all tasks.
    """
    data, titles = probing_of(results), task_titles(results)
    probed = {group: [name for name in names if name in titles] for group, names in groups.items()}
    empty = next((group for group, names in probed.items() if not names), None)
    if empty is not None:
        raise ResultsError(
            f"none of the {empty} tasks was probed ({', '.join(groups[empty])})",
            hint="probe at least one syntactic and one semantic task",
        )
    means = {
        group: data["test"].sel(task=names).mean("task", skipna=False)
        for group, names in probed.items()
    }
    frame = xr.Dataset(means).reset_coords(drop=True).to_dataframe().reset_index()
    frame = frame[["layer", "head", *groups]]
    if frame[list(groups)].isna().any(axis=1).all():
        raise ResultsError(
            "no head has a score in all of the syntactic and semantic tasks",
            hint="probe the tasks again",
        )
    frame.attrs["tasks"] = {
        group: [titles[name] for name in names] for group, names in probed.items()
    }
    frame.attrs["missing"] = [
        name for names in groups.values() for name in names if name not in titles
    ]
    return frame


def correlation(
    frame: pd.DataFrame,
    columns: tuple[str, str] = ("syntactic", "semantic"),
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Correlate two scores over heads, such as the syntactic with the semantic one.

    Parameters
    ----------
    frame
        One row per head: its layer and the two scores, such as :func:`syntactic_semantic` returns.
    columns
        The names of the two scores.
    seed, resamples
        Of the bootstraps.

    Returns
    -------
    pandas.DataFrame
        Two rows, Pearson and Spearman, with 95 % intervals. ``low`` … ``high`` take heads for
        independent: Fisher's z for Pearson, a bootstrap over heads for Spearman. Heads of a layer
        are not independent, because they read the same input. ``layer low`` … ``layer high`` draw
        whole layers instead of heads (a clustered bootstrap) and are the ones to trust; with few
        layers they are rough.
    """
    known = frame.dropna(subset=list(columns))
    x, y = (known[name].to_numpy(np.float64) for name in columns)
    layers, place = np.unique(known["layer"].to_numpy(), return_inverse=True)
    rows = []
    for name in ("pearson", "spearman"):
        row: dict[str, object] = {
            "correlation": METRICS[name].title,
            **dict.fromkeys(("value", "low", "high", "layer low", "layer high"), np.nan),
            "heads": len(known),
        }
        if len(known) > 2 and np.ptp(x) > 0 and np.ptp(y) > 0:
            metric = METRICS[name].prepare(x[None, :, None], y)
            row["value"] = float(metric(np.ones((1, len(known))))[0, 0])
            if name == "pearson":
                ends = scipy.stats.pearsonr(x, y).confidence_interval(CONFIDENCE)
                row["low"], row["high"] = float(ends.low), float(ends.high)
            else:
                heads = np.arange(len(known))
                row["low"], row["high"] = _interval(metric, heads, resamples, seed)
            if len(layers) > 1:
                row["layer low"], row["layer high"] = _interval(metric, place, resamples, seed)
        rows.append(row)
    return pd.DataFrame(rows)


def _interval(
    metric: FromCounts, clusters: NDArray[np.int64], resamples: int, seed: int
) -> tuple[float, float]:
    """The percentile interval when whole clusters of heads are drawn."""
    low, high = percentiles(resampled(metric, clusters, resamples, seed))
    return float(low[0]), float(high[0])


SCORES = ("here", "published")


def paired_scores(results: Atlas, published: Atlas) -> pd.DataFrame:
    """Put the test scores of two runs of probing beside each other, head by head.

    Parameters
    ----------
    results, published
        Results of probing heads of models of one shape.

    Returns
    -------
    pandas.DataFrame
        One row per head and task that both have: task (its title), layer, head, here, published.

    Raises
    ------
    ResultsError
        The models differ in layers or heads, or have no task in common.

    Examples
    --------
    >>> def run(scores):
    ...     places = {"task": ["mine"], "layer": [1], "head": [1, 2]}
    ...     test = xr.DataArray([[scores]], places, tuple(places), "test").to_dataset()
    ...     return Atlas.build({"probe": test.assign(title=("task", ["Mine"]))}, {})
    >>> one, other = run([0.5, 0.9]), run([0.4, 0.8])
    >>> paired_scores(one, other)[["head", "here", "published"]].values.tolist()
    [[1.0, 0.5, 0.4], [2.0, 0.9, 0.8]]
    """
    ours, theirs = probing_of(results), probing_of(published)
    shapes = [(data.sizes["layer"], data.sizes["head"]) for data in (ours, theirs)]
    if shapes[0] != shapes[1]:
        got = " and ".join(f"{layers} × {heads}" for layers, heads in shapes)
        raise ResultsError(f"heads can only be compared between models of one shape, got {got}")
    titles, there = task_titles(results), set(task_titles(published))
    tasks = [name for name in titles if name in there]
    if not tasks:
        raise ResultsError(
            "the two runs have no task in common", hint="probe one of the published tasks"
        )
    both = xr.Dataset(
        {
            name: data["test"].sel(task=tasks)
            for name, data in zip(SCORES, (ours, theirs), strict=True)
        }
    )
    frame = both.reset_coords(drop=True).to_dataframe().reset_index()
    return frame.assign(task=frame["task"].map(titles))[["task", "layer", "head", *SCORES]]


def probe_agreement(
    frame: pd.DataFrame, *, seed: int = 0, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Correlate the scores of two runs over heads, task by task.

    Parameters
    ----------
    frame
        What :func:`paired_scores` returns.
    seed, resamples
        Of the bootstraps.

    Returns
    -------
    pandas.DataFrame
        Two rows per task, Pearson and Spearman, with intervals over heads and over layers; see
        :func:`headscope.stats.tables.probing.correlation`.
    """
    parts = []
    for task, rows in frame.groupby("task", sort=False):
        table = correlation(rows, SCORES, seed=seed, resamples=resamples)
        parts.append(table.assign(task=task))
    return pd.concat(parts, ignore_index=True)
