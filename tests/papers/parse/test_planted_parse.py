"""The probes find planted trees, in the head and direction in which they were planted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.corpus import ROOT
from headscope.corpus.vectors import WordVectors
from headscope.papers.clark2019.networks import (
    AttentionProbe,
    DistanceProbe,
    ParseData,
    ParseProbe,
    WordsProbe,
    buckets,
    fit_best_rate,
    fit_probe,
    hold_out,
    predict_heads,
)
from headscope.papers.clark2019.parse import attachment_score, attachments
from headscope.papers.clark2019.word_maps import UNKNOWN, ParseSentence

HEADS = 6
KINDS = 4


def random_tree(length: int, draw: np.random.Generator) -> np.ndarray:
    """A random root; every other word is attached to a random word already in the tree."""
    order = draw.permutation(length)
    heads = np.full(length, ROOT)
    for place in range(1, length):
        heads[order[place]] = order[draw.integers(place)]
    return heads


def noise(length: int, draw: np.random.Generator) -> np.ndarray:
    """Random maps of all heads whose rows sum to 1."""
    maps = draw.random((length, length, HEADS)) ** 3
    return maps / maps.sum(1, keepdims=True)


def tree_map(heads: np.ndarray) -> np.ndarray:
    """A map in which each word attends to its head word, and the root to itself."""
    found = np.zeros((len(heads), len(heads)))
    for word, head in enumerate(heads):
        found[word, word if head == ROOT else head] = 1.0
    return found


def planted(count: int, *, seed: int, towards: str = "dependent to head") -> ParseData:
    """Head 2 is the gold tree, in one direction or the other; the other heads are noise."""
    draw = np.random.default_rng(seed)
    sentences, maps = [], []
    for _ in range(count):
        heads = random_tree(int(draw.integers(1, 12)), draw)
        made = noise(len(heads), draw)
        tree = tree_map(heads)
        np.fill_diagonal(tree, 0.0)
        made[..., 2] = tree if towards == "dependent to head" else tree.T
        sentences.append(ParseSentence(("x",) * len(heads), heads, np.zeros(len(heads), bool)))
        maps.append(made.astype(np.float16))
    return ParseData(sentences, maps)


def by_word(count: int, *, seed: int) -> ParseData:
    """Head 1 points to the head word of words of kind 0, and head 3 to that of all others.

    Otherwise these two heads point to a wrong word.
    """
    draw = np.random.default_rng(seed)
    vectors = WordVectors(
        "kinds", {f"k{kind}": kind for kind in range(KINDS)}, np.eye(KINDS, dtype=np.float32)
    )
    sentences, maps = [], []
    for _ in range(count):
        heads = random_tree(int(draw.integers(4, 12)), draw)
        kinds = draw.integers(0, KINDS - 1, len(heads))
        kinds[heads == ROOT] = KINDS - 1  # the kind identifies the root
        made = noise(len(heads), draw)
        right, wrong = tree_map(heads), tree_map(draw.permutation(len(heads)))
        for word, kind in enumerate(kinds):
            made[word, :, 1], made[word, :, 3] = (
                (right[word], wrong[word]) if kind == 0 else (wrong[word], right[word])
            )
        sentences.append(
            ParseSentence(tuple(f"k{kind}" for kind in kinds), heads, np.zeros(len(heads), bool))
        )
        maps.append(made.astype(np.float16))
    return ParseData(sentences, maps, vectors)


def uas(probe: ParseProbe, data: ParseData) -> float:
    return attachment_score(*attachments(data.sentences, predict_heads(probe, data)), seed=0).uas


@pytest.mark.parametrize("towards", ["dependent to head", "head to dependent"])
def test_the_attention_probe_finds_the_planted_head_and_direction(towards):
    probe = AttentionProbe(HEADS)
    fit_probe(probe, planted(200, seed=1, towards=towards), seed=0, epochs=15, rate=0.1)
    assert uas(probe, planted(100, seed=2, towards=towards)) > 0.99
    used, other = (probe.u, probe.w) if towards == "dependent to head" else (probe.w, probe.u)
    noisy = torch.cat([side[[0, 1, 3, 4, 5]] for side in (used, other)]).detach()
    assert float(used[2].detach()) > 5 * float(noisy.abs().max())
    assert float(other[2].detach()) < 0  # a word's own dependent is not its head


def test_only_the_words_probe_finds_a_head_that_depends_on_the_word():
    train, test = by_word(200, seed=1), by_word(100, seed=2)
    attention, words = AttentionProbe(HEADS), WordsProbe(HEADS, KINDS)
    fit_probe(attention, train, seed=0, epochs=15, rate=0.1)
    fit_probe(words, train, seed=0, epochs=30, rate=0.1)
    assert uas(words, test) > 0.95
    assert uas(attention, test) < 0.8
    # Weight of each head by the kind of the dependent, for attention from dependent to head.
    dependent = words.u[:, KINDS:].detach()
    assert int(dependent[:, 0].argmax()) == 1
    assert int(dependent[:, 1].argmax()) == 3
    assert int(dependent[:, 2].argmax()) == 3


def test_the_distance_probe_learns_trees_of_neighbours_but_not_random_trees():
    draw = np.random.default_rng(0)
    vectors = WordVectors("kinds", {"k0": 0, "k1": 1}, np.eye(2, dtype=np.float32))

    def near(
        count: int,
    ) -> (
        ParseData
    ):  # k0: the head is the next word; k1: the one before; the last word is the root's
        sentences = []
        for _ in range(count):
            kinds = [
                "k0",
                *draw.choice(["k0", "k1"], size=int(draw.integers(2, 9))).tolist(),
                "unheard",
            ]
            heads = [place + (1 if kind == "k0" else -1) for place, kind in enumerate(kinds[:-1])]
            sentences.append(
                ParseSentence(tuple(kinds), np.array([*heads, ROOT]), np.zeros(len(kinds), bool))
            )
        return ParseData(sentences, None, vectors)

    probe = DistanceProbe(2, seed=0, hidden=16)
    fit_probe(probe, near(300), seed=0, epochs=20, rate=0.02)
    assert uas(probe, near(100)) > 0.99
    other = by_word(100, seed=3)
    assert uas(probe, ParseData(other.sentences, None, vectors)) < 0.6


def test_the_seed_determines_the_weights():
    data = by_word(60, seed=1)
    runs = []
    for seed in (0, 0, 1):
        probe = WordsProbe(HEADS, KINDS)
        fit_probe(probe, data, seed=seed, epochs=2, rate=0.01)
        runs.append(probe.w.detach().clone())
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_training_keeps_the_epoch_with_the_lowest_held_out_loss_and_stops_after_it():
    data = planted(40, seed=1)
    random = ParseData(
        [
            ParseSentence(s.words, random_tree(len(s), np.random.default_rng(7)), s.punctuation)
            for s in data.sentences
        ],
        data.maps,
    )  # nothing to learn: the probe only overfits
    probe = AttentionProbe(HEADS)
    found = fit_probe(probe, random, seed=0, epochs=50, rate=1.0, patience=2)
    assert found.best == int(np.argmin(found.losses)) + 1
    assert len(found.losses) == found.best + 2
    again = AttentionProbe(HEADS)
    fit_probe(again, random, seed=0, epochs=found.best, rate=1.0, patience=2)
    assert torch.equal(again.u, probe.u)


def test_held_out_sentences_do_not_affect_the_weights():
    train, held = hold_out(100, seed=3)
    assert sorted([*train.tolist(), *held.tolist()]) == list(range(100))
    assert len(held) == 10
    data = planted(100, seed=1)
    other = ParseData(
        [
            ParseSentence(s.words, random_tree(len(s), np.random.default_rng(9)), s.punctuation)
            if i in held
            else s
            for i, s in enumerate(data.sentences)
        ],
        data.maps,
    )
    weights = []
    for given in (
        data,
        other,
    ):  # other gold trees for the held-out sentences change nothing in one epoch of training
        probe = AttentionProbe(HEADS)
        fit_probe(probe, given, seed=3, epochs=1, rate=0.1)
        weights.append(probe.u.detach())
    assert torch.equal(weights[0], weights[1])


def test_predictions_are_in_the_order_of_the_sentences_and_inside_them():
    data = planted(30, seed=5)
    probe = AttentionProbe(HEADS)
    fit_probe(probe, data, seed=0, epochs=10, rate=0.1)
    for index, heads in enumerate(predict_heads(probe, data)):
        (alone,) = predict_heads(probe, ParseData([data.sentences[index]], [data.maps[index]]))
        assert heads.tolist() == alone.tolist()
        assert all(
            -1 <= head < len(heads) and head != word for word, head in enumerate(heads.tolist())
        )


@pytest.mark.parametrize("pilot", [500, 60])
def test_the_rate_with_the_lowest_held_out_loss_is_used_on_all_sentences(pilot):
    data, rates = planted(120, seed=1), (1e-4, 0.1, 100.0)
    small = (
        data
        if pilot > 120
        else data.part(np.sort(np.random.default_rng(0).permutation(120)[:pilot]))
    )
    losses = {
        rate: fit_probe(AttentionProbe(HEADS), small, seed=0, epochs=6, rate=rate).loss
        for rate in rates
    }
    seen: list[tuple[str, int, int]] = []
    probe, found = fit_best_rate(
        lambda: AttentionProbe(HEADS),
        data,
        seed=0,
        epochs=6,
        rates=rates,
        pilot=pilot,
        progress=lambda *step: seen.append(step),
    )
    assert found.rate == min(losses, key=lambda rate: losses[rate])
    alone = AttentionProbe(HEADS)
    expected = fit_probe(alone, data, seed=0, epochs=6, rate=found.rate)
    assert (found, True) == (expected, torch.equal(alone.u, probe.u))
    assert {step[0] for step in seen} == {
        "rate 0.0001",
        "rate 0.1",
        "rate 100",
        *(["all sentences"] if pilot < 120 else []),
    }


def test_every_rate_starts_with_a_new_probe():
    made: list[AttentionProbe] = []

    def make() -> AttentionProbe:
        made.append(AttentionProbe(HEADS))
        return made[-1]

    fit_best_rate(make, planted(30, seed=1), seed=0, epochs=1, rates=(0.1, 0.1))
    assert len(made) == 2
    assert torch.equal(made[0].u, made[1].u)


def test_batches_contain_every_sentence_once_with_similar_lengths():
    lengths = np.random.default_rng(0).integers(1, 40, 300)
    lengths[7] = 900  # longer than a whole batch
    found = buckets(lengths, np.random.default_rng(1).permutation(300), words=256)
    assert sorted(index for batch in found for index in batch) == list(range(300))
    assert all(len(batch) * max(lengths[batch]) <= 256 for batch in found if batch != [7])
    assert [7] in found


def test_too_little_to_train_on_is_an_error():
    message = "a probe needs at least 2 training sentences, got 1 instead"
    with pytest.raises(ValueError, match=message):
        fit_probe(AttentionProbe(HEADS), planted(1, seed=0), seed=0, epochs=1, rate=0.1)
    bare = planted(5, seed=0)
    headless = ParseData(
        [ParseSentence(s.words, np.full(len(s), UNKNOWN), s.punctuation) for s in bare.sentences],
        bare.maps,
    )
    with pytest.raises(ValueError, match="no training word has an annotated head"):
        fit_probe(AttentionProbe(HEADS), headless, seed=0, epochs=1, rate=0.1)
    with pytest.raises(ValueError, match="the number of epochs must be 1 or more, got 0 instead"):
        fit_probe(AttentionProbe(HEADS), bare, seed=0, epochs=0, rate=0.1)
