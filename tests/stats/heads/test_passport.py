"""A head's passport: ranks counted by hand, only tested roles and relations in its sentences."""

from __future__ import annotations

import functools
from functools import cache
from typing import Any

import numpy as np
import pytest

from headscope.corpus import read
from headscope.errors import UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.runs.survey import survey
from headscope.stats import descriptions, relation_tests
from headscope.stats.heads import findings
from page.samples import EXAMPLES, made_results, made_values
from planted import place, planted_bert


def planted_head(name: str) -> str:
    """The name of a head with planted behaviour."""
    where = place(name)
    return str(Head(where["layer"] - 1, where["head"] - 1))


@cache
def planted_atlas() -> Atlas:
    return survey(planted_bert(), read("demo", limit=12), max_length=24)


def test_every_statistic_has_its_value_and_its_rank_among_the_heads():
    atlas, means = made_results(3, 4), made_values(3, 4)
    for head in (Head(0, 0), Head(1, 2), Head(2, 3)):
        table = atlas.head(head).statistics.set_index("statistic")
        row = table.loc["attention to the previous token"]
        values = means["position"][..., 0]
        assert row["mean"] == pytest.approx(values[head])
        assert row["rank"] == 1 + int((values > values[head]).sum())
        assert (row["of"], row["n"]) == (12, EXAMPLES)
        assert table["rank"].is_monotonic_increasing


def test_what_is_the_same_for_all_heads_is_left_out():
    statistics = made_results(3, 4).head("1-1").statistics["statistic"]
    assert not statistics.str.contains("uniform").any()  # ln 20 for every head


def test_a_planted_previous_token_head_says_so():
    found = planted_atlas().head(planted_head("previous"))
    assert found.description.lead.startswith("Previous-token head: 100 %")
    assert any(
        sentence.startswith("Attention to the previous token: 1.000")
        for sentence in found.sentences
    )
    roles = found.roles.set_index("role")
    assert roles.loc["previous-local", "has"]
    assert not roles.loc["next-local", "has"]
    assert any("previous-local" in sentence for sentence in found.sentences)


def test_a_uniform_head_has_no_role():
    found = planted_atlas().head(planted_head("uniform"))
    assert not found.roles["has"].any()
    assert not any(sentence.startswith(("Has the role", "Finds")) for sentence in found.sentences)


def test_the_description_is_the_one_of_all_heads_and_comes_first():
    atlas = planted_atlas()
    for head, description in descriptions(atlas).items():
        found = atlas.head(head)
        assert found.description == description
        lines = str(found).splitlines()
        assert lines[1:3] == [description.lead, description.evidence]


def test_all_passports_come_from_one_analysis(monkeypatch):
    calls: list[str] = []
    atlas = survey(planted_bert(), read("demo", limit=6), max_length=24)
    for module, name in (
        (findings, "relation_tests"),
        (findings, "role_tests"),
        (findings, "columns_of"),
    ):
        plain = getattr(module, name)
        counted = functools.partial(_counted, calls, name, plain)
        monkeypatch.setattr(module, name, counted)
    for head in atlas.analysis.heads:
        atlas.head(head)
    assert sorted(calls) == ["columns_of", "relation_tests", "role_tests"]


def _counted(calls: list[str], name: str, plain: Any, *given: Any, **named: Any) -> Any:
    calls.append(name)
    return plain(*given, **named)


def test_relations_are_those_of_the_test_with_the_better_direction():
    atlas, name = planted_atlas(), planted_head("previous")
    tests = relation_tests(atlas).sel(**place("previous"))
    table = atlas.head(name).relations.set_index("relation")
    assert len(table) == 3  # those with 20 words or more
    for relation, row in table.iterrows():
        part = tests.sel(relation=relation)
        assert row["accuracy"] == pytest.approx(float(part["accuracy"].max()))
        chosen = part.sel(direction=row["direction"])
        assert (row["p"], row["n"]) == (float(chosen["p_corrected"]), int(chosen["n"]))
        assert row["offset"] == pytest.approx(float(chosen["baseline"]))


def test_it_prints_itself_and_shows_itself_escaped_in_a_notebook():
    atlas = made_results(2, 3, model="<script>alert(1)</script>")
    found = atlas.head("L1H2")
    text = str(found)
    assert text.splitlines()[0].startswith("Head 2-3 (L1H2) of ")
    assert "attention to the previous token" in text
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()


@pytest.mark.parametrize("head", ["3-1", "1-4", "L2H0", "0-1", "x"])
def test_a_head_that_does_not_exist_is_refused(head):
    with pytest.raises(UserError):
        made_results(2, 3).head(head)


def test_a_head_of_which_nothing_stands_out_says_that():
    values = {"position": np.full((2, 3, 3), 0.1)}
    values["position"][1, 2] = 0.2
    found = made_results(2, 3, values=values).head("1-1")
    assert found.sentences == []
    assert found.description.lead == "Nothing stands out."
