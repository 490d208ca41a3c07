"""Probing from end to end, with planted heads and with scikit-learn as the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from scipy import stats
from sklearn.linear_model import LogisticRegression

from headscope.corpus import Example
from headscope.errors import CorpusError, Interrupted, UserError
from headscope.heads import Head
from headscope.models import Model, Pooling
from headscope.progress import Reporter, Update
from headscope.results import Results
from headscope.runs.probe import task as probing_task
from headscope.runs.probe.probe import probe
from headscope.stats.probing import head_table, top_table
from headscope.tasks.probing import ProbingTask
from planted import FIRST, VOCABULARY, WIDTH, planted_bert
from tiny import HEADS, LAYERS, tiny_model

FILL = ("the", "a", "sat", "on", "mat", "who", "saw", "old", "it")
QUICK: dict[str, Any] = {"l2": (1e-2,), "control": False}
ONE: dict[str, Any] = {"counts": (1,), "greedy": False, "max_length": 24}


def reading(*heads: tuple[int, Sequence[str]]) -> Model:
    """The planted model, with heads of its second layer whose values tell the given words apart.

    Heads count from 0. Nothing else at [CLS] depends on the words.
    """
    model = planted_bert()
    value = model.network.get_submodule("encoder.layer.1.attention.self.value")
    with torch.no_grad():
        for head, words in heads:
            for place, word in enumerate(words):
                value.weight[head * WIDTH + place, FIRST["word"] + VOCABULARY.index(word)] = 1.0
    return model


UNIFORM, SEGMENT = 4, 1
"""Heads that attend equally to all tokens of a single text."""


def sentences(
    count: int, seed: int, put: Callable[[np.random.Generator, list[str]], None]
) -> list[str]:
    """Distinct sentences of 12 words, each changed by ``put``."""
    random = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        words = random.choice(FILL, 12).tolist()
        put(random, words)
        found[" ".join(words)] = None
    return list(found)


def task(
    name: str,
    parts: dict[str, Sequence[tuple[tuple[str, ...], str]]],
    labels: tuple[str, ...],
    group: str = "",
) -> ProbingTask:
    splits = {
        split: tuple(
            Example(f"{split}{place}", texts, label=label)
            for place, (texts, label) in enumerate(rows)
        )
        for split, rows in parts.items()
    }
    return ProbingTask(name, name.title(), labels, splits, group)


def maybe_dog(random: np.random.Generator, words: list[str]) -> None:
    if random.random() < 0.5:
        words[random.integers(12)] = "dog"


def dogs(
    name: str = "dogs", seed: int = 0, sizes: tuple[int, int, int] = (100, 40, 60)
) -> ProbingTask:
    """Is there a dog?"""
    rows = [
        ((text,), "yes" if "dog" in text else "no")
        for text in sentences(sum(sizes), seed, maybe_dog)
    ]
    train, dev, _ = sizes
    return task(
        name,
        {"train": rows[:train], "dev": rows[train : train + dev], "test": rows[train + dev :]},
        ("no", "yes"),
    )


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
    ranks = results["probe_top"]["rank"].sel(task="dogs", place=1)
    assert ranks.values.tolist() == ["2-5", "2-5"]
    assert (results["probe_top"]["test"].sel(task="dogs").values == 1.0).all()
    assert head_table(results, "dogs").iloc[0]["head"] == "2-5"
    assert float(data["control"].sel(layer=2, head=5)) < 0.75  # shuffled labels cannot be learned
    low, high = float(data["low"].sel(layer=2, head=5)), float(data["high"].sel(layer=2, head=5))
    assert (low, high) == pytest.approx(
        stats.binomtest(60, 60).proportion_ci(method="wilson"), abs=1e-9
    )


def test_a_task_without_examples_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"^Dogs has no training examples"):
        probe(planted_bert(), task("dogs", {}, ("no", "yes")), cache=tmp_path, **ONE)


def test_costly_points_of_the_curve_are_skipped_unless_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def scored(**options: Any) -> dict[str, list[int]]:
        results = probe(
            reading((UNIFORM, ("dog",))),
            dogs(),
            cache=tmp_path,
            max_length=24,
            **(QUICK | options),
        )
        test = results["probe_top"]["test"].sel(task="dogs")
        return {
            str(way): test["n"].values[test.sel(way=way).notnull()].tolist()
            for way in test["way"].values
        }

    monkeypatch.setattr(probing_task, "COST", 1)
    assert scored(greedy=False) == {"top": [5], "greedy": []}
    assert scored(greedy=False, counts=(1, 7), n=3) == {
        "top": [1, 3, 7],
        "greedy": [],
    }
    monkeypatch.setattr(probing_task, "SELECTED", 2 * WIDTH)
    assert scored(counts=(1, 2, 4), n=1) == {
        "top": [1, 2, 4],
        "greedy": [1, 2],
    }
    assert scored(counts=(1, 2, 4), n=4) == {
        "top": [1, 2, 4],
        "greedy": [1, 2, 4],
    }


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


TINY = ("cat", "dog", "bird", "tree", "roof", "rain", "river", "home")


def words_task(sizes: tuple[int, int, int] = (150, 0, 200)) -> ProbingTask:
    """Three classes that the heads of a random model can partly tell apart."""
    random = np.random.default_rng(3)
    texts = list(
        dict.fromkeys(
            " ".join(random.choice(TINY, random.integers(3, 8))) for _ in range(3 * sum(sizes))
        )
    )[: sum(sizes)]
    rows = [((text,), "c" if "cat" in text else "d" if "dog" in text else "n") for text in texts]
    train, dev, _ = sizes
    return task(
        "words",
        {"train": rows[:train], "dev": rows[train : train + dev], "test": rows[train + dev :]},
        ("c", "d", "n"),
    )


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
    data = results["probe"].sel(task="lengths", layer=1, head=3)
    assert (str(data["metric"].values), int(data["classes"]), int(data["dev"])) == ("pearson", 0, 0)
    assert np.isnan(float(data["majority"]))
    assert float(data["low"]) < float(data["test"]) < float(data["high"])


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The features given to classifiers, (unit, row, width) each."""
    seen: list[Any] = []
    classify = probing_task.classify

    def watch(x: Any, *others: Any) -> Any:
        seen.append(x.numpy().copy())
        return classify(x, *others)

    monkeypatch.setattr(probing_task, "classify", watch)
    return seen


def pairs_task() -> ProbingTask:
    texts = [example.texts[0] for example in words_task((40, 0, 20)).splits["train"]]
    rows = [
        ((one, two), str(place % 2))
        for place, (one, two) in enumerate(zip(texts, [*texts[3:], *texts[:3]], strict=True))
    ]
    return task("pairs", {"train": rows[:25], "test": rows[25:]}, ("0", "1"))


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


class Stopping(Reporter):
    """Presses Ctrl-C after so many steps of a phase."""

    def __init__(self, phase: str, after: int) -> None:
        super().__init__(visible=False)
        self.phase, self.after = phase, after

    @contextmanager
    def progress(self, what: str) -> Iterator[Update]:
        def update(done: int, _total: int) -> None:
            if what == self.phase and done == self.after:
                raise KeyboardInterrupt

        yield update


def same(one: Results, two: Results) -> None:
    assert one.measures == two.measures
    for name in one:
        xr.testing.assert_equal(one[name], two[name])


def test_an_interrupted_run_resumes_and_gives_the_same_results(
    given: list[Any], tmp_path: Path
) -> None:
    model, tasks = (
        reading((UNIFORM, ("dog",))),
        [dogs(name, seed, (30, 10, 10)) for seed, name in enumerate(("one", "second", "three"))],
    )
    path = tmp_path / "probe.nc"

    def run(output: Path, **options: Any) -> Results:
        return probe(
            model,
            tasks,
            cache=tmp_path,
            output=output,
            counts=(1, 5),
            max_length=24,
            **QUICK,
            **options,
        )

    with pytest.raises(
        Interrupted, match=r"^stopped after 1 of 3 tasks, which are kept in .*probe\.nc\.partial"
    ) as error:
        run(path, progress=Stopping("Second (2 of 3)", 2))
    assert error.value.hint == "run it again to resume"
    assert error.value.command == "run the same command again to resume"
    assert not path.exists()
    assert (tmp_path / "probe.nc.partial").exists()
    given.clear()
    resumed = run(path)
    assert len(given) == 2 * (
        4 + 4
    )  # two tasks: heads and states of two layers, two points two ways
    assert not (tmp_path / "probe.nc.partial").exists()
    fresh = run(tmp_path / "fresh.nc")
    same(Results.open(path), Results.open(tmp_path / "fresh.nc"))
    same(resumed, fresh)
    assert fresh["probe"]["task"].values.tolist() == ["one", "second", "three"]
    given.clear()
    same(run(path), fresh)
    assert given == []  # it was there


def test_partial_results_of_another_run_or_damaged_ones_are_errors(tmp_path: Path) -> None:
    model, path, state = (
        reading((UNIFORM, ("dog",))),
        tmp_path / "probe.nc",
        tmp_path / "probe.nc.partial",
    )

    def run(**options: Any) -> Results:
        return probe(
            model, dogs(sizes=(20, 10, 10)), cache=tmp_path, output=path, **ONE, **QUICK | options
        )

    run()
    path.rename(state)
    with pytest.raises(UserError) as error:
        run(l2=(1e-3,))
    assert error.value.message == (
        f"{state} belongs to another run (another model, tasks, options or versions)"
    )
    assert error.value.hint == f"delete {state} to start afresh, or choose another output"
    assert error.value.command == (
        f"delete {state} to start afresh, or choose another file with -o"
    )
    state.write_bytes(b"no results")
    with pytest.raises(UserError, match=r"partial is damaged: "):
        run()


def test_examples_without_tokens_are_skipped(tmp_path: Path) -> None:
    asked = dogs(sizes=(20, 10, 10))
    empty = Example("none", ("\u200b",), label="yes")
    splits = {split: (*examples, empty) for split, examples in asked.splits.items()}
    results = probe(
        reading((UNIFORM, ("dog",))),
        replace(asked, splits=splits),
        cache=tmp_path,
        **ONE,
        **QUICK,
    )
    data = results["probe"].sel(task="dogs")
    assert [int(data[name]) for name in ("train", "dev", "test_size")] == [20, 10, 10]
    assert results.provenance["counts"]["empty"] == 1
    assert results.provenance["counts"]["seen"] == 40


