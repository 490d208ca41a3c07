"""Attention as lines between two columns of words: what the chart says, and what is drawn of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.figures.lines import BLUE, NARROW, NEAR, RED, attention_lines, attention_panel
from headscope.figures.save import save_chart
from refusals import refusal

TOKENS = ["[CLS]", "dogs", "bark", "[SEP]"]
MAP = np.array(
    [[0.9, 0.0, 0.04, 0.06], [0.25, 0.5, 0.2, 0.05], [0.0, 0.97, 0.01, 0.02], [0.3, 0.0, 0.0, 0.7]]
)


def layers(chart: Any) -> list[list[dict[str, Any]]]:
    """The records of each layer of one drawing: lines, left words, right words."""
    spec = chart.to_dict()
    return [
        spec["datasets"][layer["data"]["name"]]
        if "name" in layer["data"]
        else layer["data"]["values"]
        for layer in spec["layer"]
    ]


def lines(**options: Any) -> dict[tuple[int, int], dict[str, Any]]:
    records = layers(attention_lines(TOKENS, MAP, title="Head 1-1", **options))[0]
    assert len(records) == len({(line["query"], line["key"]) for line in records})
    return {(line["query"], line["key"]): line for line in records}


@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.05, 0.6])
def test_there_is_one_line_for_each_pair_over_the_threshold_with_its_weight_and_words(threshold):
    expected = {
        (i, j): (MAP[i, j], TOKENS[i], TOKENS[j])
        for i in range(4)
        for j in range(4)
        if MAP[i, j] > threshold
    }
    assert {
        pair: (line["weight"], line["from"], line["to"])
        for pair, line in lines(threshold=threshold).items()
    } == expected


def test_weights_too_small_to_see_are_not_drawn_by_default():
    assert (2, 2) not in lines()
    assert (0, 2) in lines()


def test_the_opacity_of_a_line_is_its_weight():
    encoding = attention_lines(TOKENS, MAP, title="Head 1-1").to_dict()["layer"][0]["encoding"]
    assert encoding["opacity"] == {"field": "weight", "type": "quantitative", "scale": None}


def test_attention_to_and_from_a_red_word_is_red_and_nothing_else_is():
    expected = {(1, 0), (1, 1), (1, 2), (1, 3), (2, 1)}
    assert {pair for pair, line in lines(red=[1]).items() if line["colour"] == RED} == expected
    assert {line["colour"] for line in lines().values()} == {BLUE}


def test_red_lines_lie_over_the_others_and_strong_ones_over_weak_ones():
    records = layers(attention_lines(TOKENS, MAP, title="Head 1-1", red=[1]))[0]
    colours = [line["colour"] for line in records]
    assert colours == [BLUE] * colours.count(BLUE) + [RED] * colours.count(RED)
    weights = [line["weight"] for line in records if line["colour"] == BLUE]
    assert weights == sorted(weights)


def test_red_words_are_red_in_both_columns():
    _, left, right = layers(attention_lines(TOKENS, MAP, title="Head 1-1", red={1}))
    for column in (left, right):
        assert [row["word"] for row in column if row["colour"] == RED] == ["dogs"]


def test_the_words_stand_in_order_in_both_columns_under_from_and_to():
    _, left, right = layers(attention_lines(TOKENS, MAP, title="Head 1-1"))
    for column, heading in ((left, "from"), (right, "to")):
        expected = [heading, *TOKENS]
        assert [row["word"] for row in sorted(column, key=lambda row: row["query"])] == expected


def test_attention_to_a_hidden_word_is_not_drawn_and_attention_from_it_is():
    drawn = lines(hide=[3])
    assert not [pair for pair in drawn if pair[1] == 3]
    assert (3, 0) in drawn
    _, left, right = layers(attention_lines(TOKENS, MAP, title="Head 1-1", hide=[3]))
    assert [row["word"] for row in left] == [*TOKENS, "from"]
    assert right[3]["word"] == "[SEP]"
    assert right[3]["colour"] not in {right[2]["colour"], RED}


def test_a_half_precision_weight_just_over_one_counts_as_one():
    records = layers(attention_lines(["a"], [[1.004]], title="Head 1-1"))[0]
    assert [line["weight"] for line in records] == [1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: attention_lines(["a", "b"], np.ones((2, 3)) / 3, title=""),
            "the attention must be square (query, key), got the shape (2, 3) instead",
        ),
        (
            lambda: attention_lines(["a"], np.ones((1, 1, 1)), title=""),
            "the attention must be square (query, key), got the shape (1, 1, 1) instead",
        ),
        (
            lambda: attention_lines(["a", "b", "c"], np.eye(2), title=""),
            "the attention must have one row and column for each token: got 3 tokens and 2 rows",
        ),
        (
            lambda: attention_lines([], np.zeros((0, 0)), title=""),
            "there must be at least one token to draw, got none",
        ),
        (
            lambda: attention_lines(["a", "b"], [[np.nan, 1], [np.inf, 0]], title=""),
            "the attention must be finite, got 2 values that are not",
        ),
        (
            lambda: attention_lines(["a", "b"], [[-3.0, 4.0], [0, 1]], title=""),
            "the attention must lie between 0 and 1, got -3 to 4 instead",
        ),
        (
            lambda: attention_lines(["a"], [["x"]], title=""),
            "the attention must be a square array of numbers; "
            "could not convert string to float: 'x'",
        ),
        (
            lambda: attention_lines("ab", np.eye(2), title=""),
            "the tokens must be a list of strings, got the string 'ab' instead",
        ),
        (
            lambda: attention_lines(["a", "b"], np.eye(2), title="", red=[2]),
            "the red words must be positions from 0 to 1, got 2 instead",
        ),
        (
            lambda: attention_lines(["a", "b"], np.eye(2), title="", hide=[-1]),
            "the hidden words must be positions from 0 to 1, got -1 instead",
        ),
        (
            lambda: attention_lines(["a", "b"], np.eye(2), title="", red=["a"]),
            "the red words must be given by position (0 to 1), got ['a'] instead",
        ),
        (lambda: attention_panel([]), "a panel must have at least one drawing, got none"),
        (
            lambda: attention_panel([attention_lines(["a"], [[1]], title="")], columns=0),
            "the columns of a panel must be at least 1, got 0 instead",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(call, message):
    assert refusal(UserError, call).message == message


def test_a_panel_holds_every_head_with_its_own_title_and_one_look():
    heads = [attention_lines(TOKENS, MAP, title=f"Head 1-{head}") for head in (1, 2, 3)]
    spec = attention_panel(heads, columns=2).to_dict()
    expected = [["Head 1-1"], ["Head 1-2"], ["Head 1-3"]]
    assert [part["title"]["text"] for part in spec["concat"]] == expected
    assert spec["columns"] == 2
    assert "title" not in spec
    assert spec["config"] == heads[0].to_dict()["config"]
    assert not any("config" in part for part in spec["concat"])


def test_a_panel_can_have_a_title_over_all_and_leaves_its_parts_as_they_were():
    head = attention_lines(TOKENS, MAP, title="Head 1-1")
    before = head.to_dict()
    assert (
        attention_panel([head], title="Two heads", subtitle="a model").to_dict()["title"]["text"]
        == "Two heads"
    )
    assert head.to_dict() == before


def test_long_titles_are_broken_into_lines_and_no_word_of_them_is_lost():
    subtitle = (
        "direct objects attend to their verbs, and other words mostly to the separator\n"
        "86.8 % right"
    )
    title = attention_lines(TOKENS, MAP, title="Head 8-10", subtitle=subtitle).to_dict()["title"]
    assert len(title["subtitle"]) > 2
    assert " ".join(title["subtitle"]).split() == subtitle.split()
    assert title["subtitle"][-1] == "86.8 % right"


def test_sixty_tokens_leave_each_word_a_row_taller_than_its_letters():
    spec = attention_lines(
        ["word"] * 60, np.full((60, 60), 1 / 60), title="Head 1-1", threshold=0
    ).to_dict()
    assert spec["height"] / 61 > spec["layer"][1]["mark"]["fontSize"] >= 10
    assert spec["height"] < 1000


def drawn(chart: Any, path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(
        save_chart(chart, path).read_text(encoding="utf-8")
    )  # fails on SVG that is not XML


def test_in_the_drawing_each_line_runs_from_its_word_on_the_left_to_its_word_on_the_right(tmp_path):
    svg = drawn(
        attention_lines(TOKENS, MAP, title="Head 1-1", threshold=0.6, red=[1]),
        tmp_path / "lines.svg",
    )
    place = {}
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        if text.text in TOKENS:
            x, y = map(float, re.findall(r"[-\d.]+", text.attrib["transform"])[:2])
            place[text.text, text.attrib["text-anchor"]] = x, y
    ends = {}
    for line in svg.iter("{http://www.w3.org/2000/svg}line"):
        x, y = map(float, re.findall(r"[-\d.]+", line.attrib["transform"])[:2])
        there = x + float(line.attrib["x2"]), y + float(line.attrib["y2"])
        start, end = sorted([(x, y), there])
        nearest = [
            min(
                (abs(word[1] - at[1]), name)
                for (name, side), word in place.items()
                if side == anchor
            )
            for at, anchor in ((start, "end"), (end, "start"))
        ]
        assert max(distance for distance, _ in nearest) < 6
        assert place["dogs", "end"][0] < start[0] < end[0] < place["dogs", "start"][0]
        ends[nearest[0][1], nearest[1][1]] = (
            float(line.attrib["opacity"]),
            line.attrib["stroke"].lower(),
        )
    assert ends == {
        ("[CLS]", "[CLS]"): (0.9, BLUE.lower()),
        ("bark", "dogs"): (0.97, RED.lower()),
        ("[SEP]", "[SEP]"): (0.7, BLUE.lower()),
    }


def test_words_are_drawn_letter_for_letter_whatever_markup_they_look_like(tmp_path):
    odd = ["<s>", "<b>x</b>", "&amp;", "Ġthe", "字", "$x^2$"]
    svg = drawn(attention_lines(odd, np.eye(6), title="<i>Head</i> & co"), tmp_path / "odd.svg")
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    for word in odd:
        assert texts.count(word) == 2
    assert "<i>Head</i> & co" in texts
    allowed = {"svg", "g", "rect", "path", "line", "text", "tspan", "defs", "clipPath", "style"}
    assert {element.tag.rpartition("}")[2] for element in svg.iter()} <= allowed


def test_only_a_word_too_wide_for_any_column_is_cut_and_its_whole_shows_on_hover(tmp_path):
    words = ["WWWWWWWWWW", "iiiiiiiiii", "MMMM", "internationalisation", "x" * 80]
    chart = attention_lines(words, np.eye(5), title="Head 1-1", red=[3])
    texts = [
        element.text
        for element in drawn(chart, tmp_path / "wide.svg").iter("{http://www.w3.org/2000/svg}text")
    ]
    assert [texts.count(word) for word in words] == [2, 2, 2, 2, 0]
    assert len([text for text in texts if text and re.fullmatch("x+…", text)]) == 2
    assert words[4] in {row["word"] for row in layers(chart)[1]}


def test_characters_that_cannot_be_drawn_are_spelled_out(tmp_path):
    svg = drawn(
        attention_lines(["a\n", "\x00", "\ud800"], np.eye(3), title="Head 1-1"),
        tmp_path / "control.svg",
    )
    assert {r"a\n", r"\x00", r"\ud800"} <= {
        element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")
    }


def test_a_head_with_nothing_over_the_threshold_still_shows_its_words(tmp_path):
    svg = drawn(
        attention_lines(["a", "b"], np.full((2, 2), 0.01), title="Head 1-1"), tmp_path / "empty.svg"
    )
    assert not list(svg.iter("{http://www.w3.org/2000/svg}line"))
    found = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")].count("a")
    assert found == 2


@pytest.mark.parametrize(
    ("kind", "start"),
    [("png", b"\x89PNG\r\n\x1a\n"), ("pdf", b"%PDF-"), ("html", b"<!DOCTYPE html>")],
)
def test_a_panel_saves_in_every_format(tmp_path, kind, start):
    panel = attention_panel(
        [attention_lines(TOKENS, MAP, title=f"Head 1-{head}", red=[1]) for head in (1, 2)]
    )
    content = save_chart(panel, tmp_path / f"panel.{kind}").read_bytes()
    assert content.lstrip().startswith(start)
    assert len(content) > 5000


def test_two_narrow_drawings_fit_a_page_of_700_pixels_whatever_the_words():
    words = ["[CLS]", "industrial-production", "[SEP]"]
    chart = attention_lines(
        words, np.eye(3), title="Head 1-1", red=[1], widest=NARROW, between=NEAR
    ).to_dict()
    # Two of them with 40 pixels between; a figure has 622 pixels, and text is 11 pixels high.
    assert 11 * 622 / (2 * chart["width"] + 40) >= 10.5
    assert [layer["mark"]["limit"] for layer in chart["layer"][1:]] == [NARROW] * 2
