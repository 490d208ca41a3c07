"""Greedy selection agrees with plain selection, which trains a classifier for every candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import headscope as hs
from headscope.errors import ResultsError, UserError
from headscope.heads import Head
from headscope.results import Atlas
from headscope.runs.probe import Probing, select
from headscope.runs.probe.classify import classify, standardise
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.select import JUDGE_L2, candidates, greedy, judging_rows, ranking
from headscope.stats.tables.probing import top_heads

NONE = np.zeros(0, np.int64)


def literal(x: Any, wanted: Any, train: Any, held: Any, *, count: int) -> list[int]:
    """Selection by scikit-learn, with a new classifier for every set of heads.

    ``wanted`` (row, class) may be shares: a row then counts once for each of its classes.
    """
    place, answers = np.nonzero(wanted[train])
    repeated, weight = train[place], wanted[train][place, answers]
    chosen: list[int] = []
    while len(chosen) < count:
        losses = {}
        for unit in set(range(len(x))) - set(chosen):
            features = np.concatenate([x[one] for one in [*chosen, unit]], 1)
            model = LogisticRegression(C=1 / (JUDGE_L2 * len(train)), tol=1e-8, max_iter=5000).fit(
                features[repeated], answers, sample_weight=weight
            )
            losses[unit] = -(wanted[held] * model.predict_log_proba(features[held])).sum()
        chosen.append(min(losses, key=lambda unit: losses[unit]))
    return chosen


@pytest.mark.parametrize("regression", [False, True], ids=["classes", "scores"])
@pytest.mark.parametrize("seed", range(3))
def test_the_selection_is_that_of_new_classifiers(seed, regression, monkeypatch):
    monkeypatch.setattr(select, "SHORTLIST", 99)
    monkeypatch.setattr(select, "TOLERANCE", 1e-5)
    random = np.random.default_rng(seed)
    x = random.normal(size=(6, 90, 3))
    x[3] = 0.8 * x[1] + 0.6 * x[3]  # heads are correlated
    score = x[1, :, 0] + 0.7 * x[4, :, 1] + 0.5 * x[5, :, 2] + random.normal(0, 0.5, 90)
    gold = (
        np.clip(score + 2.5, 0, 5) if regression else np.digitize(score, [-0.6, 0.6]).astype(float)
    )
    levels = np.arange(np.floor(gold.min()), np.ceil(gold.max()) + 1)
    wanted = np.clip(1 - np.abs(gold[:, None] - levels), 0, None)
    rows = LabelledRows(gold, 0 if regression else 3, np.arange(60), np.arange(60, 90), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    found = greedy(prepared, rows, count=6)
    assert found == literal(prepared.double().numpy(), wanted, rows.train, rows.dev, count=6)
    assert greedy(prepared, rows, count=3) == found[:3]
    assert sorted(greedy(prepared, rows, count=99)) == list(range(6))


def test_the_most_promising_heads_are_tried():
    """Of 40 heads six are informative. With four tried each time these six are selected.

    A noisy copy of the best head, better by itself than most, is not.
    """
    random = np.random.default_rng(1)
    x = random.normal(size=(40, 900, 4))
    known = [31, 4, 17, 22, 38, 9]
    score = np.array([1.6, 1.4, 1.2, 1.0, 0.8, 0.6]) @ x[known, :, 0]
    x[12, :, 0] = x[31, :, 0] + 0.3 * random.normal(size=900)  # a noisy copy
    gold = np.digitize(score + 0.3 * random.normal(size=900), [-1.0, 1.0]).astype(float)
    rows = LabelledRows(gold, 3, np.arange(600), np.arange(600, 900), NONE)
    prepared = standardise(torch.from_numpy(x).float(), rows.train)[0]
    assert sorted(greedy(prepared, rows, count=6)) == sorted(known)


def bits(
    strengths: list[float], known: list[int], heads: int, seed: int
) -> tuple[torch.Tensor, LabelledRows]:
    """Six bits make 64 classes; each of six heads knows one of them, more or less surely."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(heads, 1500, 4))
    told = random.integers(0, 2, (6, 1500))
    for unit, bit, strength in zip(known, told, strengths, strict=True):
        x[unit, :, 0] += strength * (2 * bit - 1)
    gold = (told * 2 ** np.arange(6)[:, None]).sum(0).astype(float)
    rows = LabelledRows(gold, 64, np.arange(1000), np.arange(1000, 1500), NONE)
    return standardise(torch.from_numpy(x).float(), rows.train)[0], rows


