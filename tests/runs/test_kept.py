"""The values of single examples: those of an example-by-example run, the same however a run is
split, stopped or saved, and as many as were asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import xarray as xr

from headscope.corpus import from_texts
from headscope.encode import UNIT
from headscope.errors import UserError
from headscope.measures import Context, Kept, Role
from headscope.models import Shape
from headscope.results import Atlas, merge
from headscope.runs.survey import survey
from runs.test_survey import broken_bert
from tiny import tiny_model

WORDS = ("the cat", "a dog", "sat on", "the old mat", "by the door", "again!", "who sang?")
TEXTS = [
    " ".join(WORDS[(index * step) % len(WORDS)] for step in range(1, 2 + index % 5))
    for index in range(14)
]
HOW: dict[str, Any] = {"measures": ["role"], "max_length": 40, "batch_size": 2}
ONE_BY_ONE = HOW | {"batch_size": 1}  # in two units of work


def roles(names: Sequence[str], *, keep: int = 5000, **options: Any) -> dict[str, Any]:
    """As ``HOW``, with chosen roles."""
    return HOW | options | {"measures": [Role(roles=names, keep=keep)]}


@pytest.fixture(scope="module")
def model():
    return tiny_model("bert")


@pytest.fixture(scope="module")
def corpus():
    return from_texts(TEXTS)


@pytest.fixture(scope="module")
def whole(model, corpus):
    return survey(model, corpus, **HOW)


def test_each_value_is_that_of_a_run_of_its_example_alone(model, corpus, whole):
    data = whole["role"]
    assert sorted(data["id"].values.tolist(), key=int) == [str(number) for number in range(1, 15)]
    assert data["value"].dtype == np.float32
    assert data["value"].dims == ("example", "layer", "head", "role")
    shared = ["local", "previous-local", "next-local", "delimiter", "cls", "sep", "word pieces"]
    shared += ["question mark", "first token", "duplicate", "induction"]
    for place, name in enumerate(data["id"].values):
        alone = survey(model, from_texts([TEXTS[int(name) - 1]]), **roles(shared))["role"]["mean"]
        np.testing.assert_allclose(
            data["value"].isel(example=place).sel(role=shared), alone, rtol=1e-4, atol=1e-5
        )
    assert data["value"].sel(role="question mark").isnull().any()


def test_the_moments_are_those_of_the_values(whole):
    data = whole["role"]
    values = data["value"].astype(np.float64)
    np.testing.assert_allclose(data["mean"], values.mean("example"), rtol=1e-12)
    np.testing.assert_allclose(
        data["deviation"], values.std("example", ddof=1), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_array_equal(data["n"], values.notnull().sum("example"))


def test_examples_are_numbered_in_the_order_of_batches_which_go_by_length(model, corpus, whole):
    lengths = {
        item.example.id: len(item)
        for item in model.encoder(max_length=40, long="truncate", stack="encoder").encode(corpus)
    }
    assert whole["role"]["example"].values.tolist() == list(range(14))
    assert whole["role"]["id"].values.tolist() == sorted(
        lengths, key=lambda name: (lengths[name], int(name))
    )  # all in one window


@pytest.mark.parametrize("shards", [2, 3, 16])
def test_shards_merge_to_the_whole_with_values_ids_and_order(model, corpus, tmp_path, shards):
    whole = survey(model, corpus, **ONE_BY_ONE)
    parts = [
        survey(model, corpus, shard=(number, shards), **ONE_BY_ONE)
        for number in range(1, shards + 1)
    ]
    sizes = [part["role"].sizes["example"] for part in parts]
    assert sum(sizes) == 14
    assert sorted(sizes)[-2:] == [6, 8]  # two units; other parts have none
    xr.testing.assert_identical(merge(parts)["role"], whole["role"])
    saved = [Atlas.open(part.save(tmp_path / f"{number}.nc")) for number, part in enumerate(parts)]
    xr.testing.assert_identical(merge(saved[::-1])["role"], whole["role"])
    if shards == 3:
        some = merge([parts[2], parts[0]], partial=True)["role"]
        xr.testing.assert_identical(
            some["value"],
            whole["role"]["value"].isel(
                example=whole["role"]["example"] < UNIT  # those of the first part
            ),
        )


def test_examples_whose_attention_is_not_finite_are_not_kept():
    texts = ["a dog", "who sat", "the cat sat.", "it barks!"]
    data = survey(broken_bert(), from_texts(texts), **roles(("local",), max_length=24))["role"]
    assert data["id"].values.tolist() == ["1", "3", "4"]
    assert data["value"].notnull().all()
    assert (data["n"] == 3).all()


def test_keep_0_keeps_only_the_moments_and_they_are_the_same(model, corpus, whole, tmp_path):
    moments = survey(model, corpus, **roles((), keep=0))
    assert "value" not in moments["role"]
    assert "example" not in moments["role"].dims
    for name in ("sum", "square", "count", "mean", "deviation", "low", "high", "n"):
        xr.testing.assert_identical(moments["role"][name], whole["role"][name])
    xr.testing.assert_identical(
        Atlas.open(moments.save(tmp_path / "moments.nc"))["role"], moments["role"]
    )
    alone = roles((), keep=0, batch_size=1)
    parts = [survey(model, corpus, shard=(number, 2), **alone) for number in (1, 2)]
    xr.testing.assert_identical(merge(parts)["role"], survey(model, corpus, **alone)["role"])


@pytest.mark.parametrize(
    ("keep", "kept"), [(1, UNIT), (UNIT, UNIT), (UNIT + 1, UNIT + 5), (5000, UNIT + 5)]
)
def test_a_smaller_keep_keeps_whole_units_and_the_moments_count_all(model, keep, kept):
    texts = [TEXTS[index % 14] for index in range(UNIT + 5)]
    data = survey(model, from_texts(texts), **roles(("local",), keep=keep, batch_size=1))["role"]
    assert data.sizes["example"] == kept
    assert (data["n"] == UNIT + 5).all()
    assert set(data["id"].values) == {
        str(number) for number in range(1, kept + 1)
    }  # the first of the corpus, not the shortest


def test_keep_must_be_a_number_of_sequences():
    message = "the number of sequences to keep scores of must be a whole number, 0 or more; got -1"
    with pytest.raises(UserError, match=message):
        Role(keep=-1)


def test_values_survive_save_and_open_and_are_left_out_of_tables(whole, tmp_path):
    opened = Atlas.open(whole.save(tmp_path / "run.nc"))
    xr.testing.assert_identical(opened["role"], whole["role"])
    assert opened["role"]["value"].dtype == np.float32
    assert opened["role"]["id"].values.tolist() == whole["role"]["id"].values.tolist()
    assert len(opened.table("role")) == 2 * 4 * whole["role"].sizes["role"]


def test_parts_of_a_split_text_are_kept_one_by_one_under_its_id(model):
    data = survey(
        model,
        from_texts(["the cat sat on the mat, and the dog sat by the door.", "a dog"]),
        long="split",
        **roles(("local",), max_length=12),
    )["role"]
    assert sorted(set(data["id"].values)) == ["1", "2"]
    assert data["id"].values.tolist().count("1") == int(data["n"].max()) - 1 > 1
    assert data["example"].values.tolist() == list(range(data.sizes["example"]))


def test_a_thousand_sequences_of_144_heads_and_20_roles_take_less_than_50_mb(tmp_path):
    roles = tuple(f"role {number}" for number in range(20))
    role = Role().bind(Context(Shape(12, 12, 64)), [])
    role.dims = {"role": roles}
    kept = Kept(role)
    random = np.random.default_rng(0)
    values = random.gamma(2.0, 1.0, (1000, 12, 12, 20)).astype(
        np.float32
    )  # random bits: nothing for compression to find
    names = [f"sequence {number}" for number in range(1000)]
    kept.add(list(range(1000)), names, [""] * 1000, [9] * 1000, values)
    dims = ("bucket", "layer", "head", "role")
    sums = {
        "sum": values.sum(0, dtype=np.float64)[None],
        "square": (values.astype(np.float64) ** 2).sum(0)[None],
        "count": np.full((1, 12, 12, 20), 1000),
    }
    coordinates = {
        "bucket": [1],
        "layer": np.arange(1, 13),
        "head": np.arange(1, 13),
        "role": np.array(roles, dtype=object),
    }
    dataset = xr.Dataset({name: (dims, array) for name, array in sums.items()}, coordinates).merge(
        kept.dataset()
    )
    about = {"model": {"name": "made", "layers": 12, "heads": 12}}
    path = Atlas.build({"role": dataset}, about).save(tmp_path / "large.nc")
    assert path.stat().st_size < 50e6
    np.testing.assert_array_equal(Atlas.open(path)["role"]["value"].values, values)


def test_values_are_put_in_the_order_of_their_numbers_whatever_the_order_they_came_in():
    role = Role().bind(Context(Shape(1, 2, 4)), [])
    role.dims = {"role": ("one",)}
    kept = Kept(role)
    four_five = np.array([4.0, 5.0])[:, None, None, None] + np.zeros((2, 1, 2, 1))
    kept.add([4, 5], ["e", "f"], ["two", "two"], [40, 50], four_five)
    kept.add([0], ["ä"], ["one"], [3], np.zeros((1, 1, 2, 1)))
    other = Kept(role)
    other.restore(kept.arrays())
    for one in (kept, other):
        found = one.dataset()
        assert found["example"].values.tolist() == [0, 4, 5]
        assert found["id"].values.tolist() == ["ä", "e", "f"]
        assert found["group"].values.tolist() == ["one", "two", "two"]
        assert found["tokens"].values.tolist() == [3, 40, 50]
        assert found["value"].values[:, 0, 1, 0].tolist() == [0.0, 4.0, 5.0]
