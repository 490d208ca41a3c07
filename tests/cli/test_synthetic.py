"""``headscope survey --synthetic``: random tokens written twice, where a model can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

import headscope as hs
from cli.conftest import MEASURES, Run
from tiny import tiny_network, tiny_tokenizer


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    run: Run, tmp_path: Path, decoder: Path, text: Path, options: tuple[str, ...], there: bool
) -> None:
    output = tmp_path / "x.nc"
    done = run("survey", decoder, text, "--max-length", "32", "-o", output, *options)
    assert done.code == 0
    found = hs.open(output)
    assert ("synthetic" in found) == there
    assert ("in random tokens written twice" in " ".join(done.out.split())) == there
    if there:
        assert (found["synthetic"]["n"] == 32).all()
        assert found.provenance["synthetic"] == {"n": 64, "count": 32, "seed": 0}


def test_a_model_that_takes_too_few_tokens_is_surveyed_with_a_note(
    run: Run, tmp_path: Path, causal_folder: Path, text: Path
) -> None:
    done = run("survey", causal_folder, text, "--max-length", "32", "-o", tmp_path / "x.nc")
    assert done.code == 0
    assert "note: no random tokens written twice: two copies of 64 tokens take" in done.err
    assert "synthetic" not in hs.open(tmp_path / "x.nc")


def test_an_encoder_that_is_asked_for_the_sequences_is_refused_with_the_reason(
    run: Run, tmp_path: Path, tiny_folder: Path, text: Path
) -> None:
    done = run("survey", tiny_folder, text, "--survey.synthetic", "-o", tmp_path / "x.nc")
    assert done.code == 2
    assert "is not a decoder-only language model" in done.told[0]
    assert "headscope survey MODEL CORPUS --measure repetition" in done.told[1]
    assert not (tmp_path / "x.nc").exists()
