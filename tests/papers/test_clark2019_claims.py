"""The claims of Clark et al. 2019: each verdict follows from the number, by the stated rule."""

from __future__ import annotations

from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.corpus import Example, Word, from_examples
from headscope.papers import Clark2019
from headscope.papers.claims import Finding
from headscope.papers.clark2019 import recipe
from headscope.papers.clark2019.recipe import Relations
from papers.claimed import findings, found
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


def surface(uniform: float = 0.1, **changes: Any) -> dict[str, Finding]:
    return findings(Clark2019, surface=Made(**changes), uniform=uniform)


def test_heads_over_half_on_the_previous_token_are_counted_and_named():
    claim = "previous"
    assert found(surface(), claim) == ("no head; largest share 5.0 %", False)
    some = {"offset": "previous", "layer": 2, "head": 3, "value": 0.51}
    assert found(surface(position=some), claim) == ("1 head (2-3); largest share 51.0 %", True)
    half = some | {"value": 0.5}
    assert found(surface(position=half), claim) == ("no head; largest share 50.0 %", False)


def test_a_model_that_does_not_see_the_next_token_is_not_tested_on_it():
    causal = {"offset": "next", "value": np.nan}
    text, holds = found(surface(position=causal), "following")
    assert (text, holds) == ("the model does not see the next token", None)


@pytest.mark.parametrize(
    ("layers", "text", "holds"),
    [
        ((1, 2, 3), "2 of 3 in the lower half", True),
        ((2, 3), "1 of 2 in the lower half", False),
        ((), "there are no such heads", None),
    ],
)
def test_heads_on_neighbours_are_early_if_most_are_in_the_lower_half(layers, text, holds):
    offsets = ("previous", "next", "previous")
    changes = [
        {"offset": offset, "layer": layer, "head": 1, "value": 0.8}
        for offset, layer in zip(offsets, layers, strict=False)
    ]
    assert found(surface(position=changes), "early") == (text, holds)


def test_little_attention_on_the_current_token_is_under_a_tenth():
    assert found(surface(), "current") == ("12 of 12 heads under 10 %", True)
    half = [{"offset": "current", "layer": layer, "value": 0.1} for layer in (1, 2)]
    assert found(surface(position=half), "current") == ("6 of 12 heads under 10 %", False)


def test_the_layer_with_the_most_attention_to_separators_decides():
    most = [
        {"token": "sep", "row": "all", "layer": 3, "head": head, "value": value}
        for head, value in ((1, 0.9), (2, 0.6), (3, 0.3))  # mean 0.6
    ]
    itself = {"token": "sep", "row": "sep", "layer": 3, "value": 0.91}
    some = surface(special=[*most, itself], uniform=1 / 64)
    assert found(some, "some_separator") == ("60.0 % in layer 3", True)
    # of four layers, only the third is at the depth of layers 6 to 10 of 12
    text = "layers 3–3: at least 60.0 % (layer 3); 1.6 % if uniform"
    assert found(some, "separator") == (text, True)
    assert found(some, "from_separator") == ("91.0 % in layer 3", True)
    elsewhere = {"token": "sep", "row": "sep", "layer": 2, "value": 0.99}
    some = surface(special=[*most, elsewhere])
    assert found(some, "some_separator") == ("60.0 % in layer 3", True)
    assert found(some, "from_separator") == ("5.0 % in layer 3", False)
    early = surface(special={"token": "sep", "row": "all", "layer": 1, "value": 0.6})
    assert found(early, "some_separator")[1] is True
    assert found(early, "separator")[1] is False


def test_a_model_without_separators_is_not_tested_on_them():
    some = surface(special={"token": "sep", "value": np.nan})
    for claim in ("separator", "some_separator", "order", "from_separator"):
        assert found(some, claim) == ("the model has no [SEP]", None)


@pytest.mark.parametrize(("layers", "holds"), [((1, 2, 4), True), ((1, 2, 2), False)])
def test_special_tokens_come_in_the_papers_order(layers, holds):
    changes = [
        {"token": token, "row": "all", "layer": layer, "value": 0.4}
        for token, layer in zip(("cls", "sep", "punctuation"), layers, strict=True)
    ]
    text = f"layers {', '.join(map(str, layers))}"
    assert found(surface(special=changes), "order") == (text, holds)


