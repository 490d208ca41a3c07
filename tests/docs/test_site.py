"""The documentation site is built strictly, and needs no network to be built or read."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import headscope as hs
from docs.pages import GUIDES, ROOT, hooks, read
from headscope.cli.app import load_commands

ADDRESS = r"""["']?(?:https?:)?//"""
FROM_ELSEWHERE = re.compile(
    rf"<(?:script|img|iframe|source)[^>]*\ssrc={ADDRESS}"
    rf"""|<link[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon)[^>]*href={ADDRESS}"""
    rf"|url\({ADDRESS}"
)
OFFLINE = """
import functools, socket, sys

def refuse(*_):
    raise OSError("the build asked for the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import headscope as hs
survey = hs.survey

@functools.wraps(survey)
def small(*given, **how):  # the atlas on the home page: this is about its place there
    return survey(*given, **how, measures="position")

hs.survey = small
from mkdocs.__main__ import cli
cli(sys.argv[1:])
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<script src="https://x.org/a.js">', True),
        ("<img alt='' src=//x.org/a.png>", True),
        ('<link rel="stylesheet" href="http://x.org/a.css">', True),
        ("background: url('https://x.org/a.png')", True),
        ('<a href="https://x.org">', False),
        ('<link rel="stylesheet" href="assets/a.css">', False),
        ('<script src="assets/a.js">', False),
    ],
)
def test_what_a_page_loads_from_elsewhere_is_recognised(text, found):
    assert bool(FROM_ELSEWHERE.search(text)) == found


@pytest.mark.slow
def test_the_site_builds_without_a_network_and_loads_nothing_from_elsewhere(tmp_path):
    site = tmp_path / "site"
    line = [sys.executable, "-c", OFFLINE, "build", "--strict", "--site-dir", str(site)]
    built = subprocess.run(line, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(GUIDES)
    files = [*pages, *site.rglob("*.css")]
    assert [file.name for file in files if FROM_ELSEWHERE.search(read(file))] == []
    reference = read(site / "reference" / "cli.html")
    assert all(f"headscope {command}" in reference for command in load_commands())
    assert "atlas.html?embed#/atlas" in read(site / "index.html")
    assert (site / "atlas.html").exists()


def test_the_home_page_has_a_picture_where_the_embedded_model_is_missing(tmp_path, monkeypatch):
    def missing(*_: object, **__: object) -> None:
        raise hs.UserError("the embedded model is not installed")

    monkeypatch.setattr(hs, "survey", missing)
    assert hooks().live_atlas(tmp_path).startswith("![")
    assert not list(tmp_path.iterdir())
