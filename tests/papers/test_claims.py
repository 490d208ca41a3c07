"""Claims: a verdict by a stated rule, a table at the end of the page, and a count at its top."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from headscope.page import Section
from headscope.papers import PAPERS, Paper
from headscope.papers.claims import (
    INTERVALS,
    OURS,
    Claim,
    Untested,
    Verdict,
    claims_section,
    count_of,
    judged,
)
from headscope.papers.recipe import PaperRecipe, part
from page.samples import document_of, rows_of, said, section_ids


def separator(share: float) -> Verdict:
    """[SEP] attends to [SEP]."""
    if np.isnan(share):
        raise Untested("the model has no [SEP]")
    return Verdict(f"{100 * share:.1f} %", share > 0.9)


SEPARATOR = Claim(
    "[SEP] attends to [SEP]", "Section 3.2", "over 90 %", "the mean is over 90 %", separator
)


def broad(heads: str) -> Verdict:
    """some heads are broad."""
    return Verdict(heads, True)


BROAD = Claim("some heads are broad", "Section 3.3", "layer 1", "a head is near uniform", broad)
LOW, NONE = SEPARATOR.finding({"share": 0.12}), SEPARATOR.finding({"share": np.nan})
SOME = BROAD.finding({"heads": "head 1-7"})


def test_the_table_has_the_papers_words_our_number_the_verdict_and_its_rule():
    section = claims_section([LOW, SOME])
    assert (section.id, section.text) == ("claims", "1 of 2 claims that were tested hold here.")
    assert list(section.tables[0].rows) == [
        {
            "the paper says": "[SEP] attends to [SEP] (Section 3.2)",
            "paper": "over 90 %",
            "here": "12.0 %",
            "holds": "no",
            "holds if": "the mean is over 90 %",
        },
        {
            "the paper says": "Some heads are broad (Section 3.3)",
            "paper": "layer 1",
            "here": "head 1-7",
            "holds": "yes",
            "holds if": "a head is near uniform",
        },
    ]


def test_a_claim_that_was_not_tested_counts_neither_for_nor_against_the_paper():
    findings = [SOME, NONE]
    assert count_of(findings) == "1 of 1"
    section = claims_section(findings)
    assert section.text == "1 of 1 claims that were tested hold here; 1 could not be tested."
    assert section.tables[0].rows[1]["holds"] == "not tested"
    assert claims_section(findings[1:]).text == "No claim could be tested."


class Claiming(PaperRecipe):
    """A recipe with one section and two claims.

    Parameters
    ----------
    share
        The share of attention from [SEP] to [SEP], if it was measured.
    """

    paper: ClassVar[Paper] = PAPERS["clark2019"]

    share: float | None = None

    @part("surface", "Surface patterns", "Section 3")
    def surface(self) -> Section:
        if self.share is not None:
            self.results.update(share=self.share, heads="head 1-7")
        return Section("surface", "surface")


Claiming.claim("Section 3.2", "over 90 %", "over 90 %")(separator)
Claiming.claim("Section 3.3", "layer 1", "one is")(broad)


def test_the_page_begins_with_the_claims_and_their_verdicts(tiny_folder, tmp_path):
    report = Claiming(tiny_folder, share=0.12, output=tmp_path).run()
    assert [section.id for section in report.sections] == ["surface", "claims"]
    assert report.tables["claims/claims"]["holds"].tolist() == ["no", "yes"]
    assert [row[3] for row in rows_of(report.page)] == ["holds", "no", "yes"]
    assert section_ids(report.page) == ["claims", "surface"]
    assert document_of(report.page)["verdicts"] == ["no", "yes"]


def test_a_page_without_results_for_claims_has_no_such_section(tiny_folder, tmp_path):
    report = Claiming(tiny_folder, output=tmp_path).run()
    assert [section.id for section in report.sections] == ["surface"]
    assert "claims hold" not in said(report.page)


def test_the_docstring_of_a_test_is_what_the_paper_says():
    assert [claim.text for claim in Claiming.claims] == [SEPARATOR.text, BROAD.text]


def test_a_claim_is_tested_on_each_corpus_and_most_decide():
    each = replace(SEPARATOR, each="corpora")
    two = each.finding({"share": {"a": 0.95, "b": 0.2, "c": np.nan}})
    assert (two.here, two.holds) == ("a: 95.0 %; b: 20.0 %", "no")
    assert two.claim.rule == "the mean is over 90 %; in most corpora"
    assert each.finding({"share": {"a": 0.95, "b": 0.92, "c": 0.1}}).holds == "yes"
    alone = each.finding({"share": {"a": 0.95}})
    assert (alone.here, alone.claim.rule) == ("95.0 %", "the mean is over 90 %")
    assert each.finding({"share": {"a": np.nan}}).here == "the model has no [SEP]"


def gain(intervals: list[tuple[float, float]]) -> Verdict:
    """Whether a probe gains ten points."""
    return judged("+10.0 points", intervals, least=0.1)


GAIN = Claim("probes parse", "Section 5", "77 UAS", "10 points above", gain, ours="10 points")


@pytest.mark.parametrize(
    ("intervals", "written"),
    [
        ([(0.10, 0.20)], "yes"),
        ([(0.02, 0.0999)], "no"),
        ([(0.09, 0.20)], "undecided"),
        ([(0.12, 0.20), (0.09, 0.20)], "undecided"),
        ([(0.09, 0.20), (0.01, 0.05)], "no"),
        ([(float("nan"), float("nan"))], "undecided"),
    ],
)
def test_intervals_decide_only_if_they_lie_on_one_side_of_the_threshold(intervals, written):
    assert GAIN.finding({"intervals": intervals}).holds == written


def test_undecided_claims_are_counted_as_tested_and_explained():
    findings = [GAIN.finding({"intervals": [(0.09, 0.2)]}), SOME]
    section = claims_section([*findings, NONE])
    assert section.text == (
        "1 of 2 claims that were tested hold here; 1 undecided; 1 could not be tested."
    )
    assert INTERVALS in section.tables[0].note
    assert INTERVALS not in claims_section(findings[1:]).tables[0].note


def test_what_is_our_choice_in_a_rule_is_marked():
    section = claims_section([GAIN.finding({"intervals": [(0.11, 0.13)]})])
    assert section.tables[0].rows[0]["holds if"] == "10 points above (our choice: 10 points)"
    assert OURS in section.tables[0].note
    assert OURS not in claims_section([SOME]).tables[0].note
