"""Attention at work equals plain loops over the tokens, on random maps and random trees."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headscope.corpus import Example, Mention, Word
from headscope.encode import OTHER, SEPARATOR, START, TEXT, Encoded, collate
from headscope.measures import Activity, Context, Entropy, Spread, Together, Work
from headscope.measures.roles import ROLES
from headscope.models import LayerView, Shape
from items import item_of

HEADS = 2
NOUN = {"det", "amod", "case", "nmod"}
VERB = {"nsubj", "obj", "compound:prt"}
RELATIONS = ["det", "nmod:poss", "case", "nsubj", "obj", "compound:prt", "punct", "root"]
PIECES = st.tuples(
    st.sampled_from(RELATIONS),
    st.integers(0, 9),  # the head word, by number
    st.integers(1, 2),  # pieces
    st.integers(1, 4),  # the id of its tokens
    st.booleans(),  # a full stop or comma
    st.booleans(),  # unknown
    st.sampled_from(["", "", "ann", "bob"]),  # the entity of a mention with this head word
)
CASES = st.tuples(
    st.lists(st.lists(PIECES, min_size=1, max_size=6), min_size=1, max_size=3),
    st.sampled_from([START, TEXT, OTHER]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)


def encode(words: list[Any], first: int) -> Encoded:
    """An example with a special token or a plain piece before its words, and a separator after."""
    made, word, ids, stop, unknown, mentions = [], [-1], [9], [False], [False], []
    for number, (relation, head, pieces, token, is_stop, is_unknown, entity) in enumerate(words):
        target = -1 if relation == "root" else head % len(words)
        made.append(Word(str(token), head=target, relation=relation))
        word += [number] * pieces
        ids += [token] * pieces
        stop += [is_stop] * pieces
        unknown += [is_unknown] * pieces
        if entity:  # it begins where the text does: only the head word counts
            mentions.append(Mention(0, number, number, entity))
    kind = [first, *[TEXT] * (len(ids) - 1), SEPARATOR]
    rows = {"word": [*word, -1], "stop": [*stop, False], "unknown": [*unknown, False]}
    example = Example("1", ("",), tuple(made), mentions=tuple(mentions))
    return item_of(example, [*ids, 8], kind=kind, **rows)


def maps_of(items: list[Encoded], width: int, seed: int, causal: bool) -> torch.Tensor:
    random = np.random.default_rng(seed)
    maps = np.zeros((len(items), HEADS, width, width), np.float32)
    for row, item in enumerate(items):
        for head in range(HEADS):
            for query in range(len(item)):
                seen = query + 1 if causal else len(item)
                weights = random.random(seen) ** 4 + 1e-6
                maps[row, head, query, :seen] = weights / weights.sum()
    return torch.from_numpy(maps)


def is_sink(item: Encoded, key: int) -> bool:
    return key == 0 or item.kind[key] != TEXT or bool(item.stop[key])


def role_keys(item: Encoded, role: str, query: int) -> set[int]:
    """The tokens of a role, whether they are sinks or not."""
    size, words = len(item), item.example.words
    if role in {"previous", "next", "near", "itself"}:
        steps = {"previous": [-1], "next": [1], "near": [-2, -1, 1, 2], "itself": [0]}[role]
        return {query + step for step in steps if 0 <= query + step < size}

    def known(token: int) -> bool:
        return item.kind[token] == TEXT and not item.unknown[token]

    same = {
        key
        for key in range(size)
        if key != query and known(key) and known(query) and item.ids[key] == item.ids[query]
    }
    if role == "same":
        return same
    if role == "induction":
        before = max((key for key in same if key < query), default=None)
        return (
            set()
            if before is None or before + 1 >= query or not known(before + 1)
            else {before + 1}
        )
    if role == "antecedent":
        return {
            key
            for key in range(size)
            for mention in item.example.mentions
            for earlier in item.example.mentions
            if earlier.head < mention.head
            and earlier.entity == mention.entity
            and item.word[query] == mention.head
            and item.word[key] == earlier.head
        }
    up, family = role.endswith(("noun", "verb")), NOUN if "noun" in role else VERB
    found: set[int] = set()
    for number, word in enumerate(words):
        label = word.relation if word.relation == "compound:prt" else word.relation.split(":")[0]
        if word.head is None or word.head < 0 or label not in family:
            continue
        ends = (number, word.head) if up else (word.head, number)
        if item.word[query] == ends[0]:
            found |= {key for key in range(size) if item.word[key] == ends[1]}
    return found


def expected_work(
    map: NDArray[Any], item: Encoded, role: str, causal: bool
) -> tuple[float, float, float]:
    attention = uniform = left = 0.0
    some = False
    for query in range(len(item)):
        if item.kind[query] != TEXT:
            continue
        last = query + 1 if causal else len(item)
        open_keys = [key for key in range(last) if not is_sink(item, key)]
        keys = role_keys(item, role, query) & set(open_keys)
        if not keys:
            continue
        some = True
        rest = sum(float(map[query, key]) for key in open_keys)
        attention += sum(float(map[query, key]) for key in keys)
        uniform += rest * len(keys) / len(open_keys)
        left += rest
    return (attention, uniform, left) if some else (math.nan,) * 3


@settings(deadline=None, max_examples=60)
@given(CASES)
def test_work_is_what_plain_loops_give(case):
    lists, first, seed, causal = case
    items = [encode(words, first) for words in lists]
    batch = collate(items)
    maps = maps_of(items, batch.width, seed, causal)
    context = Context(Shape(1, HEADS, 1), causal)
    measure = Work().bind(context, [item.example for item in items])
    tree = any("tree" in item.example.annotations for item in items)
    mentions = any(item.example.mentions for item in items)
    expected_roles = [
        name
        for name, role in ROLES.items()
        if role.pairs
        and (tree or "tree" not in role.needs)
        and (mentions or "mentions" not in role.needs)
        and (causal or "causal" not in role.needs)
        and (not causal or "later" not in role.needs)
    ]
    roles = measure.dims["role"]
    assert list(roles) == expected_roles
    found = run(measure, batch, maps).reshape(len(items), HEADS, len(roles), 3)
    for row, item in enumerate(items):
        for head in range(HEADS):
            for at, role in enumerate(roles):
                want = expected_work(maps[row, head].numpy(), item, role, causal)
                np.testing.assert_allclose(found[row, head, at], want, rtol=1e-5, atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(CASES)
def test_activity_and_spread_are_what_plain_loops_give(case):
    lists, first, seed, causal = case
    items = [encode(words, first) for words in lists]
    batch = collate(items)
    maps = maps_of(items, batch.width, seed, causal)
    context = Context(Shape(1, HEADS, 1), causal)
    shares = run(Activity().bind(context, []), batch, maps)
    spread = run(Spread().bind(context, []), batch, maps)
    for row, item in enumerate(items):
        asking = [query for query in range(len(item)) if item.kind[query] == TEXT]
        for head in range(HEADS):
            map = maps[row, head].numpy()
            kinds = {"at work": 0.0, "start": 0.0, "separator": 0.0, "stops": 0.0, "other": 0.0}
            there = {"at work", "stops"}  # 0 without such a token; the others are not defined
            entropy = left = 0.0
            some = False
            for query in asking:
                for key in range(len(item)):
                    name = "at work"
                    if item.kind[key] == START:
                        name = "start"
                    elif item.kind[key] == SEPARATOR:
                        name = "separator"
                    elif item.stop[key]:
                        name = "stops"
                    elif is_sink(item, key):
                        name = "other"
                    kinds[name] += float(map[query, key]) / len(asking)
                    there.add(name)
                last = query + 1 if causal else len(item)
                weights = [float(map[query, key]) for key in range(last) if not is_sink(item, key)]
                if len(weights) < 2:
                    continue
                some = True
                rest = sum(weights)
                shared = [weight / rest for weight in weights]
                row_entropy = -sum(share * math.log(share) for share in shared if share > 0)
                entropy += rest * row_entropy / math.log(len(weights))
                left += rest
            shown = [share if name in there else math.nan for name, share in kinds.items()]
            np.testing.assert_allclose(shares[row, head], shown, atol=1e-5)
            want = [entropy, left] if some else [math.nan, math.nan]
            np.testing.assert_allclose(spread[row, head], want, rtol=1e-4, atol=1e-5)


def run(measure: Any, batch: Any, maps: torch.Tensor) -> NDArray[Any]:
    """The values of one layer, in blocks of three rows, (batch, head, label)."""
    view = LayerView(
        "encoder", 0, maps, torch.zeros(len(maps), maps.shape[2], HEADS, 1), torch.nn.Identity()
    )
    prepared = measure.prepare(batch, "cpu")
    for start in range(0, maps.shape[2], 3):
        measure.rows(view, maps[:, :, start : start + 3], start, prepared)
    return np.asarray(measure.end(view, prepared))


@pytest.mark.parametrize("kinds", [(Spread, Entropy), (Entropy, Spread), (Spread, Spread)])
def test_measures_that_share_logarithms_do_not_disturb_each_other(kinds):
    items = [encode([("det", 1, 1, 2, False, False, "")] * 4, START)]
    batch = collate(items)
    maps = maps_of(items, batch.width, 3, False)
    context = Context(Shape(1, HEADS, 1))
    measures = [kind().bind(context, []) for kind in kinds]
    together = Together(measures)
    together.start(batch, "cpu")
    view = LayerView("encoder", 0, maps, torch.zeros(1, batch.width, HEADS, 1), torch.nn.Identity())
    together.rows(view, maps.clone(), 0)
    together.end(view)
    for measure, (*_, layers) in zip(measures, together.parts, strict=True):
        np.testing.assert_allclose(layers[0], run(measure, batch, maps), rtol=1e-5, equal_nan=True)
