"""Cross-fitting from one survey is what two surveys of the halves give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
import pytest

from headscope.corpus import Example, bucket_of, from_examples, read
from headscope.results import Atlas
from headscope.runs.survey import survey
from headscope.stats import antecedent_table, best_heads

WAYS = ("dependent to head", "head to dependent")


def half(examples: Sequence[Example], number: int) -> list[Example]:
    return [example for example in examples if bucket_of(example) % 2 == number]


def right_at(atlas: Atlas, relation: str) -> dict[tuple[str, int, int], tuple[float, int]]:
    """Right answers and words of every direction and head, in the order of the table."""
    data = atlas["dependency"].sel(relation=relation, words="every", direction=list(WAYS))
    dims = ("direction", "layer", "head")
    right = data["sum"].sum("bucket").transpose(*dims).values.ravel().tolist()
    words = data["n"].transpose(*dims).values.ravel().tolist()
    places = product(WAYS, data["layer"].values.tolist(), data["head"].values.tolist())
    return dict(zip(places, zip(right, words, strict=True), strict=True))


@cache
def passages() -> list[Example]:
    return list(read("demo", limit=40))


def surveyed(examples: list[Example]) -> Atlas:
    return survey("demo", from_examples(examples), measures=["dependency", "coreference"])


@pytest.fixture(scope="module")
def whole():
    return surveyed(passages())


@pytest.fixture(scope="module")
def halves():
    return [surveyed(half(passages(), number)) for number in (0, 1)]


@pytest.mark.slow
def test_heads_chosen_on_one_half_are_scored_on_the_other(whole, halves):
    table = best_heads(whole).set_index("relation")
    for relation in ("all", "det", "nsubj", "pobj", "amod"):
        scores = [right_at(one, relation) for one in halves]
        chosen = [max(one, key=one.__getitem__) for one in scores]  # all have the same words
        right = scores[1][chosen[0]][0] + scores[0][chosen[1]][0]
        words = scores[1][chosen[0]][1] + scores[0][chosen[1]][1]
        row = table.loc[relation]
        assert row["held_out"] == pytest.approx(right / words), relation
        names = dict.fromkeys(f"{layer}-{head}" for _, layer, head in chosen)
        assert [name.split(" ")[0] for name in row["held_out_head"].split(" | ")] == list(names)
        # The offset is chosen on the sentences of the other half.
        by_offset = [
            _offset_right(half(passages(), 1), halves[0], relation),
            _offset_right(half(passages(), 0), halves[1], relation),
        ]
        assert row["held_out_baseline"] == pytest.approx(sum(by_offset) / words, abs=0.02)


def _offset_right(examples: Sequence[Example], chooser: Atlas, relation: str) -> int:
    """How many words of the examples have their head word at the offset that was chosen apart."""
    offset = json.loads(chooser["dependency"].attrs["offsets"])[relation]
    return sum(
        word.head is not None and word.head >= 0 and word.head - index == offset
        for example in examples
        for index, word in enumerate(example.words)
        if relation in ("all", word.relation)
    )


@pytest.mark.slow
def test_the_coreference_head_is_chosen_apart_too(whole, halves):
    scores = []
    for part in halves:
        data = part["coreference"].sel(candidates="mentions", kind="all", mentions="every")
        right_answers = data["sum"].sum("bucket").transpose("layer", "head").values
        asked = data["n"].transpose("layer", "head").values
        scores.append(
            {
                place: (float(right_answers[place]), int(asked[place]))
                for place in np.ndindex(asked.shape)
            }
        )
    chosen = [max(one, key=one.__getitem__) for one in scores]
    right = scores[1][chosen[0]][0] + scores[0][chosen[1]][0]
    mentions = scores[0][chosen[0]][1] + scores[1][chosen[1]][1]
    table = antecedent_table(whole)
    row = table[table["system"].str.startswith("held out: head ")].iloc[0]
    assert row["all"] == pytest.approx(right / mentions)
