"""The largest attention score of a head, before the softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.measures.base import Measure
from headscope.measures.reductions import largest_and_place
from headscope.models import LayerView, Model
from headscope.models.rowblocks import HIDDEN
from headscope.models.view import Scores

KEPT = 5000
"""The largest scores of so many texts are kept."""


@dataclass
class LargestSoFar:
    """Which rows are padding, (batch, 1, row), and the largest score so far, (batch, head)."""

    padding: Tensor
    largest: Tensor | None = None


def top_scores(block: Tensor, scores: Scores, first_row: int) -> Tensor:
    """The score of the key that gets most of each row's attention: (batch, head, row).

    That is the largest of the row: the softmax keeps the order. So there is no need to compute the
    scores of all pairs again.

    Parameters
    ----------
    block
        Rows of the maps, (batch, head, row, key).
    scores
        Queries and keys.
    first_row
        The number of the first row.
    """
    size, heads, rows, keys = block.shape
    shared = scores.key.shape[1]
    place = largest_and_place(block, -1)[1].clamp_max_(keys - 1).long()
    index = place.view(size, shared, -1, 1).expand(-1, -1, -1, scores.key.shape[-1])
    chosen = scores.key.gather(2, index).view(size, heads, rows, -1)
    asked = scores.query[:, :, first_row : first_row + rows]
    return (asked.float() * chosen.float()).sum(-1) * scores.scale


class MaxLogit(Measure):
    """The largest scaled attention score of a text, before the softmax.

    The mean is over texts; the largest of each text is kept beside it (of about 5000 texts), so
    that :func:`headscope.stats.max_logits.largest_logits` knows the largest of the corpus. Soft
    caps are not applied. A model that adds a bias to its scores (T5, ALiBi) is refused, because the
    strongest key is then not the one with the largest score. It must be asked for by name.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="max_logit")
    >>> bool(atlas.mean("max_logit").sel(layer=1, head=3) > 20)
    True
    """

    name = "max_logit"
    title = "Largest attention score before the softmax"
    unit = "logits"
    source = "Headscope"
    dims = {}
    offered = False
    in_blocks = True
    weightable = False
    keep = KEPT

    def check_model(self, model: Model, stack: str) -> None:
        """Refuse models whose queries and keys are not seen, or whose scores have a bias."""
        watched = _Watched(stack)
        ids = np.zeros((1, 3), np.int64)
        with torch.inference_mode():
            model.forward(Batch(0, (), ids, ids, ids == 0), listeners=[watched], stack=stack)
        if watched.why:
            raise ModelError(
                f"the largest score of a head of {model.name} cannot be measured: {watched.why}",
                hint="choose other measures, such as 'confidence'",
            )

    def prepare(self, batch: Batch, device: Any) -> LargestSoFar:
        """Padded rows do not count."""
        return LargestSoFar(torch.from_numpy(~batch.mask[:, None]).to(device))

    def rows(self, view: LayerView, block: Tensor, first_row: int, prepared: LargestSoFar) -> None:
        """The largest score of the rows of a block."""
        assert view.scores is not None
        padding = prepared.padding[..., first_row : first_row + block.shape[2]]
        found = top_scores(block, view.scores, first_row)
        largest = found.masked_fill(padding, -torch.inf).amax(-1)
        so_far = prepared.largest
        prepared.largest = largest if so_far is None else torch.maximum(so_far, largest)

    def end(self, view: LayerView, prepared: LargestSoFar) -> Tensor:
        """(batch, head, 1)."""
        assert prepared.largest is not None
        largest, prepared.largest = prepared.largest, None
        return largest[..., None]


class _Watched:
    """Looks at a pass for what keeps scores from being known."""

    whole_maps = False

    def __init__(self, stack: str) -> None:
        self.stack, self.why = stack, ""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Look at the mask."""
        if view.stack != self.stack:
            return
        if view.scores is None:
            self.why = "its attention code shows no queries and keys"
        elif _is_bias(view.scores.added):
            self.why = "it adds a bias to its scores"

    def end(self, view: LayerView) -> None:
        """Nothing more to see."""


def _is_bias(added: Tensor | None) -> bool:
    """Whether a mask does more than hide keys."""
    if added is None or added.dtype == torch.bool:
        return False
    return bool(((added > HIDDEN) & (added != 0)).any())
