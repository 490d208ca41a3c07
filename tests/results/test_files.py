"""Results files: whole or not at all, never a foreign or damaged one, and read without torch."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.files import check_writable
from headscope.results import SCHEMA, Atlas
from headscope.results.netcdf import oldest
from refusals import refusal

MAKE = "make one with: headscope survey MODEL CORPUS -o results.nc"
MAKE_HINT = "make one with hs.survey(model, corpus).save(path)"
Make = Callable[[Path, Atlas], object]
"""Makes what is not a results file of this version, out of one that is."""


@contextmanager
def full_disk(left: int) -> Iterator[None]:
    """No file may grow over so many bytes: what a full disk does, with another errno. (Python
    ignores the signal that goes with it.)
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (left, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_saved_file_opens_to_the_same_results(some, tmp_path):
    path = some.save(tmp_path / "deep" / "er" / "run.nc")
    assert path == tmp_path / "deep" / "er" / "run.nc"
    opened = Atlas.open(str(path))
    assert opened.tree.identical(some.tree)
    assert opened.measures == some.measures
    assert opened.provenance == some.provenance
    assert [file.name for file in path.parent.iterdir()] == ["run.nc"]


def test_saving_again_replaces_the_file_also_while_the_old_one_is_open(some, make, tmp_path):
    path = make(position=np.ones((1, 1, 1, 3))).save(tmp_path / "run.nc")
    held = Atlas.open(path)
    some.save(path)
    assert held.measures == ("position",)
    assert Atlas.open(path).tree.identical(some.tree)


def test_provenance_of_any_length_and_script_survives(make, tmp_path):
    long = {"corpus": {"name": "mine.txt", "note": 'ß 漢字 \x00 \n " ' + "x" * 200_000}}
    results = make(position=np.ones((1, 1, 1, 3)), **long)
    assert Atlas.open(results.save(tmp_path / "run.nc")).provenance["corpus"] == long["corpus"]


@pytest.mark.parametrize("kept", [0.0, 0.00001, 0.001, 0.03, 0.5, 0.97, 0.99999])
def test_a_truncated_copy_is_said_to_be_damaged(some, tmp_path, kept):
    path = some.save(tmp_path / "run.nc")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept)])
    error = refusal(ResultsError, Atlas.open, path)
    assert "damaged" in error.message
    assert "(an incomplete copy?)" in error.message
    assert error.hint == "copy it again, or run the survey again"


def test_one_flipped_bit_is_found_wherever_it_is(some, tmp_path):
    path = some.save(tmp_path / "run.nc")
    whole = path.read_bytes()
    places = np.random.default_rng(0).integers(0, 8 * len(whole), 60)
    for place in places.tolist():
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ResultsError, match="damaged"):
            Atlas.open(path)


def test_the_netcdf_library_never_sees_a_file_without_a_digest(some, tmp_path, monkeypatch):
    path = some.save(tmp_path / "run.nc")
    whole = path.read_bytes()
    path.write_bytes(whole[:-80])

    def seen(*_, **__):
        raise AssertionError("opened here, or in a process of its own")

    monkeypatch.setattr(xr, "open_datatree", seen)
    monkeypatch.setattr(subprocess, "Popen", seen)
    with pytest.raises(ResultsError, match="the digest at its end is missing"):
        Atlas.open(path)


def weather(attributes: dict[str, object], format: str) -> Make:
    """A netCDF file of others."""
    data = xr.Dataset({"rain": ("day", [1.0, 2.0])}, attrs=attributes)
    return lambda path, _: data.to_netcdf(path, engine="netcdf4", format=format)


def newer(path: Path, results: Atlas) -> None:
    tree = results.tree.copy()
    tree.attrs["headscope_schema"] = SCHEMA + 1
    Atlas(tree).save(path)


