"""The grid of skills, and the shift of roles by fine-tuning.

In the grid every role has a fixed place in every head, and the heads of a layer are sorted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from figures.made_roles import NAMES, made, random_scores, rows_of
from headscope.errors import UserError
from headscope.figures import save_chart, shift_dots, skill_grid
from headscope.figures.role_sets import UNSKILLED
from headscope.stats import role_shift, role_tests
from headscope.stats.tables.roles import FINE
from stats.made_roles import PAPER


@pytest.mark.parametrize("shape", [(4, 4), (12, 12), (24, 16), (1, 1)])
def test_every_skill_stands_at_its_place(shape):
    scores = random_scores(*shape, sequences=12)
    p = stats.norm.sf((scores.mean(0) - 3) / (scores.std(0, ddof=1) / np.sqrt(12)))
    has = p[..., [NAMES.index(role) for role in FINE]] < 0.05
    cells = rows_of(skill_grid(role_tests(made(scores), **PAPER)), "left", "top", "colour")
    assert len(cells) == shape[0] * shape[1] * 9
    for layer in range(1, shape[0] + 1):
        order = np.argsort(-has[layer - 1].sum(-1), kind="stable").tolist()
        for cell in cells[cells["layer"] == layer].itertuples():
            role = FINE.index(cell.role)
            assert cell.name == f"{layer}-{cell.head}"
            assert cell.has == has[layer - 1, cell.head - 1, role] == (cell.colour != UNSKILLED)
            x, y = (cell.left + cell.right) / 2, (cell.bottom + cell.top) / 2
            assert int(x) == order.index(cell.head - 1)  # the columns are places, not heads
            assert int(y) == layer - 1  # layer 1 at the bottom
            assert 3 * (2 - int((y % 1) * 3)) + int((x % 1) * 3) == role


def test_each_role_has_one_colour_of_its_own_that_the_key_has_too():
    chart = skill_grid(role_tests(made(random_scores() + 100)))
    cells = rows_of(chart, "left", "top", "colour")
    key = rows_of(chart, "column", "row", "role", "count")
    colours = cells.groupby("role")["colour"].unique()
    expected = {row.role: [row.colour] for row in key.itertuples()}
    assert {role: list(found) for role, found in colours.items()} == expected
    assert key["colour"].nunique() == 9
    expected = [(role, index) for index, role in enumerate(FINE)]
    assert [(row.role, 3 * row.row + row.column) for row in key.itertuples()] == expected
    assert set(key["count"]) == {"12 heads"}


def test_a_role_that_was_not_tested_is_empty_and_a_dash_in_the_key():
    scores = random_scores()
    scores[..., NAMES.index("block")] = np.nan
    chart = skill_grid(role_tests(made(scores)))
    assert "block" not in set(rows_of(chart, "left", "top", "role")["role"])
    key = rows_of(chart, "column", "row", "role", "count").set_index("role")
    assert key.loc["block", "count"] == "–"
    assert key.loc["block", "colour"] == "white"
    assert "Empty" in repr(chart.to_dict())


def test_a_model_of_very_many_heads_is_drawn():
    cells = rows_of(
        skill_grid(role_tests(made(random_scores(48, 25, sequences=3)))), "left", "top", "role"
    )
    assert len(cells) == 48 * 25 * 9  # more than the 5000 rows that Altair accepts


def test_a_square_has_nine_roles():
    with pytest.raises(UserError, match=r"^the roles must be nine, .* got 2 instead\n"):
        skill_grid(role_tests(made(random_scores())), roles=("local", "block"))


def shifted() -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Make scores before and after.

    Local goes up in the last layers, block is nowhere defined, and the rest moves by chance.
    """
    before, after = random_scores(6, 4), random_scores(6, 4)
    after += np.random.default_rng(5).normal(0, 0.5, after.shape)
    after[:, 4:, :, NAMES.index("local")] += 2
    before[..., NAMES.index("block")] = np.nan
    return (
        before,
        after,
        role_shift(made(before), made(after), roles=["local", "delimiter", "block"]),
    )


def test_dots_are_paired_differences_by_third_of_the_layers():
    before, after, frame = shifted()
    drawn = rows_of(shift_dots(frame), "role", "part", "shift")
    assert len(drawn) == 6
    parts = ("first (1–2)", "middle (3–4)", "last (5–6)")
    for row in drawn.itertuples():
        start = 2 * parts.index(row.part)
        layers = slice(start, start + 2)
        old, new = (
            scores[:, layers, :, NAMES.index(row.role)].mean((1, 2)) for scores in (before, after)
        )
        test = stats.ttest_rel(new, old)
        assert row.shift == pytest.approx((new - old).mean(), abs=1e-5)
        half = (test.confidence_interval(0.95).high - row.shift) * np.sqrt(40 / 39)  # jackknife
        assert (row.low, row.high) == pytest.approx((row.shift - half, row.shift + half), abs=1e-4)
        assert row.changed == (row.p_least < 0.05)
    assert bool(drawn.set_index(["role", "part"]).loc[("local", "last (5–6)"), "changed"])
    assert not drawn["changed"].all()


def test_a_role_without_a_shift_keeps_its_row_and_says_so(tmp_path):
    chart = shift_dots(shifted()[2])
    assert list(rows_of(chart, "role", "at", "what")["role"]) == ["block"]
    assert save_chart(chart, tmp_path / "x.png", scale=1.0).stat().st_size > 8000


def test_a_shift_of_nothing_says_so():
    frame = shifted()[2]
    expected = ["no role is defined in both results"]
    assert list(rows_of(shift_dots(frame[frame["role"] == "block"]), "what")["what"]) == expected


def test_two_layers_have_two_groups():
    scores = random_scores(2, 3)
    drawn = rows_of(
        shift_dots(role_shift(made(scores), made(scores + 1), roles=["local"])), "part", "shift"
    )
    assert list(drawn["part"]) == ["first (1)", "middle (2)"]
    assert list(drawn["shift"]) == pytest.approx([1.0, 1.0], abs=1e-5)


@pytest.mark.parametrize(("corpora", "columns"), [(2, 2), (3, 3), (4, 2)])
def test_several_corpora_stand_side_by_side_and_fit_a_narrow_page(corpora, columns):
    frame = shifted()[2]
    several = pd.concat([frame.assign(corpus=f"task {number}") for number in range(corpora)])
    chart = shift_dots(several).to_dict()
    assert (len(chart["concat"]), chart["columns"]) == (corpora, columns)
    expected = [f"task {number}" for number in range(corpora)]
    assert [panel["title"]["text"] for panel in chart["concat"]] == expected
    # 622 pixels are left on a page of 700: text of 11 pixels shrinks to 10.5 at most, with 100 for
    # the names of the roles.
    row = sum(panel["width"] + 10 for panel in chart["concat"][:columns])
    assert 11 * 622 / (100 + row) >= 10.5
