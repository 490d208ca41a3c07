"""A pooled classifier in its folder, beside the ordinary checkpoint of its base network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from headscope.errors import ModelError
from headscope.models import Model, load
from headscope.models.pooling import MODULES, POOLING, write_modules
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.record import read_record

CLASSIFIER = "headscope-classifier.safetensors"
LAYERS = ("dense", "classifier")


def save_pooled(pooled: PooledClassifier, folder: Path) -> None:
    """What the classifier sees and the weights of its own layers; the base network is saved as any other."""
    pooled.pooling.write(folder)
    write_modules(folder)
    own = {
        name: value.contiguous()
        for name, value in pooled.state_dict().items()
        if name.partition(".")[0] in LAYERS
    }
    save_file(own, folder / CLASSIFIER, metadata={"format": "pt"})


def load_pooled(folder: str | Path, **options: Any) -> tuple[Model, PooledClassifier]:
    """A model that was tuned with a pooling, and its classifier, whose outputs are the classes of ``read_record(folder).task``. ``options`` are those of :func:`headscope.load`."""
    path = Path(folder) / CLASSIFIER
    if not path.is_file():
        raise ModelError(
            f"{folder} has no classifier on a layer or on heads: no {CLASSIFIER}",
            hint="make one with headscope tune --pooling, or use load_classifier",
        )
    task, model = read_record(Path(folder)).task, load(folder, **options)
    pooled = PooledClassifier(model, model.pooling, task.outputs, seed=0)
    try:
        own = load_file(path)
        for name in LAYERS:
            pooled.get_submodule(name).load_state_dict(
                {
                    key.partition(".")[2]: value
                    for key, value in own.items()
                    if key.partition(".")[0] == name
                }
            )
    except (SafetensorError, RuntimeError) as error:
        raise ModelError(
            f"{path} does not fit the model: {str(error).splitlines()[0]}",
            hint="delete the folder and tune again",
        ) from None
    return model, pooled.eval()


def forget_pooled(folder: Path) -> None:
    """Delete what :func:`save_pooled` wrote: a run without a pooling that takes the folder's place must not be read with one."""
    for name in (POOLING, MODULES, CLASSIFIER):
        (folder / name).unlink(missing_ok=True)
