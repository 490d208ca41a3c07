"""Claims of a paper: what it says, what was found here, and whether it holds.

A claim is a function that :meth:`headscope.papers.recipe.Recipe.claim` marks. Its parameters name
the results it needs; it returns a :class:`Verdict`, or raises :class:`Untested` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from headscope.heads import Head
from headscope.page import Section, Table

PAPER_SAYS = "the paper says"
CAUTION = (
    "The rule in the last column decides, and nothing else does. A claim that does not hold here "
    "is not refuted: the model and the texts are not the paper's."
)
OURS = "Thresholds marked as our choice are not in the paper."
INTERVALS = (
    "A claim is undecided if the 95 % interval of its number includes the threshold of the rule."
)


class Untested(Exception):
    """Raised by a claim's test: why the claim cannot be decided here."""


@dataclass(frozen=True)
class Verdict:
    """What a test found.

    Parameters
    ----------
    here
        The number behind the verdict, as text, with the heads or layers it comes from.
    holds
        Whether the rule is met; None if the interval of the number includes the threshold.
    """

    here: str
    holds: bool | None


def judged(here: str, intervals: Sequence[tuple[float, float]], *, least: float) -> Verdict:
    """Let the intervals of numbers decide: all at or above ``least``, or one below it.

    Examples
    --------
    >>> judged("+10.4 points", [(0.08, 0.13)], least=0.1).holds is None
    True
    """
    if all(low >= least for low, _ in intervals):
        return Verdict(here, True)
    return Verdict(here, False if any(high < least for _, high in intervals) else None)


@dataclass(frozen=True)
class Finding:
    """A claim, and what was found here: yes, no, undecided or not tested."""

    claim: Claim
    here: str
    holds: str

    def row(self, says: str = PAPER_SAYS) -> dict[str, str]:
        """The row of the table."""
        return {
            says: f"{self.claim.text[:1].upper()}{self.claim.text[1:]} ({self.claim.source})",
            "paper": self.claim.published,
            "here": self.here,
            "holds": self.holds,
            "holds if": self.claim.condition,
        }


@dataclass(frozen=True)
class Claim:
    """Something that a paper says, with the test that decides whether it holds.

    Parameters
    ----------
    text
        The claim, as close to the paper's words as a table allows.
    source
        The section, figure or table.
    published
        The paper's number, as text.
    rule
        When the claim holds, as a condition: "at least one head has more than half".
    test
        The test. Its parameters name the results it needs.
    ours
        What in the rule is our choice because the paper does not state it: "10 points".
    each
        What results are mappings of, such as "corpora": each is tested, and most of those that can
        be tested decide.

    Examples
    --------
    >>> def test(surface):
    ...     return Verdict(f"{surface:.0%}", surface > 0.9)
    >>> claim = Claim("[SEP] attends to [SEP]", "Section 3.2", "over 90 %", "over 90 %", test)
    >>> claim.needs, claim.finding({"surface": 0.93}).holds
    (('surface',), 'yes')
    """

    text: str
    source: str
    published: str
    rule: str
    test: Callable[..., Verdict]
    ours: str = ""
    each: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The results that the test needs, by name."""
        return tuple(signature(self.test).parameters)

    @property
    def condition(self) -> str:
        """The rule, with what in it is our choice.

        Examples
        --------
        >>> Claim("no head parses", "", "", "under 50 % (held out)", print, "50 %").condition
        'under 50 % (held out; our choice: 50 %)'
        """
        if not self.ours:
            return self.rule
        if self.rule.endswith(")"):
            return f"{self.rule[:-1]}; our choice: {self.ours})"
        return f"{self.rule} (our choice: {self.ours})"

    def finding(self, results: Mapping[str, Any]) -> Finding:
        """Test the claim on the results of a recipe, by name."""
        needed = [results[name] for name in self.needs]
        try:
            verdict = self._of_most(needed) if self.each else self.test(*needed)
        except Untested as reason:
            return self.untested(str(reason))
        several = self.each and len(needed[0]) > 1
        claim = replace(self, rule=f"{self.rule}; in most {self.each}") if several else self
        holds = "undecided" if verdict.holds is None else "yes" if verdict.holds else "no"
        return Finding(claim, verdict.here, holds)

    def _of_most(self, needed: Sequence[Mapping[str, Any]]) -> Verdict:
        """The verdict of more than half of the corpora or models that can be tested."""
        verdicts, reasons = {}, ["there is nothing to test"]
        for name in needed[0]:
            try:
                verdicts[name] = self.test(*(values[name] for values in needed))
            except Untested as reason:
                reasons.append(str(reason))
        if not verdicts:
            raise Untested(reasons[-1])
        several = len(needed[0]) > 1
        here = [f"{name}: {one.here}" if several else one.here for name, one in verdicts.items()]
        held = sum(bool(one.holds) for one in verdicts.values())
        return Verdict("; ".join(here), 2 * held > len(verdicts))

    def untested(self, reason: str) -> Finding:
        """State why the claim could not be tested."""
        return Finding(self, reason, "not tested")


def count_of(findings: Sequence[Finding]) -> str:
    """Count the claims that hold among those that were tested: ``"5 of 8"``."""
    holds = [finding.holds for finding in findings]
    return f"{holds.count('yes')} of {len(holds) - holds.count('not tested')}"


def claims_section(
    findings: Sequence[Finding], *, title: str = "The paper's claims", says: str = PAPER_SAYS
) -> Section:
    """Make the section that ends a paper's page: one row per claim, in the order of the paper.

    The column of published numbers is left out if there are none.
    """
    holds = [finding.holds for finding in findings]
    missing, undecided = holds.count("not tested"), holds.count("undecided")
    text = "No claim could be tested."
    if missing < len(findings):
        text = f"{count_of(findings)} claims that were tested hold here"
        text += f"; {undecided} undecided" if undecided else ""
        text += f"; {missing} could not be tested." if missing else "."
    ours = any(finding.claim.ours for finding in findings)
    note = " ".join([CAUTION, *([INTERVALS] if undecided else []), *([OURS] if ours else [])])
    rows = [finding.row(says) for finding in findings]
    if not any(row["paper"] for row in rows):
        for row in rows:
            del row["paper"]
    return Section("claims", title, text, [Table(rows, title="Claims", note=note)])


# --- What tests of several papers write ---


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.0312)
    '3.1 %'
    """
    return f"{100 * share:.1f} %"


def named(heads: Sequence[Head], shown: int = 8) -> str:
    """Count heads, and name them if they are few.

    Examples
    --------
    >>> named([Head(0, 2)]), named([]), named([Head(0, n) for n in range(9)])
    ('1 head (1-3)', 'no head', '9 heads')
    """
    if not heads:
        return "no head"
    names = f" ({', '.join(map(str, heads))})" if len(heads) <= shown else ""
    return f"{len(heads)} head{'s' if len(heads) > 1 else ''}{names}"
