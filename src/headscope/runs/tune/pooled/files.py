"""The files of a pooled classifier, beside the ordinary checkpoint of its base network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from headscope.errors import ModelError
from headscope.models import Model, load
from headscope.models.pooling import MODULES, POOLING, write_modules
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.record import read_record
from headscope.seals import Damaged, read_tensors, write_tensors

CLASSIFIER = "headscope-classifier.safetensors"
LAYERS = ("dense", "classifier")


def save_pooled(pooled: PooledClassifier, folder: Path) -> None:
    """Write the pooling and the weights of the classifier's own layers.

    The base network is saved separately, as an ordinary checkpoint.
    """
    pooled.pooling.write(folder)
    write_modules(folder)
    own = {
        name: value.detach().cpu().numpy()
        for name, value in pooled.state_dict().items()
        if name.partition(".")[0] in LAYERS
    }
    write_tensors(folder / CLASSIFIER, own, {"format": "pt"})


def load_pooled(
    folder: str | Path,
    *,
    device: str = "cpu",
    dtype: Any = "float32",
    trust_remote_code: bool = False,
) -> tuple[Model, PooledClassifier]:
    """Load a model that was tuned with a pooling, and its classifier.

    Parameters
    ----------
    folder
        A folder that :func:`headscope.runs.tune.tune` made with ``pooling``.
    device, dtype, trust_remote_code
        As in :func:`headscope.load`.

    Returns
    -------
    model : Model
    classifier : PooledClassifier
        Its outputs are the classes of ``read_record(folder).task``.

    Raises
    ------
    ModelError
        If the folder has no such classifier, or one that does not fit the model.
    """
    path = Path(folder) / CLASSIFIER
    if not path.is_file():
        raise ModelError(
            f"{folder} has no classifier on a layer or on heads: no {CLASSIFIER}",
            hint="make one with tune(..., pooling=...), or use load_classifier",
            command="make one with headscope tune --pooling",
        )
    task = read_record(Path(folder)).task
    model = load(folder, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
    pooled = PooledClassifier(model, model.pooling, task.outputs, seed=0)
    try:
        own = {name: torch.from_numpy(value) for name, value in read_tensors(path).items()}
        for name in LAYERS:
            prefix = f"{name}."
            weights = {
                key.removeprefix(prefix): value
                for key, value in own.items()
                if key.startswith(prefix)
            }
            pooled.get_submodule(name).load_state_dict(weights)
    except (SafetensorError, RuntimeError, Damaged) as error:
        raise ModelError(
            f"{path} does not fit the model: {str(error).splitlines()[0]}",
            hint="delete the folder and tune again",
        ) from None
    return model, pooled.eval()


def remove_pooled(folder: Path) -> None:
    """Delete what :func:`save_pooled` wrote, before a run without a pooling takes the folder."""
    for name in (POOLING, MODULES, CLASSIFIER):
        (folder / name).unlink(missing_ok=True)
