"""The gallery: which figures there are, which of them results allow, and figures of users."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from typing import Any

import altair as alt
import pytest
from altair.utils.schemapi import SchemaValidationError

import headscope.figures
from headscope.errors import UserError
from headscope.figures import FIGURES, all_figures, figure, find_figure, gallery
from headscope.figures.style import either_colour
from headscope.page import render
from headscope.page.packs.atlas import drawn_figures
from headscope.results import Atlas
from page.samples import made_results, made_values
from refusals import refusal

NAMES = [
    *("position", "special", "from-sep", "entropy", "heat-previous", "heat-next", "heat-cls"),
    *("heat-sep", "heat-entropy"),
]


@pytest.fixture
def registry(monkeypatch):
    """Undo what a test registers."""
    list(FIGURES)  # ask for entry points now
    monkeypatch.setattr(FIGURES, "_entries", dict(FIGURES._entries))


def only(*measures: str) -> Atlas:
    return made_results(
        values={name: values for name, values in made_values(2, 3).items() if name in measures}
    )


def test_either_colour_is_what_altair_s_condition_is():
    def drawn(colour):
        return alt.Chart(alt.Data(values=[])).mark_text().encode(color=colour).to_dict()["encoding"]

    condition = alt.condition("datum.x > 1", alt.value("white"), alt.value("#e2e2e2"))
    assert drawn(either_colour("datum.x > 1", "white", "#e2e2e2")) == drawn(condition)


def test_results_with_every_measure_allow_every_figure():
    # More figures appear with measures that these results do not have.
    assert [item.name for item in gallery(made_results())] == NAMES


@pytest.mark.parametrize(
    ("measure", "figures"),
    [
        ("position", {"position", "heat-previous", "heat-next"}),
        ("special", {"special", "from-sep", "heat-cls", "heat-sep"}),
        ("entropy", {"entropy", "heat-entropy"}),
    ],
)
def test_results_allow_the_figures_of_the_measures_they_have(measure, figures):
    assert {item.name for item in gallery(only(measure))} == figures


def test_a_measure_without_a_single_value_allows_no_figure():
    values = made_values(2, 3)
    values["entropy"][:] = float("nan")
    assert "entropy" not in {item.name for item in gallery(made_results(values=values))}


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_says_what_it_is_and_what_it_needs(name):
    item = find_figure(name)
    assert item.title
    assert item.caption.endswith(".")
    assert item.needs
    assert callable(FIGURES[name])


def test_names_titles_and_needs_are_read_without_loading_altair():
    # Altair stands in the list of modules, but nothing of it is loaded until a chart is drawn.
    code = (
        "import sys; from headscope.figures import all_figures, find_figure; "
        "print(len(all_figures()), find_figure('entropy').title); "
        "heavy = ('altair.vegalite', 'vl_convert', 'torch', 'transformers', 'sklearn'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{len(all_figures())} Entropy of attention", "[]"]


def test_the_order_of_figures_does_not_depend_on_what_was_imported_first():
    code = "import headscope.figures.beside, headscope.figures.roles; " + (
        "from headscope.figures import FIGURES; print(*FIGURES)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[: len(NAMES)] == NAMES
    assert done.stdout.split()[-2:] == ["null", "emergence"]


def test_every_public_name_can_be_imported():
    for name in headscope.figures.__all__:
        assert getattr(headscope.figures, name) is not None
    assert set(headscope.figures.__all__) <= set(dir(headscope.figures))
    with pytest.raises(AttributeError, match="attribute nothing"):
        _ = headscope.figures.nothing


def test_an_unknown_figure_gets_a_suggestion():
    with pytest.raises(UserError, match=r"^unknown figure 'positon'; did you mean 'position'\?"):
        find_figure("positon", made_results())


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("heat-entropy", "hs.survey(model, corpus, measures=['entropy'])"),
        ("head-off", "hs.ablate(model, …)"),
        ("probe", "hs.probe(model, tasks)"),
        ("change", "hs.compare(first, second, corpus)"),
    ],
)
def test_a_figure_that_needs_another_measure_says_how_to_get_it(name, python):
    need = find_figure(name).needs[0]
    error = refusal(UserError, find_figure, name, only("position"))
    message = f"the figure {name!r} needs the measure {need!r}, which these results do not have"
    assert error.message == message
    assert error.hint == f"make results that have it with {python}"


@pytest.mark.parametrize(("shape", "causal"), [((1, 1), False), ((2, 40), True), ((24, 16), False)])
def test_every_figure_is_valid_for_models_of_every_shape(shape, causal):
    results = made_results(*shape, causal=causal)
    for item in gallery(results):
        spec = item.draw(results).to_dict()  # validates against Vega-Lite's schema
        assert spec["width"] > 0
        assert "NaN" not in repr(spec)


def draw_means(results: Atlas) -> Any:
    """Draw the mean entropy of each layer.

    This line is not part of the caption.
    """
    means = results.mean("entropy").sel(row="all").mean("head")
    frame = means.to_dataframe(name="entropy").reset_index()
    return alt.Chart(frame).mark_bar().encode(x="layer:O", y="entropy:Q")


@pytest.mark.usefixtures("registry")
def test_a_figure_from_a_notebook_is_drawn_like_any_other():
    figure("means", title="Mean entropy", needs=["entropy"])(draw_means)
    item = find_figure("means", made_results())
    expected = ("Mean entropy", "Draw the mean entropy of each layer.", ("entropy",))
    assert (item.title, item.caption, item.needs) == expected
    assert item.draw(made_results()).to_dict()["mark"]["type"] == "bar"
    assert "means" in {item.name for item in gallery(only("entropy"))}
    assert "means" not in {item.name for item in gallery(only("position"))}
    drawn = drawn_figures(only("entropy"), everything=False)  # as a report draws it
    assert [one["id"] for one in drawn] == ["means"]
    assert drawn[0]["svg"].startswith("<svg")


@pytest.mark.usefixtures("registry")
def test_a_report_checks_a_user_s_figure_against_the_schema():
    def wrong(results):
        chart = draw_means(results)
        chart.height = {"no": "height"}
        return chart

    figure("wrong", title="Wrong", needs=["entropy"])(wrong)
    with pytest.raises(SchemaValidationError, match="height"):
        render(only("entropy"))


@pytest.mark.usefixtures("registry")
def test_a_cell_that_is_run_again_replaces_its_figure_but_never_headscope_s():
    figure("means", title="First", needs=["entropy"])(draw_means)
    figure("means", title="Second", needs=["entropy"])(draw_means)
    assert find_figure("means").title == "Second"
    with pytest.raises(UserError, match="there is already a figure called 'entropy'"):
        figure("entropy")(draw_means)
    assert find_figure("entropy").title == "Entropy of attention"


PACKAGE = """
from headscope.figures import figure

