"""The claims of Clark et al. 2019: each verdict follows from the number, by the stated rule."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.corpus import Example, Word
from headscope.papers.claims import Finding
from headscope.papers.clark2019 import claims, language_claims, probe_claims
from headscope.papers.clark2019.claims import gradient_finding, layer_finding, surface_findings
from headscope.papers.clark2019.language_claims import (
    antecedent_findings,
    relation_findings,
    special_finding,
)
from headscope.papers.clark2019.pieces import separator_share, split_share
from headscope.papers.clark2019.probe_claims import probe_findings
from planted import planted_bert, planted_gpt2

LAYERS, HEADS = 4, 3
DIMS: dict[str, dict[str, list[str]]] = {
    "position": {"offset": ["previous", "current", "next"]},
    "special": {"token": ["cls", "sep", "punctuation"], "row": ["all", "sep", "other"]},
    "entropy": {"row": ["all", "cls", "uniform"]},
    "peak": {"peak": ["position", "distance", "weight"]},
    "gradient": {"token": ["sep", "punctuation", "other"]},
}


class Made:
    """Means by layer and head, as results have them: 4 layers of 3 heads that do nothing special.

    Changes are given as ``special={"token": "sep", "layer": 2, "value": 0.6}`` or a list of them.
    """

    layers = list(range(1, LAYERS + 1))

    def __init__(self, **changes: Any) -> None:
        self.means = {}
        for name, dims in DIMS.items():
            labels = {"layer": self.layers, "head": list(range(1, HEADS + 1)), **dims}
            shape = [len(values) for values in labels.values()]
            self.means[name] = xr.DataArray(np.full(shape, 0.05), labels, tuple(labels))
        self.means["entropy"][:] = 1.0
        self.means["entropy"].loc[{"row": "uniform"}] = 4.0
        for name, given in changes.items():
            for change in given if isinstance(given, list) else [given]:
                where = {key: value for key, value in change.items() if key != "value"}
                self.means[name].loc[where] = change["value"]

    @property
    def measures(self) -> list[str]:
        return list(self.means)

    def mean(self, name: str) -> xr.DataArray:
        return self.means[name]


def found(findings: list[Finding], claim: Any) -> tuple[str, bool | None]:
    """What was found for a claim, and the verdict."""
    (one,) = [finding for finding in findings if finding.claim is claim]
    return one.here, one.holds


def verdict_of(findings: list[Finding], claim: Any) -> str:
    """The verdict as the page has it."""
    (one,) = [finding for finding in findings if finding.claim is claim]
    return str(one.row["holds"])


def surface(uniform: float | None = None, **changes: Any) -> list[Finding]:
    return surface_findings(Made(**changes), uniform=uniform)  # type: ignore[arg-type]


def test_heads_over_half_on_the_previous_token_are_counted_and_named() -> None:
    claim = claims.POSITION["previous"]
    assert found(surface(), claim) == ("no head; largest share 5.0 %", False)
    some = {"offset": "previous", "layer": 2, "head": 3, "value": 0.51}
    assert found(surface(position=some), claim) == ("1 head (2-3); largest share 51.0 %", True)
    half = some | {"value": 0.5}
    assert found(surface(position=half), claim) == ("no head; largest share 50.0 %", False)


def test_a_model_that_does_not_see_the_next_token_is_not_tested_on_it() -> None:
    causal = {"offset": "next", "value": np.nan}
    text, holds = found(surface(position=causal), claims.POSITION["next"])
    assert (text, holds) == ("the model does not see the next token", None)


@pytest.mark.parametrize(
    ("layers", "text", "holds"),
    [
        ((1, 2, 3), "2 of 3 in the lower half", True),
        ((2, 3), "1 of 2 in the lower half", False),
        ((), "there are no such heads", None),
    ],
)
def test_heads_on_neighbours_are_early_if_most_are_in_the_lower_half(
    layers: tuple[int, ...], text: str, holds: bool | None
) -> None:
    offsets = ("previous", "next", "previous")
    changes = [
        {"offset": offset, "layer": layer, "head": 1, "value": 0.8}
        for offset, layer in zip(offsets, layers, strict=False)
    ]
    assert found(surface(position=changes), claims.EARLY) == (text, holds)


def test_little_attention_on_the_current_token_is_under_a_tenth() -> None:
    assert found(surface(), claims.CURRENT) == ("12 of 12 heads under 10 %", True)
    half = [{"offset": "current", "layer": layer, "value": 0.1} for layer in (1, 2)]
    assert found(surface(position=half), claims.CURRENT) == ("6 of 12 heads under 10 %", False)


def test_the_layer_with_the_most_attention_to_separators_decides() -> None:
    most = [
        {"token": "sep", "row": "all", "layer": 3, "head": head, "value": value}
        for head, value in ((1, 0.9), (2, 0.6), (3, 0.3))  # mean 0.6
    ]
    itself = {"token": "sep", "row": "sep", "layer": 3, "value": 0.91}
    findings = surface(special=[*most, itself], uniform=1 / 64)
    assert found(findings, claims.SEPARATOR) == ("60.0 % in layer 3; 1.6 % if uniform", True)
    assert found(findings, claims.FROM_SEPARATOR) == ("91.0 % in layer 3", True)
    elsewhere = {"token": "sep", "row": "sep", "layer": 2, "value": 0.99}
    findings = surface(special=[*most, elsewhere])
    assert found(findings, claims.SEPARATOR) == ("60.0 % in layer 3", True)
    assert found(findings, claims.FROM_SEPARATOR) == ("5.0 % in layer 3", False)


def test_a_model_without_separators_is_not_tested_on_them() -> None:
    findings = surface(special={"token": "sep", "value": np.nan})
    for claim in (claims.SEPARATOR, claims.ORDER, claims.FROM_SEPARATOR):
        assert found(findings, claim) == ("the model has no [SEP]", None)


@pytest.mark.parametrize(("layers", "holds"), [((1, 2, 4), True), ((1, 2, 2), False)])
def test_special_tokens_come_in_the_papers_order(layers: tuple[int, ...], holds: bool) -> None:
    changes = [
        {"token": token, "row": "all", "layer": layer, "value": 0.4}
        for token, layer in zip(("cls", "sep", "punctuation"), layers, strict=True)
    ]
    text = f"layers {', '.join(map(str, layers))}"
    assert found(surface(special=changes), claims.ORDER) == (text, holds)


def test_broad_heads_and_their_largest_weight() -> None:
    findings = surface()
    assert found(findings, claims.SOME_BROAD) == ("no head in the lower half", False)
    assert found(findings, claims.AT_MOST) == ("there are no such heads", None)
    broad = [{"row": "all", "layer": layer, "head": 2, "value": 3.7} for layer in (1, 4)]
    weight = [
        {"peak": "weight", "layer": 1, "head": 2, "value": 0.06},
        {"peak": "weight", "layer": 4, "head": 2, "value": 0.12},
        {"peak": "weight", "layer": 2, "head": 1, "value": 0.9},  # not broad
    ]
    findings = surface(entropy=broad, peak=weight)
    text = "1 head (1-2) in the lower half, 2 in all"
    assert found(findings, claims.SOME_BROAD) == (text, True)
    assert found(findings, claims.AT_MOST) == ("9.0 % (single heads: at most 12.0 %)", True)
    deep = {"row": "all", "layer": 4, "head": 2, "value": 3.7}
    assert found(surface(entropy=deep), claims.SOME_BROAD)[1] is False


def test_the_last_layer_is_broad_from_cls_if_it_has_the_papers_share_of_uniform() -> None:
    broad = {"row": "cls", "layer": 4, "value": 3.3}
    assert found(surface(entropy=broad), claims.LAST_CLS) == ("3.30 nats, 82.5 % of uniform", True)
    narrow = {"row": "cls", "layer": 4, "value": 3.1}
    assert found(surface(entropy=narrow), claims.LAST_CLS)[1] is False
    none = {"row": "cls", "value": np.nan}
    assert found(surface(entropy=none), claims.LAST_CLS) == ("the model has no [CLS]", None)


def test_gradients_fall_where_attention_rises() -> None:
    rising = [
        {"token": "sep", "row": "all", "layer": layer, "value": 0.1 * layer}
        for layer in Made.layers
    ]

    def gradients(*values: float) -> Made:
        changes = [
            {"token": "sep", "layer": layer, "value": value}
            for layer, value in enumerate(values, 1)
        ]
        return Made(special=rising, gradient=changes)

    falling = gradients(4, 3, 2, 1)
    finding = gradient_finding(falling, falling)  # type: ignore[arg-type]
    assert (finding.here, finding.holds) == ("Spearman -1.00 over 4 layers, p <0.001", True)
    mixed = gradients(4, 1, 2, 3)
    finding = gradient_finding(mixed, mixed)  # type: ignore[arg-type]
    assert finding.here.startswith("Spearman -0.20 over 4 layers")
    assert finding.holds is False
    none = Made(special={"token": "sep", "value": np.nan})
    assert gradient_finding(none, none).holds is None  # type: ignore[arg-type]


class Distances:
    """Head distances with one value within layers and another between them."""

    def __init__(self, within: float, between: float, layers: int = 4, heads: int = 4) -> None:
        names = [
            f"{layer}-{head}" for layer in range(1, layers + 1) for head in range(1, heads + 1)
        ]
        layer = np.array([name.split("-")[0] for name in names])
        values = np.where(layer[:, None] == layer, within, between)
        np.fill_diagonal(values, 0.0)
        self.values = xr.DataArray(values, {"one": names, "other": names}, ("one", "other"))

    def mean(self, name: str) -> xr.DataArray:
        assert name == "distance"
        return self.values


def test_heads_of_one_layer_are_close() -> None:
    finding = layer_finding(Distances(0.1, 0.3), seed=0)  # type: ignore[arg-type]
    assert finding.here == ("0.100 nats within, 0.300 between, p <0.001 (9,999 permutations)")
    assert finding.holds
    assert layer_finding(Distances(0.3, 0.1), seed=0).holds is False  # type: ignore[arg-type]
    assert layer_finding(Distances(0.1, 0.3, heads=1), seed=0).holds is None  # type: ignore[arg-type]


UP, DOWN = "dependent to head", "head to dependent"


def relations(**changes: dict[str, Any]) -> list[Finding]:
    """Findings for a treebank where all relations are at 50 % and their offset at 40 %."""
    rows = []
    for name in ("all", "dobj", "det", "pobj", "poss", "nsubj"):
        row = {
            "relation": name,
            "words": 100,
            "direction": UP,
            "held_out": 0.5,
            "held_out_baseline": 0.4,
            "p_corrected": 0.001,
        }
        row |= changes.get(name, {})
        spread = {"held_out_low": row["held_out"] - 0.02, "held_out_high": row["held_out"] + 0.02}
        rows.append(spread | row)
    labels: dict[str, str | None] = {row["relation"]: row["relation"] for row in rows}
    return relation_findings(pd.DataFrame(rows), labels | {"prep": None})


def test_a_head_that_gets_half_of_all_words_would_be_a_parser() -> None:
    low = relations(all={"held_out": 0.345, "held_out_baseline": 0.263})
    text = "34.5 % (32.5 to 36.5; offset 26.3 %)"
    assert found(low, language_claims.NO_PARSER) == (text, True)
    assert found(relations(all={"held_out": 0.6}), language_claims.NO_PARSER)[1] is False
    assert verdict_of(relations(), language_claims.NO_PARSER) == "undecided"


def test_all_four_relations_must_be_over_three_quarters() -> None:
    high = {name: {"held_out": 0.8} for name in ("dobj", "det", "pobj", "poss")}
    numbers = ", ".join(f"{name} 80.0 (78.0 to 82.0)" for name in high)
    assert found(relations(**high), language_claims.OVER_75) == (f"{numbers} %", True)
    one_low = high | {"pobj": {"held_out": 0.72}}
    assert found(relations(**one_low), language_claims.OVER_75)[1] is False
    one_near = high | {"pobj": {"held_out": 0.75}}
    assert verdict_of(relations(**one_near), language_claims.OVER_75) == "undecided"
    few = high | {"poss": {"words": 19}}
    found_few = found(relations(**few), language_claims.OVER_75)
    assert found_few == ("poss: fewer than 20 words", None)


def test_a_gain_counts_if_it_is_large_and_significant() -> None:
    assert found(relations(), language_claims.SPECIALISE) == (
        "0 of 5 relations by over 20 points; most for dobj, +10.0",
        False,
    )
    large = {"held_out": 0.9, "held_out_baseline": 0.5}
    text = "1 of 5 relations by over 20 points; most for det, +40.0"
    assert found(relations(det=large), language_claims.SPECIALISE) == (text, True)
    by_chance = large | {"p_corrected": 0.2}
    assert found(relations(det=by_chance), language_claims.SPECIALISE)[1] is False


def test_directions_count_for_every_relation_but_pobj() -> None:
    assert found(relations(pobj={"direction": DOWN}), language_claims.DIRECTION) == ("4 of 4", True)
    text = "3 of 4, not nsubj"
    both = relations(nsubj={"direction": DOWN})
    assert found(both, language_claims.DIRECTION) == (text, False)


def test_a_treebank_without_the_papers_relations_tests_nothing() -> None:
    table = pd.DataFrame([{"relation": "all", "words": 100, "held_out": 0.3}])
    findings = relation_findings(table, {"all": "all", "det": None})
    assert [finding.holds for finding in findings] == [None] * 4


class Accuracies:
    """The accuracies of six heads over all words."""

    def __init__(self, *shares: float) -> None:
        labels = {"direction": [UP], "relation": ["all"], "words": ["every"]}
        values = np.reshape(shares, (2, 3, 1, 1, 1))
        means = xr.DataArray(
            values, {"layer": [1, 2], "head": [1, 2, 3], **labels}, ("layer", "head", *labels)
        )
        self.data = {"dependency": xr.Dataset({"mean": means})}

    def __getitem__(self, name: str) -> xr.Dataset:
        return self.data[name]


def test_special_tokens_matter_little_if_most_heads_change_by_less_than_a_point() -> None:
    before = Accuracies(0.3, 0.3, 0.2, 0.2, 0.1, 0.1)
    little = Accuracies(0.295, 0.295, 0.2, 0.2, 0.0, 0.0)
    finding = special_finding(before, little)  # type: ignore[arg-type]
    assert (finding.here, finding.holds) == ("4 of 6 heads; median change 0.5 points", True)
    half = Accuracies(0.3, 0.3, 0.2, 0.1, 0.0, 0.0)
    finding = special_finding(before, half)  # type: ignore[arg-type]
    assert (finding.here, finding.holds) == ("3 of 6 heads; median change 5.0 points", False)


BASELINES: list[dict[str, Any]] = [
    {"system": "nearest", "all": 0.27, "pronoun": 0.29, "proper": 0.29, "nominal": 0.19},
    {"system": "same head word", "all": 0.52, "pronoun": 0.47, "proper": 0.67, "nominal": 0.40},
    {"system": "rules", "all": 0.69, "pronoun": 0.70, "proper": 0.77, "nominal": 0.60},
    {"system": "head 5-4", "all": 0.99, "pronoun": 0.99, "proper": 0.99, "nominal": 0.99},
]


def antecedents(spread: float = 0.005, **chosen: float) -> list[Finding]:
    """Findings for a head with these accuracies; intervals have this half width."""
    rows = [*BASELINES, {"system": "held out: head 5-4", **chosen}] if chosen else BASELINES
    gains = {}
    for row in BASELINES[1:3]:
        gain = pd.Series({kind: value - row[kind] for kind, value in chosen.items()}, dtype=float)
        gains[row["system"]] = pd.DataFrame(
            {"gain": gain, "low": gain - spread, "high": gain + spread}
        )
    gain = gains["same head word"]["gain"]
    nominal = gain.get("nominal", np.nan) - gain.drop(["all", "nominal"], errors="ignore")
    contrasts = pd.DataFrame(
        {"difference": nominal, "low": nominal - spread, "high": nominal + spread}
    )
    return antecedent_findings(pd.DataFrame(rows), gains, contrasts)


PAPER = {"all": 0.65, "pronoun": 0.64, "proper": 0.73, "nominal": 0.58}


def test_the_papers_own_table_meets_its_claims() -> None:
    findings = antecedents(**PAPER)
    text = "65.0 against 52.0 %: +13.0 points (+12.5 to +13.5)"
    assert found(findings, language_claims.OVER_STRINGS) == (text, True)
    text = "65.0 against 69.0 %: -4.0 points (-4.5 to -3.5)"
    assert found(findings, language_claims.NEAR_RULES) == (text, True)
    text = "nominal +18.0, pronoun +17.0, proper +6.0 points"
    assert found(findings, language_claims.NOMINAL) == (text, True)


def test_wide_intervals_leave_the_claims_on_antecedents_undecided() -> None:
    wide = antecedents(spread=0.05, **PAPER)
    assert [finding.row["holds"] for finding in wide] == ["undecided"] * 3


def test_a_head_chosen_on_the_same_mentions_does_not_count() -> None:
    findings = antecedents(all=0.61, pronoun=0.64, proper=0.73, nominal=0.50)
    assert [finding.holds for finding in findings] == [False, False, False]
    assert [finding.row["holds"] for finding in antecedents()] == ["not tested"] * 3
    unknown = antecedents(all=0.65, pronoun=0.64, proper=np.nan, nominal=np.nan)
    assert verdict_of(unknown, language_claims.NOMINAL) == "not tested"


NAMES = {
    "words": "attention + words",
    "distances": "words + distances",
    "random": "attention + words, random encoder",
    "right": "right-branching",
    "attention": "attention",
}


def probes(spread: float = 0.01, **uas: float) -> list[Finding]:
    """Findings for probes with these scores; intervals of differences have this half width."""
    table = pd.DataFrame([{"probe": NAMES[key], "uas": value} for key, value in uas.items()])
    table.attrs["pairs"] = [
        {
            "probe": NAMES[one],
            "other": NAMES[other],
            "difference": uas[one] - uas[other],
            "low": uas[one] - uas[other] - spread,
            "high": uas[one] - uas[other] + spread,
        }
        for one, other in combinations(sorted(uas, key=lambda name: -uas[name]), 2)
    ]
    return probe_findings(table)


TABLE_3 = {"right": 0.26, "distances": 0.58, "random": 0.30, "attention": 0.61, "words": 0.77}


def test_probes_must_be_ten_points_above_every_baseline() -> None:
    paper = probes(**TABLE_3)
    text = "77.0 against 58.0, 30.0, 26.0 UAS: +19.0 points (+18.0 to +20.0) over words + distances"
    assert found(paper, probe_claims.PROBE) == (text, True)
    text = "61.0 against 26.0 UAS: +35.0 points (+34.0 to +36.0)"
    assert found(paper, probe_claims.ATTENTION_ONLY) == (text, True)
    near = probes(**TABLE_3 | {"distances": 0.69, "attention": 0.34})
    assert [finding.holds for finding in near] == [False, False]
    worse = probes(**TABLE_3 | {"distances": 0.80})  # the pair is given the other way round
    assert "-3.0 points (-4.0 to -2.0)" in found(worse, probe_claims.PROBE)[0]


def test_the_paired_bootstrap_decides_on_probes_not_the_difference_alone() -> None:
    near = TABLE_3 | {"distances": 0.665, "attention": 0.365}  # 10.5 points
    assert [finding.row["holds"] for finding in probes(**near)] == ["undecided"] * 2
    assert [finding.holds for finding in probes(spread=0.004, **near)] == [True, True]


def test_probes_that_were_not_compared_are_not_tested() -> None:
    table = pd.DataFrame([{"probe": NAMES[key], "uas": value} for key, value in TABLE_3.items()])
    assert [finding.here for finding in probe_findings(table)] == [
        "the probes were not tested on the same sentences"
    ] * 2


def test_without_word_vectors_only_attention_is_tested() -> None:
    findings = probes(right=0.26, attention=0.61)
    assert found(findings, probe_claims.PROBE) == ("no word vectors were given", None)
    assert found(findings, probe_claims.ATTENTION_ONLY)[1] is True


PAIR = Example("1", ("the dog sat", "a cat"))
SINGLE = Example("2", ("the dogs sat on the old mat",))


def test_the_share_of_separators_is_that_of_tokens() -> None:
    # [CLS] the dog sat [SEP] a cat [SEP]; [CLS] the dog ##s sat on the old mat [SEP]
    found = separator_share(planted_bert(), [PAIR, SINGLE], limit=10, max_length=20)
    assert found == pytest.approx((2 / 8 + 1 / 10) / 2)
    assert separator_share(planted_bert(), [PAIR, SINGLE], limit=1, max_length=20) == 2 / 8
    assert np.isnan(separator_share(planted_gpt2(), [SINGLE], limit=10, max_length=20))


def test_split_words_are_those_of_several_pieces() -> None:
    texts = ("the", "dogs", "sat", "barking", "on", "the", "old", "mat")
    example = Example("1", (" ".join(texts),), tuple(map(Word, texts)))
    assert split_share(planted_bert(), [example], limit=10, max_length=20) == pytest.approx(2 / 8)
    assert np.isnan(split_share(planted_bert(), [SINGLE], limit=10, max_length=20))
