"""One batch with many sets of heads off in turn, and the mean outputs that mean ablation puts in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.models import LayerView, Model, Replacement
from headscope.models.layer_cache import LayerCache
from headscope.runs.ablate.objective import Objective, Question, example_losses
from headscope.runs.ablate.plan import Run


class Sweep:
    """Runs a question with some heads off, then others: the layers below the first disabled head are not computed again."""

    def __init__(
        self, model: Model, objective: Objective, stack: str, way: str, means: dict[int, Tensor]
    ) -> None:
        self.cache = LayerCache(model)
        self.objective, self.stack, self.way, self.means = objective, stack, way, means

    def outputs(
        self,
        question: Question,
        runs: Sequence[Run],
        *,
        base: Run | None = None,
        tell: Callable[[int], None] | None = None,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Outputs (run, example, number) and losses (run, example). What ``base`` disables should be off in every run: it is off in the recorded pass, too."""
        outputs: list[Tensor] = []
        with torch.inference_mode(), self.objective.asking(question):
            recorded = self.objective.read(
                self.cache.record(question.batch, replacement=self._replacement(base)), question
            )
            for done, run in enumerate(runs):
                if tell:
                    tell(done)
                here = run.heads == (base.heads if base else ())
                outputs.append(
                    recorded
                    if here
                    else self.objective.read(self.cache.forward(self._replacement(run)), question)
                )
            losses = [
                example_losses(self.objective.metric, output, question.gold) for output in outputs
            ]
            return torch.stack(outputs).float().cpu().numpy(), torch.stack(
                losses
            ).float().cpu().numpy()

    def _replacement(self, run: Run | None) -> Replacement | None:
        return (
            Replacement(run.heads, way=self.way, stack=self.stack, means=self.means)
            if run is not None and run.heads
            else None
        )


def head_means(model: Model, stream: Iterable[Batch], stack: str) -> dict[int, Tensor]:
    """The mean output of every head over all real tokens of the corpus, {layer: (head, width)}: what mean ablation puts in its place."""
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
            model.forward(batch, listeners=[listen])
    return {layer: total / tokens for layer, total in sums.items()}
