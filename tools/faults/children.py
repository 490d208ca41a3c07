"""A run in a process of its own, as the command line runs it, that can be hurt from outside."""

from __future__ import annotations

import faulthandler
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from faults.jobs import Job
from headscope.cli import _stop_on_sigterm
from headscope.errors import Interrupted, UserError

DONE, STOPPED, REFUSED, UNADVISED, CRASHED, HUNG = 0, 130, 2, 71, 70, 72
PATIENCE = 240.0
"""Seconds after which a process that should have ended counts as hung."""
Hurt = Callable[[int, Path], None]
"""Does something to a running process: its id, and its folder."""


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Parameters
    ----------
    code
        Its exit status; negative for a signal.
    content
        The digest of what it found, if it finished.
    first, last
        The progress that its own work began with, and that it reported last; -1 for none.
    seconds
        How long it ran.
    log
        What it printed.
    """

    code: int
    content: str
    first: int
    last: int
    seconds: float
    log: str


class Child:
    """A job in a forked process.

    Parameters
    ----------
    job
        What it does.
    folder
        Where. Its notes are beside the folder, so that the folder can be removed.
    limit
        The largest file that it may write, in bytes: what a full disk does, with another errno.
    clock
        Whether its clock jumps.
    """

    def __init__(self, job: Job, folder: Path, *, limit: int = 0, clock: bool = False) -> None:
        self.job, self.folder = job, folder
        number = len(list(folder.parent.glob(f"{folder.name}.*.log")))
        self.notes = folder.parent / f"{folder.name}.{number}"
        self.began = time.monotonic()
        self.process = os.fork()
        if self.process == 0:
            try:
                self._run(limit, clock)
            finally:
                os._exit(CRASHED)

    def running(self) -> bool:
        """Whether it has not ended yet; it must still be waited for."""
        quiet = os.WEXITED | os.WNOHANG | os.WNOWAIT
        patient = time.monotonic() - self.began < PATIENCE
        return patient and os.waitid(os.P_PID, self.process, quiet) is None

    def wait(self) -> Ended:
        """Wait for its end."""
        code = HUNG
        while time.monotonic() - self.began < PATIENCE:
            found, status = os.waitpid(self.process, os.WNOHANG)
            if found:
                code = os.waitstatus_to_exitcode(status)
                break
            time.sleep(0.005)
        else:
            os.kill(self.process, signal.SIGUSR1)  # its stack, into the log
            time.sleep(1.0)
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        steps = [int(step) for step in self._read("progress").split()]
        return Ended(
            code,
            self._read("content"),
            _first(steps),
            steps[-1] if steps else -1,
            time.monotonic() - self.began,
            self._read("log"),
        )

    def _read(self, what: str) -> str:
        path = self._note(what)
        return path.read_text(errors="replace") if path.exists() else ""

    def _note(self, what: str) -> Path:
        return self.notes.with_name(f"{self.notes.name}.{what}")

    def _run(self, limit: int, clock: bool) -> None:
        """What the child does; it never returns."""
        log = os.open(self._note("log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        steps = os.open(self._note("progress"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        for handle in (1, 2):
            os.dup2(log, handle)
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _stop_on_sigterm()
        code = CRASHED
        try:
            if clock:
                _jumping_clock()
            if limit:
                _limit_files(limit)
            try:
                found = self.job.run(self.folder, lambda done, _: _note_step(steps, done))
            finally:
                _limit_files(resource.RLIM_INFINITY)  # for our own notes
            self._note("content").write_text(found)
            code = DONE
        except UserError as error:
            advice = error.command or error.hint
            print(f"error: {error.message}\nnext: {advice}", file=sys.stderr)
            stopped = isinstance(error, Interrupted)
            code = (STOPPED if stopped else REFUSED) if advice else UNADVISED
        except KeyboardInterrupt:  # before the run began, or after it ended
            code = STOPPED
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def _first(steps: list[int]) -> int:
    """Where the work began: blocks that an earlier run did are reported before it, in leaps.

    >>> _first([16, 16, 19, 20, 21]), _first([24, 24]), _first([])
    (19, 24, -1)
    """
    for step, after in pairwise(steps):
        if after == step + 1:
            return step
    return steps[-1] if steps else -1


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def _note_step(handle: int, done: int) -> None:
    with suppress(OSError):  # the limit on files holds for this one, too
        os.write(handle, f"{done}\n".encode())


def _jumping_clock() -> None:
    """The wall clock jumps back and forth; the monotonic one jumps forward, as after a sleep."""
    wall, steady, calls = time.time, time.monotonic, [0]

    def jump() -> float:
        calls[0] += 1
        return wall() + (-86400.0, 0.0, 86400.0, -3.2e7)[calls[0] % 4]

    def leap() -> float:
        calls[0] += 1
        return steady() + 50.0 * calls[0]

    time.time, time.monotonic = jump, leap
    time.gmtime = lambda seconds=None, made=time.gmtime: made(
        jump() if seconds is None else seconds
    )


def fresh(inputs: Path, folder: Path) -> Path:
    """A folder with the inputs of all jobs and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)
    return folder
