"""The vectors of a batch of texts, computed here or in a worker."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.encode import Batch
from headscope.models import LayerView, Model, OutputListener, take
from headscope.models.model import ModelWork
from headscope.models.vectors import layer_states

Vectors = dict[str, NDArray[np.float32]]
"""``heads``, (layer, text, head, width), and ``layers``, (layer, text, hidden)."""


class VectorWork(ModelWork):
    """Runs a model on batches of texts. It is sent to each worker once.

    Parameters
    ----------
    model
        The model.
    position
        Where vectors are read: ``"cls"``, ``"last"`` or ``"mean"``.
    """

    def __init__(self, model: Model, position: str) -> None:
        self.model, self.position = model, position
        self.stack = model.main_stack()

    def empty(self, count: int) -> Vectors:
        """The vectors of some texts before they are computed: zeros."""
        shape = self.model.shape(self.stack)
        return {
            "heads": np.zeros((shape.layers, count, shape.heads, shape.width), np.float32),
            "layers": np.zeros((shape.layers, count, self.model.hidden_size), np.float32),
        }

    def __call__(self, batch: Batch) -> Vectors:
        """The vectors of the texts of a batch."""
        mask = torch.from_numpy(batch.mask).to(self.model.device)
        shape, vectors = self.model.shape(self.stack), self.empty(len(batch))

        def listen(view: LayerView) -> None:
            if view.stack == self.stack:
                outputs = take(view.output, mask.to(view.output.device), self.position)
                # Gemma 4 has layers with narrower heads than others: zeros fill them up.
                kept = vectors["heads"][shape.place(view.layer), ..., : outputs.shape[-1]]
                kept[:] = outputs.float().cpu().numpy()

        with torch.inference_mode():
            output = self.model.forward(
                batch,
                listeners=[OutputListener(listen)],
                stack=self.stack,
                output_hidden_states=True,
            )
        states = layer_states(output)
        for layer, number in enumerate(shape.numbers):
            state = states[number]
            values = take(state, mask.to(state.device), self.position).float().cpu().numpy()
            # The last layer of OPT-350m is narrower than the others.
            vectors["layers"][layer, :, : values.shape[1]] = values
        return vectors
