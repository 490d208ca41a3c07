"""Scores of probing runs: planted heads, scikit-learn as the reference, pairs of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from headscope.errors import UserError
from headscope.heads import Head
from headscope.models import Model, Pooling
from headscope.progress import Reporter
from headscope.runs.probe import Probing, Vectors, probe
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.task import count_repeats, redraw
from headscope.runs.probe.vectors import text_embeddings
from headscope.stats.tables.probing import head_table, top_table
from headscope.tasks.task import SPLITS, ProbingTask
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

HALF: dict[str, Any] = {"rtol": 0, "atol": 2e-3}  # half precision of distances from means
NEAR: dict[str, Any] = {"rtol": 5e-3, "atol": 5e-3}


def test_planted_information_is_found_in_its_head_and_nowhere_else(tmp_path):
    model, asked = reading((UNIFORM, ("dog",))), dogs()
    results = probe(model, asked, cache=tmp_path, max_length=24, embeddings=True)
    data = results["probe"].sel(task="dogs")
    gold = [example.label for example in asked.splits["test"]]
    majority = max(gold.count("no"), gold.count("yes")) / 60
    assert data["test"].sel(layer=2, head=UNIFORM + 1) == 1.0
    # The others give a constant answer: the more frequent class of the training split.
    rest = np.delete(data["test"].values.ravel(), 5 + UNIFORM)
    assert set(rest.tolist()) <= {majority, 1 - majority}
    assert float(data["majority"]) in (majority, 1 - majority)
    # At [CLS] no layer depends on dogs; the mean of the embeddings depends on every word.
    assert (results["probe_layer"]["test"].values == float(data["majority"])).all()
    assert float(results["probe_embeddings"]["test"][0]) == 1.0
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


def test_layers_are_scored_by_their_hidden_states(tmp_path):
    model = reading((UNIFORM, ("dog",)))
    results = probe(model, [dogs()], cache=tmp_path, position="mean", **ONE, **QUICK)
    # The mean of the embeddings depends on every word.
    assert (results["probe_layer"]["test"].values == 1.0).all()
    assert results.provenance["position"] == "mean"


def test_heads_are_chosen_by_validation_never_by_test_scores(tmp_path):
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
    animals, how = task("animals", parts, ("0", "1")), {"counts": (1, 2), "max_length": 24}
    results = probe(model, [animals], cache=tmp_path, **how, **QUICK)
    heads = results["probe"].sel(task="animals", layer=2)
    assert (float(heads["validation"].sel(head=5)), float(heads["test"].sel(head=2))) == (1.0, 1.0)
    assert results["probe_top"]["rank"].sel(place=1).values.tolist() == [["2-5", "2-5"]]
    chosen = float(results["probe_top"]["test"].sel(task="animals", way="top", n=1))
    # ... although 2-2 is always right on the test split
    assert chosen == float(heads["test"].sel(head=5)) < 0.8


def texts_of(asked: ProbingTask, split: str) -> list[Any]:
    return [
        example.texts if len(example.texts) > 1 else example.texts[0]
        for example in asked.splits[split]
    ]


def labels_of(asked: ProbingTask, split: str) -> NDArray[Any]:
    return np.array([example.label for example in asked.splits[split]])


def features_of(
    model: Model, asked: ProbingTask, pooling: Pooling
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Features of the training and of the test split, scaled by the former."""
    train, test = (
        model.encode(texts_of(asked, split), pooling=pooling).astype(np.float64)
        for split in ("train", "test")
    )
    return (train - train.mean(0)) / train.std(0), (test - train.mean(0)) / train.std(0)


def accuracy(model: Model, asked: ProbingTask, pooling: Pooling, l2: float) -> float:
    """The test score of scikit-learn on vectors that were never on disk."""
    train, test = features_of(model, asked, pooling)
    judge = LogisticRegression(C=1 / (l2 * len(train)), max_iter=2000, tol=1e-8)
    judge.fit(train, labels_of(asked, "train"))
    return float(judge.score(test, labels_of(asked, "test")))


