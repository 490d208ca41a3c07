"""What is known of a tuned model, kept beside its weights as headscope-tune.json."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headscope.errors import UserError
from headscope.models import Pooling
from headscope.runs.tune.settings import Settings
from headscope.tasks.task import Task

RECORD = "headscope-tune.json"


@dataclass(frozen=True)
class Tuned:
    """A model that was tuned, or only scored: where it is, how it was made, and how good it is.

    ``scores`` and ``majority`` are shares or correlations from 0 to 1; ``majority`` is the score of always answering the most frequent class of training.
    """

    folder: Path
    model: str
    task: Task
    settings: Settings
    scores: dict[str, float]
    majority: dict[str, float]
    examples: dict[str, int]
    seconds: float
    losses: list[float]
    identity: str
    versions: dict[str, str]
    notes: list[str] = field(default_factory=list)
    pooling: Pooling | None = None
    """What the classifier saw, where it was not the model's own."""
    again: bool = field(default=False, compare=False)
    """Whether the folder was already finished, and nothing was computed."""

    @property
    def minutes(self) -> float:
        """How long training and scoring took."""
        return self.seconds / 60

    def write(self) -> None:
        """Keep it in its folder, last of all: a folder with a record is a finished one."""
        about = asdict(self) | {"minutes": round(self.minutes, 2)}
        for name in ("folder", "again"):
            del about[name]
        about |= {
            key: {name: None if math.isnan(value) else value for name, value in about[key].items()}
            for key in ("scores", "majority")
        }
        (self.folder / RECORD).write_text(
            json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
            encoding="utf-8",
        )


def read_record(folder: Path) -> Tuned:
    """The record of a finished folder."""
    path = folder / RECORD
    try:
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        about.pop("minutes")
        about["pooling"] = _pooling(about.get("pooling"))
        task = about.pop("task")
        about |= {
            key: {
                name: math.nan if value is None else float(value)
                for name, value in about[key].items()
            }
            for key in ("scores", "majority")
        }
        return Tuned(
            folder=folder,
            task=Task(
                **task | {"labels": tuple(task["labels"]), "metrics": tuple(task["metrics"])}
            ),
            settings=Settings(**about.pop("settings")),
            **about,
        )
    except FileNotFoundError:
        raise UserError(
            f"{folder} has no {RECORD}: it is no folder of a finished run",
            hint="make one with headscope tune",
        ) from None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} cannot be read: {error}", hint="delete the folder and tune again"
        ) from None


def _pooling(about: dict[str, Any] | None) -> Pooling | None:
    return (
        None
        if about is None
        else Pooling(
            tuple((int(layer), int(head)) for layer, head in about["heads"]),
            about["layer"],
            about["position"],
        )
    )
