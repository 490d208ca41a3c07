"""Surveys of decoders and of cross attention: random tokens written twice, what fits the stack."""

from __future__ import annotations

import pytest

import headscope as hs
from cli.conftest import MEASURES
from page.test_report import Reader
from tiny import tiny_network, tiny_tokenizer

CROSS = ("--pass.stack", "cross")


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    """A GPT-2 that takes 160 tokens."""
    folder = tmp_path_factory.mktemp("decoder")
    tiny_network("gpt2", n_positions=160).save_pretrained(folder)
    tiny_tokenizer("gpt2").save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("options", "there"),
    [
        ((), True),
        (("--no-survey.synthetic",), False),
        (MEASURES, False),
        ((*MEASURES, "--survey.synthetic"), True),
    ],
    ids=["by default", "switched off", "other measures named", "asked for"],
)
def test_a_survey_of_a_decoder_has_the_sequences_unless_told(
    run, tmp_path, decoder, text, options, there
):
    output = tmp_path / "x.nc"
    done = run("survey", decoder, text, "--max-length", "32", "-o", output, *options)
    assert done.code == 0
    found = hs.open(output)
    assert ("synthetic" in found) == there
    listed = run("table", output, "statistics", "--json").out
    assert ("in random tokens written twice" in listed) == there
    if there:
        assert (found["synthetic"]["n"] == 32).all()
        assert found.provenance["synthetic"] == {"n": 64, "count": 32, "seed": 0}


def test_a_model_that_takes_too_few_tokens_is_surveyed_with_a_note(
    run, tmp_path, causal_folder, text
):
    done = run("survey", causal_folder, text, "--max-length", "32", "-o", tmp_path / "x.nc")
    assert done.code == 0
    assert "note: no random tokens written twice: two copies of 64 tokens take" in done.err
    assert "synthetic" not in hs.open(tmp_path / "x.nc")


def test_an_encoder_that_is_asked_for_the_sequences_is_refused_with_the_reason(
    run, tmp_path, tiny_folder, text
):
    done = run("survey", tiny_folder, text, "--survey.synthetic", "-o", tmp_path / "x.nc")
    assert done.code == 2
    assert "is not a decoder-only language model" in done.told[0]
    assert "headscope survey MODEL CORPUS --measure repetition" in done.told[1]
    assert not (tmp_path / "x.nc").exists()


@pytest.fixture(scope="module")
def bart_folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cross") / "tiny-bart"
    tiny_network("bart").save_pretrained(place)
    tiny_tokenizer("bart").save_pretrained(place)
    return place


def test_a_survey_of_cross_attention_computes_the_measures_that_are_defined_for_it(
    run, bart_folder, text, tmp_path
):
    output = tmp_path / "cross.nc"
    done = run("survey", bart_folder, text, "-o", output, *CROSS, "--max-length", "64")
    assert done.code == 0, done.err
    atlas = hs.open(output)
    assert atlas.measures == ("special", "entropy", "peak", "alignment")
    assert atlas.provenance["model"]["stack"] == "cross"
    assert atlas.provenance["counts"]["seen"] == 2
    page = tmp_path / "cross.html"
    assert run("report", output, "-o", page).code == 0
    (document, _) = Reader(page.read_text(encoding="utf-8")).packs()["atlas"]
    titles = [one["title"] for one in document["statistics"]]
    assert any("place of the strongest key" in title for title in titles)


def test_other_measures_are_refused_before_the_model_is_loaded(run, text, tmp_path):
    output = tmp_path / "cross.nc"
    done = run("survey", "demo", text, "-o", output, *CROSS, "--measure", "position")
    assert done.code == 2
    assert "the measure 'position' is about the tokens of one text" in " ".join(done.err.split())
    assert "choose from special, entropy, peak, alignment" in " ".join(done.err.split())
