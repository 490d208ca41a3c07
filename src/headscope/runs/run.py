"""The one run: what it takes is done once, kept meanwhile, and saved.

A survey, a comparison, an ablation, probing, fine-tuning: each is a :class:`Run` that says what its
numbers depend on (``about``) and which blocks of work there are. Everything else is here, in the
order in which it happens: see :meth:`Run.execute`. At the end of the file is its state on disk:
replaced in one step, and checked by its digest when it is read.
"""

from __future__ import annotations

import json
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from headscope.corpus import Corpus
from headscope.errors import Interrupted, ResultsError, UserError, out_of_memory
from headscope.files import (
    CHANGED,
    digest_of,
    locked,
    sync_folder,
    tensor_digest,
    uninterrupted,
    write_bytes,
)
from headscope.identity import KEYS, another_run, differences, identity_of, listed, plain
from headscope.models import Model
from headscope.options import EVERY, Engines, Resuming, Saving
from headscope.progress import Reporter, Update
from headscope.results import Atlas
from headscope.runs.workers import Engine, Task, Work, make_engine

REST = 20.0  # a checkpoint that took a second is followed by at least so many seconds of work
AGAIN = {
    "hint": "call it again with the same arguments to resume",
    "command": "type the same command again to resume",
}
NOTHING = "nothing was kept"
Arrays = Mapping[str, NDArray[Any]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Block:
    """One numbered block of work; ``work`` is whatever the run needs to do it."""

    index: int
    work: Any


class Run(ABC, Generic[Result]):
    """Work with a result that one process writes, that resumes, and that is not done twice.

    A run defines :attr:`about` and, in most cases, :meth:`blocks`, :meth:`do`, :meth:`state`,
    :meth:`restore`, :meth:`progress` and :meth:`result`. Blocks that workers can do need
    :meth:`ship`, :meth:`task` and :meth:`absorb`. A run without blocks overrides :meth:`work`; one
    whose result is no atlas overrides :meth:`there`, :meth:`open`, :meth:`clear` and :meth:`save`.

    Parameters
    ----------
    options
        Output, overwrite, progress; as :class:`~headscope.options.Workers` engine, checkpoint.
    title
        What it does, for the progress bar ("surveying").
    size
        How many bytes the model of each worker takes.
    """

    # Whether the result is a part of a larger run: then it is kept like a checkpoint, which
    # ``overwrite`` does not do again, and which other versions of libraries must not go on with.
    part = False

    def __init__(self, options: Saving, title: str, *, size: int = 0) -> None:
        self.title, self.overwrite = title, options.overwrite
        self.output = None if options.path is None else options.path.absolute()
        self.state_path = options.state_path
        self.every = options.every if isinstance(options, Resuming) else EVERY
        self.engine: Engine | None = None
        if isinstance(options, Engines):
            self.engine = make_engine(options, size=size)
        self.reporter = options.reporter
        self.say = self.reporter.say
        self.next_block = 0
        self.ahead: set[int] = set()  # blocks beyond the next one that faster workers have done
        # False while a block is half added to what is remembered: then nothing is saved.
        self.whole = True
        self._due = 0.0

    @cached_property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Everything that changes the numbers: model, corpus, settings."""

    @cached_property
    def identity(self) -> str:
        """A digest of all that changes the numbers, by which a run knows its own files."""
        return identity_of(self.about)

    def provenance(self) -> dict[str, Any]:
        """What is written beside the results."""
        return {
            "shards": ["1/1"],
            **self.about,
            KEYS: sorted(self.about),
            "identity": self.identity,
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }

    def corpora(self) -> Sequence[Corpus]:
        """The corpora that are read, which must not change meanwhile."""
        corpus = getattr(self, "corpus", None)
        return [corpus] if isinstance(corpus, Corpus) else []

    def check_corpora(self) -> None:
        """Check that no corpus has changed since the run began."""
        for corpus in self.corpora():
            corpus.check_unchanged()

    # --- a run from its beginning to its end ---

    def execute(self) -> Result:
        """Do what is left to do, save the result if there is an output, and return it.

        If the output already holds the result of this very run, it is opened.
        """
        for corpus in self.corpora():
            _ = corpus.checksum  # as it is now, before anything of it is used
        with nullcontext() if self.output is None else locked(self.output):
            result = self.finished()
            if result is None:
                with self._keeping():
                    result = self.work(self.reporter)
                    self.check_corpora()
                    if self.output is not None:
                        self.save(result)
            return result

    def finished(self) -> Result | None:
        """The result of this very run, if the output holds it already.

        A result that other versions of libraries made is a result of the same run; it is said that
        it is older. Only ``overwrite`` makes it again.

        Raises
        ------
        AnotherRunError
            If the output holds another run, which is not to be overwritten.
        """
        if not self.there():
            return None
        if self.overwrite and not self.part:
            self.clear()
            return None
        try:
            result, about = self.open()
        except ResultsError as error:
            self.say(f"{error.message}; it is made again")
            self.clear()
            return None
        there, here = about.get("versions", {}), versions()
        both = sorted(there.keys() & here.keys())
        older = differences(*({"versions": {key: of[key] for key in both}} for of in (there, here)))
        differing = differences(about, self.about) + (older if self.part else [])
        if differing and not self.overwrite:
            raise another_run(f"{self.output} holds the results of another run", differing)
        if differing:
            self.clear()
            return None
        if not self.part:
            how = f", made with other versions ({listed(older)}); --overwrite computes it again"
            self.say(f"opened {self.output}: it already holds this run{how if older else ''}")
        return result

    def there(self) -> bool:
        """Whether the output holds the result of some run."""
        return self.output is not None and self.output.exists()

    def open(self) -> tuple[Result, Mapping[str, Any]]:
        """The result in the output, and what it says it was made of.

        Raises
        ------
        ResultsError
            If it is damaged.
        """
        atlas: Any = Atlas.open(str(self.output))
        return atlas, atlas.provenance

    def clear(self) -> None:
        """Called if what the output holds will be made again."""

    def save(self, result: Result) -> None:
        """Write the result, then remove the checkpoint."""
        atlas: Any = result
        atlas.save(self.output)
        if self.state_path is not None:  # only now: the results are on the disk
            remove_checkpoint(self.state_path)

    def work(self, reporter: Reporter) -> Result:
        """Resume, do the remaining blocks, and make a result of them."""
        self._resume()
        if self.started() and self.state_path is not None:
            self.say(f"resuming from {self.state_path}")
        self.begin()
        self._due = time.monotonic() + self.every
        with reporter.progress(self.title) as update:
            self.all_blocks(update)
        return self.result()

    # --- blocks ---

    def begin(self) -> None:
        """Called once before the first block, after a checkpoint was taken up."""

    def blocks(self) -> Iterator[Block]:
        """The blocks of work, in their order; always the same ones."""
        raise NotImplementedError

    def do(self, block: Block, update: Update) -> None:
        """Do one block here, and remember what it gave.

        Set ``self.whole = False`` before remembering it in several steps: what an interruption in
        between leaves must not be saved.
        """
        raise NotImplementedError

    def ship(self) -> Work | None:
        """What workers need to do tasks; None if blocks can only be done here."""
        return None

    def task(self, block: Block) -> Task:
        """A block as a task for a worker."""
        return Task(block.index, (block.work,))

    def absorb(self, index: int, result: Any) -> None:
        """Remember what a worker gave for a block."""
        raise NotImplementedError

    def passed(self, block: Block) -> None:
        """Called for every block, done now or earlier, before its progress is shown."""

    def progress(self) -> tuple[int, int]:
        """How much is done, and how much there is."""
        raise NotImplementedError

    def result(self) -> Result:
        """The result, when all blocks are done."""
        raise NotImplementedError

    def all_blocks(self, update: Update) -> None:
        """Do all blocks that are left, here or by workers."""
        work = None if self.engine is None else self.ship()
        if self.engine is None or work is None:
            self.do_blocks(self.blocks(), update)
            return
        with self.engine.start(work) as workers:
            self.hand_out(workers, self.blocks(), update)

    def do_blocks(self, blocks: Iterable[Block], update: Update) -> None:
        """Do those of some blocks that are left, one after the other."""
        for block in blocks:
            if block.index >= self.next_block:
                if block.index in self.ahead:
                    self.ahead.discard(block.index)
                else:
                    self.do(block, update)
                self.next_block = block.index + 1
                self.whole = True
            self.passed(block)
            update(*self.progress())
            self.pause()

    def hand_out(self, workers: Engine, blocks: Iterable[Block], update: Update) -> None:
        """Hand blocks to workers, and remember what they give in whatever order it comes."""
        handed: list[int] = []

        def tasks() -> Iterator[Task]:
            for block in blocks:
                if block.index >= self.next_block:
                    handed.append(block.index)
                    if block.index not in self.ahead:
                        yield self.task(block)

        for index, result in workers.map(tasks()):
            self.whole = False
            self.absorb(index, result)
            self.ahead.add(index)
            while handed and handed[0] in self.ahead:
                self.next_block = handed.pop(0) + 1
                self.ahead.discard(self.next_block - 1)
            self.whole = True
            update(*self.progress())
            self.pause()

    # --- what is kept until the end, and after an interruption ---

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a checkpoint must hold: values for JSON, and arrays."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up what a checkpoint held."""
        raise NotImplementedError

    def started(self) -> bool:
        """Whether there is anything that a checkpoint could hold."""
        return bool(self.next_block or self.ahead)

    def so_far(self) -> str:
        """What has been done, for the message after Ctrl-C."""
        done, total = self.progress()
        return f"{done} of {total}" if total else str(done)

    def kept(self) -> str:
        """What there is after Ctrl-C if there is no state."""
        return NOTHING

    def pause(self) -> None:
        """Write a checkpoint if one is due. A run may call it within a long block, too."""
        if self.state_path is None or time.monotonic() < self._due:
            return
        began = time.monotonic()
        self._save_state()
        saved = time.monotonic()
        self._due = saved + (max(self.every, REST * (saved - began)) if self.every else 0.0)

    @cached_property
    def _origin(self) -> dict[str, Any]:
        # Half of a run with one version of a library and half with another is a result of neither.
        return {**self.about, "versions": versions()}

    def _save_state(self) -> None:
        if self.state_path is not None and self.started():
            self.check_corpora()  # everything in the state was read from the corpus as it was
            state, arrays = self.state()
            now = Checkpoint(self._origin, self.next_block, state, arrays, sorted(self.ahead))
            write_checkpoint(self.state_path, now)

    def _resume(self) -> None:
        if self.state_path is None:
            return
        last = read_checkpoint(self.state_path, self._origin, self.say, overwrite=self.overwrite)
        if last is not None:
            self.next_block, self.ahead = last.next_block, set(last.ahead)
            self.restore(last.state, last.arrays)

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Keep the state if the user, the input or the machine ends the run; say where it is."""
        try:
            yield
        except Interrupted:  # of a part, or of a library's own checkpoints
            raise
        except KeyboardInterrupt:
            raise self._interrupted() from None
        except UserError as error:
            where = self._where_kept()
            if not where:
                raise
            said = f"{error.message}; {where}"
            raise type(error)(said, hint=error.hint, command=error.command) from error.__cause__
        except (MemoryError, OSError, RuntimeError) as error:
            reason, advice = _known_failure(error)
            if not reason:
                raise
            message = f"{reason}; {self._where_kept() or self.kept()}"
            raise UserError(message, hint=advice) from error

    def _where_kept(self) -> str:
        """Save the state, unless a block is half added to it; say where there is one now."""
        if self.state_path is None or not self.started():
            return ""
        if self.whole:
            try:
                with suppress(KeyboardInterrupt), uninterrupted():  # pressed (again): saved first
                    self._save_state()
            except (UserError, MemoryError):  # the disk may be full, the corpus another one
                return ""
        if not self.state_path.exists():
            return ""
        last = "" if self.whole else " as of the last checkpoint"
        return f"the state is kept in {self.state_path}{last}"

    def _interrupted(self) -> Interrupted:
        where = self._where_kept()
        if self.output is None and self.state_path is None:
            hint = "with output=PATH a stopped run can be resumed"
            return Interrupted(f"stopped; {self.kept()}", hint=hint)
        after = f" after {self.so_far()}" if where and self.whole else ""
        if not where and self.state_path is not None:
            after = " before anything was finished"
        return Interrupted(f"stopped{after}; {where or self.kept()}", **AGAIN)


def _known_failure(error: Exception) -> tuple[str, str]:
    """What failed, and what to do, if it was the machine: its memory or its disk."""
    resume = "run the same thing again to resume"
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"the run failed: {error.strerror or error}{where}", f"correct that, then {resume}"
    if out_of_memory(error):
        smaller = "or start again with a smaller batch size or maximum length"
        return "the memory is not enough", f"close other programs, then {resume}; {smaller}"
    return "", ""


# --- what provenance says of models and libraries ---


def describe(model: Model, stack: str) -> dict[str, Any]:
    """A model as provenance names it."""
    shape = model.shape(stack)
    unusual: dict[str, Any] = {} if shape.counted else {"layer_numbers": list(shape.labels)}
    if shape.sink:
        unusual["sink"] = "learned"
    if shape.grouped:  # one number, unless layers differ
        alike = len(set(shape.kv_heads)) == 1
        unusual["kv_heads"] = shape.kv_heads[0] if alike else list(shape.kv_heads)
    tokenizer: Any = model.tokenizer
    tokens = {
        "start": tokenizer.cls_token or tokenizer.bos_token,
        "separator": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {
        "name": model.label,
        "revision": model.revision,
        "type": model.config.model_type,
        "quantization": model.quantization,
        "adapter": model.adapter,
        "tokens": {kind: str(name) for kind, name in tokens.items() if name},
        **model.identity(stack),
        "layers": shape.layers,
        "heads": shape.heads,
        "causal": model.causal(stack),
        **unusual,
    }


def versions() -> dict[str, str]:
    """The versions of the libraries that numbers depend on."""
    libraries = ("headscope", "torch", "transformers", "numpy", "xarray")
    return {"python": platform.python_version(), **{name: _installed(name) for name in libraries}}


_installed = cache(version)  # which reads a file every time


# --- its state on disk ---


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands: the next block of work, what was counted, and the arrays so far.

    Blocks in ``ahead`` are done although they come after the next one. ``origin`` is everything
    that changes the numbers, and the versions of libraries.
    """

    origin: Mapping[str, Any]
    next_block: int
    state: dict[str, Any]
    arrays: Mapping[str, NDArray[Any]]
    ahead: Sequence[int] = ()

    def digest(self) -> str:
        """A digest of everything in it."""
        return digest_of(
            identity_of(self.origin),
            str(self.next_block),
            json.dumps(list(self.ahead)),
            json.dumps(self.state, sort_keys=True),
            tensor_digest(self.arrays),
        )


def before_path(path: Path) -> Path:
    """Where the checkpoint before the last one is kept, in case the last one is damaged.

    >>> before_path(Path("run.nc.partial")).name
    'run.nc.partial.before'
    """
    return path.with_name(f"{path.name}.before")


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the file whole or not at all, and keep the one before it."""
    meta = {
        "origin": json.dumps(plain(checkpoint.origin)),
        "next_block": str(checkpoint.next_block),
        "ahead": json.dumps(list(checkpoint.ahead)),
        "state": json.dumps(checkpoint.state),
        "digest": checkpoint.digest(),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in checkpoint.arrays.items()}
    try:
        write_bytes(path, save(arrays, metadata=meta), before=before_path(path))
    except UserError as error:
        raise UserError(
            f"the checkpoint {error.message}",
            hint="free some disk space and run it again: it resumes from the last checkpoint",
        ) from None


def read_checkpoint(
    path: Path,
    origin: Mapping[str, Any],
    say: Callable[[str], None] | None = None,
    *,
    overwrite: bool = False,
) -> Checkpoint | None:
    """The checkpoint of this very run, or None if there is none.

    If the last one is damaged, or was lost, the one before it takes its place.

    Parameters
    ----------
    path
        The last checkpoint.
    origin
        What the run is made of.
    say
        Called with a sentence if the last checkpoint is damaged and the one before it is used.
    overwrite
        Ignore a file that is damaged, or is the checkpoint of another run.

    Raises
    ------
    UserError
        If the file is damaged, or is the checkpoint of another run, which must not be overwritten.
    """
    before = before_path(path)
    try:
        checkpoint = _read(path)
    except UserError as error:
        earlier = _same_run(before, origin)
        if earlier is None and overwrite:
            return None
        if earlier is None:
            raise
        if say is not None:
            say(f"{error.message}; the checkpoint before it is used, and the rest computed again")
        before.replace(path)
        return earlier
    if checkpoint is None:  # killed between two renamings
        return _same_run(before, origin)
    differing = differences(checkpoint.origin, origin)
    if differing and overwrite:
        return None
    if differing:
        what = f"{path} is the checkpoint of another run"
        raise another_run(what, differing, or_else=f"; or delete {path}")
    return checkpoint


def remove_checkpoint(path: Path) -> None:
    """Remove a checkpoint and the one before it, for good."""
    path.unlink(missing_ok=True)
    before_path(path).unlink(missing_ok=True)
    sync_folder(path.parent)


def _read(path: Path) -> Checkpoint | None:
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            meta = file.metadata() or {}
            if "identity" in meta and "origin" not in meta:
                raise UserError(
                    f"{path} is a checkpoint of an earlier version of Headscope, and cannot be "
                    "resumed",
                    **_advice(path),
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        state = json.loads(meta["state"])
        ahead = json.loads(meta["ahead"])
        origin = json.loads(meta["origin"])
        checkpoint = Checkpoint(origin, int(meta["next_block"]), state, arrays, ahead)
        whole = meta["digest"] == checkpoint.digest()
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError, OSError) as error:
        raise UserError(
            f"{path} is not a checkpoint, or is damaged: {error}", **_advice(path)
        ) from None
    if not whole:
        raise UserError(f"{path} is damaged: {CHANGED}", **_advice(path))
    return checkpoint


def _same_run(path: Path, origin: Mapping[str, Any]) -> Checkpoint | None:
    """A checkpoint, if it is whole and of this run."""
    try:
        checkpoint = _read(path)
    except UserError:
        return None
    return None if checkpoint is None or differences(checkpoint.origin, origin) else checkpoint


def _advice(path: Path) -> dict[str, str]:
    return {
        "hint": f"delete {path} to start again, or choose another output path",
        "command": f"delete {path} to start again, or choose another place with -o",
    }
