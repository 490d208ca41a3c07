"""The one run: a plan of numbered blocks of work that resumes, checkpoints, and stops on Ctrl-C.

Survey, compare, ablate and probe are each a :class:`Run`: they say which blocks there are, how one
is done, what to remember, and how results are made of it. Everything else is here: the lock on the
output, the finished run that is opened instead of done again, checkpoints, progress, interruption.
Fine-tuning, whose checkpoints are transformers' own, is only a :class:`Job`.
"""

from __future__ import annotations

import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from numpy.typing import NDArray

from headscope.corpus import Corpus
from headscope.errors import Interrupted, ResultsError, UserError, WorkersLost, out_of_memory
from headscope.files import check_writable, locked, uninterrupted
from headscope.identity import KEYS, another_run, differences, identity_of, listed
from headscope.models import Model
from headscope.progress import ProgressLike, Reporter, Update, as_reporter
from headscope.results import Atlas
from headscope.runs.checkpoint import (
    Checkpoint,
    read_checkpoint,
    remove_checkpoint,
    write_checkpoint,
)

EVERY = 5.0
"""Seconds between two checkpoints."""
REST = 20.0
"""A checkpoint that took a second to write is followed by at least this many seconds of work."""
AGAIN = {
    "hint": "call it again with the same arguments to resume",
    "command": "type the same command again to resume",
}
"""What to do after an interruption."""
RESUME = "run the same thing again to resume"
"""What torch says when there is no memory left, on one device or another."""
Arrays = Mapping[str, NDArray[Any]]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Block:
    """One numbered block of work. ``work`` is whatever the run needs to do it."""

    index: int
    work: Any


