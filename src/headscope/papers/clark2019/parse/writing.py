"""Writing the word maps of a treebank to disk."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import Batch, Encoder
from headscope.errors import UserError
from headscope.files import checksum, digest_of, sync_folder, temporary_folder, write_text
from headscope.measures import word_map
from headscope.models import LayerView, Model
from headscope.papers.clark2019.parse.sentences import split_sentences
from headscope.progress import PhaseUpdate

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
        self,
        file: BinaryIO,
        example: Example,
        values: NDArray[np.float16],
        kept: NDArray[np.int64],
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
