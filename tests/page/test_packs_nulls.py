"""Bands of null models on the page, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.corpus import ROOT, Example, Word, from_examples
from headscope.page import write_report
from headscope.page.packs.atlas import atlas_content
from headscope.results.merge import with_nulls
from page.samples import made_results, made_values
from tiny import tiny_model

NOUNS = [f"{first}{second}" for first in "bcdfg" for second in "aeiou"]


@pytest.fixture(scope="module")
def atlas():
    """A survey with trees, which shuffled words keep."""
    examples = []
    for noun in NOUNS:
        words = (Word("the", head=1, relation="det"), Word(noun, head=2, relation="nsubj"))
        words = (*words, Word("sat", head=ROOT, relation="root"))
        examples.append(Example(noun, (f"the {noun} sat",), words))
    nulls = ["random-weights", "shuffled-words"]
    return hs.survey(
        tiny_model("bert"), from_examples(examples, name="made"), null=nulls, max_length=32
    )


def bands_of(entry: dict[str, Any]) -> dict[str, list[float]]:
    return {band["null"]: [band["low"], band["high"]] for band in entry.get("nulls", [])}


def test_bands_are_quantiles_of_the_null_models_heads(atlas):
    document = atlas_content(atlas)[0]
    entries = {entry["id"]: entry for entry in document["statistics"]}
    bands = bands_of(entries["position:previous"])
    assert list(bands) == ["random weights", "shuffled words"]
    for words, found in bands.items():
        null = atlas.nulls[words.replace(" ", "-")]
        values = null.mean("position").sel(offset="previous").values
        assert found == pytest.approx(np.percentile(values, [2.5, 97.5]).tolist())


def test_roles_and_relations_have_bands_too(atlas):
    document = atlas_content(atlas)[0]
    work = {entry["id"]: entry for entry in document["work"]}
    null = atlas.nulls["shuffled-words"].analysis.excess
    expected = np.percentile(null.value[:, null.names.index("previous")], [2.5, 97.5])
    assert bands_of(work["previous"])["shuffled words"] == pytest.approx(expected.tolist())
    (relation,) = [one for one in document["relations"] if one["id"] == "det:dependent to head"]
    bands = bands_of(relation)
    assert set(bands) == {"random weights", "shuffled words"}
    for words, found in bands.items():
        accuracy = (
            atlas.nulls[words.replace(" ", "-")]["dependency"]["mean"]
            .sel(relation="det", direction="dependent to head", words="every")
            .values
        )
        assert found == pytest.approx(np.percentile(accuracy, [2.5, 97.5]).tolist())


def test_results_without_null_models_have_no_bands():
    document = atlas_content(made_results())[0]
    entries = [*document["statistics"], *document["work"], *document["relations"]]
    assert entries
    assert not [entry for entry in entries if "nulls" in entry]


@pytest.fixture
def with_bands(tmp_path):
    """A model's heads 1-1, 1-2, 1-3 are below, inside and above the band of attention 0.2 to 0.4.

    The null model's six heads have 0.2, 0.24, … 0.4; their quantiles are 0.205 and 0.395.
    """
    values, null = made_values(2, 3), made_values(2, 3)
    values["position"][0, :, 0] = 0.1, 0.3, 0.8
    null["position"][:, :, 0] = np.linspace(0.2, 0.4, 6).reshape(2, 3)
    atlas = with_nulls(made_results(values=values), {"random-weights": made_results(values=null)})
    return write_report(atlas, tmp_path / "x.html")


@pytest.mark.page
def test_a_heads_page_shows_each_band_and_whether_the_head_is_outside(explore, with_bands):
    for head, where in (("1-1", "below"), ("1-2", "inside"), ("1-3", "above")):
        opened = explore(with_bands, f"#/head/{head}")
        row = opened.page.locator(".hs-row", has_text="Previous token").first
        texts = row.locator("text").all_text_contents()
        assert "random weights: 20.5 % to 39.5 %" in texts
        assert texts[-1] == where
        hollow = row.locator("circle.hs-hollow").count()
        assert hollow == (1 if where == "inside" else 0)
        assert row.locator("rect.hs-band").count() == 2  # in the strip, and as its key
        assert (opened.asked, opened.complaints) == ([], [])


@pytest.mark.page
def test_heads_inside_a_band_can_be_faded_in_the_atlas(explore, with_bands):
    opened = explore(with_bands, "#/atlas?colour=position:previous")
    page = opened.page
    assert page.locator("[data-face='1-2'] text").text_content() == "30"
    page.get_by_role("button", name="Fade").click()
    page.get_by_role("option", name="heads like random weights").click()
    page.wait_for_selector("text=inside the band of random weights: 20.5 % to 39.5 %")
    assert "null=random" in page.url
    assert page.locator("[data-face='1-2'] text").count() == 0
    label = page.locator("[data-head='1-2']").get_attribute("aria-label")
    assert label.endswith("inside the band of random weights")
    assert page.locator("[data-face='1-1'] text").text_content() == "10"
    assert page.locator("[data-face='1-3'] text").text_content() == "80"
    assert (opened.asked, opened.complaints) == ([], [])


@pytest.mark.page
def test_a_page_without_null_models_offers_no_fading(explore, tmp_path):
    path = write_report(made_results(), tmp_path / "x.html")
    page = explore(path, "#/atlas?colour=position:previous").page
    assert page.get_by_role("button", name="Sort heads").count() == 1
    assert page.get_by_role("button", name="Fade").count() == 0
