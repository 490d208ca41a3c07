"""The claims of Pande et al. 2021 on hand-made scores, where the answers are known."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from headscope.corpus import Example, Word, from_examples, from_texts
from headscope.papers import Pande2021
from headscope.papers.claims import Finding
from headscope.papers.pande2021 import sieves_of, telling_text
from headscope.stats import fine_overlaps, role_shift, role_tests
from papers import claimed
from planted import planted_bert
from stats.made_roles import made_roles
from tiny import tiny_model

ROLES = (
    *("local", "syntactic", "delimiter", "cls", "sep", "previous-local", "next-local"),
    *("nsubj", "dobj", "amod", "advmod"),
)
LAYERS, HEADS, SEQUENCES = 12, 4, 40


def made(has: dict[str, Any], seed: int = 0, **options: Any) -> Any:
    """Results in which exactly some heads have each role: ``has`` maps it to (layer, head)."""
    random = np.random.default_rng(seed)
    scores = 1.0 + 0.1 * random.normal(size=(SEQUENCES, LAYERS, HEADS, len(ROLES)))
    for role, heads in has.items():
        for layer, head in heads:
            scores[:, layer, head, ROLES.index(role)] += 3.2
    return made_roles(scores, ROLES, **options)


def verdicts(results: dict[str, Any], shifts: dict[str, Any] | None = None) -> dict[str, Finding]:
    tests = {name: role_tests(one) for name, one in results.items()}
    more = {} if shifts is None else {"role_shifts": shifts}
    return claimed.findings(Pande2021, role_scores=results, role_tests=tests, **more)


def holds(findings: dict[str, Finding], name: str) -> bool | None:
    return claimed.found(findings, name)[1]


def test_a_model_as_the_paper_describes_it_makes_its_claims_hold():
    later = [(layer, head) for layer in range(1, LAYERS) for head in range(HEADS)]
    middle = [(layer, head) for layer in (6, 7, 8) for head in range(3)]
    few = [(layer, 0) for layer in (0, 1, 2, 3, 4, 5)]
    has = dict.fromkeys(("delimiter", "cls"), later) | {"syntactic": middle, "dobj": middle[:2]}
    has |= {"local": [*middle, *few], "nsubj": [*middle, *few], "previous-local": middle[:1]}
    results = made(has | {"next-local": [*middle, (0, 0)]})
    found = verdicts({"one": results})
    held = claimed.verdicts(found)
    assert held.pop("outliers") is False  # all heads are far from tau
    for name in ("block", "block_first", "block_early", "block_at_ends", "block_everywhere"):
        assert held.pop(name) is None
    assert held.pop("skilled_early") is None
    assert found["skilled_early"].here == "not among the corpora: give QQP/dev.tsv"
    local, syntactic = (results["role"]["mean"].sel(role=role).values.ravel() for role in ROLES[:2])
    rho = stats.spearmanr(local, syntactic).statistic
    assert (held.pop("spearman"), found["spearman"].here) == (rho >= 0.7, f"{rho:.2f}")
    assert held == dict.fromkeys(held, True)
    assert found["nsubj"].here == "10 of 15"
    assert found["dobj"].here == "1 of 2"
    assert found["delimiter"].here == "91.7 %"
    assert found["delimiter_first"].here == "0.0 % against 100.0 % in the others"
    assert found["syntactic_last"].here == "0.0 % against 37.5 % in the others"


def test_a_model_without_delimiters_cannot_test_the_claims_on_them():
    scores = np.full((SEQUENCES, LAYERS, HEADS, 2), 1.0)
    scores[:, :, 0] = 9.0
    found = verdicts({"one": made_roles(scores, ("local", "previous-local"))})
    for name in ("delimiter", "delimiter_first", "delimiter_last"):
        assert holds(found, name) is None
        assert found[name].here.startswith("no delimiters")


def test_a_claim_holds_if_it_does_in_most_corpora():
    everywhere = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    many, none = made({"delimiter": everywhere}), made({})
    two = verdicts({"a": many, "b": none})
    assert claimed.found(two, "delimiter") == ("a: 100.0 %; b: 0.0 %", False)
    assert two["delimiter"].claim.rule == "more than half of the heads are; in most corpora"
    assert holds(verdicts({"a": many, "b": many, "c": none}), "delimiter") is True


def test_shifts_decide_the_claims_on_fine_tuning():
    before = made({})
    scores = before["role"]["value"].values.astype(float)
    scores[:, 8:, :, ROLES.index("delimiter")] -= 0.6
    scores[:, 8:, :, ROLES.index("sep")] -= 0.9
    scores[:, :4, :, ROLES.index("local")] += 0.01
    after = made_roles(scores, ROLES)
    found = verdicts({"a": after}, {"a": role_shift(before, after)})
    assert found["delimiter_falls"].here == "-0.60 (lower)"
    assert found["sep_falls"].here == "[SEP] -0.90 (lower), [CLS] +0.00"
    assert found["early_same"].here == "first 0.00, middle 0.00, last 0.20"
    assert [holds(found, name) for name in ("delimiter_falls", "sep_falls", "early_same")] == [
        True
    ] * 3
    assert holds(found, "block_rises") is None  # no pairs


def test_fine_roles_are_sets():
    results = made({"nsubj": [(0, 0), (0, 1), (2, 2)], "next-local": [(0, 1), (2, 2), (3, 3)]})
    rows = fine_overlaps(role_tests(results)).set_index(["role", "other"])
    row: Any = rows.loc[("nsubj", "next-local")]
    assert (row["heads"], row["both"], row["which"]) == (3, 2, "1-2, 3-3")
    assert row["share"] == pytest.approx(2 / 3)
    assert np.isnan(rows.loc[("dobj", "next-local"), "share"])


def test_the_text_of_figure_1_has_as_many_roles_as_there_are():
    words = (
        Word("old", head=1, relation="amod"),
        Word("dog", head=2, relation="nsubj"),
        Word("sat", head=-1, relation="root"),
        Word("the", segment=1, head=4, relation="det"),
        Word("cat", segment=1, head=-1, relation="root"),
    )
    pair = Example("1", ("old dog sat", "the cat"), words)
    corpora = [from_texts(["a dog sat"]), from_examples([pair])]
    found = telling_text(planted_bert(), corpora, direction="to head")
    assert found is not None
    tokens, sieves = found
    assert tokens == ["[CLS]", "old", "dog", "sat", "[SEP]", "the", "cat", "[SEP]"]
    by_role = {one.role: (one.query, one.keys) for one in sieves}
    assert list(by_role) == ["block", "nsubj", "local", "amod", "delimiter"]
    assert by_role["nsubj"] == (2, (3,))
    assert by_role["amod"] == (1, (2,))
    assert by_role["block"][1] == (1, 2, 3)
    assert by_role["delimiter"][1] == (0, 4, 7)


def test_a_causal_model_draws_only_what_a_token_sees():
    [item] = (
        planted_bert()
        .encoder(max_length=24, long="truncate", stack="encoder")
        .encode(from_texts(["a dog sat on the mat"]))
    )
    for one in sieves_of(item, direction="to head", causal=True):
        assert max(one.keys) <= one.query


def test_as_many_syntactic_heads_at_that_depth_as_elsewhere_are_not_more():
    found = verdicts({"one": made({"nsubj": [(layer, 0) for layer in range(LAYERS)]})})
    assert found["syntactic_middle"].here == "25.0 % against 25.0 % elsewhere"
    assert holds(found, "syntactic_middle") is False


def test_tokens_of_figure_1_are_shown_without_marks_of_spaces():
    found = telling_text(tiny_model("gpt2"), [from_texts(["the cat sat"])], direction="to head")
    assert found is not None
    assert not any("Ġ" in token for token in found[0])
    assert "".join(found[0]).replace("␣", "") == "thecatsat"


def numbers_by_loop(has: dict[str, list[tuple[int, int]]]) -> dict[str, str]:
    """What the claims on layers show, by plain counting; layers count from 0, as in the paper."""
    fine = [role for role in ROLES if role not in ("local", "syntactic", "delimiter")]
    skills = [0] * LAYERS
    syntactic = [0] * LAYERS
    delimiters = [0] * LAYERS
    only = skilled = 0
    for layer in range(LAYERS):
        for head in range(HEADS):
            mine = {role for role in fine if (layer, head) in has[role]}
            skills[layer] += len(mine)
            syntactic[layer] += bool(mine & {"nsubj", "dobj", "amod", "advmod"})
            delimiters[layer] += (layer, head) in has["delimiter"]
            if layer >= 9 and mine:
                skilled += 1
                only += mine <= {"cls", "sep"}

    def mean(values: list[int], layers: list[int], unit: float) -> float:
        return unit * sum(values[layer] for layer in layers) / len(layers) / HEADS

    inside = [5, 6, 7, 8, 9]
    outside = [layer for layer in range(LAYERS) if layer not in inside]
    middle, other = [6, 7, 8], [0, 1, 2, 3, 4, 5, 9, 10, 11]
    wide = sum(count >= HEADS / 4 for count in syntactic)
    early, late = list(range(10)), [10, 11]
    return {
        "skilled": f"{mean(skills, inside, 1):.1f} against "
        f"{mean(skills, outside, 1):.1f} elsewhere",
        "delimiter_last": f"{only} of {skilled}",
        "delimiter_first": f"{mean(delimiters, [0], 100):.1f} % against "
        f"{mean(delimiters, list(range(1, LAYERS)), 100):.1f} % in the others",
        "syntactic_everywhere": f"{wide} of {LAYERS} layers",
        "syntactic_middle": f"{mean(syntactic, middle, 100):.1f} % against "
        f"{mean(syntactic, other, 100):.1f} % elsewhere",
        "syntactic_last": f"{mean(syntactic, late, 100):.1f} % against "
        f"{mean(syntactic, early, 100):.1f} % in the others",
    }


@pytest.mark.parametrize("seed", range(4))
def test_the_claims_on_layers_count_as_a_plain_loop_does(seed):
    random = np.random.default_rng(seed)
    share = random.uniform(0.1, 0.6, (len(ROLES), LAYERS))
    places = list(product(range(LAYERS), range(HEADS)))
    has = {
        role: [place for place in places if random.random() < share[row, place[0]]]
        for row, role in enumerate(ROLES)
    }
    found = verdicts({"one": made(has, seed)})
    expected = numbers_by_loop(has)
    assert {name: found[name].here for name in expected} == expected


def test_delimiter_heads_in_every_layer_are_not_few_in_the_first():
    everywhere = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]
    found = verdicts({"one": made({"delimiter": everywhere})})
    expected = ("100.0 % against 100.0 % in the others", False)
    assert claimed.found(found, "delimiter_first") == expected


def test_a_fall_of_sep_that_is_too_small_to_be_of_interest_does_not_count():
    before = made({})
    scores = before["role"]["value"].values.astype(float)
    fall = np.random.default_rng(1).uniform(0.015, 0.025, (SEQUENCES, 4, HEADS))
    scores[:, 8:, :, ROLES.index("sep")] -= fall
    after = made_roles(scores, ROLES)
    found = verdicts({"a": after}, {"a": role_shift(before, after)})
    assert claimed.found(found, "sep_falls") == ("[SEP] -0.02 (same), [CLS] +0.00", False)


def test_exactly_half_of_what_other_layers_have_is_not_very_few():
    others = [(layer, head) for layer in range(10) for head in (0, 1)]
    half = [(10, 0), (11, 0)]
    found = verdicts({"one": made({"nsubj": others + half})})
    assert claimed.found(found, "syntactic_last") == ("25.0 % against 50.0 % in the others", False)


def test_claims_on_single_tasks_look_at_these_tasks_alone():
    early = [(layer, head) for layer in range(5) for head in range(HEADS)]
    found = verdicts({"QQP": made({"nsubj": early}), "MRPC": made({})})
    assert holds(found, "skilled_early") is True
    assert holds(verdicts({"QQP": made({"nsubj": [(9, 0)]})}), "skilled_early") is False


def blocks(*layers: int) -> Any:
    """Results in which these layers, counted from 1, have a block head."""
    scores = np.ones((SEQUENCES, LAYERS, HEADS, 1))
    scores += 0.1 * np.random.default_rng(0).normal(size=scores.shape)
    for layer in layers:
        scores[:, layer - 1, 0] += 3.2
    return made_roles(scores, ("block",))


def test_block_heads_by_task():
    every = tuple(range(1, LAYERS + 1))
    paper = verdicts({"QNLI": blocks(1, 2, 3, 4, 5), "MRPC": blocks(*every), "QQP": blocks(1, 12)})
    names = ("block_early", "block_at_ends", "block_everywhere")
    assert [holds(paper, name) for name in names] == [True] * 3
    assert paper["block_at_ends"].here == "QQP: 1, 12"
    others = {"QNLI": blocks(1, 2), "MRPC": blocks(*every[1:]), "QQP": blocks(1, 6, 12)}
    assert [holds(verdicts(others), name) for name in names] == [False] * 3
