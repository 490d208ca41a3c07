"""Checkpoints of a planted model: values of all of them, and when roles appear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import Interrupted, ModelError, UserError
from headscope.stats import emergence, track_values
from planted import place
from planted_track import PRESENT, STEPS, TEXTS, planted_checkpoint, save_checkpoints
from tiny import tiny_model

OPTIONS: dict[str, Any] = {"max_length": 24}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return save_checkpoints(tmp_path_factory.mktemp("training"))


@pytest.fixture(scope="module")
def atlas(folders):
    return hs.track(folders, TEXTS, **OPTIONS)


def test_a_role_appears_at_the_checkpoint_where_it_was_planted(atlas):
    table = emergence(atlas)
    main = table[table["main"]]
    found = {(row.head, row.role, row.checkpoint, row.step) for row in main.itertuples()}
    expected = {("1-1", "previous", "checkpoint-20", 20), ("1-3", "itself", "checkpoint-20", 20)}
    assert found == expected
    assert "1-2" not in set(table["head"])  # it lost its role at the end
    rows = main.set_index("head")
    assert rows["before"].abs().max() < 0.1
    assert rows["last"].min() > 0.8


def test_values_of_every_checkpoint_are_those_of_its_own_survey(atlas):
    values = track_values(atlas, "position:previous")
    assert values["checkpoint"].values.tolist() == [f"checkpoint-{step}" for step in STEPS]
    for number in range(len(STEPS)):
        alone = hs.survey(planted_checkpoint(number), TEXTS, measures="position", **OPTIONS)
        np.testing.assert_allclose(
            values.values[number], alone.mean("position").sel(offset="previous"), atol=1e-12
        )


def test_a_threshold_of_a_value_is_passed_for_good(atlas):
    labels = {"previous": "previous", "current": "current"}
    for head, offset in labels.items():
        table = emergence(atlas, by=f"position:{offset}", threshold=0.5)
        where = f"{place(head)['layer']}-{place(head)['head']}"
        assert table[["head", "checkpoint"]].values.tolist() == [[where, "checkpoint-20"]]
        line = track_values(atlas, f"position:{offset}").sel(**place(head)).values
        assert ((line > 0.5) == PRESENT[head]).all()
    assert not len(emergence(atlas, by="position:next", threshold=0.5))
    with pytest.raises(UserError, match="the threshold of position:next is missing"):
        emergence(atlas, by="position:next")


def test_what_is_there_from_the_start_appears_at_the_first_checkpoint(atlas):
    table = emergence(atlas, by="special:cls", threshold=0.5).set_index("head")
    assert table.loc["1-4", "checkpoint"] == "checkpoint-0"
    assert np.isnan(table.loc["1-4", "before"])


def test_the_file_holds_the_last_checkpoint_and_the_values_of_all(folders, atlas, tmp_path):
    path = tmp_path / "track.nc"
    atlas.save(path)
    opened = hs.Atlas.open(path)
    assert opened.track.names == tuple(folder.name for folder in folders)
    assert opened.track.steps == STEPS
    last = hs.survey(folders[-1], TEXTS, **OPTIONS)
    assert opened.measures == last.measures
    np.testing.assert_array_equal(opened.mean("entropy"), last.mean("entropy"))
    assert emergence(opened).equals(emergence(atlas))
    assert opened.kept.texts
    with pytest.raises(UserError, match="of one model, not of several checkpoints"):
        _ = last.track


def test_a_folder_of_checkpoints_is_read_in_the_order_of_steps(folders):
    found = hs.track(folders[0].parent, TEXTS[:2], measures="position", limit=2, **OPTIONS)
    assert found.track.steps == STEPS


def test_order_is_as_given_where_steps_do_not_grow(folders):
    found = hs.track(folders[2:0:-1], TEXTS[:2], measures="position", **OPTIONS)
    assert found.track.names == ("checkpoint-20", "checkpoint-10")
    assert found.track.steps is None
    assert found.track.places == (1, 2)
    assert emergence(found, by="position:next", threshold=0.5)["step"].isna().all()


def test_a_stopped_run_resumes_with_the_checkpoint_in_work(folders, atlas, tmp_path):
    calls: list[int] = []

    def stop(done: int, total: int) -> None:
        calls.append(done)
        if calls.count(len(TEXTS)) == 2:
            raise KeyboardInterrupt

    options = {**OPTIONS, "measures": "position", "examples": 0, "every": 0}
    options["output"] = tmp_path / "track.nc"
    with pytest.raises(Interrupted, match=r"002-checkpoint-10\.nc\.partial"):
        hs.track(folders, TEXTS, progress=stop, **options)
    assert (tmp_path / "track.nc.parts" / "001-checkpoint-0.nc").exists()
    again: list[int] = []
    resumed = hs.track(folders, TEXTS, progress=lambda done, _: again.append(done), **options)
    assert again.count(len(TEXTS)) <= 3
    name = "position:previous"
    np.testing.assert_array_equal(track_values(resumed, name), track_values(atlas, name))
    assert [one.name for one in tmp_path.iterdir()] == ["track.nc"]
    before = len(again)
    hs.track(folders, TEXTS, progress=lambda done, _: again.append(done), **options)
    assert len(again) == before  # finished: it is opened


def test_checkpoints_of_different_shapes_are_refused(folders, tmp_path):
    other = tiny_model("bert")
    other.network.save_pretrained(tmp_path / "other")
    other.tokenizer.save_pretrained(tmp_path / "other")
    words = r"different shapes: checkpoint-0 \(bert, 2 layers of 5 heads\) and other \(bert, 2 l"
    with pytest.raises(ModelError, match=words):
        hs.track([folders[0], tmp_path / "other"], TEXTS, **OPTIONS)
    with pytest.raises(ModelError, match="different shapes: step-0 "):
        hs.track([planted_checkpoint(0), other], TEXTS, measures="position", **OPTIONS)


def test_the_same_weights_twice_are_noted():
    models = [planted_checkpoint(0, "a"), planted_checkpoint(0, "b")]
    found = hs.track(models, TEXTS[:2], measures="position", **OPTIONS)
    assert "the checkpoints a and b have the same weights" in found.provenance["notes"]
    assert found.track.steps is None
