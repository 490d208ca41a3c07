"""The atlas: results as a user holds them, with everything that can be made of them at hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.results import Results, export
from headscope.results import merge as merge_results

if TYPE_CHECKING:
    from headscope.corpus import Corpus
    from headscope.observe import Model


class Atlas(Results):
    """What a survey found of every head. Besides reading, saving and exporting: the report."""

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        from headscope.report import write_report

        return write_report(self, Path(path))

    def export(self, path: str | Path, *, measure: str | None = None) -> Path:
        """Write a long table as ``.csv`` or ``.parquet``."""
        return export(self, Path(path), measure=measure)


def survey(model: Model, corpus: Corpus, **options: Any) -> Atlas:
    """Every measure that fits, one pass. Options as in :func:`headscope.engine.survey`: measures, max_length, long, batch_size, limit, seed, stack, shard, checkpoint, progress."""
    from headscope.engine import survey as run

    return Atlas(run(model, corpus, **options).tree)


def open(path: str | Path) -> Atlas:
    """Open a results file; needs no torch."""
    return Atlas.open(path)


def merge(parts: Sequence[Results], *, partial: bool = False) -> Atlas:
    """Add the shards of one run."""
    return Atlas(merge_results(parts, partial=partial).tree)
