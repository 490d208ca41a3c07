"""Files: whole or not at all, one writer at a time, damage found by digests."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
from pathlib import Path

import pytest

from headscope.errors import ResultsError, UserError
from headscope.files import atomic_write, check_writable, checksum, digest_of, locked, write_text


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with atomic_write(path) as temporary:
        temporary.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert names(path.parent) == ["a.txt"]


def test_a_failure_leaves_what_stood_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")

    def fail():
        with atomic_write(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        fail()
    assert path.read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_is_an_error_of_ours_and_leaves_nothing(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    with (
        pytest.raises(ResultsError, match="No space left on device") as error,
        atomic_write(tmp_path / "a.txt", error=ResultsError),
    ):
        raise full
    assert "-o" in error.value.command
    assert "-o" not in error.value.hint
    assert names(tmp_path) == []


def test_new_files_have_the_permissions_of_other_new_files(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "a.txt").symlink_to(victim)
    write_text(tmp_path / "a.txt", "new")
    assert victim.read_text() == "mine"
    assert not (tmp_path / "a.txt").is_symlink()


def _hold(path: Path, ready: object, done: object) -> None:
    with locked(path):
        ready.set()  # type: ignore[attr-defined]
        done.wait(300)  # type: ignore[attr-defined]


def test_a_second_process_is_refused_until_the_first_is_done(tmp_path):
    path = tmp_path / "out.nc"
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    assert ready.wait(300)
    with pytest.raises(UserError, match="another process is writing to"), locked(path):
        pass
    done.set()
    other.join()
    with locked(path):
        pass
    assert names(tmp_path) == []


def test_a_lock_of_a_killed_process_does_not_stay(tmp_path):
    path = tmp_path / "out.nc"
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, done))
    other.start()
    assert ready.wait(300)
    other.kill()
    other.join()
    with locked(path):
        pass


def test_the_checksum_is_sha256(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc" * 1000)
    assert checksum(path) == hashlib.sha256(b"abc" * 1000).hexdigest()


def test_a_digest_depends_on_every_part_and_where_it_ends():
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc")]
    assert len({digest_of(*part) for part in parts}) == len(parts)
    assert digest_of("ab", b"c") == digest_of(b"ab", memoryview(b"c"))


@pytest.mark.parametrize("place", ["folder", "file/below", "locked/below"])
def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path, place):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    if place == "locked/below":
        if os.getuid() == 0:
            pytest.skip("root may write everywhere")
        (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(UserError, match="folder"):
        check_writable(tmp_path / place)
