"""The vectors of texts: what every head and every layer gives, and the embeddings alone.

Vectors are written in blocks, and memory holds one block at a time. A finished block is kept, so a
run that was stopped, or met a full disk, resumes with the next. Reading takes one layer of all
blocks at a time.

What a vector is, to its last digits, depends on the texts beside it: they pad its batch, and half
precision counts from the mean of its block. So a block is found again only by the same texts in
the same order. A run has the same vectors, whatever the cache held before.

Blocks are safetensors files in half precision, with digests of their contents. Each number is
stored as its distance from its mean over the block, divided by a power of two, so that the largest
distance lies between half of ``LARGEST`` and ``LARGEST``. Nothing overflows, and vectors that
hardly change from text to text keep their digits (``electra-mini``: 0.00003 around 1.26, which half
precision alone would round away).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.corpus import Example
from headscope.encode import Batch, Encoded
from headscope.encode.batch import WINDOW
from headscope.errors import Interrupted, UserError
from headscope.files import digest_of, show_size, write_bytes, write_text
from headscope.identity import identity_of
from headscope.models import LayerView, Model, OutputListener, take
from headscope.models.model import ModelWork
from headscope.models.pooling import known_position
from headscope.models.vectors import embedding_state, layer_states
from headscope.progress import Update
from headscope.runs.probe import Vectors
from headscope.runs.run import AGAIN
from headscope.runs.workers import Engine, Here, Task

FORMAT = 6
LARGEST = 32768.0
WHOLE, CUT, EMPTY = 0, 1, 2
"""State of a text: read in full; truncated; without any token, and so without vectors."""
DIGEST = 16
"""Characters of a block's name that stand for its texts."""
DIGESTS = "digests"
CHANGED = "its contents have changed since it was written"
PATTERN = "block-*.safetensors"

Texts = tuple[str, ...]
"""One input: a text, or a pair of texts."""


def block_path(folder: Path, texts: Sequence[Texts]) -> Path:
    """Where the block of some texts is kept: its name follows from them and from their order."""
    name = digest_of(*map(repr, texts))[:DIGEST]
    return folder / PATTERN.replace("*", name)


def write_block(
    folder: Path,
    texts: Sequence[Texts],
    state: NDArray[np.uint8],
    vectors: Mapping[str, NDArray[np.float32]],
) -> Path:
    """Write the vectors of some texts.

    Parameters
    ----------
    folder
        Where to write. The name of the file follows from the texts.
    texts
        The texts, (row,).
    state
        ``WHOLE``, ``CUT`` or ``EMPTY``, (row,).
    vectors
        Arrays by name, (layer, row, ...); overwritten.

    Returns
    -------
    Path
        The new file.
    """
    tensors: dict[str, NDArray[Any]] = {"state": state}
    for name, values in vectors.items():
        mean = values.mean(1)
        values -= mean[:, None]
        farthest = np.abs(values).max(1)
        exponent = np.ceil(np.log2(np.where(farthest > 0, farthest, LARGEST) / LARGEST))
        scale = np.exp2(exponent).astype(np.float32)
        halves = (values / scale[:, None]).astype(np.float16)
        for layer, parts in enumerate(zip(halves, scale, mean, strict=True)):
            tensors |= dict(zip(_keys(name, layer), parts, strict=True))
    digests = {name: _content_digest(values) for name, values in tensors.items()}
    data = save(tensors, metadata={DIGESTS: json.dumps(digests)})
    try:
        return write_bytes(block_path(folder, texts), data)
    except UserError as error:
        raise UserError(
            error.message, hint="free some disk space, then run it again: finished blocks are kept"
        ) from None


def read_vectors(path: Path, name: str, layer: int) -> NDArray[np.float32]:
    """The vectors of one layer of a block, (row, ...)."""
    halves, scale, mean = read_tensors(path, *_keys(name, layer))
    return np.asarray(halves.astype(np.float32) * scale + mean)


