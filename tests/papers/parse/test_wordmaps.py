"""Word maps on disk: the right numbers, computed once, written whole or not at all."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import twins
from headscope.corpus import ROOT, Example, Word, from_examples, from_texts
from headscope.encode import collate
from headscope.errors import UserError
from headscope.models.loading import random_init
from headscope.papers.clark2019 import word_maps as module
from headscope.papers.clark2019.word_maps import (
    INDEX,
    MAPS,
    expected_size,
    make_word_maps,
    maps_identity,
)
from planted import planted_bert
from tiny import eager_run, tiny_model


def tree(
    id: str, text: str, *, heads: list[int] | None = None, sentences: list[int] | None = None
) -> Example:
    words = text.split(" ")
    heads = heads or [ROOT, *range(len(words) - 1)]
    return Example(
        id,
        (text,),
        tuple(
            Word(word, head=head, sentence=(sentences or [0] * len(words))[place])
            for place, (word, head) in enumerate(zip(words, heads, strict=True))
        ),
    )


TREES = [
    tree("1", "the old dogs saw a cat barking ."),
    tree("2", "it"),
    tree("3", "dogs sat"),
    tree(
        "4",
        "who sat on the mat ! it sat on dogs",
        heads=[1, -1, 4, 4, 1, 1, 7, -1, 9, 7],
        sentences=[0] * 6 + [1] * 4,
    ),
    tree("5", "the dogs \u200b barking", heads=[1, -1, 1, 2]),  # WordPiece drops the third word
]


@pytest.fixture(scope="module")
def bert():
    return planted_bert()


@pytest.fixture(scope="module")
def corpus():
    return from_examples(TREES)


@pytest.fixture(scope="module")
def maps(bert, corpus, tmp_path_factory):
    return make_word_maps(bert, corpus, tmp_path_factory.mktemp("cache"), batch_size=3)


def test_sentences_have_their_words_and_trees_in_the_order_of_the_corpus(maps):
    assert [" ".join(sentence.words) for sentence in maps.sentences] == [
        "the old dogs saw a cat barking .",
        "it",
        "dogs sat",
        "who sat on the mat !",
        "it sat on dogs",
        "the dogs barking",
    ]
    assert maps.sentences[3].heads.tolist() == [1, -1, 4, 4, 1, 1]
    assert maps.sentences[4].heads.tolist() == [1, -1, 3, 1]
    assert maps.sentences[5].heads.tolist() == [1, -1, -3]  # the head of "barking" has no pieces


def test_the_maps_agree_with_a_slow_twin_for_every_sentence(bert, maps):
    encoder = bert.encoder(max_length=24, long="drop", stack="encoder")
    place = 0
    for item in encoder.encode(TREES):
        seen: list[torch.Tensor] = []
        with torch.no_grad():
            bert.forward(
                collate([item]), listeners=[lambda view, seen=seen: seen.extend(view.attention[0])]
            )
        by_sentence: dict[int, list[int]] = {}
        for word in sorted({word for word in item.word.tolist() if word >= 0}):
            by_sentence.setdefault(item.example.words[word].sentence, []).append(word)
        for words in by_sentence.values():
            found = maps[place]
            assert found.shape == (len(words), len(words), 10)
            assert found.dtype == np.float16
            for head, map in enumerate(seen):  # heads layer by layer
                order, between, _ = twins.word_map(map.tolist(), item.word.tolist())
                expected = [
                    [between[order.index(one)][order.index(two)] for two in words] for one in words
                ]
                np.testing.assert_allclose(found[..., head], expected, atol=5e-4)
            place += 1
    assert place == len(maps) == 6


def test_the_maps_agree_with_transformers(tmp_path):
    model = tiny_model("bert")
    maps = make_word_maps(
        model, from_examples([tree("1", "the cat sat on the mat"), tree("2", "the dog")]), tmp_path
    )
    (item,) = model.encoder(max_length=64, long="drop", stack="encoder").encode(
        [tree("1", "the cat sat on the mat")]
    )
    _, eager = eager_run("bert", collate([item]))
    found = torch.from_numpy(np.array(maps[0]))
    for layer, weights in enumerate(eager["encoder"]):
        for head in range(4):
            _, between, _ = twins.word_map(weights[0, head].tolist(), item.word.tolist())
            np.testing.assert_allclose(found[..., layer * 4 + head], between, atol=5e-4)


def test_skipped_words_and_sizes_are_counted(maps):
    assert {
        key: maps.counts[key]
        for key in ("examples", "words", "words_lost", "too_long", "empty", "nonfinite")
    } == {"examples": 5, "words": 25, "words_lost": 1, "too_long": 0, "empty": 0, "nonfinite": 0}
    assert maps.size == (64 + 1 + 4 + 36 + 16 + 9) * 10 * 2 == (maps.folder / MAPS).stat().st_size
    assert expected_size(TREES, 10) == (64 + 1 + 4 + 36 + 16 + 16) * 10 * 2


def test_examples_that_are_too_long_are_skipped_and_counted(bert, corpus, tmp_path):
    maps = make_word_maps(bert, corpus, tmp_path, max_length=6)
    assert [" ".join(sentence.words) for sentence in maps.sentences] == ["it", "dogs sat"]
    assert maps.counts["too_long"] == 3
    with pytest.raises(UserError, match="there are no sentences to parse"):
        make_word_maps(bert, from_examples(TREES[:1]), tmp_path, max_length=6)


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_the_maps_do_not_depend_on_the_batch_size(bert, corpus, maps, tmp_path, batch_size):
    other = make_word_maps(bert, corpus, tmp_path, batch_size=batch_size)
    for index in range(len(maps)):
        np.testing.assert_allclose(other[index].astype(float), maps[index].astype(float), atol=1e-3)


def test_maps_in_the_cache_are_not_computed_again(bert, corpus, tmp_path, monkeypatch):
    first = make_word_maps(bert, corpus, tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("the model was run")

    monkeypatch.setattr(bert, "forward", fail)
    again = make_word_maps(bert, corpus, tmp_path)
    assert again.folder == first.folder
    np.testing.assert_array_equal(again[0], first[0])
    assert [path.name for path in tmp_path.iterdir()] == [first.folder.name]


def test_every_model_corpus_and_length_has_its_own_folder(bert, corpus, tmp_path):
    folders = [
        make_word_maps(bert, corpus, tmp_path).folder,
        make_word_maps(bert, corpus, tmp_path, max_length=20).folder,
        make_word_maps(bert, corpus.first(2), tmp_path).folder,
        make_word_maps(random_init(bert, seed=0), corpus, tmp_path).folder,
    ]
    assert len(set(folders)) == 4


def test_the_folder_depends_on_every_weight_but_not_on_the_number_of_threads():
    model = tiny_model(
        "bert", hidden_size=256, intermediate_size=2048
    )  # large enough that torch splits its sums between threads
    threads = torch.get_num_threads()
    try:
        found = []
        for number in (1, 2, 3):
            torch.set_num_threads(number)
            found.append(maps_identity(model, TREES, stack="encoder", max_length=24))
    finally:
        torch.set_num_threads(threads)
    assert len(set(found)) == 1
    with torch.no_grad():
        weight = model.network.encoder.layer[1].attention.self.key.weight
        weight[[0, 1]] = weight[[1, 0]]  # the same numbers in another order
    assert maps_identity(model, TREES, stack="encoder", max_length=24) != found[0]


def test_a_changed_gold_tree_is_read_without_new_maps(bert, tmp_path):
    first = make_word_maps(bert, from_examples([tree("1", "dogs sat", heads=[1, -1])]), tmp_path)
    second = make_word_maps(bert, from_examples([tree("1", "dogs sat", heads=[-1, 0])]), tmp_path)
    assert first.folder == second.folder
    expected = ([1, -1], [-1, 0])
    assert (first.sentences[0].heads.tolist(), second.sentences[0].heads.tolist()) == expected


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_run_leaves_nothing_behind(bert, corpus, tmp_path, stop):
    def interrupt(title: str, done: int, total: int) -> None:
        raise stop

    with pytest.raises(stop):
        make_word_maps(bert, corpus, tmp_path, batch_size=1, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_progress_shows_the_size_and_the_number_of_examples(bert, corpus, tmp_path):
    seen: list[tuple[str, int, int]] = []
    make_word_maps(bert, corpus, tmp_path, batch_size=2, progress=lambda *step: seen.append(step))
    assert seen == [
        ("word maps of planted-bert, 2.7 kB", done, 5) for done in (2, 4, 5)
    ]  # 137 pairs of words, 10 heads, 2 bytes


@pytest.mark.parametrize("damage", ["cut", "one byte", "index", "counts", "missing"])
def test_damaged_maps_are_named_and_computed_again(bert, corpus, tmp_path, damage, caplog):
    made = make_word_maps(bert, corpus, tmp_path)
    folder, whole, counts = made.folder, made.values.tobytes(), made.counts
    if damage == "cut":
        (folder / MAPS).write_bytes((folder / MAPS).read_bytes()[:-2])
    elif damage == "one byte":
        data = bytearray((folder / MAPS).read_bytes())
        data[17] ^= 1
        (folder / MAPS).write_bytes(data)
    elif damage == "index":
        (folder / INDEX).write_text(json.dumps({"format": 0}))
    elif damage == "counts":
        index = json.loads((folder / INDEX).read_text())
        index["counts"]["words"] += 1
        (folder / INDEX).write_text(json.dumps(index))
    else:
        (folder / INDEX).unlink()
    again = make_word_maps(bert, corpus, tmp_path)
    assert f"the word maps in {folder} are damaged: " in caplog.text
    assert (again.values.tobytes(), again.counts) == (whole, counts)


def test_too_little_disk_space_is_an_error_before_the_model_runs(
    bert, corpus, tmp_path, monkeypatch
):
    class Usage:
        free = 1000

    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: Usage)
    monkeypatch.setattr(bert, "forward", None)
    with pytest.raises(UserError) as caught:
        make_word_maps(bert, corpus, tmp_path)
    assert str(caught.value) == (
        f"the word maps take 2.7 kB, but {tmp_path} has only 1.0 kB of free space\n"
        "next: choose another cache folder, or use fewer sentences"
    )


def test_a_cache_that_is_a_file_is_an_error(bert, corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"the cache folder .*file cannot be used: File exists"):
        make_word_maps(bert, corpus, tmp_path / "file")


def test_sentences_whose_attention_is_not_finite_are_skipped_and_counted(tmp_path):
    model = planted_bert()
    with torch.no_grad():
        model.network.embeddings.word_embeddings.weight[10] = float("nan")  # "dog"
    maps = make_word_maps(
        model, from_examples([tree("1", "a dog sat"), tree("2", "a cat")]), tmp_path
    )
    assert [sentence.words for sentence in maps.sentences] == [("a", "cat")]
    assert maps.counts["nonfinite"] == 1


def test_a_corpus_without_trees_is_an_error(bert, tmp_path):
    with pytest.raises(UserError) as caught:
        make_word_maps(bert, from_texts(["a dog"]), tmp_path)
    assert str(caught.value) == (
        "the parsing probes need trees, which 1 text does not have (it has plain text only)\n"
        "next: use a treebank (.conllu), or parse plain text with parse=True"
    )


def test_a_causal_model_attends_only_to_earlier_words(tmp_path):
    model = tiny_model("gpt2")
    maps = make_word_maps(model, from_examples([tree("1", "the cat sat on the mat")]), tmp_path)
    upper = np.triu(np.ones((6, 6), bool), 1)
    assert not maps[0][upper].any()
    assert (maps[0][~upper].sum(-1) > 0).all()
