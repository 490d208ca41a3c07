"""Gradient importance (Clark et al. 2019, §3.2, Fig. 3): how much the language-model loss would change with the attention to a token."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import SEPARATOR, TEXT, Batch, Encoded
from headscope.measures.base import Measure
from headscope.models import LayerView

SHARE = 0.15


def masked_positions(item: Encoded, seed: int, share: float = SHARE) -> NDArray[np.bool_]:
    """Which word pieces of an example are masked: always the same ones for a seed and an example, and at least one."""
    pieces = np.flatnonzero(item.kind == TEXT)
    generator = np.random.default_rng([seed, zlib.crc32(item.example.id.encode()), len(item)])
    chosen = generator.choice(pieces, size=max(1, round(share * len(pieces))), replace=False)
    mask = np.zeros(len(item), dtype=np.bool_)
    mask[chosen] = True
    return mask


def mean_loss(logits: Tensor, ids: Tensor, asked: Tensor) -> Tensor:
    """The sum over examples of each one's mean cross-entropy at the asked positions, so that no example's gradient depends on its batch."""
    losses = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2).float(), ids, reduction="none"
    )
    counts = asked.sum(1).clamp_min(1)
    return ((losses * asked).sum(1) / counts).sum()


def key_kinds(items: Sequence[Encoded], width: int) -> Tensor:
    """(batch, key, kind): [SEP], full stops and commas, other; each column says which keys are of the kind. Padding is of none."""
    kinds = np.zeros((len(items), width, 3), dtype=np.float32)
    for row, item in enumerate(items):
        separator = item.kind == SEPARATOR
        kinds[row, : len(item)] = np.stack([separator, item.stop, ~separator & ~item.stop], axis=1)
    return torch.from_numpy(kinds)


class Gradient(Measure):
    """Mean |∂loss/∂α| by the kind of the attended token (C4). Masked models: 15 % of the pieces masked; causal models: their own loss.

    The engine runs one more forward and a backward pass a batch for it, all layers at once; it is asked for by name, and needs a model with an LM head.
    """

    name = "gradient"
    title = "Gradient importance"
    unit = "mean |∂loss/∂α|"
    source = "Clark et al. 2019, §3.2, Figure 3"
    dims = {"token": ("sep", "punctuation", "other")}
    needs: ClassVar[frozenset[str]] = frozenset({"lm"})
    offered = False

    def prepare(self, batch: Batch, device: Any) -> tuple[Tensor, Tensor]:
        """The kinds of keys, and the real rows."""
        return key_kinds(batch.items, batch.width).to(device), torch.from_numpy(batch.mask).to(
            device
        )

    def layer(self, view: LayerView, attention: Tensor, prepared: tuple[Tensor, Tensor]) -> Tensor:
        """``attention`` is here the gradient of the loss by the maps: (batch, head, kind). A causal model has no weights on later tokens to average over."""
        kinds, real = prepared
        seen = real[:, :, None] & real[:, None, :]
        if self.setting.causal:
            seen = seen.tril()
        pairs = (
            seen.float() @ kinds
        )  # (batch, query, kind): how many keys of each kind a query may attend to
        rows = torch.einsum("bhqk,bqk,bkn->bhn", attention.abs(), seen.float(), kinds)
        return (rows / pairs.sum(1)[:, None]).masked_fill(
            (pairs.sum(1) == 0)[:, None], float("nan")
        )