def test_scores_are_those_of_scikit_learn(tmp_path):
    model, asked = tiny_model("bert"), words_task((150, 60, 200))
    how: dict[str, Any] = {"counts": (3,), "n": 3, "greedy": False, "max_length": 64}
    results = probe(model, [asked], cache=tmp_path, **how, **QUICK)

    def near(pooling: Pooling) -> Any:
        return pytest.approx(accuracy(model, asked, pooling, 1e-2), abs=0.0051)

    for layer in range(LAYERS):
        assert float(results["probe_layer"]["test"][0, layer]) == near(Pooling(layer=layer + 1))
        for head in range(HEADS):
            assert float(results["probe"]["test"][0, layer, head]) == near(
                Pooling(Head(layer, head))
            )
    ranked = results["probe_top"]["rank"].sel(task="words", way="top").values.tolist()
    heads = [Head.parse(name) for name in ranked]
    validation = results["probe"]["validation"].values[0]
    assert [validation[head] for head in heads] == sorted(validation.ravel(), reverse=True)
    top = float(results["probe_top"]["test"].sel(task="words", way="top", n=3))
    assert top == near(Pooling(ranked[:3]))
    assert np.isnan(results["probe_top"]["test"].sel(way="greedy").values).all()


def test_regression_follows_senteval_and_is_scored_by_pearson(tmp_path):
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
    # A score between two levels counts partly for each.
    weights = np.clip(1 - np.abs(gold["train"][:, None] - levels), 0, None)
    row, level = np.nonzero(weights)
    found = {name: results["probe"][name].values[0] for name in ("test", "spearman")}
    for head in (Head(0, 0), Head(0, 3), Head(1, 2)):
        train, test = features_of(model, asked, Pooling(head))
        judge = LogisticRegression(C=1 / (1e-2 * len(train)), max_iter=2000, tol=1e-8)
        judge.fit(train[row], level, sample_weight=weights[row, level])
        predicted = judge.predict_proba(test) @ levels[judge.classes_]
        pearson, spearman = (
            correlation(predicted, gold["test"]).statistic
            for correlation in (stats.pearsonr, stats.spearmanr)
        )
        assert found["test"][head] == pytest.approx(pearson, abs=0.005)
        assert found["spearman"][head] == pytest.approx(spearman, abs=0.02)
    data = results["probe"].sel(task="lengths", layer=1, head=3)
    assert (str(data["metric"].values), int(data["classes"]), int(data["dev"])) == ("pearson", 0, 0)
    assert np.isnan(float(data["majority"]))
    assert float(data["low"]) < float(data["test"]) < float(data["high"])


def test_pairs_apart_are_both_vectors_their_distance_and_their_product(given, tmp_path):
    model, asked = tiny_model("bert"), pairs_task()
    how: dict[str, Any] = {"counts": (2,), "n": 2, "max_length": 64, "repeats": 1}
    probe(model, [asked], cache=tmp_path, pairs="apart", embeddings=True, **how, **QUICK)
    sides = list(zip(*(texts_of(asked, "train") + texts_of(asked, "test")), strict=True))

    def apart(u: NDArray[Any], v: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([u, v, np.abs(u - v), u * v], 1)

    def encoded(pooling: Pooling) -> NDArray[Any]:
        return apart(*(model.encode(list(side), pooling=pooling) for side in sides))

    shapes = [x.shape for x in given]
    assert shapes[:6] == [(4, 40, 32), (1, 40, 128)] * 2 + [(1, 40, 64)] * 2
    for head in range(HEADS):
        np.testing.assert_allclose(given[2][head], encoded(Pooling(Head(1, head))), **NEAR)
    np.testing.assert_allclose(given[1][0], encoded(Pooling(layer=1)), **NEAR)
    expected = apart(*(embedded(model, list(side)) for side in sides))
    np.testing.assert_allclose(given[-1][0], expected, atol=1e-6)


def test_pairs_together_are_one_input(given, tmp_path):
    model, asked = tiny_model("bert"), pairs_task()
    probe(model, [asked], cache=tmp_path, **(ONE | {"max_length": 64}), **QUICK)
    pairs = texts_of(asked, "train") + texts_of(asked, "test")
    for place, pooling in (((2, 3), Pooling("2-4")), ((3, 0), Pooling(layer=2))):
        found, expected = given[place[0]][place[1]], model.encode(pairs, pooling=pooling)
        np.testing.assert_allclose(found, expected, **HALF)


# --- repeated splits ---


def rows(sizes: tuple[int, int, int], classes: int = 3) -> LabelledRows:
    random = np.random.default_rng(5)
    shares = np.array([0.6, 0.3, 0.1])
    gold = random.choice(3, sum(sizes), p=shares) if classes else random.uniform(0, 5, sum(sizes))
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:2])
    return LabelledRows(gold.astype(float), classes, *parts)


@pytest.mark.parametrize("sizes", [(97, 23, 41), (100, 0, 31), (30, 60, 90)])
def test_a_new_split_has_the_same_sizes_and_shares_of_classes(sizes):
    own = rows(sizes)
    for number in range(1, 20):
        new = redraw(own, 7, number)
        parts = (new.train, new.dev, new.test)
        assert tuple(map(len, parts)) == sizes
        assert sorted(np.concatenate(parts).tolist()) == list(range(sum(sizes)))
        for part, size in zip(parts, sizes, strict=True):
            counts = np.bincount(own.gold[part].astype(int), minlength=3)
            expected = np.bincount(own.gold.astype(int)) * size / sum(sizes)
            assert (np.abs(counts - expected) < 2).all()


