"""Fine-tuning: models trained on a task with labels, from pretrained or random weights.

Kovaleva et al. 2019 (§3, Table 1) train a classifier on top of a model; Jo and Myaeng 2020 (§5.2)
train one on a layer or on chosen heads. Here are the options, the functions, and the record that is
kept beside the weights; nothing of it needs torch before the examples are read.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.errors import UserError, cut
from headscope.files import check_writable, sealed, unsealed, write_text
from headscope.models.names import check_model_name
from headscope.models.pooling import Pooling
from headscope.options import PYTHON, AnyPath, Engines, Option, Options, Saving, Source, takes
from headscope.tasks import Task, find_task
from headscope.tasks.glue import TaskData, training_data

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models.loading import ModelLike
    from headscope.runs.tune.classifier import CheckpointScores as CheckpointScores
    from headscope.runs.tune.classifier import PooledClassifier as PooledClassifier
    from headscope.runs.tune.classifier import load_classifier as load_classifier
    from headscope.runs.tune.classifier import load_pooled as load_pooled
    from headscope.runs.tune.classifier import score_checkpoint as score_checkpoint
    from headscope.runs.tune.classifier import task_for as task_for
    from headscope.runs.tune.rows import predict as predict
else:
    import lazy_loader

    CorpusLike = Any  # checked where it is read
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "classifier": [
                "CheckpointScores",
                "PooledClassifier",
                "load_classifier",
                "load_pooled",
                "score_checkpoint",
                "task_for",
            ],
            "rows": ["predict"],
        },
    )

Start = Literal["pretrained", "random", "untrained"]
Precision = Literal["float32", "bf16", "fp16"]
STARTS: tuple[Start, ...] = ("pretrained", "random", "untrained")
DEVICES = ("cpu", "cuda", "mps")
RATE, POOLED_RATE = 5e-5, 2e-5
"""The learning rates of Devlin et al. 2019, and of Jo and Myaeng 2020, A.4."""
FEW = 4
"""A folder's name lists up to this many heads."""
MOST_SEED = 2**32 - 1


