"""All faults of all jobs: what is done to a run, and how its end is judged."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from faults.children import CRASHED, DONE, HUNG, REFUSED, STOPPED, UNADVISED, Child, Ended, fresh
from faults.damage import Tally
from faults.jobs import Job

SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
BAD = {CRASHED: "CRASH", UNADVISED: "SILENT", HUNG: "HANG"}


@dataclass
class Bench:
    """Where faults are tried.

    Parameters
    ----------
    inputs
        The folder with the inputs of all jobs.
    place
        A scratch folder.
    seed
        Of the moments at which faults happen.
    """

    inputs: Path
    place: Path
    seed: int = 0
    right: dict[str, Ended] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.number = 0

    def folder(self) -> Path:
        """A new folder with the inputs."""
        self.number += 1
        return fresh(self.inputs, self.place / f"t{self.number}")

    def clean(self, job: Job) -> Ended:
        """What a job finds if nothing happens, and how long it takes."""
        if job.name not in self.right:
            ended = Child(job, self.folder()).wait()
            if ended.code != DONE:
                raise RuntimeError(f"{job.name} fails without a fault:\n{ended.log}")
            self.right[job.name] = ended
        return self.right[job.name]

    def moment(self, job: Job) -> float:
        """A random moment of a run, in seconds."""
        return self.random.uniform(0.02, 1.0) * self.clean(job).seconds

    def judge(
        self, job: Job, folder: Path, ended: Ended, tally: Tally, what: str, other: str = ""
    ) -> None:
        """Judge a hurt run, and the same run once more without a fault.

        ``other`` is what the hurt run may have found as well.
        """
        note = f"{job.name}, {what}: {ended.log.strip()[-3000:]}"
        if ended.code in BAD:
            tally.add(BAD[ended.code], note)
            return
        right = self.clean(job).content
        if ended.code == DONE and ended.content not in (right, other):
            tally.add("WRONG", note)
            return
        again = Child(job, folder).wait()
        if again.code != DONE or again.content != right:
            kind = "WRONG" if again.code == DONE else BAD.get(again.code, "STUCK")
            tally.add(kind, f"{note} then {again.code}: {again.log.strip()[-300:]}")
            return
        # A run that found its results saved already reports no progress.
        lost = ended.last - max(again.first - 1, 0) if again.first >= 0 else 0
        if job.lost is not None and ended.code not in (DONE, REFUSED) and lost > job.lost:
            tally.add("LOST", f"{note}: {ended.last} done, resumed at {again.first}")
            return
        names = {DONE: "finished", STOPPED: "stopped, resumed", REFUSED: "refused, repeated"}
        tally.add(names.get(ended.code, "killed, resumed"))
        shutil.rmtree(folder, ignore_errors=True)


def signals(bench: Bench, job: Job, name: str, count: int) -> Tally:
    """Send a signal at random moments."""
    tally = Tally()
    for _ in range(count):
        folder, moment = bench.folder(), bench.moment(job)
        child = Child(job, folder)
        time.sleep(moment)
        with suppress(ProcessLookupError):
            os.kill(child.process, SIGNALS[name])
        bench.judge(job, folder, child.wait(), tally, f"{name} after {moment:.2f} s")
    return tally


def full_disk(bench: Bench, job: Job, count: int) -> Tally:
    """Let no file grow over a random size."""
    tally = Tally()
    for _ in range(count):
        limit = int(10 ** bench.random.uniform(1.5, 5.2))
        folder = bench.folder()
        ended = Child(job, folder, limit=limit).wait()
        bench.judge(job, folder, ended, tally, f"files of at most {limit} bytes")
    return tally


def removed(bench: Bench, job: Job, name: str, count: int) -> Tally:
    """Remove a folder or a file of a run, which is put back before the run is repeated."""
    tally = Tally()
    for _ in range(count):
        folder, moment = bench.folder(), bench.moment(job)
        child = Child(job, folder)
        time.sleep(moment)
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).unlink(missing_ok=True) if (folder / name).is_file() else None
        ended = child.wait()
        _put_back(bench.inputs, folder)
        bench.judge(job, folder, ended, tally, f"{name} removed after {moment:.2f} s")
    return tally


def rewritten(bench: Bench, job: Job, count: int) -> Tally:
    """Rewrite the corpus during the run, and put it back before the run is repeated."""
    tally = Tally()
    folder = bench.folder()
    _reverse(folder / "texts.txt")
    other = Child(job, folder).wait().content  # what a run on the new corpus alone finds
    for _ in range(count):
        folder, moment = bench.folder(), bench.moment(job)
        path = folder / "texts.txt"
        child = Child(job, folder)
        time.sleep(moment)
        _reverse(path)
        ended = child.wait()
        _reverse(path)
        bench.judge(job, folder, ended, tally, f"corpus rewritten after {moment:.2f} s", other)
    return tally


def _reverse(path: Path) -> None:
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")


def two_writers(bench: Bench, job: Job, count: int) -> Tally:
    """Start the same run twice at once."""
    tally = Tally()
    for _ in range(count):
        folder = bench.folder()
        children = [Child(job, folder)]
        time.sleep(bench.random.uniform(0.0, 0.3) * bench.clean(job).seconds)
        children.append(Child(job, folder))
        ended = [child.wait() for child in children]
        codes = sorted(one.code for one in ended)
        if codes not in ([DONE, DONE], [DONE, REFUSED]):
            tally.add("STUCK", f"{job.name}, two writers: {[one.log[-200:] for one in ended]}")
            continue
        for one in ended:
            bench.judge(job, folder, one, tally, "two writers") if one.code == DONE else (
                tally.add("refused")
            )
            if not folder.exists():
                break
    return tally


def moved_clock(bench: Bench, job: Job, count: int) -> Tally:
    """Let the clock jump."""
    tally = Tally()
    for _ in range(count):
        folder = bench.folder()
        bench.judge(job, folder, Child(job, folder, clock=True).wait(), tally, "clock moved")
    return tally


def killed_workers(bench: Bench, job: Job, count: int) -> Tally:
    """Kill one of the worker processes of a run."""
    tally = Tally()
    for _ in range(count):
        folder, moment = bench.folder(), bench.moment(job)
        child = Child(job, folder)
        time.sleep(moment)
        workers = list(_workers(child.process))
        for worker in workers[:1]:
            with suppress(psutil.Error):
                worker.kill()
        bench.judge(job, folder, child.wait(), tally, f"a worker of {len(workers)} killed")
    return tally


def _workers(process: int) -> Iterator[psutil.Process]:
    """Processes that do a run's work: those of loky, and Ray's workers."""
    with suppress(psutil.Error):
        for one in psutil.Process(process).children(recursive=True):
            with suppress(psutil.Error):
                line = " ".join(one.cmdline())
                # Ray's own agents are no workers: without them the whole cluster ends.
                if "loky" in line or ("ray::" in line and "Agent" not in line):
                    yield one


def _put_back(inputs: Path, folder: Path) -> None:
    for one in inputs.iterdir():
        if not (folder / one.name).exists():
            (shutil.copytree if one.is_dir() else shutil.copy)(one, folder / one.name)


Fault = Callable[[Bench, Job, int], Tally]