def test_new_splits_are_random_and_depend_on_seed_and_number_only():
    own = rows((60, 20, 20))
    drawn = [redraw(own, 7, number).test.tolist() for number in range(1, 201)]
    assert drawn[0] == redraw(own, 7, 1).test.tolist() != redraw(own, 8, 1).test.tolist()
    often = np.bincount(np.concatenate(drawn), minlength=100)
    # Each example is tested in a fifth of 200 splits: 40 ± 5.7, and no example is far from it.
    assert (np.abs(often - 40) < 5 * 5.7).all()
    assert len({tuple(test) for test in drawn}) == 200


def test_the_range_of_a_regression_is_covered_by_every_part():
    own = rows((60, 20, 20), classes=0)
    for number in range(1, 10):
        new = redraw(own, 0, number)
        for part in (new.train, new.dev, new.test):
            assert own.gold[part].mean() == pytest.approx(own.gold.mean(), abs=0.2)


def test_only_small_tasks_are_repeated_unless_a_number_is_given():
    cases = {(300, 200, 200): 0, (300, 199, 200): 5, (300, 200, 199): 5, (300, 0, 200): 0}
    for sizes, expected in cases.items():
        task = dogs(sizes=sizes)
        assert count_repeats(task, None) == expected
        assert (count_repeats(task, 1), count_repeats(task, 2)) == (0, 2)
    with pytest.raises(UserError, match="the number of repeats must be 1 or more, got 0 instead"):
        Probing(repeats=0)


def test_scores_are_those_of_scikit_learn_split_by_split(tmp_path):
    """Heads and layers are chosen by scikit-learn, in a loop over splits of the same rows."""
    model, asked = tiny_model("bert"), words_task((120, 60, 80))
    options: dict[str, Any] = {"counts": (2,), "n": 2, "greedy": False, "max_length": 64}
    results = probe(model, [asked], cache=tmp_path, repeats=3, seed=4, **options, **QUICK)
    texts = [text for split in SPLITS for text in texts_of(asked, split)]
    gold = np.concatenate([labels_of(asked, split) for split in SPLITS])
    own = LabelledRows.of(asked)

    def vectors(pooling: Pooling) -> Any:
        return model.encode(texts, pooling=pooling).astype(np.float64)

    def score(x: Any, new: LabelledRows) -> tuple[float, float]:
        x = (x - x[new.train].mean(0)) / x[new.train].std(0)
        judge = LogisticRegression(C=1 / (1e-2 * len(new.train)), max_iter=3000, tol=1e-8)
        judge.fit(x[new.train], gold[new.train])
        return judge.score(x[new.dev], gold[new.dev]), judge.score(x[new.test], gold[new.test])

    every = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    heads = {head: vectors(Pooling(Head(*head))) for head in every}
    layers = [vectors(Pooling(layer=layer + 1)) for layer in range(LAYERS)]
    top = results["probe_splits_top"].sel(task="words")
    mine = np.zeros((3, LAYERS, HEADS))
    for number in range(1, 4):
        new = redraw(own, 4, number)
        each = {head: score(x, new) for head, x in heads.items()}
        for head, (_, test) in each.items():
            mine[number - 1][head] = test
        states = [score(x, new) for x in layers]
        found = top.sel(split=number)
        # One answer of 60 or 80 may differ by the half precision in which vectors are kept.
        assert float(found["each"].sel(way="last")) == pytest.approx(states[-1][1], abs=0.0126)
        best = int(found["best_layer"]) - 1
        assert states[best][0] >= max(dev for dev, _ in states) - 0.034
        assert float(found["each"].sel(way="best")) == pytest.approx(states[best][1], abs=0.0126)
        chosen = [Head.parse(str(name)) for name in found["rank"].values]
        scores = sorted((dev for dev, _ in each.values()), reverse=True)
        assert each[chosen[0].layer, chosen[0].head][0] >= scores[0] - 0.034
        assert each[chosen[1].layer, chosen[1].head][0] >= scores[1] - 0.034
        together = np.concatenate([heads[head.layer, head.head] for head in chosen], 1)
        expected = score(together, new)[1]
        assert float(found["each"].sel(way="top")) == pytest.approx(expected, abs=0.0126)
    found = results["probe_splits"].sel(task="words")
    np.testing.assert_allclose(found["test"].values, mine.mean(0), atol=0.0126)
    picked = [str(name) for name in top["rank"].values.ravel()]
    share = {str(Head(*head)): picked.count(str(Head(*head))) / 3 for head in heads}
    flat = [share[str(Head(*head))] for head in heads]
    assert found["chosen"].values.ravel().tolist() == pytest.approx(flat)


