"""Tables of roles, and what a reader is warned of: against scipy's z test and plain loops."""

import numpy as np
import pytest

from headscope.stats import cautions, role_table, role_tests, tau_table, undecided
from stats.made_roles import HEADS, LAYERS, PAPER, ROLES, made_roles, random_scores
from stats.references import z_test


@pytest.fixture(scope="module")
def values():
    return random_scores()


@pytest.fixture(scope="module")
def results(values):
    return made_roles(values)


def test_the_table_of_taus_counts_heads_as_a_literal_loop_does(values, results):
    spread = values + np.linspace(-2.0, 2.0, HEADS)[:, None]
    kept = spread.astype(np.float32).astype(np.float64)
    table = tau_table(made_roles(spread), **PAPER)
    assert table.columns.tolist() == ["role", "tau 1", "tau 2", "tau 3", "tau 4", "tau 5"]
    assert table["role"].tolist() == list(ROLES)
    for column in range(len(ROLES)):
        for tau in (1, 2, 3, 4, 5):
            cells = np.ndindex(LAYERS, HEADS)
            count = sum(z_test(kept[:, *cell, column], tau) < 0.05 for cell in cells)
            assert table[f"tau {tau}"][column] == count
    options = {"correction": "holm", "test": "t"}
    held = tau_table(results, [2, 3.5], **options)
    assert held.columns.tolist() == ["role", "tau 2", "tau 3.5"]
    has = role_tests(results, tau=3.5, **options)["has"]
    assert held["tau 3.5"].tolist() == has.sum(("layer", "head")).values.tolist()


def test_the_table_of_roles_names_the_strongest_head_of_each(values, results):
    table = role_table(results, role_tests(results, **PAPER)).set_index("role")
    for column, role in enumerate(ROLES):
        means = values[..., column].mean(0)
        layer, head = np.unravel_index(means.argmax(), means.shape)
        row = table.loc[role]
        p = {cell: z_test(values[:, *cell, column], 3.0) for cell in np.ndindex(LAYERS, HEADS)}
        count = sum(one < 0.05 for one in p.values())
        assert row["strongest"] == f"{layer + 1}-{head + 1}"
        assert (row["heads"], row["share"], row["sequences"]) == (count, count / 6, 40)
        assert row["mean"] == pytest.approx(means.max(), rel=1e-6)
        assert row["p"] == pytest.approx(p[layer, head], rel=1e-6)


def test_a_role_that_no_sequence_has_is_in_the_table_with_nothing():
    scores = random_scores(35)
    scores[..., 3] = np.nan
    found = made_roles(scores)
    row = role_table(found, role_tests(found)).set_index("role").loc["block"]
    assert (row["heads"], row["share"], row["sequences"], row["strongest"]) == (0, 0.0, 0, "")
    assert np.isnan(
        [row[key] for key in ("mean", "low", "high", "effect", "p", "p_corrected")]
    ).all()


def test_undecided_is_the_share_of_ps_between_the_bounds_over_the_papers_four_roles(
    values, results
):
    tests = role_tests(results, **PAPER)
    ps = [z_test(values[:, *cell], 3.0) for cell in np.ndindex(LAYERS, HEADS, 4)]
    assert undecided(tests) == pytest.approx(sum(0.05 < p < 0.95 for p in ps) / len(ps))
    assert 0 < undecided(tests) < 1
    assert np.isnan(undecided(role_tests(made_roles(np.full((3, 1, 1, 5), np.nan)))))


ABSENT = {
    "nsubj": "the corpus has no tree: parse it",
    "coreferent": "no mentions",
    "dobj": "the corpus has no tree: parse it",
}


def test_fewer_than_30_sequences_are_cautioned_by_role():
    scores = random_scores(30)
    scores[29:, ..., 1] = np.nan
    scores[..., 2] = np.nan
    found = made_roles(scores, absent=ABSENT)
    tau = {"": 3.0, "block": 1.5}
    few = (
        "Fewer than 30 sequences: syntactic (29). Do not rely on the test there, above all where "
        "scores are skewed to the left; use more sequences"
    )
    bootstrap = role_tests(found, tau=tau, test="bootstrap")
    assert cautions(found, bootstrap)[0] == f"{few}."  # it does not advise what is used already
    assert cautions(found, role_tests(found, tau=tau)) == [
        f"{few}, or the bootstrap test, which errs least often on skewed scores.",
        "Not defined, since no sequence has such a token: delimiter.",
        "Absent: nsubj, dobj (the corpus has no tree: parse it).",
        "Absent: coreferent (no mentions).",
    ]


def test_block_over_what_it_can_be_is_cautioned(results):
    assert any(
        text.startswith("By the paper's formula the score of block is at most about 2.1")
        for text in cautions(results, role_tests(results, tau=3.0))
    )
    assert cautions(results, role_tests(results, tau=2.0)) == []


@pytest.mark.parametrize("test", ["bootstrap", "permutation"])
def test_a_test_from_part_of_the_sequences_says_so_and_uses_only_those(test):
    scores = random_scores(60)
    scores[32:] += 50.0
    found = made_roles(scores, kept=32)
    tests = role_tests(found, tau=2.0, test=test, correction="none", resamples=200)
    assert (tests["n"] == 32).all()
    assert float(tests["high"].max()) < 20.0
    assert cautions(found, tests) == [
        f"The {test} test uses the 32 sequences whose scores are kept, of 60; means are over all."
    ]


def test_what_is_special_about_the_tokens_is_said():
    scores = random_scores(40)
    twice = np.concatenate([scores, scores[..., [4]]], -1)
    unseen = {"unseen": "nsubj in 6 of 60"}
    found = made_roles(twice, [*ROLES, "first token"], attributes=unseen)
    assert cautions(found, role_tests(found, tau=2.0)) == [
        "first token and cls are the same tokens here, and count as one test.",
        "Dependency roles go both ways here, between a dependent and its head word: from the "
        "dependent, this causal model would see the head word of nsubj in 6 of 60 sequences only.",
    ]


def test_documents_are_mentioned_and_few_of_them_are_cautioned():
    scores = random_scores(80)
    scores[40:, ..., 1] = np.nan
    found = made_roles(scores, groups=[f"d{number // 4}" for number in range(80)])
    assert cautions(found, role_tests(found, tau=2.0)) == [
        "Sequences of one document are not independent of each other: tests and intervals are "
        "over 20 documents.",
        "In effect fewer than 15 documents, so that tests and intervals are rough: syntactic (10).",
    ]


def test_a_threshold_from_the_same_scores_is_called_exploratory(results):
    note = (
        "Exploratory: τ was chosen from the same scores (auto), so p-values do not hold at their "
        "level."
    )
    assert note in cautions(results, role_tests(results, tau="auto"))
    assert note not in cautions(results, role_tests(results, tau=2.0))


def test_the_mean_length_stands_beside_every_role():
    scores = random_scores(40)
    scores[30:, ..., 1] = np.nan
    lengths = [10] * 30 + [50] * 10
    found = made_roles(scores, tokens=lengths)
    table = role_table(found, role_tests(found)).set_index("role")
    assert (table["length"]["local"], table["length"]["syntactic"]) == (20.0, 10.0)
    none = made_roles(scores, kept=0)
    assert role_table(none, role_tests(none))["length"].isnull().all()