class Training(Options):
    """How a model is trained. The defaults are those of Kovaleva et al. 2019 (§3) and of Devlin et
    al. 2019, whom they follow.

    Parameters
    ----------
    epochs
        Passes over the training examples.
    learning_rate
        The highest learning rate, after warm-up. Default: 5e-05; 2e-05 with pooling.
    warmup
        The share of steps in which the learning rate rises. It falls to 0 over the others.
    precision
        float32, or mixed precision: bf16, fp16 (GPU only).
    batch_size
        Examples per step.
    max_length
        Tokens per example; longer ones are truncated, the longer text of a pair first.
    limit
        Use only the first N examples, so many for training and so many for scoring.
    """

    prefix: ClassVar[str] = "tune"
    panel: ClassVar[str] = "Training"

    epochs: Annotated[int, Option(least=1, name="number of epochs")] = 3
    learning_rate: float | None = None
    warmup: Annotated[float, Option(name="warm-up", rare=True)] = 0.1
    precision: Precision = "float32"
    batch_size: Annotated[int, Option(least=1)] = 32
    max_length: Annotated[int, Option(name="maximum length")] = 128
    limit: Annotated[int | None, Option(least=1, metavar="N")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate is None:
            pooled = getattr(self, "pooling", None) is not None  # options of runs have it
            object.__setattr__(self, "learning_rate", POOLED_RATE if pooled else RATE)
        rules = (
            (0 < (self.learning_rate or 0) < 1, "learning rate must be between 0 and 1"),
            (0 <= self.warmup < 1, "warm-up must be a share from 0 to below 1"),
        )
        for (allowed, rule), value in zip(rules, (self.learning_rate, self.warmup), strict=True):
            if not allowed:
                raise UserError(f"the {rule}, got {value} instead")


class TuneSettings(Training):
    """Everything that changes the numbers of a fine-tuning run, besides model and data.

    Parameters
    ----------
    start
        pretrained trains the model's own weights with a new classifier; random draws all weights
        from normal(0, 0.02) first; untrained only scores a new classifier on the model's own
        weights.
    seed
        The seed of new weights, order and dropout.

    Examples
    --------
    >>> TuneSettings(epochs=0)
    Traceback (most recent call last):
    headscope.errors.UserError: the number of epochs must be 1 or more, got 0 instead
    """

    start: Start = "pretrained"
    seed: Annotated[int, Option(least=0, most=MOST_SEED)] = 0


class Classifying(Training, Source, Saving):
    """What a classifier is trained on, and where it sits.

    Parameters
    ----------
    data
        The files of GLUE tasks: a folder with FOLDER/RTE/train.tsv (.gz too), or hub to download
        them.
    train
        Instead of data: your own labelled table (TSV or JSON lines) with a text, an optional second
        text and a label; in Python anything that is read as a corpus.
    dev
        With train: a table with the same columns to score on.
    pooling
        Train a classifier on the last layer (last), a layer (layer:4) or heads (heads:3-9,4-1),
        counted from 1 (Jo and Myaeng 2020, §5.2). Default: the architecture's own classifier.
    position
        With pooling: the token whose vector it sees, or the mean over all. Default: the last token
        of a causal model, else the first one if the tokenizer puts one there for it, else the mean.
    overwrite
        Train again what is finished, and replace what another run left there. What this very run
        left unfinished is resumed.
    """

    prefix: ClassVar[str] = "tune"
    into_folder: ClassVar[bool] = True

    data: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    train: Annotated[CorpusLike | None, Option(metavar="FILE")] = None
    dev: Annotated[CorpusLike | None, Option(metavar="FILE")] = None
    pooling: Annotated[str | Pooling | None, Option(metavar="last|layer:4|heads:3-9,4-1")] = None
    position: Literal["", "cls", "last", "mean"] = ""
    overwrite: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.sees
        if find_spec("accelerate") is None:
            raise UserError(
                "fine-tuning needs the library accelerate, which is not installed",
                hint="pip install 'headscope[tune]'",
            )
        if self.device not in DEVICES:
            raise UserError(
                f"the device for fine-tuning must be one of {', '.join(DEVICES)}; "
                f"got {self.device!r} instead",
                hint="choose one of several GPUs with CUDA_VISIBLE_DEVICES=1 and the device cuda",
            )
        if self.precision == "fp16" and self.device == "cpu":
            raise UserError(
                "fp16 needs a GPU: on a CPU half-precision training is bf16",
                hint="choose the precision bf16 or float32",
            )

    @property
    def sees(self) -> Pooling | None:
        """What the classifier is trained on, unless it is the architecture's own."""
        return find_pooling(self.pooling, self.position)

    def read(self, task: str | Task | None) -> TaskData:
        """The examples of a task, no more than ``limit`` of each split; their labels are checked.

        Parameters
        ----------
        task
            Without one, the classes are the labels of ``train``.
        """
        data = training_data(task, data=self.data, train=self.train, dev=self.dev)
        return TaskData(data.task, data.train.first(self.limit), data.dev.first(self.limit))


class TuneOptions(TuneSettings, Classifying):
    """Options of :func:`tune`.

    Parameters
    ----------
    task
        A GLUE task by name (mrpc, sts-b, sst-2, qqp, rte, qnli, mnli), or a task of your own.
        Default: the classes are the labels of train.
    output
        The folder that gets the tuned model.
    resume
        False starts again, and removes what an earlier run left in the output.
    every
        Seconds between two checkpoints.
    """

    task: str | Task | None = None
    output: AnyPath = field()
    resume: Annotated[bool, PYTHON] = True
    every: Annotated[float, PYTHON] = 120.0


@takes(TuneOptions)
def tune(model: ModelLike, options: TuneOptions) -> Tuned:
    """Fine-tune a model on a task, score it, and save it as an ordinary checkpoint.

    An interrupted run resumes from its last checkpoint and reaches the same weights. A finished
    one is read from ``output``, not trained again.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`headscope.Model`, or a network with its tokenizer.
        What is already loaded is copied and stays unchanged.

    Returns
    -------
    Tuned
        The folder, the scores and how they were made.

    Raises
    ------
    UserError
        If the settings, the data or the output folder cannot be used.
    Interrupted
        If the run was stopped; what was done is kept.

    See Also
    --------
    tune_several : several tasks, starts and seeds.
    load_classifier : loads the tuned model with its classifier.
    load_pooled : the same for a model that was tuned with ``pooling``.
    headscope.ablate : the score with each head disabled.

    References
    ----------
    Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", §3 and Table 1.
    Jo and Myaeng 2020, "Roles and Utilization of Attention Heads in Transformer-based Neural
    Language Models", §5.2 and Table 4.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from headscope.corpus import Example, from_examples
    >>> days = [("A fine day.", "good"), ("A bad day.", "bad")] * 4
    >>> rows = [Example(str(n), (text,), label=label) for n, (text, label) in enumerate(days)]
    >>> table = from_examples(rows, name="days")
    >>> with TemporaryDirectory() as folder:
    ...     tuned = tune("demo", train=table, dev=table, output=folder, start="untrained")
    >>> tuned.task.labels, tuned.examples
    (('bad', 'good'), {'train': 8, 'dev': 8})
    """
    data = options.read(options.task)
    from headscope.runs.tune.run import tune_on

    return tune_on(model, data, options)


class SeveralOptions(Classifying, Engines):
    """Options of :func:`tune_several`.

    Parameters
    ----------
    task
        mrpc, sts-b, sst-2, qqp, rte, qnli or mnli; in Python also tasks of your own. Default: the
        classes are the labels of train.
    start
        pretrained, random (weights drawn from a normal distribution), untrained (scored without
        training) or all. Default: pretrained.
    seed
        The seed of new weights, order and dropout; of several, tables show medians. Default: 0.
    output
        Models are saved as FOLDER/TASK-START, or FOLDER/TASK-POOLING.
    """

    prefix: ClassVar[str] = "tune"

    task: Annotated[Sequence[str | Task], Option(metavar="NAME", completes="glue")] = ()
    start: Sequence[Literal["pretrained", "random", "untrained", "all"]] = ("pretrained",)
    seed: Annotated[Sequence[int], Option(least=0, most=MOST_SEED, metavar="N")] = (0,)
    output: Annotated[AnyPath, Option(short="-o", metavar="FOLDER")] = Path("tuned")

    @property
    def plan(self) -> list[tuple[Start, int]]:
        """The start and the seed of every run of a task."""
        starts = [name for name in STARTS if {name, "all"} & {*self.start}]
        return [(start, seed) for seed in self.seed for start in starts]

    def read_all(self) -> list[TaskData]:
        """The tasks and their examples, all read and checked before anything is trained."""
        named = [find_task(name) if isinstance(name, str) else name for name in self.task]
        tasks: list[Task | None] = [*{task.name: task for task in named}.values()]
        if len(tasks) > 1 and not (self.train is None and self.dev is None):
            raise UserError(
                f"train= and dev= are one task's tables, got {len(tasks)} tasks",
                hint="give one task, or data= with the files of all tasks",
            )
        return [self.read(task) for task in tasks or [None]]

    def single(self, task: Task, start: Start, seed: int) -> TuneOptions:
        """The options of one run."""
        how = self.subset(Classifying) | {"task": task, "start": start, "seed": seed}
        folder = Path(self.output, folder_name(task.name, start, self.sees, seed))
        return TuneOptions(**how | {"output": folder})


@takes(SeveralOptions)
def tune_several(model: ModelLike, options: SeveralOptions) -> list[Tuned]:
    """Fine-tune a model on several tasks, from several starts or with several seeds.

    Each run keeps its own checkpoints in its own folder, so a run that was stopped, or whose worker
    died, resumes. Each worker does one run at a time; on a cluster of several machines, all of them
    must reach these folders under the same paths.

    Parameters
    ----------
    model
        As in :func:`tune`.

    Returns
    -------
    list of Tuned
        What each run gave: task by task, for each seed all starts.

    Raises
    ------
    UserError
        If the settings or the data cannot be used.
    Interrupted
        If the runs were stopped; what was done is kept.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from headscope.corpus import Example, from_examples
    >>> days = [("A fine day.", "good"), ("A bad day.", "bad")] * 4
    >>> corpus = from_examples([Example(str(i), (t,), label=l) for i, (t, l) in enumerate(days)])
    >>> with TemporaryDirectory() as folder:
    ...     several = tune_several(
    ...         "demo", train=corpus, dev=corpus, start="untrained", seed=[1, 2], output=folder
    ...     )
    ...     [tuned.folder.name for tuned in several]
    ['custom-untrained-seed1', 'custom-untrained-seed2']
    """
    if isinstance(model, str | Path):
        check_model_name(model)
    tasks = options.read_all()
    check_writable(Path(options.output, "headscope-tune.json"))
    with options.reporter.status("loading libraries"):
        from headscope.runs.tune.run import tune_all

    plan = [(data, start, seed) for data in tasks for start, seed in options.plan]
    runs = [(data, options.single(data.task, start, seed)) for data, start, seed in plan]
    return tune_all(model, runs, options)


# --- what a classifier sees ---


def parse_pooling(text: str | Pooling, position: str = "") -> Pooling:
    """Read a pooling.

    Parameters
    ----------
    text
        ``"last"`` (the last layer), ``"layer:4"`` (a layer, counted from 1), ``"heads:3-9,4-1"``
        (heads, as in :func:`headscope.heads.parse_heads`), or a pooling, returned unchanged.
    position
        ``"cls"``, ``"last"`` or ``"mean"``; the one that fits the model if empty.

    Raises
    ------
    UserError
        If the text is none of these.

    Examples
    --------
    >>> parse_pooling("heads:3-9, 4-1").title, parse_pooling("layer:4").title
    ('heads 3-9, 4-1', 'layer 4')
    """
    if isinstance(text, Pooling):
        if position and text.position and position != text.position:
            raise UserError(
                f"the pooling is at position {text.position!r}, and position is {position!r}",
                hint="give the position once",
            )
        return text.with_position(text.position or position)
    plain = text.replace(" ", "")
    kind, _, what = plain.partition(":")
    if plain == "last":
        return Pooling(position=position)
    if kind == "layer" and re.fullmatch(r"[0-9]+", what):
        return Pooling(layer=int(what), position=position)
    if kind == "heads" and what:
        return Pooling(heads=what, position=position)
    raise UserError(
        f"a pooling must be last, layer:N or heads:LAYER-HEAD,…; got {text!r} instead",
        hint="give e.g. pooling='last', pooling='layer:4' or pooling='heads:3-9,4-1', from 1",
    )


def find_pooling(pooling: str | Pooling | None, position: str = "") -> Pooling | None:
    """The pooling that was asked for, or None. A position without a pooling is an error."""
    if pooling is not None:
        return parse_pooling(pooling, position)
    if position:
        raise UserError(
            f"the position {position!r} needs a pooling",
            hint=f"give e.g. pooling='last' and position={position!r}",
        )
    return None


def pooling_slug(pooling: Pooling) -> str:
    """A folder name for a pooling. Many heads are replaced by their number and a digest.

    Examples
    --------
    >>> [pooling_slug(parse_pooling(text)) for text in ("last", "layer:4", "heads:3-9,4-1")]
    ['last', 'layer4', 'heads-3-9_4-1']
    >>> pooling_slug(parse_pooling("last", "mean")), pooling_slug(parse_pooling("heads:4-*"))
    ('last-mean', 'heads-4-all')
    """
    heads = pooling.names
    if len(heads) > FEW:
        name = f"{len(heads)}-heads-{hashlib.sha256(','.join(heads).encode()).hexdigest()[:6]}"
    elif heads:
        name = f"heads-{'_'.join(heads)}".replace("*", "all")
    else:
        name = "last" if pooling.layer is None else f"layer{pooling.layer}"
    return name + (f"-{pooling.position}" if pooling.position else "")


def folder_name(task: str, start: str, pooling: Pooling | None, seed: int) -> str:
    """The folder of a run among those of several.

    >>> folder_name("rte", "random", None, 2), folder_name("rte", "pretrained", Pooling(), 0)
    ('rte-random-seed2', 'rte-last')
    """
    if pooling is None:
        name = f"{task}-{start}"
    else:
        name = f"{task}-{pooling_slug(pooling)}" + ("" if start == "pretrained" else f"-{start}")
    return name + (f"-seed{seed}" if seed else "")


# --- the record of a tuned model ---

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
        task, settings = about.pop("task"), TuneSettings(**about.pop("settings"))
        lists = {name: tuple(task[name]) for name in ("labels", "metrics")}
        return Tuned(folder=Path(folder), task=Task(**task | lists), settings=settings, **about)
    except DAMAGED as error:
        raise UserError(
            f"{path} cannot be read: {cut(str(error), 300)}",
            hint="delete the folder and tune again",
        ) from None


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
    return read_record(folder).task if (Path(folder) / RECORD).is_file() else None