def read_tensors(path: Path, *names: str) -> list[NDArray[Any]]:
    """Tensors of a block, by default all of them, checked against their digests.

    Raises
    ------
    UserError
        If the file is damaged.
    """
    try:
        with safe_open(path, "np") as file:
            digests = json.loads(file.metadata()[DIGESTS])
            tensors = {name: np.asarray(file.get_tensor(name)) for name in names or digests}
        if any(digests[name] != _content_digest(values) for name, values in tensors.items()):
            raise ValueError(CHANGED)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is damaged: {error}",
            hint="run it again: its vectors are then computed again",
        ) from None
    return list(tensors.values())


def _content_digest(values: NDArray[Any]) -> str:
    return digest_of(str(values.dtype), np.ascontiguousarray(values).data)


def _keys(name: str, layer: int) -> tuple[str, str, str]:
    """What the tensors of a layer are called: its vectors, their scale and their mean."""
    return f"{name}/{layer}", f"{name}_scale/{layer}", f"{name}_mean/{layer}"


# --- computing and reading them ---

ABOUT = "about.json"
EMBEDDINGS = "mean"
"""Embeddings are averaged over tokens: that of [CLS] is the same for every text."""
Arrays = dict[str, NDArray[np.float32]]
"""``heads``, (layer, text, head, width), and ``layers``, (layer, text, hidden)."""


