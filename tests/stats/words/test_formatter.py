"""The table of sentences: every place can be filled, and what is filled in is never a mark."""

from __future__ import annotations

import string
from collections.abc import Iterator

import pytest

from headscope.measures.roles import ROLES
from headscope.stats.heads.excess import FAMILIES, ORDER
from headscope.stats.words.formatter import (
    fill,
    listed,
    parts,
    relation_words,
    role_name,
    say,
    table,
)

FORMS = ("", "%", "±", "p", "#", "g", "and", "or", "name", "^", ".0f", ".1f", ".2f", "+.2f", ".3f",
         "@", "few")  # fmt: skip


def texts() -> Iterator[tuple[str, str]]:
    """Every sentence with its place in the table, and those that roles bring."""
    for role in ROLES.values():
        yield from ((f"{role.name}.{name}", text) for name, text in vars(role.words).items())
    for section, rows in table().items():
        for name, row in rows.items():
            if isinstance(row, str):
                yield f"{section}.{name}", row
            else:
                for text in row.values() if isinstance(row, dict) else row:
                    yield f"{section}.{name}", text


@pytest.mark.parametrize(("where", "text"), list(texts()))
def test_every_place_has_a_known_form_and_every_mark_its_partner(where, text):
    for _, name, form, _ in string.Formatter().parse(text):
        assert name is None or form in FORMS or form.count("|") == 1, where
        assert name is None or (form in ("@", "few")) <= (name == "heads"), where
    assert text.count("⟦") == text.count("⟧")
    assert text.count("**") % 2 == 0


def test_every_role_and_family_has_its_words():
    assert set(ROLES) == set(FAMILIES)
    assert set(table()["family"]) == set(ORDER)
    for role in ROLES.values():
        words = role.words
        assert all((words.name, words.looks, words.leans, words.share, words.does))
        assert "{share}" in words.share
        assert "{share}" in words.brief
    for family in table()["family"].values():
        assert "{n:" in family
        assert family.count("**") == 2


def test_what_is_filled_in_is_not_read_as_a_mark():
    line = parts("model.relation", heads=["1-1"], what="a **⟦b⟧** {c}", relation="x", accuracy=0.5,
                 words=9, offset=0.1, p=0.01, rivals="", held_out="")  # fmt: skip
    expected = [("1-1", ("1-1",), False), (" finds ", (), False), ("a **⟦b⟧** {c}", (), True)]
    assert [(part.text, part.heads, part.strong) for part in line][:3] == expected


def test_numbers_choose_between_one_and_many():
    assert fill("{n:name} {n:head rests|heads rest}", n=1) == "one head rests"
    assert fill("{n:name} {n:head rests|heads rest}", n=13) == "13 heads rest"
    assert fill("{gains:gains|costs}", gains=True) == "gains"
    assert fill("{names:and} or {names:or}", names=["a", "b"]) == f"{listed(['a', 'b'])} or a or b"


def test_a_subtype_has_the_words_of_its_kind_and_an_unknown_relation_its_name():
    assert relation_words("nsubj:outer", "head to dependent") == "the subject of a verb"
    assert relation_words("poss", "dependent to head") == "the noun of a possessor"
    assert relation_words("x{y}", "head to dependent") == "the dependent of “x{y}”"
    assert role_name("near") == "near tokens"
    assert say("fact.change", what="mean of x", change="+0.1", p=0.2).startswith("Mean of x")
