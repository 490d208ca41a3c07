"""The tuned models of the recipe: trained once, or checked and used as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.corpus import Corpus
from headscope.models import Model, load
from headscope.papers.kovaleva2019.checkpoints import Checkpoint, found_checkpoint
from headscope.papers.kovaleva2019.places import CONFIG, TunedPlaces
from headscope.runs.tune import Start, tune
from headscope.runs.tune.record import RECORD
from headscope.runs.tune.run import CHECKPOINTS
from headscope.tasks import Task, task_examples

if TYPE_CHECKING:
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019


@dataclass
class TunedModels:
    """The models of Table 1, and the examples that they are looked at with.

    Parameters
    ----------
    recipe
        The recipe, which knows folders, data and settings.
    places
        Where the user has fine-tuned models.
    limit
        The most dev examples of each task.
    """

    recipe: Kovaleva2019
    places: TunedPlaces
    limit: int
    _known: dict[tuple[str, Start], list[Checkpoint]] = field(default_factory=dict)

    def all_dev(self, task: Task) -> Corpus:
        """All dev examples of a task."""
        return task_examples(task, str(self.recipe.options.data), "dev")

    def dev(self, task: Task) -> Corpus:
        """The dev examples that are looked at: random ones if there are more than the limit."""
        return self.recipe.options.drawn(self.all_dev(task), self.limit)

    def train(self, task: Task) -> Corpus:
        """The training examples: random ones if there are more than the training limit."""
        whole = task_examples(task, str(self.recipe.options.data), "train")
        return self.recipe.options.drawn(whole, self.recipe.options.train_limit)

    def check(self) -> None:
        """Check every model that is there already, before anything is trained."""
        for task in self.recipe.chosen_tasks:
            for start in self.recipe.chosen_starts:
                if self._own(task, start) or any(
                    _is_model(folder) for folder in self._folders(task, start).values()
                ):
                    self.checkpoints(task, start)

    def checkpoints(self, task: Task, start: Start = "pretrained") -> list[Checkpoint]:
        """The models of a task, one per seed: the user's own, or tuned from a start.

        Parameters
        ----------
        task, start
            The row and the column of Table 1.

        Returns
        -------
        list of Checkpoint
            The user's own for the start ``pretrained``, if there are any.
        """
        key = (task.name, start)
        if key not in self._known:
            self._known[key] = [
                self._found(place, task, start) for place in self._own(task, start)
            ] or [
                self._made(folder, seed, task, start)
                for seed, folder in self._folders(task, start).items()
            ]
        return self._known[key]

    def models(self, task: Task) -> dict[str, Model]:
        """The models that were tuned from the pretrained one, by seed or name."""
        return {
            tuned.label: load(tuned.place, **self.recipe.options.for_other_models)
            for tuned in self.checkpoints(task)
        }

    def _own(self, task: Task, start: Start) -> tuple[str, ...]:
        return self.places.own.get(task.name, ()) if start == "pretrained" else ()

    def _folders(self, task: Task, start: Start) -> dict[int, Path]:
        """Where the tuned models are or will be, by seed."""
        home = self.places.home or self.recipe.folder / "tuned"
        first = self.recipe.options.seed
        return {
            seed: home / (f"{task.name}-{start}" + (f"-seed{seed}" if seed else ""))
            for seed in range(first, first + self.recipe.options.seeds)
        }

    def _made(self, folder: Path, seed: int, task: Task, start: Start) -> Checkpoint:
        """A model of the folder that the user named, as it is; or one that is tuned now."""
        if self.places.home is not None and _is_model(folder):
            return self._found(str(folder), task, start)
        with self.recipe.reporter.progress(folder.name) as progress:
            done = tune(
                self.recipe.source(self.recipe.models[0]),
                task=task,
                train=self.train(task),
                dev=self.all_dev(task),
                output=folder,
                overwrite=self.recipe.options.overwrite,
                **self.recipe.options.for_training,
                progress=progress,
                start=start,
                seed=seed,
                precision=self.recipe.options.precision,
                epochs=self.recipe.options.epochs,
                learning_rate=self.recipe.options.learning_rate,
                max_length=self.recipe.options.max_length,
            )
        return Checkpoint.of(done)

    def _found(self, place: str, task: Task, start: Start) -> Checkpoint:
        return found_checkpoint(
            place,
            task,
            start,
            self.all_dev(task),
            like=self.recipe.load(self.recipe.models[0]),
            data=str(self.recipe.options.data),
            max_length=self.recipe.options.max_length,
            device=self.recipe.options.device,
        )


def _is_model(folder: Path) -> bool:
    """Whether a folder holds a finished model; one that is still being tuned has its state."""
    whole = (folder / CONFIG).is_file() and not (folder / CHECKPOINTS).is_dir()
    return whole or (folder / RECORD).is_file()
