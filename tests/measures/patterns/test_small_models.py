"""The network on maps of two small models beside the project, labelled by looking at them: neither
the models nor their maps are shipped, only the labels.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.corpus import Example
from headscope.labelling import example_maps
from headscope.measures.patterns import TESTED
from headscope.measures.patterns.labels import pack
from headscope.measures.patterns.network import load_network
from headscope.measures.patterns.training import predict

LABELS = Path(__file__).parent / "small_models.tsv"


@cache
def sentence(passage: str, number: int) -> str:
    """A sentence of the built-in corpus, counted from 1."""
    found = next(one for one in hs.corpus.read("demo") if one.id == passage)
    numbers = sorted({word.sentence for word in found.words})
    return " ".join(word.text for word in found.words if word.sentence == numbers[number - 1])


def example(name: str) -> Example:
    """The input that a name such as "news-01:s1+s2|s3" stands for."""
    texts, passage = [], ""
    for part in name.split("|"):
        before, colon, names = part.rpartition(":")
        passage = before if colon else passage
        texts.append(" ".join(sentence(passage, int(one[1:])) for one in names.split("+")))
    return Example(name, tuple(texts))


@pytest.mark.shared
@pytest.mark.slow
def test_maps_of_models_never_trained_on_get_their_labels(shared):
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    right = []
    for name in ("gpt2-mini", "electra-mini"):
        model = hs.load(str(shared / "models" / name))
        for row in rows:
            if row["model"] == name:
                maps = example_maps(model, example(row["example"]), max_length=TESTED).maps
                one = maps[int(row["layer"]) - 1, int(row["head"]) - 1]
                assert len(one) == int(row["length"])
                right.append(predict(load_network(), [pack(one)]) == [row["label"]])
    assert len(right) == len(rows) == 36
    assert np.mean(right) >= 0.75
