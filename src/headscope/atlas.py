"""The atlas: results as a user holds them, with everything that can be made of them at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from headscope.errors import UserError
from headscope.results import Results, export
from headscope.results import merge as merge_results

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from headscope.corpus import Corpus
    from headscope.models import Model
    from headscope.tasks.probing import ProbingTask


class Atlas(Results):
    """What a survey found of every head. Besides reading, saving and exporting: the report."""

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        from headscope.page import write_report

        return write_report(self, Path(path))

    def roles(
        self,
        *,
        tau: float | str | Mapping[str, float | str] = 3,
        test: str = "z",
        correction: str = "none",
        alpha: float = 0.05,
        seed: int = 0,
    ) -> xr.Dataset:
        """Which heads have which role: mean sieve bias, interval, effect, p and ``has`` for every layer, head and role (Pande et al. 2021)."""
        from headscope.stats import role_tests

        return role_tests(self, tau=tau, test=test, correction=correction, alpha=alpha, seed=seed)

    def export(self, path: str | Path, *, measure: str | None = None) -> Path:
        """Write a long table as ``.csv`` or ``.parquet``."""
        return export(self, Path(path), measure=measure)


def survey(model: Model, corpus: Corpus, **options: Any) -> Atlas:
    """Every measure that fits, one pass. Options as in :func:`headscope.runs.survey`: measures, max_length, long, batch_size, limit, seed, stack, shard, checkpoint, progress."""
    from headscope.runs import survey as run

    return Atlas(run(model, corpus, **options).tree)


def probe(
    model: Model,
    tasks: Sequence[str | ProbingTask],
    *,
    cache: str | Path = "headscope-vectors",
    data: str | None = None,
    **options: Any,
) -> Atlas:
    """Train classifiers on every head and layer (:func:`headscope.runs.probe.probe.probe`)."""
    from headscope.runs.probe.probe import probe as run

    return Atlas(run(model, tasks, cache=cache, data=data, **options).tree)


@overload
def compare(first: Results, second: Results) -> pd.DataFrame: ...


@overload
def compare(first: Model, second: Model, corpus: Corpus, **options: Any) -> Atlas: ...


def compare(
    first: Model | Results, second: Model | Results, corpus: Corpus | None = None, **options: Any
) -> Atlas | pd.DataFrame:
    """Two models over one corpus: the cosine of their maps, head by head, and paired differences of ``measures`` (options as in :func:`headscope.runs.compare`).

    Two results: a table of the differences of their means, second less first.
    """
    if isinstance(first, Results) and isinstance(second, Results):
        from headscope.stats import difference_table

        return difference_table(first, second)
    if isinstance(first, Results) or isinstance(second, Results):
        raise UserError(
            "a model and results cannot be compared: give two models or two results",
            hint="survey the model, then compare the two results",
        )
    if corpus is None:
        raise UserError(
            "comparing two models needs a corpus to run them on",
            hint='give one, e.g. hs.compare(first, second, hs.corpus.read("demo"))',
        )
    from headscope.runs import compare as run

    return Atlas(run(first, second, corpus, **options).tree)


def open(path: str | Path) -> Atlas:
    """Open a results file; needs no torch."""
    return Atlas.open(path)


def merge(parts: Sequence[Results], *, partial: bool = False) -> Atlas:
    """Add the shards of one run."""
    return Atlas(merge_results(parts, partial=partial).tree)
