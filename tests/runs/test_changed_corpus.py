"""A corpus that is rewritten during a run: the run refuses to save, and keeps nothing wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope.corpus import read
from headscope.errors import CorpusError
from headscope.papers.clark2019.recipe import sentence_corpus
from headscope.runs.ablate import ablate
from headscope.runs.survey import compare, survey
from planted import planted_bert
from runs.ablate.made import RUN, TASK, classifier

BEFORE = "a dog\nthe cat sat.\nit saw\nthe mat, a dog\nit barks!\n"
AFTER = "it barks!\nthe cat\nthe mat.\na dog sat.\nit saw\n"
HOW: dict[str, Any] = {"batch_size": 1, "max_length": 24, "every": 0.0}
REFUSAL = "was rewritten while it was being used"


@pytest.fixture(scope="module")
def model():
    return planted_bert()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text(BEFORE)
    return path


def rewrite(path: Path, at: int = 3) -> Callable[[int, int], None]:
    def write(done: int, total: int) -> None:
        if done == at:
            path.write_text(AFTER)

    return write


def test_a_survey_refuses_to_save_results_of_two_corpora(model, path, tmp_path):
    def run(**more: Any) -> Any:
        corpus = read(path, lines=True)
        output = tmp_path / "run.nc"
        return survey(model, corpus, measures=["entropy"], output=output, **HOW, **more)

    with pytest.raises(CorpusError, match=REFUSAL) as caught:
        run(progress=rewrite(path))
    assert "not saved" in caught.value.message
    assert caught.value.hint
    assert not (tmp_path / "run.nc").exists()
    path.write_text(BEFORE)
    resumed = run()  # what was kept was read before the change
    plain = survey(model, read(path, lines=True), measures=["entropy"], **HOW)
    assert resumed["entropy"].identical(plain["entropy"])


def test_without_an_output_nothing_is_returned(model, path):
    with pytest.raises(CorpusError, match=REFUSAL):
        survey(model, read(path, lines=True), progress=rewrite(path), **HOW)


def test_a_corpus_that_is_removed_is_noticed(model, path, tmp_path):
    def remove(done: int, total: int) -> None:
        path.unlink(missing_ok=True)

    with pytest.raises(CorpusError, match="cannot be read any more"):
        survey(model, read(path, lines=True), output=tmp_path / "x.nc", progress=remove, **HOW)
    assert not (tmp_path / "x.nc").exists()


@pytest.mark.parametrize("make", [lambda one: one.sample(4, seed=0), lambda one: one.first(4)])
def test_parts_of_a_corpus_are_watched_too(model, path, make):
    with pytest.raises(CorpusError, match=REFUSAL):
        survey(model, make(read(path, lines=True)), progress=rewrite(path, at=2), **HOW)


def test_a_corpus_cut_into_sentences_is_watched_too(path):
    corpus = sentence_corpus(read(path, lines=True))
    before = corpus.checksum
    corpus.check_unchanged()
    path.write_text(AFTER)
    with pytest.raises(CorpusError, match=REFUSAL):
        corpus.check_unchanged()
    assert corpus.checksum == before


def test_a_comparison_refuses_too(model, path, tmp_path):
    corpus, output = read(path, lines=True), tmp_path / "run.nc"
    with pytest.raises(CorpusError, match=REFUSAL):
        compare(model, planted_bert(), corpus, progress=rewrite(path), output=output, **HOW)
    assert not output.exists()


def test_an_ablation_refuses_too(path, tmp_path):
    path.write_text("sentence\tlabel\n" + "the dog sat\tno\nit barks\tyes\n" * 4)
    dev = read(path.rename(tmp_path / "dev.tsv"))
    path, output = tmp_path / "dev.tsv", tmp_path / "off.nc"
    more = {**RUN, "output": output, "progress": lambda *_: path.write_text(AFTER)}
    with pytest.raises(CorpusError, match=REFUSAL):
        ablate(classifier(), task=TASK, dev=dev, **more)
    assert not output.exists()
