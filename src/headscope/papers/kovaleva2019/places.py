"""Where the fine-tuned models of the recipe are: a folder of them, or checkpoints of the user's.

Nothing here imports torch: what is wrong with ``--tuned`` is said before anything is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headscope.errors import UserError
from headscope.runs.tune.record import RECORD, recorded_task
from headscope.tasks import Task, find_task

CONFIG = "config.json"
"""A folder with this file is a checkpoint."""

TunedLike = str | Path | Sequence[str | Path] | Mapping[str, str | Path | Sequence[str | Path]]
"""What ``tuned`` may be: see :func:`tuned_places`."""


@dataclass(frozen=True)
class TunedPlaces:
    """Where fine-tuned models are, or will be.

    Parameters
    ----------
    home
        The folder that has or gets one folder per task, start and seed; None if none was given.
    own
        The user's own checkpoints by the name of the task: folders or hub ids.
    """

    home: Path | None = None
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def tuned_places(given: TunedLike | None, tasks: Sequence[Task]) -> TunedPlaces:
    """Read what the user gave as fine-tuned models.

    Parameters
    ----------
    given
        A folder of models (``FOLDER/TASK-START``, as ``headscope tune`` makes them), which need not
        exist yet; a checkpoint's folder; ``"TASK=MODEL"`` with a folder or a hub id; a list of
        these; or models by the name of the task. A task may have several models.
    tasks
        The tasks of the recipe.

    Returns
    -------
    TunedPlaces
        The folder of models, and the user's own checkpoints by task.

    Raises
    ------
    UserError
        The task of a model is unknown or not one of the recipe's, or there are two folders of
        models.

    Examples
    --------
    >>> rte = find_task("rte")
    >>> tuned_places(["tuned", "rte=textattack/bert-base-uncased-RTE"], [rte]).own
    {'rte': ('textattack/bert-base-uncased-RTE',)}
    """
    homes: list[Path] = []
    own: dict[str, list[str]] = {}
    for name, place in _entries(given):
        task = _named(name, tasks) if name else _task_of(Path(place), tasks)
        if task is None:
            homes.append(Path(place))
        else:
            own.setdefault(task.name, []).append(place)
    if len(homes) > 1:
        raise UserError(
            "there can be only one folder of fine-tuned models, got "
            f"{' and '.join(map(str, homes))}",
            hint='name single checkpoints with their tasks: tuned={"rte": "FOLDER"}',
            command="name single checkpoints with their tasks: --tuned rte=FOLDER",
        )
    return TunedPlaces(homes[0] if homes else None, {name: tuple(own[name]) for name in own})


def _entries(given: TunedLike | None) -> list[tuple[str, str]]:
    """Pairs of a task's name, which may be empty, and a place."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        pairs = []
        for name, places in given.items():
            several = [places] if isinstance(places, str | Path) else places
            pairs += [(name, str(place)) for place in several]
        return pairs
    several = [given] if isinstance(given, str | Path) else given
    return [_split(str(place)) for place in several]


def _split(text: str) -> tuple[str, str]:
    """``rte=FOLDER`` as a task and a place; a folder that exists may have an = in its name."""
    name, equals, place = text.partition("=")
    return (name, place) if equals and not Path(text).exists() else ("", text)


def _named(name: str, tasks: Sequence[Task]) -> Task:
    task = find_task(name)
    if task.name not in {one.name for one in tasks}:
        raise UserError(
            f"a fine-tuned model was given for {task.title}, which is not one of the tasks "
            f"({', '.join(one.title for one in tasks) or 'none'})",
            hint=f'give tasks=["{task.name}"] too',
            command=f"give --task {task.name} too",
        )
    return task


def _task_of(folder: Path, tasks: Sequence[Task]) -> Task | None:
    """The task of a checkpoint's folder; None for any other folder."""
    if not (folder / CONFIG).is_file() and not (folder / RECORD).is_file():
        return None
    recorded = recorded_task(folder)
    if recorded is not None:
        return _named(recorded.name, tasks)
    if len(tasks) == 1:
        return tasks[0]
    raise UserError(
        f"{folder} is a checkpoint, and nothing says which task it was tuned for",
        hint=f'name its task: tuned={{"rte": "{folder}"}}',
        command=f"name its task: --tuned rte={folder}",
    )
