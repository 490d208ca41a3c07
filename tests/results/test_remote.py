"""Results at an address: fetched once, checked, and fetched again when they have changed."""

from __future__ import annotations

import hashlib
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.cli import main
from headscope.errors import ResultsError
from headscope.results.remote import address_of


@dataclass
class Site:
    """A web server on this machine, with what it holds and what was asked of it."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_CACHE", str(tmp_path / "cache"))

    class Handler(BaseHTTPRequestHandler):
        def answer(self, *, body: bool) -> None:
            content = place.files.get(self.path)
            self.send_response(200 if content is not None else 404)
            content = content or b""
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", hashlib.sha256(content).hexdigest())
            self.end_headers()
            if body:
                self.wfile.write(content)
                place.fetched.append(self.path)

        def do_HEAD(self) -> None:
            self.answer(body=False)

        def do_GET(self) -> None:
            self.answer(body=True)

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        place = Site(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield place
        server.shutdown()
        thread.join()


@pytest.fixture
def content(some, tmp_path):
    return some.save(tmp_path / "here.nc").read_bytes()


def test_a_file_at_an_address_is_fetched_once(site, some, content):
    site.files["/run.nc"] = content
    for _ in range(2):
        assert hs.open(f"{site.address}/run.nc").tree.identical(some.tree)
    assert site.fetched == ["/run.nc"]


def test_a_file_that_has_changed_is_fetched_again(site, content, make, tmp_path):
    site.files["/run.nc"] = content
    hs.open(f"{site.address}/run.nc")
    other = make(position=np.ones((1, 1, 1, 3))).save(tmp_path / "other.nc")
    site.files["/run.nc"] = other.read_bytes()
    assert hs.open(f"{site.address}/run.nc").measures == ("position",)
    assert len(site.fetched) == 2


def test_a_copy_that_is_damaged_is_not_kept(site, content, some):
    site.files["/run.nc"] = content[:-200] + b"?" + content[-199:]
    with pytest.raises(ResultsError, match=r"run\.nc is damaged") as caught:
        hs.open(f"{site.address}/run.nc")
    assert caught.value.message.startswith(site.address)
    site.files["/run.nc"] = content
    assert hs.open(f"{site.address}/run.nc").tree.identical(some.tree)


def test_a_copy_that_was_changed_here_is_fetched_again(site, content, tmp_path):
    site.files["/run.nc"] = content
    hs.open(f"{site.address}/run.nc")
    (copy,) = tmp_path.glob("cache/results/*/run.nc")
    copy.write_bytes(content[:1000])
    with pytest.raises(ResultsError, match="damaged"):
        hs.open(f"{site.address}/run.nc")
    assert hs.open(f"{site.address}/run.nc").measures


def test_without_a_cache_nothing_is_left(site, content, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_CACHE", "off")
    site.files["/run.nc"] = content
    assert hs.open(f"{site.address}/run.nc").measures
    assert not (tmp_path / "cache").exists()


def test_the_command_line_takes_an_address(site, content, monkeypatch, tmp_path):
    site.files["/run.nc"] = content
    address = f"{site.address}/run.nc"
    monkeypatch.setattr("sys.argv", ["headscope", "export", address, "-o", str(tmp_path / "x.csv")])
    with suppress(SystemExit):
        main()
    assert site.fetched == ["/run.nc"]
    assert "previous" in (tmp_path / "x.csv").read_text()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("{site}/none.nc", "there is no such file"),
        ("{site}/page.html", "is not a results file"),
        ("{site}/large.nc", r"has more than 1\.0 kB, the limit for results"),
        ("https://127.0.0.1:9/run.nc", "Cannot connect"),
        ("http://example.org/run.nc", "begin with https://, hf://, s3://, gs://; got http://"),
        ("file:///etc/passwd", "no such results file"),
        ("memory://run.nc", "got memory:// instead"),
        ("filecache::file:///etc/passwd", "no such results file"),
    ],
)
def test_what_cannot_be_opened(site, address, message, monkeypatch):
    monkeypatch.setenv("HEADSCOPE_MAX_RESULTS", "1kB")
    site.files |= {"/page.html": b"<!DOCTYPE html>" * 9, "/large.nc": b"0" * 2000}
    with pytest.raises(ResultsError, match=message):
        hs.open(address.format(site=site.address))


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("https://a.org/b.nc", "https://a.org/b.nc"),
        (Path("https://a.org/b.nc"), "https://a.org/b.nc"),
        ("hf://datasets/a/b/c.nc", "hf://datasets/a/b/c.nc"),
        ("b.nc", ""),
        ("/a/b.nc", ""),
        ("C:\\a\\b.nc", ""),
        ("c:/a/b.nc", ""),
    ],
)
def test_addresses_are_told_from_paths(path, address):
    assert address_of(path) == address
