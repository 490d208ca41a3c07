"""The words that a head attends from and to most, against plain loops on made examples."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from headscope.results.kept import KeptExamples, KeptMap
from headscope.stats.tables.examples import top_keys, top_pairs, top_queries
from stats.made_examples import map_of, text_of

WORDS = ["the", "The", "dog", "unhappy", "cat", ".", "saw", "a"]


class Made(KeptExamples):
    """Kept examples whose sample is given."""

    def __init__(self, maps: list[KeptMap]) -> None:
        self.maps = maps

    def sample(self, head: Any) -> list[KeptMap]:
        return self.maps[::-1]


@pytest.fixture
def kept() -> Made:
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


def test_pairs_are_averaged_over_the_places_where_they_are_seen(kept: Made) -> None:
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
    often = [one.seen >= 2 for one in found]
    assert True in often
    assert often == sorted(often, reverse=True)
    for group in (True, False):
        means = [one.attention for one in found if (one.seen >= 2) == group]
        assert means == sorted(means, reverse=True)
    assert top_pairs(kept, "1-1", n=3) == found[:3]


def test_queries_and_keys_have_their_share_of_all_attention_between_words(kept: Made) -> None:
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


def test_nothing_kept_gives_nothing() -> None:
    empty = Made([])
    assert top_pairs(empty, "1-1") == top_queries(empty, "1-1") == top_keys(empty, "1-1") == []
