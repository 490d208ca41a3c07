"""Disabling heads: what it does to a task's score or a language model's loss.

Kovaleva et al. 2019 (§4.6) disable each head and each layer; Michel et al. 2019 prune heads by
gradient importance or greedily. Here are the options and the functions; nothing of it needs torch
before the examples are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from headscope.corpus import Corpus, read
from headscope.corpus.grammar import GRAMMAR
from headscope.errors import UserError, unknown
from headscope.heads import WINDOW, HeadsLike, split_heads
from headscope.models.names import check_loading
from headscope.options import (
    PYTHON,
    RARE,
    AnyPath,
    ModelRun,
    Option,
    Options,
    Pass,
    Saving,
    Workers,
    takes,
)
from headscope.runs.preparing import opened
from headscope.runs.tune import recorded_task
from headscope.tasks import Task, custom_task, find_task, label_ids, task_examples
from headscope.tasks.glue import is_made, labelled

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
    from headscope.models.loading import ModelLike
    from headscope.results import Atlas
    from headscope.runs.ablate.objectives import CustomObjective as CustomObjective
    from headscope.runs.ablate.objectives import LanguageModelObjective as LanguageModelObjective
    from headscope.runs.ablate.objectives import Objective as Objective
    from headscope.runs.ablate.objectives import OutputFunction
    from headscope.runs.ablate.objectives import TaskObjective as TaskObjective

    ObjectiveLike = Objective | OutputFunction
else:
    import lazy_loader

    CorpusLike = ObjectiveLike = Any  # checked where they are read
    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "objectives": [
                "CustomObjective",
                "LanguageModelObjective",
                "Objective",
                "TaskObjective",
            ]
        },
    )

Way = Literal["uniform", "zero", "mean", "window"]
"""How heads are disabled."""


class Judging(Options):
    """What a model is judged by.

    Parameters
    ----------
    task
        The task of a classifier: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli; opinion or paraphrase,
        which need no data; in Python also a Task of your own. Default: the one that a folder made
        by tune was tuned for.
    data
        The task's files: a folder in GLUE's layout (FOLDER/MRPC/dev.tsv, .gz too), or hub to
        download them.
    dev
        Your own labelled table to score on: a file (TSV or JSON lines) with a text, an optional
        second text and a label; in Python anything that is read as a corpus.
    train
        With dev and without a task: the table whose labels are the classes. Default: those of dev.
    corpus
        Without a task: texts for a language model's loss or for an objective. Default: the built-in
        corpus, demo.
    objective
        What the model is judged by: an Objective, or a function of the model's output and the batch
        that returns one number per example.
    metric
        Another metric than the task's main one: accuracy, spearman; for a function mean (more is
        better, the default) or loss (less is better).
    long
        What to do with longer examples: truncate or drop.
    """

    prefix: ClassVar[str] = "ablate"
    panel: ClassVar[str] = "What the model is judged by"

    task: Annotated[str | Task | None, Option(metavar="NAME", completes="glue")] = None
    data: Annotated[AnyPath | None, Option(metavar="FOLDER")] = None
    dev: Annotated[CorpusLike | None, Option(metavar="FILE")] = None
    train: Annotated[CorpusLike | None, Option(metavar="FILE", rare=True)] = None
    corpus: Annotated[CorpusLike | None, Option(metavar="FILE", completes="corpora")] = None
    objective: Annotated[ObjectiveLike | None, PYTHON] = None
    metric: Annotated[str, Option(metavar="NAME")] = ""
    long: Annotated[
        Literal["truncate", "drop"], Option(name="treatment of long examples", rare=True)
    ] = "truncate"

    def __post_init__(self) -> None:
        if str(self.long) == "split":
            raise UserError(
                "long examples cannot be split here: each example has one answer",
                hint="give long='truncate' or long='drop'",
            )
        super().__post_init__()

    def read(self, model: object) -> tuple[Task | None, Corpus]:
        """The task of a classifier, or None, and the examples.

        Parameters
        ----------
        model
            The model. If it is a folder made by :func:`headscope.tune`, and no task is given, the
            task is the one in its record.

        Raises
        ------
        UserError
            If the options do not fit together, or say too little.
        CorpusError
            If a file is missing, or a label is not one of the task's.
        """
        others = self._given("corpus", "objective")
        task = find_task(self.task) if isinstance(self.task, str) else self.task
        if not others and not self._given("task", "train") and isinstance(model, str | Path):
            task = recorded_task(model)
            if task and not is_made(task) and not self._given("data", "dev"):
                raise UserError(
                    f"{model} was tuned for {task.title}; its examples are needed to judge it",
                    hint="give data='glue' (the folder of the task's files), or dev='dev.tsv'",
                )
        labels = [*(["task"] if task else []), *self._given("data", "train", "dev")]
        if labels and others:
            raise UserError(
                "a model is judged by a task, by a corpus or by an objective, got "
                f"{' and '.join([*labels, *others])}",
                hint="give task= and data=, or dev=, or corpus=",
            )
        if labels:
            task, examples = self._labelled(task, labels)
            if self.metric and self.metric not in task.metrics:
                raise unknown(f"metric of {task.title}", self.metric, task.metrics)
            return task, examples
        if self.objective is None and self.metric not in {"", "loss"}:
            raise UserError(
                f"the metric {self.metric} needs a task",
                hint="give task= and data=, or leave metric= out",
            )
        return None, read("demo" if self.corpus is None else self.corpus)

    def _labelled(self, task: Task | None, labels: list[str]) -> tuple[Task, Corpus]:
        if task and (labels == ["task", "data"] or (labels == ["task"] and is_made(task))):
            return task, task_examples(task, str(self.data or GRAMMAR), "dev")
        if self.dev is not None and self.data is None:
            table = labelled(self.dev)
            task = task or custom_task(table if self.train is None else labelled(self.train))
            label_ids(task, table)
            return task, table
        raise UserError(
            "a classifier is judged by a task with its data, or by the labelled table dev; got "
            f"{' and '.join(labels)}",
            hint="give e.g. task='mrpc' and data='glue', or dev='dev.tsv'",
        )

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]


class Scoring(Options):
    """How scores are compared.

    Parameters
    ----------
    correction
        The correction of p-values over all heads (layers, sets).
    resamples
        Bootstrap resamples. Default: 10,000, or 100 per head if that is more.
    confidence
        The confidence of the intervals, between 0 and 1.
    """

    prefix: ClassVar[str] = "ablate"

    correction: Annotated[Literal["holm", "bh", "none"], RARE] = "holm"
    resamples: Annotated[
        int | None, Option(least=1, rare=True, name="number of resamples", metavar="N")
    ] = None
    confidence: Annotated[float, RARE] = 0.95

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.confidence < 1:
            raise UserError(
                f"the confidence must be between 0 and 1, got {self.confidence:g} instead"
            )


class Window(Options):
    """What is left to a head whose cache is cut.

    Parameters
    ----------
    first
        How many of the first tokens it still sees.
    recent
        How many of the most recent tokens it still sees, the present one among them.
    """

    prefix: ClassVar[str] = "window"
    panel: ClassVar[str] = "The window of a cut head"

    first: Annotated[int, Option(least=0, rare=True, name="number of first tokens")] = WINDOW[0]
    recent: Annotated[int, Option(least=1, rare=True, name="number of recent tokens")] = WINDOW[1]

    @property
    def window(self) -> tuple[int, int]:
        """Both numbers."""
        return self.first, self.recent

    @property
    def window_title(self) -> str:
        """Both numbers in words."""
        return f"cut to the first {self.first} and the last {self.recent} tokens"


class AblateOptions(Judging, Scoring, Window, ModelRun, Pass, Workers):
    """Options of :func:`ablate`.

    Parameters
    ----------
    heads
        Disable each head in turn.
    kv
        Instead of single heads, disable together those that share keys and values, as sets.
    layers
        Disable each layer in turn.
    sets
        Also disable these heads together; 4-* is a whole layer.
    way
        What is put in place of a disabled head: uniform (it attends equally to every token that it
        may see), zero (its output is 0) or mean (its mean output over all tokens). With window it
        still attends, but only to the first and the most recent tokens, as with a cut cache.
    importance
        Also compute gradient importance, and how far it agrees with disabling heads.
    prune
        Also compute a pruning curve: the score with fewer and fewer heads.
    prune_candidates
        How many heads the greedy order of the pruning curve tries at each step.
    prune_budget
        After how many trials the greedy order ends. Default: when one head is left.
    prune_points
        In how many steps the pruning curve goes from all heads to none.
    seed
        The seed of the bootstrap, the masked pieces, the random pruning order, and of weights that
        a checkpoint lacks.
    """

    prefix: ClassVar[str] = "ablate"
    panel: ClassVar[str] = "What is disabled"

    heads: bool = True
    kv: bool = False
    layers: bool = True
    sets: Annotated[Sequence[HeadsLike], Option(flag="--set", metavar="3-9,4-1")] = ()
    way: Annotated[Way, Option(name="way to disable a head")] = "uniform"
    importance: bool = False
    prune: bool = False
    prune_candidates: Annotated[
        int, Option(least=1, rare=True, name="number of candidates", metavar="N")
    ] = 3
    prune_budget: Annotated[
        int | None, Option(least=0, rare=True, name="budget of trials", metavar="N")
    ] = None
    prune_points: Annotated[
        int, Option(least=2, rare=True, name="number of points", metavar="N")
    ] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.way != "window" and self.changed(Window):
            raise UserError(
                f"first and recent tokens are those of a window; the way is {self.way}",
                hint="give way='window'",
            )
        if self.way == "window" and sum(self.window) >= self.max_length:
            raise UserError(
                f"texts of at most {self.max_length} tokens fit into a window of {self.first} + "
                f"{self.recent}, so that nothing is cut",
                hint=f"give max_length={4 * sum(self.window)}, or a smaller recent=",
            )
        for heads in self.sets:  # what is not a head is an error before a model is loaded
            split_heads(heads)

    @property
    def way_title(self) -> str:
        """The way, as results call it: a window with its sizes."""
        return self.window_title if self.way == "window" else self.way


@takes(AblateOptions)
def ablate(model: ModelLike, options: AblateOptions) -> Atlas:
    """Disable each head, each layer or sets of heads, and score the model without them.

    The model is judged in one of four ways:

    - ``task`` and ``data``: a classifier, by a GLUE task's dev examples;
    - ``dev`` (and ``task`` or ``train``): a classifier, by a labelled table of your own;
    - ``corpus``: a masked or causal language model, by its loss;
    - ``corpus`` and ``objective``: any model, by any function of its output.

    A paired bootstrap over documents (examples that belong to none are drawn one by one) gives the
    interval and the p-value of each difference from the model with all heads.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`headscope.Model`, or a network with its tokenizer.
        A name is loaded with a classifier for the task, or with its language-model head.

    Returns
    -------
    Atlas
        ``head_off``, ``layer_off`` and ``set_off`` hold the score without each head, layer and set,
        its difference from the baseline with interval and p-values; ``ablation`` the outputs for
        every example; and, if asked for, ``importance``, ``importance_agreement`` and ``pruning``.

    Raises
    ------
    UserError
        If the arguments do not fit together, or do not fit the model.
    Interrupted
        If the run was stopped.

    See Also
    --------
    headscope.stats.tables.ablation.change_table : heads by what disabling them does.
    headscope.tune : makes the classifiers.

    References
    ----------
    Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", §4.6.
    Michel et al. 2019, "Are Sixteen Heads Really Better than One?", §4.

    Examples
    --------
    >>> def length(output, batch):
    ...     return output.last_hidden_state[:, 0].norm(dim=-1)
    >>> atlas = ablate(
    ...     "demo", corpus=["The dog barks.", "A cat sleeps."], objective=length,
    ...     heads=False, layers=False, sets=["1-3,2-*"], resamples=100,
    ... )
    >>> atlas["set_off"]["set"].values[0].split(",")[:3]
    ['1-3', '2-1', '2-2']
    """
    check_loading(model, options)
    task, corpus = options.read(model)
    with options.reporter.status("loading libraries"):
        from headscope.runs.ablate.run import AblationRun, judged
    with judged(model, task, options) as (used, objective):
        for note in used.notes:
            options.reporter.say(f"warning: {note}")
        return AblationRun(used, corpus, objective, options).execute()


class Doubling(Options):
    """What the passages are, and which heads are disabled.

    Parameters
    ----------
    passages
        How many passages.
    length
        Tokens of a passage: the beginning of each text.
    draws
        How often other heads are drawn for every group.
    way
        How heads are disabled: zero (their output is 0) or uniform attention.
    seed
        The seed of the draws.
    """

    passages: Annotated[int, Option(least=2, name="number of passages")] = 16
    length: Annotated[int, Option(least=4, name="length of passages")] = 48
    draws: Annotated[int, Option(least=1, name="number of draws")] = 10
    way: Annotated[Literal["zero", "uniform"], Option(name="way to disable heads")] = "zero"
    seed: int = 0


class GroupOptions(Doubling, ModelRun, Saving):
    """Options of :func:`group_losses`."""


@takes(GroupOptions)
def group_losses(
    model: ModelLike, corpus: CorpusLike, groups: Mapping[str, HeadsLike], options: GroupOptions
) -> Atlas:
    """Disable groups of heads, and see what a language model loses on new and on repeated text.

    Each passage is given to the model twice, one copy after the other. The loss on the first copy
    is that on any text; on the second copy it is low, because the model has read the passage. For
    every group as many other heads are drawn from the same layers, several times.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer. It must be a causal language model.
    corpus
        Passages; see :func:`headscope.read`. The first ones that are long enough are used.
    groups
        Heads by the name of their group: ``{"induction": "18-4,18-5"}``.

    Returns
    -------
    Atlas
        With the group ``group_loss``; see :func:`headscope.stats.group_table`.

    Raises
    ------
    UserError
        If a group is empty, has heads that the model does not have, or leaves no others to draw.
    ModelError
        If the model is no causal language model, or takes too short texts.

    Examples
    --------
    >>> import headscope as hs
    >>> groups = {"induction": "18-4,18-5,19-7"}
    >>> atlas = hs.group_losses("demo-llm", "demo", groups)  # doctest: +SKIP
    """
    check_loading(model, options)
    texts = read(corpus)
    with opened(model, options, head="lm") as used:
        from headscope.runs.ablate.groups import GroupRun

        return GroupRun(used, texts, groups, options).execute()
