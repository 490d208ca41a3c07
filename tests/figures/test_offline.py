"""Figures draw themselves in a notebook without a network, and stay Altair charts."""

from __future__ import annotations

import copy
import pickle
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import altair as alt
import pandas as pd
import pytest

from headscope.figures import FIGURES, figure, find_figure
from headscope.figures.offline import offline
from headscope.figures.save import chart_svg
from page.samples import made_results

ADDRESS = re.compile(r"https?://[^\s\"'<>]+")
NAMES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
"""Names of vocabularies: nothing is loaded from there."""


@pytest.fixture(autouse=True)
def usual_renderer():
    with alt.renderers.enable("default"):
        yield


@pytest.fixture(scope="module")
def results():
    return made_results()


def points() -> Any:
    return alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_point().encode(x="x:Q")


@pytest.mark.parametrize("name", ["position", "entropy", "heat-previous"])
def test_a_figure_is_svg_that_names_no_address(results, name):
    shown = results.figure(name)._repr_mimebundle_()
    assert set(shown) == {"image/svg+xml", "text/plain"}
    svg = shown["image/svg+xml"]
    assert ElementTree.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert set(ADDRESS.findall(svg)) <= NAMES
    assert "<script" not in svg
    assert "<image" not in svg


def test_every_figure_of_the_gallery_stays_an_altair_chart(results):
    for name in results.figures:
        chart = results.figure(name)
        assert isinstance(chart, alt.TopLevelMixin)
        assert type(chart)._repr_mimebundle_ is not alt.Chart._repr_mimebundle_


@pytest.mark.parametrize(
    "chart",
    [
        points(),
        points() + points(),
        points() | points(),
        points() & points(),
        alt.concat(points(), points()),
        points().facet("x:N"),
        points().encode(y=alt.Y(alt.repeat("row"), type="quantitative")).repeat(row=["x"]),
    ],
    ids=lambda chart: type(chart).__name__,
)
def test_every_kind_of_chart_can_be_shown_offline(chart):
    kind, specification = type(chart), chart.to_dict()
    shown = offline(chart)
    assert isinstance(shown, kind)
    assert shown.to_dict() == specification
    assert shown._repr_mimebundle_()["image/svg+xml"].startswith("<svg")


def test_what_is_made_of_a_figure_is_offline_too(results):
    chart = results.figure("entropy")
    for made in (
        chart.properties(width=100),
        chart.configure_axis(grid=False),
        copy.deepcopy(chart),
        pickle.loads(pickle.dumps(chart)),
    ):
        assert "image/svg+xml" in made._repr_mimebundle_()


def test_a_renderer_that_the_user_enabled_is_used(results):
    with alt.renderers.enable("mimetype"):
        shown = results.figure("entropy")._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert any("vegalite" in kind for kind in data)


def test_altairs_own_choice_is_not_changed(results):
    results.figure("entropy")._repr_mimebundle_()
    assert alt.renderers.active == "default"


def test_a_users_figure_is_offline_too(results, monkeypatch):
    monkeypatch.setattr(FIGURES, "_entries", dict(FIGURES._entries))

    @figure("own", needs=["entropy"])
    def own(atlas):
        return points()

    assert "image/svg+xml" in find_figure("own", results).draw(results)._repr_mimebundle_()


def test_hostile_labels_are_text_in_the_svg():
    frame = pd.DataFrame({"x": [1], "label": ["</text><script>alert(1)</script>"]})
    svg = chart_svg(alt.Chart(frame).mark_text().encode(x="x:Q", text="label:N"))
    assert "<script" not in svg
    assert "alert(1)" in svg
