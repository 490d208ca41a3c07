"""hs.show: the report in a notebook's frame, or in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.errors import UserError
from headscope.page.show import show
from page.samples import made_results


def test_outside_a_notebook_the_report_opens_in_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = show(made_results(), path=tmp_path / "a b.html")
    assert page == tmp_path / "a b.html"
    assert "position" in page.read_text(encoding="utf-8")
    assert opened == [page.as_uri()]
    show(made_results(), path=tmp_path / "quiet.html", browser=False)
    assert len(opened) == 1


def test_in_a_notebook_it_is_shown_in_a_frame_that_holds_the_page_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("headscope.page.show._in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    page = show(made_results(), path=tmp_path / "x.html")
    frame = shown[0]["text/html"]
    assert frame.startswith("<iframe srcdoc=")
    assert "<script" not in frame  # all of the page is inside the attribute
    assert len(frame) > len(page.read_text(encoding="utf-8"))


def test_a_results_file_is_opened(tmp_path: Path) -> None:
    path = made_results().save(tmp_path / "run.nc")
    assert show(path, browser=False).name == "report.html"


@pytest.mark.parametrize("wrong", [None, 3, {"a": 1}])
def test_anything_else_is_refused(wrong: Any) -> None:
    with pytest.raises(UserError, match="atlas must be an Atlas or the path of a results file"):
        show(wrong)


def test_it_is_public() -> None:
    import headscope as hs

    assert hs.show is show
