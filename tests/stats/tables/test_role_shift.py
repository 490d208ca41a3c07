"""Shift by fine-tuning: scipy's paired tests by thirds of the layers, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.errors import ResultsError, UserError
from headscope.results import Atlas
from headscope.stats import role_shift
from page.samples import made_results
from refusals import refusal
from stats.made_roles import made_roles, random_scores
from stats.references import CORRECTIONS

ROLES = ("local", "delimiter")
THIRDS = {
    12: {"first": [1, 2, 3, 4], "middle": [5, 6, 7, 8], "last": [9, 10, 11, 12]},
    6: {"first": [1, 2], "middle": [3, 4], "last": [5, 6]},
    4: {"first": [1, 2], "middle": [3], "last": [4]},
    2: {"first": [1], "middle": [2]},
    1: {"first": [1]},
}


def both(layers: int = 6, sequences: int = 20) -> tuple[Any, Any]:
    before = random_scores(sequences, seed=1, layers=layers, roles=2)
    after = before + np.random.default_rng(2).normal(0.2, 0.5, before.shape)
    return before, after.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize("layers", THIRDS)
def test_a_third_is_a_paired_test_of_the_mean_over_its_heads(layers):
    before, after = both(layers)
    table = role_shift(made_roles(before, ROLES), made_roles(after, ROLES)).set_index(
        ["role", "third"]
    )
    assert set(table.index) == {(role, third) for role in ROLES for third in THIRDS[layers]}
    for column, role in enumerate(ROLES):
        for third, which in THIRDS[layers].items():
            row: Any = table.loc[(role, third)]
            old, new = (
                [
                    np.mean([one[layer - 1, head, column] for layer in which for head in range(3)])
                    for one in scores
                ]
                for scores in (before, after)
            )
            expected = stats.ttest_rel(new, old)
            low, high = expected.confidence_interval(0.95)
            # The jackknife's error is the usual one times √(n / (n - 1)).
            wider = np.sqrt(20 / 19)
            middle, half = (low + high) / 2, wider * (high - low) / 2
            p = 2 * stats.t.sf(abs(expected.statistic) / wider, 19)
            assert row["layers"] == (f"{which[0]}–{which[-1]}" if len(which) > 1 else str(which[0]))
            wanted = pytest.approx((np.mean(old), np.mean(new)), rel=1e-5)
            assert (row["before"], row["after"]) == wanted
            assert row["shift"] == pytest.approx(np.mean(new) - np.mean(old), rel=1e-6)
            wanted = pytest.approx((middle - half, middle + half), rel=1e-6)
            assert (row["low"], row["high"]) == wanted
            assert row["p"] == pytest.approx(p, rel=1e-6)
            assert row["sequences"] == 20


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_ps_are_corrected_over_all_rows(correction):
    before, after = both()
    table = role_shift(made_roles(before, ROLES), made_roles(after, ROLES), correction=correction)
    np.testing.assert_allclose(table["p_corrected"], CORRECTIONS[correction](table["p"].tolist()))
    plain = role_shift(made_roles(before, ROLES), made_roles(after, ROLES), correction="none")
    assert plain["p_corrected"].tolist() == plain["p"].tolist()
    message = "the correction must be one of bh, holm, none; got 'bonferroni' instead"
    with pytest.raises(UserError, match=message):
        role_shift(made_roles(before, ROLES), made_roles(after, ROLES), correction="bonferroni")


def test_no_change_has_shift_0_and_p_1():
    before, _ = both()
    table = role_shift(made_roles(before, ROLES), made_roles(before, ROLES))
    assert table["shift"].tolist() == [0.0] * 6
    assert table["p"].tolist() == [1.0] * 6


def test_sequences_without_the_role_do_not_count_and_one_alone_has_no_interval():
    before, after = both(3)
    for scores in (before, after):
        scores[1:, ..., 0] = np.nan
        scores[:5, ..., 1] = np.nan
    table = role_shift(made_roles(before, ROLES), made_roles(after, ROLES)).set_index(
        ["role", "third"]
    )
    one: Any = table.loc[("local", "first")]
    rest: Any = table.loc[("delimiter", "first")]
    assert (one["sequences"], rest["sequences"]) == (1, 15)
    assert one["shift"] == pytest.approx((after - before)[0, 0, :, 0].mean(), rel=1e-5)
    assert np.isnan([one["low"], one["high"], one["p"], one["p_corrected"]]).all()
    t = stats.ttest_rel(after[5:, 0, :, 1].mean(1), before[5:, 0, :, 1].mean(1)).statistic
    assert rest["p"] == pytest.approx(2 * stats.t.sf(abs(t) / np.sqrt(15 / 14), 14), rel=1e-6)


def test_a_role_that_no_sequence_has_has_no_shift():
    before, after = both(3)
    before[..., 1] = after[..., 1] = np.nan
    row: Any = (
        role_shift(made_roles(before, ROLES), made_roles(after, ROLES))
        .set_index(["role", "third"])
        .loc[("delimiter", "last")]
    )
    assert row["sequences"] == 0
    assert np.isnan([row["shift"], row["before"], row["after"], row["p"]]).all()


def test_only_roles_and_sequences_that_both_have_are_compared():
    before, after = both(3)
    old = made_roles(before, ("local", "delimiter"))
    # The same roles in another order, and fewer sequences kept.
    new = made_roles(after[:, ..., ::-1], ("delimiter", "local"), kept=12)
    table = role_shift(old, new, roles=["local"])
    assert table["role"].unique().tolist() == ["local"]
    assert table["sequences"].tolist() == [12] * 3
    assert table["shift"].tolist() == pytest.approx(
        [(after - before)[:12, layer, :, 0].mean() for layer in range(3)], rel=1e-5
    )


def refused(before: Atlas, after: Atlas, **options: Any) -> ResultsError:
    return refusal(ResultsError, role_shift, before, after, **options)


def test_results_that_cannot_be_compared_are_refused_with_the_reason():
    before, after = both(3)
    one = made_roles(before, ROLES)
    error = refused(one, made_roles(both(4)[0], ROLES))
    assert error.message == (
        "the two models have different heads (3 × 3 and 4 × 3) and cannot be compared head by head"
    )
    assert error.hint == "compare a model with its own fine-tuned version"
    error = refused(one, made_roles(after, ROLES, corpus={"name": "other.txt", "sha256": "1" * 64}))
    message = "the two results are of different corpora (some/texts.txt and other.txt)"
    assert error.message == message
    assert error.hint == "survey both models with the same corpus"
    error = refused(
        one, made_roles(after, ROLES, ids=[str(index) for index in (1, 0, *range(2, 20))])
    )
    assert error.message == (
        "the two results do not have the same sequences in the same order: "
        "tokenizer, length or batch size differ"
    )
    assert error.hint == "survey both models with the same options"
    message = "these results keep only the moments, not the score of every sequence"
    assert refused(one, made_roles(after, ROLES, kept=0)).message == message
    message = "the two results have no role in common"
    assert refused(one, made_roles(after, ("cls", "sep"))).message == message
    assert refused(one, one, roles=["amod"]).message == "the two results have no role in common"
    message = "these results have no roles in them"
    assert refused(one, made_results(3, 3, corpus="some/texts.txt")).message == message


@pytest.mark.parametrize(
    ("setting", "value"), [("max_length", 64), ("token_types", False), ("long", "split")]
)
def test_results_of_other_settings_are_refused_by_name(setting, value):
    before, after = both(3)
    one = made_roles(before, ROLES)
    settings = one.provenance["settings"]
    error = refused(one, made_roles(after, ROLES, settings=settings | {setting: value}))
    assert error.message == (
        f"the two results differ in {setting.replace('_', ' ')} "
        f"({settings.get(setting)} and {value}), so their scores do not mean the same thing"
    )
    assert len(role_shift(one, made_roles(after, ROLES, settings=settings | {"seed": 7}))) == 6


@pytest.mark.parametrize(("option", "value"), [("direction", "from head"), ("subtypes", "fold")])
def test_roles_of_other_options_are_refused_by_name(option, value):
    before, after = both(3)
    usual = {"direction": "to head", "subtypes": "keep"}
    one = made_roles(before, ROLES, attributes=usual)
    error = refused(one, made_roles(after, ROLES, attributes=usual | {option: value}))
    assert error.message == (
        f"the two results differ in {option} ({usual[option]} and {value}), so their scores do "
        "not mean the same thing"
    )


# Size of the effect


def test_a_tiny_shift_is_certain_and_the_same():
    random = np.random.default_rng(3)
    before = random.normal(3.0, 1.0, (1000, 3, 2, 1))
    after = before + random.normal(-0.001, 0.002, before.shape)
    row: Any = role_shift(made_roles(before, ["local"]), made_roles(after, ["local"])).iloc[0]
    assert row["p_corrected"] < 1e-20
    assert (row["p_least"], row["verdict"]) == (1.0, "same")
    scores = before[:, 0, :, 0].mean(1)
    assert row["effect"] == pytest.approx(row["shift"] / scores.std(ddof=1), rel=1e-3)
    exact = role_shift(made_roles(before, ["local"]), made_roles(after, ["local"]), least=0.0)
    assert exact["verdict"].tolist() == ["lower"] * 3
    np.testing.assert_allclose(exact["p_least"], exact["p_corrected"])


def test_a_shift_is_tested_against_the_least_that_is_of_interest():
    before, after = both(3, sequences=200)
    table = role_shift(
        made_roles(before, ROLES), made_roles(after, ROLES), least=0.15, correction="none"
    )
    for row in table.to_dict("records"):
        layer = {"first": 0, "middle": 1, "last": 2}[row["third"]]
        change = (after - before)[:, layer, :, ROLES.index(row["role"])].mean(1)
        t = stats.ttest_1samp(change, 0.15).statistic / np.sqrt(200 / 199)
        one_sided = stats.t.sf(t, 199)
        assert row["p_least"] == pytest.approx(min(1.0, 2 * one_sided), rel=1e-4)
        assert row["verdict"] == ("higher" if 2 * one_sided < 0.05 else "unclear")
    assert set(table["verdict"]) == {"higher", "unclear"}
    with pytest.raises(UserError, match="the smallest shift of interest must be 0 or more, got -1"):
        role_shift(made_roles(before, ROLES), made_roles(after, ROLES), least=-1)


def test_sequences_of_one_document_are_one_cluster():
    before, after = both(3)
    once = role_shift(made_roles(before, ROLES), made_roles(after, ROLES))
    groups = [f"d{number // 2}" for number in range(40)]
    twice = [
        made_roles(np.repeat(scores, 2, 0), ROLES, groups=groups) for scores in (before, after)
    ]
    table = role_shift(*twice)
    for column in ("shift", "low", "high", "p", "p_least"):
        np.testing.assert_allclose(table[column], once[column], rtol=1e-5)
    expected = ([40], [20])
    assert (table["sequences"].unique().tolist(), table["clusters"].unique().tolist()) == expected
    plain = role_shift(*twice, clusters=False)
    assert (plain["p"] < once["p"]).all()
