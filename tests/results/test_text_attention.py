"""The attention of one text: its tables, its drawing, and how it prints itself."""

from xml.etree import ElementTree

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.results.text_attention import SHOWN, TextAttention

TOKENS = ["[CLS]", "the", "<b>dog</b>", "the", "[SEP]"]
SPECIAL = [True, False, False, False, True]


@pytest.fixture
def found():
    """Two layers of three heads over five tokens, seeded."""
    weights = np.random.default_rng(0).dirichlet(np.ones(5) / 3, size=(2, 3, 5))
    return TextAttention.build(weights, tokens=TOKENS, special=SPECIAL, model="<i>toy</i>")


def test_tokens_that_repeat_are_told_apart_by_position(found):
    assert found.tokens == tuple(TOKENS)
    assert found.maps["query"].values.tolist() == [0, 1, 2, 3, 4]
    assert found.maps["query_token"].values.tolist() == TOKENS
    assert found.maps.sel(layer=2, head=3, query=1, key=3).shape == ()


def test_the_table_has_the_strongest_links_of_each_head(found):
    table = found.table(top=4)
    expected = [name for name in ("1-1", "1-2", "1-3", "2-1", "2-2", "2-3") for _ in range(4)]
    assert table["head"].tolist() == expected
    for head, rows in table.groupby("head"):
        weights = found.head(str(head)).values
        assert rows["weight"].tolist() == sorted(weights.ravel().tolist(), reverse=True)[:4]
        for row in rows.to_dict("records"):
            assert row["weight"] == weights[row["query"], row["key"]]
            assert (row["from"], row["to"]) == (TOKENS[row["query"]], TOKENS[row["key"]])


def test_the_table_can_be_without_special_tokens(found):
    table = found.table("2-1", top=100, special=False)
    assert len(table) == 9
    assert not set(table["from"]) & {"[CLS]", "[SEP]"}
    assert not set(table["to"]) & {"[CLS]", "[SEP]"}


def test_the_overview_has_one_link_per_head_between_different_words(found):
    overview = found.overview()
    assert sorted(overview["head"]) == ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]
    assert overview["weight"].tolist() == sorted(overview["weight"], reverse=True)
    for row in overview.to_dict("records"):
        weights = found.head(row["head"]).values
        best = max(weights[i, j] for i in (1, 2, 3) for j in (1, 2, 3) if i != j)
        assert row["weight"] == best


def test_it_prints_its_tokens_and_its_strongest_links(found):
    lines = repr(found).splitlines()
    assert lines[0] == "Attention of <i>toy</i> over 5 tokens, 2 layers × 3 heads"
    assert lines[1] == "[CLS] the <b>dog</b> the [SEP]"
    assert lines[2].split() == ["head", "from", "to", "weight"]
    first = found.overview().iloc[0]
    assert lines[3].split() == [first["head"], first["from"], first["to"], f"{first['weight']:.3f}"]
    assert len(lines) == 3 + 6


def test_a_text_of_one_word_has_no_links_and_prints_all_the_same():
    one = TextAttention.build(np.ones((1, 1, 1, 1)), tokens=["dog"], special=[False], model="toy")
    assert repr(one) == "Attention of toy over 1 tokens, 1 layer × 1 head\ndog"


def test_in_a_notebook_it_draws_itself_with_everything_escaped(found):
    html = found._repr_html_()
    tree = ElementTree.fromstring(html)  # fails on what is not well-formed
    tags = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert tags == {"figure", "figcaption", "div", "svg", "text", "title", "line"}
    texts = [element.text for element in tree.iter() if element.text]
    assert "<b>dog</b>" in texts
    assert any("<i>toy</i>" in text for text in texts)
    lines = [element for element in tree.iter() if element.tag.endswith("line")]
    assert len(lines) == int((found.maps.values > 0.05).sum())
    assert "http://www.w3.org/2000/svg" in html
    assert html.count("http") == html.count("http://www.w3.org/2000/svg")


def test_many_heads_are_drawn_as_the_strongest_few():
    weights = np.random.default_rng(1).dirichlet(np.ones(4), size=(12, 12, 4))
    many = TextAttention.build(weights, tokens=list("abcd"), special=[False] * 4, model="toy")
    assert many._repr_html_().count("<svg") == SHOWN
    assert len(many.lines().concat) == SHOWN


def test_words_are_found_whatever_their_case_and_everywhere(found):
    assert found.find(["THE", "[SEP]", 0]) == [1, 3, 4, 0]
    with pytest.raises(UserError, match=r"got 'teh' instead\. Did you mean 'the'\?$"):
        found.find(["teh"])
    with pytest.raises(UserError, match=r"^the words must be a list, got the string 'the'"):
        found.find("the")


def test_lines_draw_one_head_or_several_beside_each_other(found):
    one = found.lines("1-3", red=["the"], hide=["[SEP]"], threshold=0)
    records = one.to_dict()["layer"][0]["data"]
    drawn = one.to_dict()["datasets"][records["name"]] if "name" in records else records["values"]
    expected = {(i, j) for i in range(5) for j in range(4)}
    assert {(line["query"], line["key"]) for line in drawn} == expected
    expected = [["Head 1-3"], ["Head 2-1"]]
    assert [chart.title.text for chart in found.lines("1-3,2-1").concat] == expected


def test_a_head_that_is_not_there_is_refused(found):
    with pytest.raises(UserError, match=r"^the model has no head 3-1"):
        found.table("3-1")
    with pytest.raises(UserError, match=r"^top must be 1 or more, got 0 instead$"):
        found.table(top=0)
