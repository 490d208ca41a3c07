"""Progress: a bar in a notebook changes in place and ends as one line."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest

from headscope import progress
from headscope.progress import NotebookBar, Reporter, in_notebook

CODE = """
import time
from headscope.progress import as_reporter
with as_reporter({shown}).progress("survey") as update:
    for done in range(1, 41):
        update(done, 40)
        time.sleep(0.02)
"""


class Handle:
    """Stands in for IPython's display handle."""

    def __init__(self) -> None:
        self.lines: list[dict[str, str]] = []

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.lines.append(data)


@pytest.fixture
def handle(monkeypatch):
    found = Handle()

    def display(data, raw, display_id):
        found.lines.append(data)
        return found

    monkeypatch.setattr("IPython.display.display", display)
    return found


@pytest.fixture
def now(monkeypatch):
    time = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: time[0])
    return time


def test_a_terminal_is_no_notebook():
    assert not in_notebook()


def test_a_bar_changes_at_most_so_often_and_estimates_the_rest(handle, now):
    with NotebookBar("survey", every=1.0) as bar:
        for done in range(1, 101):
            now[0] += 0.125
            bar.update(done, 100)
    # One line at the start, one for each of twelve seconds, one at the end.
    assert len(handle.lines) == 14
    # After 48 steps, 52 more take 6.5 seconds.
    assert handle.lines[6]["text/plain"] == "survey: 48/100 · 0:06 elapsed · about 0:06 left"
    assert '<progress value="48" max="100">' in handle.lines[6]["text/html"]
    assert handle.lines[-1]["text/plain"] == "survey: 100 of 100, done in 0:12"
    assert "<progress" not in handle.lines[-1]["text/html"]


def test_a_bar_that_is_stopped_says_how_far_it_came(handle, now):
    def stopped():
        with NotebookBar("survey") as bar:
            bar.update(3, 10)
            now[0] += 5
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert handle.lines[-1]["text/plain"] == "survey: 3 of 10, stopped after 0:05"


def test_something_of_unknown_length_ends_with_the_time_it_took(handle, now, monkeypatch):
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    with Reporter().status("loading <b>"):
        now[0] += 2
    expected = ["loading <b> …", "loading <b>: done in 0:02"]
    assert [line["text/plain"] for line in handle.lines] == expected
    assert "<b>" not in handle.lines[0]["text/html"]


@pytest.mark.slow
def test_in_a_real_kernel_a_cell_keeps_one_line_and_nothing_when_silent():
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(CODE.format(shown=shown)) for shown in (True, False)]
    book: Any = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, timeout=100, kernel_name="python3").execute()
    first, second = (cell.outputs for cell in book.cells)
    assert len(first) == 1
    assert first[0].output_type == "display_data"
    assert re.fullmatch(r"survey: 40 of 40, done in 0:0\d", first[0].data["text/plain"])
    assert second == []
