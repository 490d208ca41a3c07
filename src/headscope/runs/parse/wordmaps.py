"""Word maps of a whole treebank on disk: every head, words only, float16, in one flat file that is mapped into memory.

A folder is named by a digest of the weights, the tokenizer, the corpus and the settings, so that the same maps are made once. A map of n words and K heads takes
2·K·n² bytes: 0.8 GB for the 12,544 sentences of UD English EWT and 72 heads. Gold trees are not kept: they are read from the corpus each time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example
from headscope.encode import Batch, Encoder, batches
from headscope.errors import UserError
from headscope.files import show_size
from headscope.measures import word_map
from headscope.models import LayerView, Model, Shape
from headscope.runs.parse.sentences import Sentence, make_sentence, split_sentences

FORMAT = 1
LONGEST = 512
BYTES = np.dtype(np.float16).itemsize
MAPS, INDEX = "maps.bin", "index.json"

Progress = Callable[[str, int, int], None]
"""Called with what is being done, and how much of how much of it."""


@dataclass(frozen=True)
class WordMaps:
    """The word maps of a treebank, sentence by sentence in the order of the corpus. ``maps[i]`` is (from word, to word, head), heads layer by layer."""

    folder: Path
    shape: Shape
    sentences: list[Sentence]
    offsets: list[int]  # of each sentence, in numbers
    values: NDArray[np.float16]
    counts: dict[str, int]

    @property
    def heads(self) -> int:
        """How many heads there are in all layers together."""
        return self.shape.layers * self.shape.heads

    @property
    def size(self) -> int:
        """Bytes on disk, without the index."""
        return int(self.values.nbytes)

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> NDArray[np.float16]:
        length, offset = len(self.sentences[index]), self.offsets[index]
        return self.values[offset : offset + length * length * self.heads].reshape(
            length, length, self.heads
        )


def expected_size(examples: Sequence[Example], heads: int) -> int:
    """How many bytes the word maps of some examples take at most (words without pieces take none)."""
    return (
        sum(
            len(words) ** 2
            for example in examples
            for words in split_sentences(example, range(len(example.words)))
        )
        * heads
        * BYTES
    )


def make_word_maps(
    model: Model,
    corpus: Corpus,
    cache: Path,
    *,
    stack: str = "",
    max_length: int | None = None,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> WordMaps:
    """The word maps of every sentence of a treebank: from the cache folder if they are there, else made and put there whole.

    Examples of more than ``max_length`` tokens (by default what the model takes, at most 512) are left out and counted: half a tree is no tree.
    """
    if "tree" not in corpus.annotations:
        has = ", ".join(sorted(corpus.annotations)) or "plain text only"
        raise UserError(
            f"the parsing probes need tree, which {corpus.name} does not have (it has {has})",
            hint="give a treebank (.conllu), or parse plain text with --parse",
        )
    stack = stack or model.main_stack()
    longest = max_length or min(model.longest or LONGEST, LONGEST)
    examples = list(corpus)
    encoder = model.encoder(max_length=longest, long="drop", stack=stack)
    folder = cache / identity(model, examples, stack=stack, max_length=longest)
    if not folder.exists():
        size = expected_size(examples, model.shape(stack).layers * model.shape(stack).heads)
        _check_room(cache, size)
        _Writer(
            model,
            examples,
            encoder,
            stack,
            batch_size,
            progress,
            f"word maps of {model.name}, {show_size(size)}",
        ).write(folder)
    return _open(folder, examples, model.shape(stack))


def identity(model: Model, examples: Sequence[Example], *, stack: str, max_length: int) -> str:
    """A digest of everything that changes the maps."""
    about = {
        "format": FORMAT,
        **model.identity(stack),
        "shape": asdict(model.shape(stack)),
        "max_length": max_length,
    }
    digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
    for example in examples:
        digest.update(
            repr(
                (
                    example.texts,
                    [(word.text, word.segment, word.sentence) for word in example.words],
                )
            ).encode()
        )
    return digest.hexdigest()[:24]


def _check_room(cache: Path, size: int) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(cache).free
    except OSError as error:
        raise UserError(
            f"the cache folder {cache} cannot be used: {error.strerror or error}",
            hint="give another folder for the cache",
        ) from None
    if size > free:
        raise UserError(
            f"the word maps take {show_size(size)}, but {cache} has only {show_size(free)} left",
            hint="give another folder for the cache, or fewer sentences with --limit",
        )


class _Writer:
    """Runs the model over the examples and writes the maps of each sentence one after the other."""

    def __init__(
        self,
        model: Model,
        examples: Sequence[Example],
        encoder: Encoder,
        stack: str,
        batch_size: int,
        progress: Progress | None,
        title: str,
    ) -> None:
        (
            self.model,
            self.examples,
            self.encoder,
            self.stack,
            self.batch_size,
            self.progress,
            self.title,
        ) = model, examples, encoder, stack, batch_size, progress, title
        self.order = {id(example): index for index, example in enumerate(examples)}
        self.entries: list[tuple[int, int, list[int]]] = []  # example, offset, its words
        self.written = 0
        self.nonfinite = 0

    def write(self, folder: Path) -> None:
        """Into a folder beside, which gets its name in one step when it is whole."""
        temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            temporary.mkdir(parents=True)
            with (temporary / MAPS).open("wb") as file:
                self._run(file)
                file.flush()
                os.fsync(file.fileno())
            index = {"format": FORMAT, "counts": self._counts(), "entries": sorted(self.entries)}
            (temporary / INDEX).write_text(json.dumps(index), encoding="utf-8")
            try:
                temporary.rename(folder)
            except OSError:
                if (
                    not folder.exists()
                ):  # otherwise another process was there first, with the same maps
                    raise
        except OSError as error:
            raise UserError(
                f"the word maps cannot be written to {folder.parent}: {error.strerror or error}",
                hint="is the disk full? Give another folder for the cache",
            ) from None
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _run(self, file: BinaryIO) -> None:
        done = 0
        for batch in batches(
            self.encoder.encode(self.examples), size=self.batch_size, pad=self.model.pad
        ):
            maps, words = self._maps(batch)
            for item, values, kept in zip(batch.items, maps, words, strict=True):
                if not np.isfinite(values).all():
                    self.nonfinite += 1
                    continue
                for indices in split_sentences(item.example, kept.tolist()):
                    places = np.searchsorted(kept, indices)
                    file.write(values[np.ix_(places, places)].tobytes())
                    self.entries.append(
                        (self.order[id(item.example)], self.written, indices.tolist())
                    )
                    self.written += len(places) ** 2 * values.shape[-1]
            done += len(batch)
            if self.progress:
                self.progress(self.title, done, len(self.examples))

    def _maps(self, batch: Batch) -> tuple[NDArray[np.float16], tuple[NDArray[np.int64], ...]]:
        """The word maps of a batch, (example, from, to, head of all layers), and which words they are of."""
        device, shape = self.model.device, self.model.shape(self.stack)
        whole = word_map(batch, device)
        between = replace(
            whole, columns=whole.columns[..., : whole.most]
        )  # the words alone: special tokens are no candidates
        mask = torch.from_numpy(batch.mask).to(device)
        real = (mask[:, :, None] & mask[:, None, :])[:, None]
        size = between.most
        maps = np.empty((len(batch), size, size, shape.layers * shape.heads), np.float16)

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                attention = view.attention.masked_fill(
                    ~real, 0.0
                )  # some masks leave NaN on padding
                values = between.apply(attention).permute(0, 2, 3, 1).half()
                maps[..., view.layer * shape.heads : (view.layer + 1) * shape.heads] = (
                    values.cpu().numpy()
                )

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


def _open(folder: Path, examples: Sequence[Example], shape: Shape) -> WordMaps:
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        counts, entries = index["counts"], index["entries"]
        size = (folder / MAPS).stat().st_size
        if index["format"] != FORMAT or size != counts["numbers"] * BYTES:
            raise ValueError(f"{size} bytes of maps, expected {counts['numbers'] * BYTES}")
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"the word maps in {folder} are damaged: {error}",
            hint=f"delete {folder}, and they are made again",
        ) from None
    if not entries:
        raise UserError(
            "no sentence is left to parse: all are too long, or have no words that the model knows",
            hint="give a larger --max-length, or another treebank",
        )
    sentences = [
        make_sentence(examples[example], np.array(words, np.int64)) for example, _, words in entries
    ]
    values = np.memmap(folder / MAPS, np.float16, "r")
    return WordMaps(folder, shape, sentences, [offset for _, offset, _ in entries], values, counts)
