"""What a recipe works with: a folder for what it makes, a voice, and surveys that are not done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from headscope.corpus import Corpus
from headscope.errors import Interrupted, UserError
from headscope.figures import find_figure, save_chart
from headscope.models import Model
from headscope.page import Document, Plot, Section, write_document
from headscope.results import Results
from headscope.runs import survey


class Voice(Protocol):
    """Who tells the user what is going on."""

    def say(self, text: str) -> None:
        """A line."""

    def progress(self, what: str) -> AbstractContextManager[Callable[[int, int], None] | None]:
        """A progress bar."""


@dataclass(frozen=True)
class Options:
    """The options that all recipes share."""

    limit: int | None = None
    seed: int = 0
    batch_size: int = 16
    max_length: int = 128
    device: str = "cpu"


@dataclass
class Workshop:
    """A folder where a recipe's surveys, figures and page are put. A survey that is there already is opened, an interrupted one goes on."""

    folder: Path
    voice: Voice
    options: Options
    made: list[Path] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a run that all recipes share."""
        return {
            "seed": self.options.seed,
            "batch_size": self.options.batch_size,
            "max_length": self.options.max_length,
            "limit": self.options.limit,
        }

    def survey(
        self, name: str, model: Model, corpus: Corpus, measures: list[str] | None, **settings: Any
    ) -> Results:
        """A survey, kept as NAME.nc."""
        chosen = self.settings | settings
        path = self.folder / f"{name}.nc"
        self.made.append(path)
        with self.voice.progress(name) as progress:
            return survey(
                model, corpus, measures=measures, output=path, progress=progress, **chosen
            )

    def sections(self, parts: Sequence[Callable[[], Section]]) -> tuple[list[Section], list[str]]:
        """The sections of a page, one after the other. A part that cannot be run says why, and the others go on: the second list is of what they said."""
        made: list[Section] = []
        notes: list[str] = []
        for part in parts:
            try:
                made.append(part())
            except Interrupted:
                raise
            except UserError as error:
                self.voice.say(f"left out: {error.message}")
                notes.append(error.message)
        return made, notes

    def page(self, name: str, document: Document) -> Path:
        """The document as a page, and each of its plots as PNG and SVG beside it."""
        for section in document.sections:
            for plot in section.plots:
                self._draw(plot)
        return write_document(document, self.folder / f"{name}.html")

    def _draw(self, plot: Plot) -> None:
        for ending in ("png", "svg"):
            save_chart(plot.chart, self.folder / "figures" / f"{plot.name}.{ending}")


def plots_of(results: Results, *names: str) -> list[Plot]:
    """Some figures of the gallery."""
    figures = [find_figure(name, results) for name in names]
    return [Plot(item.name, item.title, item.caption, item.draw(results)) for item in figures]


@contextmanager
def phases(voice: Voice) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar for each part of a longer job, one after the other: called with the part, and how much of how much of it."""
    with ExitStack() as stack:
        bars: dict[str, Callable[[int, int], None] | None] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                stack.close()
                bars.clear()
                bars[what] = stack.enter_context(voice.progress(what))
            if (bar := bars[what]) is not None:
                bar(done, total)

        yield tell
