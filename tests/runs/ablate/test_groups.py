"""Groups of heads disabled in a planted induction model, against transformers' own loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.errors import ModelError, UserError
from headscope.heads import Head, all_heads
from headscope.runs.ablate.groups import matched_heads
from headscope.stats.tables.ablation import NAME, group_table, repeated_more
from planted_induction import INDUCTION, PREVIOUS, WORDS, Layout, induction_model

LENGTH = 6
TEXTS = ["cd ab gh ef kl ij mn", "mn ij kl ab cd ef gh", "ab kl gh mn cd ij ef", "gh cd mn ab ij"]


@pytest.fixture(scope="module")
def model():
    return induction_model(Layout(words=WORDS, positions=32, size=128))


@pytest.fixture(scope="module")
def results(model):
    groups = {"induction": INDUCTION, "previous": PREVIOUS, "idle": "2-1"}
    return hs.group_losses(model, TEXTS, groups, length=LENGTH, draws=3)


def test_losses_are_those_of_the_network_itself(model, results):
    expected = []
    for text in TEXTS[:3]:  # the fourth is too short
        ids = model.tokenizer(text, add_special_tokens=False)["input_ids"][:LENGTH]
        twice = torch.tensor([ids + ids])
        labels = twice.clone()
        losses = []
        for copy in range(2):
            labels[:] = -100
            first = copy * LENGTH + 1
            labels[:, first : first + LENGTH - 1] = twice[:, first : first + LENGTH - 1]
            with torch.inference_mode():
                losses.append(model.network(input_ids=twice, labels=labels).loss.item())
        expected.append(losses)
    np.testing.assert_allclose(results[NAME]["loss"], np.mean(expected, 0), rtol=1e-5)
    assert int(results[NAME]["n"].max()) == 3


def test_only_the_planted_heads_are_needed_for_repeated_text(results):
    table = group_table(results).set_index(["group", "text"])
    for group in ("induction", "previous"):
        row = table.loc[(group, "repeated")]
        assert row["low"] > 0
        assert row["rise"] > row["most"]
    assert abs(table.loc[("idle", "repeated"), "rise"]) < 0.01
    more = repeated_more(results).set_index("group")
    assert more.loc["induction", "low"] > 0


def test_other_heads_come_from_the_same_layers():
    every = all_heads(3, 4)
    heads = [Head(0, 0), Head(0, 3), Head(2, 1)]
    for seed in range(20):
        drawn = matched_heads(heads, every, np.random.default_rng(seed))
        assert sorted(head.layer for head in drawn) == [0, 0, 2]
        assert not set(drawn) & set(heads)
        assert len(set(drawn)) == 3


def test_a_full_layer_is_matched_from_other_layers():
    heads = [Head(0, 0), Head(0, 1), Head(0, 2)]
    drawn = matched_heads(heads, all_heads(2, 4), np.random.default_rng(0))
    assert [head.layer for head in drawn] == [0, 1, 1]


def test_a_finished_run_is_opened(model, tmp_path):
    path = tmp_path / "groups.nc"
    one, two = (
        hs.group_losses(model, TEXTS, {"a": "1-2"}, length=LENGTH, draws=1, output=path)
        for _ in range(2)
    )
    assert one.provenance["created"] == two.provenance["created"]
    assert group_table(two)["heads"].tolist() == ["1-2", "1-2"]


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        ({}, {}, "no group of heads was given"),
        ({"a": "9-1"}, {}, "no head 9-1"),
        ({"a": "*-*"}, {}, "too few to draw as many"),
        ({"a": "1-1"}, {"length": 16}, "takes at most 32 tokens"),
        ({"a": "1-1"}, {"way": "mean"}, "way to disable heads"),
        ({"a": "1-1"}, {"draws": 0}, "number of draws"),
    ],
)
def test_bad_input_is_named(model, groups, options, message):
    with pytest.raises(UserError, match=message):
        hs.group_losses(model, TEXTS, groups, **({"length": LENGTH} | options))


def test_texts_that_are_too_short_are_counted(model):
    with pytest.raises(UserError, match="has 0 texts of 6 tokens or more"):
        hs.group_losses(model, TEXTS[3:], {"a": "1-1"}, length=LENGTH)


def test_an_encoder_predicts_no_next_token():
    with pytest.raises(ModelError, match=r"language-model head|no next token"):
        hs.group_losses("demo", TEXTS, {"a": "1-1"})
