"""The threshold of a role: as given, by role, or found from the data."""

import numpy as np
import pytest

from headscope.errors import ResultsError, UserError
from headscope.options import RoleTest
from headscope.stats import find_tau, find_taus, grand_mean, pooled_mean, pooled_tau, role_tests
from refusals import refusal
from stats.made_roles import PAPER, made_roles, random_scores
from stats.references import z_test


@pytest.fixture(scope="module")
def values():
    return random_scores()


@pytest.fixture(scope="module")
def results(values):
    return made_roles(values)


def test_tau_from_the_data_is_the_smallest_integer_above_the_mean_of_the_papers_four_roles():
    scores = np.full((4, 1, 1, 5), 2.0)
    scores[..., 0] = 4.5
    scores[..., 4] = 100.0  # [CLS] is not one of the four
    found = made_roles(scores)
    assert grand_mean(found) == pytest.approx(10.5 / 4)
    assert find_tau(found, "auto") == 3.0
    assert (role_tests(found, tau="auto")["tau"] == 3.0).all()
    assert find_tau(made_roles(np.full((4, 1, 1, 5), 3.0)), "auto") == 4.0  # above, not at
    assert find_tau(made_roles(np.full((4, 1, 1, 5), 0.25)), "auto") == 1.0


def test_tau_from_the_data_counts_each_score_once_and_only_the_roles_that_are_there():
    scores = np.full((6, 1, 2, 5), np.nan)
    scores[:, ..., 0], scores[:2, ..., 1] = 1.0, 5.0
    assert grand_mean(made_roles(scores)) == pytest.approx((6 * 1 + 2 * 5) / 8)
    none_of_the_four = made_roles(np.full((3, 1, 1, 1), 7.5), ["mine"])
    assert grand_mean(none_of_the_four) == pytest.approx(7.5)
    assert refusal(
        ResultsError, find_tau, made_roles(np.full((3, 1, 1, 5), np.nan)), "auto"
    ).message == ("tau cannot be found from the data: no sequence has any of the roles")


def test_tau_may_differ_by_role(values, results):
    tests = role_tests(results, tau={"": 2.8, "block": 1.5, "cls": "auto"}, **PAPER)
    assert tests.attrs["exploratory"] == 1
    assert role_tests(results, tau={"": 2.8, "block": 1.5}).attrs["exploratory"] == 0
    assert tests["tau"].values.tolist() == [2.8, 2.8, 2.8, 1.5, find_tau(results, "auto")]
    expected = pytest.approx(z_test(values[:, 0, 1, 3], 1.5), rel=1e-6, abs=1e-300)
    assert float(tests["p"].values[0, 1, 3]) == expected
    expected = pytest.approx(z_test(values[:, 0, 1, 2], 2.8), rel=1e-6)
    assert float(tests["p"].values[0, 1, 2]) == expected
    assert find_taus(results, {"block": 1.5}).values.tolist() == [3.0, 3.0, 3.0, 1.5, 3.0]


def test_tau_is_typed_as_a_number_as_auto_or_by_role():
    def thresholds(*typed):
        return RoleTest(tau=typed).thresholds

    assert thresholds() == {"": 3.0}
    assert thresholds("2.5", "block=1.5", "cls=auto") == {"": 2.5, "block": 1.5, "cls": "auto"}
    message = "tau must be a number over 0, 'auto', or ROLE=NUMBER; got 'block=high' instead"
    assert refusal(UserError, thresholds, "block=high").message == message


def test_tau_of_several_corpora_is_from_all_their_scores():
    one, two = np.full((4, 1, 1, 5), 2.0), np.full((12, 1, 1, 5), 4.0)
    two[..., 3] = np.nan  # single texts have no block
    results = [made_roles(one), made_roles(two)]
    mean = (4 * 4 * 2.0 + 12 * 3 * 4.0) / (4 * 4 + 12 * 3)
    assert pooled_mean(results) == pytest.approx(mean)
    assert pooled_tau(results, "auto") == 4.0
    assert find_tau(results[0], "auto") == 3.0
    assert pooled_tau(results, {"": 2.5, "block": "auto"}) == {"": 2.5, "block": 4.0}
    assert pooled_tau(results, 1.5) == 1.5
