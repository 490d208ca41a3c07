"""What a head does, in one sentence, and the evidence for it: never more than the tests allow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from headscope.labels import CHANGE, label_text
from headscope.measures.roles import BROADLY, RESTS, ROLES
from headscope.numbers import number
from headscope.results import Atlas
from headscope.results.schema import GRID
from headscope.stats.grid import by_head, grid_heads
from headscope.stats.heads.excess import CONTAINS, DIRECTION, FAMILIES, RANK, SPECIAL, Excess
from headscope.stats.heads.findings import (
    AT_WORK,
    ON_RANDOM,
    Analysis,
    AntecedentFinding,
    BeyondFinding,
    DisablingFinding,
    RelationFinding,
)
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.words.formatter import (
    capital,
    fill,
    in_percent,
    listed,
    relation_words,
    role_name,
    say,
    small,
    table,
    with_interval,
)
from headscope.tasks.metrics import metric_title

SHOWN = 2
"""How many relations, probes and kinds of sinks a sentence names."""
NAMED = 3
"""How many heads are named that cannot be told from another."""
SOME = 0.03
"""Smaller shares at rest are not named."""
SURVEYED = ("position", "special", "entropy", "role", "activity", "dependency", "coreference")
"""Measures by which a survey is known."""
LEADS = ("specific role", "induction", "role", "random tokens", "tendency")
"""What a description may begin with; the first of these that a head has leads. Roles are those on
ordinary and on long texts with at least half of the attention; specific are those that name a head
however little of its attention is active. The others are surely over one half of the attention on
random tokens that are written twice."""
FACTS = ("random tokens", "share", "even", "change", "sieve", "sink")
"""What is said of heads without main roles, in the order in which it is said."""
SINKS = ("cls", "sep", "delimiter", "first token")
"""Roles of resting: they come after others."""


@dataclass(frozen=True)
class Description:
    """What a head does, in words.

    Parameters
    ----------
    head
        Its name, such as "3-9".
    lead
        One sentence that says what the head does.
    evidence
        The numbers behind it, with intervals and corrected tests; may be empty.
    family
        The family of its main role; "broad", "no clear role" or "rests"; "" where the results have
        no main roles.
    second
        The family of a second role, or ""; see :func:`headscope.stats.main_roles`.
    borderline
        Whether the main role often changes when documents are drawn anew.
    """

    head: str
    lead: str
    evidence: str
    family: str = ""
    second: str = ""
    borderline: bool = False

    def __str__(self) -> str:
        return f"{self.lead}\n{self.evidence}" if self.evidence else self.lead


def descriptions(atlas: Atlas) -> dict[str, Description]:
    """Describe every head.

    Parameters
    ----------
    atlas
        Any results. With the default measures of a survey, sentences are about main roles; with
        less, about the strongest statements that can be tested.

    Returns
    -------
    dict of str to Description
        By the head's name, in the order of the model.

    See Also
    --------
    headscope.stats.main_roles : the table behind it.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=6)
    >>> descriptions(atlas)["1-3"].lead
    'Previous-token head: more than 99 % of its active attention is on the token before.'
    """
    return atlas.analysis.descriptions


def describe_all(analysis: Analysis) -> dict[str, Description]:
    """Describe every head, from one analysis; see :func:`descriptions`."""
    excess = analysis.excess
    described = _without_roles(analysis) if excess is None else _with_roles(analysis, excess)
    for head, norm in analysis.silent.items():
        lead = say("lead.silent", lead=described[head].lead.removesuffix("."), norm=norm)
        described[head] = replace(described[head], lead=lead)
    return described


def _with_roles(analysis: Analysis, excess: Excess) -> dict[str, Description]:
    described = {}
    for place, (name, row) in enumerate(analysis.roles.iterrows()):
        head = str(name)
        kind, lead = _ordinary(analysis, excess, place)
        evidence = [*role_evidence(analysis, excess, place), *findings_of(analysis, head)]
        random = _on_random(analysis, head)
        if random is not None and LEADS.index(_kind(random)) < LEADS.index(kind):
            where = "long texts" if row["role"] == "retrieval" else "ordinary"
            evidence.remove(say(f"beyond.{random.kind}", **vars(random)))
            evidence.insert(0, say(f"lead.{where}", lead=small(lead)))
            lead = say(f"lead.{random.kind}", **vars(random))
        described[head] = Description(
            head,
            lead,
            " ".join(evidence),
            str(row["family"]),
            FAMILIES.get(str(row["second"]), ""),
            bool(row["borderline"]),
        )
    return described


def _on_random(analysis: Analysis, head: str) -> BeyondFinding | None:
    """What a head surely does with most of its attention on random tokens."""
    sure = [
        finding
        for finding in analysis.beyond.get(head, ())
        if finding.kind in ON_RANDOM and finding.low > DEFAULT.half
    ]
    return min(sure, key=lambda finding: (LEADS.index(_kind(finding)), -finding.mean), default=None)


def _kind(finding: BeyondFinding) -> str:
    return "induction" if finding.kind == "induction" else "random tokens"


def _ordinary(analysis: Analysis, excess: Excess, place: int) -> tuple[str, str]:
    """What a head does on ordinary and on long texts: the kind of lead (see ``LEADS``), and one
    sentence.
    """
    kind = "tendency"
    row = analysis.roles.iloc[place]
    head, role, second = str(row.name), str(row["role"]), str(row["second"])
    best = _best_at(analysis, head)
    if role == RESTS:
        sinks = resting_on(analysis, head) or ["sinks"]
        text, more = say("lead.rests", sinks=sinks, active=analysis.resting[head][AT_WORK]), ""
    elif role not in FAMILIES:
        text = say(f"lead.{role if role == BROADLY or excess.tested else 'untested'}")
        more = f", but {'the ' if best.startswith('best') else ''}{best}" if best else ""
    else:
        words, share = ROLES[role].words, excess.share[place, excess.names.index(role)]
        if share >= excess.thresholds.half:
            kind = "specific role" if RANK[role] <= SPECIAL else "role"
        random = _on_random(analysis, head)
        both = role == "retrieval" and random is not None and random.kind == "induction"
        text = say("lead.both") if both else words.does
        brief = fill(words.brief, share=in_percent(share))
        if share < excess.thresholds.half:
            leans = [ROLES[name].words.leans for name in (role, second) if name]
            text = say("lead.leans", leans=leans)
        elif second:
            text = say("lead.two", first=words.looks, second=ROLES[second].words.looks)
        more = f"; {best}" if best else "" if second else f": {brief}"
    if not row["borderline"]:
        return kind, f"{text}{more}."
    if not text.startswith("No "):
        text = f"Mostly {_mostly(text)}"
    return kind, f"{say('lead.hedge', text=text)}."


def _mostly(text: str) -> str:
    """What a head does, after "Mostly".

    >>> _mostly("Induction head"), _mostly("Looks one or two tokens away")
    ('an induction head', 'looks one or two tokens away')
    """
    article = "an" if text[0] in "AEIOU" else "a"
    return f"{article} {text.lower()}" if text.endswith(" head") else small(text)


def _best_at(analysis: Analysis, head: str) -> str:
    """At which relations a head is the best of all, or one of those; empty if at none."""
    named = [
        (relation_words(finding.relation, finding.direction), finding.rivals)
        for finding in shown_relations(analysis, head)
        if finding.among
    ]
    antecedents = analysis.antecedents
    if antecedents is not None and antecedents.head == head and antecedents.beats_all:
        # Both halves of the corpus choose it, or there would be no such finding.
        named.append((say("finding.antecedent"), antecedents.rivals))
    best, among = list[str](), dict[tuple[str, ...], list[str]]()
    for words, rivals in named:
        (among.setdefault(rivals, []) if rivals else best).append(words)
    sentences = [say("lead.best", of=len(analysis.heads), names=best)] if best else []
    for rivals, words_ in among.items():
        sentences.append(say("lead.among", names=words_, rivals=rivals_named(rivals)))
    return ", and ".join(sentences)


def rivals_named(rivals: Sequence[str]) -> str:
    """The first of some heads, and how many more there are.

    >>> rivals_named(["3-9", "4-1"]), rivals_named(["3-9", "4-1", "2-2", "2-3", "2-4"])
    ('3-9 and 4-1', '3-9, 4-1, 2-2 and 2 more')
    """
    more = [f"{len(rivals) - NAMED} more"] if len(rivals) > NAMED else []
    return listed([*rivals[:NAMED], *more])


def role_evidence(analysis: Analysis, excess: Excess, place: int) -> list[str]:
    """Where a head's attention goes, against chance.

    Parameters
    ----------
    analysis
        The tests of all heads.
    excess
        The excess of every head at every role.
    place
        Which head.
    """
    row = analysis.roles.iloc[place]
    role, evidence = str(row["role"]), _at_work(analysis, str(row.name), rests=row["role"] == RESTS)
    if role == BROADLY:
        evidence.append(say("evidence.spread", spread=float(row["spread"])))
    elif role in FAMILIES:
        named = [role, *filter(None, [str(row["second"])])]
        # What is said of heads beyond text has the retrieval score.
        shares = [_share(analysis, excess, place, name) for name in named if name != "retrieval"]
        evidence += [f"{capital(share)}." for share in shares]
        if further := _further(excess, place, named):
            evidence.append(say("evidence.also", share=_share(analysis, excess, place, further)))
    elif role != RESTS and excess.tested:
        evidence.append(_tendency(analysis, excess, place))
    if row["borderline"]:
        names = {"role": role_name(role), "instead": role_name(str(row["instead"]))}
        evidence.append(say("evidence.redrawn", stability=float(row["stability"]), **names))
    return evidence


def _at_work(analysis: Analysis, head: str, *, rests: bool) -> list[str]:
    """How much attention is active, and where the rest is."""
    shares, first = analysis.resting[head], " of its attention is on" if rests else " rests on"
    parts = [
        f"{in_percent(shares[name])}{' on' if at else first} {name}"
        for at, name in enumerate(resting_on(analysis, head))
    ]
    if rests:  # the lead has said how little is active
        return [f"{capital(', '.join(parts))}."] if parts else []
    work = say("evidence.active", active=shares[AT_WORK])
    return [f"{capital('; '.join(filter(None, [work, ', '.join(parts)])))}."]


def resting_on(analysis: Analysis, head: str) -> list[str]:
    """The sinks on which a head rests most, by what they are called: one or two, if any."""
    shares = {name: share for name, share in analysis.resting[head].items() if name != AT_WORK}
    ranked = sorted(shares, key=lambda name: -np.nan_to_num(shares[name]))
    return [name for name in ranked if shares[name] >= SOME][:SHOWN]


def _share(analysis: Analysis, excess: Excess, place: int, role: str) -> str:
    """The share of the active attention on a role's tokens, against chance and, along
    arcs, against the head's positions.
    """
    at, parts = excess.names.index(role), (excess.share, excess.share_low, excess.share_high)
    share, low, high = (float(part[place, at]) for part in parts)
    text = fill(ROLES[role].words.share, share=with_interval((share, low, high)))
    if not np.isnan(even := float(excess.even[place, at])):
        text = say("evidence.even", share=text, even=even)
    beyond = beyond_words(analysis.positions, analysis.heads[place], role)
    return say("evidence.beyond", share=text, beyond=beyond) if beyond else text


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
    layer, place = map(int, head.split("-"))
    mine = positions.sel(layer=layer, head=place, role=role)
    if np.isnan(mine["p_corrected"]):
        return ""
    return say(f"finding.{'times' if mine['beats'] else 'by position'}", times=float(mine["times"]))


def _further(excess: Excess, place: int, named: list[str]) -> str:
    """The strongest other role that a head has, unless it contains one that was named."""
    own = {*named, *(inside for name in named for inside in CONTAINS.get(name, ()))}
    own |= {general for general, inside in CONTAINS.items() if set(named) & set(inside)}
    others = [
        (float(excess.value[place, at]), name)
        for at, name in enumerate(excess.names)
        if excess.counts[place, at] and name not in own
    ]
    return max(others, default=(0.0, ""))[1]


def _tendency(analysis: Analysis, excess: Excess, place: int) -> str:
    """The strongest excess of a head without a role, arcs left out, and why it does not count."""
    ranked = [
        (float(np.nan_to_num(excess.value[place, at], nan=-1.0)), name)
        for at, name in enumerate(excess.names)
        if name not in DIRECTION and excess.beyond[place, at] > 0
    ]
    value, role = max(ranked, default=(0.0, ""))
    least = excess.thresholds.least
    if value < least / 2:
        return say("evidence.nothing")
    at = excess.names.index(role)
    p, half = float(excess.p[place, at]), float(excess.half[place, at])
    why = "untested" if np.isnan(p) else "unconfirmed" if p >= DEFAULT.alpha else "short"
    ends = [100 * end for end in (value, value - half, value + half)]
    # With so many decimals that the lower end is not rounded up to what would count.
    digits = next((digits for digits in range(3) if round(ends[1], digits) < 100 * least), 3)
    points, low, high = (f"{end:.{digits}f}" for end in ends)
    share = _share(analysis, excess, place, role)
    return say(
        f"evidence.{why}", share=share, p=p, points=points, low=low, high=high, least=100 * least
    )


def findings_of(analysis: Analysis, head: str) -> list[str]:
    """What else tests say of a head: relations, antecedents, disabling, probes, and what it does
    beyond ordinary text.

    Parameters
    ----------
    analysis
        The tests of all heads.
    head
        The name of the head.
    """
    sentences = []
    if relations := shown_relations(analysis, head):
        named = [relation_found(fact, analysis.positions) for fact in relations]
        sentences.append(say("finding.relations", relations=named))
    antecedents = analysis.antecedents
    if antecedents is not None and antecedents.head == head:
        sentences.append(f"{capital(antecedents_found(antecedents))}.")
    for fact in analysis.disabling:
        if fact.head == head:
            sentences.append(say("finding.disabling", does=disabling_does(fact)))
    probes = [say("finding.probe", **vars(fact)) for fact in analysis.probes if fact.head == head]
    if probes:
        sentences.append(say("finding.probes", probes=probes[:SHOWN]))
    beyond = [say(f"beyond.{fact.kind}", **vars(fact)) for fact in analysis.beyond.get(head, ())]
    return [*sentences, *beyond]


def shown_relations(analysis: Analysis, head: str) -> list[RelationFinding]:
    """The relations that are named with a head: those at which it is the best, or else among the
    best, or else others.
    """
    mine = [fact for fact in analysis.relations if fact.head == head]
    best, among = ([fact for fact in mine if getattr(fact, name)] for name in ("best", "among"))
    return (best or among or mine)[:SHOWN]


def relation_found(finding: RelationFinding, positions: xr.Dataset | None = None) -> str:
    """What a head finds, with its numbers.

    Examples
    --------
    >>> det = RelationFinding("3-9", "det", "dependent to head", 1277, 0.899, 0.799, 1.9e-5)
    >>> relation_found(det).split(" cases ")[1]
    '(a fixed-distance rule: 80 %; p < 1e-4)'
    """
    beyond = beyond_words(positions, finding.head, f"{finding.relation}: {finding.direction}")
    own = {
        "what": relation_words(finding.relation, finding.direction),
        "rivals": against_rivals(finding),
        "beyond": say("finding.its attention", beyond=beyond) if beyond else "",
    }
    return say("finding.relation", **vars(finding) | own)


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
        return say("finding.tied", rivals=rivals_named(finding.rivals), p=finding.p_rival)
    return say("finding.ahead", p=finding.p_rival) if finding.best else ""


def antecedents_found(finding: AntecedentFinding) -> str:
    """How often a head finds the antecedent, against each baseline. Begins with a small letter.

    Examples
    --------
    >>> against = {"nearest": (0.38, 1e-9), "rules": (0.74, 1.0)}
    >>> antecedents_found(AntecedentFinding("3-5", 839, 0.769, 0.769, against))
    'finds the antecedent of 77 % of 839 mentions, more than the nearest mention (38 %, p < 1e-9), \
but not reliably more than the rules (74 %, p = 1.00)'
    """
    names: dict[bool, list[str]] = {True: [], False: []}
    for name, (accuracy, p) in finding.baselines.items():
        own = table()["baseline"].get(name, name)
        names[p < DEFAULT.alpha].append(say("finding.baseline", name=own, accuracy=accuracy, p=p))
    beaten, others = names[True], names[False]
    return say(
        "finding.antecedents",
        accuracy=finding.accuracy,
        mentions=finding.mentions,
        beaten=say("finding.more", names=beaten) if beaten else "",
        others=say(f"finding.{'but not' if beaten else 'not'}", names=others) if others else "",
        rivals=against_rivals(finding),
    )


def disabling_does(finding: DisablingFinding) -> str:
    """What disabling a head does to the score, after "disabling it". Only what the test allows.

    Examples
    --------
    >>> disabling_does(DisablingFinding("3-9", "accuracy", -0.041, -0.062, -0.02, 0.003))
    'costs 4.1 points of accuracy (95 % interval 2.0 to 6.2, p = 0.003)'
    >>> disabling_does(DisablingFinding("3-9", "loss", 0.0004, -0.001, 0.002, 0.7))
    'changes the loss by no more than chance (-0.0004, 95 % interval -0.002 to 0.001)'
    """
    what = table()["metric"].get(finding.metric)
    scale, form = (100.0, "{:.1f}".format) if what else (1.0, number)
    gain, low, high = (scale * value for value in (finding.gain, finding.low, finding.high))
    if finding.metric == "loss":  # a gain is a fall
        gain, low, high = -gain, -high, -low
    what, unit = what or say("disabling.loss", metric=metric_title(finding.metric)), ""
    if scale == 100.0:
        unit = " points"
    if not finding.p < DEFAULT.alpha:
        ends = {"low": form(low), "high": form(high)}
        return say("disabling.chance", what=what, gain=form(gain), unit=unit, **ends)
    near, far = (form(end) for end in sorted((abs(low), abs(high))))
    places = {"gains": gain > 0, "size": form(abs(gain)), "low": near, "high": far}
    return say(f"disabling.{'points' if unit else 'value'}", what=what, p=finding.p, **places)


def held_out(score: float) -> str:
    """What was found on other data than the head was chosen on; empty where there is nothing.

    >>> held_out(0.89), held_out(float("nan"))
    ('; held-out 89 %', '')
    """
    return "" if np.isnan(score) else say("finding.held out", held_out=score)


def _without_roles(analysis: Analysis) -> dict[str, Description]:
    """Where there are no main roles: the strongest statements that can be tested."""
    facts: dict[str, list[tuple[int, float, str]]] = {}
    for head, kind, effect, text in _facts(analysis):
        facts.setdefault(head, []).append((FACTS.index(kind), -effect, text))
    crossed = analysis.results.provenance.get("model", {}).get("stack") == "cross"
    surveyed = not crossed and any(name in analysis.results for name in SURVEYED)
    described = {}
    for head in analysis.heads:
        ranked = sorted(facts.get(head, ()), key=lambda fact: fact[:2])
        said = [*(text for *_, text in ranked[:SHOWN]), *findings_of(analysis, head)]
        said = list(dict.fromkeys(said))  # what leads is not said again
        evidence = [*said[1:], *([say("lead.no roles")] if surveyed else [])]
        described[head] = Description(
            head, said[0] if said else say("lead.nothing"), " ".join(evidence)
        )
    return described


Fact = tuple[str, str, float, str]
"""Head, kind (one of ``FACTS``), effect and sentence."""


def _facts(analysis: Analysis) -> Iterator[Fact]:
    """What can be said without main roles: on random tokens, shares over one half, entropy near
    that of even attention, changes between two results, and roles of sieve bias.
    """
    results = analysis.results
    for head in analysis.heads:
        if (random := _on_random(analysis, head)) is not None:
            yield head, "random tokens", random.mean, say(f"beyond.{random.kind}", **vars(random))
    for measure, labels in {"position": {}, "special": {"row": "all"}}.items():
        if measure in results and "low" in results[measure]:
            yield from _shares(measure, results[measure].sel(labels), labels)
    if "entropy" in results and {"all", "uniform"} <= set(results["entropy"]["row"].values):
        data = results["entropy"]
        if "low" in data:
            ratio = data["low"].sel(row="all") / data["mean"].sel(row="uniform")
            for head, (value,) in by_head(xr.Dataset({"ratio": ratio}), "ratio"):
                if value > DEFAULT.nearly:
                    yield head, "even", value, say("fact.even")
    for measure in results:
        if measure.endswith(CHANGE) and "p_corrected" in results[measure]:
            yield from _changes(measure, results[measure])
    if analysis.sieves is not None:
        for role in map(str, analysis.sieves["role"].values):
            yield from _sieves(role, analysis.sieves.sel(role=role))


def _shares(measure: str, data: xr.Dataset, labels: dict[str, str]) -> Iterator[Fact]:
    """Shares of attention whose whole interval is over one half."""
    own = next(str(dim) for dim in data["mean"].dims if dim not in GRID)
    for label in data[own].values:
        words = label_text(measure, {own: str(label), **labels}).removeprefix("attention to ")
        for head, ends in by_head(data.sel({own: label}), "mean", "low", "high"):
            if ends[1] > DEFAULT.half:
                yield head, "share", ends[0], say("fact.share", share=ends, what=words)


def _changes(measure: str, data: xr.Dataset) -> Iterator[Fact]:
    """Changes between two results that pass their corrected test, the largest of each head."""
    own = [str(dim) for dim in data["mean"].dims if dim not in GRID]
    ordered = data[["mean", "p_corrected"]].transpose(*GRID, *own)
    heads = grid_heads(ordered)
    mean, p = (ordered[name].values.reshape(len(heads), -1) for name in ordered)
    labels = list(itertools.product(*(map(str, ordered[dim].values) for dim in own)))
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    differs = np.ptp(np.nan_to_num(mean), axis=0) > 0  # else it is a reference line
    sizes = np.where((p < DEFAULT.alpha) & differs, np.abs(mean), -1.0)
    for place in np.flatnonzero((sizes > 0).any(1)):
        at = place, int(sizes[place].argmax())
        words = label_text(measure, dict(zip(own, labels[at[1]], strict=True)), attributes)
        change = number(mean[at], signed=True)
        text = say("fact.change", what=words, change=change, p=float(p[at]))
        yield str(heads[place]), "change", -float(p[at]), text


def _sieves(role: str, tests: xr.Dataset) -> Iterator[Fact]:
    """A role of sieve bias, tested against three times even attention."""
    names = ("has", "mean", "p_corrected", "effect", "position")
    for head, (has, mean, p, effect, times) in by_head(tests, *names):
        if has:
            kind = "sink" if role in SINKS else "sieve"
            position = "" if np.isnan(times) else say("fact.position", times=times)
            text = say(f"fact.{kind}", role=role, mean=mean, position=position, p=p)
            yield head, kind, float(np.nan_to_num(effect, nan=np.inf)), text
