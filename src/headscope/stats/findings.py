"""What tests say of single heads: relations, antecedents, disabling, probes. For sentences.

Everything here has passed a test that is corrected over all heads, or says that it has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import STANFORD
from headscope.results import Atlas
from headscope.stats.antecedents import HELD_OUT as APART
from headscope.stats.antecedents import AntecedentAnswers
from headscope.stats.grid import grid_heads
from headscope.stats.paired import rivals
from headscope.stats.probing import probing_of, task_titles
from headscope.stats.relation_words import DULL
from headscope.stats.relations import ALL, LEAST
from headscope.stats.tests import binomial_tail, correct

Array = NDArray[Any]
ALPHA = 0.05
OVER = "p over "
"""How the columns begin that test a head against a baseline."""


@dataclass(frozen=True)
class Contest:
    """Which of several heads is right most often, and which the test cannot tell from it.

    Parameters
    ----------
    leaders
        That head first, then those that paired tests over documents do not tell from it, by their
        accuracy. Only one is the best.
    p
        By leader: p of the test against the first one; of the first one, that of the runner-up, or
        of the first that cannot be told from it.
    """

    leaders: tuple[str, ...]
    p: dict[str, float]

    @classmethod
    def of(cls, right: Array, count: Array, heads: Sequence[str]) -> Contest:
        """Compare the head that is right most often with every other one.

        Parameters
        ----------
        right, count
            Right answers, and all answers, by bucket of documents and head.
        heads
            Their names.
        """
        best, p = rivals(right, count.max(1))
        order = np.argsort(-right.sum(0), kind="stable")
        others = [place for place in order if place != best]
        tied = [place for place in others if p[place] >= ALPHA]
        first = (tied or others)[:1]
        chances = {heads[best]: float(p[first[0]]) if first else float("nan")}
        chances |= {heads[place]: float(p[place]) for place in tied}
        return cls(tuple(chances), chances)

    def rivals(self, head: str) -> tuple[str, ...]:
        """The other leaders; none if the head is not one of them."""
        others = tuple(name for name in self.leaders if name != head)
        return others if head in self.leaders else ()


@dataclass(frozen=True)
class RelationFinding:
    """A head that finds a relation more often than the best fixed offset, by a corrected test.

    Parameters
    ----------
    head, relation, direction
        Which head, and what it finds.
    words, accuracy, offset, p
        How many words have the relation, the share at which the head and the best fixed offset are
        right, and the corrected p of the difference.
    leads
        Whether it is right more often than any other head, and both halves of the corpus choose it.
    held_out
        What the head that was chosen on the other half of the corpus has; NaN where the halves
        chose other heads.
    rivals
        Where no head is the best, and the test does not tell this one from the head that is right
        most often: all heads of which that holds, that head first, without this one.
    p_rival
        p of this test: of the best head against the runner-up, else against the first rival.
    """

    head: str
    relation: str
    direction: str
    words: int
    accuracy: float
    offset: float
    p: float
    leads: bool = False
    held_out: float = float("nan")
    rivals: tuple[str, ...] = ()
    p_rival: float = float("nan")

    @property
    def best(self) -> bool:
        """Whether it leads, and the test tells it from every other head."""
        return self.leads and not self.rivals and self.p_rival < ALPHA

    @property
    def among(self) -> bool:
        """Whether it is the best, or cannot be told from the head that is right most often."""
        return self.best or bool(self.rivals)

    @property
    def gained(self) -> float:
        """How many more words the head finds than the offset."""
        return self.words * (self.accuracy - self.offset)


def relation_findings(
    data: xr.Dataset, tests: xr.Dataset, best: pd.DataFrame | None
) -> list[RelationFinding]:
    """All heads and relations that pass the test, those with the most words gained first.

    Groups of relations, punctuation and relations of fewer than 20 words are left out.

    Parameters
    ----------
    data
        The measure ``dependency`` of some results.
    tests
        What :func:`headscope.stats.relation_tests` says of them.
    best
        What :func:`headscope.stats.best_heads` says of them, where it can.
    """
    answers = data[["sum", "count"]].sel(words="every")
    answers = answers.transpose("relation", "direction", "bucket", "layer", "head")
    tests = tests.transpose("layer", "head", "relation", "direction")
    heads = [str(head) for head in grid_heads(tests)]
    agreed = _agreed(best)
    columns = {
        name: tests[name].broadcast_like(tests["p"]).transpose(*tests["p"].dims).values
        for name in ("accuracy", "baseline", "n", "p_corrected")
    }
    directions = [str(name) for name in tests["direction"].values]
    found = []
    for at, relation in enumerate(map(str, tests["relation"].values)):
        if relation.startswith(ALL) or relation in DULL or relation.endswith(STANFORD):
            continue
        mine = {name: values[:, :, at].reshape(len(heads), -1) for name, values in columns.items()}
        passed = (mine["p_corrected"] < ALPHA) & (mine["n"] >= LEAST)
        contests: dict[int, Contest] = {}
        for place in np.flatnonzero(passed.any(1)):
            way = int(np.argmax(np.where(passed[place], mine["accuracy"][place], -1.0)))
            if way not in contests:
                here = answers.sel(relation=relation, direction=directions[way])
                right, count = (here[name].values.reshape(-1, len(heads)) for name in here)
                contests[way] = Contest.of(right, count, heads)
            contest, chosen = contests[way], agreed.get((relation, heads[place], directions[way]))
            found.append(
                RelationFinding(
                    heads[place],
                    relation,
                    directions[way],
                    int(mine["n"][place, way]),
                    float(mine["accuracy"][place, way]),
                    float(mine["baseline"][place, way]),
                    float(mine["p_corrected"][place, way]),
                    chosen is not None,
                    float("nan") if chosen is None else chosen,
                    contest.rivals(heads[place]),
                    contest.p.get(heads[place], float("nan")),
                )
            )
    return sorted(found, key=lambda one: -one.gained)


def _agreed(table: pd.DataFrame | None) -> dict[tuple[str, str, str], float]:
    """The best head of each relation on which both halves agree, with its held-out accuracy."""
    if table is None:
        return {}
    agreed = table[table["head"] == table["held_out_head"]]
    return {
        (str(row["relation"]), str(row["head"]), str(row["direction"])): float(row["held_out"])
        for row in agreed.to_dict("records")
    }


@dataclass(frozen=True)
class AntecedentFinding:
    """The best head at antecedents, on which both halves of the corpus agree.

    Parameters
    ----------
    head, mentions, accuracy, held_out
        Which head, how many mentions there are, and the share it has right: on the mentions it was
        chosen on, and on others.
    baselines
        Each baseline's accuracy, and the corrected p of "the head is no better".
    rivals, p_rival
        The heads that the test does not tell from it, and p, as for :class:`RelationFinding`.
    """

    head: str
    mentions: int
    accuracy: float
    held_out: float
    baselines: dict[str, tuple[float, float]]
    rivals: tuple[str, ...] = ()
    p_rival: float = float("nan")

    @property
    def best(self) -> bool:
        """Whether the test tells it from every other head."""
        return not self.rivals and self.p_rival < ALPHA

    @property
    def beaten(self) -> list[str]:
        """The baselines that the head beats."""
        return [name for name, (_, p) in self.baselines.items() if p < ALPHA]

    @property
    def beats_all(self) -> bool:
        """Whether it beats every baseline."""
        return len(self.beaten) == len(self.baselines)


def antecedent_finding(
    scores: pd.DataFrame, data: xr.Dataset | None = None
) -> AntecedentFinding | None:
    """The best head at antecedents; None where there is none that beats a baseline.

    Parameters
    ----------
    scores
        What :func:`headscope.stats.antecedent_scores` says of some results.
    data
        Their measure ``coreference``, to compare the head with the others.
    """
    every = {str(row["system"]): row for row in scores[scores["kind"] == "all"].to_dict("records")}
    heads = [name for name in every if name.startswith("head ")]
    if not heads or f"{APART}{heads[0]}" not in every:
        return None
    row = every[heads[0]]
    finding = AntecedentFinding(
        heads[0].removeprefix("head "),
        int(row["mentions"]),
        float(row["accuracy"]),
        float(every[f"{APART}{heads[0]}"]["accuracy"]),
        {
            name.removeprefix(OVER): (
                float(every[name.removeprefix(OVER)]["accuracy"]),
                float(row[name]),
            )
            for name in map(str, row)
            if name.startswith(OVER)
        },
    )
    if finding.mentions < LEAST or not finding.beaten:
        return None
    if data is None:
        return finding
    answers = AntecedentAnswers(data.sel(candidates="mentions"))
    right, count = answers.by_bucket()
    contest = Contest.of(right, count, [answers.name(place) for place in range(right.shape[1])])
    return replace(
        finding,
        rivals=contest.rivals(finding.head),
        p_rival=contest.p.get(finding.head, float("nan")),
    )


@dataclass(frozen=True)
class DisablingFinding:
    """What disabling a head does to a score.

    Parameters
    ----------
    head, metric
        Which head, and what is scored.
    gain, low, high
        The change with its interval, positive where the score gets better.
    p
        Corrected over all heads.
    """

    head: str
    metric: str
    gain: float
    low: float
    high: float
    p: float


def disabling_findings(results: Atlas) -> list[DisablingFinding]:
    """What disabling each head does, the largest loss first; nothing where no head was disabled.

    Parameters
    ----------
    results
        Any results; scores with single heads off are in ``head_off``.
    """
    if "head_off" not in results or "p_corrected" not in results["head_off"]:
        return []
    data = results["head_off"].transpose("layer", "head", ...)
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    names = ("difference", "difference_low", "difference_high", "p_corrected")
    columns = zip(*(data[name].values.ravel() for name in names), strict=True)
    metric, found = str(data.attrs["metric"]), []
    for head, (change, one, other, p) in zip(grid_heads(data), columns, strict=True):
        low, high = sorted((sign * one, sign * other))
        if not np.isnan(change):
            found.append(DisablingFinding(str(head), metric, sign * change, low, high, p))
    return sorted(found, key=lambda one: one.gain)


@dataclass(frozen=True)
class ProbeFinding:
    """The head whose probe has the best validation score of a task, by its score on test data.

    Parameters
    ----------
    head, task
        Which head, and the task's title.
    score, majority, size
        Accuracy on the test data, the share of its largest class, and how many examples it has.
    p
        Exact binomial test against the largest class, corrected (Holm) over all heads.
    """

    head: str
    task: str
    score: float
    majority: float
    size: int
    p: float


def probe_findings(results: Atlas) -> list[ProbeFinding]:
    """The best head of every task with classes that beats the largest class, best gain first.

    Parameters
    ----------
    results
        Any results; without ``probe`` there are no findings.
    """
    if "probe" not in results:
        return []
    data, found = probing_of(results), []
    for name, title in task_titles(results).items():
        mine = data.sel(task=name).transpose("layer", "head", ...)
        majority, size = float(mine["majority"]), int(np.nan_to_num(mine["test_size"]))
        validation = mine["validation"].values.ravel()
        if not np.isfinite(majority) or size < 1 or np.isnan(validation).all():
            continue
        scores = mine["test"].values.ravel()
        right = np.round(np.nan_to_num(scores) * size)
        p = correct(np.where(np.isnan(scores), np.nan, binomial_tail(right, size, majority)))
        place = int(np.nanargmax(validation))
        if p[place] < ALPHA:
            head, score = str(grid_heads(mine)[place]), float(scores[place])
            found.append(ProbeFinding(head, title, score, majority, size, float(p[place])))
    return sorted(found, key=lambda one: one.majority - one.score)
