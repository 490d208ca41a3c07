"""How often a pass makes the processor and a device wait for each other.

There is no GPU where the tests run, so the calls that would copy between memories are counted.
Their number must not grow with the number of layers, nor with that of blocks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from headscope.corpus import read
from headscope.encode import collate
from headscope.measures import MEASURES, Context
from headscope.models import observe
from headscope.runs.forward import Pass
from tiny import tiny_model

COPIES = {
    Tensor.cpu,
    Tensor.numpy,
    Tensor.item,
    Tensor.tolist,
    Tensor.nonzero,
    Tensor.__bool__,
    Tensor.__int__,
    Tensor.__float__,
    Tensor.__index__,
    torch.nonzero,
    torch.tensor,
    torch.from_numpy,
    torch.unique,
}


class Counting(TorchFunctionMode):
    """Counts the calls that copy from or to a device, or wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in COPIES:
            self.counts[func.__name__] += 1
        return func(*args, **(kwargs or {}))


def copies(kind: str, layers: int) -> Counter[str]:
    """What a pass with all measures that are offered copies for one batch."""
    depth = {"bert": "num_hidden_layers", "gpt2": "n_layer"}[kind]
    model = tiny_model(kind, **{depth: layers})
    stack = model.main_stack()
    encoder = model.encoder(max_length=60, long="truncate", stack=stack)
    items = list(encoder.encode(read("demo", limit=6)))
    batch = collate(items, pad=model.pad)
    context = Context(model.shape(stack), causal=model.causal(stack))
    examples = [item.example for item in items]
    offered = [MEASURES[name] for name in MEASURES if MEASURES[name].offered]
    measures = [measure().bind(context, examples) for measure in offered]
    survey = Pass(model, measures, stack, context)
    survey.run(batch)  # functions are tried once
    with Counting() as counting:
        survey.run(batch)
    return counting.counts


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_copies_grow_neither_with_layers_nor_with_blocks(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = copies(kind, 2)
    assert sum(few.values()) > 0
    assert copies(kind, 5) == few
    monkeypatch.setattr(observe, "WEIGHTS", 1)  # blocks of 16 rows
    cut = copies(kind, 2)
    assert copies(kind, 5) == cut
    # What depends on a block is copied once for all layers.
    assert sum(cut.values()) <= sum(few.values()) + 4 * 10
