"""What a survey keeps of every head equals plain loops over transformers' eager attention."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from headscope.corpus import from_texts
from headscope.models import Model, observe
from headscope.results import Atlas
from headscope.results.kept import KeptMap
from headscope.runs.keeping import largest, sparse_map
from headscope.runs.survey import survey
from runs.keeping.plain import (
    CAUSAL,
    Plain,
    digest,
    histogram,
    plain_examples,
    score,
    top_keys,
)
from tiny import HEADS, LAYERS, SENTENCES, tiny_model

KINDS = ("bert", "gpt2", "llama")
GRID = list(product(range(LAYERS), range(HEADS)))
LENGTHS = {"short": 48, "long": 300}


@cache
def texts(size: str) -> list[str]:
    """Forty short texts, or a dozen of which some have more tokens than are kept."""
    random = np.random.default_rng(4)
    words = " ".join(SENTENCES).split()
    count, longest = (40, 24) if size == "short" else (12, 240)
    return [
        " ".join(random.choice(words, random.integers(3, longest)).tolist()) for _ in range(count)
    ]


@cache
def model_of(kind: str) -> Model:
    longest = {"gpt2": "n_positions"}.get(kind, "max_position_embeddings")
    return tiny_model(kind, **{longest: 400})


@cache
def plain(kind: str, size: str) -> list[Plain]:
    return plain_examples(kind, model_of(kind), texts(size), LENGTHS[size])


def run(kind: str, size: str, **options: Any) -> Atlas:
    how = {"measures": "position", "max_length": LENGTHS[size], "batch_size": 3, "seed": 7}
    return survey(model_of(kind), from_texts(texts(size)), **(how | options))


@cache
def atlas(kind: str, size: str) -> Atlas:
    return run(kind, size, examples=12)


CASES = pytest.mark.parametrize(("kind", "size"), list(product(KINDS, LENGTHS)))


def name_of(layer: int, head: int) -> str:
    return f"{layer + 1}-{head + 1}"


def check_map(found: KeptMap, example: Plain, layer: int, head: int) -> None:
    """The eight largest weights of each row within the window, as far as rounding tells."""
    window = min(len(example), 128)
    assert len(found.counts) == len(found.text.tokens) == window
    assert found.text.length == len(example)
    dense, maps = found.dense(), example.maps[layer, head, :window, :window]
    for query in range(window):
        expected = top_keys(maps[query])
        kept = np.flatnonzero(dense[query])
        assert found.counts[query] == len(kept) <= 8
        np.testing.assert_allclose(dense[query, kept], maps[query, kept], atol=1e-4)
        weights = np.sort(dense[query, kept])[::-1]
        clear = [weight / 65535 for _, weight in expected if weight / 65535 > 0.0052]
        np.testing.assert_allclose(weights[: len(clear)], clear, atol=1e-4)


@CASES
def test_the_strongest_are_the_examples_with_the_largest_scores(kind: str, size: str) -> None:
    kept = atlas(kind, size).kept
    for layer, head in GRID:
        scores = {one.id: score(one, layer, head) for one in plain(kind, size)}
        order = sorted(plain(kind, size), key=lambda one: (-scores[one.id], one.number))
        found = kept.strongest(name_of(layer, head))
        assert len(found) == 3
        np.testing.assert_allclose(
            [one.score for one in found], [scores[one.id] for one in order[:3]], atol=1e-5
        )
        for one in found:
            assert one.score == pytest.approx(scores[one.text.id], abs=1e-5)
            check_map(one, plain(kind, size)[one.text.number - 1], layer, head)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@CASES
def test_the_sample_has_the_smallest_digests_and_all_heads_maps(kind: str, size: str) -> None:
    kept = atlas(kind, size).kept
    chosen = sorted(plain(kind, size), key=lambda one: digest(one, 7))[:12]
    for layer, head in GRID:
        found = kept.sample(name_of(layer, head))
        assert sorted(one.text.number for one in found) == sorted(one.number for one in chosen)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        for one in found:
            example = plain(kind, size)[one.text.number - 1]
            assert one.score == pytest.approx(score(example, layer, head), abs=1e-5)
            check_map(one, example, layer, head)


@CASES
def test_the_histogram_is_that_of_the_sample(kind: str, size: str) -> None:
    kept = atlas(kind, size).kept
    chosen = sorted(plain(kind, size), key=lambda one: digest(one, 7))[:12]
    for layer, head in GRID:
        offsets, share, uniform = kept.histogram(name_of(layer, head))
        assert offsets.tolist() == list(range(-16, 17))
        expected, even = histogram(chosen, layer, head, kind in CAUSAL)
        np.testing.assert_allclose(share, expected, atol=1e-5)
        np.testing.assert_allclose(uniform, even, atol=1e-5)
        assert share.sum() == pytest.approx(uniform.sum(), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_give_the_same(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "WEIGHTS", 1)  # blocks of 16 rows, eight of them in the window
    alike(run(kind, "long", examples=12), atlas(kind, "long"))


def alike(one: Atlas, other: Atlas) -> None:
    """The same texts, and the same numbers within rounding."""
    assert one.kept.texts == other.kept.texts
    for layer, head in GRID:
        name = name_of(layer, head)
        for way in ("strongest", "sample"):
            mine, theirs = getattr(one.kept, way)(name), getattr(other.kept, way)(name)
            by_number = {one.text.number: one for one in theirs}
            assert {one.text.number for one in mine} == set(by_number)
            for found in mine:
                twin = by_number[found.text.number]
                assert found.score == pytest.approx(twin.score, abs=1e-5)
                near(found, twin)
        for mine, theirs in zip(one.kept.histogram(name), other.kept.histogram(name), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)


def near(one: KeptMap, other: KeptMap) -> None:
    """Equal weights; a key may be missing whose weight is at the edge of being kept."""
    mine, theirs = one.dense(), other.dense()
    both = (mine > 0) & (theirs > 0)
    np.testing.assert_allclose(mine[both], theirs[both], atol=1e-4)
    for query in range(len(mine)):
        edge = min(
            (row[row > 0].min() if (row > 0).sum() == 8 else 0.005)
            for row in (mine[query], theirs[query])
        )
        alone = (mine[query] > 0) != (theirs[query] > 0)
        assert (np.maximum(mine[query], theirs[query])[alone] < edge + 1e-4).all()


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_neither_batch_size_nor_padding_changes_what_is_kept(kind: str, size: int) -> None:
    alike(run(kind, "short", examples=12, batch_size=size), atlas(kind, "short"))


def test_of_equal_weights_the_leftmost_are_kept() -> None:
    maps = torch.full((1, 2, 20), 0.05)
    maps[0, 1, [3, 17]] = 0.3
    found = sparse_map(largest(maps)[0].numpy(), 2)
    assert found.keys.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 3, 17, 0, 1, 2, 4, 5, 6]
    assert found.weights.tolist() == [3277] * 8 + [19660] * 2 + [3277] * 6


def test_weights_of_0_and_1_and_a_hair_more_are_kept_as_they_are() -> None:
    maps = torch.tensor([[[1.0 + 1e-6, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0049, 0.0051, 0.9]]])
    found = sparse_map(largest(maps)[0].numpy(), 3)
    assert found.counts.tolist() == [1, 1, 2]
    assert found.keys.tolist() == [0, 2, 2, 1]
    assert found.weights.tolist() == [65535, 65535, 58982, 334]


def test_of_equal_scores_the_first_examples_of_the_corpus_stay() -> None:
    same = ["the cat sat on the mat"] * 40
    kept = survey(
        model_of("bert"), from_texts(same), measures="position", batch_size=3, examples=8
    ).kept
    for layer, head in GRID:
        found = kept.strongest(name_of(layer, head))
        assert [one.text.number for one in found] == [1, 2]


def test_another_seed_draws_another_sample_and_the_strongest_stay() -> None:
    one, other = (run("bert", "short", examples=12, seed=seed).kept for seed in (7, 8))
    numbers = [{found.text.number for found in kept.sample("1-1")} for kept in (one, other)]
    assert numbers[0] != numbers[1]
    assert len(numbers[0]) == len(numbers[1]) == 12
    assert [found.text for found in one.strongest("2-2")] == [
        found.text for found in other.strongest("2-2")
    ]
