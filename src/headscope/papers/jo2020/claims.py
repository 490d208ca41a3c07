"""The claims of Jo and Myaeng 2020, and whether they hold for a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from headscope.errors import ResultsError, UserError
from headscope.papers.claims import Answer, Claim, Finding, held_by_most
from headscope.papers.jo2020 import facts
from headscope.results import Atlas
from headscope.stats.tables.probing import (
    correlation,
    median_gain,
    probing_of,
    syntactic_semantic,
    task_titles,
    top_table,
)

DEEP = 24
"""Layers of the paper's large models."""
LAYERED = "layers and top heads were not probed"

CLAIMS = {
    "low": Claim(
        "heads of the lower layers are better at Length and Depth; scores fall from the mid-upper "
        "layers on",
        "Section 4.3, Figure 3",
        "seen in the maps",
        "in both tasks (or the one that was probed), the heads of the lower half have a higher "
        "mean score than the others",
        ours="halves",
    ),
    "middle": Claim(
        "heads of the middle layers are activated for SubjNum and CoordInv",
        "Section 4.3, Figure 3",
        "seen in the maps",
        "in both tasks (or the one that was probed), the layer whose heads have the highest mean "
        "score is in the middle third",
        ours="the middle third",
    ),
    "high": Claim(
        "heads of the upper layers are mostly activated for BigramShift and OddManOut",
        "Section 4.3, Figure 3",
        "seen in the maps",
        "in both tasks (or the one that was probed), the heads of the upper half have a higher "
        "mean score than the others",
        ours="halves",
    ),
    "last": Claim(
        "the last layer is no better than the best layer in any task",
        "Section 4.4, Tables 3 and 5",
        "40 of 40",
        "the layer that validation chooses is at least as good on the test data, in all tasks",
    ),
    "top": Claim(
        "the top heads are better than the best layer in almost all tasks",
        "Section 4.4, Tables 3 and 5",
        "39 of 40",
        "in nine tasks of ten or more",
        ours="nine of ten",
    ),
    "gain": Claim(
        "accuracy is increased by 19.22 % in the median",
        "Section 4.4",
        f"{facts.MEDIAN_GAIN:g} % (by the paper's tables, over the last layer)",
        "the median gain over the last layer, over all models and tasks, is 19 % or more",
        ours="rounded down",
    ),
    "linear": Claim(
        "syntactic and semantic scores of heads are linearly related",
        "Section 6.2, Figure 5",
        "seen in the plots",
        "Pearson's correlation is positive, and so is its 95 % interval over layers",
    ),
    "rise": Claim(
        "the lower the layer, the less it matters for syntax and semantics; not in large models",
        "Section 6.2, Figure 5",
        "seen in the plots",
        "both layer means rise with the layer (Spearman's correlation above 0), or the model has "
        "24 layers or more and not both do",
    ),
    "upper": Claim(
        "in large models, the highest layers contribute less to both",
        "Section 6.2, Figure 5",
        "BERT large, ELECTRA large",
        "in a model of 24 layers or more, the last quarter has lower means than the rest in both",
        ours="the last quarter",
    ),
    "tuned": Claim(
        "fine-tuning from the top heads is better than from the last layer",
        "Section 5.2, Table 4",
        "0.82 and 1.04 points",
        "the mean gain over tasks and metrics is above 0",
    ),
    "amplified": Claim(
        "fine-tuning amplifies the heat maps and preserves their pattern",
        "Section 6.1, Figure 4",
        "seen in the maps",
        "in all tasks and states, the mean over heads rises and the rank correlation with before "
        "is 0.5 or more",
        ours="0.5",
    ),
}


def layer_means(results: Atlas, task: str) -> pd.Series | None:
    """The mean test score of the heads of each layer, as shares.

    Parameters
    ----------
    results
        Results of probing.
    task
        The task's name.

    Returns
    -------
    pandas.Series or None
        By layer, from 1; None if the task was not probed.
    """
    if task not in task_titles(results):
        return None
    return probing_of(results)["test"].sel(task=task).mean("head").to_series().dropna()


def _tasks(
    results: Atlas, tasks: tuple[str, ...], check: Callable[[pd.Series], tuple[str, bool]]
) -> Answer:
    """Ask a question of the layer means of each task; the claim needs all that were probed."""
    titles, found = task_titles(results), []
    for task in tasks:
        means = layer_means(results, task)
        if means is not None and len(means) > 1:
            text, holds = check(means)
            found.append((f"{titles[task]} {text}", holds))
    if not found:
        return None
    return ", ".join(text for text, _ in found), all(holds for _, holds in found)


def _halves(means: pd.Series) -> tuple[float, float]:
    """The mean of the lower and of the upper half of the layers; a middle layer is in neither."""
    half = len(means) // 2
    return 100 * float(means.iloc[:half].mean()), 100 * float(means.iloc[-half:].mean())


def _low(results: Atlas) -> Answer:
    def check(means: pd.Series) -> tuple[str, bool]:
        low, high = _halves(means)
        return f"{low:.1f} below, {high:.1f} above", low > high

    return _tasks(results, ("sentence_length", "tree_depth"), check)


def _high(results: Atlas) -> Answer:
    def check(means: pd.Series) -> tuple[str, bool]:
        low, high = _halves(means)
        return f"{low:.1f} below, {high:.1f} above", high > low

    return _tasks(results, ("bigram_shift", "odd_man_out"), check)


def _middle(results: Atlas) -> Answer:
    def check(means: pd.Series) -> tuple[str, bool]:
        place = int(np.argmax(means.to_numpy())) + 1
        inside = len(means) / 3 < place <= 2 * len(means) / 3
        return f"layer {int(means.index[place - 1])} of {len(means)}", inside

    return _tasks(results, ("subj_number", "coordination_inversion"), check)


