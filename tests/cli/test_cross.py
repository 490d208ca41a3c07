"""Cross attention at the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.results import Atlas
from page.test_report import Reader
from tiny import tiny_network, tiny_tokenizer

CROSS = ("--pass.stack", "cross")


@pytest.fixture(scope="module")
def bart_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cross") / "tiny-bart"
    tiny_network("bart").save_pretrained(place)
    tiny_tokenizer("bart").save_pretrained(place)
    return place


def test_a_survey_of_cross_attention_computes_the_measures_that_are_defined_for_it(
    run: Any, bart_folder: Path, text: Path, tmp_path: Path
) -> None:
    output = tmp_path / "cross.nc"
    done = run("survey", bart_folder, text, "-o", output, *CROSS, "--max-length", "64")
    assert done.code == 0, done.err
    atlas = Atlas.open(output)
    assert atlas.measures == ("special", "entropy", "peak", "alignment")
    assert atlas.provenance["model"]["stack"] == "cross"
    assert atlas.provenance["counts"]["seen"] == 2
    page = tmp_path / "cross.html"
    assert run("report", output, "-o", page).code == 0
    (document, _) = Reader(page.read_text(encoding="utf-8")).packs()["atlas"]
    titles = [one["title"] for one in document["statistics"]]
    assert any("place of the strongest key" in title for title in titles)


def test_other_measures_are_refused_before_the_model_is_loaded(
    run: Any, text: Path, tmp_path: Path
) -> None:
    output = tmp_path / "cross.nc"
    done = run("survey", "demo", text, "-o", output, *CROSS, "--measure", "position")
    assert done.code == 2
    assert "the measure 'position' is about the tokens of one text" in " ".join(done.err.split())
    assert "choose from special, entropy, peak, alignment" in " ".join(done.err.split())
