"""What a classifier says of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import Model
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.rows import Rows, collator


def predict(
    model: Model, rows: Rows, *, batch_size: int, pooled: PooledClassifier | None = None
) -> NDArray[Any]:
    """The outputs (rows, classes), or (rows,) where there is only one, in the order of the rows, computed longest first.

    ``pooled`` is the classifier of a model that has none in its own network.
    """
    network, collate = (pooled or model.network).eval(), collator(model.network, model.pad)
    order = np.argsort(rows.lengths, kind="stable")[::-1]
    outputs = np.zeros((len(rows), pooled.outputs if pooled else model.config.num_labels))
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = collate([rows[index] for index in chosen.tolist()])
            del batch["labels"]
            outputs[chosen] = (
                network(**{key: value.to(model.device) for key, value in batch.items()})
                .logits.float()
                .cpu()
                .numpy()
            )
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs
