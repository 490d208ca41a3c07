"""The model that a run trains, with the classifier that it trains it with."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import ModelError
from headscope.models import Model, ModelLike, Pooling, using_model
from headscope.runs.tune.classifier import load_classifier
from headscope.runs.tune.pooled.classifier import PooledClassifier, load_base
from headscope.runs.tune.trainer import without_bars
from headscope.tasks.task import Task


@dataclass(frozen=True)
class LoadedClassifier:
    """A model to train.

    Attributes
    ----------
    model
        The model, with its own classifier unless there is a pooled one.
    pooled
        The classifier on a layer or on heads.
    notes
        Which weights of the classifier were never trained.
    """

    model: Model
    pooled: PooledClassifier | None
    notes: list[str]

    @property
    def pooling(self) -> Pooling | None:
        """What a pooled classifier sees."""
        return self.pooled.pooling if self.pooled else None


def load_to_train(
    model: ModelLike,
    task: Task,
    pooling: Pooling | None,
    *,
    seed: int,
    random: bool,
    device: str,
    revision: str = "",
    allow_pickle: bool = False,
    trust_remote_code: bool = False,
) -> LoadedClassifier:
    """Load a model with a classifier for a task: its own or, with a pooling, a pooled one.

    The parameters are those of :func:`headscope.runs.tune.load_classifier`.
    """
    with _checkpoint_of(model) as (place, name):
        if pooling is None:
            loaded, notes = load_classifier(
                place,
                task,
                title=name,
                seed=seed,
                random=random,
                device=device,
                revision=revision,
                allow_pickle=allow_pickle,
                trust_remote_code=trust_remote_code,
            )
            return LoadedClassifier(loaded, None, notes)
        base = load_base(
            place,
            pooling,
            title=name,
            seed=seed,
            random=random,
            device=device,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
        )
    pooled = PooledClassifier(base, base.pooling, task.outputs, seed=seed)
    note = f"the classifier on {base.pooling.title} of {name} was never trained: its weights"
    return LoadedClassifier(base, pooled, [f"{note} are random"])


@contextmanager
def _checkpoint_of(model: ModelLike) -> Iterator[tuple[str, str]]:
    """Where a model can be loaded from, and its name. One in memory is written to disk first."""
    if isinstance(model, str | Path):
        yield str(model), str(model)
        return
    with using_model(model) as loaded, tempfile.TemporaryDirectory() as folder:
        _check_plain(loaded)
        with without_bars():
            loaded.network.save_pretrained(folder)
        loaded.tokenizer.save_pretrained(folder)
        yield folder, loaded.name


def _check_plain(model: Model) -> None:
    """Refuse models that would not be the same once they are saved and loaded again."""
    given = {
        "adapter": model.adapter,
        "quantization": model.quantization,
        "bos": "" if model.bos == "keep" else model.bos,
        "chat": model.chat,
    }
    for option, value in given.items():
        if value:
            raise ModelError(
                f"a model that was loaded with {option}={value!r} cannot be fine-tuned",
                hint=f"load it without {option}="
                + (", or merge the adapter into it with PEFT" if option == "adapter" else ""),
            )