COPY = "copy it again, or run the survey again"
OTHERS = ("{} is a netCDF file, but was not written by Headscope", MAKE_HINT)
NONE = ("no such results file: {}", MAKE_HINT)
DAMAGED = "{} is not a results file, or it is damaged (an incomplete copy?): "
REFUSED: dict[str, tuple[Make, str, str]] = {
    "nothing": (lambda path, _: None, *NONE),
    "a folder": (lambda path, _: path.mkdir(), *NONE),
    "text": (
        lambda path, _: path.write_text("layer,head\n1,2\n" * 50),
        "{} is not a results file: it does not begin as a netCDF file does",
        MAKE_HINT,
    ),
    "what would crash the netCDF library": (
        lambda path, _: path.write_bytes(b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00" + bytes([9]) * 500),
        DAMAGED + "its end is missing",
        COPY,
    ),
    "a newer schema": (
        newer,
        f"{{}} was written by a newer version of Headscope (schema {SCHEMA + 1}; this version "
        f"reads schema {oldest(SCHEMA)} to {SCHEMA})",
        "pip install --upgrade headscope",
    ),
} | {
    f"of others, with {', '.join(attributes) or 'nothing'} of ours, {format}": (
        weather(attributes, format),
        *OTHERS,
    )
    for attributes in ({}, {"headscope_schema": 1}, {"provenance": "a lake"})
    for format in ("NETCDF4", "NETCDF3_CLASSIC")
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_results_file_is_refused_with_what_it_is(some, tmp_path, what):
    make, message, hint = REFUSED[what]
    path = tmp_path / "run.nc"
    make(path, some)
    error = refusal(ResultsError, Atlas.open, path)
    assert error.message == message.format(path)
    assert error.hint == hint
    assert error.command == (MAKE if hint == MAKE_HINT else "")


@pytest.mark.parametrize("below", ["run.nc", "deep/run.nc"])
def test_a_folder_that_is_a_file_cannot_be_written_into(some, tmp_path, below):
    (tmp_path / "taken").write_text("mine")
    path = tmp_path / "taken" / below
    error = refusal(ResultsError, some.save, path)
    message = f"{path} cannot be written: {tmp_path / 'taken'} is a file, not a folder"
    assert error.message == message
    assert error.command == "choose another place with -o"
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_folder_in_place_of_the_file_cannot_be_written(some, tmp_path):
    error = refusal(ResultsError, some.save, tmp_path)
    assert error.message == f"{tmp_path} is a folder; a file is to be written there"
    assert error.command == "give a file name, e.g. -o results.nc"
    assert not list(tmp_path.iterdir())


def test_a_write_protected_file_or_folder_is_told_before_any_work(tmp_path, monkeypatch):
    path = tmp_path / "run.nc"
    path.write_text("mine")
    monkeypatch.setattr(
        "os.access", lambda *_: False
    )  # root may write anything, so the system cannot be asked here
    with pytest.raises(
        ResultsError,
        match=r"run\.nc cannot be written: the file is write-protected\nnext: choose another "
        r"output",
    ):
        check_writable(path, error=ResultsError)

    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(ResultsError, match=r"other\.nc cannot be written: Permission denied"):
        check_writable(tmp_path / "other.nc", error=ResultsError)


def test_checking_leaves_nothing_behind_but_the_folder(tmp_path):
    check_writable(tmp_path / "new" / "run.nc")
    assert [path.name for path in tmp_path.rglob("*")] == ["new"]


@pytest.mark.parametrize("name", ["run.nc", "table.csv", "table.parquet"])
def test_a_write_that_fails_half_way_leaves_the_old_file_and_nothing_else(some, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"the old file")
    with full_disk(3000), pytest.raises(ResultsError) as caught:
        some.save(path) if path.suffix == ".nc" else some.export(path)
    assert caught.value.message.startswith(f"{path} cannot be written: ")
    assert caught.value.command.startswith("free some disk space")
    assert path.read_bytes() == b"the old file"
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_nothing_is_collected_while_the_netcdf_library_works(some, tmp_path, monkeypatch):
    # A file that someone left open is closed when it is collected, maybe by another thread: if the
    # library is at work then, it crashes (seen with netCDF4 1.7 and the threads of pytest-xdist).
    seen: list[bool] = []
    opened, written = xr.open_datatree, xr.DataTree.to_netcdf
    monkeypatch.setattr(
        xr,
        "open_datatree",
        lambda *args, **kw: (seen.append(gc.isenabled()), opened(*args, **kw))[1],
    )
    monkeypatch.setattr(
        xr.DataTree,
        "to_netcdf",
        lambda *args, **kw: (seen.append(gc.isenabled()), written(*args, **kw))[1],
    )
    Atlas.open(some.save(tmp_path / "x.nc"))
    assert seen == [False, False]
    assert gc.isenabled()


def test_an_interrupt_while_writing_leaves_the_old_file(some, tmp_path, monkeypatch):
    path = some.save(tmp_path / "run.nc")
    before = path.read_bytes()
    write = xr.DataTree.to_netcdf

    def stop(tree, *args, **kwargs):
        write(tree, *args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(xr.DataTree, "to_netcdf", stop)
    with pytest.raises(KeyboardInterrupt):
        some.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_netcdf_library_is_done(some, tmp_path, monkeypatch, number):
    """Interrupted between two steps, xarray's lock stayed taken, and the process hung."""
    write, done = xr.DataTree.to_netcdf, []

    def press(tree, *args, **kwargs):
        os.kill(os.getpid(), number)
        write(tree, *args, **kwargs)
        done.append(True)

    before = signal.signal(number, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(xr.DataTree, "to_netcdf", press)
            with pytest.raises(KeyboardInterrupt):
                some.save(tmp_path / "run.nc")
        assert done == [True]
        assert list(tmp_path.iterdir()) == []
        assert signal.getsignal(number) is signal.default_int_handler
        assert Atlas.open(some.save(tmp_path / "run.nc")).measures == some.measures
    finally:
        signal.signal(number, before)


READING = """
import sys
import headscope
atlas = headscope.open(sys.argv[1])
assert atlas.measures == ("position", "special", "entropy")
atlas.table(), headscope.merge([atlas]), atlas.export(sys.argv[2])
atlas.summary(), atlas.remarks(), atlas.head("1-1")
"""


@pytest.mark.parametrize(
    "work",
    [READING, "import sys, headscope.figures, headscope.page"],
    ids=["reading", "figures and report"],
)
def test_reading_results_drawing_and_reporting_need_no_torch(some, tmp_path, work):
    check = "heavy = {'torch', 'transformers'} & set(sys.modules)\nassert not heavy, heavy"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{work}\n{check}",
            some.save(tmp_path / "run.nc"),
            tmp_path / "run.csv",
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
