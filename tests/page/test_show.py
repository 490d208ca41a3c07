"""hs.show: the report in a notebook's frame, or in the browser."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.errors import UserError
from headscope.page.notebook import AtlasViews
from headscope.page.show import show
from headscope.page.widget import HeadscopeWidget
from page.samples import made_results


@pytest.fixture
def shown(monkeypatch):
    """What is displayed in a notebook."""
    found: list[Any] = []
    monkeypatch.setattr("headscope.page.show.in_notebook", lambda: True)
    monkeypatch.setattr("headscope.page.notebook.in_notebook", lambda: True)
    monkeypatch.setattr("IPython.display.display", lambda data, raw=False: found.append(data))
    return found


def test_outside_a_notebook_the_report_opens_in_the_browser(tmp_path, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    page = show(made_results(), path=tmp_path / "a b.html")
    assert page == tmp_path / "a b.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert opened == [f"{page.as_uri()}#/atlas"]
    show(made_results(), path=tmp_path / "quiet.html", browser=False)
    assert len(opened) == 1
    show(made_results(), view="head/1-2")
    assert opened[1].endswith("/report.html#/head/1-2")


def test_in_a_notebook_the_widget_is_shown_at_the_view_and_height_asked_for(
    tmp_path, shown, monkeypatch
):
    made: list[HeadscopeWidget] = []
    real = AtlasViews.widget
    keep = lambda *given, **how: made.append(real(*given, **how)) or made[-1]  # noqa: E731
    monkeypatch.setattr(AtlasViews, "widget", keep)
    assert show(made_results(), view="finder", height=300) is None
    assert (made[0].route, made[0].height) == ("finder", 300)
    still, widget = shown
    assert made[0].still in still["text/html"]  # what is seen where the widget is not
    assert widget["application/vnd.jupyter.widget-view+json"]["model_id"] == made[0].model_id
    show(made_results(), view="head/1-2")
    assert "Head 1-2" in shown[2]["text/html"]
    page = show(made_results(), path=tmp_path / "also.html")
    assert page == tmp_path / "also.html"
    assert page.exists()


def test_without_anywidget_the_report_is_shown_in_a_frame_that_holds_it_escaped(monkeypatch, shown):
    monkeypatch.setattr("headscope.page.notebook.find_spec", lambda name: None)
    show(made_results(), height=444)
    frame = shown[0]["text/html"]
    assert frame.startswith("<iframe srcdoc=")
    assert 'height="444"' in frame
    assert "<script" not in frame  # all of the page is inside the attribute


def test_a_height_of_nothing_is_refused():
    with pytest.raises(UserError, match="height must be 1 or more, got 0 instead"):
        show(made_results(), height=0)


def test_a_results_file_is_opened(tmp_path):
    path = made_results().save(tmp_path / "run.nc")
    page = show(path, browser=False)
    assert page is not None
    assert page.name == "report.html"


@pytest.mark.parametrize("wrong", [None, 3, {"a": 1}])
def test_anything_else_is_refused(wrong):
    with pytest.raises(UserError, match="atlas must be an Atlas or the path of a results file"):
        show(wrong)


def test_it_is_public():
    import headscope as hs

    assert hs.show is show
