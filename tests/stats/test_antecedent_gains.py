"""Gains at antecedents over a baseline, against plain loops over buckets of documents."""

from __future__ import annotations

import pytest
from scipy import stats

from headscope.errors import UserError
from headscope.results import Atlas
from headscope.stats import antecedent_gains, gain_differences
from stats.made import BUCKETS, coreference, parts, results
from stats.references import document_interval

KINDS = ("all", "pronoun", "proper", "nominal")
# By kind: mentions, and those that the nearest mention, the same head word and the rules get right.
MENTIONS = {"all": (120, 30, 50, 80), "pronoun": (60, 15, 20, 40), "proper": (30, 10, 20, 25)}
MENTIONS["nominal"] = (30, 5, 10, 15)
HEAD = {"all": (90, 20, 40, 60), "pronoun": (45, 10, 15, 30), "proper": (20, 5, 15, 15)}
HEAD["nominal"] = (25, 5, 10, 15)


@pytest.fixture(scope="module")
def made() -> Atlas:
    return results(coreference=coreference(MENTIONS, {("mentions", 2, 1): HEAD}))


@pytest.mark.parametrize(
    ("place", "baseline"), [(1, "nearest"), (2, "same head word"), (3, "rules")]
)
def test_a_gain_has_the_interval_of_its_buckets(made: Atlas, place: int, baseline: str) -> None:
    gains = antecedent_gains(made, baseline=baseline)
    assert gains.index.tolist() == list(KINDS)
    for kind in KINDS:
        n, its, mine = MENTIONS[kind][0], MENTIONS[kind][place], HEAD[kind][0]
        more = [one - other for one, other in zip(parts(mine), parts(its), strict=True)]
        row = gains.loc[kind]
        assert row["gain"] == pytest.approx((mine - its) / n)
        assert (row["low"], row["high"]) == pytest.approx(document_interval(more, parts(n)))
        assert (row["low"] < row["gain"]) == any(more)


def test_the_difference_of_two_gains_is_jackknifed_over_buckets(made: Atlas) -> None:
    found = gain_differences(made, baseline="rules", kind="nominal")
    assert found.index.tolist() == ["pronoun", "proper"]

    def gain(kind: str, buckets: set[int]) -> float:
        right, its, of = (
            sum(parts(number)[bucket] for bucket in buckets)
            for number in (HEAD[kind][0], MENTIONS[kind][3], MENTIONS[kind][0])
        )
        return (right - its) / of

    every, sizes = set(range(BUCKETS)), parts(MENTIONS["all"][0])
    degrees = sum(sizes) ** 2 / sum(size**2 for size in sizes) - 1
    for other in found.index:
        whole = gain("nominal", every) - gain(other, every)
        without = [gain("nominal", every - {out}) - gain(other, every - {out}) for out in every]
        error = sum((one - whole) ** 2 for one in without) ** 0.5
        half = float(stats.t.ppf(0.975, degrees)) * error
        assert half > 0.01
        assert found.loc[other].tolist() == pytest.approx([whole, whole - half, whole + half])


def test_an_unknown_baseline_is_refused(made: Atlas) -> None:
    with pytest.raises(UserError) as caught:
        antecedent_gains(made, baseline="rule")
    assert "Did you mean 'rules'?" in caught.value.message
