"""Jo and Myaeng 2020, "Roles and Utilization of Attention Heads": options of the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.options import AnyPath, Option
from headscope.papers.catalogue import PAPERS, Paper, Part
from headscope.papers.options import PaperOptions, Training
from headscope.runs.probe import Position, Solver
from headscope.tasks import Task, find_task
from headscope.tasks.task import ProbingTask

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
else:  # checked where it is loaded
    ModelLike = Any


class Jo2020Options(PaperOptions, Training):
    """Options of :class:`headscope.papers.Jo2020`.

    Parameters
    ----------
    model
        A hub id, a model folder, a .gguf file or an embedded model; in Python also a loaded model
        or a network with its tokenizer.
    tasks
        Where probing tasks come from: SentEval files, a folder of them, or a treebank; in Python
        also tasks. Default: the ten tasks, made from the built-in corpus.
    only
        Only this probing task, such as Tense or past_present.
    limit
        At most N examples of each split of a probing task, drawn at random; fine-tuning uses all.
    downstream
        A GLUE task such as mrpc, sts-b or sst-2; in Python also a Task.
    seeds
        How many models to fine-tune from each of the last layer, the best layer and the top heads;
        0 skips fine-tuning.
    tuned
        Where tuned models are, or will be. Finished ones are reused. Default: tuned/ in the output
        folder.
    position
        Token at which vectors are read: cls, last or mean. Default: last for causal models,
        otherwise cls if there is one, else mean.
    top
        How many of the best heads to combine. Default: as many as a layer has.
    solver
        exact finds the optimum; rmsprop trains as the paper does.
    cache
        Where vectors are kept. Default: vectors/ in the output folder.
    controls
        Control tasks with selectivity, description lengths, the embeddings alone, random weights,
        random heads beside the top heads, and repeated splits of small tasks (slow).
    published
        The numbers that the authors released: their repository, a folder with its results, or a
        tar archive of one. Figures 3, 5, 6 and 7 are drawn from them, with ours beside them.
    colours
        Colour ranges of maps: own, shared (one for all maps of a task) or majority (one for all
        maps of a task, from the majority class up).
    """

    paper: ClassVar[Paper] = PAPERS["jo2020"]

    model: Annotated[  # several here
        ModelLike | Sequence[ModelLike],
        Option(metavar="MODEL", completes="models"),
    ] = field(default=("demo",), kw_only=False)  # type: ignore[assignment]
    tasks: Annotated[Sequence[str | Path | ProbingTask], Option(metavar="SOURCE")] = ("demo",)
    only: Annotated[Sequence[str], Option(flag="--task", metavar="NAME", completes="tasks")] = ()
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None
    downstream: Annotated[Sequence[str | Task], Option(metavar="NAME", completes="tasks")] = ()
    seeds: Annotated[int, Option(least=0, name="number of seeds", metavar="N")] = 5
    tuned: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    learning_rate: float = 2e-5
    position: Position | None = None
    top: Annotated[int | None, Option(short="-n", least=1, name="number of heads")] = None
    solver: Solver = "exact"
    cache: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    controls: bool = False
    published: Annotated[AnyPath | None, Option(metavar="PATH")] = None
    colours: Annotated[Literal["own", "shared", "majority"], Option(name="colour range")] = "own"
    batch_size: Annotated[int, Option(least=1)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_training(self, trains=bool(self.downstream and self.seeds))
        _ = self.downstream_tasks

    @property
    def given(self) -> frozenset[str]:
        """Whether there are downstream tasks, controls and published numbers."""
        there = {
            "downstream": bool(self.downstream),
            "controls": self.controls,
            "published": self.published is not None,
        }
        return frozenset(name for name, given in there.items() if given)

    @cached_property
    def chosen(self) -> tuple[Part, ...]:
        """The parts to run; extras that nobody asked for are not among them."""
        parts = self.paper.choose(self.parts, given=self.given)
        extras = set() if self.parts else {"published", "controls"} - self.given
        return tuple(part for part in parts if part.name not in extras)

    @cached_property
    def downstream_tasks(self) -> tuple[Task, ...]:
        """The downstream tasks, each once."""
        tasks = (find_task(task) if isinstance(task, str) else task for task in self.downstream)
        return tuple(dict.fromkeys(tasks))
