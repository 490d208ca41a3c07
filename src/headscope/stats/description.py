"""What a head does, in one sentence, and the evidence for it: never more than the tests allow."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.measures.roles import BROADLY, RESTS, UNCLEAR
from headscope.results import Atlas
from headscope.stats.analysis import Analysis
from headscope.stats.evidence import (
    AT_WORK,
    findings_of,
    resting_on,
    role_evidence,
    shown_relations,
)
from headscope.stats.excess import FAMILIES, Excess
from headscope.stats.finding_words import rivals_named
from headscope.stats.phrases import in_percent, listed
from headscope.stats.plain_facts import plain_facts
from headscope.stats.relation_words import relation_words
from headscope.stats.role_words import ROLE_WORDS

UNSURE = "drawing other documents often gives another role"
NO_ROLES = "These results have no main roles: survey again with the default measures."
SURVEYED = ("position", "special", "entropy", "role", "activity", "dependency", "coreference")
"""Measures by which a survey is known."""


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
    >>> atlas = hs.survey("demo", "demo", limit=20)
    >>> descriptions(atlas)["1-3"].lead
    'Previous-token head: more than 99 % of its working attention is on the token before.'
    """
    return atlas.analysis.descriptions


def describe_all(analysis: Analysis) -> dict[str, Description]:
    """Describe every head, from one analysis; see :func:`descriptions`."""
    excess = analysis.excess
    if excess is None:
        return _without_roles(analysis)
    found = {}
    for place, (head, row) in enumerate(analysis.roles.iterrows()):
        name = str(head)
        sentences = [*role_evidence(analysis, excess, place), *findings_of(analysis, name)]
        found[name] = Description(
            name,
            _lead(analysis, excess, place),
            " ".join(filter(None, sentences)),
            str(row["family"]),
            FAMILIES.get(str(row["second"]), ""),
            bool(row["borderline"]),
        )
    return found


def _lead(analysis: Analysis, excess: Excess, place: int) -> str:
    """What a head does, in one sentence."""
    row = analysis.roles.iloc[place]
    head, role, second = str(row.name), str(row["role"]), str(row["second"])
    best = _best_at(analysis, head)
    if role == RESTS:
        sinks = listed(resting_on(analysis, head) or ["sinks"])
        at_work = in_percent(analysis.resting[head][AT_WORK])
        return _hedged(
            f"Rests on {sinks}: {at_work} of its attention is at work", row["borderline"]
        )
    if role in (BROADLY, UNCLEAR):
        text = _no_role(role, tested=excess.tested)
        if row["borderline"]:
            return _hedged(text, True)
        but = f"{'the ' if best.startswith('best') else ''}{best}"
        return f"{text}, but {but}." if best else f"{text}."
    words, share = ROLE_WORDS[role], excess.share[place, excess.names.index(role)]
    if share < excess.thresholds.half:
        text = f"Leans towards {listed([words.leans, *filter(None, [_leans(second)])])}"
    else:
        text = f"Looks {words.also}, and {ROLE_WORDS[second].also}" if second else words.does
    if row["borderline"]:
        return _hedged(text, True, words.mostly if text == words.does else "")
    if best:
        return f"{text}; {best}."
    return f"{text}." if second else f"{text}: {words.brief.format(in_percent(float(share)))}."


def _no_role(role: str, *, tested: bool) -> str:
    """What is said of a head without a role."""
    if role == BROADLY:
        return "Reads broadly, nearly evenly over the words"
    return "No clear role" if tested else "There are too few documents to test roles"


def _leans(role: str) -> str:
    return ROLE_WORDS[role].leans if role else ""


def _hedged(text: str, borderline: bool, mostly: str = "") -> str:
    """A sentence, hedged where the role is borderline."""
    if not borderline:
        return f"{text}."
    if text.startswith("No "):
        return f"{text}; {UNSURE}."
    return f"Mostly {mostly or text[:1].lower() + text[1:]}; {UNSURE}."


def _best_at(analysis: Analysis, head: str) -> str:
    """At which relations a head is the best of all, or one of those; empty if at none."""
    best, among = list[str](), dict[tuple[str, ...], list[str]]()
    named = [
        (relation_words(one.relation, one.direction), one.rivals)
        for one in shown_relations(analysis, head)
        if one.among
    ]
    antecedents = analysis.antecedents
    if antecedents is not None and antecedents.head == head and antecedents.beats_all:
        # Both halves of the corpus choose it, or there would be no such finding.
        named.append(("the antecedent of a mention", antecedents.rivals))
    for words, rivals in named:
        (among.setdefault(rivals, []) if rivals else best).append(words)
    found = [f"best of {len(analysis.heads)} heads at finding {listed(best)}"] if best else []
    found += [
        f"among the best at finding {listed(words)} (with {rivals_named(rivals)})"
        for rivals, words in among.items()
    ]
    return ", and ".join(found)


def _without_roles(analysis: Analysis) -> dict[str, Description]:
    """Where there are no main roles: the strongest statements that can be tested."""
    facts, found = plain_facts(analysis), {}
    crossed = analysis.results.provenance.get("model", {}).get("stack") == "cross"
    surveyed = not crossed and any(name in analysis.results for name in SURVEYED)
    for head in analysis.heads:
        said = [f"{fact.text}." for fact in facts.get(head, ())][:2]
        said += findings_of(analysis, head)
        lead = said[0] if said else "Nothing stands out."
        evidence = [*said[1:], *([NO_ROLES] if surveyed else [])]
        found[head] = Description(head, lead, " ".join(evidence))
    return found
