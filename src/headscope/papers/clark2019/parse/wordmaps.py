"""Word maps of a whole treebank on disk: every head, words only, in one memory-mapped file.

A folder is named after a digest of the weights, the tokenizer, the corpus and the options, so the
same maps are computed once. The maps of n words and K heads take 2·K·n² bytes in float16: 0.8 GB
for the 12,544 sentences of UD English EWT and 72 heads. Gold trees are not stored: they are read
from the corpus each time.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example
from headscope.errors import UserError
from headscope.files import checksum, digest_of, show_size
from headscope.models import Model, Shape
from headscope.papers.clark2019.parse.sentences import ParseSentence, make_sentence, split_sentences
from headscope.papers.clark2019.parse.writing import FORMAT, INDEX, MAPS, MapWriter, index_digest
from headscope.progress import PhaseUpdate

LONGEST = 512
_log = logging.getLogger(__name__)
BYTES = np.dtype(np.float16).itemsize


@dataclass(frozen=True)
class WordMaps:
    """The word maps of a treebank, sentence by sentence in the order of the corpus.

    ``maps[i]`` is (from word, to word, head); heads are ordered layer by layer.

    Parameters
    ----------
    folder
        Where they are stored.
    shape
        Layers and heads of the model.
    sentences
        The sentences with their trees.
    offsets
        Where the maps of each sentence start in ``values``.
    values
        All maps, one after the other.
    counts
        Numbers of examples, of words, and of skipped ones.
    """

    folder: Path
    shape: Shape
    sentences: list[ParseSentence]
    offsets: list[int]
    values: NDArray[np.float16]
    counts: dict[str, int]

    @property
    def heads(self) -> int:
        """Number of heads in all layers together."""
        return self.shape.layers * self.shape.heads

    @property
    def size(self) -> int:
        """Bytes on disk, without the index."""
        return int(self.values.nbytes)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> NDArray[np.float16]:
        length, offset = len(self.sentences[index]), self.offsets[index]
        numbers = self.values[offset : offset + length * length * self.heads]
        return numbers.reshape(length, length, self.heads)


def expected_size(examples: Sequence[Example], heads: int) -> int:
    """Maximum number of bytes of the word maps of some examples.

    Words without pieces take no space.
    """
    pairs = sum(
        len(words) ** 2
        for example in examples
        for words in split_sentences(example, range(len(example.words)))
    )
    return pairs * heads * BYTES


def make_word_maps(
    model: Model,
    corpus: Corpus,
    cache: Path,
    *,
    stack: str = "",
    max_length: int | None = None,
    batch_size: int = 32,
    progress: PhaseUpdate | None = None,
) -> WordMaps:
    """Compute the word maps of every sentence of a treebank, unless the cache contains them.

    Parameters
    ----------
    model
        The model.
    corpus
        A treebank.
    cache
        Folder where word maps are kept.
    stack
        ``"encoder"`` or ``"decoder"``, for models that have both.
    max_length
        Maximum number of tokens; longer examples are skipped and counted, because part of a tree
        is not a tree. Default: the maximum of the model, at most 512.
    batch_size
        Number of examples per forward pass.
    progress
        Called with a title, the number of examples that are done, and of all.

    Returns
    -------
    WordMaps

    Raises
    ------
    UserError
        If the corpus has no trees, the disk too little space, or the cache is damaged.
    """
    if "tree" not in corpus.annotations:
        has = ", ".join(sorted(corpus.annotations)) or "plain text only"
        raise UserError(
            f"the parsing probes need trees, which {corpus.name} does not have (it has {has})",
            hint="use a treebank (.conllu), or parse plain text with parse=True",
        )
    stack = stack or model.main_stack()
    longest = max_length or min(model.longest or LONGEST, LONGEST)
    examples, shape = list(corpus), model.shape(stack)
    encoder = model.encoder(max_length=longest, long="drop", stack=stack)
    identity = maps_identity(
        model, examples, stack=stack, max_length=longest, batch_size=batch_size
    )
    folder = cache / identity
    if folder.exists() and (damage := _damage(folder)):
        _log.warning(f"the word maps in {folder} are damaged: {damage}; they are computed again")
        shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        size = expected_size(examples, shape.layers * shape.heads)
        _check_space(cache, size)
        title = f"word maps of {model.name}, {show_size(size)}"
        MapWriter(model, examples, encoder, stack, batch_size, progress, title).write(folder)
    return _open(folder, examples, shape)


def maps_identity(
    model: Model,
    examples: Sequence[Example],
    *,
    stack: str,
    max_length: int,
    batch_size: int = 32,
) -> str:
    """A digest of everything that changes the maps."""
    about = {
        "format": FORMAT,
        "model": model.identity(stack),
        "shape": asdict(model.shape(stack)),
        "max_length": max_length,
        "batch_size": batch_size,  # padding changes the last digits
    }
    texts = (
        repr((example.texts, [(word.text, word.segment, word.sentence) for word in example.words]))
        for example in examples
    )
    return digest_of(json.dumps(about, sort_keys=True, default=str), *texts)[:24]


def _check_space(cache: Path, size: int) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(cache).free
    except OSError as error:
        raise UserError(
            f"the cache folder {cache} cannot be used: {error.strerror or error}",
            hint="choose another cache folder",
        ) from None
    if size > free:
        raise UserError(
            f"the word maps take {show_size(size)}, but {cache} has only {show_size(free)} of free "
            "space",
            hint="choose another cache folder, or use fewer sentences",
            command="choose another output folder with -o, or fewer sentences with --limit",
        )


def _damage(folder: Path) -> str:
    """What is wrong with the word maps in a folder; nothing if they match their digests."""
    try:
        index = _read_index(folder)
        if index["maps"] != checksum(folder / MAPS):
            return "the maps have changed since they were written"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return str(error)
    return ""


def _read_index(folder: Path) -> dict[str, Any]:
    index: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    whole = index_digest(index["counts"], index["entries"])
    if index["format"] != FORMAT or index["digest"] != whole:
        raise ValueError("the index has changed since it was written")
    return index


def _open(folder: Path, examples: Sequence[Example], shape: Shape) -> WordMaps:
    """Open word maps that were checked or made just now."""
    try:
        index = _read_index(folder)
        counts, entries = index["counts"], index["entries"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"the word maps in {folder} cannot be read: {error}",
            hint="run it again: the maps are then computed again",
        ) from None
    if not entries:
        raise UserError(
            "there are no sentences to parse: all are too long, or contain no words that the model "
            "knows",
            hint="use a larger maximum length, or another treebank",
        )
    sentences = [
        make_sentence(examples[example], np.array(words, np.int64)) for example, _, words in entries
    ]
    values = np.memmap(folder / MAPS, np.float16, "r")
    return WordMaps(folder, shape, sentences, [offset for _, offset, _ in entries], values, counts)