def layer_scores(results: Atlas) -> pd.DataFrame | None:
    """Test scores of the last layer, the best layer and the top heads, task by task.

    Parameters
    ----------
    results
        Results of probing.

    Returns
    -------
    pandas.DataFrame or None
        With columns last, best and top, in percent; None if layers or top heads were not probed.
    """
    if "probe_layer" not in results.measures or "probe_top" not in results.measures:
        return None
    return top_table(results)


def _count(table: pd.DataFrame, one: str, other: str, least: float, *, equal: bool) -> Answer:
    better = table[one] >= table[other] if equal else table[one] > table[other]
    return f"{int(better.sum())} of {len(table)}", float(better.mean()) >= least


def _last(table: pd.DataFrame) -> Answer:
    return _count(table, "best", "last", 1.0, equal=True)


def _top(table: pd.DataFrame) -> Answer:
    return _count(table, "top", "best", 0.9, equal=False)


def _gain(table: pd.DataFrame) -> Answer:
    last, best = median_gain(table, over="last"), median_gain(table)
    return f"{last:.1f} % (over the best layer {best:.1f} %)", last >= np.floor(facts.MEDIAN_GAIN)


def _linear(results: Atlas) -> Answer:
    row = correlation(syntactic_semantic(results), resamples=2000).iloc[0]
    if np.isnan(row["value"]) or np.isnan(row["layer low"]):
        return None
    text = f"{row['value']:.2f} ({row['layer low']:.2f} to {row['layer high']:.2f})"
    return text, bool(row["layer low"] > 0)


def _rise(results: Atlas) -> Answer:
    from scipy.stats import spearmanr  # slow to import

    means = syntactic_semantic(results).groupby("layer")[["syntactic", "semantic"]].mean().dropna()
    if len(means) < 3:
        return None
    rho = [float(spearmanr(means.index, means[name]).statistic) for name in means]
    rises = all(value > 0 for value in rho)
    text = f"{rho[0]:+.2f} and {rho[1]:+.2f}"
    return text, rises if len(means) < DEEP - 1 else not rises


def _upper(results: Atlas) -> Answer:
    frame = syntactic_semantic(results).dropna()
    layers = int(frame["layer"].max())
    if layers < DEEP:
        return None
    last = frame["layer"] > 0.75 * layers
    ends = {
        name: (100 * frame.loc[last, name].mean(), 100 * frame.loc[~last, name].mean())
        for name in ("syntactic", "semantic")
    }
    text = ", ".join(f"{name} {top:.1f} against {rest:.1f}" for name, (top, rest) in ends.items())
    return text, all(top < rest for top, rest in ends.values())


_CHECKS: dict[str, tuple[Callable[[Atlas], Answer], str]] = {
    "low": (_low, "neither task was probed"),
    "middle": (_middle, "neither task was probed"),
    "high": (_high, "neither task was probed"),
    "linear": (_linear, "no syntactic or no semantic task was probed"),
    "rise": (_rise, "no syntactic or no semantic task was probed"),
    "upper": (_upper, "no model has 24 layers or more"),
}

_TABLES: dict[str, Callable[[pd.DataFrame], Answer]] = {"last": _last, "top": _top}


def _answer(check: Callable[[Atlas], Answer], results: Atlas) -> Answer:
    """What a model shows; None where it was not probed with what the claim is about."""
    try:
        return check(results)
    except (ResultsError, UserError):
        return None


def findings(
    probed: Mapping[str, Atlas],
    tables: Mapping[str, pd.DataFrame],
    gains: Mapping[str, float] | None = None,
    states: Mapping[str, list[tuple[float, float]]] | None = None,
) -> list[Finding]:
    """Test the paper's claims.

    Parameters
    ----------
    probed
        Probing results, by model.
    tables
        By model: scores of layers and top heads, as :func:`layer_scores` returns them.
    gains
        Mean gain of fine-tuning from the top heads, in points, by model.
    states
        By model: for each task and tuned state, the change of the mean over heads in points, and
        the rank correlation with before.

    Returns
    -------
    list of Finding
        In the order of the paper. A claim holds if it does in more than half of the models that it
        can be tested on.
    """
    found = {
        name: held_by_most(
            CLAIMS[name],
            {model: _answer(check, results) for model, results in probed.items()},
            reason,
            of="models",
        )
        for name, (check, reason) in _CHECKS.items()
    }
    known = {model: table.dropna(subset=["last", "best", "top"]) for model, table in tables.items()}
    for name, judge in _TABLES.items():
        answers = {model: judge(table) if len(table) else None for model, table in known.items()}
        found[name] = held_by_most(CLAIMS[name], answers, LAYERED, of="models")
    pooled = pd.concat(known.values()) if known else pd.DataFrame()
    median = {"all": _gain(pooled) if len(pooled) else None}
    found["gain"] = held_by_most(CLAIMS["gain"], median, LAYERED)
    tuned: dict[str, Answer] = {
        model: (f"{gain:+.2f} points", gain > 0) for model, gain in (gains or {}).items()
    }
    amplified: dict[str, Answer] = {
        model: (
            "; ".join(f"{change:+.1f} points, {rho:.2f}" for change, rho in cells),
            all(change > 0 and rho >= 0.5 for change, rho in cells),
        )
        for model, cells in (states or {}).items()
    }
    none = "no model was fine-tuned"
    found["tuned"] = held_by_most(CLAIMS["tuned"], tuned, none, of="models")
    found["amplified"] = held_by_most(CLAIMS["amplified"], amplified, none, of="models")
    return [found[name] for name in CLAIMS]