def test_broad_heads_and_their_largest_weight():
    some = surface()
    assert found(some, "some_broad") == ("no head in the lower half", False)
    assert found(some, "at_most") == ("there are no such heads", None)
    broad = [{"row": "all", "layer": layer, "head": 2, "value": 3.7} for layer in (1, 4)]
    weight = [
        {"peak": "weight", "layer": 1, "head": 2, "value": 0.06},
        {"peak": "weight", "layer": 4, "head": 2, "value": 0.12},
        {"peak": "weight", "layer": 2, "head": 1, "value": 0.9},  # not broad
    ]
    some = surface(entropy=broad, peak=weight)
    text = "1 head (1-2) in the lower half, 2 in all"
    assert found(some, "some_broad") == (text, True)
    assert found(some, "at_most") == ("9.0 % (single heads: at most 12.0 %)", True)
    deep = {"row": "all", "layer": 4, "head": 2, "value": 3.7}
    assert found(surface(entropy=deep), "some_broad")[1] is False


def test_the_last_layer_is_broad_from_cls_if_it_has_the_papers_share_of_uniform():
    broad = {"row": "cls", "layer": 4, "value": 3.3}
    assert found(surface(entropy=broad), "last_cls") == ("3.30 nats, 82.5 % of uniform", True)
    narrow = {"row": "cls", "layer": 4, "value": 3.1}
    assert found(surface(entropy=narrow), "last_cls")[1] is False
    none = {"row": "cls", "value": np.nan}
    assert found(surface(entropy=none), "last_cls") == ("the model has no [CLS]", None)


def test_gradients_fall_where_attention_rises():
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

    def no_op(made: Made) -> tuple[str, bool | None]:
        return found(findings(Clark2019, surface=made, gradient=made), "no_op")

    assert no_op(gradients(4, 3, 2, 1)) == ("Spearman -1.00 over 4 layers, p <0.001", True)
    here, holds = no_op(gradients(4, 1, 2, 3))
    assert here.startswith("Spearman -0.20 over 4 layers")
    assert holds is False
    assert no_op(Made(special={"token": "sep", "value": np.nan}))[1] is None


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


def test_heads_of_one_layer_are_close():
    def within(*distances: float, **shape: int) -> tuple[str, bool | None]:
        made = Distances(*distances, **shape)
        return found(findings(Clark2019, distance=made, seed=0), "within_layers")

    text = "0.100 nats within, 0.300 between, p <0.001 (9,999 permutations)"
    assert within(0.1, 0.3) == (text, True)
    assert within(0.3, 0.1)[1] is False
    assert within(0.1, 0.3, heads=1)[1] is None


UP, DOWN = "dependent to head", "head to dependent"


class Best(Relations):
    """The best heads of a table."""

    def __init__(self, table: list[dict[str, Any]], labels: dict[str, str | None]) -> None:
        self.labels, self.rows = labels, {row["relation"]: row for row in table}


def relations(**changes: dict[str, Any]) -> dict[str, Finding]:
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
    return findings(Clark2019, relations=Best(rows, labels | {"prep": None}))


def test_a_head_that_gets_half_of_all_words_would_be_a_parser():
    low = relations(all={"held_out": 0.345, "held_out_baseline": 0.263})
    text = "34.5 % (32.5 to 36.5; offset 26.3 %)"
    assert found(low, "no_parser") == (text, True)
    assert found(relations(all={"held_out": 0.6}), "no_parser")[1] is False
    assert relations()["no_parser"].holds == "undecided"


