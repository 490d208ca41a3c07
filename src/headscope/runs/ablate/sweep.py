"""One batch with many sets of heads disabled in turn, and the mean outputs of heads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.models import LayerView, Model, OutputListener, Replacement
from headscope.models.layer_cache import LayerCache
from headscope.runs.ablate.objectives import Objective, Question, example_losses
from headscope.runs.ablate.plan import NOTHING, Disabled

Means = Mapping[int, Tensor]
"""The mean output of every head, {layer from 0: (head, width)}."""


class Sweep:
    """Runs a batch with some heads disabled, then with others.

    The layers below the first disabled head are not computed again: their outputs are recorded in
    one full pass.

    Parameters
    ----------
    model, objective
        The model, and what it is judged by.
    stack
        The stack whose heads are disabled.
    way
        How: uniform, zero or mean.
    """

    def __init__(self, model: Model, objective: Objective, stack: str, way: str) -> None:
        self.cache = LayerCache(model)
        self.objective, self.stack, self.way = objective, stack, way

    def outputs(
        self,
        question: Question,
        passes: Sequence[Disabled],
        *,
        base: Disabled = NOTHING,
        means: Means | None = None,
        update: Callable[[int], None] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The outputs and losses of each pass.

        Parameters
        ----------
        question
            A batch that the objective made.
        passes
            What is disabled in each pass.
        base
            What the recorded pass disables. All passes should disable at least this.
        means
            For the way mean: the mean output of every head.
        update
            Called with the number of passes done.

        Returns
        -------
        outputs : array
            (pass, example, number).
        losses : array
            (pass, example).
        """
        outputs: list[Tensor] = []
        read = self.objective.read
        with torch.inference_mode(), self.objective.asking(question):
            full = self.cache.record(question.batch, replacement=self._replacement(base, means))
            recorded = read(full, question)
            for done, off in enumerate(passes):
                if update:
                    update(done)
                if off.heads == base.heads:
                    outputs.append(recorded)
                else:
                    outputs.append(
                        read(self.cache.forward(self._replacement(off, means)), question)
                    )
            metric, gold = self.objective.metric, question.gold
            losses = [example_losses(metric, output, gold) for output in outputs]
            return _array(outputs), _array(losses)

    def _replacement(self, off: Disabled, means: Means | None) -> Replacement | None:
        if not off.heads:
            return None
        return Replacement(off.heads, way=self.way, stack=self.stack, means=means)


def _array(tensors: list[Tensor]) -> NDArray[np.float32]:
    return np.asarray(torch.stack(tensors).float().cpu().numpy())


def head_means(model: Model, stream: Iterable[Batch], stack: str) -> dict[int, Tensor]:
    """The mean output of every head over all real tokens: what the way mean puts in its place.

    Parameters
    ----------
    model
        The model.
    stream
        Batches of examples.
    stack
        The stack whose heads are meant.

    Returns
    -------
    dict
        {layer from 0: (head, width)}.
    """
    sums: dict[int, Tensor] = {}
    tokens = 0
    for batch in stream:
        mask = torch.from_numpy(batch.mask).to(model.device)
        tokens += int(mask.sum())

        def listen(view: LayerView, mask: Tensor = mask) -> None:
            if view.stack == stack:
                found = view.output[mask].double().sum(0)
                sums[view.layer] = sums[view.layer] + found if view.layer in sums else found

        with torch.inference_mode():
            model.forward(batch, listeners=[OutputListener(listen)])
    return {layer: total / tokens for layer, total in sums.items()}