def make_head_outputs(
    model: Model,
    texts: Sequence[Texts],
    cache: Path,
    *,
    engine: Engine | None = None,
    progress: Update | None = None,
    say: Callable[[str], None] | None = None,
    **how: Any,
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
    engine
        Where batches are computed; None for this process. Vectors are the same bit for bit.
    progress
        Called with the number of texts that are done, and of all.
    say
        Called before anything is computed with the disk space and memory that vectors will take.
    how
        Options of :class:`~headscope.runs.probe.Vectors`.

    Raises
    ------
    UserError
        If an option is not allowed, the disk has too little space, or a vector is not finite.
    Interrupted
        On Ctrl-C. Finished blocks are kept.
    """
    outputs = HeadOutputs(model, texts, cache, Vectors(**how))
    outputs.compute(engine or Here(), progress, say)
    return outputs


class HeadOutputs:
    """The vectors of texts, on disk.

    Attributes
    ----------
    texts
        The texts, (row,).
    shape, hidden
        Layers, heads and width of the model, and the width of its hidden states.
    position
        Where the vectors are read: ``"cls"``, ``"last"`` or ``"mean"``.
    blocks, size
        The files, and how many texts are in each.
    """

    def __init__(self, model: Model, texts: Sequence[Texts], cache: Path, options: Vectors) -> None:
        self.model, self.texts, self.cache, self.options = model, texts, cache, options
        self.stack = model.main_stack()
        self.shape, self.hidden = model.shape(self.stack), model.hidden_size
        self.position = known_position(model, self.stack, options.position or "")
        self.size = options.batch_size * WINDOW
        self.parts = [texts[start : start + self.size] for start in range(0, len(texts), self.size)]
        about = {
            "format": FORMAT,
            "model": model.identity(self.stack),
            "position": self.position,
            "max_length": options.max_length,
            "batch_size": options.batch_size,
        }
        self.folder = cache / f"outputs-{identity_of(about)[:24]}"
        self.blocks = [block_path(self.folder, part) for part in self.parts]

    # --- reading ---

    @cached_property
    def row(self) -> dict[Texts, int]:
        """The row of each text."""
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def state(self) -> NDArray[np.uint8]:
        """``WHOLE``, ``CUT`` or ``EMPTY`` for each text."""
        states = [state for block in self.blocks for state in read_tensors(block, "state")]
        return np.concatenate([np.zeros(0, np.uint8), *states])

    @cached_property
    def empty(self) -> frozenset[int]:
        """Rows of texts without any token, which have no vectors."""
        return frozenset(np.flatnonzero(self.state == EMPTY).tolist())

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of texts, of empty and truncated ones, and of bytes of their blocks."""
        return {
            "texts": len(self.texts),
            "empty": len(self.empty),
            "truncated": int((self.state == CUT).sum()),
            "bytes": sum(block.stat().st_size for block in self.blocks),
        }

    def heads(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The outputs of a layer's heads before the output projection, (row, head, width).

        Where layers differ in width, those of narrower heads end with zeros.
        """
        return self._gather("heads", layer, rows, (self.shape.heads, self.shape.width))

    def layer(self, layer: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """The hidden states after a layer, (row, hidden)."""
        return self._gather("layers", layer, rows, (self.hidden,))

    def _gather(
        self, name: str, layer: int, rows: NDArray[np.int64], shape: tuple[int, ...]
    ) -> NDArray[np.float32]:
        vectors = np.empty((len(rows), *shape), np.float32)
        home, place = np.divmod(rows, self.size)
        for number in np.unique(home).tolist():
            block = read_vectors(self.blocks[number], name, self.shape.place(layer))
            vectors[home == number] = block[place[home == number]]
        return vectors

    # --- computing ---

    def compute(
        self, engine: Engine, progress: Update | None, say: Callable[[str], None] | None
    ) -> None:
        """Compute the blocks that are not there; write each when all of it is computed."""
        pairs = zip(self.parts, self.blocks, strict=True)
        missing = [part for part, path in pairs if not _is_whole(path, say)]
        if not missing:
            return
        self._prepare(sum(map(len, missing)), say)
        total = len(self.texts)
        done = written = total - sum(map(len, missing))
        work = VectorWork(self.model, self.position)
        try:
            with engine.start(work) as workers:
                for part in missing:
                    state = np.full(len(part), EMPTY, np.uint8)
                    encoded = _encoded(self.model, part, self.options, state)
                    batches = list(self.model.batches(encoded, size=self.options.batch_size))
                    vectors = work.empty(len(part))
                    tasks = (Task(number, (batch,)) for number, batch in enumerate(batches))
                    for number, found in workers.map(tasks):
                        places = _places(batches[number])
                        for name, values in found.items():
                            vectors[name][:, places] = values
                        done += len(places)
                        if progress:
                            progress(done, total)
                    self._write(part, state, vectors)
                    written += len(part)
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped after computing the vectors of {written} of {total} texts, which are "
                f"kept in {self.folder}",
                **AGAIN,
            ) from None

    def _write(self, texts: Sequence[Texts], state: NDArray[np.uint8], vectors: Arrays) -> None:
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
        write_block(self.folder, texts, state, vectors)

    def _prepare(self, count: int, say: Callable[[str], None] | None) -> None:
        """Make the folder, check its free space, and describe its contents to people."""
        heads = self.shape.heads * self.shape.width
        numbers = self.shape.layers * (heads + self.hidden)  # in the vectors of a text
        size = 2 * count * numbers
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
        if say:  # in memory, they are in float32
            block = 4 * min(count, self.size) * numbers
            layer = 4 * len(self.texts) * max(heads, self.hidden)
            say(
                f"vectors of {count} texts take {show_size(size)} on disk ({show_size(free)} free "
                f"in {self.cache}) and {show_size(block)} of memory while they are computed; one "
                f"layer of all {len(self.texts)} texts takes {show_size(layer)} of memory"
            )
        about = {
            "format": FORMAT,
            "model": self.model.label,
            "position": self.position,
            "max_length": self.options.max_length,
            "shape": asdict(self.shape),
            "hidden": self.hidden,
        }
        write_text(self.folder / ABOUT, json.dumps(about, indent=2))


def _is_whole(path: Path, say: Callable[[str], None] | None) -> bool:
    """Whether a block is there; one that is damaged is deleted, and computed again."""
    if not path.exists():
        return False
    try:
        read_tensors(path)
    except UserError as error:
        path.unlink(missing_ok=True)
        if say:
            say(f"{error.message}; its vectors are computed again")
        return False
    return True


def _encoded(
    model: Model, texts: Sequence[Texts], options: Vectors, state: NDArray[np.uint8] | None = None
) -> Iterator[Encoded]:
    """The tokens of each text that has any; records the state of each text."""
    length, stack = options.max_length, model.main_stack()
    encoder = model.encoder(max_length=length, long="truncate", stack=stack)
    for place, text in enumerate(texts):
        cut = encoder.counts.truncated
        for encoded in encoder.encode([Example(str(place), text)]):
            if state is not None:
                state[place] = CUT if encoder.counts.truncated > cut else WHOLE
            yield encoded


def _places(batch: Batch) -> NDArray[np.int64]:
    """The places of a batch's texts among those that were encoded."""
    return np.array([int(item.example.id) for item in batch.items])


class VectorWork(ModelWork):
    """Runs a model on batches of texts. It is sent to each worker once.

    Parameters
    ----------
    model
        The model.
    position
        Where vectors are read: ``"cls"``, ``"last"`` or ``"mean"``.
    """

    def __init__(self, model: Model, position: str) -> None:
        self.model, self.position = model, position
        self.stack = model.main_stack()

    def empty(self, count: int) -> Arrays:
        """The vectors of some texts before they are computed: zeros."""
        shape = self.model.shape(self.stack)
        return {
            "heads": np.zeros((shape.layers, count, shape.heads, shape.width), np.float32),
            "layers": np.zeros((shape.layers, count, self.model.hidden_size), np.float32),
        }

    def __call__(self, batch: Batch) -> Arrays:
        """The vectors of the texts of a batch."""
        mask = torch.from_numpy(batch.mask).to(self.model.device)
        shape, vectors = self.model.shape(self.stack), self.empty(len(batch))

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                outputs = take(view.output, mask.to(view.output.device), self.position)
                # Gemma 4 has layers with narrower heads than others: zeros fill them up.
                kept = vectors["heads"][shape.place(view.layer), ..., : outputs.shape[-1]]
                kept[:] = outputs.float().cpu().numpy()

        with torch.inference_mode():
            output = self.model.forward(
                batch,
                listeners=[OutputListener(listen)],
                stack=self.stack,
                output_hidden_states=True,
            )
        states = layer_states(output)
        for layer, number in enumerate(shape.numbers):
            state = states[number]
            values = take(state, mask.to(state.device), self.position).float().cpu().numpy()
            # The last layer of OPT-350m is narrower than the others.
            vectors["layers"][layer, :, : values.shape[1]] = values
        return vectors


def text_embeddings(model: Model, texts: Sequence[Texts], options: Vectors) -> NDArray[np.float32]:
    """The mean over tokens of what the first layer reads, (text, width).

    It includes the embeddings of positions and segments where the model adds them. A classifier on
    them learns from the words of a text before any layer has run.

    Parameters
    ----------
    model
        The model.
    texts
        Texts or pairs that have tokens.
    options
        Maximum length and batch size.

    Raises
    ------
    UserError
        If a number is not finite.

    Examples
    --------
    >>> from headscope.models import load
    >>> text_embeddings(load("demo"), [("A dog.",)], Vectors(max_length=8)).shape
    (1, 384)
    """
    stack, vectors = model.main_stack(), np.zeros((0, 0), np.float32)
    for batch in model.batches(_encoded(model, texts, options), size=options.batch_size):
        with torch.inference_mode():
            state = embedding_state(model.forward(batch, stack=stack, output_hidden_states=True))
        mask = torch.from_numpy(batch.mask).to(state.device)
        values = take(state, mask, EMBEDDINGS).float().cpu().numpy()
        if not len(vectors):
            vectors = np.zeros((len(texts), values.shape[1]), np.float32)
        vectors[_places(batch)] = values
    if not np.isfinite(vectors).all():
        raise UserError(
            f"{model.name} has embeddings that are not finite", hint="load the model in float32"
        )
    return vectors
