"""The gallery: which figures there are, and which of them results allow."""

from __future__ import annotations

import pytest

from headscope.errors import UserError
from headscope.figures import find_figure, gallery
from page.samples import made_results, made_values

NAMES = [
    "position",
    "special",
    "from-sep",
    "entropy",
    "heat-previous",
    "heat-next",
    "heat-cls",
    "heat-sep",
    "heat-entropy",
]


def only(*measures: str):
    return made_results(
        values={name: values for name, values in made_values(2, 3).items() if name in measures}
    )


def test_results_with_every_measure_allow_every_figure() -> None:
    assert [
        item.name for item in gallery(made_results())
    ] == NAMES  # more appear with measures that these results do not have


@pytest.mark.parametrize(
    ("measure", "figures"),
    [
        ("position", {"position", "heat-previous", "heat-next"}),
        ("special", {"special", "from-sep", "heat-cls", "heat-sep"}),
        ("entropy", {"entropy", "heat-entropy"}),
    ],
)
def test_results_allow_the_figures_of_the_measures_they_have(
    measure: str, figures: set[str]
) -> None:
    assert {item.name for item in gallery(only(measure))} == figures


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_says_what_it_is_and_what_it_needs(name: str) -> None:
    item = find_figure(name, made_results())
    assert item.title
    assert item.caption.endswith(".")
    assert set(item.needs) <= {"position", "special", "entropy"}


def test_an_unknown_figure_gets_a_suggestion() -> None:
    with pytest.raises(
        UserError,
        match=r"^the figure must be one of .*; got 'positon' instead\. Did you mean 'position'\?",
    ):
        find_figure("positon", made_results())


def test_a_figure_that_needs_another_measure_says_which() -> None:
    with pytest.raises(
        UserError, match=r"entropy(.|\n)*next: run the survey with --measure entropy$"
    ):
        find_figure("heat-entropy", only("position"))


@pytest.mark.parametrize(("shape", "causal"), [((1, 1), False), ((2, 40), True), ((24, 16), False)])
def test_every_figure_is_valid_for_models_of_every_shape(
    shape: tuple[int, int], causal: bool
) -> None:
    results = made_results(*shape, causal=causal)
    for item in gallery(results):
        spec = item.draw(results).to_dict()  # validates against Vega-Lite's schema
        assert spec["width"] > 0
        assert "NaN" not in repr(spec)