def test_the_selection_among_many_classes_is_that_of_new_classifiers(monkeypatch):
    monkeypatch.setattr(select, "SHORTLIST", 99)
    x, rows = bits([1.4, 1.2, 1.0, 0.8, 0.6, 0.4], [2, 0, 5, 3, 1, 4], 6, seed=2)
    wanted = np.eye(64)[rows.gold.astype(int)]
    expected = literal(x.double().numpy(), wanted, rows.train, rows.dev, count=4)
    assert greedy(x, rows, count=4) == expected


def test_the_most_promising_heads_are_tried_with_many_classes():
    """Of 40 heads six know a bit each; a noisy copy of the best head is not selected."""
    known = [31, 4, 17, 22, 38, 9]
    x, rows = bits([1.6, 1.5, 1.4, 1.3, 1.2, 1.1], known, 40, seed=1)
    x[12] = x[31] + 0.3 * torch.randn(x[31].shape, generator=torch.Generator().manual_seed(0))
    assert sorted(greedy(x, rows, count=6)) == sorted(known)


def test_ranking_selects_a_head_and_its_copy_but_greedy_selection_does_not():
    random = np.random.default_rng(0)
    one, two = random.integers(0, 2, (2, 600))
    best = (2.0 * one - 1 + random.normal(0, 0.3, 600))[:, None]
    other = (2.0 * two - 1 + random.normal(0, 0.8, 600))[:, None]
    x = torch.from_numpy(np.stack([other, best, best, random.normal(size=(600, 1))])).float()
    rows = LabelledRows(
        2.0 * one + two, 4, np.arange(300), np.arange(300, 400), np.arange(400, 600)
    )
    options = Probing(control=False)
    top = ranking(classify(x, rows, options).validation)[:2]
    chosen = greedy(standardise(x, rows.train)[0], rows, count=2)
    assert (top, chosen) == ([1, 2], [1, 0])
    scores = [
        classify(torch.cat([x[unit] for unit in units], 1)[None], rows, options).test[0]
        for units in (top, chosen)
    ]
    assert scores[0] < 0.6  # one of two bits
    assert scores[1] > 0.8


def test_greedy_selection_uses_no_test_rows(monkeypatch):
    gold = np.arange(50.0)
    rows = LabelledRows(gold, 50, np.arange(10, 40), np.arange(5), np.arange(40, 50))
    kept, part = judging_rows(rows, 0)
    assert sorted(kept[part.train]) == list(range(10, 40))
    assert kept[part.dev].tolist() == [0, 1, 2, 3, 4]
    assert part.gold.tolist() == gold[kept].tolist()
    alone = LabelledRows(gold, 50, np.arange(10, 40), NONE, np.arange(40, 50))
    kept, part = judging_rows(alone, 0)
    assert (len(part.train), len(part.dev)) == (24, 6)
    # each once: no row both trains and judges, and none is a test row
    assert sorted(kept) == list(range(10, 40))
    assert judging_rows(alone, 1)[0].tolist() != kept.tolist()
    monkeypatch.setattr(select, "TRAINED_ON", 8)
    assert [len(judging_rows(one, 0)[1].train) for one in (rows, alone)] == [8, 8]


def test_the_number_of_candidates_of_greedy_selection():
    def seen(*, width: int, classes: int, train: int, count: int) -> int:
        rows = LabelledRows(np.zeros(train), classes, np.arange(train), NONE, NONE)
        return len(candidates(range(400), rows, width, count))

    assert seen(width=64, classes=2, train=10_000, count=12) == 144
    assert seen(width=128, classes=2, train=10_000, count=12) == 72
    assert seen(width=32, classes=1000, train=10_000, count=12) == 25
    # never fewer than are to be selected
    assert seen(width=64, classes=1000, train=10_000, count=16) == 16


def test_units_without_a_score_rank_last_and_equals_keep_their_order():
    assert ranking(np.array([np.nan, 0.2, 0.9, 0.2, np.nan, -0.5])) == [2, 1, 3, 5, 0, 4]


