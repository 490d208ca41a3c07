"""Everything is written by one atomic writer, and a full disk leaves no half file."""

from __future__ import annotations

import ast
import resource
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults.kinds import TEXTS, model

import headscope
from headscope.errors import UserError
from headscope.figures import save_chart
from headscope.files import locked, write_text
from headscope.heads import Head
from headscope.labelling.maps import MapId
from headscope.labelling.store import LabelStore
from headscope.measures.patterns.labels import label_maps, write_labelled
from headscope.measures.patterns.network import PatternNet, save_network
from headscope.page import Document, Section, Table, write_document
from headscope.page.report import write_folder, write_report
from headscope.results import Atlas
from headscope.runs.probe.vectors import make_head_outputs
from headscope.runs.run import Checkpoint, write_checkpoint
from headscope.runs.survey import survey

SOURCE = Path(headscope.__file__).parent
WRITES = {
    "write_text", "write_bytes", "to_csv", "to_parquet", "to_netcdf", "to_excel",
    "save_file", "savez", "savez_compressed", "save_pretrained", "dump", "tofile",
}  # fmt: skip
ALLOWED = {
    ("models/gguf.py", "save_pretrained"): "into a folder that is renamed when it is whole",
    ("models/removal.py", "save_pretrained"): "into a temporary folder, whose files are then moved",
    ("runs/tune/run.py", "save_pretrained"): "into a temporary folder, to start from; and a tuned "
    "model, which is finished when its record and digests are written",
    ("papers/clark2019/word_maps.py", "open"): "into a folder that is renamed when it is whole",
    ("results/netcdf.py", "open"): "appends the digest to a temporary file",
    ("sentences.py", "save_pretrained"): "sentence-transformers' own way of saving",
}


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """No file may grow over so many bytes: what a full disk does, with another errno."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _writes(path: Path) -> Iterator[tuple[str, int]]:
    """Calls that write a file, unless what they write is called ``temporary``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
            continue
        method = isinstance(node.func, ast.Attribute)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        modes = [
            one.value
            for one in (*node.args, *(keyword.value for keyword in node.keywords))
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        opens = name == "open" and any(mode.strip("bt+") in ("w", "a", "x") for mode in modes)
        text = name == "to_csv" and not node.args  # returns the text
        if opens or (method and name in WRITES and "temporary" not in names and not text):
            yield name, node.lineno


def test_nothing_writes_a_file_but_through_the_atomic_writer():
    found = {
        (str(path.relative_to(SOURCE)), name): line
        for path in SOURCE.rglob("*.py")
        for name, line in _writes(path)
    }
    assert {place: line for place, line in found.items() if place not in ALLOWED} == {}
    assert set(ALLOWED) <= set(found), "a rule that nothing needs any more"


def test_the_search_for_writers_finds_them(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(
        "open(p, 'w')\np.open('ab')\np.write_text(t)\ntable.to_csv(p)\n"
        "temporary.write_text(t)\np.open('rb')\ntable.to_csv(index=False)\n"
    )
    assert [line for _, line in _writes(path)] == [1, 2, 3, 4]


@pytest.fixture(scope="module")
def atlas():
    return survey(model(), TEXTS, max_length=24, measures=["position", "entropy"])


def _chart() -> Any:
    import altair as alt
    import pandas as pd

    return alt.Chart(pd.DataFrame({"x": range(300)})).mark_point().encode(x="x:Q")


def _document() -> Document:
    rows = [{"head": "3-9", "mean": number / 7} for number in range(400)]
    return Document("t", "s", sections=[Section("a", "A", tables=[Table(rows)])])


def _store(folder: Path) -> None:
    attention = np.random.default_rng(0).dirichlet(np.ones(80), 80).astype(np.float32)
    LabelStore(folder).add(MapId("m", "c", "e", Head(0, 0)), attention, "block", 0)


def _labels(path: Path) -> None:
    write_labelled(path.parent, label_maps([np.full((80, 80), 0.1)], ["block"]))


def _checkpoint(path: Path) -> None:
    write_checkpoint(path, Checkpoint("me", 1, {}, {"sums": np.zeros(9999)}))


def _vectors(path: Path) -> None:
    texts = [(f"{text} {number}",) for text in TEXTS for number in range(20)]
    make_head_outputs(model(), texts, path.parent, max_length=24)


WRITERS: dict[str, Callable[[Atlas, Path], Any]] = {
    "results.nc": lambda atlas, path: atlas.save(path),
    "report.html": lambda atlas, path: write_report(atlas, path),
    "folder/index.html": lambda atlas, path: write_folder(atlas, path.parent),
    "figure.png": lambda _, path: save_chart(_chart(), path),
    "figure.svg": lambda _, path: save_chart(_chart(), path),
    "figure.pdf": lambda _, path: save_chart(_chart(), path),
    "figure.html": lambda _, path: save_chart(_chart(), path),
    "table.csv": lambda atlas, path: atlas.export(path),
    "table.parquet": lambda atlas, path: atlas.export(path),
    "table.tex": lambda atlas, path: atlas.export(path),
    "paper.html": lambda _, path: write_document(_document(), path),
    "run.partial": lambda _, path: _checkpoint(path),
    "network.safetensors": lambda _, path: save_network(path, PatternNet()),
    "set/maps.safetensors": lambda _, path: _labels(path),
    "labels/maps.safetensors": lambda _, path: _store(path.parent),
    "vectors/x": lambda _, path: _vectors(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_an_error_that_says_what_to_do_and_leaves_no_half_file(
    atlas, tmp_path, name
):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    with full_disk(2000), pytest.raises(UserError) as caught:
        WRITERS[name](atlas, path)
    assert "cannot be written" in caught.value.message
    assert "disk space" in caught.value.hint
    left = [file for file in tmp_path.rglob("*") if file.is_file() and file.name != "about.json"]
    assert left == []
    WRITERS[name](atlas, path)  # and the same call works once there is room
    assert [file for file in tmp_path.rglob("*") if file.is_file()] != []


def test_a_full_disk_while_tuning_keeps_the_training(tmp_path):
    from runs.tune.animals import saved, tune_animals

    base = saved("bert", tmp_path / "base")
    with full_disk(20_000), pytest.raises(UserError, match="cannot be written: ") as caught:
        tune_animals(base, tmp_path / "out", every=0)
    assert "disk space" in caught.value.hint
    assert not (tmp_path / "out" / "headscope-tune.json").exists()
    assert tune_animals(base, tmp_path / "out").scores


def test_a_planted_link_in_place_of_the_lock_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".out.nc.lock").symlink_to(victim)
    with pytest.raises(UserError, match="cannot be written"), locked(tmp_path / "out.nc"):
        pass
    assert victim.read_text() == "mine"


def test_a_planted_link_with_the_next_temporary_name_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".a.txt.guessed.tmp").symlink_to(victim)
    names = iter(["guessed", "another"])
    monkeypatch.setattr(tempfile, "_get_candidate_names", lambda: names)
    write_text(tmp_path / "a.txt", "new")
    assert next(names, "") == ""  # the guessed name was tried
    assert victim.read_text() == "mine"
    assert not (tmp_path / "a.txt").is_symlink()
