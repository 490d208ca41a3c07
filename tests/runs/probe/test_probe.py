"""Scores of probing runs: planted heads, scikit-learn as the reference, pairs of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from headscope.heads import Head
from headscope.models import Model, Pooling
from headscope.runs.probe import probe
from headscope.stats.tables.probing import head_table
from headscope.tasks.task import ProbingTask
from planted import WIDTH
from runs.probe.planted_tasks import (
    ONE,
    QUICK,
    SEGMENT,
    UNIFORM,
    dogs,
    pairs_task,
    reading,
    sentences,
    task,
    words_task,
)
from tiny import HEADS, LAYERS, tiny_model


def test_planted_information_is_found_in_its_head_and_nowhere_else(tmp_path: Path) -> None:
    model, asked = reading((UNIFORM, ("dog",))), dogs()
    results = probe(model, asked, cache=tmp_path, max_length=24)
    data = results["probe"].sel(task="dogs")
    gold = [example.label for example in asked.splits["test"]]
    majority = max(gold.count("no"), gold.count("yes")) / 60
    assert data["test"].sel(layer=2, head=UNIFORM + 1) == 1.0
    rest = np.delete(data["test"].values.ravel(), 5 + UNIFORM)
    assert set(rest.tolist()) <= {
        majority,
        1 - majority,
    }  # a constant answer: the more frequent class of the training split
    assert float(data["majority"]) in (majority, 1 - majority)
    assert (
        results["probe_layer"]["test"].values == float(data["majority"])
    ).all()  # at [CLS] no layer depends on dogs
    constant = np.full((2, 5), WIDTH)
    constant[1, UNIFORM] = WIDTH - 1
    assert data["constant"].values.tolist() == constant.tolist()
    assert results["probe_top"].attrs["shortlist"] == 4
    ranks = results["probe_top"]["rank"].sel(task="dogs", place=1)
    assert ranks.values.tolist() == ["2-5", "2-5"]
    assert (results["probe_top"]["test"].sel(task="dogs").values == 1.0).all()
    assert head_table(results, "dogs").iloc[0]["head"] == "2-5"
    assert float(data["control"].sel(layer=2, head=5)) < 0.75  # shuffled labels cannot be learned
    low, high = float(data["low"].sel(layer=2, head=5)), float(data["high"].sel(layer=2, head=5))
    assert (low, high) == pytest.approx(
        stats.binomtest(60, 60).proportion_ci(method="wilson"), abs=1e-9
    )


def test_layers_are_scored_by_their_hidden_states(tmp_path: Path) -> None:
    results = probe(
        reading((UNIFORM, ("dog",))),
        [dogs()],
        cache=tmp_path,
        position="mean",
        **ONE,
        **QUICK,
    )
    assert (
        results["probe_layer"]["test"].values == 1.0
    ).all()  # the mean of the embeddings depends on every word
    assert results.provenance["position"] == "mean"


def test_heads_are_chosen_by_validation_never_by_test_scores(tmp_path: Path) -> None:
    def both(random: np.random.Generator, words: list[str]) -> None:
        if random.random() < 0.5:
            words[2], words[5] = "dog", "cat"

    def each(random: np.random.Generator, words: list[str]) -> None:
        for place, word in ((2, "dog"), (5, "cat")):
            if random.random() < 0.5:
                words[place] = word

    rows = {
        split: sentences(count, seed, put)
        for seed, (split, count, put) in enumerate(
            (("train", 80, both), ("dev", 40, each), ("test", 40, each))
        )
    }
    parts = {
        split: [
            ((text,), str(int(("cat" if split == "test" else "dog") in text))) for text in texts
        ]
        for split, texts in rows.items()
    }
    model = reading((UNIFORM, ("dog",)), (SEGMENT, ("cat",)))
    results = probe(
        model,
        [task("animals", parts, ("0", "1"))],
        cache=tmp_path,
        counts=(1, 2),
        max_length=24,
        **QUICK,
    )
    heads = results["probe"].sel(task="animals", layer=2)
    assert (float(heads["validation"].sel(head=5)), float(heads["test"].sel(head=2))) == (1.0, 1.0)
    assert results["probe_top"]["rank"].sel(place=1).values.tolist() == [["2-5", "2-5"]]
    chosen = float(results["probe_top"]["test"].sel(task="animals", way="top", n=1))
    assert (
        chosen == float(heads["test"].sel(head=5)) < 0.8
    )  # although 2-2 is always right on the test split


def texts_of(asked: ProbingTask, split: str) -> list[Any]:
    return [
        example.texts if len(example.texts) > 1 else example.texts[0]
        for example in asked.splits[split]
    ]


def labels_of(asked: ProbingTask, split: str) -> NDArray[Any]:
    return np.array([example.label for example in asked.splits[split]])


def prepared(train: NDArray[Any], test: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    spread = train.std(0)
    return (train - train.mean(0)) / spread, (test - train.mean(0)) / spread


def accuracy(model: Model, asked: ProbingTask, pooling: Pooling, l2: float) -> float:
    """The test score of scikit-learn on vectors that were never on disk."""
    train, test = prepared(
        *(
            model.encode(texts_of(asked, split), pooling=pooling).astype(np.float64)
            for split in ("train", "test")
        )
    )
    judge = LogisticRegression(C=1 / (l2 * len(train)), max_iter=2000, tol=1e-8).fit(
        train, labels_of(asked, "train")
    )
    return float(judge.score(test, labels_of(asked, "test")))


def test_scores_are_those_of_scikit_learn(tmp_path: Path) -> None:
    model, asked = tiny_model("bert"), words_task((150, 60, 200))
    results = probe(
        model,
        [asked],
        cache=tmp_path,
        counts=(3,),
        n=3,
        greedy=False,
        max_length=64,
        **QUICK,
    )
    point = pytest.approx
    for layer in range(LAYERS):
        assert float(results["probe_layer"]["test"][0, layer]) == point(
            accuracy(model, asked, Pooling(layer=layer + 1), 1e-2), abs=0.0051
        )
        for head in range(HEADS):
            assert float(results["probe"]["test"][0, layer, head]) == point(
                accuracy(model, asked, Pooling(Head(layer, head)), 1e-2), abs=0.0051
            )
    ranked = [
        str(name).split("-")
        for name in results["probe_top"]["rank"].sel(task="words", way="top").values
    ]
    validation = [
        float(results["probe"]["validation"].sel(task="words", layer=int(layer), head=int(head)))
        for layer, head in ranked
    ]
    assert validation == sorted(validation, reverse=True)
    best = ["-".join(name) for name in ranked[:3]]
    assert float(results["probe_top"]["test"].sel(task="words", way="top", n=3)) == point(
        accuracy(model, asked, Pooling(best), 1e-2), abs=0.0051
    )
    assert np.isnan(results["probe_top"]["test"].sel(way="greedy").values).all()


def test_regression_follows_senteval_and_is_scored_by_pearson(tmp_path: Path) -> None:
    model, words = tiny_model("bert"), words_task()
    rows = {
        split: [
            (example.texts, f"{min(5.0, 0.8 * len(example.texts[0].split()) - 1.3):.2f}")
            for example in examples
        ]
        for split, examples in words.splits.items()
    }
    asked = task("lengths", rows, ())
    results = probe(model, [asked], cache=tmp_path, **ONE, **QUICK)
    gold = {split: labels_of(asked, split).astype(float) for split in ("train", "test")}
    levels = np.arange(
        np.floor(min(map(min, gold.values()))), np.ceil(max(map(max, gold.values()))) + 1
    )
    for layer, head in ((0, 0), (0, 3), (1, 2)):
        train, test = prepared(
            *(
                model.encode(texts_of(asked, split), pooling=Pooling(Head(layer, head))).astype(
                    np.float64
                )
                for split in ("train", "test")
            )
        )
        weights = np.clip(
            1 - np.abs(gold["train"][:, None] - levels), 0, None
        )  # a score between two levels counts partly for each
        row, level = np.nonzero(weights)
        judge = LogisticRegression(C=1 / (1e-2 * len(train)), max_iter=2000, tol=1e-8).fit(
            train[row], level, sample_weight=weights[row, level]
        )
        predicted = judge.predict_proba(test) @ levels[judge.classes_]
        assert float(results["probe"]["test"][0, layer, head]) == pytest.approx(
            stats.pearsonr(predicted, gold["test"]).statistic, abs=0.005
        )
        assert float(results["probe"]["spearman"][0, layer, head]) == pytest.approx(
            stats.spearmanr(predicted, gold["test"]).statistic, abs=0.02
        )
    data = results["probe"].sel(task="lengths", layer=1, head=3)
    assert (str(data["metric"].values), int(data["classes"]), int(data["dev"])) == ("pearson", 0, 0)
    assert np.isnan(float(data["majority"]))
    assert float(data["low"]) < float(data["test"]) < float(data["high"])


def test_pairs_apart_are_both_vectors_their_distance_and_their_product(
    given: list[Any], tmp_path: Path
) -> None:
    model, asked = tiny_model("bert"), pairs_task()
    probe(
        model,
        [asked],
        cache=tmp_path,
        pairs="apart",
        counts=(2,),
        n=2,
        max_length=64,
        repeats=1,
        **QUICK,
    )
    pairs = [example.texts for split in ("train", "test") for example in asked.splits[split]]

    def apart(pooling: Pooling) -> NDArray[np.float32]:
        u, v = (model.encode([pair[side] for pair in pairs], pooling=pooling) for side in (0, 1))
        return np.concatenate([u, v, np.abs(u - v), u * v], 1)

    assert [x.shape for x in given] == [(4, 40, 32), (1, 40, 128)] * 2 + [(1, 40, 64)] * 2
    for head in range(HEADS):
        np.testing.assert_allclose(
            given[2][head], apart(Pooling(Head(1, head))), rtol=5e-3, atol=5e-3
        )
    np.testing.assert_allclose(given[1][0], apart(Pooling(layer=1)), rtol=5e-3, atol=5e-3)


def test_pairs_together_are_one_input(given: list[Any], tmp_path: Path) -> None:
    model, asked = tiny_model("bert"), pairs_task()
    probe(
        model,
        [asked],
        cache=tmp_path,
        **(ONE | {"max_length": 64}),
        **QUICK,
    )
    pairs = [example.texts for split in ("train", "test") for example in asked.splits[split]]
    np.testing.assert_allclose(
        given[2][3], model.encode(pairs, pooling=Pooling("2-4")), rtol=0, atol=2e-3
    )  # half precision of distances from means
    np.testing.assert_allclose(
        given[3][0], model.encode(pairs, pooling=Pooling(layer=2)), rtol=0, atol=2e-3
    )  # half precision of distances from means
