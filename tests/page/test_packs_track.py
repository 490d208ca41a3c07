"""Checkpoints on the page, against the results themselves."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.page.packs import columns as packs
from headscope.page.packs.atlas import atlas_content
from headscope.page.packs.columns import ORDER
from headscope.stats import emergence, track_values
from planted_track import STEPS, TEXTS, planted_checkpoint


@pytest.fixture(scope="module")
def atlas():
    measures = ["position", "entropy", "activity", "work", "spread"]
    models = [planted_checkpoint(number) for number in range(4)]
    return hs.track(models, TEXTS, measures=measures, max_length=24)


def test_values_and_families_of_every_checkpoint_are_there(atlas):
    document, arrays = atlas_content(atlas)
    about = document["track"]
    assert about["names"] == [f"step-{step}" for step in STEPS]
    assert about["steps"] == list(STEPS)
    at = about["statistics"].index("position:previous")
    values = track_values(atlas, "position:previous").values
    np.testing.assert_allclose(arrays["track/value"][:, at], values, rtol=1e-6)
    families = [ORDER[number] for number in arrays["track/family"][:, 0, 0]]
    assert families == ["broad", "broad", "previous", "previous"]
    main = arrays["track/main"]
    excess = atlas.track["excess"]["value"].sel(layer=1, head=1, role="previous").values
    np.testing.assert_allclose(main[:, 0, 0], excess, rtol=1e-6)
    assert np.isnan(main[:, 0, 1]).all()  # head 1-2 has no role at the end


def test_the_page_lists_when_roles_appear(atlas):
    rows = atlas_content(atlas)[0]["track"]["appear"]
    table = emergence(atlas)
    assert [row["head"] for row in rows] == table["head"].tolist()
    found = {row["head"]: row["checkpoint"] for row in rows if row["main"]}
    assert found == {"1-1": 2, "1-3": 2}


def test_statistics_beyond_what_a_page_can_hold_are_left_out(atlas, monkeypatch):
    monkeypatch.setattr(packs, "CELLS", 2 * 4 * 10)  # two statistics, four checkpoints, ten heads
    document, arrays = atlas_content(atlas)
    assert len(document["track"]["statistics"]) == 2
    assert arrays["track/value"].shape == (4, 2, 2, 5)


def test_results_of_one_model_have_no_track(atlas):
    alone = hs.survey(planted_checkpoint(3), TEXTS[:4], measures="position", max_length=24)
    document, arrays = atlas_content(alone)
    assert document["track"] is None
    assert not [name for name in arrays if name.startswith("track")]