def test_all_four_relations_must_be_over_three_quarters():
    high = {name: {"held_out": 0.8} for name in ("dobj", "det", "pobj", "poss")}
    numbers = ", ".join(f"{name} 80.0 (78.0 to 82.0)" for name in high)
    assert found(relations(**high), "over_75") == (f"{numbers} %", True)
    one_low = high | {"pobj": {"held_out": 0.72}}
    assert found(relations(**one_low), "over_75")[1] is False
    one_near = high | {"pobj": {"held_out": 0.75}}
    assert relations(**one_near)["over_75"].holds == "undecided"
    few = high | {"poss": {"words": 19}}
    found_few = found(relations(**few), "over_75")
    assert found_few == ("poss: fewer than 20 words", None)


def test_a_gain_counts_if_it_is_large_and_significant():
    expected = ("0 of 5 relations by over 20 points; most for dobj, +10.0", False)
    assert found(relations(), "specialise") == expected
    large = {"held_out": 0.9, "held_out_baseline": 0.5}
    text = "1 of 5 relations by over 20 points; most for det, +40.0"
    assert found(relations(det=large), "specialise") == (text, True)
    by_chance = large | {"p_corrected": 0.2}
    assert found(relations(det=by_chance), "specialise")[1] is False


def test_directions_count_for_every_relation_but_pobj():
    assert found(relations(pobj={"direction": DOWN}), "direction") == ("4 of 4", True)
    text = "3 of 4, not nsubj"
    both = relations(nsubj={"direction": DOWN})
    assert found(both, "direction") == (text, False)


def test_a_treebank_without_the_papers_relations_tests_nothing():
    best = Best([{"relation": "all", "words": 100, "held_out": 0.3}], {"all": "all", "det": None})
    some = findings(Clark2019, relations=best)
    assert [finding.holds for finding in some.values()] == ["not tested"] * 5


def test_gains_under_ten_points_are_slight():
    names = ("dobj", "det", "pobj", "poss", "nsubj")
    assert found(relations(**{name: {"held_out": 0.55} for name in names}), "slight")[1] is False
    low = {name: {"held_out": 0.55} for name in names} | {
        name: {"held_out": 0.45} for name in ("dobj", "det")
    }
    assert found(relations(**low), "slight") == ("2 of 5 by under 10 points", True)


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


def test_special_tokens_matter_little_if_most_heads_change_by_less_than_a_point():
    before = Accuracies(0.3, 0.3, 0.2, 0.2, 0.1, 0.1)
    little = Accuracies(0.295, 0.295, 0.2, 0.2, 0.0, 0.0)
    both = findings(Clark2019, dependency=before, dependency_special=little)
    assert found(both, "footnote") == ("4 of 6 heads; median change 0.5 points", True)
    half = Accuracies(0.3, 0.3, 0.2, 0.1, 0.0, 0.0)
    both = findings(Clark2019, dependency=before, dependency_special=half)
    assert found(both, "footnote") == ("3 of 6 heads; median change 5.0 points", False)


BASELINES: list[dict[str, Any]] = [
    {"system": "nearest", "all": 0.27, "pronoun": 0.29, "proper": 0.29, "nominal": 0.19},
    {"system": "same head word", "all": 0.52, "pronoun": 0.47, "proper": 0.67, "nominal": 0.40},
    {"system": "rules", "all": 0.69, "pronoun": 0.70, "proper": 0.77, "nominal": 0.60},
    {"system": "head 5-4", "all": 0.99, "pronoun": 0.99, "proper": 0.99, "nominal": 0.99},
]


def antecedents(spread: float = 0.005, **chosen: float) -> dict[str, Finding]:
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
    with patch.multiple(
        recipe,
        antecedent_table=lambda _: pd.DataFrame(rows),
        antecedent_gains=lambda _, baseline: gains[baseline],
        gain_differences=lambda *_, **__: contrasts,
    ):
        return findings(Clark2019, coreference=None)


PAPER = {"all": 0.65, "pronoun": 0.64, "proper": 0.73, "nominal": 0.58}


def test_the_papers_own_table_meets_its_claims():
    some = antecedents(**PAPER)
    text = "65.0 against 52.0 %: +13.0 points (+12.5 to +13.5)"
    assert found(some, "over_strings") == (text, True)
    text = "65.0 against 69.0 %: -4.0 points (-4.5 to -3.5)"
    assert found(some, "near_rules") == (text, True)
    text = "nominal +18.0, pronoun +17.0, proper +6.0 points"
    assert found(some, "nominal") == (text, True)


