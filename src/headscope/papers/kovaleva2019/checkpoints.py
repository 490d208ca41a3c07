"""The fine-tuned models of the recipe: trained here, found in a folder, or the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headscope.corpus import Corpus
from headscope.errors import CorpusError
from headscope.models import Model
from headscope.papers.sections import counted, short_name
from headscope.runs.tune import Start, Tuned, TuneSettings, read_record, score_checkpoint
from headscope.runs.tune.classifier import check_checkpoint
from headscope.runs.tune.record import RECORD
from headscope.tasks import Task, label_ids, task_examples
from headscope.tasks.metrics import majority


@dataclass(frozen=True)
class Checkpoint:
    """A fine-tuned model of the recipe.

    Parameters
    ----------
    task
        What it was tuned for.
    start
        The weights that training started from.
    place
        The folder or hub id.
    scores
        The task's metrics on the dev examples.
    majority
        The same metrics for always answering the most frequent class of the training examples.
    examples
        The number of examples, ``train`` and ``dev``; ``train`` is missing where nothing says it.
    minutes
        How long training took; NaN where nothing says it.
    settings
        How it was trained; None where nothing says it.
    notes
        What a reader of the scores should know.
    """

    task: Task
    start: Start
    place: str
    scores: Mapping[str, float]
    majority: Mapping[str, float]
    examples: Mapping[str, int]
    minutes: float = float("nan")
    settings: TuneSettings | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, tuned: Tuned) -> Checkpoint:
        """A model that Headscope tuned."""
        return cls(
            tuned.task,
            tuned.start,
            str(tuned.folder),
            tuned.scores,
            tuned.majority,
            tuned.examples,
            tuned.minutes,
            tuned.settings,
            tuple(f"{tuned.task.title}: {note}" for note in tuned.notes),
        )

    @property
    def label(self) -> str:
        """What tells it from other models of its task: the seed, or the name."""
        return short_name(self.place) if self.settings is None else f"seed {self.settings.seed}"

    @property
    def training(self) -> str:
        """How it was trained, in words."""
        if self.settings is None:
            return f"{short_name(self.place)}: fine-tuned elsewhere"
        number = self.examples.get("train")
        of = "" if number is None else f" over {counted(number, 'example')}"
        return (
            f"batches of {self.settings.batch_size}, {counted(self.settings.epochs, 'epoch')}{of}, "
            f"learning rate {self.settings.learning_rate:g}"
        )


def found_checkpoint(
    place: str,
    task: Task,
    start: Start,
    dev: Corpus,
    *,
    like: Model,
    data: str,
    max_length: int,
    device: str,
) -> Checkpoint:
    """Check a model that was not tuned by this run, and learn its scores.

    With a record of Headscope's, scores and settings are taken from it; without one, the model is
    scored on the dev examples. Either way the same check decides whether it can be used.

    Parameters
    ----------
    place
        A folder or a hub id.
    task, start
        What it was tuned for, and from what.
    dev
        All dev examples of the task.
    like
        The pretrained model: heads and tokens must be the same.
    data
        Where the task's files are, for the most frequent class of the training examples.
    max_length, device
        How it is run.

    Raises
    ------
    UserError
        The model has no classifier for the task, or cannot be compared with ``like``.
    """
    if (Path(place) / RECORD).is_file():
        check_checkpoint(place, task, dev, like=like, device=device)
        return Checkpoint.of(read_record(place))
    scored = score_checkpoint(place, task, dev, like=like, max_length=max_length, device=device)
    notes = (f"{short_name(place)} has no record of how it was trained", *scored.notes)
    return Checkpoint(
        task,
        start,
        place,
        scored.scores,
        _most_frequent(task, data, dev),
        {"dev": scored.examples},
        notes=notes,
    )


def _most_frequent(task: Task, data: str, dev: Corpus) -> dict[str, float]:
    """Scores of always giving the most frequent answer of the training examples, if there are any.

    A checkpoint that was tuned elsewhere can be looked at without them.
    """
    try:
        train = list(task_examples(task, data, "train"))
    except CorpusError:
        return dict.fromkeys(task.metrics, float("nan"))
    return majority(task, label_ids(task, train), label_ids(task, list(dev)))
