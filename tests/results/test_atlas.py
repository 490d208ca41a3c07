"""Results as labelled arrays: selecting, subtracting, and long tables."""

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas
from refusals import refusal


def test_means_are_selected_by_layer_head_and_label_from_1(make):
    values = np.zeros((2, 2, 3, 3))
    values[:, 1, 2, 0] = [0.2, 0.6]
    results = make(position=values)
    expected = pytest.approx(0.4)
    assert float(results.mean("position").sel(layer=2, head=3, offset="previous")) == expected
    assert float(results.mean("position").sum()) == pytest.approx(0.4)
    assert results.measures == tuple(results) == ("position",)


def test_a_measure_that_is_not_in_the_results_gets_the_nearest_name(some):
    assert (
        str(refusal(ResultsError, lambda: some["positon"]))
        == "the measure must be one of entropy, position, special; got 'positon' instead. Did you "
        "mean 'position'?"
    )
    with pytest.raises(ResultsError, match="got 'roles' instead"):
        some.table("roles")


def test_sums_are_the_additive_part_alone_with_its_attributes(some):
    assert list(some.sums()) == ["position", "special", "entropy"]
    assert list(some.sums()["entropy"].data_vars) == ["sum", "square", "count"]
    assert some.sums()["entropy"].attrs["unit"] == "nats"


def test_results_made_again_from_their_sums_are_the_same(some):
    again = Atlas.build(some.sums(), some.provenance)
    assert again.tree.identical(some.tree)


def test_a_table_has_one_row_for_each_layer_head_and_label(make):
    values = np.random.default_rng(3).random((5, 2, 2, 3, 3))
    values[:, 0, 0, 2, 1] = np.nan
    table = make(special=values, position=values[..., 0]).table("special")
    numbers = ["mean", "low", "high", "deviation"]
    assert list(table) == ["measure", "label", "layer", "head", *numbers, "n"]
    rows = table.set_index(["layer", "head", "label"])
    assert len(rows) == 2 * 2 * 9
    assert rows.index.is_unique
    row, seen = rows.loc[2, 1, "sep, other"], values[:, 1, 0, 1, 2]
    expected = pytest.approx([seen.mean(), seen.std(ddof=1), 5])
    assert row[["mean", "deviation", "n"]].tolist() == expected
    unknown = rows.loc[1, 1, "punctuation, sep"]
    assert unknown[numbers].isna().all()
    assert unknown["n"] == 0


def test_the_table_of_all_measures_is_theirs_one_after_the_other(some):
    whole = some.table()
    assert whole["measure"].drop_duplicates().tolist() == ["position", "special", "entropy"]
    for name in some:
        part = whole[whole["measure"] == name].reset_index(drop=True)
        assert part.equals(some.table(name))


def test_provenance_is_a_copy(some):
    some.provenance["model"]["name"] = "changed"
    assert some.provenance["model"]["name"] == "hand"
    assert isinstance(some["position"], xr.Dataset)
