"""Damaged files of every kind are found or repaired, and the battery itself finds what is not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from faults.damage import BAD, Kind, damage_kind, damages
from faults.kinds import KINDS


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_damage_to_any_file_is_refused_or_repaired(kind: Kind, tmp_path: Path) -> None:
    tally = damage_kind(kind, tmp_path, count=16, seed=1)
    assert tally.notes == []
    assert sum(tally.outcomes.values()) >= 16
    assert not set(tally.outcomes) & set(BAD)


def test_the_battery_finds_a_kind_of_file_that_is_not_protected(tmp_path: Path) -> None:
    def write(folder: Path) -> None:
        (folder / "notes.txt").write_text("0.25 " * 40)

    plain = Kind("plain text", write, lambda folder: (folder / "notes.txt").read_text())
    tally = damage_kind(plain, tmp_path, count=40, seed=0)
    assert tally.outcomes["WRONG"] > 20
    assert tally.outcomes["CRASH"] > 0  # a bit that is no UTF-8
    assert len(tally.notes) == 40


def test_damages_are_bits_cuts_and_zeros() -> None:
    data = bytes(range(256)) * 8
    found = dict(damages(data, 16, seed=0))
    bits = [changed for how, changed in found.items() if how.startswith("bit")]
    assert len(bits) == 12
    for changed in bits:
        differ = [one ^ other for one, other in zip(data, changed, strict=True) if one != other]
        assert len(differ) == 1
        assert differ[0].bit_count() == 1
    assert sum(len(changed) < len(data) for changed in found.values()) == 2


FAULTS = {
    *("SIGKILL", "SIGTERM", "SIGINT", "full disk", "corpus rewritten", "out removed"),
    *("model removed", "texts.txt removed", "two writers", "clock moved"),
}


@pytest.mark.slow
def test_a_survey_survives_one_fault_of_every_kind() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "faults", "--only", "survey", "--share", "0.01"],
        cwd=Path(__file__).parents[2] / "tools",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    rows = [line for line in done.stdout.splitlines() if line.startswith("survey ")]
    kinds = {row.removeprefix("survey").partition("{")[0].strip() for row in rows}
    assert kinds == FAULTS, done.stdout
    counts = [sum(ast.literal_eval(row[row.index("{") :]).values()) for row in rows]
    assert counts == [1] * len(FAULTS), done.stdout
