"""Pattern classes: shares, every map of one text, labels of one's own and training on them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from cli.test_mistakes import mistake
from headscope.labelling import LabelSession
from headscope.measures.patterns import RELIABLE, TESTED
from headscope.measures.patterns import labels as pattern_sets
from headscope.measures.patterns.labels import read_labelled
from headscope.measures.patterns.network import CLASSES, PatternNet, load_network, save_network
from headscope.measures.patterns.training import predict
from headscope.results import Atlas
from stats.made_patterns import pattern_results, random_patterns


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """A network that was never trained: what it says means nothing, but is always the same."""
    path = tmp_path_factory.mktemp("network") / "random.safetensors"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        save_network(path, PatternNet())
    return path


@pytest.fixture
def files(tmp_path):
    """Two results files, and the classes that they were made of."""
    found = {name: random_patterns(seed=seed) for seed, name in enumerate(("mrpc", "qqp"))}
    for name, classes in found.items():
        pattern_results(classes, np.repeat(np.arange(4), 10)).save(tmp_path / f"{name}.nc")
    return found


@pytest.fixture
def keys(monkeypatch):
    """What is typed on the page, which is not served here."""

    def type_keys(text: str) -> None:
        def serve(session: LabelSession, opened: socket.socket, ready: Callable[[str], None]):
            assert opened.getsockname()[0] == "127.0.0.1"
            ready("http://the-page")
            for key in text:
                if key == "s":
                    session.skip()
                elif key == "u":
                    session.undo()
                elif key == "c":
                    raise KeyboardInterrupt
                else:
                    session.label(CLASSES[int(key) - 1])

        monkeypatch.setattr("headscope.labelling.server.serve", serve)

    return type_keys


@pytest.fixture
def label(run, tmp_path, tiny_folder, text, network):
    """Label maps of the tiny model (two layers of four heads) on two pairs of texts."""

    def label(*options: object, model: object = tiny_folder, corpus: object = text):
        place = () if "-o" in options else ("-o", tmp_path / "labels")
        return run(
            "label", model, corpus, "--network", network, "--max-length 32", *place, *options
        )

    return label


def test_the_shares_of_two_files_as_json(run, tmp_path, files):
    one, other = (tmp_path / f"{name}.nc" for name in files)
    done = run("table", one, "patterns", "--beside", other, "--json", "-q")
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert [row["pattern"] for row in rows] == [*CLASSES, *CLASSES]
    assert {row["file"] for row in rows[5:]} == {"qqp"}
    assert [row["share"] for row in rows] == pytest.approx(
        [(classes == place).mean() for classes in files.values() for place in range(5)]
    )


def test_shares_are_told_by_layer_and_by_head_beside_the_published_ones(run, tmp_path, files):
    done = run("table", tmp_path / "qqp.nc", "patterns")
    assert "share of each layer's maps" in done.out
    assert "heads by their leading class" in done.out
    assert "jackknife (groups of documents left out in turn)" in done.err
    assert "32% (MRPC)" in done.err
    assert "61% (QQP)" in done.err


def test_maps_longer_than_the_labelled_ones_are_warned_of(run, tmp_path, files):
    assert max(len(one) for one in read_labelled().part(split="test").maps) == TESTED
    results = pattern_results(files["qqp"], np.repeat(np.arange(4), 10))
    about = results.provenance
    for length, warned in ((RELIABLE, False), (RELIABLE + 1, True)):
        Atlas.build(
            results.sums(), about | {"settings": about["settings"] | {"max_length": length}}
        ).save(tmp_path / "x.nc")
        assert (
            "warning: the built-in network is often wrong on maps of more than 64 tokens"
            in run("table", tmp_path / "x.nc", "patterns", "--json").err
        ) is warned


def test_every_map_of_a_pair_is_drawn_with_its_class(run, tmp_path, tiny_folder, network):
    texts = ("the cat sat", "--pair", "the dog & it")
    how = ("--patterns", "--network", network, "-o", tmp_path / "grid.svg", "--json", "-q")
    done = run("attention", tiny_folder, *texts, *how)
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert [(row["layer"], row["head"]) for row in rows] == [
        (layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)
    ]
    assert {row["pattern"] for row in rows} <= {*CLASSES}
    assert all(0.2 <= row["sureness"] <= 1 for row in rows)
    drawn = (tmp_path / "grid.svg").read_text()
    assert drawn.count("<image") == 8
    assert "the cat sat | the dog &amp; it" in drawn


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--patterns", "-o", "grid.gif"), "the ending of the drawing must be one of .html, .pdf"),
        (("--patterns", "--network", "none.safetensors"), "no such file"),
        (("--network", "none.safetensors"), "--network has no effect without --patterns"),
        (("--patterns", "--words"), "--patterns classifies the map of every head between tokens; "),
        (("--patterns", "--head", "1-1"), "--patterns classifies the map of every head between"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_does_not_go_with_patterns_is_told(run, here, tiny_folder, options, told):
    error, after = mistake(run("attention", tiny_folder, "the cat", "-q", *options))
    assert error.startswith(told)
    assert after


def test_a_corpus_is_surveyed_with_a_network_of_ones_own(run, tmp_path, tiny_folder, text, network):
    import headscope as hs
    from headscope.measures.patterns.network import SHIPPED, digest

    how = ("--measure", "pattern", "--survey.network", network, "--max-length", 32)
    done = run("survey", tiny_folder, text, *how, "-o", tmp_path / "x.nc", "-q")
    assert done.code == 0, done.err
    results = hs.open(tmp_path / "x.nc")
    assert results.measures == ("pattern",)
    assert results["pattern"].attrs["network"] == digest(load_network(network))
    assert hs.Pattern(network=network).identity() == digest(load_network(network))
    assert hs.Pattern().identity() == digest(load_network(SHIPPED))
    assert digest(load_network(network)) != digest(load_network(SHIPPED))
    assert results.provenance["counts"]["seen"] == 2


def test_keys_on_the_page_become_labels_and_a_stopped_session_goes_on(label, keys, tmp_path):
    keys("15s2uc")
    done = label()
    assert done.code == 0
    assert (
        "2 labelled now, 2 in all: 1 vertical, 0 diagonal, 0 vertical+diagonal, 0 block, 1 "
        "heterogeneous" in done.err
    )
    assert "http://the-page\nstopped\n" in done.err
    assert done.out.splitlines()[-1] == str(tmp_path / "labels")
    keys("4")
    assert "1 labelled now, 3 in all" in label().err
    assert read_labelled(tmp_path / "labels").labels == ("vertical", "heterogeneous", "block")
    assert len({tuple(row.values()) for row in read_labelled(tmp_path / "labels").known}) == 3


def test_when_all_maps_are_labelled_that_is_told(label, keys, tmp_path):
    keys("3" * 8)
    assert "8 labelled now, 8 in all" in label("--limit", 1).err
    error, after = mistake(label("--limit", 1))
    assert (
        error == "no maps are left: all 8 maps of these examples are labelled or skipped in "
        f"{tmp_path / 'labels'}"
    )
    assert after == "give another corpus, a higher --limit, or another folder"


def test_a_corpus_without_examples_is_told(label, tmp_path):
    (tmp_path / "empty.txt").write_text("\n")
    error, _ = mistake(label(corpus=tmp_path / "empty.txt"))
    assert "is empty: it has no examples" in error


def test_a_limit_of_no_example_is_told(label):
    error, _ = mistake(label("--limit", 0))
    assert error == "the limit must be 1 or more, got 0 instead"


def test_a_folder_that_cannot_be_written_is_told_before_the_model_is_loaded(label, tmp_path):
    (tmp_path / "file").write_text("x")
    assert mistake(label("-o", tmp_path / "file", model="no-such-model")) == (
        f"labels cannot be kept in {tmp_path / 'file'}: a file of that name exists",
        "choose another folder with -o",
    )


def test_a_port_in_use_is_told(run, tmp_path, tiny_folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        error, after = mistake(
            run(
                "label", tiny_folder, "demo", "-o", tmp_path / "x", "--port", taken.getsockname()[1]
            )
        )
    assert "cannot be used: Address already in use" in error
    assert after == "omit --port to use any free one"
    assert not (tmp_path / "x").exists()


def test_retraining_compares_before_and_after_and_its_network_can_be_used(
    run, label, keys, tmp_path, tiny_folder, network, monkeypatch
):
    keys("1234512345")
    assert label().code == 0
    builtin = read_labelled()
    places: dict[tuple[str, str], list[int]] = {}
    for place, (label, row) in enumerate(zip(builtin.labels, builtin.known, strict=True)):
        places.setdefault((label, row["split"]), []).append(place)
    few = builtin.take([place for found in places.values() for place in found[:2]])
    monkeypatch.setattr(
        pattern_sets, "read_labelled", lambda folder=None: read_labelled(folder) if folder else few
    )
    how = ("--retrain --epochs 1 --json --network", network, "-o", tmp_path / "new.safetensors")
    done = run("label", tmp_path / "labels", *how)
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert (rows[0]["maps"], rows[0]["count"]) == ("built-in test maps", 10)
    assert rows[1]["maps"] == "your held-out maps"
    held = few.part(split="test")
    right = [
        sum(
            a == b for a, b in zip(held.labels, predict(load_network(path), held.maps), strict=True)
        )
        / 10
        for path in (network, tmp_path / "new.safetensors")
    ]
    assert [rows[0]["accuracy before"], rows[0]["accuracy after"]] == pytest.approx(right)
    assert any(
        (load_file(network)[name] != value).any()
        for name, value in load_file(tmp_path / "new.safetensors").items()
    )
    how = ("--patterns", "--network", tmp_path / "new.safetensors", "-q")
    assert run("attention", tiny_folder, "the cat", *how).code == 0


def test_retraining_without_labels_is_told(run, tmp_path):
    error, _ = mistake(
        run("label", tmp_path / "nothing", "--retrain", "-o", tmp_path / "n.safetensors")
    )
    assert error == f"no such file: {tmp_path / 'nothing' / 'maps.safetensors'}"
