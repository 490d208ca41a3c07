"""The same survey gives the same numbers: bit for bit if run twice, within a bound otherwise.

Resumed runs, shards and workers have tests of their own (test_resume.py, test_split_run.py,
engines/), all bit for bit.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.corpus import read
from headscope.models import Model
from headscope.results import Atlas
from headscope.runs.survey import survey
from tiny import tiny_model

BOUND = 1e-5
"""By how much means may differ over batch sizes and threads; docs/explanation/checks.md."""
MEASURES = ["position", "special", "entropy", "distance", "dependency"]


@pytest.fixture(scope="module", params=["bert", "llama"])
def model(request):
    return tiny_model(request.param)


@pytest.fixture(scope="module")
def once(model):
    return surveyed(model)


@pytest.fixture
def threads():
    """Put the number of threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def surveyed(model: Model, batch_size: int = 16) -> Atlas:
    measures = [name for name in MEASURES if model.main_stack() == "encoder" or name != "special"]
    return survey(
        model, read("demo", limit=24), measures=measures, batch_size=batch_size, max_length=64
    )


def difference(one: Atlas, other: Atlas) -> float:
    """The largest difference of any number of two results; they must be undefined alike."""
    assert one.measures == other.measures
    largest = 0.0
    for name in one.measures:
        for variable, values in one[name].data_vars.items():
            if values.dtype.kind != "f" or variable in {"sum", "square"}:
                continue
            mine, theirs = values.values, other[name][variable].values
            assert np.array_equal(np.isnan(mine), np.isnan(theirs)), (name, variable)
            known = ~np.isnan(mine)
            largest = max(largest, float(np.abs(mine - theirs)[known].max(initial=0.0)))
    return largest


def test_a_survey_that_is_repeated_has_the_same_numbers_bit_for_bit(model, once):
    other = surveyed(model)
    for name in once.measures:
        assert once[name].identical(other[name])


@pytest.mark.parametrize("batch_size", [1, 5, 24])
def test_another_batch_size_changes_numbers_by_rounding_only(model, once, batch_size):
    assert difference(once, surveyed(model, batch_size)) < BOUND


@pytest.mark.parametrize("count", [2, 4])
def test_another_number_of_threads_changes_numbers_by_rounding_only(model, once, threads, count):
    torch.set_num_threads(count)
    assert difference(once, surveyed(model)) < BOUND


def test_a_real_difference_is_above_the_bound():
    assert difference(surveyed(tiny_model("bert")), surveyed(tiny_model("bert", seed=1))) > 0.01
