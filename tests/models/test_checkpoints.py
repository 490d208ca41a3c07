"""Which checkpoints are meant, in which order, and what is refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.errors import ModelError, UserError
from headscope.models.checkpoints import check_configs, find_checkpoints, step_of, steps_of


def model_folder(place: Path) -> Path:
    place.mkdir(parents=True)
    (place / "config.json").write_text("{}")
    return place


def test_the_step_is_read_from_the_name():
    steps = {
        **{"checkpoint-100": 100, "step1000": 1000, "step3000-tokens6B": 3000, "global_step20": 20},
        **{"stage1-step500-tokens2B": 500, "epoch_3": 3, "ckpt-7": 7, "bert-2M": 2, "12": 12},
        "main": None,
    }
    assert {name: step_of(name) for name in steps} == steps


def test_steps_count_only_if_all_names_tell_them_and_they_grow():
    assert steps_of(["step0", "step5", "step70"]) == [0, 5, 70]
    assert steps_of(["step0", "main"]) is None
    assert steps_of(["step5", "step5b"]) is None


def test_folders_keep_their_order_and_a_folder_of_folders_is_sorted(tmp_path):
    for step in (1000, 20, 300):
        model_folder(tmp_path / f"checkpoint-{step}")
    (tmp_path / "logs").mkdir()
    given = [tmp_path / "checkpoint-300", tmp_path / "checkpoint-20"]
    assert [one.name for one in find_checkpoints(given)] == ["checkpoint-300", "checkpoint-20"]
    names = [one.name for one in find_checkpoints(tmp_path)]
    assert names == ["checkpoint-20", "checkpoint-300", "checkpoint-1000"]


def test_folders_of_one_name_are_told_apart_by_the_folder_above(tmp_path):
    given = [model_folder(tmp_path / run / "last") for run in ("a", "b")]
    assert [one.name for one in find_checkpoints(given)] == ["a/last", "b/last"]
    with pytest.raises(UserError, match="two checkpoints are called 'a/last'"):
        find_checkpoints([given[0], given[0]])


def test_a_folder_without_a_model_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError, match=r"empty is not a model folder: it has no config\.json"):
        find_checkpoints([model_folder(tmp_path / "a"), tmp_path / "empty"])
    with pytest.raises(ModelError, match="is not a model folder"):
        find_checkpoints(tmp_path / "empty")
    with pytest.raises(ModelError, match="there is no folder"):
        find_checkpoints([tmp_path / "a", tmp_path / "nowhere"])


def test_fewer_than_two_checkpoints_are_refused(tmp_path):
    with pytest.raises(UserError, match="two checkpoints or more, got 1 instead"):
        find_checkpoints(model_folder(tmp_path / "a"))
    with pytest.raises(UserError, match="two revisions or more"):
        find_checkpoints("pythia", ["step0"])


def test_revisions_belong_to_one_model_of_the_hub(tmp_path):
    found = find_checkpoints("pythia", ["step0", "step1000"])
    expected = [("step0", "pythia", "step0"), ("step1000", "pythia", "step1000")]
    assert [(one.name, one.model, one.revision) for one in found] == expected
    with pytest.raises(ModelError, match="is a folder, which has no revisions"):
        find_checkpoints(model_folder(tmp_path / "a"), ["x", "y"])
    with pytest.raises(UserError, match="revisions are of one hub model"):
        find_checkpoints(["pythia", "gpt2"], ["x", "y"])
    with pytest.raises(UserError, match="'x' is given more than once"):
        find_checkpoints("pythia", ["x", "x"])


def test_a_revision_that_cannot_be_reached_is_named():
    found = find_checkpoints("no-such-user/no-such-model", ["step0", "step1000"])
    with pytest.raises(ModelError, match="revision 'step0' of no-such-user/no-such-model") as error:
        check_configs(found)
    assert "downloaded before" in error.value.hint
