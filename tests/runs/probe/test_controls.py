"""Controls of probes, against scikit-learn, scipy and plain loops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression

from headscope.corpus import Example
from headscope.errors import CorpusError
from headscope.runs.probe import Probing, controls, probe
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.controls import (
    block_ends,
    compare_random,
    description_length,
    kept_rows,
    probe_controls,
    uniform_length,
)
from headscope.runs.probe.rows import LabelledRows
from headscope.tasks.probing import control_task, find_tasks, first_word
from headscope.tasks.task import SPLITS, ProbingTask
from tiny import tiny_model


def planted(
    units: int = 2, count: int = 300, classes: int = 3
) -> tuple[torch.Tensor, LabelledRows]:
    """Features of which the first unit knows the class and the others do not."""
    random = np.random.default_rng(0)
    gold = random.integers(0, classes, count)
    x = random.normal(size=(units, count, 4))
    x[0, :, 0] += gold
    parts = np.split(np.arange(count), [200, 250])
    rows = LabelledRows(gold.astype(float), classes, *parts)
    return standardise(torch.from_numpy(x).float(), rows.train)[0], rows


def minimised_bits(
    x: np.ndarray, gold: np.ndarray, order: np.ndarray, l2: float, ends: list[int], classes: int
) -> float:
    """The online code with classifiers that scipy fits: mean loss plus l2 / 2 of the weights."""
    bits = ends[0] * np.log2(classes)
    width = x.shape[1]
    for end, after in pairwise(ends):
        seen, block = order[:end], order[end:after]

        def loss(flat: np.ndarray, seen: np.ndarray = seen) -> float:
            weight, bias = flat[: width * classes].reshape(width, classes), flat[-classes:]
            chances = special.log_softmax(x[seen] @ weight + bias, axis=1)
            nats = -chances[np.arange(len(seen)), gold[seen]].mean()
            return float(nats + l2 / 2 * (weight**2).sum())

        best = optimize.minimize(loss, np.zeros((width + 1) * classes), tol=1e-12).x
        weight, bias = best[: width * classes].reshape(width, classes), best[-classes:]
        chances = special.log_softmax(x[block] @ weight + bias, axis=1)
        bits -= chances[np.arange(len(block)), gold[block]].sum() / np.log(2)
    return float(bits)


def seed_with_all_classes_first(rows: LabelledRows, within: int) -> int:
    """A seed whose first examples have all classes, so that no bias runs off to infinity."""
    return next(
        seed
        for seed in range(1000)
        if len(set(rows.gold[np.random.default_rng(seed).permutation(rows.train)[:within]]))
        == rows.classes
    )


@pytest.mark.parametrize("l2", [1e-2, 1e-1])
def test_description_lengths_are_those_of_scipys_minimiser_block_by_block(l2, monkeypatch):
    x, rows = planted()
    shares = (0.03, 0.0625, 0.125, 0.25, 0.5, 1.0)
    monkeypatch.setattr(controls, "ENDS", shares)
    ends = [6, 12, 25, 50, 100, 200]
    assert block_ends(len(rows.train)) == ends
    seed = seed_with_all_classes_first(rows, ends[0])
    found = description_length(x, rows, np.full(2, l2), seed=seed)
    order = np.random.default_rng(seed).permutation(rows.train)
    for unit in range(2):
        expected = minimised_bits(
            x[unit].numpy().astype(float), rows.gold.astype(int), order, l2, ends, 3
        )
        assert found[unit] == pytest.approx(expected, rel=2e-3)
    assert found[0] < 0.9 * found[1]
    assert uniform_length(rows) == pytest.approx(200 * np.log2(3))


def counted_bits(x: np.ndarray, gold: np.ndarray, order: np.ndarray, l2: float, c: int) -> float:
    """The online code, example by example: classes that have occurred by scikit-learn's classifier,
    the others by the estimate of Krichevsky and Trofimov.
    """
    ends = block_ends(len(order))
    bits = ends[0] * np.log2(c)
    for end, after in pairwise(ends):
        before = order[:end]
        known = sorted(set(gold[before].tolist()))
        model = None
        if len(known) > 1:
            strength = (2 if len(known) == 2 else 1) / (end * l2)
            model = LogisticRegression(
                C=strength, tol=1e-10, max_iter=2000, solver="newton-cholesky"
            ).fit(x[before], gold[before])
        block = order[end:after]
        answers = model.predict_proba(x[block]) if model else np.ones((len(block), 1))
        for row, answer in zip(block, answers, strict=True):
            if gold[row] not in known:
                chance = 0.5 / (end + c / 2)
            else:
                chance = 1 - (c - len(known)) * 0.5 / (end + c / 2)
                chance *= answer[known.index(gold[row])]
            bits -= np.log2(chance)
    return float(bits)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("l2", [1e-5, 1e-3, 1e-1])
def test_classes_that_have_not_occurred_are_coded_by_counts(classes, l2):
    """The first block is one example, so that the second always follows a single class."""
    x, rows = planted(classes=classes)
    values, gold = x.numpy().astype(float), rows.gold.astype(int)
    assert block_ends(len(rows.train))[:3] == [1, 3, 6]
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(rows.train)
        found = description_length(x, rows, np.full(2, l2), seed=seed)
        expected = [counted_bits(values[unit], gold, order, l2, classes) for unit in range(2)]
        assert found == pytest.approx(expected, rel=1e-3)


def test_one_class_alone_is_coded_by_counts_exactly():
    gold = np.array([0.0] * 63 + [1.0])
    rows = LabelledRows(gold, 2, np.arange(64), np.arange(0), np.arange(64))
    seed = next(  # the other class comes last
        seed for seed in range(1000) if np.random.default_rng(seed).permutation(64)[-1] == 63
    )
    ends = block_ends(64)
    bits = float(ends[0])
    for end, after in pairwise(ends):
        zeros = after - end - (after == 64)
        bits -= zeros * np.log2((end + 0.5) / (end + 1))
    bits -= np.log2(0.5 / (ends[-2] + 1))
    found = description_length(torch.zeros(1, 64, 2), rows, np.full(1, 1e-3), seed=seed)
    assert found == pytest.approx([bits], rel=1e-12)


def test_blocks_end_where_voita_and_titov_end_them():
    percent = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25, 50, 100)
    assert block_ends(100_000) == [round(1000 * each) for each in percent]
    assert block_ends(10) == [1, 2, 5, 10]


def made_task(count: int = 120) -> ProbingTask:
    random = np.random.default_rng(3)
    words = [f"w{number}" for number in range(30)]
    examples = [
        Example(str(number), (f"{random.choice(words).upper()} ran x{number}",), label=label)
        for number, label in enumerate(random.choice(["A", "A", "A", "B"], count))
    ]
    parts = {"train": examples[:80], "dev": examples[80:100], "test": examples[100:]}
    return ProbingTask("made", "Made", ("A", "B"), {k: tuple(v) for k, v in parts.items()})


def test_a_control_task_gives_each_first_word_one_label_drawn_from_those_of_the_task():
    task = made_task()
    draws = [control_task(task, seed) for seed in range(40)]
    known = {example.texts[0].split()[0].lower() for example in task.splits["train"]}
    for made in draws:
        by_word: dict[str, set[str]] = {}
        for split in SPLITS:
            for example in made.splits[split]:
                by_word.setdefault(first_word(example), set()).add(str(example.label))
            texts = [example.texts for example in made.splits[split]]
            given = [example.texts for example in task.splits[split]]
            assert texts == [one for one in given if one[0].split()[0].lower() in known]
        assert all(len(labels) == 1 for labels in by_word.values())
    shares = [np.mean([label == {"A"} for label in _labels(made).values()]) for made in draws]
    counts = task.counts("train")
    assert np.mean(shares) == pytest.approx(counts["A"] / counts.total(), abs=0.05)
    drawn = {str(sorted(_labels(made).items())) for made in draws}
    assert len(drawn) > 30


def _labels(task: ProbingTask) -> dict[str, set[str]]:
    return {first_word(example): {str(example.label)} for example in task.splits["train"]}


def test_tasks_with_numbers_or_without_repeated_first_words_have_no_control_task():
    numbers = ProbingTask("n", "Numbers", (), made_task().splits)
    with pytest.raises(CorpusError, match="Numbers has numbers instead of classes"):
        control_task(numbers, 0)
    splits = dict(made_task().splits)
    splits["test"] = (Example("1", ("Unseen words",), label="A"),)
    with pytest.raises(CorpusError, match="too few sentences begin with the same words"):
        control_task(ProbingTask("n", "Made", ("A", "B"), splits), 0)


def test_top_heads_are_compared_with_random_ones_example_by_example():
    random = np.random.default_rng(1)
    right, sets = random.random(200) < 0.7, random.random((5, 200)) < 0.6
    found = compare_random(right, sets)
    test = stats.ttest_rel(right.astype(float), sets.mean(0))
    assert found["p"] == pytest.approx(test.pvalue)
    assert (found["low"], found["high"]) == pytest.approx(tuple(test.confidence_interval()))


def test_which_examples_are_right_is_what_the_score_counts():
    x, rows = planted()
    options = Probing(control=False)
    found = classify(x, rows, options, keep_right=True)
    assert found.right is not None
    np.testing.assert_allclose(found.right.mean(1), found.test)
    assert classify(x, rows, options).right is None


@pytest.mark.slow
def test_the_controls_of_a_run_are_those_of_probing_the_control_tasks(tmp_path):
    model = tiny_model("bert", max_position_embeddings=128)
    tasks = find_tasks(["demo"], only=["Tense"], limit=40, seed=0)
    options = Probing(l2=(1e-2,), n=3, counts=(3,), greedy=False, control=False, repeats=2)
    keywords: dict[str, Any] = {"l2": [1e-2], "n": 3, "counts": [3], "greedy": False}
    keywords |= {"control": False, "repeats": 1}
    results = probe(model, tasks, cache=tmp_path, **keywords)
    controls = probe_controls(model, tasks, results, options, cache=tmp_path, draws=2, sets=4)
    each = [
        probe(model, [control_task(tasks[0], seed)], cache=tmp_path, **keywords)["probe"]["test"]
        for seed in range(2)
    ]
    more = keywords | {"embeddings": True, "repeats": 2}
    alone = probe(model, tasks, cache=tmp_path, **more)
    for name in ("probe_embeddings", "probe_splits", "probe_splits_top"):
        np.testing.assert_array_equal(controls[name]["test"].values, alone[name]["test"].values)
    heads = controls["probe_control"]
    np.testing.assert_allclose(heads["control_task"].values, (each[0] + each[1]).values / 2)
    np.testing.assert_allclose(
        heads["selectivity"].values, results["probe"]["test"].values - heads["control_task"].values
    )
    made = control_task(tasks[0], 0)
    assert float(heads["control_size"][0]) == len(made.splits["test"])
    assert len(kept_rows(tasks[0])) == sum(map(len, made.splits.values()))
    sets = controls["probe_random"]
    assert float(sets["top"][0]) == pytest.approx(
        float(results["probe_top"]["test"].sel(way="top", n=3)[0])
    )
    assert sets["test"].shape == (1, 4)
    above = float(sets["top"][0] - sets["test"].mean())
    assert float(sets["difference"][0]) == pytest.approx(above)


@pytest.mark.slow
def test_every_classifier_of_a_small_task_reaches_its_optimum(tmp_path):
    """Length of the built-in corpus has 186 training sentences; a thousand steps left 3 short."""
    quick: dict[str, Any] = {"n": 1, "counts": [1], "greedy": False, "control": False, "repeats": 1}
    results = probe("demo", "demo", only="Length", cache=tmp_path, **quick)
    assert int(results["probe"]["train"][0]) == 186
    assert int(results["probe"]["unsolved"][0]) == int(results["probe_layer"]["unsolved"][0]) == 0
