"""Claims: a verdict by a stated rule, a table at the end of the page, and a count at its top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from headscope.page import Section
from headscope.papers import Clark2019Options, Recipe
from headscope.papers.claims import INTERVALS, OURS, Claim, Finding, claims_section, verdict
from headscope.papers.recipe import Step
from papers.conftest import rows_of

SEPARATOR = Claim("[SEP] attends to [SEP]", "Section 3.2", "over 90 %", "the mean is over 90 %")
BROAD = Claim("some heads are broad", "Section 3.3", "layer 1", "a head is near uniform")


def test_the_table_has_the_papers_words_our_number_the_verdict_and_its_rule() -> None:
    section = claims_section([SEPARATOR.tested("12.0 %", False), BROAD.tested("head 1-7", True)])
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
            "the paper says": "some heads are broad (Section 3.3)",
            "paper": "layer 1",
            "here": "head 1-7",
            "holds": "yes",
            "holds if": "a head is near uniform",
        },
    ]


def test_a_claim_that_was_not_tested_counts_neither_for_nor_against_the_paper() -> None:
    findings = [BROAD.tested("head 1-7", True), SEPARATOR.untested("the model has no [SEP]")]
    assert verdict(findings) == "1 of 1"
    section = claims_section(findings)
    assert section.text == "1 of 1 claims that were tested hold here; 1 could not be tested."
    assert section.tables[0].rows[1]["holds"] == "not tested"
    assert claims_section(findings[1:]).text == "No claim could be tested."


class Claiming(Recipe):
    """A recipe with one section and the claims it is given."""

    def __init__(self, model: Path, folder: Path, findings: Sequence[Finding] = ()) -> None:
        super().__init__(model, Clark2019Options(model, parts=["surface"], output=folder))
        self.findings = findings

    def steps(self, part: str) -> Sequence[Step]:
        return [lambda: Section(part, part)]

    def claims(self) -> Sequence[Finding]:
        return self.findings


def test_the_page_ends_with_the_claims_and_counts_them_at_the_top(
    tiny_folder: Path, tmp_path: Path
) -> None:
    findings = [SEPARATOR.tested("12.0 %", False), BROAD.tested("head 1-7", True)]
    report = Claiming(tiny_folder, tmp_path, findings).run()
    assert [section.id for section in report.sections] == ["surface", "claims"]
    assert report.tables["claims/claims"]["holds"].tolist() == ["no", "yes"]
    assert [row[3] for row in rows_of(report.page)] == ["holds", "no", "yes"]
    page = report.page.read_text(encoding="utf-8")
    assert "<b>1 of 2</b><span>tested claims hold</span>" in page


def test_a_page_without_claims_has_no_such_section(tiny_folder: Path, tmp_path: Path) -> None:
    report = Claiming(tiny_folder, tmp_path).run()
    assert [section.id for section in report.sections] == ["surface"]
    assert "claims hold" not in report.page.read_text(encoding="utf-8")


def test_all_cells_of_a_column_with_long_text_are_wrapped() -> None:
    table = claims_section([SEPARATOR.tested("12.0 %", False), BROAD.tested("x " * 30, True)])
    assert table.tables[0].is_long("here")
    assert not table.tables[0].is_long("holds")


GAIN = Claim("probes parse", "Section 5", "77 UAS", "10 points above", ours="10 points")


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
def test_intervals_decide_only_if_they_lie_on_one_side_of_the_threshold(
    intervals: list[tuple[float, float]], written: str
) -> None:
    assert GAIN.judged("+10.0 points", intervals, least=0.1).row["holds"] == written


def test_undecided_claims_are_counted_as_tested_and_explained() -> None:
    findings = [GAIN.judged("+10", [(0.09, 0.2)], least=0.1), BROAD.tested("head 1-7", True)]
    section = claims_section([*findings, SEPARATOR.untested("the model has no [SEP]")])
    assert section.text == (
        "1 of 2 claims that were tested hold here; 1 undecided; 1 could not be tested."
    )
    assert INTERVALS in section.tables[0].note
    assert INTERVALS not in claims_section(findings[1:]).tables[0].note


def test_what_is_our_choice_in_a_rule_is_marked() -> None:
    section = claims_section([GAIN.tested("+12", True)])
    assert section.tables[0].rows[0]["holds if"] == "10 points above (our choice: 10 points)"
    assert OURS in section.tables[0].note
    assert OURS not in claims_section([BROAD.tested("head 1-7", True)]).tables[0].note
