"""Every test of roles with every correction: against plain loops, and on corpora without roles."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.stats import role_tests
from headscope.stats.inference.bootstrap import draws
from stats.made_roles import made_roles
from stats.references import CORRECTIONS

TAU = 3.0
RESAMPLES = 240  # in one chunk, so that a plain loop draws the same
PAIRS = [
    (test, correction)
    for test in ("z", "t", "bootstrap", "permutation")
    for correction in ("none", "holm", "bh", "maxt")
    if correction != "maxt" or test in ("bootstrap", "permutation")
]
Array = Any


def documents(random: np.random.Generator, count: int) -> list[str]:
    """The document of each text; documents have 1 to 30 of them."""
    sizes = np.clip(random.lognormal(1.0, 1.0, count).astype(int), 1, 30)
    return [f"d{place}" for place, size in enumerate(sizes) for _ in range(size)]


def scores_of(random: np.random.Generator, groups: list[str], heads: int, roles: int) -> Array:
    """Scores around tau, alike within documents; every other role in part of the texts only."""
    place = np.unique(groups, return_inverse=True)[1]
    shape = (heads, roles)
    number = place.max() + 1
    shared, own = random.normal(size=(number, 1, roles)), random.normal(size=(number, *shape))
    scores = TAU + 0.5 * (shared + own)[place] + random.normal(size=(len(groups), *shape))
    scores[random.random(len(groups)) < 0.5, :, 1::2] = np.nan
    return scores


# Against plain loops


def student(sums: Array, counts: Array, tau: float, nothing: float = 0.0) -> float:
    """The mean's distance from tau by its error, leaving out one document after the other.

    ``nothing`` where there is neither distance nor error.
    """
    there = [(y, m) for y, m in zip(sums, counts, strict=True) if m]
    total, n = sum(y for y, _ in there), sum(m for _, m in there)
    if len(there) < 2:
        return np.inf
    without = [(total - y) / (n - m) - total / n for y, m in there]
    error = np.sqrt(sum(gap**2 for gap in without))
    away = total / n - tau
    if error < 1e-7 * max(abs(y / m) for y, m in there):
        return nothing if abs(away) < 1e-9 else np.sign(away) * np.inf
    return float(away / error)


def normal_score(statistic: float, degrees: float) -> float:
    """The normal deviate with the same upper tail."""
    tail = float(stats.t.sf(abs(statistic), degrees))
    return float(np.sign(statistic) * stats.norm.isf(max(tail, np.finfo(float).tiny)))


def plain(sums: Array, counts: Array, test: str) -> tuple[Array, Array]:
    """p of every cell by itself and by the largest of all, (cell, role), by plain loops."""
    size, cells, roles = sums.shape
    degrees = counts.sum(0) ** 2 / (counts**2).sum(0) - 1
    every = list(np.ndindex(cells, roles))
    p, score = np.empty((cells, roles)), np.empty((cells, roles))
    largest = np.full(RESAMPLES, -np.inf)
    drawn = {
        "bootstrap": next(draws(size, RESAMPLES, 0)).astype(int),
        "permutation": np.random.default_rng(0).integers(0, 2, (RESAMPLES, size), dtype=np.int8) * 2
        - 1,
    }
    for cell, role in every:
        y, m = sums[:, cell, role], counts[:, role]
        mean, observed = y.sum() / m.sum(), student(y, m, TAU)
        score[cell, role] = normal_score(observed, degrees[role])
        if test in ("z", "t"):
            p[cell, role] = (
                stats.norm.sf(observed) if test == "z" else stats.t.sf(observed, degrees[role])
            )
            continue
        reached = 0
        for place, one in enumerate(drawn[test]):
            if test == "bootstrap":
                chosen = np.repeat(np.arange(size), one)
                reached += student(y[chosen], m[chosen], mean, np.inf) >= observed - 1e-9
                shift = y[chosen].sum() / m[chosen].sum() - mean
                value = shift / np.sqrt(((y - mean * m) ** 2).sum()) * m.sum()
            else:  # the mean of the scores, mirrored at tau in some documents
                statistic = student(TAU * m + one * (y - TAU * m), m, TAU)
                reached += statistic >= observed - 1e-9
                highest = stats.norm.isf(0.5 ** (degrees[role] + 1))
                value = min(normal_score(statistic, degrees[role]), highest)
                score[cell, role] = min(score[cell, role], highest)
            largest[place] = max(largest[place], value)
        p[cell, role] = (1 + reached) / (1 + RESAMPLES)
    over = (largest[:, None, None] >= score - 1e-9).sum(0)
    return p, np.maximum(p, (1 + over) / (1 + RESAMPLES))


@pytest.fixture(scope="module")
def corpus():
    """Results of 14 documents with their sums; one head differs in a single document only."""
    random = np.random.default_rng(5)
    groups = documents(random, 14)
    scores = scores_of(random, groups, 4, 3)
    scores[:, :2] += [[[0.6], [1.5]]]
    names = list(dict.fromkeys(groups))
    one = np.array(groups) == names[3]
    scores[:, 3] = np.where(np.isnan(scores[:, 3]), np.nan, np.where(one[:, None], 2.0, 3.25))
    scores = scores.astype(np.float32).astype(np.float64)
    there = ~np.isnan(scores[:, 0])
    place = np.array([names.index(group) for group in groups])
    sums = np.stack([np.nansum(scores[place == number], 0) for number in range(14)])
    counts = np.stack([there[place == number].sum(0) for number in range(14)]).astype(float)
    roles = ("local", "syntactic", "delimiter")
    return made_roles(scores[:, None], roles, groups=groups), sums, counts


@pytest.mark.parametrize(("test", "correction"), PAIRS)
def test_every_test_and_correction_is_that_of_a_plain_loop(corpus, test, correction):
    results, sums, counts = corpus
    tests = role_tests(results, test=test, correction=correction, resamples=RESAMPLES)
    p, p_max = plain(sums, counts, test)
    np.testing.assert_allclose(tests["p"].values[0], p, rtol=1e-6, atol=1e-9)
    expected = {"none": lambda: p, "maxt": lambda: p_max}.get(
        correction, lambda: np.reshape(CORRECTIONS[correction](p.ravel().tolist()), p.shape)
    )()
    np.testing.assert_allclose(tests["p_corrected"].values[0], expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(tests["has"].values[0], expected < 0.05)
    np.testing.assert_allclose(tests["mean"].values[0], sums.sum(0) / counts.sum(0), rtol=1e-6)
    assert (tests["n"].values[0] == counts.sum(0)).all()
    effective = np.broadcast_to(counts.sum(0) ** 2 / (counts**2).sum(0), p.shape)
    np.testing.assert_allclose(tests["effective"].values[0], effective)


def test_resamples_without_spread_are_those_that_draw_none_of_the_documents_that_differ(corpus):
    # All documents but one score 3.25, so a resample without that one lies above the mean and is
    # infinitely far: however small the error of the scores is, p is at least the chance of it.
    results, sums, _ = corpus
    tests = role_tests(results, test="bootstrap", correction="none", resamples=2000)
    without = (1 - 1 / len(sums)) ** len(sums)
    p = tests["p"].sel(role="local").values[0, 3]
    assert p == pytest.approx(without, abs=0.04)
    assert tests["mean"].sel(role="local").values[0, 3] > TAU
    # Below the mean, they do not reach what was observed: scores near zero but for one document.
    scores = np.full((20, 1, 1, 1), 1e-4) + np.arange(20).reshape(-1, 1, 1, 1) * 1e-9
    scores[0] = 100.0
    low = role_tests(
        made_roles(scores, ["local"]), test="bootstrap", correction="none", resamples=2000
    )
    assert float(low["mean"].item()) == pytest.approx(5.0, abs=0.01)
    drawn = np.random.default_rng(3).poisson(1.0, 200_000)  # how often the one is drawn, nearly
    away = drawn[drawn > 0] - 1.0  # its statistic is (k - 1) / √k, nearly; ours is 0.4
    expected = ((away / np.sqrt(drawn[drawn > 0])) >= 0.4).sum() / len(drawn)
    assert float(low["p"].item()) == pytest.approx(expected, abs=0.05)


def test_the_largest_statistic_is_not_ruled_by_the_cell_farthest_from_tau():
    # One head is 40 errors below tau; flipped, it is as far above.
    random = np.random.default_rng(2)
    scores = random.normal(TAU, 0.5, (40, 1, 6, 2))
    scores[:, 0, 0] -= 2.9
    scores[:, 0, 1] += 1.0
    tests = role_tests(
        made_roles(scores, ("local", "syntactic")), test="permutation", correction="maxt"
    )
    assert tests["has"].values[0].sum(1).tolist() == [0, 2, 0, 0, 0, 0]


# On corpora without roles


@pytest.mark.slow
@pytest.mark.parametrize("count", [15, 40])
def test_where_heads_have_no_role_tests_find_one_as_rarely_as_they_say(count):
    runs, null, roles = 120, 6, 3
    random = np.random.default_rng(11)
    each: dict[str, list[float]] = defaultdict(list)
    any_wrong: dict[tuple[str, str], list[bool]] = defaultdict(list)
    wrong_share: dict[tuple[str, str], list[float]] = defaultdict(list)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in range(runs):
        groups = documents(random, count)
        scores = scores_of(random, groups, null + 2, roles)
        scores[:, null:] += 3.0  # the last two heads have all roles
        results = made_roles(scores[:, None], ("local", "syntactic", "delimiter"), groups=groups)
        for test in ("z", "t", "bootstrap", "permutation"):
            own = "maxt" if (test, "maxt") in PAIRS else "none"
            tests = role_tests(results, test=test, correction=own, resamples=599, seed=run)
            p = tests["p"].values[0]
            corrected = {name: correct(p.ravel().tolist()) for name, correct in CORRECTIONS.items()}
            corrected |= {"none": p, own: tests["p_corrected"].values[0]}
            each[test].append((p[:null] < 0.05).mean())
            for correction, values in corrected.items():
                has = np.reshape(values, p.shape) < 0.05
                any_wrong[test, correction].append(has[:null].any())
                wrong_share[test, correction].append(has[:null].sum() / max(1, has.sum()))
                found[test, correction].append(has[null:].mean())
    level = {test: float(np.mean(values)) for test, values in each.items()}
    family = {pair: float(np.mean(values)) for pair, values in any_wrong.items()}
    discovery = {pair: float(np.mean(values)) for pair, values in wrong_share.items()}
    # 18 alike heads and roles in 120 corpora: 0.05 within 3 errors of the simulation. Bootstrap
    # errors of 15 documents are a little too small; the normal distribution's tail far too short.
    for test, most in {"t": 0.075, "permutation": 0.075, "bootstrap": 0.09}.items():
        assert 0.025 < level[test] < most
    assert level["z"] > level["t"]
    for pair in (("t", "holm"), ("permutation", "holm"), ("permutation", "maxt")):
        assert family[pair] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert family["bootstrap", "maxt"] < 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
    assert family["bootstrap", "holm"] < 0.2
    for test in ("t", "permutation"):
        assert discovery[test, "bh"] < 0.05 + 3 * 0.15 / np.sqrt(runs)
        assert family[test, "holm"] <= family[test, "none"]
    assert family["z", "holm"] > family["t", "holm"]
    least = 0.95 if count == 40 else 0.25  # flips of so few documents can tell little
    assert {*found} == {*PAIRS}
    for pair, shares in found.items():
        assert np.mean(shares) > least, pair
