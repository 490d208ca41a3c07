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
from faults.disk import SmallDisk, can_mount
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
        saved, kept = self.saved(job, folder), job.kept(folder)
        again = Child(job, folder).wait()
        if ended.code == DONE and ended.content == other and again.code == REFUSED:
            # The whole run was on the new corpus: its results are not replaced by those of the old.
            tally.add("finished, then refused")
            return
        if again.code != DONE or again.content != right:
            kind = "WRONG" if again.code == DONE else BAD.get(again.code, "STUCK")
            tally.add(kind, f"{note} then {again.code}: {again.log.strip()[-300:]}")
            return
        lost = steps_lost(ended, again, saved, kept)
        if job.lost is not None and ended.code not in (DONE, REFUSED) and lost > job.lost:
            tally.add("LOST", f"{note}: {ended.last} done, resumed at {again.first}")
            return
        then = "saved" if saved else "resumed"
        names = {DONE: "finished", STOPPED: f"stopped, {then}", REFUSED: "refused, repeated"}
        tally.add(names.get(ended.code, f"killed, {then}"))
        shutil.rmtree(folder, ignore_errors=True)

    def saved(self, job: Job, folder: Path) -> bool:
        """Whether the right results of a job are in a folder, read by a process of its own."""
        if job.read is None:
            return False
        read = job.read
        found = Child(Job(f"results of {job.name}", lambda at, _: read(at)), folder).wait()
        return found.code == DONE and found.content == self.clean(job).content


def steps_lost(ended: Ended, again: Ended, saved: bool, kept: int) -> int:
    """How many steps a run did that its repetition had to do again.

    A repetition that reports no progress has nothing to do: only if the results were saved, or a
    checkpoint had all steps, is that no loss.
    """
    if again.first >= 0:
        return ended.last - max(again.first - 1, 0)
    return 0 if saved else ended.last - kept


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
    """Let the disk run full: a small tmpfs, on which little more than the inputs fits."""
    tally = Tally()
    for _ in range(count):
        room = int(10 ** bench.random.uniform(3.6, 5.6))
        bench.number += 1
        disk = SmallDisk(bench.inputs, bench.place / f"t{bench.number}")
        try:
            disk.leave(room)
            ended = Child(job, disk.place).wait()
            disk.widen()
            bench.judge(job, disk.place, ended, tally, f"a disk with room for {room} bytes")
        finally:
            disk.remove()
    return tally


def large_files(bench: Bench, job: Job, count: int) -> Tally:
    """Let no file grow over a random size: the nearest to a full disk without a mount."""
    tally = Tally()
    for _ in range(count):
        limit = int(10 ** bench.random.uniform(1.5, 5.2))
        folder = bench.folder()
        ended = Child(job, folder, limit=limit).wait()
        bench.judge(job, folder, ended, tally, f"files of at most {limit} bytes")
    return tally


def no_room(bench: Bench, job: Job, count: int) -> tuple[str, Tally]:
    """Fill the disk in the way that this process may; its name, and what became of it."""
    if can_mount():
        return "full disk (tmpfs)", full_disk(bench, job, count)
    return "full disk (limit)", large_files(bench, job, count)


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
        codes = sorted(child.code for child in ended)
        if codes not in ([DONE, DONE], [DONE, REFUSED]):
            tally.add("STUCK", f"{job.name}, two writers: {[child.log[-200:] for child in ended]}")
            continue
        for child in ended:  # judging removes the folder: an attempt counts once
            if child.code == DONE and folder.exists():
                bench.judge(job, folder, child, tally, "two writers")
    return tally


def moved_clock(bench: Bench, job: Job, count: int) -> Tally:
    """Let the clock jump."""
    tally = Tally()
    for _ in range(count):
        folder = bench.folder()
        bench.judge(job, folder, Child(job, folder, clock=True).wait(), tally, "clock moved")
    return tally


def killed_workers(bench: Bench, job: Job, count: int) -> Tally:
    """Kill one of the worker processes of a run.

    A run that ends before a worker was there to be killed is not counted.
    """
    tally = Tally()
    hit = 0
    for _ in range(5 * count):
        if hit == count:
            break
        folder, moment = bench.folder(), bench.moment(job)
        child = Child(job, folder)
        time.sleep(moment)
        killed = _kill_worker(child)
        ended = child.wait()
        if killed:
            bench.judge(job, folder, ended, tally, f"a worker killed after {moment:.2f} s")
            hit += 1
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def _kill_worker(child: Child) -> bool:
    """Kill the first worker that there is, as soon as there is one."""
    while child.running():
        for worker in _workers(child.process):
            with suppress(psutil.Error):
                worker.kill()
                return True
        time.sleep(0.02)
    return False


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
