"""Keeping examples waits for no device, works on several, and holds no more than a window."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headscope.corpus import read
from headscope.encode import Batch, collate
from headscope.measures import Context, Position
from headscope.models import LayerView, Model, observe
from headscope.results.kept import PARTS, ExampleStore
from headscope.runs import forward
from headscope.runs.forward import Hearing, Pass, Place
from headscope.runs.keeping import Keeper
from runs.test_transfers import Counting
from tiny import tiny_model

DEPTH = {"bert": "num_hidden_layers", "gpt2": "n_layer"}


def made(kind: str, *, length: int = 60, **changes: Any) -> tuple[Pass, Keeper, Batch]:
    """A pass over six passages that keeps four."""
    model: Model = tiny_model(kind, **changes)
    stack = model.main_stack()
    encoder = model.encoder(max_length=length, long="truncate", stack=stack)
    batch = collate(encoder.encode(read("demo", limit=6)), pad=model.pad)
    context = Context(model.shape(stack), causal=model.causal(stack))
    keeper = Keeper(model, context)
    keeper.store = ExampleStore(context.shape.labels, context.shape.heads, 4, 1)
    keeper.keys = {id(item): PARTS * number for number, item in enumerate(batch.items, 1)}
    measure = Position().bind(context, [item.example for item in batch.items])
    return Pass(model, [measure], stack, context, keeper), keeper, batch


def found(survey: Pass, batch: Batch) -> Keeper:
    examples = survey.run(batch).examples
    assert examples is not None
    return examples


def copies(kind: str, layers: int) -> int:
    survey, _, batch = made(kind, **{DEPTH[kind]: layers})
    survey.run(batch)
    with Counting() as counting:
        survey.run(batch)
    return sum(counting.counts.values())


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_copies_grow_neither_with_layers_nor_with_blocks(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = copies(kind, 2)
    assert copies(kind, 5) == few > 0
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    cut = copies(kind, 2)
    assert copies(kind, 5) == cut <= few + 10


class Spread(Hearing):
    """Layers in turn on two devices; here both are the processor."""

    second = False

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        self.second = view.layer % 2 == 1
        super().rows(view, block, first_row)

    def place(self, device: torch.device) -> Place:
        where = torch.device("cuda:1") if self.second else device
        if where not in self.places:
            here = super().place(device)
            groups = [group.on(self.batch, device) for group in self.groups]
            self.places[where] = replace(here, groups=groups) if self.second else here
        return self.places[where]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_model_spread_over_devices_keeps_the_same(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, keeper, batch = made(kind)
    together = found(survey, batch)
    monkeypatch.setattr(forward, "Hearing", Spread)
    keeper.needed = {}
    apart = found(survey, batch)
    for name in ("scores", "entering", "chosen", "codes", "share", "even"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(together, name))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_no_more_than_the_window_is_held(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    longest = {"bert": "max_position_embeddings", "gpt2": "n_positions"}[kind]
    survey, _, batch = made(kind, length=400, **{longest: 400})
    assert batch.width > 2 * 128
    held: list[int] = []
    end = Keeper.end

    def spy(self: Keeper, view: LayerView) -> None:
        storages = {block.untyped_storage().data_ptr(): block for block in self.blocks}
        held.append(sum(block.untyped_storage().nbytes() for block in storages.values()))
        end(self, view)

    monkeypatch.setattr(Keeper, "end", spy)
    survey.run(batch)
    heads = 4
    assert held == [len(batch) * heads * 128 * 128 * 4] * 2


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_blocks_are_not_changed_after_they_are_handed_over(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are held until the layer ends, while the model and other measures go on with them."""
    from headscope.measures import MEASURES

    survey, keeper, batch = made(kind)
    context = keeper.context
    items = [item.example for item in batch.items]
    without_head = [MEASURES[name] for name in MEASURES if "lm" not in MEASURES[name].needs]
    measures = [measure().bind(context, items) for measure in without_head]
    survey = Pass(survey.model, measures, survey.stack, context, keeper)
    copied: list[tuple[Tensor, Tensor]] = []
    rows, end = Keeper.rows, Keeper.end

    def copying(self: Keeper, view: LayerView, block: Tensor, first_row: int) -> None:
        rows(self, view, block, first_row)
        copied.append((self.blocks[-1], self.blocks[-1].clone()))

    def comparing(self: Keeper, view: LayerView) -> None:
        assert copied
        assert all(torch.equal(*pair) for pair in copied)
        copied.clear()
        end(self, view)

    monkeypatch.setattr(Keeper, "rows", copying)
    monkeypatch.setattr(Keeper, "end", comparing)
    survey.run(batch)
