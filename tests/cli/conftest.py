"""The command line run in this process, a tiny model in a folder, and results to work on."""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from headscope.cli import main
from page.samples import demo_file, made_results, made_values

MEASURES = ("--measure", "position", "--measure", "special", "--measure", "entropy")
"""Three measures of fifteen labels in all, whatever else there is."""
TEXT = (
    "The cat sat on the mat.\n\nA dog barked at it.\n\nIt rained all day.\n\nNobody went "
    "out, and the cat slept.\n"
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote where."""

    code: int
    out: str
    err: str

    @property
    def told(self) -> list[str]:
        """The last two lines on standard error: the error and what to do next."""
        return self.err.splitlines()[-2:]


Run = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def handlers():
    """Put signal handlers back: a command has its process to itself, and changes them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run ``headscope ARGUMENTS`` in this process, through the same door as a shell.

    Options may be one text, such as ``"--limit 3 --json"``; other texts with spaces stay whole.
    """

    def run(*arguments: object) -> Outcome:
        words = [[str(one)] if str(one)[:1] != "-" else str(one).split() for one in arguments]
        monkeypatch.setattr(sys, "argv", ["headscope", *chain(*words)])
        capsys.readouterr()
        code, collecting = 0, gc.get_threshold()
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        finally:  # a command may change what its process has to itself
            gc.set_threshold(*collecting)
            atexit.unregister(gc.freeze)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A BERT of two layers and four heads that takes 64 tokens, saved as users save theirs."""
    return _saved("bert", tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def causal_folder(tmp_path_factory):
    """A GPT-2 of the same size."""
    return _saved("gpt2", tmp_path_factory.mktemp("model"))


def _saved(kind: str, folder: Path) -> Path:
    from tiny import tiny_network, tiny_tokenizer

    tiny_network(kind).save_pretrained(folder)
    tiny_tokenizer(kind).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def demo_nc(tmp_path_factory):
    """Six examples of the built-in corpus, surveyed with the embedded model; made once."""
    return demo_file(tmp_path_factory.getbasetemp())


@pytest.fixture
def made_nc(tmp_path):
    """Hand-made results of two layers and three heads."""
    return made_results().save(tmp_path / "made.nc")


@pytest.fixture
def small_nc(tmp_path):
    """The same with one measure, entropy: soon drawn."""
    values = {"entropy": made_values(2, 3)["entropy"]}
    return made_results(values=values).save(tmp_path / "small.nc")


@pytest.fixture
def text(tmp_path):
    """A plain text of four paragraphs: two pairs."""
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder to stand in."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
