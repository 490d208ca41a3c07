"""Labelling sessions: maps are shown once, labels are saved at once, every step can be undone."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from headscope.corpus import Example, from_texts
from headscope.errors import CorpusError, UserError
from headscope.labelling import CorpusMaps, LabelSession, LabelStore, MapId, example_maps
from headscope.measures.patterns.labels import (
    LABELS,
    MAPS,
    label_maps,
    read_labelled,
    read_maps,
    write_labelled,
    write_maps,
)
from headscope.measures.patterns.network import CLASSES
from labelling.conftest import SIZE, TEXTS, planted
from planted import HEADS

Start = Callable[..., LabelSession]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def go_through(session: LabelSession) -> list[MapId]:
    seen = []
    while shown := session.current():
        seen.append(shown.map_id)
        session.label("block")
    return seen


def test_every_map_of_every_text_is_shown_once(start):
    seen = go_through(start())
    assert len(seen) == SIZE
    expected = {(text, f"{layer}-{head}") for text, layer, head in product("123", "12", "12345")}
    assert {(map_id.example, str(map_id.head)) for map_id in seen} == expected


def test_the_seed_decides_the_order(start, tmp_path):
    orders = [
        go_through(start(tmp_path / name, seed=seed))
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert orders[0] == orders[1] != orders[2]


def test_a_map_shows_what_the_planted_head_does():
    seen = example_maps(planted(), Example("1", (TEXTS[0],)), max_length=24)
    assert seen.tokens == ("[CLS]", "the", "dog", "sat", "on", "the", "mat", "[SEP]")
    layer, head = HEADS["previous"]
    previous = seen.maps[layer - 1, head - 1]
    assert all(previous[row, row - 1] == pytest.approx(1.0, abs=1e-5) for row in range(1, 8))
    assert seen.second == 0


def test_the_second_text_of_a_pair_begins_after_the_first_separator():
    seen = example_maps(planted(), Example("1", ("the dog sat", "it saw")), max_length=24)
    assert seen.tokens[seen.second - 1 : seen.second + 1] == ("[SEP]", "it")


def test_a_text_without_tokens_is_refused():
    with pytest.raises(CorpusError, match="none of the texts has a token"):
        CorpusMaps(planted(), from_texts(["", " "]), limit=2, seed=0)


def test_a_label_is_saved_at_once_with_its_map_and_its_origin(start, tmp_path):
    session = start()
    shown = session.current()
    session.label("diagonal")
    kept = read_labelled(tmp_path / "labels")
    assert kept.labels == ("diagonal",)
    texts = TEXTS[int(shown.map_id.example) - 1]
    maps = example_maps(
        planted(), Example("x", (texts,) if isinstance(texts, str) else texts), max_length=24
    ).maps
    wanted = maps[shown.map_id.head]
    np.testing.assert_allclose(np.sqrt(wanted), kept.maps[0] / 255, atol=0.5 / 255 + 1e-6)
    known = kept.known[0]
    assert (known["corpus"], known["example"]) == ("3 examples", shown.map_id.example)
    assert f"{known['layer']}-{known['head']}" == str(shown.map_id.head)
    assert (known["length"], int(known["second"])) == (str(len(wanted)), shown.example.second)
    assert sorted(path.name for path in (tmp_path / "labels").iterdir()) == [LABELS, MAPS]


def test_a_stopped_session_resumes_with_the_remaining_maps(start):
    first = start()
    done = []
    for name in ("vertical", "diagonal", "block"):
        shown = first.current()
        done.append(shown.map_id)
        first.label(name) if name != "diagonal" else first.skip()
    second = start()
    assert second.counts == dict.fromkeys(CLASSES, 0) | {"vertical": 1, "block": 1}
    left = go_through(second)
    assert len(left) == SIZE - 3
    assert not set(left) & set(done)


def test_labels_of_another_corpus_are_added_to_the_folder(start, tmp_path):
    session = start()
    session.label("block")
    other = LabelSession(
        CorpusMaps(planted(), from_texts(["the cat"], name="more"), limit=1, seed=0, max_length=24),
        LabelStore(tmp_path / "labels"),
        session.network,
    )
    assert len(other.remaining) == 10
    other.label("vertical")
    assert read_labelled(tmp_path / "labels").labels == ("block", "vertical")


def test_undo_removes_labels_and_skips_and_shows_their_maps_again(start, tmp_path):
    session = start()
    shown = []
    for act in (lambda: session.label("vertical"), session.skip, lambda: session.label("block")):
        current = session.current()
        shown.append(current.map_id)
        act()
    for map_id, labels, skipped in ((shown[2], ("vertical",), 1), (shown[1], ("vertical",), 0)):
        assert session.undo()
        current = session.current()
        assert current.map_id == map_id
        assert read_labelled(tmp_path / "labels").labels == labels
        list_of_skipped = tmp_path / "labels" / "skipped.tsv"
        assert (len(rows(list_of_skipped)) if list_of_skipped.exists() else 0) == skipped
    assert session.undo()
    assert not session.undo()
    assert not (tmp_path / "labels" / LABELS).exists()
    assert len(session.remaining) == SIZE


def test_a_label_of_an_earlier_session_can_be_undone(start, tmp_path):
    session = start()
    session.label("vertical")
    session.label("block")
    assert start().undo()
    assert read_labelled(tmp_path / "labels").labels == ("vertical",)


def test_the_prediction_is_known_after_the_label(start):
    session = start()
    prediction = session.prediction()
    assert prediction in CLASSES
    assert session.last is None
    session.label("block")
    assert (session.last.label, session.last.prediction) == ("block", prediction)


def test_an_unknown_label_is_refused_and_nothing_is_saved(start, tmp_path):
    session = start()
    with pytest.raises(UserError, match=r"the pattern must be one of .*got 'blok' instead"):
        session.label("blok")
    assert not (tmp_path / "labels" / LABELS).exists()


def test_a_session_killed_between_the_two_files_loses_only_the_last_label(start, tmp_path):
    session = start()
    for name in ("vertical", "block", "diagonal"):
        session.label(name)
    folder = tmp_path / "labels"
    lines = (folder / LABELS).read_text().splitlines(keepends=True)
    (folder / LABELS).write_text("".join(lines[:-1]))  # the map is written, its label is not
    assert len(read_maps(folder / MAPS)) == 3
    assert start().counts["diagonal"] == 0
    assert read_labelled(folder).labels == ("vertical", "block")


def test_maps_whose_labels_are_missing_are_not_deleted(tmp_path):
    write_maps(tmp_path / MAPS, [np.zeros((2, 2), np.uint8)] * 2)
    with pytest.raises(UserError, match=r"has 2 maps, but labels\.tsv is missing"):
        LabelStore(tmp_path)
    assert len(read_maps(tmp_path / MAPS)) == 2


def test_an_unknown_label_in_the_file_is_an_error(tmp_path):
    write_labelled(tmp_path, label_maps([np.eye(2)], ["block"]))
    (tmp_path / LABELS).write_text("index\tlabel\n0\tround\n")
    with pytest.raises(UserError, match=r"the pattern must be one of .*got 'round' instead"):
        LabelStore(tmp_path)


def test_a_damaged_list_of_skipped_maps_is_an_error(tmp_path):
    (tmp_path / "skipped.tsv").write_text("model\tcorpus\nx\ty\n")
    with pytest.raises(UserError, match=r"skipped\.tsv is not a list of skipped maps"):
        LabelStore(tmp_path)


def test_a_damaged_label_is_asked_for_again_and_the_others_are_kept(start, tmp_path):
    session = start()
    for name in ("vertical", "block", "diagonal"):
        session.label(name)
    folder = tmp_path / "labels"
    text = (folder / LABELS).read_text()
    (folder / LABELS).write_text(text.replace("\tblock\t", "\tdiagonal\t"))
    with pytest.raises(UserError, match="row 1 or its map does not match its check") as caught:
        read_labelled(folder)
    assert "empty its cell in the column check" in caught.value.hint
    again = start()
    assert again.store.damaged == 1
    assert again.store.labelled.labels == ("vertical", "diagonal")
    assert len(again.remaining) == SIZE - 2
    assert (folder / "labels.tsv.damaged").read_text() != text
    assert read_labelled(folder).labels == ("vertical", "diagonal")


def test_a_label_that_was_changed_by_hand_counts_once_its_check_is_empty(start, tmp_path):
    start().label("block")
    path = tmp_path / "labels" / LABELS
    row = path.read_text().splitlines()[1]
    changed = row.replace("\tblock\t", "\tdiagonal\t").rpartition("\t")[0] + "\t"
    path.write_text(path.read_text().replace(row, changed))
    assert read_labelled(path.parent).labels == ("diagonal",)


def test_labels_without_an_origin_are_kept(tmp_path, start):
    write_labelled(tmp_path / "labels", label_maps([np.eye(3)], ["diagonal"]))
    session = start()
    assert len(session.remaining) == SIZE
    session.label("block")
    assert read_labelled(tmp_path / "labels").labels == ("diagonal", "block")


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_is_a_file_is_refused(tmp_path, place):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="a file of that name exists\nnext: choose another folder"):
        LabelStore(tmp_path / place)
