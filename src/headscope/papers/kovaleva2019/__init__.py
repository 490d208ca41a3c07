"""Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT": options of the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args

from headscope.corpus import Corpus, read
from headscope.options import RARE, Option, Options
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.kovaleva2019.places import TunedPlaces, tuned_places
from headscope.papers.options import PaperOptions, Sampled, Training
from headscope.tasks import Task, find_task

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.papers.kovaleva2019.places import TunedLike
else:  # what the command line takes, and what options keep
    CorpusLike = Any
    TunedLike = Sequence[Any] | Mapping[str, Any]

Start = Literal["pretrained", "random", "untrained"]


class Tuned(Training, Options):
    """Which fine-tuned models there are, or will be.

    Parameters
    ----------
    tuned
        A folder in which fine-tuned models are, or will be (FOLDER/TASK-START, as headscope tune
        makes them): models that are there are used as they are. Or a checkpoint of your own, a
        folder or hub id, with its task: rte=FOLDER; in Python also a mapping of tasks to these. A
        task may have several. Default: tuned/ in the output folder.
    starts
        The columns of Table 1. Default: all.
    seeds
        How many models are tuned for each task and start, with the seeds seed, seed + 1 ….
    train_limit
        Train on at most N examples of each task, drawn at random.
    precision
        Of training: float32, or mixed precision: bf16, fp16 (GPU only).
    """

    panel: ClassVar[str] = "Fine-tuning"

    tuned: Annotated[TunedLike | None, Option(metavar="FOLDER|TASK=MODEL")] = None
    starts: Annotated[Sequence[Start], Option(flag="--start", name="start")] = get_args(Start)
    seeds: Annotated[int, Option(least=1, name="number of seeds", metavar="N")] = 1
    train_limit: Annotated[int | None, Option(least=1, name="training limit", metavar="N")] = None
    precision: Literal["float32", "bf16", "fp16"] = "float32"


class Kovaleva2019Options(PaperOptions, Tuned, Sampled):
    """Options of :class:`headscope.papers.Kovaleva2019`.

    Parameters
    ----------
    tasks
        GLUE tasks: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli; in Python also a Task.
        Without one, only the parts patterns and frames can run.
    limit
        Use at most N dev examples of each task (1000 at most, as in the paper); neither the
        sentences with frame links nor training are limited.
    frames
        Sentences with frame links: JSON lines, framenet for nltk's, or demo.
    way
        How a head is disabled.
    parser
        The spaCy pipeline that finds linguistic features. Default: the small English one.
    scale
        Whether all maps of a figure of changes have one colour scale, or each its own.
    """

    paper: ClassVar[Paper] = PAPERS["kovaleva2019"]
    prefix: ClassVar[str] = "read"

    tasks: Annotated[
        Sequence[str | Task], Option(flag="--task", metavar="NAME", completes="tasks")
    ] = ()
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    frames: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    way: Annotated[Literal["uniform", "zero", "mean"], Option(name="way of disabling heads")] = (
        "uniform"
    )
    parser: Annotated[str, RARE] = ""
    scale: Annotated[Literal["one", "each"], Option(name="colour scale")] = "one"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_training(self, trains=bool(self.tasks))
        _ = self.links, self.places

    @property
    def given(self) -> frozenset[str]:
        """Whether there are tasks."""
        return frozenset({"tasks"} if self.tasks else ())

    @cached_property
    def chosen_tasks(self) -> tuple[Task, ...]:
        """The tasks, each once."""
        tasks = (find_task(task) if isinstance(task, str) else task for task in self.tasks)
        return tuple(dict.fromkeys(tasks))

    @property
    def chosen_starts(self) -> tuple[Start, ...]:
        """The starts, in the order of Table 1."""
        return tuple(start for start in get_args(Start) if start in self.starts)

    @cached_property
    def links(self) -> Corpus:
        """The sentences with frame links, read."""
        return read(self.frames)

    @cached_property
    def places(self) -> TunedPlaces:
        """Where fine-tuned models are, or will be."""
        return tuned_places(self.tuned, self.chosen_tasks)
