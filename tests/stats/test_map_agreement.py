"""Attention and norm-weighted maps beside each other: rank correlations, and passports."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import headscope as hs
from headscope.errors import UserError
from headscope.page.packs.columns import statistic_columns
from headscope.results import Atlas
from headscope.stats import map_agreement
from headscope.stats.map_agreement import both_maps
from tiny import HEADS, SENTENCES, tiny_model

NAMES = ["position", "entropy", "role", "work"]


@cache
def both() -> Atlas:
    return hs.survey(
        tiny_model("bert"), list(SENTENCES), measures=NAMES, maps="both", max_length=48
    )


def ranks(values: list[float]) -> np.ndarray:
    """Ranks by counting; no two values are equal."""
    return np.array([sum(other < value for other in values) for value in values])


def test_rank_correlations_equal_those_of_counted_ranks() -> None:
    table = map_agreement(both()).set_index(["measure", "label"])
    for measure, label in (("position", "previous"), ("entropy", "all"), ("role", "local")):
        dim = str(both()[measure]["mean"].dims[-1])
        one, other = (
            [float(value) for value in both().mean(name).sel({dim: label}).values.ravel()]
            for name in (measure, f"norm_{measure}")
        )
        expected = np.corrcoef(ranks(one), ranks(other))[0, 1]
        row = table.loc[(measure, label)]
        assert row["spearman"] == pytest.approx(expected)
        assert (row["attention"], row["norm"]) == pytest.approx((np.mean(one), np.mean(other)))
        layer, head = divmod(int(np.argmax(other)), HEADS)
        assert row["strongest norm"] == f"{layer + 1}-{head + 1}"


def test_sums_and_reference_lines_have_no_correlation() -> None:
    table = map_agreement(both())
    assert set(table["measure"]) == {"position", "entropy", "role"}
    assert "uniform" not in set(table["label"])


def test_results_of_one_kind_of_maps_are_an_error() -> None:
    atlas = hs.survey(tiny_model("bert"), list(SENTENCES), measures="entropy", max_length=48)
    assert both_maps(atlas) == []
    with pytest.raises(UserError, match="no measure on both attention and norm-weighted maps"):
        map_agreement(atlas)


def test_a_passport_has_both_values_beside_each_other() -> None:
    passport = both().head("2-3")
    rows = passport.statistics.set_index("statistic")
    assert not any("norm-weighted" in name for name in rows.index)
    row = rows.loc["attention to the previous token"]
    values = both().mean("norm_position").sel(offset="previous")
    mine = float(values.sel(layer=2, head=3))
    assert row["norm"] == pytest.approx(mine)
    assert row["norm rank"] == int((values > mine).sum()) + 1
    roles = passport.roles.set_index("role")["norm"]
    expected = both().mean("norm_role").sel(layer=2, head=3)
    assert roles["local"] == pytest.approx(float(expected.sel(role="local")))
    assert "norm-weighted" in str(passport)


def test_a_passport_of_norm_weighted_maps_alone_names_them() -> None:
    only = hs.survey(
        tiny_model("bert"), list(SENTENCES), measures=NAMES[:3], maps="norm", max_length=48
    )
    names = set(only.head("1-1").statistics["statistic"])
    assert "attention to the previous token, norm-weighted" in names
    assert any(name.startswith("local: ") for name in names)


def test_a_bare_label_means_attention_maps() -> None:
    threshold = float(both().mean("position").sel(offset="previous").median())
    found = both().find(f"position:previous > {threshold}")
    assert both().find(f"previous > {threshold}") == found
    weighted = both().mean("norm_position").sel(offset="previous")
    largest = str(both().find(f"norm_position:previous >= {float(weighted.max())!r}")[0])
    assert largest == "{}-{}".format(
        *(1 + np.argwhere(weighted.values == weighted.max().values)[0])
    )
    with pytest.raises(UserError):
        both().find("norm_work > 1")


def test_the_page_has_both_statistics_one_after_the_other() -> None:
    about, arrays = statistic_columns(both())
    ids = [one["id"] for one in about]
    place = ids.index("position:previous")
    assert ids[place + 1] == "norm_position:previous"
    assert ids.index("norm_entropy") == ids.index("entropy") + 1
    expected = both().mean("norm_position").sel(offset="previous").values
    np.testing.assert_allclose(arrays["value"][place + 1], expected, rtol=1e-6)
    assert len(ids) == len(set(ids)) == arrays["value"].shape[0]
