"""Bands of null models, against numpy.

Attention and norm-weighted maps beside each other: rank correlations, and passports.

Scaling to two dimensions: points in a plane are found again, up to rotation, reproducibly.

Closeness of layers: means as a plain loop has them, planted layers found, and an honest p.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
import xarray as xr
from scipy.spatial import procrustes
from scipy.spatial.distance import pdist, squareform

import headscope as hs
from headscope.corpus import ROOT, Example, Word, from_examples
from headscope.errors import ResultsError, UserError
from headscope.page.packs.columns import statistic_columns
from headscope.results import Atlas
from headscope.results.merge import with_nulls
from headscope.stats import layer_closeness, map_agreement, null_bands, null_table, scale
from headscope.stats.tables.alike import both_maps
from tiny import HEADS, SENTENCES, tiny_model

TEXTS = [f"the {a} {b} sat on the {c} mat ." for a in "abc" for b in "defg" for c in "hi"]


@pytest.fixture(scope="module")
def atlas():
    nulls = ["random-weights", "shuffled-words"]
    return hs.survey(tiny_model("bert", num_hidden_layers=3), TEXTS, null=nulls, max_length=32)


def test_rows_are_what_numpy_says(atlas):
    table = null_table(atlas)
    assert len(table) > 20
    assert set(table["null"]) == {"random-weights", "shuffled-words"}
    for row in table[table["measure"] == "position"].to_dict("records"):
        mine = atlas.mean("position").sel(offset=row["label"]).values.ravel()
        null = atlas.nulls[row["null"]].mean("position").sel(offset=row["label"]).values.ravel()
        low, high = np.percentile(null, [2.5, 97.5])
        beyond = [value < low or value > high for value in mine]
        assert (row["low"], row["high"]) == pytest.approx((low, high))
        assert row["above"] + row["below"] == sum(beyond)
        assert row["beyond"] == pytest.approx(np.mean(beyond))
        assert (row["mean"], row["null_mean"]) == pytest.approx((mine.mean(), null.mean()))


def test_tables_of_heads_show_the_bands(atlas):
    table = atlas.heads(by="position:previous", top=2)
    bands = null_bands(atlas, "position:previous").set_index("null")
    for null in ("random-weights", "shuffled-words"):
        assert table[f"{null} low"].tolist() == [bands.loc[null, "low"]] * 2
        assert table[f"{null} high"].tolist() == [bands.loc[null, "high"]] * 2
    assert not [name for name in atlas.heads() if name.endswith("low")]


def test_a_label_that_the_null_lacks_has_no_band():
    words = (Word("the", head=1, relation="det"), Word("cat", head=2, relation="nsubj"))
    words = (*words, Word("sat", head=ROOT, relation="root"))
    texts = from_examples([Example(name, ("the cat sat",), words) for name in "abc"], name="made")
    model = tiny_model("bert")
    whole = hs.survey(model, texts, measures="role", max_length=32)
    fewer = hs.survey(model, texts, measures=hs.Role(["local"]), max_length=32)
    found = with_nulls(whole, {"shuffled-words": fewer})  # as results of older versions have it
    assert not len(null_bands(found, "role:nsubj"))
    assert "nsubj" not in set(null_table(found)["label"])
    assert "local" in set(null_table(found)["label"])


def test_what_is_wrong_is_said(atlas):
    with pytest.raises(ResultsError, match="have no null models"):
        null_table(atlas.nulls["random-weights"])
    with pytest.raises(UserError, match="'positions'"):
        null_bands(atlas, "positions:previous")


NAMES = ["position", "entropy", "role", "work"]


@cache
def both() -> Atlas:
    return hs.survey(
        tiny_model("bert"), list(SENTENCES), measures=NAMES, maps="both", max_length=48
    )


def ranks(values: list[float]) -> np.ndarray:
    """Ranks by counting; no two values are equal."""
    return np.array([sum(other < value for other in values) for value in values])


def test_rank_correlations_equal_those_of_counted_ranks():
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


def test_sums_and_reference_lines_have_no_correlation():
    table = map_agreement(both())
    assert set(table["measure"]) == {"position", "entropy", "role"}
    assert "uniform" not in set(table["label"])


def test_results_of_one_kind_of_maps_are_an_error():
    atlas = hs.survey(tiny_model("bert"), list(SENTENCES), measures="entropy", max_length=48)
    assert both_maps(atlas) == []
    with pytest.raises(UserError, match="no measure on both attention and norm-weighted maps"):
        map_agreement(atlas)


def test_a_passport_has_both_values_beside_each_other():
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


def test_a_passport_of_norm_weighted_maps_alone_names_them():
    only = hs.survey(
        tiny_model("bert"), list(SENTENCES), measures=NAMES[:3], maps="norm", max_length=48
    )
    names = set(only.head("1-1").statistics["statistic"])
    assert "attention to the previous token, norm-weighted" in names
    assert any(name.startswith("local: ") for name in names)


def test_a_bare_label_means_attention_maps():
    threshold = float(both().mean("position").sel(offset="previous").median())
    found = both().find(f"position:previous > {threshold}")
    assert both().find(f"previous > {threshold}") == found
    weighted = both().mean("norm_position").sel(offset="previous")
    largest = str(both().find(f"norm_position:previous >= {float(weighted.max())!r}")[0])
    expected = "{}-{}".format(*(1 + np.argwhere(weighted.values == weighted.max().values)[0]))
    assert largest == expected
    with pytest.raises(UserError):
        both().find("norm_work > 1")


def test_the_page_has_both_statistics_one_after_the_other():
    about, arrays = statistic_columns(both())
    ids = [one["id"] for one in about]
    place = ids.index("position:previous")
    assert ids[place + 1] == "norm_position:previous"
    assert ids.index("norm_entropy") == ids.index("entropy") + 1
    expected = both().mean("norm_position").sel(offset="previous").values
    np.testing.assert_allclose(arrays["value"][place + 1], expected, rtol=1e-6)
    assert len(ids) == len(set(ids)) == arrays["value"].shape[0]


def distances(points: np.ndarray) -> xr.DataArray:
    names = [f"{number}-1" for number in range(1, len(points) + 1)]
    return xr.DataArray(
        squareform(pdist(points)), coords={"one": names, "other": names}, dims=("one", "other")
    )


@pytest.mark.parametrize("seed", range(3))
def test_points_in_a_plane_are_found_again(seed):
    points = np.random.default_rng(seed).normal(size=(16, 2)) * [3.0, 1.0]
    frame, stress = scale(distances(points), seed=0)
    assert frame["name"].tolist() == [f"{number}-1" for number in range(1, 17)]
    assert procrustes(points, frame[["x", "y"]].to_numpy())[2] < 1e-3
    np.testing.assert_allclose(pdist(frame[["x", "y"]]), pdist(points), atol=0.1)
    assert stress < 0.02


def test_points_are_centred_and_their_longest_axis_is_x():
    points = np.random.default_rng(5).normal(size=(20, 2)) * [0.5, 4.0] + 100
    frame, _ = scale(distances(points), seed=1)
    assert frame[["x", "y"]].mean().tolist() == pytest.approx([0, 0], abs=1e-9)
    assert frame["x"].var() > frame["y"].var()
    assert frame["x"].corr(frame["y"]) == pytest.approx(0, abs=1e-6)


def test_a_seed_always_gives_the_same_points():
    given = distances(np.random.default_rng(2).random((12, 5)))
    one, other = scale(given, seed=7), scale(given, seed=7)
    assert one[0].equals(other[0])
    assert one[1] == other[1]


def test_stress_is_kruskals_on_the_points_given_back():
    given = distances(np.random.default_rng(3).random((10, 6)))
    frame, stress = scale(given, seed=0)
    apart, asked = pdist(frame[["x", "y"]]), squareform(given.values)
    assert stress == pytest.approx(np.sqrt(((apart - asked) ** 2).sum() / (asked**2).sum()))
    assert stress > 0.02  # six dimensions do not fit into two


def heads(layers: int, each: int) -> list[str]:
    return [f"{layer}-{head}" for layer in range(1, layers + 1) for head in range(1, each + 1)]


def apart(values: np.ndarray, names: list[str]) -> xr.DataArray:
    return xr.DataArray(values, coords={"one": names, "other": names}, dims=("one", "other"))


def random_distances(names: list[str], seed: int) -> xr.DataArray:
    points = np.random.default_rng(seed).normal(size=(len(names), 3))
    return apart(squareform(pdist(points)), names)


def test_means_are_those_of_a_plain_loop_over_pairs():
    names = heads(3, 4)
    given = random_distances(names, 1)
    within, between = [], []
    for one, other in combinations(names, 2):
        value = float(given.sel(one=one, other=other))
        (within if one.split("-")[0] == other.split("-")[0] else between).append(value)
    found = layer_closeness(given, seed=0, permutations=9)
    assert found.within == pytest.approx(sum(within) / len(within))
    assert found.between == pytest.approx(sum(between) / len(between))


def test_p_is_the_share_of_all_ways_to_deal_out_the_heads():
    names = heads(3, 2)
    given = random_distances(names, 4)

    def mean_within(order):
        pairs = [(order[place], order[place + 1]) for place in (0, 2, 4)]
        return float(np.mean([given.values[pair] for pair in pairs]))

    deals = [mean_within(order) for order in permutations(range(6))]
    exact = np.mean([deal <= mean_within(tuple(range(6))) + 1e-12 for deal in deals])
    found = layer_closeness(given, seed=0, permutations=20_000)
    assert found.p == pytest.approx(exact, abs=0.01)


def test_heads_of_a_layer_that_avoid_each_other_are_not_close():
    names = heads(2, 2)
    rows = np.array([[0, 5, 1, 1], [5, 0, 1, 1], [1, 1, 0, 5], [1, 1, 5, 0]], float)
    found = layer_closeness(apart(rows, names), seed=0, permutations=999)
    assert (found.within, found.between, found.p) == (5.0, 1.0, 1.0)


@pytest.mark.parametrize("names", [heads(1, 4), heads(4, 1)])
def test_one_layer_or_one_head_per_layer_has_no_p(names):
    found = layer_closeness(random_distances(names, 0), seed=0)
    assert np.isnan(found.p)
    assert np.isnan(found.within) != np.isnan(found.between)