def test_wide_intervals_leave_the_claims_on_antecedents_undecided():
    wide = antecedents(spread=0.05, **PAPER)
    assert [finding.holds for finding in wide.values()] == ["undecided"] * 3


def test_a_head_chosen_on_the_same_mentions_does_not_count():
    some = antecedents(all=0.61, pronoun=0.64, proper=0.73, nominal=0.50)
    assert [finding.holds for finding in some.values()] == ["no"] * 3
    assert [finding.holds for finding in antecedents().values()] == ["not tested"] * 3
    unknown = antecedents(all=0.65, pronoun=0.64, proper=np.nan, nominal=np.nan)
    assert unknown["nominal"].holds == "not tested"


NAMES = {
    "words": "attention + words",
    "distances": "words + distances",
    "random": "attention + words, random encoder",
    "right": "right-branching",
    "attention": "attention",
}


def probes(spread: float = 0.01, **uas: float) -> dict[str, Finding]:
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
    return findings(Clark2019, probes=table)


TABLE_3 = {"right": 0.26, "distances": 0.58, "random": 0.30, "attention": 0.61, "words": 0.77}


def test_probes_must_be_ten_points_above_every_baseline():
    paper = probes(**TABLE_3)
    text = "77.0 against 58.0, 30.0, 26.0 UAS: +19.0 points (+18.0 to +20.0) over words + distances"
    assert found(paper, "with_words") == (text, True)
    text = "61.0 against 26.0 UAS: +35.0 points (+34.0 to +36.0)"
    assert found(paper, "attention_only") == (text, True)
    near = probes(**TABLE_3 | {"distances": 0.69, "attention": 0.34})
    assert [finding.holds for finding in near.values()] == ["no"] * 2
    worse = probes(**TABLE_3 | {"distances": 0.80})  # the pair is given the other way round
    assert "-3.0 points (-4.0 to -2.0)" in found(worse, "with_words")[0]


def test_the_paired_bootstrap_decides_on_probes_not_the_difference_alone():
    near = TABLE_3 | {"distances": 0.665, "attention": 0.365}  # 10.5 points
    assert [finding.holds for finding in probes(**near).values()] == ["undecided"] * 2
    assert [finding.holds for finding in probes(spread=0.004, **near).values()] == ["yes"] * 2


def test_probes_that_were_not_compared_are_not_tested():
    table = pd.DataFrame([{"probe": NAMES[key], "uas": value} for key, value in TABLE_3.items()])
    here = [finding.here for finding in findings(Clark2019, probes=table).values()]
    assert here == ["the probes were not tested on the same sentences"] * 2


def test_without_word_vectors_only_attention_is_tested():
    some = probes(right=0.26, attention=0.61)
    assert found(some, "with_words") == ("no word vectors were given", None)
    assert found(some, "attention_only")[1] is True


PAIR = Example("1", ("the dog sat", "a cat"))
SINGLE = Example("2", ("the dogs sat on the old mat",))


def test_the_share_of_separators_is_that_of_tokens():
    # [CLS] the dog sat [SEP] a cat [SEP]; [CLS] the dog ##s sat on the old mat [SEP]
    def share(model: Any, *texts: Example) -> float:
        return Clark2019(model, text=from_examples(texts), max_length=20).uniform

    assert share(planted_bert(), PAIR, SINGLE) == pytest.approx((2 / 8 + 1 / 10) / 2)
    assert share(planted_bert(), PAIR) == 2 / 8
    assert np.isnan(share(planted_gpt2(), SINGLE))


def test_split_words_are_those_of_several_pieces():
    texts = ("the", "dogs", "sat", "barking", "on", "the", "old", "mat")
    example = Example("1", (" ".join(texts),), tuple(map(Word, texts)))
    made = Clark2019(planted_bert(), max_length=20)
    assert made.split_share(from_examples([example])) == pytest.approx(2 / 8)
    assert np.isnan(made.split_share(from_examples([SINGLE])))
