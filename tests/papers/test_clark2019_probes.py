"""The probes of Table 3 are trained once for the same model, treebanks, vectors and settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headscope.corpus import Corpus, Example, Word, from_examples
from headscope.corpus.vectors import WordVectors
from headscope.papers.clark2019 import parse
from headscope.papers.clark2019.parse import ProbeRun
from headscope.progress import as_reporter
from planted import planted_bert


def treebank(*texts: str) -> Corpus:
    examples = [
        Example(str(number), (text,), tuple(map(Word, text.split())))
        for number, text in enumerate(texts)
    ]
    return from_examples(examples)


@pytest.fixture
def trained(monkeypatch):
    """The seeds of all trainings; the table has one row, with a number that is not known."""
    seeds: list[int] = []

    def train(*_: object, seed: int, **__: Any) -> pd.DataFrame:
        seeds.append(seed)
        table = pd.DataFrame([{"probe": "attention", "uas": 0.5, "rate": float("nan")}])
        table.attrs.update(pairs=[], dev={"sentences": np.int64(2)}, vectors=None)
        return table

    monkeypatch.setattr(parse, "parse_probes", train)
    return seeds


@pytest.fixture
def run(tmp_path):
    return ProbeRun(
        planted_bert(),
        treebank("the dog sat"),
        treebank("a cat sat", "the old mat"),
        WordVectors("mine", {"dog": 0}, np.ones((1, 2), np.float32)),
        seed=3,
        epochs=2,
        folder=tmp_path,
        reporter=as_reporter(False),
    )


def test_the_same_probes_are_trained_once(run, trained):
    first, second = run.table(), run.table()
    assert trained == [3]
    pd.testing.assert_frame_equal(first, second)
    assert second.attrs == first.attrs
    assert pd.read_csv(run.folder / "probes.csv")["uas"].tolist() == [0.5]


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 4},
        {"epochs": 3},
        {"dev": treebank("a cat sat", "the old dog")},
        {"train": treebank("the dog sat", "a cat")},
        {"vectors": None},
        {"vectors": WordVectors("mine", {"dog": 0}, np.zeros((1, 2), np.float32))},
    ],
)
def test_other_probes_are_trained_again(run, trained, change):
    run.table()
    replace(run, **change).table()
    assert len(trained) == 2


def test_a_damaged_file_is_made_again(run, trained):
    run.table()
    path = run.folder / "probes.json"
    path.write_text(path.read_text(encoding="utf-8")[:40], encoding="utf-8")
    run.table()
    assert len(trained) == 2
