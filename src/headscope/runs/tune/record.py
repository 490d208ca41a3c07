"""The record of a tuned model, kept beside its weights as ``headscope-tune.json``."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headscope.errors import UserError
from headscope.files import write_text
from headscope.models import Pooling
from headscope.runs.tune.recorded import RECORD, task_of, unreadable
from headscope.runs.tune.settings import Start, TuneSettings
from headscope.seals import sealed, unsealed
from headscope.tasks.task import Task

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
    try:
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
    except FileNotFoundError:
        raise UserError(
            f"{folder} has no {RECORD}: it is not the folder of a finished run",
            hint="make one with headscope.tune",
            command="make one with headscope tune",
        ) from None
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,
        ArithmeticError,
    ) as error:
        raise unreadable(path, error) from None
