"""Head outputs and hidden states of many texts, one vector each, on disk (J1).

One pass over the texts gives the vectors of every head and every layer, in half precision, in blocks of safetensors. Memory holds one block at a time; a block that
is written stays, so that a run that was stopped, or met a full disk, goes on with the next. Reading takes one layer of all blocks, or one head.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.corpus import Example
from headscope.encode import Batch, batches
from headscope.encode.batch import WINDOW
from headscope.errors import Interrupted, UserError
from headscope.observe import LayerView, Model, Shape, take
from headscope.observe.pooling import known_position, layer_states
from headscope.probes.wordmaps import show_size

FORMAT = 2
ABOUT = "about.json"
HALF = 32768.0
"""Each number is stored as its distance from its mean over the block, divided by a power of two, so that the largest distance is between a half of this and this. Without that,
half precision would lose what little changes from text to text in a model whose vectors are almost constant (``electra-mini``: 0.00003 around 1.26)."""

Texts = tuple[str, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class HeadOutputs:
    """The vectors of texts: row i is that of ``texts[i]``."""

    folder: Path
    texts: Sequence[Texts]
    shape: Shape
    hidden: int
    block: int
    position: str
    counts: dict[str, int]

    @cached_property
    def row(self) -> dict[Texts, int]:
        """Which row a text has."""
        return {text: place for place, text in enumerate(self.texts)}

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.folder.glob("block-*.safetensors"))

    @cached_property
    def empty(self) -> frozenset[int]:
        """The rows of texts without any token, which have no vector."""
        return frozenset(start * self.block + int(place) for start in range(self._blocks) for place in self._read(start, "empty"))

    @property
    def truncated(self) -> int:
        """How many texts were cut to the maximum length."""
        return sum(int(self._read(number, "counts")[0]) for number in range(self._blocks))

    def heads(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The outputs of a layer's heads, (row, head, width)."""
        return self._gather("heads", layer, rows, (self.shape.heads, self.shape.width))

    def layer(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The hidden states after a layer, (row, hidden)."""
        return self._gather("layers", layer, rows, (self.hidden,))

    @property
    def _blocks(self) -> int:
        return -(-len(self.texts) // self.block)

    def _gather(self, name: str, layer: int, rows: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float32]:
        found = np.empty((len(rows), *shape), np.float32)
        home = rows // self.block
        for number in np.unique(home).tolist():
            chosen = home == number
            values = self._read(number, name, layer).astype(np.float32) * self._read(number, f"{name}_scale", layer) + self._read(number, f"{name}_mean", layer)
            found[chosen] = values[rows[chosen] - number * self.block]
        return found

    def _read(self, number: int, name: str, layer: int | None = None) -> NDArray[Any]:
        path = block_path(self.folder, number)
        try:
            with safe_open(path, "np") as file:
                return np.asarray(file.get_tensor(name) if layer is None else file.get_slice(name)[layer])
        except (OSError, SafetensorError) as error:
            raise UserError(f"{path} cannot be read: {error}", hint="delete it, and it is made again") from None


def block_path(folder: Path, number: int) -> Path:
    """Where a block is."""
    return folder / f"block-{number:05d}.safetensors"


def make_head_outputs(
    model: Model,
    texts: Sequence[Texts],
    cache: Path,
    *,
    position: str = "",
    max_length: int = 128,
    batch_size: int = 32,
    progress: Progress | None = None,
) -> HeadOutputs:
    """The vectors of every head and layer for distinct texts (or pairs), from the cache folder as far as they are there."""
    if batch_size < 1:
        raise UserError(f"the batch size must be 1 or more, got {batch_size} instead")
    maker = _Maker(model, texts, cache, known_position(model, model.main_stack(), position), max_length, batch_size)
    return maker.make(progress)


class _Maker:
    def __init__(self, model: Model, texts: Sequence[Texts], cache: Path, position: str, max_length: int, batch_size: int) -> None:
        self.model, self.texts, self.position, self.batch_size = model, texts, position, batch_size
        self.stack = model.main_stack()
        self.shape = model.shape(self.stack)
        self.block = batch_size * WINDOW
        self.encoder = model.encoder(max_length=max_length, long="truncate", stack=self.stack)
        self.cache = cache
        self.folder = cache / self._identity(max_length)
        self.hidden = int(model.config.hidden_size)

    def make(self, progress: Progress | None) -> HeadOutputs:
        total = len(self.texts)
        starts = range(0, total, self.block)
        missing = [number for number in range(len(starts)) if not block_path(self.folder, number).exists()]
        if missing:
            self._prepare(len(missing))
        done = total - sum(min(self.block, total - starts[number]) for number in missing)
        for number in missing:
            part = self.texts[starts[number] : starts[number] + self.block]
            try:
                self._write(number, self._vectors(part, done, total, progress))
            except KeyboardInterrupt:
                raise Interrupted(f"stopped after the vectors of {done} of {total} texts, which are kept in {self.folder}", hint="type the same command again to go on") from None
            done += len(part)
        if missing:
            self._account()
        found = HeadOutputs(self.folder, self.texts, self.shape, self.hidden, self.block, self.position, {})
        return replace(found, counts={"texts": total, "empty": len(found.empty), "truncated": found.truncated})

    def _vectors(self, texts: Sequence[Texts], done: int, total: int, progress: Progress | None) -> dict[str, NDArray[Any]]:
        """The tensors of one block, its texts in their order."""
        count, (layers, heads, width) = len(texts), (self.shape.layers, self.shape.heads, self.shape.width)
        found = {"heads": np.zeros((layers, count, heads, width), np.float32), "layers": np.zeros((layers, count, self.hidden), np.float32)}
        seen = np.zeros(count, np.bool_)
        examples = (Example(str(place), text) for place, text in enumerate(texts))
        for batch in batches(self.encoder.encode(examples), size=self.batch_size, pad=self.model.pad):
            places = np.array([int(item.example.id) for item in batch.items])
            self._add(batch, places, found)
            seen[places] = True
            done += len(batch)
            if progress:
                progress(done, total)
        self._check(found, texts)
        block: dict[str, NDArray[Any]] = {"empty": np.flatnonzero(~seen), "counts": np.array([self.encoder.counts.truncated], np.int64)}
        for name, values in found.items():
            mean = values.mean(1)
            values -= mean[:, None]
            largest = np.abs(values).max(1)
            scale = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, HALF) / HALF))).astype(np.float32)
            block |= {name: (values / scale[:, None]).astype(np.float16), f"{name}_scale": scale, f"{name}_mean": mean}
        self.encoder.counts.truncated = 0
        return block

    def _add(self, batch: Batch, places: NDArray[np.int64], found: dict[str, NDArray[Any]]) -> None:
        mask = torch.from_numpy(batch.mask).to(self.model.device)

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                found["heads"][view.layer, places] = take(view.output, mask, self.position).float().cpu().numpy()

        with torch.inference_mode():
            output = self.model.forward(batch, listeners=[listen], stack=self.stack, output_hidden_states=True)
        for layer, state in enumerate(layer_states(output)):
            values = take(state, mask, self.position).float().cpu().numpy()
            found["layers"][layer, places, : values.shape[1]] = values  # the last layer of OPT-350m is narrower than the others

    def _check(self, found: dict[str, NDArray[Any]], texts: Sequence[Texts]) -> None:
        for name, values in found.items():
            bad = np.argwhere(~np.isfinite(values.reshape(*values.shape[:2], -1)).all(2))
            if len(bad):
                layer, place = bad[0].tolist()
                raise UserError(
                    f"{self.model.name} gives numbers that are not finite ({name[:-1]} vectors of layer {layer + 1}) for the text {' | '.join(texts[place])[:80]!r}",
                    hint="leave the text out, or load the model in float32",
                )

    def _prepare(self, blocks: int) -> None:
        """A folder with room for what is to come."""
        size = min(blocks * self.block, len(self.texts)) * self.shape.layers * (self.shape.heads * self.shape.width + self.hidden) * 2
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise UserError(f"the cache folder {self.cache} cannot be used: {error.strerror or error}", hint="give another one with --cache") from None
        if size > free:
            raise UserError(
                f"the vectors of {len(self.texts)} texts take {show_size(size)}, but {self.cache} has only {show_size(free)} left",
                hint="give another folder with --cache, or fewer texts with --limit",
            )

    def _write(self, number: int, block: dict[str, NDArray[Any]]) -> None:
        """Whole or not at all."""
        path = block_path(self.folder, number)
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(save(block))
            beside.replace(path)
        except OSError as error:
            raise UserError(
                f"block {number + 1} of the vectors cannot be written to {self.folder}: {error.strerror or error}",
                hint=f"make room and type the same command again: the {number} finished blocks stay, and it goes on from there",
            ) from None
        finally:
            beside.unlink(missing_ok=True)

    def _account(self) -> None:
        """What the folder is of, for people who look into it."""
        about = {"format": FORMAT, "model": self.model.name, "texts": len(self.texts), "position": self.position, "shape": asdict(self.shape), "hidden": self.hidden}
        try:
            (self.folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"{self.folder / ABOUT} cannot be written: {error.strerror or error}", hint="make room and type the same command again: all blocks stay") from None

    def _identity(self, max_length: int) -> str:
        """A digest of everything that changes the vectors, or their blocks."""
        about = {"format": FORMAT, **self.model.identity(self.stack), "position": self.position, "max_length": max_length, "block": self.block}
        digest = hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode())
        for text in self.texts:
            digest.update(repr(text).encode("utf-8", "surrogatepass"))
        return f"outputs-{digest.hexdigest()[:24]}"
