"""The summary of a model: sentences written by hand, each with the heads it is about."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headscope as hs
from headscope.results import Atlas
from headscope.stats import SummaryLine, descriptions, main_roles, model_summary
from headscope.stats.tables.ablation import scored
from page.samples import made_results
from stats.embedded import embedded
from stats.made_ablation import planted
from stats.made_probing import made_probing
from stats.made_work import atlas_of, relations_of

CARE = "Read other statistics of these heads with care."
FEW = "Intervals are rough: in effect there are only 8 texts."


def summed(heads: list[dict[str, Any]], **options: Any) -> dict[str, list[SummaryLine]]:
    """The lines of planted heads, by family."""
    made = atlas_of(heads, **{"noise": 0.0, "even": 0.1, **options})
    found: dict[str, list[SummaryLine]] = {}
    for line in model_summary(made):
        found.setdefault(line.family, []).append(line)
    return found


def said(heads: list[dict[str, Any]], family: str, **options: Any) -> str:
    return " ".join(line.text for line in summed(heads, **options)[family])


PREVIOUS = {"near": 0.8, "previous": 0.8}


def test_one_head_and_several_heads_have_their_own_grammar():
    rest = [{}] * 3
    message = "One head looks at the next token: 1-1 (layer 1)."
    assert said([{"near": 0.6, "next": 0.6}, *rest], "next", layers=2) == message
    message = "Two heads look at the previous token: 1-1 and 2-1 (layers 1 to 2)."
    assert said([PREVIOUS, {}, PREVIOUS, {}], "previous", layers=2) == message
    heads = [{"itself": value} for value in (0.3, 0.5, 0.2, 0.4, 0.6)]
    message = "Five heads look at the token itself, most clearly 3-1, 1-2 and 2-2 (layers 1 to 3)."
    assert said([*heads, {}], "itself", layers=3) == message
    assert said([{"itself": 0.3}] * 13, "itself").startswith("13 heads look at the token itself")


def test_a_second_role_is_counted_where_its_family_is_listed():
    both, alone = {"itself": 0.5, "same": 0.48}, {"itself": 0.4}
    assert said([both, alone], "itself") == (
        "One head looks at the token itself: 1-2 (layer 1); one more does so as a second role."
    )
    assert said([both, both, alone], "itself").endswith(
        "1-3 (layer 1); two more do so as a second role."
    )


def test_heads_without_a_role_are_summed_up_by_layer():
    heads = [{}, {}, {"same": 0.3}, {"spread": 0.9}, {"spread": 0.9}, {"activity": 0.02}]
    found = summed(heads, layers=2)
    assert [line.text for family in list(found)[2:] for line in found[family]] == [
        "Two heads read broadly, nearly evenly over the words (layer 2, among them most of layer "
        "2).",
        "Two heads show no clear role (layer 1, among them most of layer 1).",
        "One head rests (under 5 % of its attention is active): 2-3 (layer 2).",
    ]


def test_the_lead_counts_roles_and_resting_heads():
    heads = [
        {"itself": 0.5, "activity": 0.2, "stops": 0.3},
        {"activity": 0.3},
        {"activity": 0.45},
        {"same": (0.38, 0.0), "activity": 0.9},
    ]
    [lead] = summed(heads, noise=0.001)["lead"]
    assert lead.text == (
        "2 of 4 heads have a clear role. When the documents are resampled, 1 of these 2 keeps its "
        "role; the other is borderline. 3 heads are mostly idle: over half of their attention is "
        "parked on [CLS] or full stops and commas; 1-1 and 1-2 most (80 % and 70 %)."
    )
    linked = {part.text: part.heads for part in lead.parts if part.heads}
    assert linked == {
        "2 of 4 heads": ("1-1", "1-4"),
        "3 heads": ("1-1", "1-2", "1-3"),
        "1-1": ("1-1",),
        "1-2": ("1-2",),
        "borderline": ("1-4",),
    }


def test_one_resting_head_and_none():
    assert said([{"activity": 0.3}, {"itself": 0.4}], "lead") == (
        "1 of 2 heads has a clear role. When the documents are resampled, it keeps its role. 1 "
        "head is mostly idle: over half of its attention is parked on [CLS]."
    )
    assert said([{}, {}], "lead") == "0 of 2 heads have a clear role."


@pytest.mark.parametrize(
    ("heads", "sentence"),
    [
        ([{"itself": 0.4}] * 2, "all of these keep their role."),
        ([{"same": (0.38, 0.0)}], "it often has another: it is borderline."),
        ([{"same": (0.38, 0.0)}] * 2, "these often have others: all are borderline."),
        (
            [*[{"itself": 0.4}] * 2, *[{"same": (0.38, 0.0)}] * 2],
            "2 of these 4 keep their role; the others are borderline.",
        ),
    ],
)
def test_the_lead_says_how_many_keep_their_role(heads, sentence):
    lead = said([*heads, {}], "lead", noise=0.001)
    assert lead.endswith(f" a clear role. When the documents are resampled, {sentence}")


def test_families_come_in_a_fixed_order_before_findings():
    heads = [{"activity": 0.01}, {}, {"spread": 0.9}, {"same": 0.3}, {"itself": 0.3}, PREVIOUS]
    found = summed(heads, relations=relations_of([288, 0, 0, 0, 0, 0]))
    assert list(found) == [
        "lead",
        "same",  # the most specific first
        "previous",
        "itself",
        "broad",
        "no clear role",
        "rests",
        "finding",
    ]


def test_every_head_is_in_the_line_of_its_family_and_in_no_other():
    heads = [{"itself": 0.3}, PREVIOUS, {}, {"spread": 0.9}, {"activity": 0.01}, {"same": 0.2}]
    found = summed(heads)
    made = main_roles(atlas_of(heads, noise=0.0, even=0.1))
    for family, rows in made.groupby("family"):
        [line] = found[str(family)]
        assert set(line.heads) == set(rows["head"])


def test_relations_are_given_with_their_test_and_held_out():
    [line] = summed([{}, {}], relations=relations_of([288, 250]))["finding"]
    assert re.sub(r"1e-\d+", "1e-9", line.text) == (
        "1-1 finds the noun of a determiner (det): right for 90 % of 320 words (a fixed-distance "
        "rule: 50 %; p < 1e-9; better than the next head, p < 1e-9; held-out 90 %)."
    )
    assert line.heads == ("1-1",)
    assert "finding" not in summed([{}, {}], relations=relations_of([165, 160]))


def test_too_few_documents_to_test_relations_are_pointed_out():
    relations = relations_of([288, 250])
    for filled, note in (
        (6, "With 6 groups of documents no test can pass: the least p is 1/64, times 4 tests."),
        (7, None),  # 4 / 128 is below 0.05
    ):
        relations["count"][filled:] = 0
        relations["sum"][filled:] = 0
        warnings = [line.text for line in summed([{}, {}], relations=relations).get("warning", [])]
        said = [text for text in warnings if "no test can pass" in text]
        assert said == ([f"{note} So no relation is named."] if note else [])
        relations = relations_of([288, 250])


def test_at_most_four_relations_are_named_those_with_the_most_words_gained_first():
    rights = {"det": 200, "amod": 300, "nsubj": 250, "obj": 220, "case": 280}
    parts = [relations_of([right, 0], relation=name) for name, right in rights.items()]
    joined = xr.concat(parts, dim="relation", combine_attrs="drop")
    offsets = dict.fromkeys(rights, 1)
    halves = {name: [1, 1] for name in rights}
    joined.attrs = parts[0].attrs | {
        "offsets": str(offsets).replace("'", '"'),
        "half_offsets": str(halves).replace("'", '"'),
    }
    lines = summed([{}, {}], relations=joined)["finding"]
    expected = ["amod", "case", "nsubj", "obj"]
    assert [line.text.split("(")[1].split(")")[0] for line in lines] == expected


def test_disabling_names_the_head_that_costs_most_and_how_many_matter():
    lines = model_summary(scored(planted(), resamples=2000))
    assert [line.family for line in lines] == ["finding", "finding"]
    assert lines[0].text.startswith("Disabling 2-3 costs 25.0 points of accuracy (95 % interval ")
    assert lines[0].text.endswith(
        "; two of 6 heads change the score by more than chance: 1 for the worse, 1 for the better."
    )
    assert lines[1].text.startswith("Disabling 1-2 gains 20.0 points of accuracy (95 % interval ")
    assert set(lines[0].heads) == {"2-3", "1-2"}


def test_disabling_without_effect_says_so():
    raw = planted()["ablation"]
    raw["outputs"][:] = raw["outputs"].values[:1]
    results = Atlas.build({"ablation": raw}, planted().provenance)
    expected = ["No single head of 6 changes the score by more than chance if disabled."]
    assert [line.text for line in model_summary(scored(results, resamples=200))] == expected


def test_probes_name_the_best_heads_of_at_most_four_tasks():
    results = made_probing(2, 3)
    lines = model_summary(results)
    assert len(lines) == 4
    for line in lines:
        assert re.fullmatch(
            r"\d-\d has the best probe for \w+ \(right for \d\d % of 1,000 test examples; "
            r"the largest class: (less than )?\d+ %; p < 1e-\d+\)\.",
            line.text,
        )


def position(**places: dict[tuple[int, int], float]) -> Atlas:
    """Two layers of five heads with these shares on an offset, and 0.1 elsewhere."""
    values = np.full((2, 5, 3), 0.1)
    for offset, heads in places.items():
        for head, share in heads.items():
            values[(*head, ["previous", "current", "next"].index(offset))] = share
    return made_results(2, 5, values={"position": values})


def test_without_main_roles_heads_on_one_position_are_named():
    made = position(previous={(0, 1): 0.6, (1, 1): 0.9}, next={(1, 2): 0.51})
    assert made.remarks() == [
        "2 heads (2-2, 1-2) put more than half of the attention on the previous token.",
        "Head 2-3 puts more than half of the attention on the next token.",
        FEW,
    ]


def test_more_than_eight_heads_are_counted_and_the_first_eight_named():
    heads = {(at // 5, at % 5): 0.99 - at / 100 for at in range(10)}
    assert position(next=heads).remarks()[0] == (
        "10 heads (1-1, 1-2, 1-3, 1-4, 1-5, 2-1, 2-2, 2-3 and 2 more) put more than half of the "
        "attention on the next token."
    )


def special(shares: list[list[float]], token: str = "cls", **changes: Any) -> list[str]:
    """What is said of two layers of three heads with these shares on a token, from all rows."""
    values = np.full((2, 3, 3, 3), 0.05)
    values[:, :, ["cls", "sep", "punctuation"].index(token), 0] = shares
    values[:, :, 0, 1] = 0.99  # from separators alone: not to be remarked
    return made_results(2, 3, values={"special": values}, **changes).remarks()


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("cls", "the start token"),
        ("sep", "the separator"),
        ("punctuation", "full stops and commas"),
    ],
)
def test_a_third_of_the_heads_on_one_token_is_a_collapse_onto_a_sink(token, words):
    assert special([[0.9, 0.85, 0.1], [0.0, 0.0, 0.0]], token) == [
        f"Collapsed onto a sink: 2 of 6 heads put more than 80 % of their attention on {words}. "
        f"{CARE}",
        FEW,
    ]


def test_fewer_heads_on_one_token_are_named_instead():
    expected = ["Head 1-2 puts more than 80 % of the attention on the start token.", FEW]
    assert special([[0.0, 0.9, 0.1], [0.0, 0.8, 0.0]]) == expected


def test_a_head_at_the_threshold_is_not_over_it():
    assert special([[0.8, 0.5, 0.1], [0.0, 0.2, 0.0]]) == [FEW]


def test_heads_without_such_a_token_do_not_count_among_those_that_could_collapse():
    gone = np.nan
    assert special([[0.0, gone, gone], [gone, gone, 0.9]])[0] == (
        f"Collapsed onto a sink: 1 of 2 heads puts more than 80 % of its attention on the start "
        f"token. {CARE}"
    )


def test_heads_near_the_uniform_line_are_named():
    values = np.full((2, 3, 3), 1.0)
    values[..., 2], values[1, 0, 0] = 4.0, 3.7
    message = "Head 2-1 attends almost uniformly (entropy over 90 % of the greatest possible)."
    assert made_results(2, 3, values={"entropy": values}).remarks()[0] == message


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "1 example was skipped because of"), (3, "3 examples were skipped because of")],
)
def test_skipped_examples_come_last_with_one_of_them(count, words):
    counts = {"nonfinite": count, "nonfinite_examples": ["7: attention is not finite in layer 2"]}
    made = made_results(2, 3, values={"position": np.full((2, 3, 3), 0.1)}, counts=counts)
    assert made.remarks() == [
        FEW,
        f"{words} attention that was not finite, e.g. 7: attention is not finite in layer 2.",
    ]


def test_results_in_which_nothing_stands_out_only_warn():
    made = made_results(2, 3, values={"position": np.full((2, 3, 3), 0.1)})
    assert made.remarks() == [FEW]
    assert [line.family for line in model_summary(made)] == ["warning"]


@pytest.mark.slow
def test_the_embedded_model_is_summed_up_with_its_two_findings():
    atlas = embedded()
    lines = model_summary(atlas)
    det = [line for line in lines if "(det)" in line.text]
    assert [line.text for line in det] == [
        "3-9 finds the noun of a determiner (det): right for 90 % of 1,277 words (a fixed-distance "
        "rule: 80 %; p < 1e-3; better than the next head, p < 1e-7; held-out 90 %)."
    ]
    [family] = [line for line in lines if line.family == "coreference"]
    assert family.text.startswith("Two heads link mentions to their antecedents: ")
    [coreference] = [line for line in lines if "the antecedent of" in line.text]
    assert coreference.heads == ("3-5",)
    assert "77 % of 839 mentions" in coreference.text
    assert "not reliably more than the rules (74 %" in coreference.text
    families = {one.family for one in descriptions(atlas).values()}
    assert families <= {line.family for line in lines}
    assert atlas.remarks() == [line.text for line in lines]


def compared(change: float, token: str = "cls") -> list[str]:
    """What is said of a second model whose head 1-2 gives a kind of token so much more."""
    first = np.full((2, 3, 3, 3), 0.2)
    second = first.copy()
    second[0, 1, ["cls", "sep", "punctuation"].index(token), 0] += change
    models = [made_results(2, 3, values={"special": values}) for values in (first, second)]
    return [text for text in hs.compare(*models, progress=False).remarks() if text != FEW]


def test_two_models_are_compared_in_sentences():
    moved = (
        "1 of 6 heads looks elsewhere: a share of its attention changed by over 5 %, and by more "
        "than chance."
    )
    for change, sentence in (
        (0.6, "1-2 now rests on [CLS]: +0.60"),
        (0.25, "1-2 rests more on [CLS]: +0.25"),
        (-0.15, "1-2 rests less on [CLS]: -0.15"),
    ):
        lead, said = compared(change)
        assert lead == moved
        assert said.startswith(f"{sentence} (p < ")
    assert compared(0.04) == [
        "No head looks elsewhere: no share of attention on special or neighbouring tokens changed "
        "by over 5 % and by more than chance."
    ]
