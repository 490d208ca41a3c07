"""Scores of the pattern network: F1 as scikit-learn computes it, intervals as resampling heads one
by one gives them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from headscope.measures.patterns.network import CLASSES
from headscope.stats.tables.patterns import (
    class_f1,
    class_scores,
    head_confusions,
    length_bin,
    macro_f1,
    scores_by,
)


def answers(maps: int, seed: int) -> tuple[list[str], list[str], list[int]]:
    """Labels, predictions that are mostly right, and the head of each map."""
    random = np.random.default_rng(seed)
    gold = random.integers(len(CLASSES), size=maps)
    wrong = random.random(maps) < 0.3
    predicted = np.where(wrong, random.integers(len(CLASSES), size=maps), gold)
    names = np.array(CLASSES)
    return names[gold].tolist(), names[predicted].tolist(), random.integers(12, size=maps).tolist()


def test_f1_is_that_of_scikit_learn():
    gold, predicted, heads = answers(150, 0)
    total = head_confusions(gold, predicted, heads, CLASSES).sum(0)
    expected = f1_score(gold, predicted, labels=list(CLASSES), average=None)
    np.testing.assert_allclose(class_f1(total), expected)
    assert float(macro_f1(total)) == pytest.approx(f1_score(gold, predicted, average="macro"))


def test_a_class_without_labels_does_not_enter_the_mean():
    gold, predicted = ["block", "block", "diagonal"], ["block", "vertical", "diagonal"]
    total = head_confusions(gold, predicted, [1, 2, 3], CLASSES).sum(0)
    expected = f1_score(gold, predicted, labels=["block", "diagonal"], average="macro")
    assert float(macro_f1(total)) == pytest.approx(expected)


def test_intervals_resample_heads_with_all_their_maps():
    gold, predicted, heads = answers(120, 1)
    confusions = head_confusions(gold, predicted, heads, CLASSES)
    found = class_scores(confusions, CLASSES, seed=3, resamples=2000).iloc[-1]
    names, one = np.array(CLASSES), np.array(sorted(set(heads)))[:, None]
    right = np.array(gold) == np.array(predicted)
    of_head = [np.array(heads) == one, np.array(heads) == one, (np.array(heads) == one) & right]
    labels, guesses, both = (  # maps of each head and class
        mine.astype(float) @ (np.array(texts)[:, None] == names)
        for mine, texts in zip(of_head, (gold, predicted, gold), strict=True)
    )
    random, scores = np.random.default_rng(9), []
    for _ in range(2000):
        drawn = random.integers(len(one), size=len(one))
        total = labels[drawn].sum(0) + guesses[drawn].sum(0)
        scores.append(np.mean((2 * both[drawn].sum(0) / np.maximum(total, 1))[total > 0]))
    low, high = np.quantile(scores, (0.025, 0.975))
    assert found["low"] == pytest.approx(low, abs=0.01)
    assert found["high"] == pytest.approx(high, abs=0.01)
    assert found["maps"] == 120


def test_groups_are_scored_by_themselves_with_the_shortest_lengths_first():
    gold, predicted, heads = answers(200, 2)
    lengths = np.random.default_rng(0).integers(8, 129, size=200).tolist()
    known = [{"model": "m", "layer": "1", "head": str(head)} for head in heads]
    groups = [length_bin(length) for length in lengths]
    found = scores_by(gold, predicted, known, groups, CLASSES, seed=0, resamples=20)
    assert found["group"].tolist() == ["1–32", "33–64", "65–96", "97–112", "113–128"]
    long = [i for i, length in enumerate(lengths) if length > 112]
    row = found.set_index("group").loc["113–128"]
    assert row["maps"] == len(long)
    assert row["accuracy"] == pytest.approx(np.mean([gold[i] == predicted[i] for i in long]))
    assert row["f1"] == pytest.approx(
        f1_score([gold[i] for i in long], [predicted[i] for i in long], average="macro")
    )
