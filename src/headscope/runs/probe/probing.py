"""Probing: what the output of every head, every layer and the best heads together encodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from headscope.errors import UserError, wrong_type
from headscope.models.like import ModelLike, using_model
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.runs.engines import EngineName, check_engine, make_engine
from headscope.runs.probe.options import FOLDS, L2, PairMode, Position, ProbeOptions, Solver
from headscope.runs.probe.run import ProbingRun
from headscope.tasks.find import find_tasks
from headscope.tasks.probing import ProbingTask

CACHE = "headscope-vectors"

TaskLike = str | Path | ProbingTask
"""A probing task, or where tasks come from."""


def probe(
    model: ModelLike,
    tasks: TaskLike | Sequence[TaskLike],
    *,
    only: str | Sequence[str] | None = None,
    data: str | Path | None = None,
    limit: int | None = None,
    position: Position | None = None,
    pairs: PairMode = "together",
    n: int | None = None,
    counts: Sequence[int] | None = None,
    greedy: bool = True,
    max_length: int = 128,
    batch_size: int = 32,
    solver: Solver = "exact",
    l2: Sequence[float] = L2,
    folds: int = FOLDS,
    control: bool = True,
    embeddings: bool = False,
    repeats: int | None = None,
    seed: int = 0,
    device: str | None = None,
    cache: str | Path = CACHE,
    output: str | Path | None = None,
    overwrite: bool = False,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
) -> Atlas:
    """Train classifiers on every head and layer of a model, and on its best heads together.

    For each task, a logistic regression is trained on the output of every head, on the hidden
    state after every layer, and on the concatenated outputs of the best heads. The model itself is
    not changed. L2, layer and heads are chosen by validation scores; the test split only gives the
    scores.

    Parameters
    ----------
    model
        A model, a hub id, a model folder, ``"demo"``, or a network with its tokenizer.
    tasks
        One or more of: a SentEval file or a folder of them; a treebank or ``"demo"``, from which
        the ten tasks of Conneau et al. (2018) are made; the name of a GLUE task, such as
        ``"mrpc"`` (needs ``data``); a :class:`~headscope.tasks.probing.ProbingTask`.
    only
        Names of the tasks to keep, such as ``["Tense", "Depth"]``. Default: all.
    data
        Folder with the files of GLUE tasks, or ``"hub"`` to download them.
    limit
        Maximum number of examples in each split, drawn at random. Default: no limit.
    position
        Token at which vectors are read: ``"cls"``, ``"last"`` or ``"mean"`` (the mean over all
        tokens). Default: the last token of a causal model, otherwise [CLS] if there is one.
    pairs
        ``"together"`` encodes a pair of texts as one input. ``"apart"`` encodes the texts
        separately as u and v; the features are u, v, |u - v| and u · v.
    n
        Number of best heads to concatenate. Default: the number of heads in a layer.
    counts
        Numbers of heads for the curve over n. Default: up to ten between 1 and all heads, without
        those that would take too long.
    greedy
        Whether to also select heads greedily, by what each adds to those already selected.
    max_length
        Maximum number of tokens per input; longer ones are truncated.
    batch_size
        Number of texts per forward pass.
    solver
        ``"exact"`` finds the optimum of each classifier; ``"rmsprop"`` trains as the paper does.
    l2
        L2 penalties to choose from.
    folds
        Number of cross-validation folds for a task without a validation split.
    control
        Whether to also train every classifier on shuffled labels.
    embeddings
        Whether to also train a classifier on the embeddings alone: the mean over all tokens of
        what the first layer reads, whatever ``position`` is. It shows what the words give.
    repeats
        Number of random splits of all examples of a task, of the same sizes, in which heads,
        layers and top heads are probed again; 1 for none. Default: 5 for tasks with fewer than
        200 validation or test examples, none for others. Scores of the task's own split are the
        same in any case.
    seed
        Seed of everything random: tasks that are made, ``limit``, folds, shuffled labels.
    device
        Device on which classifiers are trained and a model given by name is loaded. Default: the
        device of the model; the CPU for a model given by name.
    cache
        Folder where vectors are kept for other runs.
    output
        Results file (.nc). If given, an interrupted run resumes, and a finished one is opened
        instead of computed again.
    overwrite
        As in :func:`headscope.survey`.
    engine, workers, address
        Where vectors are computed, as in :func:`headscope.survey`. Classifiers are trained in this
        process.
    progress
        True for a progress bar; or a function called with the number of steps done, and of all.

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
    headscope.stats.probing.top_table : last layer, best layer and best heads, task by task.
    headscope.stats.probing.head_table : the best heads of a task.
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
    ...     "demo", "demo", only="Tense", limit=20, n=2, counts=[2], greedy=False, control=False,
    ...     l2=[0.01], repeats=1, cache=tempfile.mkdtemp(),
    ... )
    >>> atlas["probe"]["test"].dims
    ('task', 'layer', 'head')
    >>> len(atlas.top_heads(2, task="Tense"))
    2
    """
    check_engine(engine, workers, address)
    options = ProbeOptions(
        position=position,
        pairs=pairs,
        n=n,
        counts=None if counts is None else tuple(counts),
        greedy=greedy,
        max_length=max_length,
        batch_size=batch_size,
        solver=solver,
        l2=tuple(l2),
        folds=folds,
        control=control,
        embeddings=embeddings,
        repeats=repeats,
        seed=seed,
        device=device or "cpu",
    )
    probing_tasks = _find(tasks, only=only, data=data, limit=limit, seed=seed)
    by_name = isinstance(model, str | Path)
    with using_model(model, device=device if device and by_name else "cpu") as loaded:
        if device is None:
            options = replace(options, device=str(loaded.device))
        run = ProbingRun(
            loaded,
            probing_tasks,
            options,
            cache=Path(cache).absolute(),
            output=output,
            overwrite=overwrite,
            engine=make_engine(engine, workers, address, size=loaded.size),
        )
        return run.execute(progress)


def _find(
    tasks: TaskLike | Sequence[TaskLike],
    *,
    only: str | Sequence[str] | None,
    data: str | Path | None,
    limit: int | None,
    seed: int,
) -> list[ProbingTask]:
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
    found = find_tasks(
        list(sources),
        data=None if data is None else str(data),
        only=[only] if isinstance(only, str) else only,
        limit=limit,
        seed=seed,
    )
    if not found:
        raise UserError(
            "no tasks were given", hint="give SentEval files, a treebank, a GLUE task or 'demo'"
        )
    names = [task.name for task in found]
    double = next((name for name in names if names.count(name) > 1), None)
    if double is not None:
        raise UserError(
            f"two tasks are called {double}", hint="probe them in two runs, or rename a file"
        )
    return found
