"""Sentences about heads: written by hand for planted heads, and never more than the tests allow.

Sentences about heads beyond ordinary text, from results made by hand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

import headscope as hs
from headscope.measures.roles import ROLES as MAIN_ROLES
from headscope.models import Model, wrap
from headscope.results import Atlas
from headscope.stats import Description, descriptions, main_roles, model_summary, role_stability
from headscope.stats.heads.findings import retrieving_heads
from headscope.stats.tables.ablation import scored
from headscope.stats.words.describe import findings_of
from page.samples import made_results
from stats.embedded import embedded
from stats.made_ablation import planted
from stats.made_probing import made_probing
from stats.made_work import ROLES, atlas_of, relations_of
from stats.references import document_interval
from tiny import WIDTH, tiny_network, tiny_tokenizer


def described(*heads: dict[str, Any], **options: Any) -> list[Description]:
    return list(descriptions(atlas_of(heads, **{"noise": 0.0, "even": 0.1, **options})).values())


def without_intervals(text: str) -> str:
    """They have tests of their own."""
    return re.sub(r" \(\d+ to \d+\)", "", text)


def leads(*heads: dict[str, Any], **options: Any) -> list[str]:
    return [one.lead for one in described(*heads, **options)]


def test_each_role_has_its_sentence():
    assert leads(
        {"near": 0.85, "previous": 0.85},
        {"near": 0.3, "previous": 0.3},
        {"near": 0.6, "next": 0.6},
        {"near": 0.6},
        {"itself": 0.45},
        {"same": 0.53},
        {"same": 0.13},
    ) == [
        "Previous-token head: 95 % of its active attention is on the token before.",
        "Leans towards the previous token: 40 % of its active attention is on the token before.",
        "Next-token head: 70 % of its active attention is on the token after.",
        "Looks one or two tokens away: 70 % of its active attention is there.",
        "Looks at the token itself: 55 % of its active attention is there.",
        "Finds the same word elsewhere: where a word recurs, 63 % of its active attention is on "
        "the other occurrences.",
        "Leans towards the same word elsewhere: where a word recurs, 23 % of its active attention "
        "is on the other occurrences.",
    ]


def test_induction_and_the_arcs_of_the_tree_have_theirs():
    roles = ("induction", "modifier to noun")
    heads = [{"induction": 0.6}, {"induction": 0.2}, {"modifier to noun": 0.5}]
    assert leads(*heads, roles=roles, relations=relations_of([0, 0, 288])) == [
        "Induction head: where a word recurs, 70 % of its active attention is on what followed "
        "it before.",
        "Leans towards induction: where a word recurs, 30 % of its active attention is on what "
        "followed it before.",
        "Looks from modifiers to their noun; best of 3 heads at finding the noun of a determiner.",
    ]


def test_without_a_role_it_says_what_the_head_does_instead():
    assert leads(
        {"spread": 0.9},
        {},
        {"activity": 0.03, "stops": 0.2},
        {"activity": 0.004, "spread": 0.9},
        {"activity": 0.02, "start": 0.0, "other": 0.98},
    ) == [
        "Reads broadly, nearly evenly over the words.",
        "No clear role.",
        "Rests on [CLS] and full stops and commas: 3 % of its attention is active.",
        "Rests on [CLS]: less than 1 % of its attention is active.",
        "Rests on other special tokens: 2 % of its attention is active.",
    ]


def test_two_close_roles_are_both_named():
    found = described(
        {"itself": 0.5, "same": 0.47}, {"near": 0.5, "itself": 0.49}, {"itself": 0.3, "same": 0.29}
    )
    assert [one.lead for one in found] == [
        "Looks at the same word elsewhere, and at the token itself.",
        "Looks at the token itself, and one or two tokens away.",
        "Leans towards the same word elsewhere and the token itself.",
    ]
    expected = [("same", "itself"), ("itself", "near")]
    assert [(one.family, one.second) for one in found[:2]] == expected
    assert without_intervals(found[0].evidence) == (
        "50 % of its attention is active; 50 % rests on [CLS]. Where a word recurs, 57 % of its "
        "active attention is on the other occurrences (by chance: 10 %). 60 % of its active "
        "attention is on the token itself (by chance: 10 %)."
    )


def test_borderline_heads_are_hedged_and_what_else_they_may_be_is_said():
    heads = [
        {"same": (0.66, 0.0), "itself": 0.6},  # about half of the largest excess
        {"near": 0.8, "previous": (0.82, 0.0)},
        {"same": (0.28, 0.0)},  # a lower end of about 0.09
        {"same": (0.38, 0.0), "spread": 0.9},
    ]
    found = described(*heads, noise=0.001)
    assert [one.lead for one in found] == [
        "Mostly leans towards the same word elsewhere and the token itself; other samples "
        "of the documents often give another role.",
        "Mostly a previous-token head; other samples of the documents often give another role.",
        "No clear role; other samples of the documents often give another role.",
        "Mostly leans towards the same word elsewhere; other samples of the documents often "
        "give another role.",
    ]
    assert all(one.borderline for one in found)
    stability = main_roles(atlas_of(heads, noise=0.001, even=0.1))["stability"]
    assert stability.between(0.3, 0.8).all()
    said = [
        ("the same word elsewhere", "the token itself"),
        ("the previous token", "near tokens"),
        ("no clear role", "the same word elsewhere"),
        ("the same word elsewhere", "broad"),
    ]
    assert [one.evidence.split(". ")[-1] for one in found] == [
        f"When the documents are resampled, {100 * share:.0f} % of the samples say “{role}”, the "
        f"others most often “{other}”."
        for share, (role, other) in zip(stability, said, strict=True)
    ]


def test_sinks_are_named_as_the_model_names_them():
    found = described(
        {"activity": 0.4, "separator": 0.1}, {"activity": 0.98}, tokens={"start": "<s>"}
    )
    assert [one.evidence.split(". ")[0] for one in found] == [
        "40 % of its attention is active; 50 % rests on <s>, 10 % on [SEP]",
        "98 % of its attention is active",
    ]
    without = described({"activity": 0.4, "other": 0.6})
    assert without[0].evidence.startswith(
        "40 % of its attention is active; 60 % rests on the first token."
    )


def test_a_head_without_a_role_says_how_far_it_is_from_one():
    # The error of 0.12 in 30 documents is 0.022: 2.0 times as much on both sides.
    found = described({"near": (0.2, 0.0)}, {"near": 0.02}, {"spread": 0.9}, noise=0.001, seed=4)
    assert [one.evidence.split(". ", 1)[1] for one in found] == [
        "Closest to a role: 20 % (16 to 24) of its active attention is on tokens one or two away "
        "(by chance: 10 %), 10 points above chance (6 to 14); a role needs a lower end "
        "of 10 or more.",
        "No role comes close to the threshold.",
        "Its entropy over the words is 90 % of the greatest possible.",
    ]


def test_a_lower_end_that_just_misses_is_not_rounded_up_to_one_that_would_count():
    [found] = described({"near": 0.102}, noise=0.01)
    said = re.search(r"(\S+) points above chance \((\S+) to (\S+)\)", found.evidence)
    assert said
    points, low, high = map(float, said.groups())
    assert 9.5 < low < 10 < points < high


def test_a_role_that_a_head_may_not_have_is_not_the_closest():
    """Without coreference it is not known whether it finds more than the same word."""
    [found] = described({"antecedent": 0.5, "near": 0.08}, roles=("antecedent", "near"))
    assert "Closest to a role: 18 %" in found.evidence
    assert "antecedent" not in found.evidence


def test_an_excess_that_the_test_does_not_confirm_is_not_a_role():
    [found] = described({"same": 0.3}, noise=3.0)
    assert found.lead == "No clear role."
    assert re.search(
        r"Closest to a role: .* but the test does not confirm it \(p = \d\.\d+\)\.$", found.evidence
    )


def one_document(heads: list[dict[str, Any]]) -> Atlas:
    """Planted heads of which only one bucket of documents is left."""
    made = atlas_of(heads, noise=0.0, even=0.1)
    kept = {
        name: made[name][["sum", "square", "count"]].where(made[name]["bucket"] == 3, 0)
        for name in made
    }
    return Atlas.build(kept, made.provenance)


def test_one_document_is_too_few_to_test_roles():
    results = one_document([{"itself": 0.5}, {"spread": 0.9}])
    assert [one.lead for one in descriptions(results).values()] == [
        "There are too few documents to test roles.",
        "Reads broadly, nearly evenly over the words.",
    ]
    assert role_stability(results) == (0, 0)
    assert results.remarks()[0] == "There are too few documents to test roles."


def test_changes_between_two_results_are_told_where_the_test_allows():
    both = [made_results(2, 3, values={"position": np.full((2, 3, 3), 0.1)}) for _ in range(2)]
    changes = hs.compare(*both)
    data = changes["position-change"].copy(deep=True)
    data["mean"][1, 2, 0], data["p_corrected"][1, 2, 0] = 0.2, 0.01
    data["mean"][0, 0, 0], data["p_corrected"][0, 0, 0] = 0.3, 0.2
    made = Atlas(xr.DataTree.from_dict({"/": changes.tree.to_dataset(), "/position-change": data}))
    found = descriptions(made)
    assert found["2-3"].lead == "Change in attention to the previous token: +0.200 (p = 0.010)."
    assert found["1-1"].lead == "Nothing stands out."


def test_a_resting_head_says_where_its_attention_is():
    [found] = described({"activity": 0.03, "stops": 0.2})
    assert found.evidence == "77 % of its attention is on [CLS], 20 % on full stops and commas."


def test_a_further_role_is_told_with_its_share():
    [found] = described({"itself": 0.5, "same": 0.2})
    assert found.second == ""
    assert without_intervals(found.evidence).endswith(
        "Also, where a word recurs, 30 % of its active attention is on the other occurrences "
        "(by chance: 10 %)."
    )


def test_the_share_has_the_interval_of_a_jackknife_written_out():
    results = atlas_of([{"same": 0.4}], noise=0.1, even=0.1)
    sums = results["work"]["sum"].sel(role="same").isel(layer=0, head=0)
    on, left = (sums.sel(part=part).values for part in ("attention", "left"))
    low, high = document_interval(on.tolist(), left.tolist(), share=True)
    assert 0.0095 < (high - low) / 2 < 0.095  # shown without decimals
    share, *ends = (f"{100 * value:.0f}" for value in (on.sum() / left.sum(), low, high))
    expected = f"{share} % ({ends[0]} to {ends[1]}) of its active attention"
    assert expected in descriptions(results)["1-1"].evidence


def test_relations_need_the_corrected_test_and_the_best_head_both_halves():
    found = described({}, {}, {}, relations=relations_of([288, 250, 165]))
    assert [one.lead for one in found] == [
        "No clear role, but the best of 3 heads at finding the noun of a determiner.",
        "No clear role.",
        "No clear role.",
    ]
    said = "the noun of a determiner (det) in {} of 320 cases (a fixed-distance rule: 50 %; p < "
    assert said.format("90 %") in found[0].evidence
    assert said.format("78 %") in found[1].evidence
    assert "determiner" not in found[2].evidence


def test_heads_that_the_paired_test_does_not_tell_apart_share_the_first_place():
    relations = relations_of([288, 288, 256])
    relations["sum"][::2, :, 0] += 1.0  # one word more in half of the documents, one less in some
    relations["sum"][1:20:2, :, 0] -= 1.0
    found = described({}, {}, {}, relations=relations)
    among = "among the best at finding the noun of a determiner (with {})."
    assert found[0].lead == f"No clear role, but {among.format('1-2')}"
    assert found[1].lead == f"No clear role, but {among.format('1-1')}"
    assert found[2].lead == "No clear role."
    # 26 documents differ by one word, 16 for the first head: a two-sided sign test.
    p = scipy_stats.binomtest(16, 26).pvalue
    assert f"no clear difference from 1-2, p = {p:.2f})" in found[0].evidence
    relations["sum"][1:20:2, :, 0] += 1.0  # now none is against it
    [first, second, _] = described({}, {}, {}, relations=relations)
    message = "No clear role, but the best of 3 heads at finding the noun of a determiner."
    assert first.lead == message
    assert "better than the next head, p < 1e-4" in first.evidence  # 2 of 2¹⁶ flips
    assert second.lead == "No clear role."


def test_the_best_head_is_not_called_so_if_the_halves_choose_another():
    relations = relations_of([280, 280])
    relations["sum"][0::2, :, 0] += 1  # the first head is better in one half only
    relations["sum"][1::2, :, 1] += 0.5
    found = described({}, {}, relations=relations)
    assert [one.lead for one in found] == ["No clear role.", "No clear role."]
    assert all("Finds the noun of a determiner" in one.evidence for one in found)


def test_disabling_a_head_is_told_with_its_test():
    found = descriptions(scored(planted(), resamples=2000))
    assert found["2-3"].lead.startswith(
        "Disabling it costs 25.0 points of accuracy (95 % interval "
    )
    assert found["1-2"].lead.startswith(
        "Disabling it gains 20.0 points of accuracy (95 % interval "
    )
    assert found["1-1"].lead == (
        "Disabling it changes accuracy by no more than chance (0.0 points, 95 % interval "
        "0.0 to 0.0)."
    )
    assert found["1-1"].family == ""


def test_disabling_is_part_of_the_evidence_for_a_role():
    off = scored(planted(), resamples=2000)["head_off"]
    made = atlas_of([{"itself": 0.5}] * 6, layers=2, noise=0.0, even=0.1, more={"head_off": off})
    found = descriptions(made)
    assert found["2-3"].lead.startswith("Looks at the token itself: 60 %")
    assert "Disabling it costs 25.0 points of accuracy" in found["2-3"].evidence


def test_the_best_probe_of_a_task_is_named_with_its_head_only():
    results = made_probing(2, 3, ["past_present", "subj_number"])
    found = descriptions(results)
    for task, title in (("past_present", "Tense"), ("subj_number", "SubjNum")):
        validation = results["probe"]["validation"].sel(task=task).values
        layer, head = np.unravel_index(int(validation.argmax()), validation.shape)
        named = [name for name, one in found.items() if f"{title} (" in str(one)]
        assert named == [f"{layer + 1}-{head + 1}"]
    others = [one for one in found.values() if one.lead == "Nothing stands out."]
    assert len(others) >= 4
    assert all(one.evidence == "" for one in others)


def test_results_without_main_roles_say_what_can_be_tested_and_how_to_get_more():
    values = {"position": np.full((2, 3, 3), 0.1)}
    values["position"][1, 2, 0] = 0.9
    made = made_results(2, 3, values=values)
    more = "These results have no main roles: survey again with the default measures."
    assert descriptions(made)["1-1"] == Description("1-1", "Nothing stands out.", more)
    # Eight texts, 0.01 below and above the mean
    low, high = document_interval([0.89, 0.91] * 4, [1] * 8, share=True)
    lead = (
        f"Puts 90 % ({100 * low:.0f} to {100 * high:.0f}) of its attention on the previous token."
    )
    assert descriptions(made)["2-3"] == Description("2-3", lead, more)


def test_a_share_whose_interval_reaches_below_one_half_is_not_claimed():
    values = {"position": np.full((2, 3, 3), 0.1)}
    values["position"][1, 2, 0] = 0.505  # ± 0.01
    assert descriptions(made_results(2, 3, values=values))["2-3"].lead == "Nothing stands out."


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    noise=st.floats(0.0, 3.0),
    sizes=st.lists(st.floats(-0.3, 0.8), min_size=12, max_size=12),
    right=st.lists(st.integers(120, 300), min_size=2, max_size=2),
)
def test_no_sentence_claims_a_role_or_relation_that_fails_its_test(seed, noise, sizes, right):
    heads = [dict(zip(ROLES, part, strict=True)) for part in (sizes[:6], sizes[6:])]
    relations = relations_of(right)
    noisy = np.random.default_rng(seed).normal(0, noise, relations["sum"].shape)
    relations["sum"] = (relations["sum"] + noisy).clip(0, 10)
    results = atlas_of(heads, noise=noise, seed=seed, relations=relations)
    table = main_roles(results).set_index("head")
    p = hs.stats.relation_tests(results)["p_corrected"].min("direction").values.ravel()
    for place, (head, one) in enumerate(descriptions(results).items()):
        claimed = [
            role
            for role, row in MAIN_ROLES.items()
            if one.lead.startswith((row.words.does, f"Leans towards {row.words.leans}"))
        ]
        for role in claimed:
            assert table.loc[head, "role"] == role
            assert table.loc[head, "p_corrected"] < 0.05
            assert table.loc[head, "low"] >= 0.1
        if "determiner" in str(one):
            assert p[place] < 0.05


@pytest.mark.slow
def test_what_is_known_of_the_embedded_model():
    found = descriptions(embedded())
    assert found["1-3"].lead.startswith("Previous-token head: more than 99 %")
    assert found["2-9"].lead.startswith("Next-token head: 83 %")
    noun = found["3-9"]
    assert (noun.family, noun.second) == ("noun phrase", "near")
    assert noun.lead == (
        "Looks from modifiers to their noun, and one or two tokens away; best of 72 heads at "
        "finding the object of a preposition and the noun of a determiner."
    )
    assert "of its active attention is on tokens one or two away" in noun.evidence
    # beyond the baseline: better than the next head, and than its own positions
    assert "(det) in 90 % of 1,277 cases (a fixed-distance rule: 80 %; p < 1e-3; " in noun.evidence
    assert "its attention: 2.1 times what its positions alone would give)" in noun.evidence
    assert "finds the antecedent" not in noun.evidence
    assert found["3-5"].lead.startswith("Leans towards the antecedent of a mention")
    assert "Finds the antecedent of 77 % of 839 mentions" in found["3-5"].evidence
    assert "not reliably more than the rules" in found["3-5"].evidence


@pytest.mark.slow
def test_every_sentence_of_the_embedded_model_is_whole():
    for one in descriptions(embedded()).values():
        for text in (one.lead, one.evidence):
            assert text.endswith(".")
            assert text == " ".join(text.split())
            assert not any(bad in text for bad in ("nan", "..", " .", "{", "None"))


def test_a_text_without_enough_documents_has_sentences_without_a_test():

    atlas = hs.survey("demo", ["x" * 300, "a b a b"], measures=["activity", "work", "spread"])
    found = descriptions(atlas)
    assert len(found) == 72
    assert not [one for one in found.values() if "nan" in f"{one.lead} {one.evidence}"]


HEADS = {"layer": [1, 2], "head": [1, 2]}
GRID = ("layer", "head")


def scores_of(mean: list[float], width: float, kind: str = "mean") -> xr.Dataset:
    values = np.array(mean).reshape(2, 2)
    cells = {"mean": values, "low": values - width, "high": values + width}
    cells["n"] = np.full((2, 2), 9)
    variables = {name: (GRID, array) for name, array in cells.items()}
    return xr.Dataset(variables, HEADS, {"kind": kind})


@pytest.fixture(scope="module")
def results():
    zero = [0.0] * 4
    scores = {"induction": [0.0, 0.35, 0.9, 0.0], "duplicate": zero, "previous": [0.97, 0, 0, 0]}
    synthetic = xr.concat(
        [scores_of(values, 0.1).expand_dims(score=[name]) for name, values in scores.items()],
        "score",
    )
    groups = {
        "synthetic": synthetic.assign_attrs(kind="mean"),
        "copying": scores_of([-0.9, 0.2, 0.93, 0.5], np.nan, "weights"),
        "retrieval": scores_of([0.02, 0.15, 0.8, 0.3], 0.2),
    }
    return Atlas.build(groups, {"model": {"name": "made", "layers": 2, "heads": 2}})


def test_only_sure_and_strong_scores_are_said(results):
    analysis = results.analysis
    found = {head: findings_of(analysis, head) for head in analysis.heads}
    twice = (
        "Where random tokens are written twice, {} of its attention in the second copy is on {}."
    )
    assert found["1-1"] == [twice.format("97 %", "the token before")]
    assert found["2-1"] == [
        twice.format("90 %", "what followed the same token in the first (induction)"),
        "By its weights it copies what it attends to (copying score 0.93).",
        "It copies answers out of long texts: retrieval score 0.80 (0.60 to 1.00).",
    ]
    assert not found["1-2"]  # 0.35 ± 0.1 and 0.15 ± 0.2 are not sure, and 0.2 is not strong
    assert [line.partition(" (")[0] for line in found["2-2"]] == [
        "By its weights it copies what it attends to",
        "It copies answers out of long texts: retrieval score 0.30",
    ]


def test_the_description_and_the_summary_have_them(results):
    assert findings_of(results.analysis, "2-1")[-1].startswith("It copies answers")
    assert retrieving_heads(results) == ["2-1", "2-2"]
    lines = [line.text for line in model_summary(results)]
    expected = "2 heads (2-1, 2-2) copy answers out of long texts (retrieval score of 0.1 or more)."
    assert expected in lines


def on_random(**scores: Sequence[float]) -> xr.Dataset:
    """Scores on random tokens written twice, of four heads in one layer; ± 0.05."""
    parts = []
    for name in ("induction", "duplicate", "previous"):
        mean = np.array(scores.get(name, [0.0] * 4)).reshape(1, 4)
        cells = {"mean": mean, "low": mean - 0.05, "high": mean + 0.05, "n": np.full((1, 4), 9)}
        variables = {key: (GRID, values) for key, values in cells.items()}
        labels = {"layer": [1], "head": [1, 2, 3, 4]}
        parts.append(xr.Dataset(variables, labels).expand_dims(score=[name]))
    return xr.concat(parts, "score").assign_attrs(kind="mean")


def test_what_surely_holds_most_attention_on_random_tokens_leads_over_resting():
    random = on_random(induction=[0.89, 0.52, 0.7, 0.0], previous=[0.0, 0.0, 0.0, 0.9])
    rests, previous = {"activity": 0.04}, {"near": 0.85, "previous": 0.85}
    one, unsure, other, plain = described(rests, rests, previous, {}, more={"synthetic": random})
    assert one.lead == (
        "Induction head: where random tokens are written twice, 89 % of its attention in the "
        "second copy is on what followed the same token in the first."
    )
    assert one.evidence == (
        "On ordinary text: rests on [CLS]: 4 % of its attention is active. "
        "96 % of its attention is on [CLS]."
    )
    assert one.family == "rests"  # its main role is as before
    assert unsure.lead.startswith("Rests on [CLS]")  # 0.52 ± 0.05 may be less than half
    assert "52 % of its attention in the second copy" in unsure.evidence
    assert other.lead.startswith("Induction head: where random tokens")
    assert other.evidence.startswith("On ordinary text: previous-token head: 95 %")
    assert plain.lead == (
        "Previous-token head on random tokens: 90 % of its attention in the second copy of a text "
        "is on the token before."
    )


def test_a_role_on_ordinary_text_leads_over_a_plainer_one_on_random_tokens():
    random = on_random(previous=[0.9] * 4, induction=[0.0, 0.9, 0.0, 0.0])
    roles = ("induction", "itself")
    heads = [{"itself": 0.6}, {"induction": 0.6}, {"itself": 0.2}, {}]
    found = leads(*heads, roles=roles, more={"synthetic": random})
    assert [lead.split(":")[0] for lead in found] == [
        "Looks at the token itself",
        "Induction head",
        "Previous-token head on random tokens",
        "Previous-token head on random tokens",
    ]
    assert found[1].startswith("Induction head: where a word recurs, 70 %")


def test_a_head_that_retrieves_and_induces_is_called_both():
    cells = {"mean": 0.9, "low": 0.6, "high": 1.0, "error": 0.05}
    variables = {name: (GRID, np.full((1, 4), value)) for name, value in cells.items()}
    labels = {"layer": [1], "head": [1, 2, 3, 4], "needle": ("prompt", list("abcdef"))}
    more = {
        "retrieval": xr.Dataset(variables, labels, {"kind": "mean"}),
        "synthetic": on_random(induction=[0.9, 0.0, 0.0, 0.0]),
    }
    both, retrieves, *_ = leads(*[{"activity": 0.04}] * 4, more=more)
    assert both == "Retrieval and induction head: its retrieval score on long texts is 90 %."
    assert retrieves == "Retrieval head: its retrieval score on long texts is 90 %."


WITH_ROLES = ("work", "activity", "spread", "entropy", "position", "special", "role", "dependency")


def quiet_model(share: float) -> Model:
    """A tiny BERT, the first head of which writes this much of what it did."""
    model = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="quiet")
    with torch.no_grad():
        model.network.encoder.layer[0].attention.output.dense.weight[:, :WIDTH] *= share
    return model


@pytest.mark.parametrize("measures", [["output_norm"], [*WITH_ROLES, "output_norm"]])
def test_a_head_that_writes_almost_nothing_is_said_to(measures):
    """Its norm follows from that of the same head before it was turned down."""
    names = {"measures": measures, "limit": 6, "max_length": 60}
    before = hs.survey(quiet_model(1.0), "demo", **names)
    assert not before.analysis.silent
    assert "writes almost nothing" not in " ".join(map(str, descriptions(before).values()))
    assert not [line for line in model_summary(before) if "almost nothing" in line.text]
    after = hs.survey(quiet_model(0.02), "demo", **names)
    norms = before.mean("output_norm").sel(layer=1).values
    norm = 0.02 * norms[0] / ((0.02 * norms[0] + norms[1:].sum()) / len(norms))
    assert set(after.analysis.silent) == {"1-1"}
    said = f"; it writes almost nothing: {round(100 * norm)} % of its layer's mean."
    found = descriptions(after)
    assert found["1-1"].lead.endswith(said)
    assert not any("almost nothing" in str(one) for name, one in found.items() if name != "1-1")
    [line] = [line for line in model_summary(after) if "almost nothing" in line.text]
    assert line.heads == ("1-1",)
    assert line.text == (
        "1 of 8 heads (1-1) writes almost nothing: the norm of its output is below 10 % of its "
        "layer's mean."
    )
    assert [str(head) for head in after.find("output_norm < 0.1")] == ["1-1"]