@figure("from-package", title="From a package", needs=["entropy"])
def draw(results):
    return "a chart"

def plain(results):
    "Draw without a decorator."
    return "a plain chart"
"""


@pytest.fixture
def package(tmp_path, monkeypatch, registry):
    """Install a package that brings figures; call with the entry points it declares."""
    (tmp_path / "some_figures.py").write_text(PACKAGE)
    (tmp_path / "no_figures.py").write_text("wrong = 3")
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(**points):
        declared = [
            EntryPoint(name.replace("_", "-"), value, "headscope.figures")
            for name, value in points.items()
        ]
        monkeypatch.setattr(
            "headscope.registry.entry_points",
            lambda group: declared if group == "headscope.figures" else [],
        )
        monkeypatch.setattr(FIGURES, "_asked", False)

    yield install
    for name in ("some_figures", "no_figures"):
        sys.modules.pop(name, None)


def test_another_package_brings_figures_through_an_entry_point(package):
    package(from_package="some_figures:draw", plain="some_figures:plain")
    item = find_figure("from-package", made_results())
    assert (item.title, item.needs) == ("From a package", ("entropy",))
    assert item.draw(made_results()) == "a chart"
    plain = find_figure("plain", made_results())
    assert (plain.title, plain.caption) == ("plain", "Draw without a decorator.")


def test_an_entry_point_that_is_not_a_function_is_refused(package):
    package(wrong="no_figures:wrong")
    message = r"^the entry point 'wrong' .* must be a function that draws results"
    with pytest.raises(UserError, match=message):
        all_figures()
