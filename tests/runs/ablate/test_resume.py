"""An interrupted ablation resumes to the same numbers; a finished one is opened."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.errors import Interrupted, UserError
from headscope.results import Atlas
from headscope.runs.ablate import ablate, work
from runs.ablate.made import RUN, TASK, classifier, labelled
from runs.in_process import interrupt_at


def given(**more: Any) -> dict[str, Any]:
    return {"task": TASK, "dev": labelled(), **RUN, **more}


@pytest.mark.parametrize("passes", [2 * 11 + 1, 4 * 11])
def test_an_interrupted_run_resumes_to_the_same_numbers(tmp_path, passes):
    model, path = classifier(), tmp_path / "off.nc"
    whole = ablate(model, **given(importance=True))
    message = r"stopped after \d examples; the state is kept in .*off\.nc\.partial"
    with pytest.raises(Interrupted, match=message):
        ablate(model, **given(importance=True, output=path, progress=interrupt_at(passes)))
    partial = tmp_path / "off.nc.partial"
    assert partial.exists()
    assert not path.exists()
    again = ablate(model, **given(importance=True, output=path))
    assert not partial.exists()
    for name in ("ablation", "importance", "head_off", "layer_off", "importance_agreement"):
        assert again[name].equals(whole[name]), name
    assert again.provenance["counts"] == whole.provenance["counts"]
    assert Atlas.open(path)["ablation"]["outputs"].equals(whole["ablation"]["outputs"])


@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])  # first trials, greedy steps, scored batches
def test_an_interrupted_pruning_curve_resumes(tmp_path, share):
    model, path = classifier(), tmp_path / "off.nc"
    seen = list[tuple[int, int]]()
    whole = ablate(
        model, **given(prune=True, progress=lambda done, total: seen.append((done, total)))
    )
    total = seen[-1][1]
    assert {one for _, one in seen} == {total}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == total
    with pytest.raises(Interrupted, match="examples and a part of the pruning curve"):
        ablate(model, **given(prune=True, output=path, progress=interrupt_at(int(share * total))))
    resumed = list[int]()
    again = ablate(
        model, **given(prune=True, output=path, progress=lambda done, _total: resumed.append(done))
    )
    assert again["pruning"].equals(whole["pruning"])
    assert again["pruning"].attrs == whole["pruning"].attrs
    assert len(resumed) < len(seen)


def test_a_finished_run_is_opened_and_another_one_is_not_mixed_with_it(tmp_path, monkeypatch):
    model, path = classifier(), tmp_path / "off.nc"
    ablate(model, **given(layers=False, output=path))
    with pytest.raises(UserError, match="another run: way: 'uniform' there, 'zero' here"):
        ablate(model, **given(layers=False, way="zero", output=path))
    zero = {"way": "zero", "overwrite": True, "progress": interrupt_at(19)}
    with pytest.raises(Interrupted):
        ablate(model, **given(layers=False, output=path, **zero))
    new = tmp_path / "new.nc"
    with pytest.raises(Interrupted):
        ablate(model, **given(layers=False, output=new, **zero | {"overwrite": False}))
    with pytest.raises(UserError, match="is the checkpoint of another run: way: 'zero' there"):
        ablate(model, **given(layers=False, way="mean", output=new))
    monkeypatch.setattr(work, "LayerCache", None)  # nothing may be computed
    found = ablate(model, **given(layers=False, output=path))
    assert found["ablation"].attrs["way"] == "uniform"


def test_other_options_of_the_scores_need_no_new_passes(tmp_path, monkeypatch):
    model, path = classifier(), tmp_path / "off.nc"
    first = ablate(model, **given(layers=False, output=path))
    monkeypatch.setattr(work, "LayerCache", None)  # nothing may be computed
    again = ablate(model, **given(layers=False, output=path, correction="none"))
    assert first["head_off"].attrs["correction"] == "holm"
    assert again["head_off"].attrs["correction"] == "none"
    assert again["head_off"]["p"].equals(first["head_off"]["p"])
    assert again["head_off"]["p_corrected"].equals(again["head_off"]["p"])
    assert Atlas.open(path)["head_off"].attrs["correction"] == "none"


def test_progress_counts_examples_times_passes_and_never_decreases():
    seen = list[tuple[int, int]]()
    ablate(classifier(), **given(progress=lambda done, total: seen.append((done, total))))
    assert {total for _, total in seen} == {5 * 11}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == 55