HEADS_OF_PLANTED = (
    "the number of heads must be between 1 and 10, the number of heads of planted-bert"
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 11}, f"{HEADS_OF_PLANTED}; got 11 instead"),
        ({"n": 0}, f"{HEADS_OF_PLANTED}; got 0 instead"),
        ({"counts": (2, 12)}, f"{HEADS_OF_PLANTED}; got 12 instead"),
        ({"n": "5"}, "the number of heads must be a whole number, got '5' instead"),
        ({"counts": (2, 1.5)}, "the number of heads must be a whole number, got 1.5 instead"),
        (
            {"position": "first"},
            "the position must be one of cls, last, mean; got 'first' instead.",
        ),
        (
            {"pairs": "aside"},
            "the pairs option must be one of apart, together; got 'aside' instead.",
        ),
        ({"solver": "adam"}, "the solver must be one of exact, rmsprop; got 'adam' instead."),
        ({"l2": (0.1, -1)}, "L2 values must be numbers above 0, got 0.1, -1 instead"),
        ({"folds": 1}, "the number of folds must be 2 or more, got 1 instead"),
        ({"limit": 0}, "the limit must be 1 or more, got 0 instead"),
        ({"batch_size": 0}, "the batch size must be 1 or more, got 0 instead"),
        (
            {"max_length": 25},
            "the maximum length must be at most 24 for planted-bert, got 25 instead",
        ),
    ],
)
def test_options_that_are_not_allowed_are_errors(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as error:
        probe(
            planted_bert(),
            dogs(sizes=(4, 2, 2)),
            cache=tmp_path,
            **({"max_length": 24} | options),
        )
    assert error.value.message == message


def test_the_points_of_the_curve_suit_any_shape(tmp_path: Path) -> None:
    results = probe(
        planted_bert(),
        [dogs(sizes=(20, 10, 10))],
        cache=tmp_path,
        n=3,
        greedy=False,
        max_length=24,
        **QUICK,
    )
    assert results["probe_top"]["n"].values.tolist() == [1, 2, 3, 4, 5, 7, 10]
    assert top_table(results, n=3)["n"].tolist() == [3]
    single = tiny_model("bert", num_attention_heads=1)
    results = probe(
        single,
        [words_task((20, 10, 10))],
        cache=tmp_path,
        max_length=64,
        **QUICK,
    )
    assert results["probe_top"]["n"].values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"labels": ("no", "maybe")},
            "Dogs: the label of an example must be one of no, maybe; got 'yes' instead",
        ),
        ({"labels": ()}, "Dogs: the label of an example must be a number; got "),
        ({"train": "no"}, "Dogs: all training examples have the same label, 'no'"),
        ({"test": None}, "Dogs has no test examples"),
        ({"train": None}, "Dogs has no training examples"),
    ],
)
def test_a_task_that_cannot_be_learned_is_an_error(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    asked = dogs(sizes=(8, 4, 4))
    parts: dict[str, Any] = {
        split: [(example.texts, str(example.label)) for example in found]
        for split, found in asked.splits.items()
    }
    for split in ("train", "test"):
        if split in change:
            parts[split] = [(texts, change[split]) for texts, _ in parts[split] if change[split]]
    with pytest.raises(CorpusError) as error:
        probe(
            planted_bert(),
            [task("dogs", parts, change.get("labels", ("no", "yes")))],
            cache=tmp_path,
            **ONE,
        )
    assert error.value.message.startswith(message)


def test_no_task_and_two_tasks_of_one_name_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^no tasks were given"):
        probe(planted_bert(), [], cache=tmp_path)
    with pytest.raises(UserError, match=r"^two tasks are called dogs") as error:
        probe(planted_bert(), [dogs(), dogs(seed=1)], cache=tmp_path)
    assert error.value.hint == "probe them in two runs, or rename a file"


def test_tasks_come_from_files_names_and_objects_in_the_order_given(tmp_path: Path) -> None:
    marks = {"train": "tr", "dev": "va", "test": "te"}
    lines = [
        f"{marks[split]}\t{example.label}\t{example.texts[0]}\n"
        for split, examples in dogs(sizes=(20, 10, 10)).splits.items()
        for example in examples
    ]
    file = tmp_path / "barking.txt"
    file.write_text("".join(lines))
    results = probe(
        planted_bert(),
        [dogs("first", 1, (20, 10, 10)), file, dogs("unwanted", 2, (20, 10, 10))],
        only=["First", "barking"],
        limit=16,
        cache=tmp_path,
        **ONE,
        **QUICK,
    )
    assert results["probe"]["task"].values.tolist() == ["first", "barking"]
    assert results["probe"]["train"].values.tolist() == [16, 16]
    assert results["probe"]["dev"].values.tolist() == [10, 10]
    with pytest.raises(UserError, match=r"^the task must be one of Dogs; got 'cats' instead"):
        probe(planted_bert(), dogs(), only="cats", cache=tmp_path)


@pytest.mark.parametrize(("tasks", "given"), [(3, "int"), ([dogs(), None], "NoneType")])
def test_tasks_of_a_wrong_type_are_an_error(tasks: Any, given: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        probe(planted_bert(), tasks, cache=tmp_path)
    assert (
        error.value.message == f"tasks must be paths, names or probing tasks; got {given} instead"
    )


def test_a_task_of_texts_and_pairs_cannot_be_encoded_apart(tmp_path: Path) -> None:
    rows = [((text, text), "yes") for text in sentences(5, 0, maybe_dog)]
    rows += [((text,), "no") for text in sentences(5, 1, maybe_dog)]
    mixed = task("mixed", {"train": rows, "test": rows}, ("no", "yes"))
    with pytest.raises(CorpusError, match=r"^Mixed: some examples are single texts and others pa"):
        probe(planted_bert(), mixed, pairs="apart", cache=tmp_path, **ONE)
