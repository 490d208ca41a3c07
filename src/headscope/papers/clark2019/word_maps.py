"""Word maps of a treebank on disk: every head, words only, in one memory-mapped file.

A folder is named after a digest of the weights, the tokenizer, the corpus and the options, so the
same maps are computed once. The maps of n words and K heads take 2·K·n² bytes in float16: 0.8 GB
for the 12,544 sentences of UD English EWT and 72 heads. Gold trees are not stored: they are read
from the corpus each time.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import ROOT, Corpus, Example, Word
from headscope.encode import Batch, Encoder
from headscope.errors import UserError
from headscope.files import (
    checksum,
    digest_of,
    show_size,
    sync_folder,
    temporary_folder,
    write_text,
)
from headscope.measures import word_map
from headscope.models import LayerView, Model, Shape
from headscope.progress import PhaseUpdate

HeadWords = NDArray[np.int64]
"""For each word of a sentence the index of its head word, or ``ROOT``."""
UNKNOWN = -2
"""Head of a word without an annotated head: neither trained on nor counted."""
LOST = -3
"""Head of a word whose head word has no pieces: not trained on, and counted as wrong."""


@dataclass(frozen=True, slots=True)
class ParseSentence:
    """A sentence with its dependency tree.

    Parameters
    ----------
    words
        The words.
    heads
        For each word the index of its head word in the sentence, or ``ROOT``, ``UNKNOWN`` or
        ``LOST``.
    punctuation
        Whether each word is punctuation.
    document
        What it is part of; "" for a document of its own.

    Examples
    --------
    >>> len(ParseSentence(("A", "dog"), np.array([1, ROOT]), np.array([False, False])))
    2
    """

    words: tuple[str, ...]
    heads: NDArray[np.int64]
    punctuation: NDArray[np.bool_]
    document: str = ""

    def __len__(self) -> int:
        return len(self.words)


def is_punctuation(word: Word) -> bool:
    """Whether a word is punctuation, by its relation (``punct``) or its tag (PUNCT).

    Attachment scores do not count punctuation.

    Examples
    --------
    >>> is_punctuation(Word(",", relation="punct"))
    True
    >>> is_punctuation(Word("dog", relation="nsubj", upos="NOUN"))
    False
    """
    return word.relation.partition(":")[0] == "punct" or word.upos == "PUNCT"


def split_sentences(example: Example, kept: Iterable[int]) -> list[NDArray[np.int64]]:
    """Group the words of an example by sentence: a passage has one tree per sentence.

    Parameters
    ----------
    example
        A sentence or a passage.
    kept
        Indices of the words to keep.

    Returns
    -------
    list of arrays
        For each sentence the indices of its words in the example, in order.

    Examples
    --------
    >>> words = (Word("Go"), Word("Stop", sentence=1), Word("it", sentence=1))
    >>> split_sentences(Example("1", ("Go Stop it",), words), [0, 2])
    [array([0]), array([2])]
    """
    by_sentence: dict[int, list[int]] = {}
    for index in sorted(kept):
        by_sentence.setdefault(example.words[index].sentence, []).append(index)
    return [np.array(indices, np.int64) for _, indices in sorted(by_sentence.items())]


def make_sentence(example: Example, indices: NDArray[np.int64]) -> ParseSentence:
    """The tree over some words of an example.

    Examples
    --------
    >>> words = (Word("A", head=1), Word("dog", head=2), Word("barks", head=ROOT))
    >>> make_sentence(Example("1", ("A dog barks",), words), np.array([0, 1, 2])).heads.tolist()
    [1, 2, -1]
    """
    words = [example.words[index] for index in indices]
    places = {int(index): place for place, index in enumerate(indices)}
    heads = []
    for word in words:
        if word.head is None or word.head == ROOT:
            heads.append(UNKNOWN if word.head is None else ROOT)
        else:
            heads.append(places.get(word.head, LOST))
    return ParseSentence(
        tuple(word.text for word in words),
        np.array(heads, np.int64),
        np.array([is_punctuation(word) for word in words], np.bool_),
        example.group or example.id,
    )


FORMAT = 2
MAPS, INDEX = "maps.bin", "index.json"


def index_digest(counts: object, entries: object) -> str:
    """A digest of the contents of an index."""
    return digest_of(json.dumps([counts, entries]))


class MapWriter:
    """Runs a model over a treebank and writes the maps of one sentence after the other.

    Parameters
    ----------
    model
        The model.
    examples
        The examples of the treebank.
    encoder
        Its encoder, which skips examples that are too long.
    stack
        ``"encoder"`` or ``"decoder"``.
    batch_size
        Number of examples per forward pass.
    progress
        Called with ``title``, the number of examples that are done, and of all.
    title
        What is being done.
    """

    def __init__(
        self,
        model: Model,
        examples: Sequence[Example],
        encoder: Encoder,
        stack: str,
        batch_size: int,
        progress: PhaseUpdate | None,
        title: str,
    ) -> None:
        self.model, self.examples, self.encoder, self.stack = model, examples, encoder, stack
        self.batch_size, self.progress, self.title = batch_size, progress, title
        self.order = {id(example): index for index, example in enumerate(examples)}
        self.entries: list[tuple[int, int, list[int]]] = []  # example, offset, its words
        self.written = 0
        self.nonfinite = 0

    def write(self, folder: Path) -> None:
        """Write a folder whole or not at all: it gets its name when it is complete."""
        temporary: Path | None = None
        try:
            temporary = temporary_folder(folder)
            with (temporary / MAPS).open("wb") as file:
                self._run(file)
                file.flush()
                os.fsync(file.fileno())
            entries = sorted(self.entries)
            index = {
                "format": FORMAT,
                "counts": self._counts(),
                "maps": checksum(temporary / MAPS),
                "digest": index_digest(self._counts(), entries),
                "entries": entries,
            }
            write_text(temporary / INDEX, json.dumps(index))
            temporary.chmod(0o755)
            try:
                temporary.rename(folder)
            except OSError:
                # Another process may have finished the same maps first.
                if not folder.exists():
                    raise
            sync_folder(folder.parent)
        except OSError as error:
            raise UserError(
                f"the word maps cannot be written to {folder.parent}: {error.strerror or error}",
                hint="free some disk space, or choose another cache folder",
            ) from None
        finally:
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

    def _run(self, file: BinaryIO) -> None:
        done = 0
        encoded = self.encoder.encode(self.examples)
        for batch in self.model.batches(encoded, size=self.batch_size):
            maps, words = self._maps(batch)
            for item, values, kept in zip(batch.items, maps, words, strict=True):
                if np.isfinite(values).all():
                    self._write_example(file, item.example, values, kept)
                else:
                    self.nonfinite += 1
            done += len(batch)
            if self.progress:
                self.progress(self.title, done, len(self.examples))

    def _write_example(
        self, file: BinaryIO, example: Example, values: NDArray[np.float16], kept: NDArray[np.int64]
    ) -> None:
        """Write the maps of each sentence of an example."""
        for indices in split_sentences(example, kept.tolist()):
            places = np.searchsorted(kept, indices)
            file.write(values[np.ix_(places, places)].tobytes())
            self.entries.append((self.order[id(example)], self.written, indices.tolist()))
            self.written += len(places) ** 2 * values.shape[-1]

    def _maps(self, batch: Batch) -> tuple[NDArray[np.float16], tuple[NDArray[np.int64], ...]]:
        """The word maps of a batch, (example, from, to, head), and the words of each example."""
        device, shape = self.model.device, self.model.shape(self.stack)
        whole = word_map(batch, device)
        # Words alone: special tokens are not candidates.
        between = replace(whole, columns=whole.columns[..., : whole.most])
        mask = torch.from_numpy(batch.mask).to(device)
        real = (mask[:, :, None] & mask[:, None, :])[:, None]
        size = between.most
        maps = np.empty((len(batch), size, size, shape.layers * shape.heads), np.float16)

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                # Some masks leave NaN on padding.
                attention = view.attention.masked_fill(~real, 0.0)
                values = between.apply(attention).permute(0, 2, 3, 1).half().cpu().numpy()
                first = shape.place(view.layer) * shape.heads
                maps[..., first : first + shape.heads] = values

        with torch.inference_mode():
            self.model.forward(batch, listeners=[listen], stack=self.stack)
        return maps, whole.words

    def _counts(self) -> dict[str, int]:
        counts = self.encoder.counts
        return {
            "examples": counts.read,
            "too_long": counts.too_long,
            "empty": counts.empty,
            "nonfinite": self.nonfinite,
            "words": counts.words,
            "words_lost": counts.words_lost,
            "numbers": self.written,
        }


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
    model: Model, examples: Sequence[Example], *, stack: str, max_length: int, batch_size: int = 32
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
