"""The machine fails a run: an error of ours, and what was finished is kept."""

from __future__ import annotations

from typing import Any

import pytest
import xarray as xr

from headscope.corpus import from_texts
from headscope.errors import CorpusError, Interrupted, UserError
from headscope.results import Atlas
from headscope.runs.forward import Pass
from headscope.runs.survey import survey
from planted import planted_bert

TEXTS = ["a dog", "the cat sat.", "it saw", "the mat, a dog", "it barks!"]
HOW: dict[str, Any] = {"batch_size": 1, "max_length": 24, "measures": ["position", "entropy"]}
TORCH = "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: tried"


@pytest.fixture(scope="module")
def model():
    return planted_bert()


@pytest.fixture
def passes(monkeypatch):
    """Counts the batches that go through the model; ``fail`` is raised at the fourth."""
    seen: dict[str, Any] = {"count": 0, "fail": None}
    run = Pass.run

    def spy(self: Pass, batch: Any) -> Any:
        if seen["count"] == 3 and seen["fail"] is not None:
            raise seen["fail"]
        seen["count"] += 1
        return run(self, batch)

    monkeypatch.setattr(Pass, "run", spy)
    return seen


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (MemoryError(), "the memory is not enough"),
        (RuntimeError(TORCH), "the memory is not enough"),
        (RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB"), "the memory is not en"),
        (OSError(5, "Input/output error", "w.bin"), "the run failed: Input/output error (w.bin)"),
    ],
    ids=["memory", "torch", "cuda", "disk"],
)
def test_a_failing_machine_is_an_error_of_ours_and_loses_nothing(
    model, tmp_path, passes, failure, message
):
    passes["fail"] = failure
    output = tmp_path / "run.nc"
    with pytest.raises(UserError) as caught:
        survey(model, from_texts(TEXTS), output=output, **HOW)
    assert caught.value.message.startswith(message)
    assert caught.value.message.endswith(f"the state is kept in {output}.partial")
    assert "run the same thing again to resume" in caught.value.hint
    passes["fail"] = None
    resumed = survey(model, from_texts(TEXTS), output=output, **HOW)
    assert passes["count"] == len(TEXTS)  # no batch twice
    plain = survey(model, from_texts(TEXTS), **HOW)
    assert all(resumed[name].identical(plain[name]) for name in plain)


def test_an_error_of_the_input_keeps_the_state_and_says_where(model, tmp_path, passes):
    passes["fail"] = CorpusError("example 4 is no text", hint="remove it")
    output = tmp_path / "run.nc"
    with pytest.raises(CorpusError) as caught:
        survey(model, from_texts(TEXTS), output=output, **HOW)
    kept = f"; the state is kept in {output}.partial"
    assert (caught.value.message, caught.value.hint) == (f"example 4 is no text{kept}", "remove it")
    with pytest.raises(CorpusError) as caught:
        survey(model, from_texts(TEXTS), **HOW)
    assert caught.value.message == "example 4 is no text"  # nothing was kept, and nothing is said
    passes["fail"] = None
    passes["count"] = 3
    resumed = survey(model, from_texts(TEXTS), output=output, **HOW)
    assert passes["count"] == len(TEXTS)  # no batch twice
    plain = survey(model, from_texts(TEXTS), **HOW)
    assert all(resumed[name].identical(plain[name]) for name in plain)


def test_without_an_output_the_error_says_that_nothing_was_kept(model, passes):
    passes["fail"] = MemoryError()
    with pytest.raises(UserError, match="the memory is not enough; nothing was kept"):
        survey(model, from_texts(TEXTS), **HOW)


def test_an_error_of_the_program_is_not_taken_for_the_machine(model, passes):
    passes["fail"] = RuntimeError("shape '[3]' is invalid")
    with pytest.raises(RuntimeError, match="shape"):
        survey(model, from_texts(TEXTS), **HOW)


@pytest.mark.parametrize("failure", [RuntimeError("NetCDF: HDF error"), KeyboardInterrupt()])
def test_what_was_computed_is_kept_if_the_results_cannot_be_written(
    model, tmp_path, passes, monkeypatch, failure
):
    def full(*_: object, **__: object) -> None:
        raise failure

    output = tmp_path / "run.nc"
    with monkeypatch.context() as patch:
        patch.setattr(xr.DataTree, "to_netcdf", full)
        kind = Interrupted if isinstance(failure, KeyboardInterrupt) else UserError
        with pytest.raises(kind):
            survey(model, from_texts(TEXTS), output=output, **HOW)
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc.partial"]
    found = survey(model, from_texts(TEXTS), output=output, **HOW)
    assert passes["count"] == len(TEXTS)
    assert Atlas.open(output).tree.identical(found.tree)
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
