"""However a run is split, stopped or repeated, the same examples are kept, to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope import options
from headscope.corpus import from_texts
from headscope.errors import ResultsError
from headscope.results import Atlas, merge
from headscope.results.kept import ExampleStore
from headscope.results.schema import EXAMPLES
from headscope.runs import keeping as keeper
from headscope.runs import workers
from headscope.runs.keeping import Keeper
from headscope.runs.survey import survey
from runs.engines.conftest import forked  # noqa: F401 (fixture)
from tiny import SENTENCES, tiny_model

HOW: dict[str, Any] = {
    "measures": "position",
    "max_length": 40,
    "batch_size": 2,
    "examples": 8,
    "seed": 3,
}
"""Units of sixteen examples, so that 50 texts are four units."""


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


@pytest.fixture(scope="module")
def corpus():
    random = np.random.default_rng(2)
    words = " ".join(SENTENCES).split()
    texts = [" ".join(random.choice(words, random.integers(2, 20)).tolist()) for _ in range(46)]
    return from_texts([*texts, *texts[:4]])


@pytest.fixture(scope="module")
def whole(model, corpus):
    return survey(model, corpus, **HOW)


def group(results: Atlas) -> xr.Dataset:
    return results.tree[EXAMPLES].to_dataset()


def same(one: Atlas, other: Atlas) -> None:
    """Identical to the last bit, types included."""
    xr.testing.assert_identical(group(one), group(other))
    assert {name: array.dtype for name, array in group(one).data_vars.items()} == {
        name: array.dtype for name, array in group(other).data_vars.items()
    }


def test_what_is_kept_differs_between_heads(whole):
    strongest = {
        tuple(one.text.number for one in whole.kept.strongest(f"{layer}-{head}"))
        for layer in (1, 2)
        for head in (1, 2, 3, 4)
    }
    assert len(strongest) > 4


@pytest.mark.parametrize("shards", [2, 3, 7])
def test_shards_merge_to_the_whole_in_any_order(model, corpus, whole, shards, tmp_path):
    parts = [survey(model, corpus, shard=(one, shards), **HOW) for one in range(1, shards + 1)]
    same(merge(parts), whole)
    saved = [Atlas.open(part.save(tmp_path / f"{number}.nc")) for number, part in enumerate(parts)]
    same(merge(saved[::-1]), whole)
    assert merge(parts).provenance["examples"] == {"kept": 8, "strongest": 2}


def test_some_shards_merge_now_and_the_others_later(model, corpus, whole):
    parts = [survey(model, corpus, shard=(one, 3), **HOW) for one in (1, 2, 3)]
    some = merge([parts[2], parts[0]], partial=True)
    same(merge([some, parts[1]]), whole)


def test_shards_with_and_without_examples_are_not_of_one_run(model, corpus):
    one = survey(model, corpus, shard=(1, 2), **HOW)
    other = survey(model, corpus, shard=(2, 2), **(HOW | {"examples": 0}))
    with pytest.raises(ResultsError, match=r"they differ in examples\.kept: 8 and 0"):
        merge([one, other])


@pytest.mark.usefixtures("forked")
@pytest.mark.slow
def test_workers_in_processes_keep_the_same(model, corpus, whole, monkeypatch):
    for module in (options, workers):
        monkeypatch.setattr(module, "cores", lambda: 2)
    monkeypatch.setattr(workers, "threads_for", lambda workers: 1)
    same(survey(model, corpus, engine="processes", workers=2, **HOW), whole)


def test_units_done_in_any_order_and_twice_keep_the_same(model, corpus, whole):
    """As workers do them, who hold on to what they have seen; one repeats what was lost."""
    from headscope.encode import work_units
    from headscope.runs.survey import SurveyOptions
    from headscope.runs.survey.surveying import Survey

    given = SurveyOptions(max_length=40, batch_size=2, seed=3, measures="position", examples=8)
    run = Survey(model, corpus, given)
    units = list(work_units(run.corpus, size=2))
    assert len(units) == 4
    work = run.works
    for order in ([3, 1, 0, 2], [2, 2, 0, 3, 1], [0, 1, 2, 3]):
        store = run.works.gathered().examples
        assert isinstance(store, ExampleStore)
        results = {index: work(units[index]) for index in order}  # the last of two counts
        for index in order[::-1]:
            arrays = results.pop(index, None)
            if arrays is not None:
                prefix = f"{EXAMPLES}/"
                mine = {k: v for k, v in arrays[1].items() if k.startswith(prefix)}
                store.merge({key.removeprefix(prefix): value for key, value in mine.items()})
        xr.testing.assert_identical(store.dataset(), group(whole))
        work._standing = None


def test_too_little_room_repeats_the_batch_and_changes_nothing(model, corpus, whole, monkeypatch):
    repeated: list[int] = []
    more_room = Keeper.more_room

    def spy(self: Keeper, room: int) -> Any:
        repeated.append(room)
        return more_room(self, room)

    monkeypatch.setattr(Keeper, "more_room", spy)
    same(survey(model, corpus, **HOW), whole)
    usual = len(repeated)
    monkeypatch.setattr(keeper, "SPARE", 0)
    monkeypatch.setattr(keeper, "GROWTH", 0.0)
    same(survey(model, corpus, **HOW), whole)
    assert len(repeated) > usual


def test_hs_merge_and_tables_treat_examples_as_no_measure(whole, tmp_path):
    opened = hs.open(whole.save(tmp_path / "run.nc"))
    for results in (whole, opened):
        assert results.measures == ("position",)
        assert list(results) == ["position"]
        assert EXAMPLES not in results
        assert set(results.table()["measure"]) == {"position"}
        assert list(results.sums()) == ["position"]
        assert "measures: position" in repr(results)
        with pytest.raises(ResultsError, match="the measure must be one of position"):
            results[EXAMPLES]
    same(opened, whole)
