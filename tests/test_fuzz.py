"""Changed files never raise anything but our own errors; ``make fuzz`` runs a million cases.

Hypothesis changes valid files of every format, byte by byte, cell by cell and value by value, and
makes a failing case as small as it can. A loop of random changes, which is quicker, tries more.
What fuzzing has found is kept below, each finding with its input.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from fuzz.mutate import KINDS, change, change_cell, change_json, mutated
from fuzz.targets import QUICK, SLOW, Target, make_targets
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from headscope import corpus
from headscope.corpus.vectors import read_vectors
from headscope.errors import UserError
from headscope.measures.patterns.labels import read_maps
from headscope.measures.registry import load_measure_file
from headscope.runs.tune import read_record
from headscope.tasks.senteval import read_senteval
from refusals import refusal
from written import read_written, written

CASES, EXAMPLES = 700, 150
"""Random cases, and cases of Hypothesis, of each quick target."""

number = st.integers(0, 1 << 16)
how = (st.sampled_from(KINDS), number, st.sampled_from((0, 1, 2, 8)), number)
edit = st.one_of(
    st.tuples(st.just(change), *how),
    *(st.tuples(st.just(one), number, number, number) for one in (change_cell, change_json)),
)
edits = st.lists(edit, min_size=1, max_size=4)


def test_every_target_is_listed_by_its_speed():
    slow = {name for name, target in make_targets().items() if target.slow > 1}
    assert (set(SLOW), {*QUICK, *SLOW}) == (slow, set(make_targets()))


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_the_files_that_are_changed_are_valid(name):
    target = make_targets()[name]
    with target.folder() as folder:
        refused = [
            number for number, seed in enumerate(target.seeds) if not target.run(folder, seed)
        ]
    everything = list(range(len(target.seeds)))
    expected = {"unknown ending": everything, "requests": [6]}  # BERT cannot generate
    assert refused == expected.get(name, [])


@pytest.mark.parametrize("name", QUICK)
def test_a_changed_file_is_read_or_refused_in_our_own_words(name):
    target = make_targets()[name]
    with target.folder() as folder:

        @settings(max_examples=EXAMPLES, database=None)
        @given(st.sampled_from(target.seeds), edits)
        def check(data, changes):
            for function, *how in changes:
                data = function(data, *how)
            target.run(folder, data)

        check()


@pytest.mark.parametrize("name", [*QUICK, *SLOW])
def test_random_changes_are_read_or_refused_in_our_own_words(name):
    target, rng = make_targets()[name], Random(name)
    with target.folder() as folder:
        for _ in range(CASES // target.slow):
            target.run(folder, mutated(rng.choice(target.seeds), target.seeds, rng))


def test_a_foreign_error_would_be_noticed(tmp_path):
    def stumble(path):
        if b"9" in path.read_bytes():
            raise KeyError("9")
        raise UserError("no 9")

    target = Target("stumbling", (b"0123",), "a.txt", stumble)
    assert target.run(tmp_path, b"0123") is False
    with pytest.raises(KeyError):
        target.run(tmp_path, b"0129")
    talkative = Target("talkative", (b"",), "a.txt", lambda path: _raise("x" * 6000))
    with pytest.raises(AssertionError, match="a message of 6002 characters"):
        talkative.run(tmp_path, b"")


def _raise(message: str) -> None:
    raise UserError(message)


def _matrix(path: Path, header: bytes) -> Path:
    np.save(path, np.zeros((1, 2), np.float32))
    whole = bytearray(path.read_bytes())
    whole[10 : 10 + len(header)] = header
    path.write_bytes(whole)
    path.with_suffix(".vocab").write_text("a\n")
    return path


def _record(folder: Path, score: str) -> object:
    record = make_targets()["tune record"].seeds[0].replace(b'"accuracy": 0.5', score.encode())
    written(folder / "headscope-tune.json", record)
    return read_record(folder)


def _maps(path: Path, lengths: list[int]) -> Path:
    arrays = {"cells": np.zeros(13, np.uint8), "lengths": np.array(lengths, np.int64)}
    path.write_bytes(save(arrays))
    return path


LONG = "9" * 5000
FOUND: dict[str, tuple[str, Callable[[Path], object]]] = {
    "TokenError of NumPy for a header that does not end": (
        "is not a NumPy matrix, or is damaged",
        lambda folder: read_vectors(_matrix(folder / "v.npy", b"{'descr': ((((")),
    ),
    "OverflowError for a score of 400 digits": (
        "cannot be read: int too large to convert to float",
        lambda folder: _record(folder, f'"accuracy": 1{"0" * 400}'),
    ),
    "RecursionError for a record of 100,000 levels": (
        "cannot be read: ",
        lambda folder: _record(folder, '"accuracy": ' + "[" * 100_000),
    ),
    "ValueError for a head of 5000 digits": (
        "line 1: head '9999",
        lambda folder: read_written(folder / "a.conllu", f"1\ta\t_\tX\t_\t_\t{LONG}\tx\t_\t_"),
    ),
    "ValueError for a document part of 5000 digits": (
        "does not end",
        lambda folder: read_written(folder / "a.conll", f"#begin document (d); part {LONG}"),
    ),
    "ValueError for a null character in a path": (
        "has a null character, which no file name has",
        lambda folder: corpus.read(folder / "a\0.txt"),
    ),
    "ValueError for a column of 5000 digits": (
        "there is no column 999999999999999999; the table has 2",
        lambda folder: read_written(folder / "a.tsv", "text\tlabel\nx\t1\n", columns=[LONG]),
    ),
    "a name of thousands of letters in a message about a measure file": (
        "cannot be run: ModuleNotFoundError: No module named 'xxx",
        lambda folder: load_measure_file(written(folder / "mine.py", f"import {'x' * 5000}\n")),
    ),
    "ValueError for a map of negative length": (
        "does not hold packed maps",
        lambda folder: read_maps(_maps(folder / "maps.safetensors", [3, -2])),
    ),
    "ValueError for a map whose size does not fit into 64 bits": (
        "does not hold packed maps",
        lambda folder: read_maps(_maps(folder / "maps.safetensors", [2**32, 3, 2])),
    ),
    "a label of a whole file in a message": (
        "the split must be one of tr, va, te; got 'xxx",
        lambda folder: read_senteval(written(folder / "a.txt", "x" * 9000 + "\t1\ta\n")),
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_fuzzing_found_is_our_own_error_now(tmp_path, what):
    words, read = FOUND[what]
    error = refusal(UserError, read, tmp_path)
    assert words in error.message
    assert len(str(error)) < 1000


def test_a_request_with_half_a_character_is_refused(tmp_path):
    request = {"action": "read", "request": {"text": "a \ud800"}}
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request))
    with pytest.raises(UserError, match="half of a surrogate pair"):
        make_targets()["requests"].read(path)
