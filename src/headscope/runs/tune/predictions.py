"""The outputs of a classifier for each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import Model
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.rows import TokenRows, collator


def predict(
    model: Model, rows: TokenRows, *, batch_size: int, pooled: PooledClassifier | None = None
) -> NDArray[Any]:
    """The outputs of a classifier, in the order of the rows.

    Parameters
    ----------
    model
        A model with a classifier in its own network, or without one if ``pooled`` is given.
    rows
        Encoded examples.
    batch_size
        Rows per forward pass. Long rows come first, which does not change the order of the outputs.
    pooled
        The classifier on a layer or on heads, see :func:`headscope.runs.tune.load_pooled`.

    Returns
    -------
    array
        (row, class), or (row,) if there is only one output.
    """
    network, collate = (pooled or model.network).eval(), collator(model.network, model.pad)
    order = np.argsort(rows.lengths, kind="stable")[::-1]
    outputs = np.zeros((len(rows), pooled.outputs if pooled else model.config.num_labels))
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = collate([rows[index] for index in chosen.tolist()])
            del batch["labels"]
            inputs = {key: value.to(model.device) for key, value in batch.items()}
            outputs[chosen] = network(**inputs).logits.float().cpu().numpy()
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs
