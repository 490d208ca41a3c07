"""One battery over every registered measure, ours and others': a new measure joins by being
registered.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from headscope.corpus import Corpus, from_examples, read
from headscope.encode import Batch, Encoded, collate
from headscope.measures import MEASURES as REGISTRY
from headscope.measures import Context, Measure
from headscope.models import LayerView, Model, observe, wrap
from headscope.results import Atlas, merge, summary
from headscope.runs import forward
from headscope.runs.forward import Hearing, Pass, Place
from headscope.runs.survey import survey
from headscope.stats import model_summary
from tiny import tiny_network, tiny_tokenizer

LENGTH = 60
EXAMPLES = 11
SHARDS = 3
"""Two units of work, of 8 and of 3 examples, and a shard without any."""
MEASURES = sorted(REGISTRY)
OPTIONS: dict[str, dict[str, Any]] = {
    "sink": {"length": 16},
    "sink_places": {"length": 16},
    "streaming": {"recent": 8},
    "receiver": {"later": 1, "least": 3},
}
"""Options under which texts of 40 tokens are long enough."""
AMONG = {"logit_attribution": "gpt2", "gate": "qwen3.5"}
"""Measures that are not of every model, and a model of which they are."""
EVERY = [name for name in MEASURES if name not in AMONG]
NAMES = {
    "bert": EVERY,
    "gpt2": [*EVERY, "logit_attribution"],
    "llama": ["logit_attribution"],
    "qwen3.5": ["gate"],
    "qwen3-next": ["gate"],
}
"""The measures of each kind of model. One run has them all, as a survey has."""
CASES = [(name, kind) for kind, names in NAMES.items() for name in names]

each_kind = pytest.mark.parametrize("kind", NAMES)
each_case = pytest.mark.parametrize(("name", "kind"), CASES)
each_measure = pytest.mark.parametrize("name", MEASURES)


def kind_for(name: str) -> str:
    """BERT, or a model that a measure is defined for."""
    return {"logit_attribution": "llama"}.get(name) or AMONG.get(name, "bert")


@cache
def model_of(kind: str) -> Model:
    """A tiny model with its language-model head, which some measures need."""
    return wrap(
        tiny_network(kind, auto=AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM),
        tiny_tokenizer(kind),
        name=f"tiny-{kind}",
    )


@cache
def corpus() -> Corpus:
    """Passages with every annotation there is, read once; the last two have a frame link among
    their first 40 tokens.
    """
    passages = list(read("demo"))
    long = [passage for passage in passages if passage.id in {"news-19", "instructions-19"}]
    return from_examples([*passages[: EXAMPLES - 2], *long])


def run(kind: str, *names: str, **options: Any) -> Atlas:
    return survey(
        model_of(kind),
        corpus(),
        measures=[REGISTRY[name](**OPTIONS.get(name, {})) for name in names or NAMES[kind]],
        **{"batch_size": 2, "max_length": LENGTH, "seed": 5, **options},
    )


def measures_of(kind: str) -> list[Measure]:
    """The measures as a run makes them."""
    context = context_of(kind)
    return [REGISTRY[name](**OPTIONS.get(name, {})).bind(context, corpus()) for name in NAMES[kind]]


def context_of(kind: str) -> Context:
    model = model_of(kind)
    return Context(model.shape(model.main_stack()), model.causal(model.main_stack()))


def passed(kind: str, batch: Batch, **changes: Any) -> Any:
    """The values of one pass, by measure."""
    model = model_of(kind)
    context = replace(context_of(kind), **changes)
    return Pass(model, measures_of(kind), model.main_stack(), context).run(batch)


def encoded(kind: str, length: int) -> list[Encoded]:
    model = model_of(kind)
    encoder = model.encoder(max_length=length, long="truncate", stack=model.main_stack())
    return list(encoder.encode(corpus()))


@cache
def whole(kind: str, size: int = 2) -> Atlas:
    """The results of a kind's run in batches of a size."""
    return run(kind, batch_size=size)


@cache
def alone(name: str) -> Atlas:
    return run(kind_for(name), name)


def timeless(results: Atlas, but: str = "") -> dict[str, Any]:
    """Everything that is known of a run, but when it was made."""
    return {key: value for key, value in results.provenance.items() if key not in {"created", but}}


def same(one: Atlas, other: Atlas) -> None:
    """Equal to the last bit: dims, labels, attributes, sums and what is derived from them."""
    assert one.measures == other.measures
    for name in one:
        xr.testing.assert_identical(one[name], other[name])
        expected = {key: value.dtype for key, value in other[name].data_vars.items()}
        assert {key: value.dtype for key, value in one[name].data_vars.items()} == expected


@each_case
def test_the_corpus_of_the_battery_has_every_annotation_a_measure_needs(name, kind):
    assert REGISTRY[name].needs <= corpus().annotations | model_of(kind).capabilities
    assert REGISTRY[name].name == name


@each_kind
def test_shards_merge_to_the_whole_to_the_last_bit(kind):
    parts = [run(kind, batch_size=1, shard=(number, SHARDS)) for number in range(1, SHARDS + 1)]
    seen = [part.provenance["counts"]["seen"] for part in parts]
    assert sum(seen) == EXAMPLES
    assert sorted(seen) == [0, 3, 8]
    merged = merge(parts)
    same(merged, whole(kind, 1))
    assert timeless(merged, but="identity") == timeless(whole(kind, 1), but="identity")


@each_case
@pytest.mark.parametrize("size", [2, 11])
def test_a_batch_gives_what_its_examples_give_one_by_one(name, kind, size):
    one, other = whole(kind, size)[name], whole(kind, 1)[name]
    for key in ("mean", "deviation", "low", "high"):
        xr.testing.assert_allclose(one[key], other[key], rtol=1e-4, atol=1e-5)
    xr.testing.assert_equal(one["n"], other["n"])


@cache
def in_blocks(kind: str) -> Atlas:
    """Computed in blocks of 16 rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observe, "WEIGHTS", 1)
        return run(kind)


@each_case
def test_blocks_of_rows_give_what_whole_maps_give(name, kind):
    """Counts are exact, sums the same to 1e-6."""
    expected, cut = whole(kind)[name], in_blocks(kind)[name]
    for key in ("mean", "deviation", "low", "high"):
        xr.testing.assert_allclose(cut[key], expected[key], rtol=1e-5, atol=1e-6)
    xr.testing.assert_equal(cut["n"], expected["n"])
    if expected.attrs["kind"] == "share":  # right answers
        xr.testing.assert_equal(cut["sum"], expected["sum"])


class Spread(Hearing):
    """Layers in turn on two devices; here both are the processor."""

    second = False

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        self.second = view.layer % 2 == 1
        super().rows(view, block, first_row)

    def place(self, device: torch.device) -> Place:
        where = torch.device("cuda:1") if self.second else device
        if where not in self.places:
            here = super().place(device)
            groups = [group.on(self.batch, device) for group in self.groups]
            self.places[where] = replace(here, groups=groups) if self.second else here
        return self.places[where]


@each_kind
def test_a_model_spread_over_devices_gives_the_same(kind, monkeypatch):
    batch = collate(encoded(kind, 40), pad=model_of(kind).pad)
    together = passed(kind, batch)
    monkeypatch.setattr(forward, "Hearing", Spread)
    apart = passed(kind, batch)
    for name in NAMES[kind]:
        np.testing.assert_array_equal(apart.values[name], together.values[name], name)
    assert {*apart.totals} == {*together.totals}
    for name, totals in together.totals.items():
        np.testing.assert_array_equal(apart.totals[name], totals, name)


@each_kind
def test_padding_is_invisible(kind):
    items = encoded(kind, 48)
    assert len({len(item) for item in items}) == 1  # all cut to one length: nothing is padded
    plain = collate(items, pad=model_of(kind).pad)
    random = np.random.default_rng(3)
    strange = (len(items), 9)
    size = model_of(kind).config.vocab_size
    wider = Batch(
        0,
        plain.items,
        np.concatenate([plain.ids, random.integers(5, size, strange)], 1),
        np.concatenate([plain.types, random.integers(0, 2, strange)], 1),
        np.concatenate([plain.mask, np.zeros(strange, np.bool_)], 1),
    )
    before, after = passed(kind, plain), passed(kind, wider)
    for name in NAMES[kind]:
        np.testing.assert_allclose(
            after.values[name], before.values[name], atol=1e-5, rtol=1e-5, err_msg=name
        )
        assert np.isfinite(before.values[name]).any()
        if name in before.totals:
            np.testing.assert_array_equal(after.totals[name], before.totals[name], name)


@each_kind
def test_results_survive_save_and_open(kind, tmp_path):
    opened = Atlas.open(whole(kind).save(tmp_path / "run.nc"))
    same(opened, whole(kind))
    assert opened.provenance == whole(kind).provenance


@each_kind
def test_a_corpus_of_which_every_example_is_dropped_gives_nan_and_count_0(kind, tmp_path):
    results = run(kind, max_length=5, long="drop")
    assert (
        results.provenance["counts"]["too_long"] == results.provenance["counts"]["read"] == EXAMPLES
    )
    for opened in (results, Atlas.open(results.save(tmp_path / "none.nc"))):
        for name in NAMES[kind]:
            for key in ("mean", "deviation", "low", "high"):
                assert opened[name][key].isnull().all(), name
            assert not opened[name]["n"].any(), name
            assert not opened[name]["count"].any(), name


@each_measure
def test_a_causal_model_gives_numbers_that_are_finite_wherever_they_are_counted(name):
    dataset = whole(AMONG.get(name, "gpt2"))[name]
    counted = dataset["n"] > 0
    assert counted.any()
    assert np.isfinite(dataset["mean"]).equals(counted)


@each_case
def test_the_mean_is_the_sum_over_the_count(name, kind):
    dataset = whole(kind)[name]
    total, count = dataset["sum"].values.sum(0), dataset["count"].values.sum(0)
    with np.errstate(invalid="ignore"):
        expected = total / count
    np.testing.assert_allclose(dataset["mean"].values, expected, rtol=1e-13, equal_nan=True)
    assert (dataset["n"].values == count).all()
    parts = dataset["count"].values.astype(float)
    with np.errstate(invalid="ignore"):
        enough = (count**2 / (parts**2).sum(0)) >= 2.5  # documents of equal size
    low, high = dataset["low"].values, dataset["high"].values
    assert (np.isfinite(low) == enough).all()
    assert (low <= dataset["mean"].values)[enough].all()
    assert (dataset["mean"].values <= high)[enough].all()


@each_kind
def test_two_runs_with_one_seed_are_the_same(kind):
    again = run(kind)
    same(again, whole(kind))
    assert timeless(again) == timeless(whole(kind))


@each_measure
def test_a_measure_gives_alone_what_it_gives_among_all(name):
    kind = AMONG.get(name, "bert")
    together = run(kind, *EVERY, name) if kind == "qwen3.5" else whole(kind)
    own = run(kind, name)
    for key in ("sum", "square", "count"):
        xr.testing.assert_allclose(together[name][key], own[name][key], rtol=1e-5, atol=1e-6)


@each_measure
def test_a_measure_says_what_it_is(name):
    kind = kind_for(name)
    dataset = whole(kind)[name]
    (measure,) = (one for one in measures_of(kind) if one.name == name)
    for key in ("title", "unit", "source"):
        assert dataset.attrs[key] == getattr(measure, key) != ""
    labels = {**measure.lead, **measure.dims}
    assert dataset["mean"].dims == tuple(labels)
    for dim, expected in labels.items():
        assert dataset[dim].values.tolist() == list(expected)


@cache
def one_by_one(kind: str) -> list[Any]:
    """A pass for each example."""
    return [passed(kind, collate([item]), seed=5) for item in encoded(kind, LENGTH)]


@each_measure
def test_the_sums_are_those_of_the_values_of_a_pass_example_by_example(name):
    seen = one_by_one(kind_for(name))
    values = np.concatenate([one.values[name] for one in seen]).astype(np.float64)
    known = (
        np.concatenate([one.totals[name] for one in seen])[:, None, None] * np.ones_like(values)
        if name in seen[0].totals
        else np.isfinite(values)
    )
    count = known.sum(0)
    with np.errstate(invalid="ignore"):
        expected = np.nansum(values, 0) / count
    dataset = whole(kind_for(name), 1)[name]
    np.testing.assert_array_equal(dataset["n"].values.ravel(), count.ravel())
    np.testing.assert_allclose(
        dataset["mean"].values.ravel(), expected.ravel(), rtol=1e-12, equal_nan=True
    )


@each_measure
def test_tables_have_a_row_for_each_number(name):
    table, mean = alone(name).table(name), alone(name).mean(name)
    assert len(table) == mean.size
    np.testing.assert_array_equal(
        np.sort(table["mean"].to_numpy(np.float64)), np.sort(mean.values.ravel())
    )


@each_measure
def test_a_run_of_one_measure_alone_can_be_shown_and_exported(name, tmp_path):
    results = alone(name)
    shown = summary(results)
    means = results.mean(name)
    grid = ("layer", "head")
    labels = int(means.notnull().any(grid).sum()) if name in results.listed else 0
    assert shown["measure"].tolist() == [name] * labels if labels else shown.empty
    lines = model_summary(results)
    assert {line.family for line in lines} <= {"warning"}  # weights are random: nothing stands out
    # with what is always computed beside it
    tables = [one for one in results if set(grid) <= set(results.mean(one).dims)] or [name]
    assert (
        len(results.table())
        == len(pd.read_parquet(results.export(tmp_path / "table.parquet")))
        == sum(results.mean(one).size for one in tables)
    )
