"""What commands take beside the options of Python's function: rows of tables, and drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated

from headscope.cli.tables import Following
from headscope.errors import unknown
from headscope.files import check_writable
from headscope.options import Option
from headscope.page.explorer import ExploreOptions
from headscope.runs.looking import AttentionOptions, CircuitOptions
from headscope.runs.retrieval import RetrievalOptions
from headscope.runs.survey import TrackOptions


class AttentionShown(AttentionOptions):
    """Options of ``headscope attention``.

    Parameters
    ----------
    heads
        Only these heads: 3-9 or 4-* (from 1), L2H8 (from 0). Default: the strongest link of each
        head.
    top
        Links of each head, or heads, in the table.
    output
        Draw attention as lines between words, or with patterns every map framed by its class: .png,
        .svg, .pdf or .html.
    red
        Draw this word and its attention in red.
    hide
        Do not draw attention to this word, such as [SEP].
    threshold
        Do not draw lines of at most this weight.
    """

    top: Annotated[int, Option(least=1, metavar="N", name="number of rows")] = 20
    output: Annotated[Path | None, Option(short="-o", metavar="FILE")] = None
    red: Annotated[Sequence[str], Option(metavar="WORD")] = ()
    hide: Annotated[Sequence[str], Option(metavar="WORD")] = ()
    threshold: Annotated[float, Option(metavar="WEIGHT")] = 0.02

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output is None:
            return
        from headscope.figures.save import FORMATS

        if self.output.suffix.removeprefix(".") not in FORMATS:
            known = [f".{name}" for name in FORMATS]
            raise unknown("ending of the drawing", self.output.suffix, known)
        check_writable(self.output)


class ExploreShown(ExploreOptions):
    """Options of ``headscope explore``.

    Parameters
    ----------
    results
        Results of the same model (.nc): the page then has all views of the report.
    """

    results: Annotated[Path | None, Option(metavar="FILE")] = field(default=None, kw_only=False)


class CircuitsShown(CircuitOptions):
    """Options of ``headscope circuits``.

    Parameters
    ----------
    top
        Heads, and pairs of each kind, in the tables.
    """

    top: Annotated[int, Option(least=1, metavar="N", name="number of rows")] = 5


class RetrievalShown(RetrievalOptions):
    """Options of ``headscope retrieval``.

    Parameters
    ----------
    top
        Heads in the table.
    """

    top: Annotated[int, Option(least=1, metavar="N", name="number of rows")] = 10


class TrackShown(TrackOptions, Following):
    """Options of ``headscope track``."""

    top: Annotated[int | None, Option(least=1, metavar="N", name="number of rows")] = 20
