"""Head outputs and hidden states of many texts, one vector each, on disk (J1).

One pass over the texts gives the vectors of every head and every layer, in half precision, in blocks of safetensors. Memory holds one block at a time; a block that
is written stays, so that a run that was stopped, or met a full disk, goes on with the next. A block knows its texts: whatever asks for one of them again, of the same model
read at the same position, finds it there. Reading takes one layer of all blocks, or one head.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.corpus import Example
from headscope.encode import Batch, Encoded, batches
from headscope.encode.batch import WINDOW
from headscope.errors import Interrupted, UserError
from headscope.files import show_size
from headscope.models import LayerView, Model, Shape, take
from headscope.models.pooling import known_position, layer_states

FORMAT = 3
ABOUT = "about.json"
HALF = 32768.0
"""Each number is stored as its distance from its mean over the block, divided by a power of two, so that the largest distance is between a half of this and this. Without that,
half precision would lose what little changes from text to text in a model whose vectors are almost constant (``electra-mini``: 0.00003 around 1.26)."""

WHOLE, CUT, EMPTY = 0, 1, 2
"""What became of a text: all of it was read; the end was cut off; it has no token, and so no vector."""

DIGEST = 16
"""Bytes that stand for a text in its block."""

Texts = tuple[str, ...]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class HeadOutputs:
    """The vectors of texts: row i is that of ``texts[i]``, and lies in block ``home[i]`` at ``place[i]``."""

    texts: Sequence[Texts]
    shape: Shape
    hidden: int
    position: str
    blocks: Sequence[Path]
    home: NDArray[np.int64]
    place: NDArray[np.int64]

    @cached_property
    def row(self) -> dict[Texts, int]:
        """Which row a text has."""
        return {text: place for place, text in enumerate(self.texts)}

    @cached_property
    def state(self) -> NDArray[np.uint8]:
        """WHOLE, CUT or EMPTY, of each text."""
        found = np.zeros(len(self.texts), np.uint8)
        for number, chosen in self._homes(self.home):
            found[chosen] = _read(self.blocks[number], "state")[self.place[chosen]]
        return found

    @cached_property
    def empty(self) -> frozenset[int]:
        """The rows of texts without any token, which have no vector."""
        return frozenset(np.flatnonzero(self.state == EMPTY).tolist())

    @property
    def counts(self) -> dict[str, int]:
        """How many texts there are, how many are empty or were cut, and the bytes on disk of the blocks that hold them."""
        size = sum(self.blocks[number].stat().st_size for number in np.unique(self.home).tolist())
        return {
            "texts": len(self.texts),
            "empty": len(self.empty),
            "truncated": int((self.state == CUT).sum()),
            "bytes": size,
        }

    def heads(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The outputs of a layer's heads, (row, head, width)."""
        return self._gather("heads", layer, rows, (self.shape.heads, self.shape.width))

    def layer(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The hidden states after a layer, (row, hidden)."""
        return self._gather("layers", layer, rows, (self.hidden,))

    def _gather(
        self, name: str, layer: int, rows: NDArray[np.int64], shape: tuple[int, ...]
    ) -> NDArray[np.float32]:
        found = np.empty((len(rows), *shape), np.float32)
        for number, chosen in self._homes(self.home[rows]):
            values, scale, mean = (
                _read(self.blocks[number], part, layer)
                for part in (name, f"{name}_scale", f"{name}_mean")
            )
            found[chosen] = values[self.place[rows[chosen]]].astype(np.float32) * scale + mean
        return found

    @staticmethod
    def _homes(home: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.bool_]]]:
        """Each block, and which of the rows it holds."""
        return ((number, home == number) for number in np.unique(home).tolist())


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
    maker = _Maker(
        model,
        texts,
        cache,
        known_position(model, model.main_stack(), position),
        max_length,
        batch_size,
    )
    return maker.make(progress)


def _read(path: Path, name: str, layer: int | None = None) -> NDArray[Any]:
    try:
        with safe_open(path, "np") as file:
            return np.asarray(
                file.get_tensor(name) if layer is None else file.get_slice(name)[layer]
            )
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{path} cannot be read: {error}", hint="delete it, and it is made again"
        ) from None


def _digest(text: Texts) -> bytes:
    return hashlib.sha256(repr(text).encode("utf-8", "surrogatepass")).digest()[:DIGEST]


class _Maker:
    def __init__(
        self,
        model: Model,
        texts: Sequence[Texts],
        cache: Path,
        position: str,
        max_length: int,
        batch_size: int,
    ) -> None:
        self.model, self.texts, self.position, self.max_length, self.batch_size = (
            model,
            texts,
            position,
            max_length,
            batch_size,
        )
        self.stack = model.main_stack()
        self.shape = model.shape(self.stack)
        self.block = batch_size * WINDOW
        self.encoder = model.encoder(max_length=max_length, long="truncate", stack=self.stack)
        self.cache = cache
        self.folder = cache / self._identity()
        self.hidden = int(model.config.hidden_size)

    def make(self, progress: Progress | None) -> HeadOutputs:
        digests = [_digest(text) for text in self.texts]
        known = self._known()
        missing = [
            text for text, digest in zip(self.texts, digests, strict=True) if digest not in known
        ]
        if missing:
            self._prepare(len(missing))
            self._fill(missing, progress)
            known = self._known()
        blocks = sorted({path for path, _ in known.values()})
        number = {path: index for index, path in enumerate(blocks)}
        found = (known[digest] for digest in digests)
        home, place = (
            np.array([(number[path], row) for path, row in found], np.int64).reshape(-1, 2).T
        )
        return HeadOutputs(self.texts, self.shape, self.hidden, self.position, blocks, home, place)

    def _known(self) -> dict[bytes, tuple[Path, int]]:
        """Where the texts of all blocks are."""
        return {
            digest.tobytes(): (path, row)
            for path in sorted(self.folder.glob("block-*.safetensors"))
            for row, digest in enumerate(_read(path, "texts"))
        }

    def _fill(self, missing: Sequence[Texts], progress: Progress | None) -> None:
        """Make blocks of texts that are in none."""
        total = len(self.texts)
        done = total - len(missing)
        for start in range(0, len(missing), self.block):
            part = missing[start : start + self.block]
            try:
                self._write(part, self._vectors(part, done, total, progress))
            except KeyboardInterrupt:
                raise Interrupted(
                    f"stopped after the vectors of {done} of {total} texts, which are kept in {self.folder}",
                    hint="type the same command again to go on",
                ) from None
            done += len(part)

    def _vectors(
        self, texts: Sequence[Texts], done: int, total: int, progress: Progress | None
    ) -> dict[str, NDArray[Any]]:
        """The tensors of one block, its texts in their order."""
        count, (layers, heads, width) = (
            len(texts),
            (self.shape.layers, self.shape.heads, self.shape.width),
        )
        found = {
            "heads": np.zeros((layers, count, heads, width), np.float32),
            "layers": np.zeros((layers, count, self.hidden), np.float32),
        }
        state = np.full(count, EMPTY, np.uint8)
        for batch in batches(self._encoded(texts, state), size=self.batch_size, pad=self.model.pad):
            self._add(batch, np.array([int(item.example.id) for item in batch.items]), found)
            done += len(batch)
            if progress:
                progress(done, total)
        self._check(found, texts)
        block: dict[str, NDArray[Any]] = {
            "texts": np.frombuffer(b"".join(map(_digest, texts)), np.uint8).reshape(count, DIGEST),
            "state": state,
        }
        for name, values in found.items():
            mean = values.mean(1)
            values -= mean[:, None]
            largest = np.abs(values).max(1)
            scale = np.exp2(np.ceil(np.log2(np.where(largest > 0, largest, HALF) / HALF))).astype(
                np.float32
            )
            block |= {
                name: (values / scale[:, None]).astype(np.float16),
                f"{name}_scale": scale,
                f"{name}_mean": mean,
            }
        return block

    def _encoded(self, texts: Sequence[Texts], state: NDArray[np.uint8]) -> Iterator[Encoded]:
        """The tokens of each text that has some; ``state`` is told what became of it."""
        for place, text in enumerate(texts):
            cut = self.encoder.counts.truncated
            for encoded in self.encoder.encode([Example(str(place), text)]):
                state[place] = CUT if self.encoder.counts.truncated > cut else WHOLE
                yield encoded

    def _add(self, batch: Batch, places: NDArray[np.int64], found: dict[str, NDArray[Any]]) -> None:
        mask = torch.from_numpy(batch.mask).to(self.model.device)

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                found["heads"][view.layer, places] = (
                    take(view.output, mask, self.position).float().cpu().numpy()
                )

        with torch.inference_mode():
            output = self.model.forward(
                batch, listeners=[listen], stack=self.stack, output_hidden_states=True
            )
        for layer, state in enumerate(layer_states(output)):
            values = take(state, mask, self.position).float().cpu().numpy()
            found["layers"][layer, places, : values.shape[1]] = (
                values  # the last layer of OPT-350m is narrower than the others
            )

    def _check(self, found: dict[str, NDArray[Any]], texts: Sequence[Texts]) -> None:
        for name, values in found.items():
            bad = np.argwhere(~np.isfinite(values.reshape(*values.shape[:2], -1)).all(2))
            if len(bad):
                layer, place = bad[0].tolist()
                raise UserError(
                    f"{self.model.name} gives numbers that are not finite ({name[:-1]} vectors of layer {layer + 1}) for the text {' | '.join(texts[place])[:80]!r}",
                    hint="leave the text out, or load the model in float32",
                )

    def _prepare(self, count: int) -> None:
        """A folder with room for the vectors of so many texts, and a word on what it is for people who look into it."""
        size = count * self.shape.layers * (self.shape.heads * self.shape.width + self.hidden) * 2
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.folder).free
        except OSError as error:
            raise UserError(
                f"the cache folder {self.cache} cannot be used: {error.strerror or error}",
                hint="give another one with --cache",
            ) from None
        if size > free:
            raise UserError(
                f"the vectors of {count} texts take {show_size(size)}, but {self.cache} has only {show_size(free)} left",
                hint="give another folder with --cache, or fewer texts with --limit",
            )
        about = {
            "format": FORMAT,
            "model": self.model.name,
            "position": self.position,
            "max_length": self.max_length,
            "shape": asdict(self.shape),
            "hidden": self.hidden,
        }
        self._keep(self.folder / ABOUT, json.dumps(about, indent=2).encode())

    def _write(self, texts: Sequence[Texts], block: dict[str, NDArray[Any]]) -> None:
        name = hashlib.sha256(b"".join(map(_digest, texts))).hexdigest()[:DIGEST]
        self._keep(self.folder / f"block-{name}.safetensors", save(block))

    def _keep(self, path: Path, data: bytes) -> None:
        """Write a file whole or not at all."""
        beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            beside.write_bytes(data)
            beside.replace(path)
        except OSError as error:
            raise UserError(
                f"{path} cannot be written: {error.strerror or error}",
                hint="make room and type the same command again: the finished blocks stay, and it goes on from there",
            ) from None
        finally:
            beside.unlink(missing_ok=True)

    def _identity(self) -> str:
        """A digest of everything that changes the vectors."""
        about = {
            "format": FORMAT,
            **self.model.identity(self.stack),
            "position": self.position,
            "max_length": self.max_length,
        }
        return f"outputs-{hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:24]}"
