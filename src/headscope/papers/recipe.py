"""The base of all recipes: parts that run one by one, files that are made once, and a page."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from headscope.corpus import Corpus
from headscope.errors import AnotherRunError, Interrupted, UserError
from headscope.figures.save import save_in_formats
from headscope.files import check_writable, locked, slug
from headscope.measures import Measure
from headscope.models import Model, ModelLike
from headscope.page import Document, Plot, Section, Table, write_document
from headscope.papers.catalogue import Paper, Part
from headscope.papers.claims import PAPER_SAYS, Finding, claims_section, verdict
from headscope.papers.models import GivenModels
from headscope.papers.options import PaperOptions, RecipeOptions
from headscope.papers.report import PaperReport
from headscope.papers.sections import run_rows, short_name, with_suffix
from headscope.results import Atlas
from headscope.results.netcdf import without_folders
from headscope.runs.survey import survey

Step = Callable[[], Section]
"""Makes one section."""


class Recipe(ABC):
    """What the recipes of all papers share. Use one of its subclasses.

    Parameters
    ----------
    model
        The model, or a list of models where a recipe takes several.
    options
        The options of the recipe: see :class:`headscope.papers.options.RecipeOptions`.
    """

    options: RecipeOptions
    head: ClassVar[Literal["lm"] | None] = None
    """The head that models are loaded with, where every part needs it."""
    claims_title: ClassVar[str] = "The paper's claims"
    claims_column: ClassVar[str] = PAPER_SAYS

    def __init__(self, model: ModelLike | Sequence[ModelLike], options: RecipeOptions) -> None:
        self.options = options
        self.chosen = options.chosen
        self.about: dict[str, Any] = {}
        """The provenance of every run, by name."""
        self.files: list[Path] = []
        self.reporter = options.reporter
        self._models = GivenModels(model, options, head=self.head)

    @classmethod
    def of(cls, options: PaperOptions) -> Self:
        """The recipe of a paper, with an object of options instead of keywords."""
        recipe = cls.__new__(cls)
        cls.__init__.__wrapped__(recipe, options)  # type: ignore[attr-defined]
        return recipe

    @property
    def paper(self) -> Paper:
        """The paper, with its parts."""
        return self.options.paper

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that the recipe is about: hub ids, folders, or their own."""
        return self._models.names

    @abstractmethod
    def steps(self, part: str) -> Sequence[Step]:
        """List the sections of a part, each as a function that makes it."""

    def check(self) -> None:  # noqa: B027 (most recipes have nothing to check)
        """Check what can be checked before any part runs; the models are loaded."""

    def subtitle(self) -> str:
        """What stands below the page's title."""
        return (
            f"{self.paper.authors}, on {', '.join(map(short_name, self.models))}: "
            "the paper's tables and figures, with the published numbers beside ours"
        )

    def facts(self) -> list[tuple[str, str]]:
        """List what stands in the boxes at the top of the page, beside the models' shapes."""
        return []

    def remarks(self) -> list[str]:
        """List what stands out, for the top of the page."""
        return []

    def claims(self) -> Sequence[Finding]:
        """List the paper's claims with what this run found, in the order of the paper.

        Called after all parts have run. A claim whose part was not run or was skipped is either
        left out or given with the reason.
        """
        return ()

    @property
    def folder(self) -> Path:
        """The folder for everything that the recipe writes."""
        return Path(self.options.output or f"{self.paper.name}-{slug(self.models[0])}")

    def run(self) -> PaperReport:
        """Run the chosen parts and write the page.

        Returns
        -------
        PaperReport
            The page, its tables and the parts that were skipped.

        Raises
        ------
        AnotherRunError
            A results file in the folder is of another run.
        UserError
            A model cannot be loaded, the folder cannot be written, another process is writing to
            it, or no part could run.
        """
        path = self.folder / f"{self.paper.name}.html"
        try:
            check_writable(path)
            with locked(path):
                return self._run(path)
        finally:
            self._models.close()

    def _run(self, path: Path) -> PaperReport:
        for name in self.models:
            self.load(name)
        self.check()
        sections: list[Section] = []
        skipped: dict[str, UserError] = {}
        for part in self.chosen:
            for step in self._steps(part):
                try:
                    sections.append(step())
                except (Interrupted, AnotherRunError):
                    raise
                except UserError as error:
                    self.reporter.say(f"skipped: {error.message}")
                    skipped[error.message] = error
        if not sections and skipped:
            raise next(iter(skipped.values()))
        findings = self.claims()
        if findings:
            says = self.claims_column
            sections.append(claims_section(findings, title=self.claims_title, says=says))
        self._write(path, sections, list(skipped), findings)
        return PaperReport(path, tuple(sections), tuple(skipped), tuple(self.files))

    def _steps(self, part: Part) -> Sequence[Step]:
        """A part's steps, or one that says what the part lacks."""
        try:
            part.check(self.options.given)
        except UserError as error:
            return [_refusal(error)]
        return self.steps(part.name)

    def _write(
        self,
        path: Path,
        sections: Sequence[Section],
        skipped: Sequence[str],
        findings: Sequence[Finding],
    ) -> None:
        """Write the figures, then the page."""
        for section in sections:
            for plot in section.plots:
                file = self.folder / "figures" / plot.name
                save_in_formats(plot.chart, [Path(f"{file}.png"), Path(f"{file}.svg")])
        shapes = ", ".join(self.size(name) for name in self.models)
        counted = [(verdict(findings), "tested claims hold")] if findings else []
        published = [] if self.paper.heads is None else [self.paper.heads]
        document = Document(
            title=self.paper.title,
            subtitle=self.subtitle(),
            facts=[(shapes, "layers × heads here"), *published, *self.facts(), *counted],
            remarks=self.remarks(),
            notes=[f"Skipped: {reason}." for reason in skipped],
            sections=sections,
            provenance=json.dumps(without_folders(self.about), indent=2, ensure_ascii=False),
            runs=Table(run_rows(without_folders(self.about))) if self.about else None,
        )
        write_document(document, path)

    def section(
        self,
        part: str,
        text: str = "",
        tables: Sequence[Table] = (),
        plots: Sequence[Plot] = (),
        *,
        title: str = "",
        suffix: str = "",
    ) -> Section:
        """Make a section of a part.

        Parameters
        ----------
        part
            The part's name: the section gets its title, and its text begins with the place in
            the paper.
        text, tables, plots
            What stands in the section.
        title
            A title of its own, where a part has several sections.
        suffix
            Ends the section's anchor and the names of its plots and tables, where a part has
            several sections.

        Returns
        -------
        Section
            The section.
        """
        about = next(one for one in self.paper.parts if one.name == part)
        made = Section(
            part,
            title or about.title,
            f"{about.source[0].upper()}{about.source[1:]}. {text}".strip(),
            tables,
            plots,
        )
        return with_suffix(made, suffix) if suffix else made

    def load(self, name: str) -> Model:
        """Load one of the recipe's models, once."""
        return self._models.load(name)

    def source(self, name: str) -> str | Model:
        """What a function that loads a model itself is given: a name, or a model in memory."""
        return self._models.source(name)

    def size(self, name: str) -> str:
        """The number of layers and heads of a model, such as ``12 × 12``."""
        model = self.load(name)
        shape = model.shape(model.main_stack())
        return f"{shape.layers} × {shape.heads}"

    def survey(
        self,
        name: str,
        model: Model,
        corpus: Corpus,
        measures: Sequence[str | Measure],
        *,
        limit: int | None = None,
        max_length: int | None = None,
        whole: bool = False,
    ) -> Atlas:
        """Survey a corpus into ``NAME.nc``, or open that file if it holds this very survey.

        Parameters
        ----------
        name
            The file's name without its ending.
        model, corpus, measures
            What to survey.
        limit
            Use at most this many examples. Default: the recipe's limit.
        max_length
            The largest number of tokens of an example. Default: the recipe's.
        whole
            Use all examples of the corpus, whatever the limits are.

        Returns
        -------
        Atlas
            The results.
        """
        path = self.folder / f"{name}.nc"
        most = None if whole else (self.options.limit if limit is None else limit)
        with self.reporter.progress(name) as progress:
            results = survey(
                model,
                corpus,
                measures=measures,
                output=path,
                overwrite=self.options.overwrite,
                progress=progress,
                limit=most,
                seed=self.options.seed,
                batch_size=self.options.batch_size,
                max_length=max_length or self.options.max_length,
                examples=0,
            )
        return self.keep(path, results)

    def keep(self, path: Path, results: Atlas) -> Atlas:
        """Note a results file and its provenance for the page."""
        if path not in self.files:
            self.files.append(path)
        self.about[path.stem] = results.provenance
        return results


def _refusal(error: UserError) -> Step:
    """A step that only says why it cannot be done."""

    def refuse() -> Section:
        raise error

    return refuse
