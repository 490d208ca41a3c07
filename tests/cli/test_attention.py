"""``headscope attention``: a table of links, a drawing, and what it refuses."""

from __future__ import annotations

import json

import pytest

from cli.test_mistakes import mistake
from headscope.runs.looking import attention

TEXT = "the cat sat"


def test_the_strongest_link_of_each_head_is_printed(run, tiny_folder):
    done = run("attention", tiny_folder, TEXT, "--json", "--quiet")
    rows = json.loads(done.out)
    expected = attention(tiny_folder, TEXT).overview(20).to_dict("records")
    assert [row["head"] for row in rows] == [row["head"] for row in expected]
    assert [row["weight"] for row in rows] == pytest.approx([row["weight"] for row in expected])
    shown = run("attention", tiny_folder, TEXT, "--top", 1, "--quiet").out
    assert expected[0]["head"] in shown
    assert expected[1]["head"] not in shown


def test_the_links_of_chosen_heads_are_printed(run, tiny_folder):
    asked = ("attention", tiny_folder, TEXT, "--head", "1-3", "--head", "L1H0", "--top", 2)
    rows = json.loads(run(*asked, "--json", "--quiet").out)
    assert [row["head"] for row in rows] == ["1-3", "1-3", "2-1", "2-1"]
    every = json.loads(
        run("attention", tiny_folder, TEXT, "--head", "2-*", "--top", 1, "--json", "--quiet").out
    )
    assert [row["head"] for row in every] == ["2-1", "2-2", "2-3", "2-4"]


def test_a_pair_has_two_segments(run, tiny_folder):
    asked = ("attention", tiny_folder, TEXT, "--pair", "a dog", "--words", "--head", "1-1")
    rows = json.loads(run(*asked, "--top", 100, "--json", "--quiet").out)
    assert {row["from"] for row in rows} == {"[CLS]", "the", "cat", "sat", "[SEP]", "a", "dog"}
    assert max(row["query"] for row in rows) == 7


def test_one_head_or_several_are_drawn(run, tiny_folder, tmp_path):
    path = tmp_path / "cat.svg"
    heads = ("--head", "1-3", "--head", "2-4", "--red", "Cat", "--hide", "[SEP]")
    done = run("attention", tiny_folder, TEXT, *heads, "-o", path, "--quiet")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == str(path)
    drawing = path.read_text(encoding="utf-8")
    for text in ("Head 1-3", "Head 2-4", "[CLS]"):
        assert text in drawing


def test_what_is_not_there_is_refused(run, tiny_folder, tmp_path):
    path = tmp_path / "x.svg"

    def refused(*options: object, text: str = TEXT) -> str:
        return mistake(run("attention", tiny_folder, text, *options, "-o", path, "--quiet"))[0]

    assert refused("--head", "3-1") == (
        "the model has no head 3-1 (L2H0); its heads run from 1-1 to 2-4 (L0H0 to L1H3)"
    )
    assert refused("--red", "dog").startswith("the word must be one of ")
    assert refused(text=" ") == "the text ' ' is empty"
    assert not path.exists()
