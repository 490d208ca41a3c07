"""Computing the vectors of texts: one pass over those that the cache does not hold.

Vectors are written in blocks, and memory holds one block at a time. A finished block is kept, so a
run that was stopped, or met a full disk, resumes with the next.

What a vector is, to its last digits, depends on the texts beside it: they pad its batch, and half
precision counts from the mean of its block. So a block is found again only by the same texts in
the same order. A run has the same vectors, whatever the cache held before.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import Encoded
from headscope.encode.batch import WINDOW
from headscope.errors import Interrupted, UserError
from headscope.files import show_size, write_text
from headscope.identity import identity_of
from headscope.models import Model
from headscope.models.pooling import known_position
from headscope.progress import Update
from headscope.runs.probe.blocks import (
    CUT,
    EMPTY,
    FORMAT,
    WHOLE,
    Texts,
    block_path,
    check_block,
    write_block,
)
from headscope.runs.probe.outputs import HeadOutputs
from headscope.runs.probe.vector_work import Vectors, VectorWork
from headscope.runs.workers import Engine, Here, Task

ABOUT = "about.json"


def make_head_outputs(
    model: Model,
    texts: Sequence[Texts],
    cache: Path,
    *,
    position: str | None = None,
    max_length: int = 128,
    batch_size: int = 32,
    engine: Engine | None = None,
    progress: Update | None = None,
    say: Callable[[str], None] | None = None,
) -> HeadOutputs:
    """Compute the vectors of every head and layer, except those that the cache holds.

    Parameters
    ----------
    model
        The model.
    texts
        Distinct texts or pairs.
    cache
        Folder where vectors are kept.
    position
        Where to read them: ``"cls"``, ``"last"`` or ``"mean"``; None chooses what suits the model.
    max_length
        Maximum number of tokens; longer texts are truncated.
    batch_size
        Number of texts per forward pass.
    engine
        Where batches are computed; None for this process. Vectors are the same bit for bit.
    progress
        Called with the number of texts that are done, and of all.
    say
        Called before anything is computed with the disk space and memory that vectors will take.

    Returns
    -------
    HeadOutputs

    Raises
    ------
    UserError
        If an option is not allowed, the disk has too little space, or a vector is not finite.
    Interrupted
        On Ctrl-C. Finished blocks are kept.
    """
    if batch_size < 1:
        raise UserError(f"the batch size must be 1 or more, got {batch_size} instead")
    place = known_position(model, model.main_stack(), position or "")
    made = _Computation(model, texts, cache, place, max_length, batch_size, engine)
    return made.run(progress, say)


@dataclass
class _OpenBlock:
    """A block of which some batches are still to be computed."""

    texts: Sequence[Texts]
    state: NDArray[np.uint8]
    vectors: Vectors
    left: int = 0


class _Computation:
    """The vectors of some texts: found in the cache or computed."""

    def __init__(
        self,
        model: Model,
        texts: Sequence[Texts],
        cache: Path,
        position: str,
        max_length: int,
        batch_size: int,
        engine: Engine | None,
    ) -> None:
        self.engine, self.works = engine or Here(), VectorWork(model, position)
        self.model, self.texts, self.cache, self.position = model, texts, cache, position
        self.max_length, self.batch_size = max_length, batch_size
        self.stack = model.main_stack()
        self.shape = model.shape(self.stack)
        self.hidden = model.hidden_size
        self.encoder = model.encoder(max_length=max_length, long="truncate", stack=self.stack)
        self.folder = cache / self._identity()

    def run(self, progress: Update | None, say: Callable[[str], None] | None = None) -> HeadOutputs:
        size = self.batch_size * WINDOW
        parts = [self.texts[start : start + size] for start in range(0, len(self.texts), size)]
        blocks = [block_path(self.folder, part) for part in parts]
        missing = [
            part for part, path in zip(parts, blocks, strict=True) if not self._whole(path, say)
        ]
        if missing:
            self._prepare(sum(map(len, missing)), say)
            self._fill(missing, progress)
        home, place = np.divmod(np.arange(len(self.texts), dtype=np.int64), size)
        return HeadOutputs(self.texts, self.shape, self.hidden, self.position, blocks, home, place)

    def _whole(self, path: Path, say: Callable[[str], None] | None) -> bool:
        """Whether a block is there; one that is damaged is deleted, and computed again."""
        if not path.exists():
            return False
        try:
            check_block(path)
        except UserError as error:
            path.unlink(missing_ok=True)
            if say:
                say(f"{error.message}; its vectors are computed again")
            return False
        return True

    def _fill(self, missing: Sequence[Sequence[Texts]], progress: Update | None) -> None:
        """Compute the blocks that are not there; write each when all of it is computed."""
        total = len(self.texts)
        done = written = total - sum(map(len, missing))
        open_blocks: dict[int, tuple[_OpenBlock, NDArray[np.int64]]] = {}
        try:
            with self.engine.start(self.works) as workers:
                for index, vectors in workers.map(self._tasks(missing, open_blocks)):
                    block, places = open_blocks.pop(index)
                    for name, values in vectors.items():
                        block.vectors[name][:, places] = values
                    block.left -= 1
                    done += len(places)
                    if progress:
                        progress(done, total)
                    if not block.left:
                        self._write(block)
                        written += len(block.texts)
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped after computing the vectors of {written} of {total} texts, which are "
                f"kept in {self.folder}",
                hint="call it again with the same arguments to resume",
                command="type the same command again to resume",
            ) from None

    def _tasks(
        self,
        missing: Sequence[Sequence[Texts]],
        open_blocks: dict[int, tuple[_OpenBlock, NDArray[np.int64]]],
    ) -> Iterator[Task]:
        """The batches of all blocks; notes the block and the rows of each."""
        index = 0
        for part in missing:
            state = np.full(len(part), EMPTY, np.uint8)
            encoded = self._encoded(part, state)
            planned = list(self.model.batches(encoded, size=self.batch_size))
            block = _OpenBlock(part, state, self.works.empty(len(part)), len(planned))
            if not planned:  # texts without tokens
                self._write(block)
            for batch in planned:
                places = np.array([int(item.example.id) for item in batch.items])
                open_blocks[index] = block, places
                yield Task(index, (batch,))
                index += 1

    def _write(self, block: _OpenBlock) -> None:
        self._check(block.vectors, block.texts)
        write_block(self.folder, block.texts, block.state, block.vectors)

    def _encoded(self, texts: Sequence[Texts], state: NDArray[np.uint8]) -> Iterator[Encoded]:
        """The tokens of each text that has any; records the state of each text."""
        for place, text in enumerate(texts):
            cut = self.encoder.counts.truncated
            for encoded in self.encoder.encode([Example(str(place), text)]):
                state[place] = CUT if self.encoder.counts.truncated > cut else WHOLE
                yield encoded

    def _check(self, vectors: dict[str, NDArray[Any]], texts: Sequence[Texts]) -> None:
        for name, values in vectors.items():
            bad = np.argwhere(~np.isfinite(values.reshape(*values.shape[:2], -1)).all(2))
            if len(bad):
                layer, place = bad[0].tolist()
                raise UserError(
                    f"{self.model.name} computes numbers that are not finite "
                    f"({name[:-1]} vectors of layer {self.shape.labels[layer]}) for the text "
                    f"{' | '.join(texts[place])[:80]!r}",
                    hint="remove the text, or load the model in float32",
                )

    def _prepare(self, count: int, say: Callable[[str], None] | None) -> None:
        """Make the folder, check its free space, and describe its contents to people."""
        size = 2 * count * self._numbers()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise UserError(
                f"the cache folder {self.cache} cannot be used: {error.strerror or error}",
                hint="choose another folder with cache=",
            ) from None
        if size > free:
            raise UserError(
                f"the vectors of {count} texts take {show_size(size)}, but {self.cache} has only "
                f"{show_size(free)} of free space",
                hint="choose another folder with cache=, or fewer texts with sample=",
            )
        if say:
            say(self._needs(count, size, free))
        about = {
            "format": FORMAT,
            "model": self.model.label,
            "position": self.position,
            "max_length": self.max_length,
            "shape": asdict(self.shape),
            "hidden": self.hidden,
        }
        write_text(self.folder / ABOUT, json.dumps(about, indent=2))

    def _numbers(self) -> int:
        """Number of numbers in the vectors of a text."""
        return self.shape.layers * (self.shape.heads * self.shape.width + self.hidden)

    def _needs(self, count: int, size: int, free: int) -> str:
        """What the vectors will take, as a sentence. In memory they are in float32."""
        block = 4 * min(count, self.batch_size * WINDOW) * self._numbers()
        layer = 4 * len(self.texts) * max(self.shape.heads * self.shape.width, self.hidden)
        return (
            f"vectors of {count} texts take {show_size(size)} on disk ({show_size(free)} free in "
            f"{self.cache}) and {show_size(block)} of memory while they are computed; one layer "
            f"of all {len(self.texts)} texts takes {show_size(layer)} of memory"
        )

    def _identity(self) -> str:
        """A digest of everything that changes the vectors, as the name of a folder."""
        about = {
            "format": FORMAT,
            "model": self.model.identity(self.stack),
            "position": self.position,
            "max_length": self.max_length,
            "batch_size": self.batch_size,
        }
        return f"outputs-{identity_of(about)[:24]}"
