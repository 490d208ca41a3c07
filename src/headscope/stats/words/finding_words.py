"""Findings in plain English, with their numbers and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headscope.numbers import count, number
from headscope.stats.heads.findings import (
    ALPHA,
    AntecedentFinding,
    DisablingFinding,
    ProbeFinding,
    RelationFinding,
)
from headscope.stats.words.phrases import listed, p_words
from headscope.stats.words.relation_words import relation_words
from headscope.tasks.metrics import metric_title

POINTS = {
    "accuracy": "accuracy",
    "f1": "F1",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
}
"""Metrics that are given in points, a hundredth each, and what they are called."""
NAMED = 3
"""How many heads are named that cannot be told from another."""
BASELINES = {
    "nearest": "the nearest mention",
    "same head word": "the same head word",
    "rules": "the rules",
}


def beyond_words(positions: xr.Dataset | None, head: str, role: str) -> str:
    """How much more a head gives some arcs than its positions alone would; empty if not known.

    Parameters
    ----------
    positions
        What :func:`headscope.stats.beyond_position` finds.
    head
        Its name.
    role
        A relation with its direction, or a main role along arcs.
    """
    if positions is None or role not in positions["role"].values:
        return ""
    layer, number_ = map(int, head.split("-"))
    mine = positions.sel(layer=layer, head=number_, role=role)
    if np.isnan(mine["p_corrected"]):
        return ""
    times = f"{float(mine['times']):.1f} times what its positions alone would give"
    return times if mine["beats"] else f"not clearly beyond position ({times})"


def relations_found(
    findings: Sequence[RelationFinding], positions: xr.Dataset | None = None
) -> str:
    """What a head finds, with its numbers.

    Parameters
    ----------
    findings
        Of one head; one or more.
    positions
        What :func:`headscope.stats.beyond_position` finds, where it is known.

    Examples
    --------
    >>> det = RelationFinding("3-9", "det", "dependent to head", 1277, 0.899, 0.799, 1.9e-5)
    >>> for part in relations_found([det]).split(" cases "):
    ...     print(part)
    Finds the noun of a determiner (det) in 0.90 of 1,277
    (best fixed offset 0.80, p < 1e-4).
    """
    parts = []
    for one in findings:
        beyond = beyond_words(positions, one.head, f"{one.relation}: {one.direction}")
        parts.append(
            f"{relation_words(one.relation, one.direction)} ({one.relation}) in {one.accuracy:.2f} "
            f"of {count(one.words)} cases (best fixed offset {one.offset:.2f}, {p_words(one.p)}"
            f"{against_rivals(one)}{f'; its attention: {beyond}' if beyond else ''})"
        )
    return f"Finds {listed(parts)}."


def against_rivals(finding: RelationFinding | AntecedentFinding) -> str:
    """How sure it is that a head is the best, after the test against a baseline.

    Examples
    --------
    >>> from dataclasses import replace
    >>> aux = RelationFinding("2-5", "aux", "dependent to head", 70, 0.65, 0.4, 0.01)
    >>> against_rivals(replace(aux, rivals=("3-9",), p_rival=0.34))
    '; no clear difference from 3-9, p = 0.34'
    >>> against_rivals(replace(aux, leads=True, p_rival=0.002)), against_rivals(aux)
    ('; better than the next head, p = 0.002', '')
    """
    if finding.rivals:
        return (
            f"; no clear difference from {rivals_named(finding.rivals)}, {p_words(finding.p_rival)}"
        )
    return f"; better than the next head, {p_words(finding.p_rival)}" if finding.best else ""


def rivals_named(rivals: Sequence[str]) -> str:
    """The first of some heads, and how many more there are.

    >>> rivals_named(["3-9", "4-1"]), rivals_named(["3-9", "4-1", "2-2", "2-3", "2-4"])
    ('3-9 and 4-1', '3-9, 4-1, 2-2 and 2 more')
    """
    more = [f"{len(rivals) - NAMED} more"] if len(rivals) > NAMED else []
    return listed([*rivals[:NAMED], *more])


def antecedents_found(finding: AntecedentFinding) -> str:
    """How often a head finds the antecedent, against each baseline. Begins with a small letter.

    Examples
    --------
    >>> against = {"nearest": (0.38, 1e-9), "rules": (0.74, 1.0)}
    >>> antecedents_found(AntecedentFinding("3-5", 839, 0.769, 0.769, against))
    'finds the antecedent of 0.77 of 839 mentions, more than the nearest mention (0.38, p < 1e-9), \
but not reliably more than the rules (0.74, p = 1.00)'
    """
    beaten, others = list[str](), list[str]()
    for name, (accuracy, p) in finding.baselines.items():
        part = f"{BASELINES.get(name, name)} ({accuracy:.2f}, {p_words(p)})"
        (beaten if p < ALPHA else others).append(part)
    text = f"finds the antecedent of {finding.accuracy:.2f} of {count(finding.mentions)} mentions"
    if beaten:
        text += f", more than {listed(beaten)}"
    if others:
        text += f"{', but' if beaten else ','} not reliably more than {listed(others)}"
    return f"{text}{against_rivals(finding)}"


def disabling_does(finding: DisablingFinding) -> str:
    """What disabling a head does to the score, after "disabling it". Only what the test allows.

    Examples
    --------
    >>> disabling_does(DisablingFinding("3-9", "accuracy", -0.041, -0.062, -0.02, 0.003))
    'costs 4.1 points of accuracy (95 % 2.0 to 6.2, p = 0.003)'
    >>> disabling_does(DisablingFinding("3-9", "loss", 0.0004, -0.001, 0.002, 0.7))
    'changes the loss by no more than chance (-0.0004, 95 % -0.002 to 0.001)'
    """
    points = finding.metric in POINTS
    scale = 100.0 if points else 1.0
    what = POINTS.get(finding.metric) or f"the {metric_title(finding.metric)}"
    gain, low, high = (scale * value for value in (finding.gain, finding.low, finding.high))
    if finding.metric == "loss":  # a gain is a fall
        gain, low, high = -gain, -high, -low
    form = (lambda value: f"{value:.1f}") if points else number
    unit = " points" if points else ""
    if not finding.p < ALPHA:
        return (
            f"changes {what} by no more than chance "
            f"({form(gain)}{unit}, 95 % {form(low)} to {form(high)})"
        )
    ends = sorted((abs(low), abs(high)))
    tail = f"(95 % {form(ends[0])} to {form(ends[1])}, {p_words(finding.p)})"
    if points:
        return f"{'gains' if gain > 0 else 'costs'} {form(abs(gain))} points of {what} {tail}"
    return f"{'raises' if gain > 0 else 'lowers'} {what} by {form(abs(gain))} {tail}"


def probe_score(finding: ProbeFinding) -> str:
    """The score of a probe, with its test.

    Examples
    --------
    >>> probe_score(ProbeFinding("4-2", "Tense", 0.871, 0.5, 1000, 1e-60))
    'Tense (0.87 of 1,000 test examples right; largest class 0.50, p < 1e-60)'
    """
    return (
        f"{finding.task} ({finding.score:.2f} of {count(finding.size)} test examples right; "
        f"largest class {finding.majority:.2f}, {p_words(finding.p)})"
    )


def held_out(score: float) -> str:
    """What was found on other data than the head was chosen on; empty where there is nothing.

    >>> held_out(0.89), held_out(float("nan"))
    ('; held out 0.89', '')
    """
    return "" if np.isnan(score) else f"; held out {score:.2f}"
