"""Attention by offset, and along the arcs of the tree."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import twins
from headscope import read, survey
from headscope.corpus import Example, Word, from_examples
from headscope.encode import SEPARATOR, START, TEXT, collate
from headscope.errors import UserError
from headscope.measures import Arc, ArcOffset, Context, Difference, Profile, Role
from headscope.measures.arcs import DIRECTIONS, OFFSETS, taking_part
from headscope.measures.registry import choose
from headscope.models import Shape
from measures.annotated import CASES, made
from measures.test_twins import HEADS, encode, maps_of, values_of
from planted import planted_bert
from refusals import refusal
from tiny import tiny_network, tiny_tokenizer

SETTINGS = settings(deadline=None, max_examples=30)
WORDS = (
    Word("the", head=1, relation="det"),
    Word("dogs", head=2, relation="nsubj"),  # dog ##s
    Word("saw", head=-1, relation="root"),
    Word("it", head=2, relation="obj"),
)


def tree() -> Example:
    return Example("1", ("the dogs saw it",), WORDS)


@given(
    sizes=st.lists(st.integers(1, 110), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
    causal=st.booleans(),
    specials=st.booleans(),
    cuts=st.lists(st.integers(1, 109), max_size=3),
)
@SETTINGS
def test_the_profile_equals_its_twin_for_any_blocks_of_rows(sizes, seed, causal, specials, cuts):
    items = []
    for size in sizes:
        kinds = [TEXT] * size
        if specials and size > 3:
            kinds[0], kinds[size // 2], kinds[-1] = START, SEPARATOR, SEPARATOR
        items.append(encode([(kind, False, False) for kind in kinds]))
    batch = collate(items)
    maps = maps_of(batch, seed, causal=causal)
    measure = Profile().bind(Context(Shape(1, HEADS, 1), causal), [])
    edges = sorted({0, maps.shape[2], *(cut for cut in cuts if cut < maps.shape[2])})
    values = values_of(measure, batch, maps, list(pairwise(edges)))
    counts = measure.totals(measure.prepare(batch, "cpu"))
    names = measure.dims["offset"]
    assert names == (OFFSETS[:34] if causal else OFFSETS)
    for row, item in enumerate(batch.items):
        part = taking_part(item).tolist()
        assert part == [kind == TEXT and place > 0 for place, kind in enumerate(item.kind)]
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            expected = twins.profile(real, part, causal=causal)
            for number, name in enumerate(names):
                total, count = expected.get(name, (0.0, 0))
                assert float(values[row, head, number]) == pytest.approx(total, rel=1e-5, abs=2e-6)
                assert int(counts[row, number]) == count


@given(case=CASES)
@SETTINGS
def test_attention_along_arcs_and_their_offsets_equal_their_twins(case):
    batch, maps, causal = made(case)
    corpus = [item.example for item in batch.items]
    context = Context(Shape(1, HEADS, 1), causal)
    arc, offset = (kind().bind(context, corpus) for kind in (Arc, ArcOffset))
    relations = arc.dims["relation"]
    assert offset.dims == {"relation": relations, "offset": OFFSETS}
    shape = (len(batch), HEADS, len(relations), 2)
    values = values_of(arc, batch, maps).numpy().reshape(shape)
    counts = arc.totals(arc.prepare(batch, "cpu")).numpy().reshape(len(batch), len(relations), 2)
    prepared = offset.prepare(batch, "cpu")
    offsets = offset.finish([], prepared).numpy().reshape(len(batch), len(relations), -1)
    for row, item in enumerate(batch.items):
        part, tree = taking_part(item).tolist(), item.example.words
        for head in range(HEADS):
            real = maps[row, head, : len(item), : len(item)].tolist()
            expected = twins.arcs(real, tree, item.word.tolist(), part, causal=causal)
            for at, relation in enumerate(relations):
                for way, direction in enumerate(DIRECTIONS):
                    total, count = expected.pop((relation, direction), (0.0, 0))
                    assert values[row, head, at, way] == pytest.approx(total, rel=1e-5, abs=2e-6)
                    assert counts[row, at, way] == count
            assert not expected
        ones = np.ones((len(item), len(item)))
        every = twins.arcs(ones.tolist(), tree, item.word.tolist(), part)
        for at, relation in enumerate(relations):
            (_, count) = every.get((relation, "dependent to head"), (0.0, 0))
            assert offsets[row, at].sum() == count


def test_offsets_of_arcs_are_from_the_dependent_to_its_head_word_in_tokens():
    results = survey(planted_bert(), from_examples([tree()]), measures="arc", max_length=24)
    found = results["arc_offset"]["sum"].sum("bucket")
    # [CLS] the dog ##s saw it [SEP]
    expected = {"det": {"1": 1, "2": 1}, "nsubj": {"1": 1, "2": 1}, "obj": {"-1": 1}}
    assert found["relation"].values.tolist() == sorted(expected)
    for relation, offsets in expected.items():
        row = found.sel(relation=relation).to_series()
        assert row[row > 0].to_dict() == offsets
    assert "layer" not in found.dims


@pytest.mark.parametrize(
    ("measures", "annotations", "expected"),
    [
        ("role", {"words", "tree"}, ["role", "arc", "profile", "arc_offset"]),
        ("work", {"words", "tree"}, ["work", "arc", "profile", "arc_offset"]),
        ("role", {"words"}, ["role"]),
        (Role(roles=["local", "cls"]), {"tree"}, ["role"]),
        (Role(roles=["det"]), {"tree"}, ["role", "arc", "profile", "arc_offset"]),
        (["profile", "entropy"], {"tree"}, ["profile", "entropy"]),
        (["role", "profile"], {"tree"}, ["role", "profile", "arc", "arc_offset"]),
    ],
)
def test_dependency_roles_bring_what_they_are_compared_with(measures, annotations, expected):
    found = choose(measures, annotations, corpus="texts")  # type: ignore[arg-type]
    assert [measure.name for measure in found] == expected


def test_default_measures_include_them_where_there_is_a_tree():
    with_tree = {one.name for one in choose(None, {"words", "tree"}, corpus="texts")}
    assert {"arc", "profile", "arc_offset"} <= with_tree
    without = {one.name for one in choose(None, {"words"}, corpus="texts")}
    assert not {"arc", "profile", "arc_offset"} & without


def test_arcs_of_a_corpus_without_a_tree_are_an_error_that_says_what_to_do():
    error = refusal(UserError, survey, planted_bert(), ["the dog sat"], measures="arc")
    assert "the measure 'arc' needs tree" in str(error)
    assert "parse" in str(error)


def test_whole_maps_of_long_texts_are_taken_in_piece_by_piece(monkeypatch):
    batch = collate([encode([(TEXT, False, False)] * 90)])
    maps = maps_of(batch, 1, causal=False)
    measure = Profile().bind(Context(Shape(1, HEADS, 1)), [])
    whole = values_of(measure, batch, maps)
    monkeypatch.setattr("headscope.measures.arcs.MOST_ROWS", 16)
    torch.testing.assert_close(values_of(measure, batch, maps), whole, atol=1e-6, rtol=1e-6)


def test_norm_weighted_maps_have_a_profile_of_their_own():
    model = (tiny_network("bert"), tiny_tokenizer("bert"))
    corpus = read("demo").first(4)
    results = survey(model, corpus, measures="role", maps="both", max_length=40)
    assert {"norm_arc", "norm_profile", "norm_arc_offset"} <= set(results.measures)


@pytest.mark.parametrize("kind", [Arc, ArcOffset, Profile])
def test_there_is_no_difference_example_by_example(kind):
    with pytest.raises(UserError, match="averages over pairs of tokens"):
        Difference(kind())


def test_two_models_are_compared_in_the_measures_asked_for_alone():
    chosen = choose("role", {"words", "tree"}, corpus="texts", beside=False)
    assert [measure.name for measure in chosen] == ["role"]
