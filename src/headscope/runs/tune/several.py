"""Several fine-tuning runs, one per seed, task or start: here or by workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from headscope.errors import Interrupted
from headscope.options import Workers
from headscope.progress import ProgressLike, as_reporter
from headscope.runs.run import AGAIN
from headscope.runs.tune.record import Tuned
from headscope.runs.workers import Task, make_engine

TuneRun = Callable[..., Tuned]
"""``functools.partial(tune, model, …)`` with everything but ``progress``."""


def tune_several(
    runs: Sequence[TuneRun],
    *,
    engine: Literal["local", "processes", "ray"] = "local",
    workers: int | None = None,
    address: str = "",
    progress: ProgressLike = False,
    finished: Callable[[Tuned], None] | None = None,
) -> list[Tuned]:
    """Do several fine-tuning runs.

    Each run keeps its own checkpoints in its own folder, so a run that was stopped, or whose worker
    died, resumes. On a cluster of several machines, all of them must reach these folders under the
    same paths.

    Parameters
    ----------
    runs
        The runs, each ``functools.partial(tune, model, output=folder, …)``.
    engine, workers, address
        Where runs are done, as in :func:`headscope.survey`: each worker does one run at a time.
        Weights are the same bit for bit, if each worker has as many threads as this process would
        have.
    progress
        True shows a progress bar; a function is called with (steps done, steps in all) for each
        run, or with (runs done, runs in all) for workers.
    finished
        Called with what each run gave, as soon as it is finished.

    Returns
    -------
    list of Tuned
        What each run gave, in the order of the runs.

    Raises
    ------
    Interrupted
        If the runs were stopped; what was done is kept.

    See Also
    --------
    tune : one run.

    Examples
    --------
    >>> from functools import partial
    >>> from tempfile import TemporaryDirectory
    >>> from headscope.corpus import Example, from_examples
    >>> from headscope.runs.tune import tune
    >>> days = [("A fine day.", "good"), ("A bad day.", "bad")] * 4
    >>> corpus = from_examples([Example(str(i), (t,), label=l) for i, (t, l) in enumerate(days)])
    >>> with TemporaryDirectory() as folder:
    ...     runs = [
    ...         partial(
    ...             tune, "demo", train=corpus, dev=corpus, start="untrained", seed=seed,
    ...             output=f"{folder}/{seed}",
    ...         )
    ...         for seed in (1, 2)
    ...     ]
    ...     [tuned.settings.seed for tuned in tune_several(runs)]
    [1, 2]
    """
    reporter = as_reporter(progress)
    chosen = make_engine(Workers(engine=engine, workers=workers, address=address))
    tell = finished or (lambda _tuned: None)
    found: dict[int, Tuned] = {}
    if chosen is None:
        for place, run in enumerate(runs):
            found[place] = run(progress=reporter)
            tell(found[place])
        return list(found.values())
    try:
        with (
            reporter.progress("fine-tuning runs") as update,
            chosen.start(_TuneWork(runs)) as pool,
        ):
            update(0, len(runs))
            for place, tuned in pool.map(Task(place, (place,)) for place in range(len(runs))):
                found[place] = tuned
                tell(tuned)
                update(len(found), len(runs))
    except KeyboardInterrupt:
        raise Interrupted(
            f"stopped after {len(found)} of {len(runs)} runs; their folders are kept, and the last "
            "checkpoints of the others",
            **AGAIN,
        ) from None
    return [found[place] for place in range(len(runs))]


class _TuneWork:
    """Runs that are sent to each worker once."""

    def __init__(self, runs: Sequence[TuneRun]) -> None:
        self.runs = list(runs)

    def __call__(self, place: int) -> Tuned:
        """Do one run."""
        return self.runs[place]()
