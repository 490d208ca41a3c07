"""Scores of the probes agree with the formulas of Clark et al. (2019, §5) in plain loops."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpus.vectors import WordVectors
from headscope.papers.clark2019.networks import (
    FEATURES,
    IGNORED,
    AttentionProbe,
    DistanceProbe,
    ParseData,
    ParseProbe,
    WordsProbe,
    attention_scores,
    distance_features,
    words_scores,
)
from headscope.papers.clark2019.word_maps import LOST, UNKNOWN, ParseSentence

SIZES = st.tuples(
    st.integers(1, 2),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 10_000),
)  # sentences, words, heads, dimensions, seed


def random(*shape: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape)).float()


def some_data(
    lengths: tuple[int, ...] = (1, 3, 4, 7), heads: int = 3, dimension: int = 2, seed: int = 0
) -> ParseData:
    """Sentences of random words with random maps; the head of every word is the root."""
    draw = np.random.default_rng(seed)
    names = [f"w{number}" for number in range(5)]
    vectors = WordVectors(
        "random",
        {name: row for row, name in enumerate(names)},
        draw.normal(size=(5, dimension)).astype(np.float32),
    )
    sentences = [
        ParseSentence(
            tuple(draw.choice([*names, "unheard"], size=length).tolist()),
            np.full(length, -1),
            np.zeros(length, bool),
        )
        for length in lengths
    ]
    return ParseData(
        sentences,
        [draw.random((length, length, heads)).astype(np.float16) for length in lengths],
        vectors,
    )


def some_probes(heads: int = 3, dimension: int = 2) -> list[ParseProbe]:
    """One of each kind, with random weights."""
    probes: list[ParseProbe] = [
        AttentionProbe(heads),
        WordsProbe(heads, dimension),
        DistanceProbe(dimension, seed=0, hidden=6),
    ]
    for seed, probe in enumerate(probes):
        for parameter in probe.parameters():
            parameter.data = random(*parameter.shape, seed=seed)
    return probes


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_attention_scores_are_the_sum_over_heads_of_both_directions(sizes):
    batch, words, heads, _, seed = sizes
    maps = random(batch, words, words, heads, seed=seed)
    w, u = (random(heads, seed=seed + more) for more in (1, 2))
    found = attention_scores(maps, w, u)
    assert found.shape == (batch, words, words)
    for b, j, i in np.ndindex(found.shape):
        expected = sum(
            float(w[k]) * float(maps[b, i, j, k]) + float(u[k]) * float(maps[b, j, i, k])
            for k in range(heads)
        )
        assert float(found[b, j, i]) == pytest.approx(expected, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(SIZES)
def test_words_scores_weigh_each_head_by_a_linear_function_of_both_vectors(sizes):
    batch, words, heads, dimension, seed = sizes
    maps = random(batch, words, words, heads, seed=seed)
    vectors = random(batch, words, dimension, seed=seed + 1)
    w, u = (random(heads, 2 * dimension, seed=seed + more) for more in (2, 3))
    found = words_scores(maps, vectors, w, u)
    assert found.shape == (batch, words, words)
    for b, j, i in np.ndindex(found.shape):
        both = vectors[b, i].tolist() + vectors[b, j].tolist()  # candidate, then dependent
        expected = 0.0
        for k in range(heads):
            for side, weight in ((w, maps[b, i, j, k]), (u, maps[b, j, i, k])):
                dot = sum(x * y for x, y in zip(side[k].tolist(), both, strict=True))
                expected += dot * float(weight)
        assert float(found[b, j, i]) == pytest.approx(expected, abs=1e-5, rel=1e-5)


def test_a_score_does_not_depend_on_a_third_word():
    maps, vectors = random(1, 5, 5, 3, seed=0), random(1, 5, 4, seed=1)
    w, u = random(3, 8, seed=2), random(3, 8, seed=3)
    before = words_scores(maps, vectors, w, u)
    for third in range(5):
        changed = vectors.clone()
        changed[:, third] += 1.0
        same = before == words_scores(maps, changed, w, u)
        for j in range(5):
            for i in range(5):
                assert bool(same[0, j, i]) == (third not in (i, j)), (third, i, j)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_scores_do_not_depend_on_the_batch_and_padding_is_never_a_candidate(number):
    data, probe = some_data(), some_probes()[number]
    together = probe(
        data.pad([0, 1, 2, 3], maps=probe.uses_maps, vectors=probe.uses_vectors)
    ).detach()
    for index, length in enumerate(data.lengths.tolist()):
        alone = probe(data.pad([index], maps=probe.uses_maps, vectors=probe.uses_vectors)).detach()[
            0
        ]
        assert alone.shape == (length, length + 1)
        np.testing.assert_allclose(together[index, :length, : length + 1], alone, atol=1e-5)
        assert (together[index, :length, length + 1 :] == float("-inf")).all()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_word_is_never_its_own_candidate_and_the_root_always_is(number):
    data, probe = some_data(), some_probes()[number]
    scores = probe(data.pad([0, 3], maps=probe.uses_maps, vectors=probe.uses_vectors)).detach()
    assert torch.isfinite(scores[..., 0]).all()
    for word in range(7):
        assert scores[1, word, word + 1] == float("-inf")
        assert torch.isfinite(scores[1, word, [c for c in range(8) if c != word + 1]]).all()
    assert (
        scores[0, 0].tolist()[1:] == [float("-inf")] * 7
    )  # in a sentence of one word, the root is the only candidate


def test_the_score_of_the_root_is_constant_or_linear_in_the_vector_of_the_dependent():
    data = some_data()
    attention, words, _ = some_probes()
    batch = data.pad([3], maps=True, vectors=True)
    assert batch.vectors is not None
    assert attention(batch)[0, :, 0].tolist() == [pytest.approx(attention.root.item())] * 7
    expected = [
        sum(x * y for x, y in zip(words.root.tolist(), vector, strict=True)) + words.bias.item()
        for vector in batch.vectors[0].tolist()
    ]
    assert words(batch)[0, :, 0].tolist() == pytest.approx(expected, abs=1e-5)


def test_distance_features_distinguish_ahead_and_behind():
    features = distance_features(8)
    assert features.shape == (15, FEATURES)
    for distance in range(-7, 8):
        expected = []
        for side in (distance, -distance):
            expected += [1.0 if side == step else 0.0 for step in (1, 2, 3, 4, 5)]
        for side in (distance, -distance):
            expected += [1.0, side / 10, log(side + 1)] if side > 0 else [0.0, 0.0, 0.0]
        assert features[distance + 7].tolist() == pytest.approx(expected, abs=1e-6), distance


def test_the_distance_probe_is_one_hidden_layer_over_both_vectors_and_the_distance():
    data, probe = some_data(), some_probes()[2]
    assert isinstance(probe, DistanceProbe)
    batch = data.pad([2], maps=False, vectors=True)
    assert batch.vectors is not None
    scores, vectors, features = probe(batch).detach()[0], batch.vectors[0], distance_features(4)
    for j in range(4):
        for i in range(4):
            if i != j:
                inputs = probe.candidate.weight @ vectors[i] + probe.dependent.weight @ vectors[j]
                inputs += probe.distance.weight @ features[i - j + 3] + probe.dependent.bias
                pairs = zip(probe.out.weight[0].tolist(), inputs.tolist(), strict=True)
                expected = sum(weight * max(value, 0.0) for weight, value in pairs)
                assert float(scores[j, i + 1]) == pytest.approx(expected, abs=1e-4)


def test_words_without_a_known_head_are_not_trained_on():
    sentence = ParseSentence(
        ("a", "b", "c", "d"), np.array([1, UNKNOWN, LOST, -1]), np.zeros(4, bool)
    )
    padded = ParseData([sentence, some_data().sentences[3]]).pad([0, 1], maps=False, vectors=False)
    assert padded.gold[0].tolist() == [2, IGNORED, IGNORED, 0, IGNORED, IGNORED, IGNORED]
