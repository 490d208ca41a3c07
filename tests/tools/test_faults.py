"""Damaged files of every kind are found or repaired, and the battery itself finds what is not."""

import ast
from pathlib import Path

import pytest
from faults.battery import steps_lost
from faults.children import Ended
from faults.damage import BAD, Kind, damage_kind, damages
from faults.kinds import KINDS

from processes import python

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damage_to_any_file_is_refused_or_repaired(kind, tmp_path):
    tally = damage_kind(kind, tmp_path, count=16, seed=1)
    assert tally.notes == []
    assert sum(tally.outcomes.values()) >= 16
    assert not set(tally.outcomes) & set(BAD)


def test_the_battery_finds_a_kind_of_file_that_is_not_protected(tmp_path):
    def write(folder):
        (folder / "notes.txt").write_text("0.25 " * 40)

    plain = Kind("plain text", write, lambda folder: (folder / "notes.txt").read_text())
    tally = damage_kind(plain, tmp_path, count=40, seed=0)
    assert tally.outcomes["WRONG"] > 20
    assert tally.outcomes["CRASH"] > 0  # a bit that is no UTF-8
    assert len(tally.notes) == 40


def test_damages_are_bits_cuts_and_zeros():
    data = bytes(range(256)) * 8
    found = dict(damages(data, 16, seed=0))
    bits = [changed for how, changed in found.items() if how.startswith("bit")]
    assert len(bits) == 12
    for changed in bits:
        differ = [one ^ other for one, other in zip(data, changed, strict=True) if one != other]
        assert len(differ) == 1
        assert differ[0].bit_count() == 1
    assert sum(len(changed) < len(data) for changed in found.values()) == 2


@pytest.mark.parametrize(
    ("first", "saved", "kept", "lost"),
    [
        (8, False, 0, 0),
        (5, False, 0, 3),
        (0, False, 0, 7),
        (1, True, 0, 7),
        (-1, True, 0, 0),
        (-1, False, 0, 7),
        (-1, False, 6, 1),
        (-1, False, 7, 0),
    ],
)
def test_a_repeated_run_without_progress_lost_all_that_was_not_saved(first, saved, kept, lost):
    """Seven steps were done; the first step of the repetition is ``first``."""
    ended = Ended(-9, "", 0, 7, 1.0, "")
    again = Ended(0, "right", first, first, 1.0, "")
    assert steps_lost(ended, again, saved, kept) == lost


DISK = """
import errno, sys
from pathlib import Path
from faults.disk import SmallDisk, can_mount
inputs = Path(sys.argv[1])
if not can_mount():
    sys.exit(77)
disk = SmallDisk(inputs, inputs.parent / "small")
assert (disk.place / "a.txt").read_text() == "mine"
disk.leave(8192)
try:
    (disk.place / "b").write_bytes(bytes(100_000))
    sys.exit("the disk was not full")
except OSError as error:
    assert error.errno == errno.ENOSPC, error
disk.widen()
(disk.place / "b").write_bytes(bytes(100_000))
disk.remove()
assert not disk.place.exists()
"""


def test_a_small_disk_runs_full_and_nobody_else_sees_it(tmp_path):
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "a.txt").write_text("mine")
    done = python("-c", DISK, tmp_path / "inputs", cwd=TOOLS)
    if done.returncode == 77:
        pytest.skip("no disk can be mounted here")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in Path("/proc/mounts").read_text()


FAULTS = {
    *("SIGKILL", "SIGTERM", "SIGINT", "full disk", "corpus rewritten", "out removed"),
    *("model removed", "texts.txt removed", "two writers", "clock moved"),
}


@pytest.mark.slow
def test_a_survey_survives_one_fault_of_every_kind():
    done = python("-m", "faults", "--only", "survey", "--share", "0.01", cwd=TOOLS)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    rows = [line for line in done.stdout.splitlines() if line.startswith("survey ")]
    names = [row.removeprefix("survey").partition("{")[0] for row in rows]
    kinds = {name.partition("(")[0].strip() for name in names}  # full disk (tmpfs) or (limit)
    assert kinds == FAULTS, done.stdout
    counts = [sum(ast.literal_eval(row[row.index("{") :]).values()) for row in rows]
    assert counts == [1] * len(FAULTS), done.stdout
