"""Intervals from fewer documents: against a loop in numpy, and against what theory says."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import headscope as hs
from headscope.errors import UserError
from headscope.results import Atlas
from headscope.stats import convergence
from stats.made_work import atlas_of, relations_of

BUCKETS = 32
PREVIOUS = ("position", {"offset": "previous"})


def results_of(values: np.ndarray, buckets: np.ndarray, heads: int = 2) -> Atlas:
    """Results of one layer in which the last head has these values, one for each example; the
    others have less. Examples are in the given buckets.
    """
    sums = np.zeros((BUCKETS, 1, heads, 3))
    counts = np.zeros(sums.shape, np.int64)
    squares = np.zeros_like(sums)
    for value, bucket in zip(values, buckets, strict=True):
        for head in range(heads):
            mine = value - (heads - 1 - head)
            sums[bucket, 0, head] += mine
            squares[bucket, 0, head] += mine**2
            counts[bucket, 0, head] += 1
    dims = ("bucket", "layer", "head", "offset")
    labels = {
        "bucket": range(1, BUCKETS + 1),
        "layer": [1],
        "head": range(1, heads + 1),
        "offset": ["previous", "current", "next"],
    }
    data = {"sum": (dims, sums), "square": (dims, squares), "count": (dims, counts)}
    group = xr.Dataset(data, {dim: list(names) for dim, names in labels.items()}, {"kind": "mean"})
    model = {"name": "made", "layers": 1, "heads": heads}
    return Atlas.build({"position": group}, {"model": model, "corpus": {"name": "up"}})


def test_half_widths_are_those_of_a_jackknife_in_a_loop_over_the_same_orders() -> None:
    random = np.random.default_rng(3)
    buckets = random.integers(0, BUCKETS, 90)
    buckets[buckets == 5] = 6  # an empty bucket
    values = random.normal(0.5, 0.1, 90)
    found = convergence(results_of(values, buckets), [PREVIOUS], seed=7, orders=3)
    filled = np.unique(buckets)
    same = np.random.default_rng(7)
    orders = [same.permutation(filled) for _ in range(3)]
    assert 24 < len(filled) < BUCKETS
    assert found["buckets"].tolist() == [4, 8, 12, 16, 24, len(filled)]
    for row in found.to_dict("records"):
        halves, held = [], []
        for order in orders:
            chosen = order[: row["buckets"]]
            inside = np.isin(buckets, chosen)
            held.append(int(inside.sum()))
            whole, moved, sizes = values[inside].mean(), [], []
            for out in chosen:
                moved.append(values[inside & (buckets != out)].mean() - whole)
                sizes.append((buckets == out).sum())
            degrees = np.sum(sizes) ** 2 / np.sum(np.square(sizes)) - 1
            halves.append(stats.t.ppf(0.975, degrees) * np.sqrt(np.sum(np.square(moved))))
        assert row["half_width"] == pytest.approx(np.mean(halves))
        assert row["examples"] == pytest.approx(np.mean(held))
        assert row["value"] == pytest.approx(values.mean())
        assert (row["head"], row["to_halve"]) == ("1-2", 360)


def test_intervals_shrink_as_theory_says_on_independent_examples() -> None:
    """The standard error of n examples is their deviation over the root of n."""
    random = np.random.default_rng(0)
    buckets = np.tile(np.arange(BUCKETS), 50)
    values = random.normal(0.5, 0.2, len(buckets))
    found = convergence(results_of(values, buckets), [PREVIOUS], orders=200, seed=1)
    assert found["buckets"].tolist() == [4, 8, 12, 16, 24, 32]
    assert found["examples"].tolist() == [200, 400, 600, 800, 1200, 1600]
    for row in found.to_dict("records"):
        expected = stats.t.ppf(0.975, row["buckets"] - 1) * 0.2 / np.sqrt(row["examples"])
        # A deviation of k values is itself uncertain by about 1 / sqrt(2 k).
        assert row["half_width"] == pytest.approx(expected, rel=0.2)


def test_so_many_examples_halve_the_interval() -> None:
    random = np.random.default_rng(5)
    buckets = np.tile(np.arange(BUCKETS), 160)
    values = random.normal(0.5, 0.2, len(buckets))
    quarter = len(values) // 4
    small = convergence(results_of(values[:quarter], buckets[:quarter]), [PREVIOUS])
    large = convergence(results_of(values, buckets), [PREVIOUS])
    assert int(small["to_halve"].iloc[-1]) == len(values)
    ratio = large["half_width"].iloc[-1] / small["half_width"].iloc[-1]
    assert ratio == pytest.approx(0.5, rel=0.25)


def test_documents_whose_examples_are_alike_need_more_of_them() -> None:
    random = np.random.default_rng(2)
    buckets = np.repeat(np.arange(BUCKETS), 20)
    own = random.normal(0.5, 0.1, len(buckets))
    alike = own + random.normal(0, 0.1, BUCKETS)[buckets]
    widths = [
        convergence(results_of(values, buckets), [PREVIOUS])["half_width"].iloc[-1]
        for values in (own, alike)
    ]
    assert widths[1] > 3 * widths[0]  # about sqrt(1 + 20)


def test_the_seed_decides_on_the_orders_and_all_buckets_have_one_interval() -> None:
    random = np.random.default_rng(4)
    made = results_of(random.normal(0.5, 0.1, 64), np.arange(64) % BUCKETS)
    first, again, other = (convergence(made, [PREVIOUS], seed=seed) for seed in (0, 0, 1))
    assert first.equals(again)
    assert first["half_width"].iloc[0] != other["half_width"].iloc[0]
    assert first["half_width"].iloc[-1] == pytest.approx(other["half_width"].iloc[-1])


def test_main_roles_and_relations_are_followed_by_default() -> None:
    made = atlas_of([{"same": 0.3}, {"itself": 0.6}], relations=relations_of([288, 0]))
    found = convergence(made).drop_duplicates("statistic").set_index("measure")
    assert found.loc["work", ["head", "statistic"]].tolist() == [
        "1-2",
        "excess of its main role, the token itself",
    ]
    assert found.loc["work", "value"] == pytest.approx(0.6, abs=0.01)
    assert found.loc["dependency", ["head", "value"]].tolist() == ["1-1", 0.9]
    assert found.loc["activity", "statistic"] == "attention that rests on other special tokens"


def test_one_document_gives_no_interval() -> None:
    made = results_of(np.array([0.4, 0.6]), np.array([3, 3]))
    assert convergence(made, [PREVIOUS]).empty


def test_an_unknown_label_is_answered_with_those_that_exist() -> None:
    made = results_of(np.array([0.4, 0.6]), np.array([3, 4]))
    with pytest.raises(UserError, match="sideways"):
        convergence(made, [("position", {"offset": "sideways"})])
    with pytest.raises(UserError, match="needs a label for 'offset': one of previous, current"):
        convergence(made, [("position", {})])
    with pytest.raises(UserError, match="number of orders must be 1 or more, got 0"):
        convergence(made, [PREVIOUS], orders=0)


def test_a_survey_can_be_followed() -> None:
    atlas = hs.survey("demo", "demo", limit=12, measures=["position", "entropy"])
    found = convergence(atlas)
    assert set(found["measure"]) == {"position", "entropy"}
    for _, part in found.groupby("statistic"):
        assert part["half_width"].iloc[-1] < part["half_width"].iloc[0]
        assert part["examples"].iloc[-1] == 12
