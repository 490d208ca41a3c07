"""Inject all faults and print what became of them: ``make faults``.

The exit status is 1 if a number was wrong, work was lost, or a message was missing.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from faults import battery  # noqa: E402
from faults.damage import Tally, damage_kind  # noqa: E402
from faults.jobs import JOBS, RAY, WORKERS, Job, prepare  # noqa: E402
from faults.kinds import KINDS  # noqa: E402
from faults.page import COLUMNS  # noqa: E402

GOOD = frozenset(name for names in COLUMNS.values() for name in names)
SIGNALS = {
    "survey": 10,
    "compare": 5,
    "ablate": 5,
    "probe": 3,
    "tune": 3,
    "examples": 3,
    "paper": 1,
}
"""How often each signal is sent to each kind of run."""
Row = tuple[str, str, Tally]
Times = Callable[[int], int]


def damage(place: Path, count: int) -> Iterator[Row]:
    """Damage files of every kind."""
    for number, kind in enumerate(KINDS):
        yield kind.name, "damaged file", damage_kind(kind, place / f"kind{number}", count, number)


def runs(bench: battery.Bench, times: Times, only: set[str]) -> Iterator[Row]:
    """Hurt runs; ``times`` says how often, given how often it is usual."""
    for job in JOBS:
        if only and job.name not in only:
            continue
        for name in battery.SIGNALS:
            yield job.name, name, battery.signals(bench, job, name, times(SIGNALS[job.name]))
        yield job.name, *battery.no_room(bench, job, times(SIGNALS[job.name]))
        if job.name == "survey":
            yield from _survey_only(bench, job, times)
        elif job.name == "tune":
            yield job.name, "two writers", battery.two_writers(bench, job, times(2))
            yield job.name, "model removed", battery.removed(bench, job, "model", times(2))
    for job in (WORKERS, RAY):
        if not only or job.name in only:
            yield job.name, "worker killed", battery.killed_workers(bench, job, times(4))
            yield job.name, "SIGKILL", battery.signals(bench, job, "SIGKILL", times(2))
            yield job.name, "SIGINT", battery.signals(bench, job, "SIGINT", times(2))


def _survey_only(bench: battery.Bench, job: Job, times: Times) -> Iterator[Row]:
    yield job.name, "corpus rewritten", battery.rewritten(bench, job, times(10))
    for name in ("out", "model", "texts.txt"):
        yield job.name, f"{name} removed", battery.removed(bench, job, name, times(5))
    yield job.name, "two writers", battery.two_writers(bench, job, times(5))
    yield job.name, "clock moved", battery.moved_clock(bench, job, times(5))


def main() -> None:
    """Run the battery."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=16, help="damages of each file")
    parser.add_argument("--share", type=float, default=1.0, help="of the faults in runs")
    parser.add_argument("--times", type=int, help="of each fault in runs, instead of --share")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="these runs, or 'files'")
    parser.add_argument("--json", type=Path, help="write the counts here")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    place = Path(tempfile.mkdtemp(prefix="headscope-faults-"))
    only, rows, notes = set(given.only), [], list[str]()

    def times(usual: int) -> int:
        return given.times or max(1, round(usual * given.share))

    try:
        bench = battery.Bench(place / "inputs", place, given.seed)
        bench.inputs.mkdir()
        with contextlib.redirect_stderr(io.StringIO()):
            prepare(bench.inputs)
        hurt = runs(bench, times, only - {"files"}) if only != {"files"} else iter(())
        files = damage(place, given.count) if not only or "files" in only else iter(())
        # Runs first: they are forked, which is safe only before libraries have started threads.
        for where, fault, tally in (row for part in (hurt, files) for row in part):
            print(f"{where:28} {fault:18} {dict(tally.outcomes)}", flush=True)
            for note in tally.notes:
                print(f"    {note}", flush=True)
            rows.append({"where": where, "fault": fault, "outcomes": dict(tally.outcomes)})
            notes += tally.notes
    finally:
        shutil.rmtree(place, ignore_errors=True)
    total = Counter[str]()
    for row in rows:
        total.update(row["outcomes"])
    print(f"{sum(total.values())} faults: {dict(total)}")
    if given.json:
        given.json.write_text(json.dumps({"rows": rows, "notes": notes}, indent=1) + "\n")
    sys.exit(bool(set(total) - GOOD))


if __name__ == "__main__":
    main()
