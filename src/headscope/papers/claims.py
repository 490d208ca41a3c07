"""Claims of a paper: what it says, what was found here, and whether it holds.

A paper's claims are data and stand with its published numbers (``facts.py``). A recipe tests those
that its parts have numbers for, and the base class adds the table to the end of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headscope.page import Section, Table

HOLDS = {True: "yes", False: "no", None: "not tested"}
"""How a verdict is written."""
PAPER_SAYS = "the paper says"
"""The heading of the column with the claims."""
UNDECIDED = "undecided"
"""The verdict on a claim if the interval of the number covers its threshold."""
CAUTION = (
    "The rule in the last column decides, and nothing else does. A claim that does not hold here "
    "is not refuted: the model and the texts are not the paper's."
)
OURS = "Thresholds marked as our choice are not in the paper."
INTERVALS = (
    "A claim is undecided if the 95 % interval of its number includes the threshold of the rule."
)


@dataclass(frozen=True)
class Claim:
    """Something that a paper says, with a rule that decides whether it holds.

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
    ours
        What in the rule is our choice because the paper does not state it: "10 points".

    Examples
    --------
    >>> claim = Claim("[SEP] attends to [SEP]", "Section 3.2", "over 90 %", "it is over 90 %")
    >>> claim.tested("93.1 %", 0.931 > 0.9).row["holds"]
    'yes'
    >>> claim.untested("the model has no [SEP]").row["here"]
    'the model has no [SEP]'
    """

    text: str
    source: str
    published: str
    rule: str
    ours: str = ""

    @property
    def condition(self) -> str:
        """The rule, with what in it is our choice.

        Examples
        --------
        >>> claim = Claim("no head parses", "Table 1", "34.5 %", "under 50 % (held out)", "50 %")
        >>> claim.condition
        'under 50 % (held out; our choice: 50 %)'
        """
        if not self.ours:
            return self.rule
        if self.rule.endswith(")"):
            return f"{self.rule[:-1]}; our choice: {self.ours})"
        return f"{self.rule} (our choice: {self.ours})"

    def tested(self, here: str, holds: bool) -> Finding:
        """State what was found.

        Parameters
        ----------
        here
            The number behind the verdict, as text, with the heads or layers it comes from.
        holds
            Whether the rule is met.

        Returns
        -------
        Finding
            The claim with its verdict.
        """
        return Finding(self, here, bool(holds))

    def judged(
        self, here: str, intervals: Sequence[tuple[float, float]], *, least: float
    ) -> Finding:
        """State what was found, with a verdict that the intervals of the numbers decide.

        Parameters
        ----------
        here
            The numbers behind the verdict, as text.
        intervals
            The ends of the interval of each number.
        least
            The claim holds if every interval lies at or above this value, and does not hold if one
            of them lies below it. Otherwise it is undecided.

        Returns
        -------
        Finding
            The claim with its verdict.

        Examples
        --------
        >>> claim = Claim("probes parse", "Section 5", "77 UAS", "10 points above the baseline")
        >>> claim.judged("+10.4 points", [(0.08, 0.13)], least=0.1).row["holds"]
        'undecided'
        """
        if all(low >= least for low, _ in intervals):
            return Finding(self, here, True)
        if any(high < least for _, high in intervals):
            return Finding(self, here, False)
        return Finding(self, here, None, undecided=True)

    def untested(self, reason: str) -> Finding:
        """State why the claim could not be tested.

        Parameters
        ----------
        reason
            What is missing: "the model has no language-model head".

        Returns
        -------
        Finding
            The claim without a verdict.
        """
        return Finding(self, reason, None)


@dataclass(frozen=True)
class Finding:
    """A claim, and what was found here.

    Parameters
    ----------
    claim
        What the paper says.
    here
        The number here, as text; for a claim that was not tested, the reason.
    holds
        The verdict; None if the claim was not tested, or is undecided.
    undecided
        Whether the claim was tested, and the interval of its number includes the threshold.
    """

    claim: Claim
    here: str
    holds: bool | None
    undecided: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """The row of the table."""
        return {
            PAPER_SAYS: f"{self.claim.text} ({self.claim.source})",
            "paper": self.claim.published,
            "here": self.here,
            "holds": UNDECIDED if self.undecided else HOLDS[self.holds],
            "holds if": self.claim.condition,
        }


Answer = tuple[str, bool] | None
"""What one corpus or model shows, in words, and whether the claim holds there; None if nothing."""


def held_by_most(
    claim: Claim, answers: Mapping[str, Answer], reason: str, *, of: str = "corpora"
) -> Finding:
    """Decide on a claim that several corpora or models give an answer to.

    Parameters
    ----------
    claim
        The claim.
    answers
        What each of them shows, by name.
    reason
        Why the claim could not be tested, if none of them shows anything.
    of
        What they are, in the plural.

    Returns
    -------
    Finding
        The claim holds if it does in more than half of those that it can be tested on.

    Examples
    --------
    >>> claim = Claim("heads are broad", "Section 3.3", "some", "any head is broad")
    >>> answers = {"one": ("3 heads", True), "two": ("0 heads", False), "three": None}
    >>> held_by_most(claim, answers, "nothing was measured").row["here"]
    'one: 3 heads; two: 0 heads'
    """
    known = {name: answer for name, answer in answers.items() if answer is not None}
    if not known:
        return claim.untested(reason)
    several = len(answers) > 1
    if several:
        claim = replace(claim, rule=f"{claim.rule}; in most {of}")
    here = "; ".join(f"{name}: {text}" if several else text for name, (text, _) in known.items())
    return claim.tested(here, 2 * sum(holds for _, holds in known.values()) > len(known))


def verdict(findings: Sequence[Finding]) -> str:
    """Count the claims that hold among those that were tested.

    Parameters
    ----------
    findings
        The claims with their verdicts.

    Returns
    -------
    str
        Such as ``"5 of 8"``.

    Examples
    --------
    >>> claim = Claim("heads are broad", "Section 3.3", "some", "any head is broad")
    >>> verdict([claim.tested("3 heads", True), claim.untested("no heads")])
    '1 of 1'
    """
    tested = [finding for finding in findings if _is_tested(finding)]
    return f"{sum(finding.holds is True for finding in tested)} of {len(tested)}"


def _is_tested(finding: Finding) -> bool:
    return finding.undecided or finding.holds is not None


def claims_section(
    findings: Sequence[Finding], *, title: str = "The paper's claims", says: str = PAPER_SAYS
) -> Section:
    """Make the section that ends a paper's page: one row per claim.

    Parameters
    ----------
    findings
        The claims with their verdicts, in the order of the paper.
    title
        The heading.
    says
        The heading of the column with the claims. The column of published numbers is left out if
        there are none.

    Returns
    -------
    Section
        With the anchor ``claims`` and one table.
    """
    missing = sum(not _is_tested(finding) for finding in findings)
    undecided = sum(finding.undecided for finding in findings)
    text = "No claim could be tested."
    if missing < len(findings):
        text = f"{verdict(findings)} claims that were tested hold here"
        text += f"; {undecided} undecided" if undecided else ""
        text += f"; {missing} could not be tested." if missing else "."
    notes = [CAUTION]
    if undecided:
        notes.append(INTERVALS)
    if any(finding.claim.ours for finding in findings):
        notes.append(OURS)
    empty = () if any(finding.claim.published for finding in findings) else ("paper",)
    rows = [
        {says if name == PAPER_SAYS else name: cell for name, cell in finding.row.items()}
        for finding in findings
    ]
    rows = [{name: cell for name, cell in row.items() if name not in empty} for row in rows]
    table = Table(rows, title="Claims", note=" ".join(notes))
    return Section("claims", title, text, [table])
