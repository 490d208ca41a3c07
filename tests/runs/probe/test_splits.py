"""Repeated splits: drawn like scikit-learn's, scored by its classifiers in a plain loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from sklearn.linear_model import LogisticRegression

from headscope.errors import Interrupted, UserError
from headscope.heads import Head
from headscope.models import Pooling
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.runs.probe import Probing, probe
from headscope.runs.probe.rows import LabelledRows
from headscope.runs.probe.task import count_repeats, redraw
from headscope.tasks.task import SPLITS
from runs.probe.planted_tasks import ONE, QUICK, dogs, words_task
from tiny import HEADS, LAYERS, tiny_model


def rows(sizes: tuple[int, int, int], classes: int = 3) -> LabelledRows:
    random = np.random.default_rng(5)
    shares = np.array([0.6, 0.3, 0.1])
    gold = random.choice(3, sum(sizes), p=shares) if classes else random.uniform(0, 5, sum(sizes))
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:2])
    return LabelledRows(gold.astype(float), classes, *parts)


@pytest.mark.parametrize("sizes", [(97, 23, 41), (100, 0, 31), (30, 60, 90)])
def test_a_new_split_has_the_same_sizes_and_shares_of_classes(sizes: tuple[int, int, int]) -> None:
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


def test_new_splits_are_random_and_depend_on_seed_and_number_only() -> None:
    own = rows((60, 20, 20))
    drawn = [redraw(own, 7, number).test.tolist() for number in range(1, 201)]
    assert drawn[0] == redraw(own, 7, 1).test.tolist() != redraw(own, 8, 1).test.tolist()
    often = np.bincount(np.concatenate(drawn), minlength=100)
    # Each example is tested in a fifth of 200 splits: 40 ± 5.7, and no example is far from it.
    assert (np.abs(often - 40) < 5 * 5.7).all()
    assert len({tuple(test) for test in drawn}) == 200


def test_the_range_of_a_regression_is_covered_by_every_part() -> None:
    own = rows((60, 20, 20), classes=0)
    for number in range(1, 10):
        new = redraw(own, 0, number)
        for part in (new.train, new.dev, new.test):
            assert own.gold[part].mean() == pytest.approx(own.gold.mean(), abs=0.2)


def test_only_small_tasks_are_repeated_unless_a_number_is_given() -> None:
    cases = {(300, 200, 200): 0, (300, 199, 200): 5, (300, 200, 199): 5, (300, 0, 200): 0}
    for sizes, expected in cases.items():
        task = dogs(sizes=sizes)
        assert count_repeats(task, None) == expected
        assert (count_repeats(task, 1), count_repeats(task, 2)) == (0, 2)
    with pytest.raises(UserError, match="the number of repeats must be 1 or more, got 0 instead"):
        Probing(repeats=0)


def test_scores_are_those_of_scikit_learn_split_by_split(tmp_path: Path) -> None:
    """Heads and layers are chosen by scikit-learn, in a loop over splits of the same rows."""
    model, asked = tiny_model("bert"), words_task((120, 60, 80))
    options: dict[str, Any] = {"counts": (2,), "n": 2, "greedy": False, "max_length": 64}
    results = probe(model, [asked], cache=tmp_path, repeats=3, seed=4, **options, **QUICK)
    texts = [example.texts[0] for split in SPLITS for example in asked.splits[split]]
    gold = np.array([example.label for split in SPLITS for example in asked.splits[split]])
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


def test_scores_of_the_own_split_are_the_same_bit_for_bit(tmp_path: Path) -> None:
    model, asked = tiny_model("bert"), [words_task((60, 20, 30)), dogs(sizes=(40, 10, 20))]
    options: dict[str, Any] = ONE | {"l2": (1e-2, 1e-1), "cache": tmp_path}
    plain = probe(model, asked, repeats=1, **options)
    default = probe(model, asked, **options)
    assert set(default.measures) - set(plain.measures) == {"probe_splits", "probe_splits_top"}
    for name in plain:
        xr.testing.assert_identical(plain[name], default[name])
    assert "repeats" not in plain.provenance["settings"]
    assert default.provenance["settings"]["repeats"] == 5
    assert default["probe_splits_top"].sizes["split"] == 5


def test_tasks_that_are_large_enough_are_not_repeated(tmp_path: Path) -> None:
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


def test_they_are_kept_in_results_and_checkpoints(tmp_path: Path) -> None:
    model, path = tiny_model("bert"), tmp_path / "p.nc"
    asked = [dogs("one", 0, (40, 10, 20)), dogs("two", 1, (40, 10, 20))]
    options: dict[str, Any] = {"cache": tmp_path, "repeats": 2} | ONE | QUICK

    def stop(done: int, total: int) -> None:
        if total == 2 * 2 * (2 + 2) and done == 10:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped after 1 of 2 tasks"):
        probe(model, asked, output=path, progress=stop, **options)
    resumed = probe(model, asked, output=path, **options)
    fresh = probe(model, asked, **options)
    for one in (resumed, Atlas.open(path)):
        for name in ("probe_splits", "probe_splits_top"):
            xr.testing.assert_equal(one[name], fresh[name])
