"""What a group holds is said by its kind, never guessed from the names of its variables."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.figures.gallery import has_values
from headscope.results import Atlas
from headscope.results.schema import contents, label_dims, of_heads, statistics, values_of
from refusals import refusal

DIMS = ("task", "layer", "head")


def probe(**more: object) -> xr.Dataset:
    """One task, one layer, two heads; ``more`` are variables by task."""
    scores = {"test": [[[0.6, 0.8]]], "low": [[[0.5, 0.7]]], "high": [[[0.7, 0.9]]]}
    variables = {name: (DIMS, np.array(values)) for name, values in scores.items()}
    others = {name: ("task", [value]) for name, value in {"test_size": 50, **more}.items()}
    labels = {"task": ["mine"], "layer": [1], "head": [1, 2]}
    return xr.Dataset(variables | others, labels, {"kind": "probe", "listed": "no"})


def test_a_reader_finds_the_values_of_probes_whatever_else_is_there():
    data = probe(mean=np.nan, n=-1)
    assert values_of(data).values.ravel().tolist() == [0.6, 0.8]
    assert (label_dims(data), of_heads(data), has_values(data)) == (["task"], True, True)
    shown = statistics(data).sel(task="mine", layer=1, head=2)
    expected = {"value": 0.8, "low": 0.7, "high": 0.9, "count": 50.0}
    assert {name: float(shown[name]) for name in shown.data_vars} == expected


def test_a_table_has_the_columns_of_what_it_shows():
    table = Atlas.build({"probe": probe()}, {}).table()
    assert table.to_dict("records")[1] == {
        "measure": "probe",
        "label": "mine",
        "layer": 1,
        "head": 2,
        "test": 0.8,
        "low": 0.7,
        "high": 0.9,
        "test_size": 50,
    }


def test_heads_can_be_found_by_the_scores_of_probes():
    atlas = Atlas.build({"probe": probe()}, {"model": {"layers": 1, "heads": 2}})
    assert [str(head) for head in atlas.find("probe:mine > 0.7")] == ["1-2"]
    row = atlas.heads(by="probe:mine", top=1).iloc[0]
    assert (row["head"], row["low"], row["high"], row["n"]) == ("1-2", 0.7, 0.9, 50)


def test_scores_of_probes_are_not_means():
    error = refusal(ResultsError, Atlas.build({"probe": probe()}, {}).mean, "probe")
    assert error.message == "'probe' holds test scores, not means over examples"
    assert error.hint == "atlas['probe']['test']"


def test_an_unknown_kind_is_refused():
    with pytest.raises(ResultsError, match="hold 'spectrum', which this version"):
        contents(xr.Dataset(attrs={"kind": "spectrum"}))
