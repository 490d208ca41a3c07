"""Tables of examples: what counts for and against a relation, on maps made by hand.

The words that a head attends from and to most, against plain loops on made examples.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headscope.errors import UserError
from headscope.results.kept import KeptExamples, KeptMap
from headscope.stats.tables.examples import (
    DOWN,
    PLAIN,
    RELATED,
    UP,
    example_table,
    strongest_links,
    top_keys,
    top_pairs,
    top_queries,
    word_weights,
)
from stats.made_examples import map_of, text_of

# [CLS] the dog saw a cat . [SEP]
TREE = [
    ("the", 1, "det"),
    ("dog", 2, "nsubj"),
    ("saw", -1, "root"),
    ("a", 4, "det"),
    ("cat", 2, "dobj"),
    (".", 2, "punct"),
]
TEXT = text_of(TREE)
BOTH = {(1, 2): 0.7, (4, 5): 0.6, (4, 0): 0.4, (1, 0): 0.3, (2, 6): 0.9, (6, 5): 0.8}
ONE = {(1, 2): 0.2, (1, 3): 0.3, (4, 5): 0.5, (4, 7): 0.5}
NONE = {(1, 3): 0.6, (1, 2): 0.1, (5, 4): 0.2}


def test_without_a_relation_the_strongest_come_first_with_their_links():
    maps = [map_of(text_of(TREE, number=3), ONE, 0.3), map_of(TEXT, BOTH, 0.8)]
    table = example_table(maps, "3-9", k=5)
    assert list(table.columns) == PLAIN
    assert table["id"].tolist() == ["text 1", "text 3"]
    assert table["rank"].tolist() == [1, 2]
    assert table["score"].tolist() == [0.8, 0.3]
    assert table["text"].tolist() == ["the dog saw a cat ."] * 2
    # Neither the full stop nor a special token has a link.
    expected = ["the → dog 0.70; a → cat 0.60", "a → cat 0.50; the → saw 0.30; the → dog 0.20"]
    assert table["links"].tolist() == expected
    assert example_table(maps, "3-9", k=1)["id"].tolist() == ["text 1"]


def test_of_equal_scores_the_first_of_the_corpus_comes_first():
    maps = [map_of(text_of(TREE, number=number), BOTH) for number in (7, 2, 5)]
    assert example_table(maps, "1-1")["id"].tolist() == ["text 2", "text 5", "text 7"]


def test_pairs_of_a_relation_are_counted_and_sorted_for_and_against():
    maps = [
        map_of(text_of(TREE, number=number), links)
        for number, links in ((1, NONE), (2, ONE), (3, BOTH))
    ]
    table = example_table(maps, "3-9", relation="det")
    assert list(table.columns) == RELATED
    assert table["id"].tolist() == ["text 3", "text 2", "text 1"]
    assert table["found"].tolist() == [2, 1, 0]
    assert table["of"].tolist() == [2, 2, 2]
    assert table["side"].tolist() == ["for", "for", "against"]
    assert table["attention"].tolist() == pytest.approx([0.65, 0.35, 0.05])
    assert set(table["direction"]) == {UP}
    assert table["links"].tolist() == [
        "the → dog 0.70; a → cat 0.60",
        "a → cat 0.50; the → saw 0.30, not dog 0.20",
        "the → saw 0.60, not dog 0.10; a → nothing, not cat",
    ]


def test_the_direction_in_which_more_is_found_is_taken():
    down = {(2, 1): 0.5, (5, 4): 0.6, (1, 3): 0.9}
    table = example_table([map_of(TEXT, down)], "1-1", relation="det")
    assert table["direction"].tolist() == [DOWN]
    assert (table["found"][0], table["of"][0]) == (2, 2)
    assert table["links"][0] == "cat → a 0.60; dog → the 0.50"


def test_special_tokens_and_other_sentences_are_no_answers():
    links = {(1, 0): 0.9, (1, 2): 0.05, (4, 2): 0.8, (4, 5): 0.1}
    text = text_of(TREE, sentences=[0, 0, 0, 1, 1, 1])
    table = example_table([map_of(text, links)], "1-1", relation="det")
    assert (table["found"][0], table["of"][0]) == (2, 2)
    apart = example_table([map_of(TEXT, links)], "1-1", relation="det")
    assert (apart["found"][0], apart["of"][0]) == (1, 2)


def test_half_of_the_rows_count_for_and_half_against():
    maps = [
        map_of(text_of(TREE, number=number), {(1, 2): number / 100, (4, 5): 0.5})
        for number in range(1, 10)
    ]
    table = example_table(maps, "1-1", relation="det", k=5)
    assert table["id"].tolist() == ["text 9", "text 8", "text 7", "text 2", "text 1"]


def test_subtypes_count_under_their_kind_too():
    text = text_of([("my", 1, "nmod:poss"), ("dog", -1, "root")])
    found = map_of(text, {(1, 2): 0.5})
    for relation in ("nmod", "nmod:poss"):
        assert example_table([found], "1-1", relation=relation)["found"].tolist() == [1]


@pytest.mark.parametrize(
    ("role", "links", "found", "of"),
    [
        # "." is a sink: never an answer, but it is asked.
        ("previous", {(2, 1): 0.5, (3, 1): 0.5, (6, 5): 0.4}, 2, 5),
        ("next", {(1, 2): 0.5, (2, 3): 0.4, (2, 4): 0.5}, 1, 4),
        ("near", {(1, 3): 0.5, (2, 4): 0.4, (5, 2): 0.9}, 2, 6),
        ("itself", {(1, 1): 0.5, (2, 2): 0.3, (2, 3): 0.4}, 1, 5),
    ],
)
def test_roles_are_counted_token_by_token(role, links, found, of):
    table = example_table([map_of(TEXT, links)], "1-1", relation=role)
    assert (table["found"][0], table["of"][0]) == (found, of)
    assert table["direction"][0] == ""


def test_the_same_token_elsewhere_is_found_whatever_its_case():
    text = text_of([("The", -2, ""), ("cat", -2, ""), ("the", -2, ""), ("dog", -2, "")])
    table = example_table([map_of(text, {(1, 3): 0.4, (3, 2): 0.6})], "1-1", relation="same")
    assert (table["found"][0], table["of"][0]) == (1, 2)


def test_an_unknown_relation_is_answered_with_those_there_are():
    with pytest.raises(UserError, match=r"det, dobj.*previous.*Did you mean 'det'") as caught:
        example_table([map_of(TEXT, BOTH)], "1-1", relation="dett")
    assert "root" not in caught.value.message
    bare = text_of([("a", -2, ""), ("dog", -2, "")])
    with pytest.raises(UserError, match="have no dependency trees") as caught:
        example_table([map_of(bare, {(1, 2): 0.5})], "1-1", relation="det")
    assert "parse=True" in caught.value.hint


def test_k_must_be_1_or_more():
    with pytest.raises(UserError, match="must be 1 or more, got 0"):
        example_table([map_of(TEXT, BOTH)], "1-1", k=0)


def test_words_in_pieces_are_summed_as_keys_and_averaged_as_queries():
    text = text_of([("unhappy", -2, ""), ("dogs", -2, "")], pieces={0: ["un", "happy"]})
    found = map_of(text, {(1, 3): 0.4, (2, 3): 0.8, (3, 1): 0.2, (3, 2): 0.3, (1, 2): 0.5})
    assert word_weights(found).round(4).tolist() == [[0.25, 0.6], [0.5, 0.0]]
    assert [(query, key) for query, key, _ in strongest_links(found, 9)] == [(0, 1), (1, 0)]


def test_a_table_prints_texts_with_links_and_part_of_it_as_any_frame():
    table = example_table([map_of(TEXT, BOTH, 0.8)], "3-9")
    assert repr(table) == (
        "Head 3-9: the examples on which it is strongest\n"
        "  1  strength 0.80  text 1\n"
        "     the dog saw a cat .\n"
        "     the → dog 0.70; a → cat 0.60"
    )
    assert "dog 0.70" in table._repr_html_()
    assert repr(table[["id"]]) == repr(pd.DataFrame({"id": ["text 1"]}))
    assert isinstance(table, pd.DataFrame)
    related = example_table([map_of(TEXT, BOTH, 0.8)], "3-9", relation="det")
    assert repr(related).splitlines()[:2] == [
        "Head 3-9, det, dependent → head word: 2 of 2 found in 1 example",
        "  1  for: 2 of 2 found, attention 0.65  (strength 0.80  text 1)",
    ]


WORDS = ["the", "The", "dog", "unhappy", "cat", ".", "saw", "a"]


class Made(KeptExamples):
    """Kept examples whose sample is given."""

    def __init__(self, maps: list[KeptMap]) -> None:
        self.maps = maps

    def sample(self, head: Any) -> list[KeptMap]:
        return self.maps[::-1]


@pytest.fixture
def kept():
    random = np.random.default_rng(5)
    maps = []
    for number in range(1, 7):
        chosen = [(str(word), -2, "") for word in random.choice(WORDS, 7)]
        split = {place: ["un", "happy"] for place, one in enumerate(chosen) if one[0] == "unhappy"}
        text = text_of(chosen, number=number, pieces=split)
        size = len(text.tokens)
        places = random.choice(size * size, 20, replace=False)
        links = {divmod(int(one), size): round(float(random.random()), 3) for one in places}
        maps.append(map_of(text, links))
    return Made(maps)


def plain_links(kept: Made) -> list[tuple[str, str, float]]:
    """Every link from a word to another one, sinks excluded, word by word."""
    found = []
    for one in kept.maps:
        text, dense = one.text, one.dense()
        for query in range(len(text.words)):
            for key in range(len(text.words)):
                rows = [place for place, unit in enumerate(text.unit) if unit == query]
                columns = [place for place, unit in enumerate(text.unit) if unit == key]
                if query == key or any(text.sink[place] for place in rows + columns):
                    continue
                weight = sum(float(dense[row, column]) for row in rows for column in columns)
                if weight:
                    names = text.words[query].lower(), text.words[key].lower()
                    found.append((*names, weight / len(rows)))
    return found


def test_pairs_are_averaged_over_the_places_where_they_are_seen(kept):
    weights: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query, key, weight in plain_links(kept):
        weights[query, key].append(weight)
    expected = {pair: (float(np.mean(seen)), len(seen)) for pair, seen in weights.items()}
    found = top_pairs(kept, "1-1", n=100)
    assert {(one.query, one.key) for one in found} == set(expected)
    for one in found:
        mean, seen = expected[one.query, one.key]
        assert one.attention == pytest.approx(mean, abs=1e-6)
        assert one.seen == seen
    groups = [0 if one.seen >= 5 else 1 if one.seen >= 2 else 2 for one in found]
    assert set(groups) == {0, 1, 2}
    assert groups == sorted(groups)
    for group in (0, 1, 2):
        means = [one.attention for one, at in zip(found, groups, strict=True) if at == group]
        assert means == sorted(means, reverse=True)
    assert top_pairs(kept, "1-1", n=3) == found[:3]


def test_queries_and_keys_have_their_share_of_all_attention_between_words(kept):
    links = plain_links(kept)
    total = sum(weight for _, _, weight in links)
    for place, find in ((0, top_queries), (1, top_keys)):
        sums: dict[str, float] = defaultdict(float)
        for link in links:
            sums[str(link[place])] += link[2]
        found = find(kept, "1-1", n=100)
        assert {one.word for one in found} == set(sums)
        for one in found:
            assert one.share == pytest.approx(sums[one.word] / total, abs=1e-6)
        assert sum(one.share for one in found) == pytest.approx(1.0, abs=1e-6)
        shares = [one.share for one in found]
        assert shares == sorted(shares, reverse=True)


def test_nothing_kept_gives_nothing():
    empty = Made([])
    assert top_pairs(empty, "1-1") == top_queries(empty, "1-1") == top_keys(empty, "1-1") == []
