"""The record of a tuned model, kept beside its weights as ``headscope-tune.json``.

Nothing here imports torch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headscope.errors import UserError, cut
from headscope.files import sealed, unsealed, write_text
from headscope.models.pooling import Pooling
from headscope.runs.tune import Start, TuneSettings
from headscope.tasks.task import Task

RECORD = "headscope-tune.json"
"""The name of the record, beside the weights."""
DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, ArithmeticError)
"""What reading a damaged record may raise."""
SCORES = ("scores", "majority")


@dataclass(frozen=True)
class Tuned:
    """A model that was tuned or scored: where it is, how it was made, and how good it is.

    Attributes
    ----------
    folder
        The checkpoint, which every function that takes a model reads.
    model
        The name of the model that training started from.
    task
        The task, its classes in the order of the classifier's outputs.
    settings
        The settings of the run.
    scores
        The task's metrics on the dev examples: shares or correlations from 0 to 1.
    majority
        The same metrics for always answering the most frequent class of the training examples.
    examples
        The number of examples, ``train`` and ``dev``.
    seconds
        The time that training and scoring took.
    losses
        The mean training loss of each epoch.
    identity
        A digest of everything that changes the numbers.
    versions
        The versions of the libraries that numbers depend on.
    notes
        What a reader of the scores should know.
    pooling
        What the classifier saw, unless it is the model's own.
    about
        All of it, so that another run can be told what differs.
    again
        Whether the folder was already finished, and nothing was computed.
    """

    folder: Path
    model: str
    task: Task
    settings: TuneSettings
    scores: dict[str, float]
    majority: dict[str, float]
    examples: dict[str, int]
    seconds: float
    losses: list[float]
    identity: str
    versions: dict[str, str]
    notes: list[str] = field(default_factory=list)
    pooling: Pooling | None = None
    about: dict[str, Any] = field(default_factory=dict, compare=False)
    again: bool = field(default=False, compare=False)

    @property
    def start(self) -> Start:
        """The weights that training started from."""
        return self.settings.start

    @property
    def minutes(self) -> float:
        """How long training and scoring took."""
        return self.seconds / 60

    def write(self) -> None:
        """Write the record to the folder, last of all: a folder with a record is finished."""
        about = asdict(self) | {
            "minutes": round(self.minutes, 2),
            "pooling": None if self.pooling is None else self.pooling.as_dict(),
        }
        for name in ("folder", "again"):
            del about[name]
        for key in SCORES:
            about[key] = {
                name: None if math.isnan(value) else value for name, value in about[key].items()
            }
        text = json.dumps(sealed(about), indent=2, ensure_ascii=False, allow_nan=False)
        write_text(self.folder / RECORD, text + "\n")


def read_record(folder: str | Path) -> Tuned:
    """Read the record of a finished folder.

    Parameters
    ----------
    folder
        A folder that :func:`headscope.runs.tune.tune` made.

    Raises
    ------
    UserError
        If the folder has no record, or one that cannot be read.
    """
    path = Path(folder) / RECORD
    if not path.exists():
        raise UserError(
            f"{folder} has no {RECORD}: it is not the folder of a finished run",
            hint="make one with headscope.tune",
            command="make one with headscope tune",
        )
    with _reading(path):
        about: dict[str, Any] = unsealed(json.loads(path.read_text(encoding="utf-8")))
        about.pop("minutes")
        if about.get("pooling") is not None:
            about["pooling"] = Pooling.from_dict(about["pooling"])
        for key in SCORES:
            about[key] = {
                name: math.nan if value is None else float(value)
                for name, value in about[key].items()
            }
        about["task"] = task_of(about)
        settings = TuneSettings(**about.pop("settings"))
        return Tuned(folder=Path(folder), settings=settings, **about)


def task_of(record: Mapping[str, Any]) -> Task:
    """The task that a record names.

    Examples
    --------
    >>> rte = {"name": "rte", "title": "RTE", "kind": "classification"}
    >>> task_of({"task": rte | {"labels": ["yes", "no"], "metrics": ["accuracy"]}}).labels
    ('yes', 'no')
    """
    task = record["task"]
    lists = {"labels": tuple(task["labels"]), "metrics": tuple(task["metrics"])}
    return Task(**{**task, **lists})


def recorded_task(folder: str | Path) -> Task | None:
    """The task that a model was tuned for, its classes in the order of the classifier's outputs.

    Parameters
    ----------
    folder
        A hub id or a folder.

    Returns
    -------
    Task or None
        None if there is no record there: the model was not tuned by Headscope.

    Raises
    ------
    UserError
        If there is a record that cannot be read.

    Examples
    --------
    >>> recorded_task("bert-base-uncased") is None
    True
    """
    path = Path(folder) / RECORD
    if not path.is_file():
        return None
    with _reading(path):
        return task_of(unsealed(json.loads(path.read_text(encoding="utf-8"))))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever is wrong with a record is one error."""
    try:
        yield
    except DAMAGED as error:
        raise UserError(
            f"{path} cannot be read: {cut(str(error), 300)}",
            hint="delete the folder and tune again",
        ) from None
