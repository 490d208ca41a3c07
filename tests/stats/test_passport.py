"""A head's passport: ranks counted by hand, only tested roles and relations in its sentences."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from headscope.corpus import read
from headscope.errors import UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.runs.survey import survey
from page.samples import made_results, made_values
from planted import place, planted_bert


def planted_head(name: str) -> str:
    """The name of a head with planted behaviour."""
    where = place(name)
    return str(Head(where["layer"] - 1, where["head"] - 1))


@cache
def planted_atlas() -> Atlas:
    return survey(planted_bert(), read("demo", limit=12), max_length=24)


def test_every_statistic_has_its_value_and_its_rank_among_the_heads() -> None:
    atlas, means = made_results(3, 4), made_values(3, 4)
    for head in (Head(0, 0), Head(1, 2), Head(2, 3)):
        table = atlas.head(head).statistics.set_index("statistic")
        row = table.loc["attention to the previous token"]
        values = means["position"][..., 0]
        assert row["mean"] == pytest.approx(values[head])
        assert row["rank"] == 1 + int((values > values[head]).sum())
        assert (row["of"], row["n"]) == (12, 2)
        assert table["rank"].is_monotonic_increasing


def test_what_is_the_same_for_all_heads_is_left_out() -> None:
    statistics = made_results(3, 4).head("1-1").statistics["statistic"]
    assert not statistics.str.contains("uniform").any()  # ln 20 for every head


def test_a_planted_previous_token_head_says_so() -> None:
    found = planted_atlas().head(planted_head("previous"))
    assert any(
        sentence.startswith("Attention to the previous token: 1.000")
        for sentence in found.sentences
    )
    roles = found.roles.set_index("role")
    assert roles.loc["previous-local", "has"]
    assert not roles.loc["next-local", "has"]
    assert any("previous-local" in sentence for sentence in found.sentences)


def test_a_uniform_head_has_no_role() -> None:
    found = planted_atlas().head(planted_head("uniform"))
    assert not found.roles["has"].any()
    assert not any(sentence.startswith(("Has the role", "Finds")) for sentence in found.sentences)


def test_relations_in_sentences_beat_the_offset_by_a_corrected_test() -> None:
    found = planted_atlas().head(planted_head("previous"))
    named = {sentence.split()[1] for sentence in found.sentences if sentence.startswith("Finds")}
    tested = set(found.relations[found.relations["p"] < 0.05]["relation"])
    assert named <= tested


def test_it_prints_itself_and_shows_itself_escaped_in_a_notebook() -> None:
    atlas = made_results(2, 3, model="<script>alert(1)</script>")
    found = atlas.head("L1H2")
    text = str(found)
    assert text.splitlines()[0].startswith("Head 2-3 (L1H2) of ")
    assert "attention to the previous token" in text
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()


@pytest.mark.parametrize("head", ["3-1", "1-4", "L2H0", "0-1", "x"])
def test_a_head_that_does_not_exist_is_refused(head: str) -> None:
    with pytest.raises(UserError):
        made_results(2, 3).head(head)


def test_a_head_of_which_nothing_stands_out_says_that() -> None:
    values = {"position": np.full((2, 3, 3), 0.1)}
    values["position"][1, 2] = 0.2
    found = made_results(2, 3, values=values).head("1-1")
    assert found.sentences == ["Nothing stands out: no role, no relation, no extreme statistic."]
