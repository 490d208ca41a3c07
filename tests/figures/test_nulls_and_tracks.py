"""The figures of null models and of checkpoints show the numbers of their tables."""

from __future__ import annotations

from typing import Any

import pytest

import headscope as hs
from headscope.errors import UserError
from headscope.figures.beside import _across
from headscope.results.merge import Track
from headscope.stats import emergence, null_bands, track_values
from planted_track import TEXTS, planted_checkpoint
from tiny import tiny_model


@pytest.fixture(scope="module")
def tracked():
    measures = ["position", "activity", "work", "spread"]
    models = [planted_checkpoint(number) for number in range(4)]
    return hs.track(models, TEXTS, measures=measures, max_length=24)


@pytest.fixture(scope="module")
def nulled():
    texts = [f"the {one} {two} sat on a mat ." for one in "abc" for two in "defg"]
    nulls = ["shuffled-words", "random-weights"]
    return hs.survey(
        tiny_model("bert"), texts, measures=["position", "entropy"], null=nulls, max_length=24
    )


def rows_of(chart: Any, *needed: str) -> list[dict[str, Any]]:
    """All data rows of a chart that have some columns."""
    datasets = chart.to_dict()["datasets"].values()
    return [row for rows in datasets for row in rows if set(needed) <= set(row)]


def test_bands_and_points_are_those_of_the_tables(nulled):
    chart = nulled.figure("null")
    bands = rows_of(chart, "low", "high", "words")
    chosen = {row["null"]: row for row in bands if row["label"] == "previous"}
    for row in null_bands(nulled, "position:previous").to_dict("records"):
        assert chosen[row["null"]]["low"] == pytest.approx(row["low"])
        assert chosen[row["null"]]["high"] == pytest.approx(row["high"])
    points = {
        row["head"]: row["value"]
        for row in rows_of(chart, "head", "value")
        if row["name"] == "previous"
    }
    means = nulled.mean("position").sel(offset="previous")
    assert len(points) == 8
    assert points["2-3"] == pytest.approx(float(means.sel(layer=2, head=3)))


def test_lines_are_the_excess_at_the_role_of_the_end(tracked):
    rows = rows_of(tracked.figure("emergence"), "excess", "appears")
    table = emergence(tracked)
    assert {row["head"] for row in rows} == set(table[table["main"]]["head"])
    dots = {row["head"]: row["checkpoint"] for row in rows if row["appears"]}
    assert dots == {"1-1": "step-20", "1-3": "step-20"}
    line = [row["excess"] for row in rows if row["head"] == "1-1" and "height" not in row]
    excess = tracked.track["excess"]["value"].sel(layer=1, head=1, role="previous").values
    assert line == pytest.approx(excess.tolist())


def test_names_at_the_ends_do_not_overlap(tracked):
    heights = [row["height"] for row in rows_of(tracked.figure("emergence"), "height")]
    assert len(heights) == 2
    assert abs(heights[0] - heights[1]) >= 0.04


@pytest.mark.parametrize(
    ("steps", "scale"), [((0, 10, 1000), "symlog"), ((10, 20, 30), None), (None, None)]
)
def test_the_axis_is_logarithmic_where_steps_span_a_wide_range(steps, scale):
    axis = _across(Track(("a", "b's", "c"), steps, {})).to_dict()
    assert axis.get("scale", {}).get("type") == scale
    if steps is None:
        assert '"b\'s"' in axis["axis"]["labelExpr"]


def test_results_without_them_say_how_to_get_them(tracked):
    assert "null" not in tracked.figures
    assert "emergence" in tracked.figures
    with pytest.raises(UserError, match="needs the measure 'null'") as error:
        tracked.figure("null")
    assert 'hs.survey(model, corpus, null=["random-weights"])' in error.value.hint


def test_a_track_without_roles_says_so():
    models = [planted_checkpoint(0, "a"), planted_checkpoint(2, "b")]
    plain = hs.track(models, TEXTS[:2], measures="position", max_length=24)
    words = plain.figure("emergence").to_dict()
    assert "without main roles" in str(words["datasets"])
    assert track_values(plain, "position:previous").shape == (2, 2, 5)
