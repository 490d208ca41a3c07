"""Bands of null models, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

import headscope as hs
from headscope.corpus import ROOT, Example, Word, from_examples
from headscope.errors import ResultsError, UserError
from headscope.results.merge import with_nulls
from headscope.stats import null_bands, null_table
from tiny import tiny_model

TEXTS = [f"the {a} {b} sat on the {c} mat ." for a in "abc" for b in "defg" for c in "hi"]


@pytest.fixture(scope="module")
def atlas() -> hs.Atlas:
    nulls = ["random-weights", "shuffled-words"]
    return hs.survey(tiny_model("bert", num_hidden_layers=3), TEXTS, null=nulls, max_length=32)


def test_rows_are_what_numpy_says(atlas: hs.Atlas) -> None:
    table = null_table(atlas)
    assert len(table) > 20
    assert set(table["null"]) == {"random-weights", "shuffled-words"}
    for row in table[table["measure"] == "position"].to_dict("records"):
        mine = atlas.mean("position").sel(offset=row["label"]).values.ravel()
        null = atlas.nulls[row["null"]].mean("position").sel(offset=row["label"]).values.ravel()
        low, high = np.percentile(null, [2.5, 97.5])
        beyond = [value < low or value > high for value in mine]
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["above"] + row["below"] == sum(beyond)
        assert row["beyond"] == pytest.approx(np.mean(beyond))
        assert (row["mean"], row["null_mean"]) == pytest.approx((mine.mean(), null.mean()))


def test_a_null_models_own_heads_are_mostly_within_its_band(atlas: hs.Atlas) -> None:
    null = atlas.nulls["random-weights"].mean("entropy").sel(row="all").values.ravel()
    bands = null_bands(atlas, "entropy").set_index("null").loc["random-weights"]
    inside = (null >= bands["low"]) & (null <= bands["high"])
    assert inside.sum() == len(null) - 2  # of 12 heads, one lies beyond at either side


def test_tables_of_heads_show_the_bands(atlas: hs.Atlas) -> None:
    table = atlas.heads(by="position:previous", top=2)
    bands = null_bands(atlas, "position:previous").set_index("null")
    for null in ("random-weights", "shuffled-words"):
        assert table[f"{null} low"].tolist() == [bands.loc[null, "low"]] * 2
        assert table[f"{null} high"].tolist() == [bands.loc[null, "high"]] * 2
    assert not [name for name in atlas.heads() if name.endswith("low")]


def test_a_label_that_the_null_lacks_has_no_band() -> None:
    words = (Word("the", head=1, relation="det"), Word("cat", head=2, relation="nsubj"))
    words = (*words, Word("sat", head=ROOT, relation="root"))
    texts = from_examples([Example(name, ("the cat sat",), words) for name in "abc"], name="made")
    model = tiny_model("bert")
    whole = hs.survey(model, texts, measures="role", max_length=32)
    fewer = hs.survey(model, texts, measures=hs.Role(["local"]), max_length=32)
    found = with_nulls(whole, {"shuffled-words": fewer})  # as results of older versions have it
    assert not len(null_bands(found, "role:nsubj"))
    assert "nsubj" not in set(null_table(found)["label"])
    assert "local" in set(null_table(found)["label"])


def test_what_is_wrong_is_said(atlas: hs.Atlas) -> None:
    with pytest.raises(ResultsError, match="have no null models"):
        null_table(atlas.nulls["random-weights"])
    with pytest.raises(UserError, match="'positions'"):
        null_bands(atlas, "positions:previous")
