"""The evidence for what a head does: sentences with numbers, intervals and corrected tests."""

from __future__ import annotations

import numpy as np

from headscope.measures.roles import BROADLY, RESTS
from headscope.stats.analysis import Analysis
from headscope.stats.excess import CONTAINS, DIRECTION, Excess
from headscope.stats.finding_words import (
    antecedents_found,
    beyond_words,
    disabling_does,
    probe_score,
    relations_found,
)
from headscope.stats.findings import ALPHA, RelationFinding
from headscope.stats.phrases import capital, in_percent, listed, p_words, with_interval
from headscope.stats.role_words import ROLE_WORDS

SHOWN = 2
"""How many relations, and how many kinds of sinks, a sentence names."""
SOME = 0.03
"""Smaller shares at rest are not named."""
AT_WORK = "at work"


def role_evidence(analysis: Analysis, excess: Excess, place: int) -> list[str]:
    """Where a head's attention goes, against even attention.

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
    role, found = str(row["role"]), [_at_work(analysis, str(row.name), role=str(row["role"]))]
    if role == BROADLY:
        part = in_percent(float(row["spread"]))
        found.append(f"Its entropy over the words is {part} of that of even attention.")
    elif role in ROLE_WORDS:
        named = [role, *filter(None, [str(row["second"])])]
        # What is said of heads beyond text has the retrieval score.
        shares = [_share(analysis, excess, place, name) for name in named if name != "retrieval"]
        found += [f"{capital(share)}." for share in shares]
        found += _further(analysis, excess, place, named)
    elif role != RESTS and excess.tested:
        found += _tendency(analysis, excess, place)
    if row["borderline"]:
        found.append(
            f"When documents are drawn anew, {in_percent(float(row['stability']))} of the draws "
            f"say “{_name(role)}”, the others most often “{_name(str(row['instead']))}”."
        )
    return found


def _name(role: str) -> str:
    return ROLE_WORDS[role].name if role in ROLE_WORDS else role


def _at_work(analysis: Analysis, head: str, *, role: str) -> str:
    """How much attention is at work, and where the rest is."""
    shares = analysis.resting[head]
    rests = resting_on(analysis, head)
    if role == RESTS:  # the lead has said how little is at work
        parts = [f"{in_percent(shares[name])} on {name}" for name in rests]
        if not parts:
            return ""
        parts[0] = parts[0].replace(" on ", " of its attention is on ", 1)
        return f"{capital(', '.join(parts))}."
    work = f"{capital(in_percent(shares[AT_WORK]))} of its attention is at work"
    parts = [f"{in_percent(shares[name])} on {name}" for name in rests]
    if parts:
        parts[0] = parts[0].replace(" on ", " rests on ", 1)
    return f"{work}; {', '.join(parts)}." if parts else f"{work}."


def resting_on(analysis: Analysis, head: str) -> list[str]:
    """The sinks on which a head rests most, by what they are called: one or two, if any."""
    shares = {name: share for name, share in analysis.resting[head].items() if name != AT_WORK}
    ranked = sorted(shares, key=lambda name: -np.nan_to_num(shares[name]))
    return [name for name in ranked if shares[name] >= SOME][:SHOWN]


def _share(analysis: Analysis, excess: Excess, place: int, role: str) -> str:
    """The share of the working attention on a role's tokens, against even attention and, along
    arcs, against the head's positions.
    """
    at, parts = excess.names.index(role), (excess.share, excess.share_low, excess.share_high)
    share = with_interval(*(part[place, at] for part in parts))
    even = excess.even[place, at]
    against = "" if np.isnan(even) else f" (even attention: {in_percent(even)})"
    beyond = beyond_words(analysis.positions, analysis.heads[place], role)
    more = f"; that is {beyond}" if beyond else ""
    return f"{ROLE_WORDS[role].share.format(share)}{against}{more}"


def _further(analysis: Analysis, excess: Excess, place: int, named: list[str]) -> list[str]:
    """The strongest other role that a head has, unless it contains one that was named."""
    own = {*named, *(inside for name in named for inside in CONTAINS.get(name, ()))}
    own |= {general for general, inside in CONTAINS.items() if set(named) & set(inside)}
    others = [
        (float(excess.value[place, at]), name)
        for at, name in enumerate(excess.names)
        if excess.counts[place, at] and name not in own
    ]
    return [f"Also, {_share(analysis, excess, place, max(others)[1])}."] if others else []


def _tendency(analysis: Analysis, excess: Excess, place: int) -> list[str]:
    """The strongest excess of a head without a role, arcs left out, and why it does not count."""
    ranked = [
        (float(np.nan_to_num(excess.value[place, at], nan=-1.0)), name)
        for at, name in enumerate(excess.names)
        if name not in DIRECTION and excess.beyond[place, at] > 0
    ]
    value, role = max(ranked, default=(0.0, ""))
    least = excess.thresholds.least
    if value < least / 2:
        return ["No role comes close to counting."]
    p = float(excess.p[place, excess.names.index(role)])
    start = f"Closest to a role: {_share(analysis, excess, place, role)}"
    if np.isnan(p):
        return [f"{start}, but there are too few documents to test it."]
    if p >= ALPHA:
        return [f"{start}, but the test does not confirm it ({p_words(p)})."]
    half = float(excess.half[place, excess.names.index(role)])
    ends = [100 * end for end in (value, value - half, value + half)]
    # With so many decimals that the lower end is not rounded up to what would count.
    places = next((digits for digits in range(3) if round(ends[1], digits) < 100 * least), 3)
    points, low, high = (f"{end:.{places}f}" for end in ends)
    return [
        f"{start}, {points} points over even attention ({low} to {high}), where the lower end "
        f"must be {100 * least:.0f} or more to count."
    ]


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
    found = []
    relations = shown_relations(analysis, head)
    if relations:
        found.append(relations_found(relations, analysis.positions))
    antecedents = analysis.antecedents
    if antecedents is not None and antecedents.head == head:
        found.append(f"{capital(antecedents_found(antecedents))}.")
    for disabled in analysis.disabling:
        if disabled.head == head:
            found.append(f"Disabling it {disabling_does(disabled)}.")
    probes = [probe_score(one) for one in analysis.probes if one.head == head][:SHOWN]
    if probes:
        found.append(
            f"Of all heads, its probe does best on the validation data of {listed(probes)}."
        )
    return [*found, *analysis.beyond_text.get(head, ())]


def shown_relations(analysis: Analysis, head: str) -> list[RelationFinding]:
    """The relations that are named with a head: those at which it is the best, or else among the
    best, or else others.
    """
    mine = [one for one in analysis.relations if one.head == head]
    best, among = ([one for one in mine if getattr(one, name)] for name in ("best", "among"))
    return (best or among or mine)[:SHOWN]
