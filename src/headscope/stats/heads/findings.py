"""What tests say of single heads, each test computed once for all heads.

Every finding has passed a test that is corrected over all heads, or says that it has not.
:class:`Analysis` holds them all; the sentences in :mod:`headscope.stats.words` are made from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import all_heads
from headscope.labels import CHANGE, STANFORD, label_text
from headscope.results import Atlas
from headscope.results.schema import GRID, VOCABULARY, contents, of_heads
from headscope.stats.grid import Column, by_head, columns_of, grid_heads, labelled_head
from headscope.stats.heads.excess import Excess
from headscope.stats.heads.main_roles import MainRoles, has_main_roles
from headscope.stats.heads.positions import beyond_position, has_positions
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.inference.correction import ALPHA, correct, rivals
from headscope.stats.tables.antecedents import HELD_OUT as APART
from headscope.stats.tables.antecedents import AntecedentAnswers, antecedent_scores
from headscope.stats.tables.change import paired_test
from headscope.stats.tables.probing import above_majority, probing_of, task_titles
from headscope.stats.tables.relations import ALL, HELD_OUT, LEAST, best_heads, relation_tests
from headscope.stats.tables.roles import role_tests

Array = NDArray[Any]
AT_WORK = "at work"
DULL = ("punct", "root", "dep", "p", "ROOT")
"""Relations that say nothing about grammar."""
ON_RANDOM = ("induction", "duplicate", "previous")
"""Scores on random tokens written twice."""
ENDS = ("mean", "low", "high")
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
    findings = []
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
            findings.append(
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
    return sorted(findings, key=lambda finding: -finding.gained)


def _agreed(table: pd.DataFrame | None) -> dict[tuple[str, str, str], float]:
    """The best head of each relation on which both halves agree, with its held-out accuracy."""
    if table is None:
        return {}
    return {
        (str(row["relation"]), str(row["head"]), str(row["direction"])): float(row["held_out"])
        for row in table[table["head"] == table["held_out_head"]].to_dict("records")
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
    data, findings = results["head_off"], []
    sign = 1.0 if data.attrs["better"] == "higher" else -1.0
    names = ("difference", "difference_low", "difference_high", "p_corrected")
    for head, (change, start, end, p) in by_head(data, *names):
        low, high = sorted((sign * start, sign * end))
        if not np.isnan(change):
            metric = str(data.attrs["metric"])
            findings.append(DisablingFinding(head, metric, sign * change, low, high, p))
    return sorted(findings, key=lambda finding: finding.gain)


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
    data, findings = probing_of(results), []
    for name, title in task_titles(results).items():
        mine = data.sel(task=name).transpose("layer", "head", ...)
        validation, p = mine["validation"].values.ravel(), correct(above_majority(mine))
        if np.isnan(validation).all():
            continue
        best = int(np.nanargmax(validation))
        if p[best] < ALPHA:
            head, score = str(grid_heads(mine)[best]), float(mine["test"].values.ravel()[best])
            size = float(mine["majority"]), int(mine["test_size"])
            findings.append(ProbeFinding(head, title, score, *size, float(p[best])))
    return sorted(findings, key=lambda finding: finding.majority - finding.score)


MOVES = {"special": ("rests", {"row": "all"}), "position": ("looks", {})}
"""Measures whose change between two models is said in words: what a head does, and which labels."""


@dataclass(frozen=True)
class ChangeFinding:
    """Where a head of the second of two models looks more or less, by a corrected test.

    Parameters
    ----------
    head
        Which head.
    how
        "now rests" where more than half of its attention must be new, "rests more", "looks less" …
    what
        On or at what.
    change
        The change in its share of attention.
    p
        Corrected over all heads.
    """

    head: str
    how: str
    what: str
    change: float
    p: float


def change_findings(results: Atlas) -> list[ChangeFinding]:
    """The largest change of every head, the largest first; those too small to matter are left out.

    Parameters
    ----------
    results
        Any results; without a comparison of two models there are no findings.
    """
    tokens, largest = token_names(results), dict[str, ChangeFinding]()
    names = {"cls": tokens.get("start", "[CLS]"), "sep": tokens.get("separator", "[SEP]")}
    for measure, (verb, labels) in MOVES.items():
        if (name := f"{measure}{CHANGE}") not in results:
            continue
        data = results[name] if contents(results[name]).tested else paired_test(results[name])
        data = data.sel(labels)
        own = next(str(dim) for dim in data["mean"].dims if dim not in GRID)
        for label in map(str, data[own].values):
            words = label_text(measure, {own: label, **labels}, tokens=names)
            what = words.removeprefix("attention to ")
            for head, (change, p) in by_head(data.sel({own: label}), "mean", "p_corrected"):
                least = abs(largest[head].change) if head in largest else DEFAULT.moved
                if p < DEFAULT.alpha and abs(change) > least:
                    now = verb == "rests" and change >= DEFAULT.half
                    how = f"now {verb}" if now else f"{verb} {'more' if change > 0 else 'less'}"
                    largest[head] = ChangeFinding(head, how, what, change, p)
    return sorted(largest.values(), key=lambda finding: -abs(finding.change))


if TYPE_CHECKING:
    from headscope.stats.words.describe import Description


@dataclass(frozen=True)
class BeyondFinding:
    """What a head does beyond ordinary text.

    Parameters
    ----------
    head
        Which head.
    kind
        On random tokens written twice: "induction", "duplicate" or "previous"; "copying" by its
        weights; "vocabulary", the relation between words that they hold best; "retrieval" from
        long texts.
    mean, low, high
        Its score with the interval; that of weights has none.
    what, of
        The relation in words, and the number of its pairs.
    """

    head: str
    kind: str
    mean: float
    low: float = float("nan")
    high: float = float("nan")
    what: str = field(default="", kw_only=True)
    of: int = field(default=0, kw_only=True)


def beyond_findings(results: Atlas) -> list[BeyondFinding]:
    """What heads do on random tokens, by their weights, and in long texts.

    Parameters
    ----------
    results
        A survey with random tokens written twice; with circuits or retrieval scores, where these
        were added.

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1, 2]}
    >>> cells = {"mean": (("layer", "head"), [[0.9, 0.1]])}
    >>> copying = xr.Dataset(cells, labels, {"kind": "weights"})
    >>> [(one.head, one.kind) for one in beyond_findings(Atlas.build({"copying": copying}, {}))]
    [('1-1', 'copying')]
    """
    facts = list[BeyondFinding]()
    for score in ON_RANDOM if "synthetic" in results else ():
        data = results["synthetic"].sel(score=score)
        every = [BeyondFinding(head, score, *row) for head, row in by_head(data, *ENDS)]
        facts += [fact for fact in every if fact.low > DEFAULT.repeated]
    if "copying" in results:
        rows = by_head(results["copying"], "mean")
        every = [BeyondFinding(head, "copying", mean) for head, (mean,) in rows]
        facts += [fact for fact in every if fact.mean >= DEFAULT.copies]
    if VOCABULARY in results:
        facts += _relations_in_weights(results[VOCABULARY])
    if "retrieval" in results:
        rows = by_head(results["retrieval"], *ENDS)
        every = [BeyondFinding(head, "retrieval", *row) for head, row in rows]
        facts += [fact for fact in every if fact.mean >= DEFAULT.retrieves and fact.low > 0]
    return facts


def _relations_in_weights(data: xr.Dataset) -> list[BeyondFinding]:
    """The relation that the weights of each head hold best, where they hold one."""
    shares = data["mean"].stack(label=("relation", "embedding")).transpose(*GRID, "label")
    facts = []
    rows = shares.values.reshape(-1, shares.sizes["label"])
    for head, row in zip(grid_heads(data), rows, strict=True):
        best = int(np.nan_to_num(row).argmax())
        if row[best] >= DEFAULT.maps:
            relation, embedding = shares["label"].values[best]
            labels = {"relation": relation, "embedding": embedding}
            what = label_text(VOCABULARY, labels, data.attrs)
            of = int(data["pairs"].sel(relation=relation))
            facts.append(BeyondFinding(str(head), VOCABULARY, float(row[best]), what=what, of=of))
    return facts


def retrieving_heads(results: Atlas) -> list[str]:
    """The heads with a retrieval score of 0.1 or more, and an interval above 0, best first."""
    findings = (finding for finding in beyond_findings(results) if finding.kind == "retrieval")
    return [finding.head for finding in sorted(findings, key=lambda finding: -finding.mean)]


def sink_words(results: Atlas) -> dict[str, str]:
    """What the kinds of sinks in ``activity`` are called, as the model names its own tokens.

    Parameters
    ----------
    results
        Results with the measure ``activity``.
    """
    tokens, activity = token_names(results), results["activity"]
    kinds = activity["where"].values
    start = "start" in kinds and bool((activity["mean"].sel(where="start") > 0).any())
    return {
        "start": tokens.get("start", "the start token"),
        "separator": tokens.get("separator", "separators"),
        "stops": "full stops and commas",
        "other": "other special tokens" if start else "the first token",
    }


def token_names(results: Atlas) -> dict[str, str]:
    """What the model calls its start token and its separator; empty where results do not say.

    Results of two models with different tokens do not say.
    """
    names = results.provenance.get("model", {}).get("tokens", {})
    return dict(names) if isinstance(names, dict) else {}


@dataclass(frozen=True)
class Analysis:
    """The tests of all heads; each is run when it is first asked for, and then kept.

    Parameters
    ----------
    results
        Any results. What they do not have is empty here.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=8)
    >>> analysis = Analysis(atlas)
    >>> analysis.roles.loc["1-3", "role"]
    'previous'
    """

    results: Atlas

    @cached_property
    def heads(self) -> list[str]:
        """The names of all heads, in the order of the model."""
        if self.main is not None:
            return [str(labelled_head(*place)) for place in self.main.whole.places]
        layers = [number - 1 for number in self.results.layers]
        named = [str(head) for head in all_heads(layers, self.results.shape[1])]
        if not named:  # the provenance does not say: those of the first measure that has any
            measured = (self.results[name] for name in self.results)
            data = next((data for data in measured if of_heads(data)), None)
            named = [] if data is None else [str(head) for head in grid_heads(data)]
        return named

    @cached_property
    def descriptions(self) -> dict[str, Description]:
        """What every head does, in words."""
        from headscope.stats.words.describe import describe_all

        return describe_all(self)

    @cached_property
    def main(self) -> MainRoles | None:
        """Main roles; None where a measure is missing."""
        if not has_main_roles(self.results):
            return None
        return MainRoles.of(self.results, tests=self.relation_tests)

    @property
    def excess(self) -> Excess | None:
        """The excess of every head at every role."""
        return None if self.main is None else self.main.whole

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The table of main roles, by head; empty where a measure is missing."""
        if self.main is None:
            return pd.DataFrame(columns=["head", "role", "family"]).set_index("head")
        return self.main.table().set_index("head")

    @cached_property
    def resting(self) -> dict[str, dict[str, float]]:
        """By head: the active share, and the share on each kind of sink by its name."""
        if "activity" not in self.results:
            return {}
        names = sink_words(self.results)
        data = self.results["activity"]["mean"].to_dataset("where")
        kinds = [str(kind) for kind in data]
        return {
            head: {names.get(kind, kind): share for kind, share in zip(kinds, row, strict=True)}
            for head, row in by_head(data, *kinds)
        }

    @cached_property
    def columns(self) -> list[Column]:
        """Every statistic of single heads."""
        return columns_of(self.results)

    @cached_property
    def sieves(self) -> xr.Dataset | None:
        """Tests of sieve bias (Pande et al. 2021), corrected by Holm's method."""
        if "role" not in self.results:
            return None
        return role_tests(self.results)

    @cached_property
    def positions(self) -> xr.Dataset | None:
        """What every head gives every relation, and each family of main roles, against what its
        positions alone would give (Holm over each of the two).
        """
        if not has_positions(self.results):
            return None
        both = [beyond_position(self.results, of) for of in ("families", "relations")]
        return xr.concat(both, "role", join="outer")

    @cached_property
    def relation_tests(self) -> xr.Dataset | None:
        """Tests of every head at every relation, corrected by Holm's method."""
        return relation_tests(self.results) if "dependency" in self.results else None

    @cached_property
    def relations(self) -> list[RelationFinding]:
        """Heads that find a relation better than the best fixed offset."""
        tests = self.relation_tests
        if tests is None:
            return []
        return relation_findings(self.results["dependency"], tests, self.best_heads)

    @cached_property
    def best_heads(self) -> pd.DataFrame | None:
        """The best head of each relation; None where no relation has enough words."""
        tests = self.relation_tests
        if tests is None or int(tests["n"].max()) < LEAST:
            return None
        if HELD_OUT not in self.results["dependency"]["words"].values:
            return None
        return best_heads(self.results, tests=tests, least=LEAST)

    @cached_property
    def antecedents(self) -> AntecedentFinding | None:
        """The best head at antecedents."""
        scores = self.antecedent_scores
        if scores is None:
            return None
        return antecedent_finding(scores, self.results["coreference"])

    @cached_property
    def antecedent_scores(self) -> pd.DataFrame | None:
        """Baselines and the best head at antecedents, by kind of mention."""
        return antecedent_scores(self.results) if "coreference" in self.results else None

    @cached_property
    def beyond(self) -> dict[str, list[BeyondFinding]]:
        """What heads do beyond ordinary text, by head."""
        findings: dict[str, list[BeyondFinding]] = {}
        for finding in beyond_findings(self.results):
            findings.setdefault(finding.head, []).append(finding)
        return findings

    @cached_property
    def silent(self) -> dict[str, float]:
        """Heads that write almost nothing: the norm of their output over their layer's mean."""
        rows = by_head(self.results["output_norm"], *ENDS) if "output_norm" in self.results else []
        return {head: mean for head, (mean, _, high) in rows if max(mean, high) < DEFAULT.writes}

    @cached_property
    def disabling(self) -> list[DisablingFinding]:
        """What disabling each head does."""
        return disabling_findings(self.results)

    @cached_property
    def changes(self) -> list[ChangeFinding]:
        """Where heads of the second of two models look more or less."""
        return change_findings(self.results)

    @cached_property
    def probes(self) -> list[ProbeFinding]:
        """The best head of every task."""
        return probe_findings(self.results)