class Job(ABC, Generic[Result]):
    """Work with an output that one process writes, and that is not done twice.

    Parameters
    ----------
    title
        What it does, for the progress bar.
    output
        Where the result is saved; None only returns it.
    overwrite
        Replace the result of another job in the output, and do this one again if it is there. An
        output of another job is an error otherwise.
    """

    def __init__(
        self, title: str, *, output: str | Path | None = None, overwrite: bool = False
    ) -> None:
        self.title = title
        self.output = Path(output).absolute() if output is not None else None
        self.overwrite = overwrite
        self.say: Callable[[str], None] = _ignore
        """Tells people what happened, once the job has begun."""

    @cached_property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Everything that changes the numbers: model, corpus, settings."""

    @abstractmethod
    def finished(self) -> Result | None:
        """The result of this very job, if the output holds it already.

        Raises
        ------
        AnotherRunError
            If it holds that of another one, which is not to be overwritten.
        """

    @abstractmethod
    def work(self, reporter: Reporter) -> Result:
        """Do what is left to do."""

    @abstractmethod
    def save(self, result: Result) -> None:
        """Write the result to the output."""

    def check(self) -> None:
        """Called first: what can be known to be wrong is an error before anything is done."""

    def corpora(self) -> Sequence[Corpus]:
        """The corpora that are read, which must not change meanwhile."""
        found = getattr(self, "corpus", None)
        return [found] if isinstance(found, Corpus) else []

    def check_corpora(self) -> None:
        """Check that no corpus has changed since the job began."""
        for corpus in self.corpora():
            corpus.check_unchanged()

    @cached_property
    def identity(self) -> str:
        """A digest of all that changes the numbers, by which a job knows its own files."""
        return identity_of(self.about)

    def execute(self, progress: ProgressLike = False) -> Result:
        """Do what is left to do, save the result if there is an output, and return it.

        If the output already holds the result of this very job, it is opened.
        """
        self.check()
        reporter = as_reporter(progress)
        self.say = reporter.say
        for corpus in self.corpora():
            _ = corpus.checksum  # as it is now, before anything of it is used
        if self.output is None:
            result = self.work(reporter)
            self.check_corpora()
            return result
        with locked(self.output):
            found = self.finished()
            if found is not None:
                return found
            result = self.work(reporter)
            self.check_corpora()
            self.save(result)
            return result


class AtlasJob(Job[Atlas]):
    """A job that makes an atlas."""

    part = False
    """Whether the results are a part of a larger job: then they are kept like a checkpoint, which
    ``overwrite`` does not do again, and which other versions of libraries must not go on with."""

    def check(self) -> None:
        """Check that the output can be written."""
        if self.output is not None:
            check_writable(self.output, error=ResultsError)

    def finished(self) -> Atlas | None:
        """The results of this very job, if the output holds them already.

        Results that other versions of libraries made are results of the same job; it is said that
        they are older. Only ``overwrite`` makes them again.
        """
        if self.output is None or not self.output.exists():
            return None
        if self.overwrite and not self.part:
            return None
        try:
            found = Atlas.open(self.output)
        except ResultsError as error:
            self.say(f"{error.message}; it is made again")
            return None
        there = found.provenance
        differing = differences(there, self.about)
        older = differences(*({"versions": of} for of in (there.get("versions", {}), versions())))
        if self.part:
            differing += older
        if differing and self.overwrite:
            return None
        if differing:
            raise another_run(f"{self.output} holds the results of another run", differing)
        if not self.part:
            made = f", made with other versions ({listed(older)}); --overwrite computes it again"
            self.say(f"opened {self.output}: it already holds this run{made if older else ''}")
        return found

    def save(self, result: Atlas) -> None:
        """Write the results."""
        if self.output is not None:
            result.save(self.output)

    def provenance(self) -> dict[str, Any]:
        """What is written beside the results of every run."""
        return {
            "shards": ["1/1"],
            **self.about,
            KEYS: sorted(self.about),
            "identity": self.identity,
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


class Run(AtlasJob):
    """A resumable job that makes an atlas.

    Parameters
    ----------
    title
        What it does, for the progress bar ("surveying").
    output
        Where the results are saved; None only returns them.
    checkpoint
        Where the state is kept meanwhile. Default: beside the output, as ``OUTPUT.partial``.
    every
        Seconds between two checkpoints.
    overwrite
        See :class:`Job`. The checkpoint of another run is replaced too; that of this very run is
        resumed in any case.
    """

    def __init__(
        self,
        title: str,
        *,
        output: str | Path | None = None,
        checkpoint: str | Path | None = None,
        every: float = EVERY,
        overwrite: bool = False,
    ) -> None:
        super().__init__(title, output=output, overwrite=overwrite)
        self.state_path = Path(checkpoint).absolute() if checkpoint is not None else self._beside()
        self.every = every
        self.next_block = 0
        self.ahead: set[int] = set()
        """Blocks beyond the next one that are done already, by workers that were faster."""
        self.whole = True
        """False while a block is half added to what is remembered: then nothing is saved."""
        self._due = 0.0

    @cached_property
    def origin(self) -> dict[str, Any]:
        """What a checkpoint must agree with: the run, and the versions of libraries as well.

        Half of a run with one version and half with another would be a result of neither.
        """
        return {**self.about, "versions": versions()}

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The blocks of work, in their order; always the same ones."""

    @abstractmethod
    def do(self, block: Block, update: Update) -> None:
        """Do one block, and remember what it gave.

        Set ``self.whole = False`` before remembering it in several steps: what an interruption in
        between leaves must not be saved.
        """

    @abstractmethod
    def progress(self) -> tuple[int, int]:
        """How much is done, and how much there is."""

    @abstractmethod
    def result(self) -> Atlas:
        """The results, when all blocks are done."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """What a checkpoint must hold: values for JSON, and arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up what a checkpoint held."""

    def begin(self) -> None:
        """Called once before the first block, after a checkpoint was taken up."""

    def started(self) -> bool:
        """Whether there is anything that a checkpoint could hold."""
        return bool(self.next_block or self.ahead)

    def passed(self, block: Block) -> None:
        """Called for every block, done now or earlier, before its progress is reported."""

    def so_far(self) -> str:
        """What has been done, for the message after Ctrl-C."""
        done, total = self.progress()
        return f"{done} of {total}" if total else str(done)

    def kept(self) -> str:
        """What there is after Ctrl-C if there is no state."""
        return "nothing was kept"

    def check(self) -> None:
        """Check that checkpoint and output can be written."""
        if self.state_path is not None:
            check_writable(self.state_path)
        super().check()

    def save(self, result: Atlas) -> None:
        """Write the results, then remove the checkpoint."""
        try:
            super().save(result)
        except KeyboardInterrupt:
            raise self._interrupted() from None
        except ResultsError:
            with suppress(UserError):  # the disk may be too full for this, too
                self._save()
            raise
        if self.state_path is not None:  # only now: the results are on the disk
            remove_checkpoint(self.state_path)

    def work(self, reporter: Reporter) -> Atlas:
        """Resume, do the remaining blocks, and make results of them."""
        self._resume(reporter)
        if self.started() and self.state_path is not None:
            reporter.say(f"resuming from {self.state_path}")
        try:
            self.begin()
            self._due = time.monotonic() + self.every
            with reporter.progress(self.title) as update:
                self.all_blocks(update)
            return self.result()
        except KeyboardInterrupt:
            raise self._interrupted() from None
        except WorkersLost as error:
            raise self._failed(error.message, error.hint, error.command) from None
        except (MemoryError, OSError, RuntimeError) as error:
            reason, advice = _known_failure(error)
            if not reason:
                raise
            raise self._failed(reason, advice) from error

    def all_blocks(self, update: Update) -> None:
        """Do all blocks that are left."""
        self.do_blocks(self.blocks(), update)

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

    def pause(self) -> None:
        """Write a checkpoint if one is due. A run may call it within a long block, too."""
        if self.state_path is None or time.monotonic() < self._due:
            return
        began = time.monotonic()
        self._save()
        saved = time.monotonic()
        self._due = saved + (max(self.every, REST * (saved - began)) if self.every else 0.0)

    def _beside(self) -> Path | None:
        return None if self.output is None else self.output.with_name(self.output.name + ".partial")

    def _save(self) -> None:
        if self.state_path is not None and self.started():
            self.check_corpora()  # everything in the state was read from the corpus as it was
            state, arrays = self.state()
            found = Checkpoint(self.origin, self.next_block, state, arrays, sorted(self.ahead))
            write_checkpoint(self.state_path, found)

    def _resume(self, reporter: Reporter) -> None:
        if self.state_path is None:
            return
        found = read_checkpoint(
            self.state_path, self.origin, reporter.say, overwrite=self.overwrite
        )
        if found is not None:
            self.next_block, self.ahead = found.next_block, set(found.ahead)
            self.restore(found.state, found.arrays)

    def _failed(self, reason: str, advice: str, command: str = "") -> UserError:
        """The error after the machine failed the run: what was finished is kept."""
        if self.state_path is not None and self.whole:
            with suppress(UserError, MemoryError):
                self._save()
        if self.state_path is None or not self.state_path.exists():
            return UserError(f"{reason}; {self.kept()}", hint=advice, command=command)
        kept = f"{reason}; the state is kept in {self.state_path}"
        return UserError(kept, hint=advice, command=command)

    def _interrupted(self) -> Interrupted:
        """The error after Ctrl-C. A block that is half done is not saved."""
        if self.state_path is None:
            return Interrupted(
                f"stopped; {self.kept()}", hint="with output=PATH a stopped run can be resumed"
            )
        if self.whole:
            with suppress(KeyboardInterrupt), uninterrupted():  # pressed again: it is saved first
                self._save()
        if not self.state_path.exists():
            return Interrupted(f"stopped before anything was finished; {self.kept()}", **AGAIN)
        where = f"the state is kept in {self.state_path}"
        if not self.whole:
            return Interrupted(f"stopped; {where} as of the last checkpoint", **AGAIN)
        return Interrupted(f"stopped after {self.so_far()}; {where}", **AGAIN)


def _known_failure(error: Exception) -> tuple[str, str]:
    """What failed, and what to do, if it was the machine: its memory or its disk."""
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        return f"the run failed: {error.strerror or error}{where}", f"correct that, then {RESUME}"
    if out_of_memory(error):
        smaller = "or start again with a smaller batch size or maximum length"
        return "the memory is not enough", f"close other programs, then {RESUME}; {smaller}"
    return "", ""


def _ignore(_: str) -> None:
    """Say nothing: nobody listens yet."""


def describe(model: Model, stack: str) -> dict[str, Any]:
    """A model as provenance names it."""
    shape = model.shape(stack)
    unusual: dict[str, Any] = {} if shape.counted else {"layer_numbers": list(shape.labels)}
    if shape.sink:
        unusual["sink"] = "learned"
    if shape.grouped:  # one number, unless layers differ
        one = len(set(shape.kv_heads)) == 1
        unusual["kv_heads"] = shape.kv_heads[0] if one else list(shape.kv_heads)
    return {
        "name": model.label,
        "revision": model.revision,
        "type": model.config.model_type,
        "quantization": model.quantization,
        "adapter": model.adapter,
        "tokens": _token_names(model.tokenizer),
        **model.identity(stack),
        "layers": shape.layers,
        "heads": shape.heads,
        "causal": model.causal(stack),
        **unusual,
    }


def _token_names(tokenizer: Any) -> dict[str, str]:
    """What the model calls its start token and its separator, as far as it has them."""
    names = {
        "start": tokenizer.cls_token or tokenizer.bos_token,
        "separator": tokenizer.sep_token or tokenizer.eos_token,
    }
    return {kind: str(name) for kind, name in names.items() if name}


def versions() -> dict[str, str]:
    """The versions of the libraries that numbers depend on."""
    libraries = ("headscope", "torch", "transformers", "numpy", "xarray")
    return {
        "python": platform.python_version(),
        **{name: _installed(name) for name in libraries},
    }


_installed = cache(version)  # which reads a file every time
