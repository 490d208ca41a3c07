"""The table of probes: its rows, its errors, and the separation of training and test data."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.corpus import ROOT, Corpus, Example, Word, from_examples, read
from headscope.corpus.vectors import WordVectors
from headscope.errors import UserError
from headscope.models import Model
from headscope.papers.clark2019 import parse as module
from headscope.papers.clark2019.networks import RATES
from headscope.papers.clark2019.parse import PROBES, attachments, parse_probes, right_branching
from headscope.papers.clark2019.word_maps import make_word_maps
from headscope.progress import Reporter, Update
from planted import planted_bert
from tiny import tiny_model

WORDS = ["the", "a", "dog", "cat", "dogs", "sat", "mat", "saw", "old", "it"]
VECTORS = WordVectors(
    "by hand", {word: row for row, word in enumerate(WORDS)}, np.eye(len(WORDS), dtype=np.float32)
)


def treebank(count: int, *, seed: int) -> Corpus:
    """The head of every word is the previous one, to which a head of the planted model attends.

    The first word is the root; full stops are punctuation.
    """
    draw = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        texts = [*draw.choice(WORDS, size=int(draw.integers(2, 9))).tolist(), "."]
        words = tuple(
            Word(
                text, head=place - 1 if place else ROOT, relation="punct" if text == "." else "dep"
            )
            for place, text in enumerate(texts)
        )
        examples.append(Example(str(number), (" ".join(texts),), words))
    return from_examples(examples, name=f"trees {seed}")


EPOCHS = 40  # each has a single batch
TRAIN, DEV = treebank(60, seed=1), treebank(25, seed=2)


@pytest.fixture(scope="module")
def bert():
    return planted_bert()


@pytest.fixture(scope="module")
def table(bert):
    return parse_probes(bert, TRAIN, DEV, seed=0, vectors=VECTORS, epochs=EPOCHS)


def test_the_rows_are_those_of_table_3_in_its_order(table):
    both = "attention + words"
    names = ["right-branching", "words + distances", f"{both}, random encoder", "attention", both]
    assert table["probe"].tolist() == list(PROBES) == names
    distances, words = 10 * 100 * 2 + 100 + 16 * 100 + 100 + 100, 2 * 10 * 20 + 11
    assert table["parameters"].tolist() == [0, distances, words, 21, words]
    assert (table["low"] <= table["uas"]).all()
    assert (table["uas"] <= table["high"]).all()
    assert ((table["epoch"] > 0) == (table["probe"] != "right-branching")).all()
    assert (table["seconds"] >= 0).all()


def test_every_trained_probe_chooses_from_the_same_rates(table):
    trained = table[table["probe"] != "right-branching"]
    assert set(trained["tried"]) == {len(RATES)}
    assert set(trained["rate"]) <= set(RATES)
    assert np.isfinite(trained["held_out_loss"]).all()
    assert table.loc[0, ["tried", "parameters"]].tolist() == [0, 0]
    assert np.isnan(table.loc[0, "rate"])


def test_the_head_that_attends_to_the_previous_word_is_found(table):
    found = table.set_index("probe")["uas"]
    assert found["attention"] > 0.99
    assert (
        found["attention + words"] > 0.95
    )  # it learns twenty times as many weights from 54 sentences
    assert found["words + distances"] > 0.99  # it needs only a fixed offset
    assert found["attention + words, random encoder"] < 0.9
    assert found["right-branching"] == 0.0  # every head is to the left


def test_punctuation_counts_only_in_its_own_column(table):
    words = sum(len(example.words) for example in DEV)
    assert set(table["words"]) == {words - 25}
    assert set(table["words_punctuation"]) == {words}
    assert set(table["sentences"]) == {25}


def test_right_branching_is_scored_by_its_predictions(bert, table, tmp_path):
    words = (Word("the", head=1), Word("dog", head=2), Word("sat", head=ROOT))
    words = (*words, Word(".", head=2, relation="punct"))
    right = from_examples([Example("1", ("the dog sat .",), words)])
    found = parse_probes(bert, TRAIN, right, seed=0, probes=["right-branching"], cache=tmp_path)
    assert found["uas"].tolist() == [
        pytest.approx(2 / 3)
    ]  # the last word is the full stop, not "sat"
    sentences = make_word_maps(bert, right, tmp_path).sentences
    assert [part.tolist() for part in attachments(sentences, [right_branching(4)])] == [[2], [3]]


def test_the_same_seed_gives_the_same_table(bert):
    one, two, other = (
        parse_probes(bert, TRAIN, DEV, seed=seed, vectors=VECTORS, epochs=2).drop(columns="seconds")
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)


def test_the_attributes_hold_sizes_and_unknown_words(table):
    assert table.attrs["train"]["sentences"] == 60
    assert (
        table.attrs["train"]["bytes"] == sum(len(example.words) ** 2 for example in TRAIN) * 10 * 2
    )
    assert table.attrs["dev"]["also_in_train"] == len(
        [example for example in DEV if example.texts in {other.texts for other in TRAIN}]
    )
    words = [word.text for example in DEV for word in example.words]
    assert table.attrs["vectors"]["unknown_dev"] == pytest.approx(words.count(".") / len(words))
    assert (table.attrs["vectors"]["name"], table.attrs["vectors"]["dimension"]) == ("by hand", 10)


def trained(
    monkeypatch: pytest.MonkeyPatch, bert: Model, dev: Corpus
) -> list[dict[str, torch.Tensor]]:
    """The weights of each probe after training, with a given test corpus."""
    states: list[dict[str, torch.Tensor]] = []
    real = module.fit_best_rate

    def record(*arguments: Any, **options: Any) -> Any:
        probe, how = real(*arguments, **options)
        states.append({name: value.clone() for name, value in probe.state_dict().items()})
        return probe, how

    monkeypatch.setattr(module, "fit_best_rate", record)
    parse_probes(bert, TRAIN, dev, seed=0, vectors=VECTORS, epochs=3, limit=30)
    monkeypatch.undo()
    return states


def test_training_does_not_depend_on_the_test_corpus(monkeypatch, bert):
    one, other = (trained(monkeypatch, bert, treebank(10, seed=seed)) for seed in (5, 6))
    assert len(one) == len(other) == 4
    for first, second in zip(one, other, strict=True):
        assert all(torch.equal(first[name], second[name]) for name in first)


def test_training_and_testing_on_the_same_corpus_is_an_error(bert):
    with pytest.raises(UserError) as caught:
        parse_probes(bert, TRAIN, TRAIN.first(5), seed=0)
    assert str(caught.value) == (
        "trees 1 and trees 1 are the same corpus: a probe must be tested on sentences that it was "
        "not trained on\nnext: choose another corpus to test on"
    )


def test_without_word_vectors_only_the_probes_that_need_none_are_trained(bert):
    found = parse_probes(bert, TRAIN, DEV, seed=0, epochs=1, limit=20, dev_limit=4)
    assert found["probe"].tolist() == ["right-branching", "attention"]
    assert set(found["sentences"]) == {4}
    assert found.attrs["train"]["sentences"] == 20
    assert found.attrs["vectors"] is None


def test_chosen_probes_are_in_the_order_of_the_table(bert, tmp_path):
    found = parse_probes(
        bert, TRAIN, DEV, seed=0, epochs=1, probes=["attention", "right-branching"], cache=tmp_path
    )
    assert found["probe"].tolist() == ["right-branching", "attention"]


@pytest.mark.parametrize(
    ("probes", "message"),
    [
        (["atention"], "Did you mean 'attention'"),
        (
            ["attention + words"],
            "the probe 'attention + words' needs word vectors, and none were given",
        ),
        ([], "no probe was chosen"),
    ],
)
def test_a_probe_that_cannot_be_trained_is_an_error(bert, probes, message):
    with pytest.raises(UserError, match=message.replace("+", r"\+")):
        parse_probes(bert, TRAIN, DEV, seed=0, probes=probes)


def test_vectors_can_be_read_from_a_file(bert, tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("\n".join(f"{word} {row} 1" for row, word in enumerate(WORDS)))
    found = parse_probes(
        bert, TRAIN, DEV, seed=0, epochs=1, probes=["attention + words"], vectors=path
    )
    assert found.attrs["vectors"]["name"] == "v.txt"
    assert found["parameters"].tolist() == [2 * 10 * 4 + 3]


def test_without_a_cache_folder_no_files_remain(bert, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    parse_probes(bert, TRAIN, DEV, seed=0, epochs=1, probes=["attention"])
    assert list(tmp_path.iterdir()) == []


def test_the_cache_folder_is_used_again(bert, tmp_path, monkeypatch):
    parse_probes(bert, TRAIN, DEV, seed=0, epochs=1, vectors=VECTORS, cache=tmp_path / "maps")
    assert len(list((tmp_path / "maps").iterdir())) == 4  # two encoders, two corpora
    monkeypatch.setattr(bert, "forward", None)
    parse_probes(bert, TRAIN, DEV, seed=0, epochs=1, vectors=VECTORS, cache=tmp_path / "maps")
    assert len(list((tmp_path / "maps").iterdir())) == 4


def test_progress_shows_the_maps_and_each_epoch(bert):
    seen: list[tuple[str, int, int]] = []

    class Recorder(Reporter):
        @contextmanager
        def progress(self, what: str) -> Iterator[Update]:
            yield lambda done, total: seen.append((what, done, total))

    parse_probes(bert, TRAIN, DEV, seed=0, epochs=2, probes=["attention"], progress=Recorder())
    assert [step for step in seen if step[0].startswith("training")] == [
        (f"training: attention, rate {rate:g}", epoch, 2) for rate in RATES for epoch in (1, 2)
    ]
    assert (
        sum(step[0].startswith("word maps of planted-bert, ") for step in seen) == 3
    )  # two batches of 60 trees, one of 25


def test_a_passage_is_parsed_sentence_by_sentence():
    model, passages = tiny_model("bert", max_position_embeddings=512), read("demo", limit=3)
    found = parse_probes(model, TRAIN, passages, seed=0, probes=["right-branching"])
    right = total = trees = 0
    for example in passages:
        trees += len({word.sentence for word in example.words})
        for place, word in enumerate(example.words):
            last = (
                place + 1 == len(example.words)
                or example.words[place + 1].sentence != word.sentence
            )
            if word.relation != "punct" and word.upos != "PUNCT":
                total += 1
                right += word.head == (ROOT if last else place + 1)
    assert trees > 6
    assert found["words"].tolist() == [total]
    assert found["uas"].tolist() == [pytest.approx(right / total)]


def test_every_pair_of_probes_is_compared(table):
    pairs = table.attrs["pairs"]
    assert len(pairs) == 10
    uas = table.set_index("probe")["uas"]
    for pair in pairs:
        gap = uas[pair["probe"]] - uas[pair["other"]]
        assert pair["difference"] == pytest.approx(gap)
        assert gap >= 0
    last = next(
        pair for pair in pairs if {pair["probe"], pair["other"]} == {"attention", "right-branching"}
    )
    assert last["p_corrected"] < 0.05


def test_vectors_are_read_before_any_map_is_made(bert, tmp_path, monkeypatch):
    bad = tmp_path / "v.txt"
    bad.write_text("the 1 2\ndog 1 x\n")
    monkeypatch.setattr(bert, "forward", None)
    with pytest.raises(UserError, match="line 2: 'x' is not a number"):
        parse_probes(bert, TRAIN, DEV, seed=0, vectors=bad, cache=tmp_path / "maps")
    assert not (tmp_path / "maps").exists()
