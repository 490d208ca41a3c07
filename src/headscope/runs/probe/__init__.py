"""Probing: what the output of every head, every layer and the best heads together encodes.

Here are its options and the function; nothing of it needs torch before the tasks are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from headscope.errors import UserError, wrong_type
from headscope.models.names import check_loading
from headscope.options import AnyPath, ModelRun, Option, Options, Workers, takes
from headscope.runs.preparing import opened
from headscope.tasks.probing import find_tasks
from headscope.tasks.task import ProbingTask, all_notes

if TYPE_CHECKING:
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas

# The values that the paper chooses from (Jo and Myaeng 2020, appendix A.2).
L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
Position = Literal["cls", "last", "mean"]
PairMode = Literal["together", "apart"]
Solver = Literal["exact", "rmsprop"]
TaskLike = str | Path | ProbingTask
"""A probing task, or where tasks come from."""


class Vectors(Options):
    """The vectors that classifiers read.

    Parameters
    ----------
    position
        Token at which vectors are read: cls, last or mean (the mean over all tokens). Default: the
        last token of a causal model, otherwise [CLS] if there is one, else the mean.
    pairs
        together encodes a pair of texts as one input; apart encodes the texts separately as u and
        v, with the features u, v, |u - v| and u · v.
    max_length
        Maximum number of tokens per input; longer ones are truncated.
    batch_size
        Texts per forward pass.
    """

    prefix: ClassVar[str] = "probe"
    panel: ClassVar[str] = "The vectors"

    position: Position | None = None
    pairs: Annotated[PairMode, Option(name="pairs option")] = "together"
    max_length: Annotated[int, Option(name="maximum length")] = 128
    batch_size: Annotated[int, Option(least=1)] = 32


class Probing(Vectors):
    """Everything that changes the numbers of a probing run, besides the model and the tasks.

    Parameters
    ----------
    n
        Number of best heads to concatenate. Default: the number of heads in a layer.
    counts
        Numbers of heads for the curve over n. Default: up to ten between 1 and all heads, without
        those that would take too long.
    greedy
        Also select heads greedily, by what each adds to those already selected.
    solver
        exact finds the optimum of each classifier; rmsprop trains as the paper does.
    l2
        L2 penalties to choose from; the validation score decides.
    folds
        Number of cross-validation folds for a task without a validation split.
    control
        Also train every classifier on shuffled labels.
    embeddings
        Also train a classifier on the embeddings alone: the mean over all tokens of what the first
        layer reads, whatever the position is. It shows what the words give.
    repeats
        Number of random splits of all examples of a task, of the same sizes, in which heads, layers
        and top heads are probed again; 1 for none. Default: 5 for tasks with fewer than 200
        validation or test examples, none for others. Scores of the task's own split are the same in
        any case.
    seed
        Seed of everything random: tasks that are made, sample, folds, shuffled labels.
    device
        Where the model is run and classifiers are trained: cpu, cuda, cuda:1, mps.
    """

    panel: ClassVar[str] = "The classifiers"

    n: Annotated[int | None, Option(short="-n", name="number of heads")] = None
    counts: Annotated[
        Sequence[int] | None, Option(flag="--curve", name="number of heads", metavar="N")
    ] = None
    greedy: bool = True
    solver: Solver = "exact"
    l2: Annotated[Sequence[float], Option(name="L2 penalty", metavar="X")] = L2
    folds: Annotated[int, Option(least=2, name="number of folds")] = 5
    control: bool = True
    embeddings: bool = False
    repeats: Annotated[int | None, Option(least=1, name="number of repeats")] = None
    seed: int = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.l2 or not all(0 < value < 1e6 for value in self.l2):
            raise UserError(
                "L2 values must be numbers above 0, got "
                f"{', '.join(map(str, self.l2)) or 'none'} instead",
                hint="for example 0.001 and 0.01",
            )
        object.__setattr__(self, "l2", tuple(sorted(map(float, self.l2))))

    @property
    def settings(self) -> dict[str, object]:
        """All options by name, except ``repeats``, and ``embeddings`` if they are off.

        Results that were made before these options existed have the same settings.

        Examples
        --------
        >>> "embeddings" in Probing().settings, Probing(embeddings=True).settings["folds"]
        (False, 5)
        """
        named = asdict(Probing.of(self))
        del named["repeats"]
        return {name: value for name, value in named.items() if value or name != "embeddings"}

    def resolve(self, model: str, *, layers: int, heads: int) -> Probing:
        """The same options, with ``n`` and ``counts`` filled in for a model, and checked.

        Parameters
        ----------
        model
            Name of the model, for error messages.
        layers, heads
            Number of layers, and of heads in each.

        Raises
        ------
        UserError
            If the model has fewer heads than ``n`` or one of ``counts``.

        Examples
        --------
        >>> resolved = Probing().resolve("demo", layers=6, heads=12)
        >>> resolved.n, resolved.counts
        (12, (1, 2, 4, 6, 12, 18, 24, 36, 48, 72))
        """
        total = layers * heads
        n = heads if self.n is None else self.n
        counts = self.counts if self.counts is not None else default_counts(heads, total)
        for number in (n, *counts):
            if not 1 <= number <= total:
                raise UserError(
                    f"the number of heads must be between 1 and {total}, the number of heads of "
                    f"{model}; got {number} instead",
                    hint=f"{heads} is the number of heads in a layer",
                )
        return replace(Probing.of(self), n=n, counts=tuple(sorted({*counts, n})))


def default_counts(heads: int, total: int) -> tuple[int, ...]:
    """Numbers of heads for the curve over n: up to ten, from one head to all of them.

    Examples
    --------
    >>> default_counts(4, 8)
    (1, 2, 4, 6, 8)
    """
    points = (1, 2, 4, heads // 2, heads, 3 * heads // 2, *(k * heads for k in (2, 3, 4)), total)
    return tuple(sorted({point for point in points if 1 <= point <= total}))


class ProbeOptions(Probing, ModelRun, Workers):
    """Options of :func:`probe`.

    Parameters
    ----------
    only
        Names of the tasks to keep, such as Tense and Depth. Default: all.
    data
        Folder with the files of GLUE tasks, as FOLDER/RTE/train.tsv (.gz too), or hub to download
        them.
    sample
        At most N examples of each split, drawn at random. Default: all.
    cache
        Folder where vectors are kept for other runs.
    """

    only: Annotated[Sequence[str], Option(flag="--task", metavar="NAME", completes="tasks")] = ()
    data: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    sample: Annotated[int | None, Option(least=1, metavar="N")] = None
    cache: Annotated[AnyPath, Option(rare=True, metavar="FOLDER")] = Path("headscope-vectors")


@takes(ProbeOptions)
def probe(model: ModelLike, tasks: TaskLike | Sequence[TaskLike], options: ProbeOptions) -> Atlas:
    """Train classifiers on every head and layer of a model, and on its best heads together.

    For each task, a logistic regression is trained on the output of every head, on the hidden
    state after every layer, and on the concatenated outputs of the best heads. The model itself is
    not changed. L2, layer and heads are chosen by validation scores; the test split only gives the
    scores. Vectors may be computed by workers; classifiers are trained in this process.

    Parameters
    ----------
    model
        A model, a hub id, a model folder, ``"demo"``, or a network with its tokenizer.
    tasks
        One or more of: a SentEval file or a folder of them; a treebank or ``"demo"``, from which
        the ten tasks of Conneau et al. (2018) are made; the name of a GLUE task, such as
        ``"mrpc"`` (needs ``data``); a :class:`~headscope.tasks.task.ProbingTask`.

    Returns
    -------
    Atlas
        Groups ``probe`` (task, layer, head), ``probe_layer`` (task, layer) and ``probe_top``
        (task, way, n) with the test score, its 95 % interval, the validation score and the chosen
        L2 value; with ``embeddings``, ``probe_embeddings`` (task) with the same. For
        tasks with repeated splits, ``probe_splits`` (task, layer, head) and ``probe_splits_top``
        (task, way) with means over splits.

    Raises
    ------
    UserError
        If a task cannot be found or learned, or an option is not allowed.
    Interrupted
        On Ctrl-C. Finished tasks are kept if ``output`` is given.

    See Also
    --------
    headscope.stats.tables.probing.top_table : last layer, best layer and best heads, task by task.
    headscope.stats.tables.probing.head_table : the best heads of a task.
    headscope.Atlas.top_heads : the best heads, for sentence vectors.

    References
    ----------
    Jo and Myaeng (2020), "Roles and Utilization of Attention Heads in Transformer-based Neural
    Language Models", ACL.

    Examples
    --------
    >>> import tempfile
    >>> import headscope as hs
    >>> atlas = hs.probe(
    ...     "demo", "demo", only="Tense", sample=20, n=2, counts=[2], greedy=False, control=False,
    ...     l2=[0.01], repeats=1, cache=tempfile.mkdtemp(),
    ... )
    >>> atlas["probe"]["test"].dims
    ('task', 'layer', 'head')
    >>> len(atlas.top_heads(2, task="Tense"))
    2
    """
    check_loading(model, options)
    with options.reporter.status("reading the tasks"):
        probing_tasks = _find(tasks, options)
    for note in all_notes(probing_tasks):
        options.reporter.say(note)
    with opened(model, options) as used:
        from headscope.runs.probe.run import ProbingRun

        return ProbingRun(used, probing_tasks, options).execute()


def _find(tasks: TaskLike | Sequence[TaskLike], options: ProbeOptions) -> list[ProbingTask]:
    """The tasks, of which no two may share a name."""
    sources = [tasks] if isinstance(tasks, TaskLike) or not isinstance(tasks, Iterable) else tasks
    for source in sources:
        if not isinstance(source, TaskLike):
            raise wrong_type(
                "tasks",
                source,
                "paths, names or probing tasks",
                hint='for example probe(model, ["senteval/probing"]) or probe(model, "demo")',
            )
    probing_tasks = find_tasks(
        list(sources),
        data=None if options.data is None else str(options.data),
        only=options.only or None,
        limit=options.sample,
        seed=options.seed,
    )
    if not probing_tasks:
        raise UserError(
            "no tasks were given", hint="give SentEval files, a treebank, a GLUE task or 'demo'"
        )
    names = [task.name for task in probing_tasks]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise UserError(
            f"two tasks are called {double}", hint="probe them in two runs, or rename a file"
        )
    return probing_tasks
