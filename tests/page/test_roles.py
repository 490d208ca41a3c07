"""The page about roles: tables in plain words, charts without doubles."""

from __future__ import annotations

import re

import numpy as np
import pytest

from figures.made_roles import NAMES, made, random_scores, rows_of
from headscope.page import role_sections, roles_document, shift_section
from headscope.stats import role_shift, role_tests
from stats.made_roles import PAPER, made_roles


@pytest.fixture(scope="module")
def sections():
    results = made(random_scores())
    found = role_sections(results, role_tests(results, **PAPER))
    return {section.id: section for section in found}


def test_no_two_roles_are_correlated_twice(sections):
    (chart,) = [p.chart for p in sections["overlap"].plots if p.name == "role-correlations"]
    pairs = rows_of(chart, "role", "other", "rho")
    assert not pairs.duplicated(["role", "other"]).any()
    assert not (pairs["role"] == pairs["other"]).any()


def test_columns_are_in_words(sections):
    shift = shift_section(role_shift(made(random_scores()), made(random_scores() + 0.5)))
    tables = [table for section in (*sections.values(), shift) for table in section.tables]
    columns = {column for table in tables for column in table.columns}
    assert {"which heads", "ρ over heads", "τ = 3", "95 % interval"} <= columns
    assert not [name for name in columns if re.search(r"_|\brho\b|\btau\b|\bdegree\b|^low$", name)]


def test_corrected_ps_are_shown_only_where_there_is_a_correction(sections):
    results = made(random_scores())
    held = role_sections(results, role_tests(results))
    assert "p corrected" in held[0].tables[0].columns
    assert "p corrected" not in sections["roles"].tables[0].columns
    assert (
        "t test of the mean over sequences, level 0.05, corrected (Holm)." in held[0].tables[0].note
    )
    note = sections["roles"].tables[0].note  # "as in the paper" only where it is
    assert "z test of the mean over sequences, level 0.05, not corrected, as in the paper." in note


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        (None, "not corrected, as in the paper"),
        ([f"d{n // 2}" for n in range(40)], "not corrected"),
    ],
)
def test_a_test_is_called_the_papers_only_where_sequences_are_independent(groups, said):
    results = made_roles(np.random.default_rng(0).gamma(3.0, 1.0, (40, 2, 2, 5)), groups=groups)
    document = roles_document(results, role_tests(results, **PAPER))
    (section,) = [one for one in document.sections if one.id == "roles"]
    assert f", {said}. The mean" in section.tables[0].note


def test_shares_are_in_percent_as_in_the_paper(sections):
    tests = role_tests(made(random_scores()), **PAPER)
    rows = {row["role"]: row for row in sections["roles"].tables[0].rows}
    for role in NAMES:
        share = 100 * float(tests["has"].sel(role=role).mean())
        assert rows[role]["share of heads (%)"] == f"{share:.1f}"
    (table,) = [one for one in sections["skills"].tables if one.id == "layer-table"]
    for row in table.rows:
        share = 100 * float(tests["has"].sel(role="local", layer=row["layer"]).mean())
        assert row["local"] == f"{share:.1f}"


def test_the_shift_of_a_role_is_beside_its_interval():
    before = random_scores()
    rows = shift_section(role_shift(made(before), made(before + 0.5))).tables[0].rows
    assert {row["role"] for row in rows} == set(NAMES)
    assert [row["shift"] for row in rows] == pytest.approx([0.5] * len(rows), abs=1e-5)
