"""Probing: what the output of every head, every layer and the best heads together encodes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import xarray as xr

from headscope.errors import Interrupted, ResultsError, UserError, wrong_type
from headscope.files import digest_of
from headscope.models import Model, load
from headscope.progress import PhaseUpdate, ProgressLike, as_reporter
from headscope.results import Results
from headscope.runs.output import run_to
from headscope.runs.probe.features import model_inputs
from headscope.runs.probe.options import FOLDS, L2, PairMode, Position, ProbeOptions, Solver
from headscope.runs.probe.outputs import HeadOutputs
from headscope.runs.probe.task import TaskProbe
from headscope.runs.probe.vectors import make_head_outputs
from headscope.runs.survey import describe, versions
from headscope.tasks.find import find_tasks
from headscope.tasks.probing import SPLITS, ProbingTask, all_notes

__all__ = ["probe"]

CACHE = "headscope-vectors"
NEVER = ("too_long", "split", "nonfinite")
"""Counts of a survey that are always 0 here."""

TaskLike = str | Path | ProbingTask
"""A probing task, or where tasks come from."""


def probe(
    model: Model | str | Path,
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
    seed: int = 0,
    device: str | None = None,
    cache: str | Path = CACHE,
    output: str | Path | None = None,
    progress: ProgressLike = False,
) -> Results:
    """Train classifiers on every head and layer of a model, and on its best heads together.

    For each task, a logistic regression is trained on the output of every head, on the hidden
    state after every layer, and on the concatenated outputs of the best heads. The model itself is
    not changed. L2, layer and heads are chosen by validation scores; the test split only gives the
    scores.

    Parameters
    ----------
    model
        A model, a hub id, a model folder, or ``"demo"``.
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
    seed
        Seed of everything random: tasks that are made, ``limit``, folds, shuffled labels.
    device
        Device on which classifiers are trained. Default: the model's.
    cache
        Folder where vectors are kept for other runs.
    output
        Results file (.nc). If given, an interrupted run resumes, and a finished one is opened
        instead of computed again.
    progress
        True for a progress bar; or a function called with the number of steps done, and of all.

    Returns
    -------
    Results
        Groups ``probe`` (task, layer, head), ``probe_layer`` (task, layer) and ``probe_top``
        (task, way, n) with the test score, its 95 % interval, the validation score and the chosen
        L2 value.

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
    headscope.stats.probing.top_heads : the best heads, for sentence vectors.

    References
    ----------
    Jo and Myaeng (2020), "Roles and Utilization of Attention Heads in Transformer-based Neural
    Language Models", ACL.

    Examples
    --------
    >>> import tempfile
    >>> import headscope as hs
    >>> results = hs.probe(  # doctest: +SKIP
    ...     "demo", "demo", only=["Tense"], limit=50, control=False, cache=tempfile.mkdtemp()
    ... )
    >>> results["probe"]["test"].dims  # doctest: +SKIP
    ('task', 'layer', 'head')
    """
    probing_tasks = _find(tasks, only=only, data=data, limit=limit, seed=seed)
    loaded = model if isinstance(model, Model) else load(str(model))
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
        seed=seed,
        device=device or str(loaded.device),
    )
    path = Path(output) if output else None
    with as_reporter(progress).phases() as update:
        run = _Probing(loaded, probing_tasks, Path(cache), path, options, update)
        return run_to(path, run.state, lambda: run.identity, run.run)


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


class _Probing:
    """A run over the tasks, one after the other."""

    def __init__(
        self,
        model: Model,
        tasks: Sequence[ProbingTask],
        cache: Path,
        path: Path | None,
        options: ProbeOptions,
        update: PhaseUpdate,
    ) -> None:
        self.model, self.tasks, self.cache, self.update = model, tasks, cache, update
        self.stack = model.main_stack()
        shape = model.shape(self.stack)
        self.skip_costly = options.counts is None
        self.options = options.resolve(model.name, layers=shape.layers, heads=shape.heads)
        self.state = path.with_name(path.name + ".partial") if path else None

    def run(self) -> Results:
        done = self._resume()
        for place, task in enumerate(self.tasks):
            if task.name in done:
                continue
            try:
                done[task.name] = self._task(place, task)
            except KeyboardInterrupt:
                kept = f", which are kept in {self.state}" if self.state and done else ""
                raise Interrupted(
                    f"stopped after {len(done)} of {len(self.tasks)} tasks{kept}",
                    hint="run it again to resume",
                    command="run the same command again to resume",
                ) from None
            if self.state:
                self._results(done).save(self.state)
        return self._results(done)

    def _task(self, place: int, task: ProbingTask) -> dict[str, xr.Dataset]:
        title = f"{task.title} ({place + 1} of {len(self.tasks)})"
        update = partial(self.update, title)
        return TaskProbe(
            task, self.outputs, self.options, update, skip_costly=self.skip_costly
        ).run()

    @cached_property
    def outputs(self) -> HeadOutputs:
        """The vectors of all texts of all tasks, each once."""
        texts = dict.fromkeys(
            text
            for task in self.tasks
            for split in SPLITS
            for example in task.splits.get(split, ())
            for text in model_inputs(example.texts, self.options.pairs)
        )
        return make_head_outputs(
            self.model,
            list(texts),
            self.cache,
            position=self.options.position,
            max_length=self.options.max_length,
            batch_size=self.options.batch_size,
            progress=partial(self.update, f"vectors of {self.model.name}"),
        )

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, tasks and options: everything that changes the numbers."""
        return {
            "model": describe(self.model, self.stack),
            "tasks": {task.name: _task_digest(task) for task in self.tasks},
            "settings": asdict(self.options),
        }

    @cached_property
    def identity(self) -> str:
        """A digest of everything that changes the numbers."""
        facts = self.about | {"versions": versions(), "skip_costly": self.skip_costly}
        return digest_of(json.dumps(facts, sort_keys=True))

    def _resume(self) -> dict[str, dict[str, xr.Dataset]]:
        """The tasks that an interrupted run has finished."""
        if self.state is None or not self.state.exists():
            return {}
        fresh = f"delete {self.state} to start afresh"
        try:
            found = Results.open(self.state)
        except ResultsError as error:
            raise UserError(f"{self.state} is damaged: {error.message}", hint=fresh) from None
        if found.provenance.get("identity") != self.identity:
            raise UserError(
                f"{self.state} belongs to another run (another model, tasks, options or versions)",
                hint=f"{fresh}, or choose another output",
                command=f"{fresh}, or choose another file with -o",
            )
        # The encoding of the file would truncate the names of tasks that are longer.
        return {
            str(name): {group: found[group].sel(task=[name]).drop_encoding() for group in found}
            for name in found["probe"]["task"].values
        }

    def _results(self, done: dict[str, dict[str, xr.Dataset]]) -> Results:
        names = [task.name for task in self.tasks if task.name in done]
        groups = {
            group: xr.concat([done[name][group] for name in names], "task")
            for group in done[names[0]]
        }
        return Results.build(groups, self._provenance())

    def _provenance(self) -> dict[str, Any]:
        counts = self.outputs.counts
        return {
            **self.about,
            "corpus": {
                "name": ", ".join(task.title for task in self.tasks),
                "format": "probing tasks",
            },
            "position": self.outputs.position,
            "shards": ["1/1"],
            "identity": self.identity,
            "counts": {
                **counts,
                "seen": counts["texts"] - counts["empty"],
                **dict.fromkeys(NEVER, 0),
            },
            "notes": all_notes(self.tasks),
            "versions": versions(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }


def _task_digest(task: ProbingTask) -> str:
    """A digest of a task's labels and examples."""
    examples = (
        repr((split, example.texts, example.label))
        for split in SPLITS
        for example in task.splits.get(split, ())
    )
    return digest_of(repr(task.labels), *examples)[:16]