# --- top heads ---

NAN = float("nan")


def results_of(validation: list[list[list[float]]]) -> Atlas:
    """Atlas with the given validation scores, (task, layer, head)."""
    shape = np.shape(validation)
    names = ["past_present", "tree_depth"][: shape[0]]
    coords = {"task": names} | {
        name: np.arange(1, count + 1)
        for name, count in zip(("layer", "head"), shape[1:], strict=True)
    }
    titles = (("task",), ["Tense", "Depth"][: shape[0]])
    group = xr.Dataset({"validation": (tuple(coords), validation), "title": titles}, coords)
    return Atlas.build({"probe": group}, {})


TWO_TASKS = results_of([[[0.5, 0.9, 0.7], [0.7, 0.6, 0.1]], [[0.9, 0.1, 0.6], [0.7, 0.9, 0.2]]])


def test_heads_are_ordered_by_the_validation_score_of_the_task():
    assert top_heads(TWO_TASKS, 3, "past_present") == (Head(0, 1), Head(0, 2), Head(1, 0))
    assert top_heads(TWO_TASKS, 2, task="depth") == (Head(0, 0), Head(1, 1))


def test_without_a_task_the_mean_over_tasks_decides():
    # means: 0.7, 0.5, 0.65 in layer 1; 0.7, 0.75, 0.15 in layer 2
    best = (Head(1, 1), Head(0, 0), Head(1, 0), Head(0, 2), Head(0, 1), Head(1, 2))
    assert top_heads(TWO_TASKS, 6) == best


def test_heads_without_a_score_and_tasks_without_scores_are_skipped():
    results = results_of([[[0.5, NAN], [0.7, 0.6]], [[NAN, NAN], [NAN, NAN]]])
    expected = (Head(1, 0), Head(1, 1), Head(0, 0))
    assert top_heads(results, 3) == top_heads(results, 3, "Tense") == expected
    with pytest.raises(UserError, match=r"^the number of heads must be between 1 and 3, the numb"):
        top_heads(results, 4)


@pytest.mark.parametrize("n", [0, 7])
def test_a_number_of_heads_outside_the_range_is_an_error(n):
    with pytest.raises(UserError) as error:
        top_heads(TWO_TASKS, n)
    assert error.value.message == (
        "the number of heads must be between 1 and 6, the number of heads with a validation score; "
        f"got {n} instead"
    )


def test_a_task_that_was_not_probed_is_an_error():
    with pytest.raises(UserError, match=r"^the task must be one of past_present, tree_depth; got "):
        top_heads(TWO_TASKS, 1, "length")
    with pytest.raises(ResultsError, match=r"^these results have no probes of heads"):
        top_heads(Atlas.build({}, {}), 1)


@pytest.fixture(scope="module")
def probed(tmp_path_factory):
    """A small probe of the embedded model on two of the built-in tasks."""
    how = {"only": ["Tense", "Length"], "sample": 30, "max_length": 48, "counts": [12]}
    how |= {"greedy": False, "control": False, "l2": [1e-2], "repeats": 1}
    return hs.probe("demo", ["demo"], cache=tmp_path_factory.mktemp("vectors"), **how)


def test_the_heads_of_a_real_probe_make_sentence_vectors(probed):
    best: tuple[Head, ...] = probed.top_heads(12)
    scores = probed["probe"]["validation"].mean("task").values
    order = sorted(np.ndindex(6, 12), key=lambda place: -scores[place])  # stable, as the model is
    assert [(head.layer, head.head) for head in best] == order[:12]
    sentences = ["A dog barked.", "The cats were asleep."]
    with hs.load("demo") as model:
        vectors: NDArray[np.float32] = model.encode(sentences, heads=best)
        alone = [model.encode(sentences, heads=str(head)) for head in best]
    assert vectors.shape == (2, 12 * 32)
    assert np.abs(vectors - np.concatenate(alone, axis=1)).max() < 1e-6


def test_vectors_are_read_where_the_probe_read_them(probed):
    texts = ["A dog barked.", "The cats were asleep."]
    with hs.load("demo") as model:
        given = model.encode(texts, heads="2-3")
        same = model.encode(texts, heads="2-3", position=probed.provenance["position"])
    assert np.array_equal(given, same)