def test_repeats_and_embeddings_change_no_other_number(tmp_path):
    model, asked = tiny_model("bert"), [words_task((60, 20, 30)), dogs(sizes=(40, 10, 20))]
    options: dict[str, Any] = ONE | {"l2": (1e-2, 1e-1)}
    plain = probe(model, asked, repeats=1, cache=tmp_path / "one", **options)
    more = probe(model, asked, embeddings=True, cache=tmp_path / "two", **options)
    added = {"probe_splits", "probe_splits_top", "probe_embeddings"}
    assert set(more.measures) - set(plain.measures) == added
    for name in plain:
        xr.testing.assert_identical(plain[name], more[name])
    settings = [atlas.provenance["settings"] for atlas in (plain, more)]
    assert not {"repeats", "embeddings"} & settings[0].keys()
    assert (settings[1]["repeats"], settings[1]["embeddings"]) == (5, True)
    assert more["probe_splits_top"].sizes["split"] == 5
    assert np.isfinite(more["probe_embeddings"]["control"].values).all()


def test_tasks_that_are_large_enough_are_not_repeated(tmp_path):
    model = tiny_model("bert")
    asked = [words_task((60, 200, 200)), dogs(sizes=(40, 10, 20))]
    said: list[str] = []

    class Told(Reporter):
        def say(self, text: str) -> None:
            said.append(text)

    results = probe(model, asked, cache=tmp_path, progress=Told(visible=False), **ONE, **QUICK)
    assert results["probe_splits"]["task"].values.tolist() == ["dogs"]
    assert said[0] == (
        "Dogs: fewer than 200 validation or test examples; 5 random splits are probed besides the "
        "task's own, which takes 5 times the work of its heads and layers (5 × 11 classifiers for "
        "each L2 value). To skip them, set repeats to 1."
    )
    alone = probe(model, asked[:1], cache=tmp_path, **ONE, **QUICK)
    assert "repeats" not in alone.provenance["settings"]
    assert "probe_splits" not in alone.measures


# --- embeddings ---


def embedded(model: Model, texts: list[Any]) -> NDArray[np.float64]:
    """The mean over tokens of transformers' embedding layers, text by text without padding."""
    found = []
    for text in texts:
        pair = (text,) if isinstance(text, str) else text
        tokens = model.tokenizer(*pair, return_tensors="pt")
        with torch.inference_mode():
            if hasattr(model.network, "embeddings"):  # BERT
                types = tokens["token_type_ids"]
                state = model.network.embeddings(tokens["input_ids"], types)
            else:  # GPT-2
                ids = tokens["input_ids"]
                state = model.network.wte(ids) + model.network.wpe(torch.arange(ids.shape[1]))
        found.append(state[0].double().mean(0).numpy())
    return np.stack(found)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_embeddings_are_the_mean_of_what_the_embedding_layer_returns(kind):
    model = tiny_model(kind)
    texts = ["cat", "the dog sat by the old tree", "rain fell on the roof of the door"]
    how = Vectors(max_length=32, batch_size=2)
    found = text_embeddings(model, [(text,) for text in texts], how)
    np.testing.assert_allclose(found, embedded(model, texts), atol=1e-6)


def test_scores_are_those_of_scikit_learn_on_them(tmp_path):
    model, asked = tiny_model("bert"), words_task((150, 60, 200))
    results = probe(
        model, [asked], cache=tmp_path, embeddings=True, **(ONE | {"max_length": 64}), **QUICK
    )
    x = {split: embedded(model, texts_of(asked, split)) for split in SPLITS}
    mean, spread = x["train"].mean(0), x["train"].std(0)
    judge = LogisticRegression(C=1 / (1e-2 * 150), max_iter=5000, tol=1e-8)
    judge.fit((x["train"] - mean) / spread, labels_of(asked, "train"))
    found = results["probe_embeddings"].sel(task="words")
    for split, name in (("dev", "validation"), ("test", "test")):
        expected = judge.score((x[split] - mean) / spread, labels_of(asked, split))
        assert float(found[name]) == pytest.approx(expected, abs=0.0051)
    assert float(found["low"]) < float(found["test"]) < float(found["high"])
    row = top_table(results).iloc[0]
    assert row["embeddings"] == pytest.approx(100 * float(found["test"]))
