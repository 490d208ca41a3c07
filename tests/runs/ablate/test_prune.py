"""The pruning curve: planted heads, full passes, and the greedy order step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from headscope.corpus import Example, from_examples
from headscope.errors import UserError
from headscope.heads import Head, parse_heads
from headscope.models import Replacement
from headscope.runs.ablate import ablate
from headscope.runs.ablate.run import GreedySearch, Losses
from runs.ablate.made import RUN, TASK, classifier, labelled, one_by_one
from tiny import SENTENCES


def test_pruning_keeps_the_head_that_matters_and_scores_other_examples():
    rows = [
        Example(f"e{index}", (SENTENCES[index % 5],), label="yes" if index % 2 else "no")
        for index in range(6)
    ]
    corpus = from_examples(rows, name="made.tsv")
    how = {"task": TASK, "dev": corpus, "way": "zero", "prune": True, "prune_points": 8}
    atlas = ablate(classifier(only=(0, 1)), **how, **RUN)
    data = atlas["pruning"]
    labels = {row.id: row.label for row in rows}
    judged = data["example"].values.tolist()
    assert len(set(judged)) == data.attrs["chosen_on"] == 3
    assert {labels[example] for example in judged} == {"yes", "no"}  # not every other example
    assert data.attrs["order_importance"].split(",")[-1] == "1-2"
    kinds = data["kind"].values
    assert data["left"].values[kinds == "greedy"].tolist() == [7, 6, 5, 4, 3, 2, 1]
    changes = np.abs(data["outputs"] - data["outputs"].sel(run="none"))
    change = changes.max(("example", "output")).values
    assert (change[kinds == "importance"] < 1e-6).all()
    order = data.attrs["order_random"].split(",")
    gone = ["1-2" in order[: 8 - left] for left in data["left"].values[kinds == "random"]]
    assert (change[kinds == "random"] > 1e-6).tolist() == gone


def test_the_output_without_pruned_heads_equals_that_of_a_full_pass():
    model = classifier()
    atlas = ablate(model, task=TASK, dev=labelled(), prune=True, prune_points=4, **RUN)
    data = atlas["pruning"]
    removed = parse_heads(data.attrs["order_greedy"])[:4]
    for example in data["example"].values:
        batch = one_by_one(model, SENTENCES[int(example[1:])])
        with torch.inference_mode():
            logits = model.forward(batch, replacement=Replacement(removed)).logits[0]
        found = data["outputs"].sel(run="greedy, 4 left", example=example)
        assert found.values == pytest.approx(logits.numpy(), abs=1e-5)


HEADS = [Head(0, head) for head in range(4)]
COSTS = dict(zip(HEADS, (0.1, 0.2, 1.0, 2.0), strict=True))


def losses(base: Sequence[Head], tried: Sequence[Head]) -> list[float]:
    """Each of the first two heads is nearly free to remove; both together cost 5."""
    sets = [frozenset(base), *(frozenset([*base, head]) for head in tried)]
    both = set(HEADS[:2])
    return [sum(COSTS[head] for head in one) + 5.0 * (both <= one) for one in sets]


def trials_and_order(
    losses: Losses, candidates: int, budget: int
) -> tuple[list[int], tuple[Head, ...]]:
    search = GreedySearch(HEADS, losses, candidates=candidates, budget=budget)
    trials = []
    while not search.finished:
        search.step()
        trials.append(search.trials)
    return trials, search.removed


def test_the_greedy_order_removes_the_cheapest_head_each_time():
    trials, order = trials_and_order(losses, 4, 99)
    assert order == (HEADS[0], HEADS[2], HEADS[3])
    assert trials == [4, 8, 11, 13]


def test_the_greedy_order_ends_when_its_budget_is_spent():
    assert trials_and_order(losses, 2, 4 + 2 * 2)[1] == (HEADS[0], HEADS[2])
    assert trials_and_order(losses, 4, 4)[1] == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prune_candidates": 0}, "the number of candidates must be 1 or more, got 0 instead"),
        ({"prune_budget": -1}, "the budget of trials must be 0 or more, got -1 instead"),
        ({"prune_points": 1}, "the number of points must be 2 or more, got 1 instead"),
        ({"limit": 1}, "pruning needs two documents or more"),
    ],
)
def test_impossible_options_are_errors(given, message):
    with pytest.raises(UserError, match=message):
        ablate(classifier(), task=TASK, dev=labelled(), prune=True, **given, **RUN)  # type: ignore[arg-type]
