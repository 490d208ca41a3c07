"""One engine for all papers: a recipe has options, parts and claims.

The fields of a recipe are its options, in Python and on the command line. A method marked with
:func:`part` makes one section of the page (or several). A function marked with
:meth:`Recipe.claim` tests what the paper says; its parameters name the results that it needs. The
engine runs the parts that were chosen, tests the claims, and writes the page.

Nothing here imports torch: what is wrong with an option is said before a model is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from headscope import models
from headscope.corpus import Corpus
from headscope.corpus.grammar import GRAMMAR
from headscope.errors import AnotherRunError, Interrupted, UserError, unknown
from headscope.figures.save import save_in_formats
from headscope.files import check_writable, locked, slug
from headscope.models.names import check_loading
from headscope.options import AnyPath, FolderRun, Loading, Option, Options
from headscope.page import Document, Plot, Section, Table, write_document
from headscope.papers.catalogue import Paper
from headscope.papers.claims import PAPER_SAYS, Claim, Finding, Verdict, claims_section
from headscope.papers.report import PaperReport, run_rows, short_name, with_suffix
from headscope.results import Atlas
from headscope.results.merge import gather
from headscope.results.netcdf import without_folders
from headscope.runs.survey import survey
from headscope.tasks.task import MADE, Task

if TYPE_CHECKING:
    from headscope.models import Model, ModelLike
else:  # checked where it is loaded
    ModelLike = Any

Step = Callable[[], Section]
Test = TypeVar("Test", bound=Callable[..., Verdict])
FOR_TRAINING = ("device", "revision", "allow_pickle", "trust_remote_code")
"""The options of loading that fine-tuning has, too."""
OF_ONE_MODEL = ("adapter", "revision")
"""The options of loading that belong to the recipe's model, and to no other."""
IN_MEMORY = "model"
"""The name of a network that is given with its tokenizer, as :func:`headscope.wrap` calls it."""

INPUTS = {
    "tuned": ("fine-tuned model", 'tuned=["FOLDER"]'),
    "controls": ("request for controls", "controls=True"),
    "published": ("folder of the authors' own numbers", 'published="FOLDER"'),
    "tasks": ("GLUE task", 'tasks=["rte"]'),
    "downstream": ("downstream task", 'downstream=["mrpc"]'),
}
"""What parts may need that has no default: by the recipe's field, a noun and how it is given."""


@dataclass(frozen=True)
class Part:
    """A part of a recipe: what ``--part`` calls it, its heading, and its place in the paper.

    Parameters
    ----------
    needs
        Fields of the recipe that have no default: keys of ``INPUTS``.
    extra
        Whether it is left out without a word where what it needs was not given.
    """

    name: str
    title: str
    source: str
    make: Callable[[Any], Section | Sequence[Step]]
    needs: tuple[str, ...] = ()
    extra: bool = False

    def check(self, recipe: Recipe) -> None:
        """Check that a recipe has what the part needs."""
        for name in self.needs:
            if not getattr(recipe, name):
                noun, example = INPUTS[name]
                text = f"{self.title} ({self.source}): no {noun} was given"
                raise UserError(text, hint=f"give {example}")


def part(
    name: str, title: str, source: str, *needs: str, extra: bool = False
) -> Callable[[Callable[[Any], Section | Sequence[Step]]], Any]:
    """Mark a method as a part of the paper; see :class:`Part`."""

    def mark(make: Callable[[Any], Section | Sequence[Step]]) -> Any:
        make.part = Part(name, title, source, make, needs, extra)  # type: ignore[attr-defined]
        return make

    return mark


class Recipe(FolderRun):
    """What all recipes share. Use one of its subclasses.

    Atlas files that are already in the folder are reused, and an interrupted run resumes. A part
    that cannot run says why, and the others run.

    Parameters
    ----------
    parts
        Run only this part. Default: all parts.
    output
        The folder for the page, the figures and the results. Default: the recipe's name and the
        model's, here.
    """

    paper: ClassVar[Paper]
    heads: ClassVar[tuple[str, str] | None] = None
    """Layers and heads of the paper's model, and what they are."""
    head: ClassVar[Literal["lm"] | None] = None
    """The head that models are loaded with, where every part needs it."""
    claims_title: ClassVar[str] = "The paper's claims"
    claims_column: ClassVar[str] = PAPER_SAYS
    all_parts: ClassVar[tuple[Part, ...]] = ()
    claims: ClassVar[list[Claim]] = []
    more_help: ClassVar[str] = ""
    """What the help of its command says of the parts."""

    parts: Annotated[Sequence[str], Option(flag="--part", metavar="NAME")] = ()
    output: Annotated[AnyPath | None, Option(short="-o", metavar="FOLDER")] = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.all_parts = tuple(
            method.part for method in vars(cls).values() if hasattr(method, "part")
        )
        cls.claims = []
        cls.more_help = f"Parts: {', '.join(part.name for part in cls.all_parts)}."

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.chosen

    @classmethod
    def claim(
        cls, source: str, published: str, rule: str, *, ours: str = "", each: str = ""
    ) -> Callable[[Test], Test]:
        """Mark a function as the test of a claim: its docstring is what the paper says.

        See :class:`headscope.papers.claims.Claim` for the parameters.
        """

        def add(test: Test) -> Test:
            text = " ".join((test.__doc__ or "").split()).removesuffix(".")
            cls.claims.append(Claim(text, source, published, rule, test, ours, each))
            return test

        return add

    # --- what a recipe has ---

    @cached_property
    def chosen(self) -> tuple[Part, ...]:
        """The parts to run, in the order of the paper.

        Raises
        ------
        UserError
            A name is unknown, or a part that was asked for lacks what it needs.
        """
        known = {part.name: part for part in self.all_parts}
        for name in self.parts:
            if name not in known:
                raise unknown(f"part of {self.paper.name}", name, known)
            known[name].check(self)
        if self.parts:
            return tuple(part for part in self.all_parts if part.name in self.parts)
        extras = {part for part in self.all_parts if part.extra}
        return tuple(
            part
            for part in self.all_parts
            if part not in extras or all(getattr(self, name) for name in part.needs)
        )

    @cached_property
    def results(self) -> dict[str, Any]:
        """What the parts have found so far, by the names that claims use."""
        return {"seed": self.seed}

    @cached_property
    def about(self) -> dict[str, Any]:
        """The provenance of every run, by name."""
        return {}

    @cached_property
    def files(self) -> list[Path]:
        """The results files."""
        return []

    @cached_property
    def atlases(self) -> list[Atlas]:
        """The results in them."""
        return []

    @property
    def given_models(self) -> Any:
        """The model, or models, as they were given."""
        raise NotImplementedError

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that the recipe is about: hub ids, folders, or their own."""
        return tuple(map(_name, self._several))

    @property
    def _several(self) -> Sequence[Any]:
        models = self.given_models
        return [models] if is_one_model(models) else models

    @cached_property
    def _given(self) -> dict[str, Any]:
        return dict(zip(self.models, self._several, strict=True))

    @cached_property
    def _loaded(self) -> dict[str, Model]:
        return {}

    def load(self, name: str) -> Model:
        """Load one of the recipe's models, once."""
        if name not in self._loaded:
            self._loaded[name] = models.as_model(self._given[name], self, head=self.head)
        return self._loaded[name]

    @property
    def model_loaded(self) -> Model:
        """The recipe's model, or its first."""
        return self.load(self.models[0])

    def with_head(self) -> Model:
        """The model with its language-model head; one that is in memory keeps what it has."""
        model = self._given[self.models[0]]
        is_name = isinstance(model, str | Path)
        return models.as_model(model, self, head="lm") if is_name else self.model_loaded

    def source(self, name: str) -> str | Model:
        """What a function that loads a model itself is given: a name, or a model in memory."""
        model = self._given[name]
        return str(model) if isinstance(model, str | Path) else self.load(name)

    def size(self, name: str) -> str:
        """The number of layers and heads of a model, such as ``12 × 12``."""
        model = self.load(name)
        shape = model.shape(model.main_stack())
        return f"{shape.layers} × {shape.heads}"

    @property
    def folder(self) -> Path:
        """The folder for everything that the recipe writes."""
        return Path(self.output or f"{self.paper.name}-{slug(self.models[0])}")

    def at_most(self, most: int) -> int:
        """The limit, if it is below what the paper uses."""
        return min(self.limit or most, most)

    @property
    def for_other_models(self) -> dict[str, Any]:
        """How models are loaded that the recipe makes or is given beside its own."""
        group = self.subset(Loading)
        return {name: value for name, value in group.items() if name not in OF_ONE_MODEL}

    @property
    def for_training(self) -> dict[str, Any]:
        """How a model is loaded that is to be fine-tuned."""
        return {name: getattr(self, name) for name in FOR_TRAINING}

    # --- what a recipe may say of its own ---

    def check(self) -> None:
        """Check what can be checked before any part runs; the models are loaded."""

    @property
    def title(self) -> str:
        """The page's title: the models."""
        return ", ".join(map(short_name, self.models))

    @property
    def subtitle(self) -> str:
        """What stands below the page's title."""
        return (
            f"{self.paper.authors}, “{self.paper.title}”: the paper's tables and figures, with the "
            "published numbers beside ours"
        )

    def facts(self) -> list[tuple[str, str]]:
        """List what stands in the boxes at the top of the page, beside the models' shapes."""
        return []

    def remarks(self) -> list[str]:
        """List what stands out, for the top of the page."""
        return []

    def missing(self, result: str) -> str | None:
        """Say why a result is missing that a claim needs; None leaves the claim out."""
        return None

    # --- running ---

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
            # Networks that were wrapped here are put back. Models that were given stay open.
            for name in [name for name in self._loaded if isinstance(self._given[name], tuple)]:
                self._loaded.pop(name).close()

    def _run(self, path: Path) -> PaperReport:
        for name in self.models:
            self.load(name)
        self.check()
        sections: list[Section] = []
        skipped: dict[str, UserError] = {}
        for part in self.chosen:
            self._try(partial_section(part, self), sections, skipped)
        if not sections and skipped:
            raise next(iter(skipped.values()))
        findings, claims = self.findings(), []
        if findings:
            title, says = self.claims_title, self.claims_column
            claims = [claims_section(findings, title=title, says=says)]
        self._write(path, [*claims, *sections], list(skipped), findings)
        return PaperReport(path, (*sections, *claims), tuple(skipped), tuple(self.files))

    def _try(
        self,
        make: Callable[[], Section | Sequence[Step]],
        sections: list[Section],
        skipped: dict[str, UserError],
    ) -> None:
        """Make a section, or several one by one; note why one cannot be made."""
        try:
            outcome = make()
        except (Interrupted, AnotherRunError):
            raise
        except UserError as error:
            self.reporter.say(f"skipped: {error.message}")
            skipped[error.message] = error
            return
        if isinstance(outcome, Section):
            sections.append(outcome)
            return
        for inner in outcome:
            self._try(inner, sections, skipped)

    def findings(self) -> list[Finding]:
        """Test the claims, in the order of the paper."""
        findings = []
        for claim in self.claims:
            absent = [name for name in claim.needs if name not in self.results]
            reasons = [self.missing(name) for name in absent]
            if not absent:
                findings.append(claim.finding(self.results))
            elif None not in reasons:
                findings.append(claim.untested(str(reasons[0])))
        return findings

    def _write(
        self,
        path: Path,
        sections: Sequence[Section],
        skipped: Sequence[str],
        findings: Sequence[Finding],
    ) -> None:
        """Write the figures, then the page."""
        for plot in (plot for section in sections for plot in section.plots):
            file = self.folder / "figures" / plot.name
            save_in_formats(plot.chart, [Path(f"{file}.png"), Path(f"{file}.svg")])
        sizes = ", ".join(map(self.size, self.models))
        published = [] if self.heads is None else [self.heads]
        about = without_folders(self.about)
        atlases = gather(self.atlases)
        document = Document(
            title=self.title,
            subtitle=self.subtitle,
            label=self.paper.authors or self.paper.name.capitalize(),
            atlases=atlases,
            linked=len(atlases) == 1,
            facts=[(sizes, "layers × heads here"), *published, *self.facts()],
            remarks=self.remarks(),
            verdicts=[finding.holds for finding in findings],
            notes=[f"Skipped: {reason}." for reason in skipped],
            sections=sections,
            provenance=json.dumps(about, indent=2, ensure_ascii=False),
            runs=Table(run_rows(about), note=self._named_files()) if self.about else None,
        )
        write_document(document, path)

    def _named_files(self) -> str:
        """Where the results are, and how they are seen whole."""
        names = [file.name for file in self.files]
        if not names:
            return ""
        return (
            f"Results beside this page: {', '.join(names)}. All statistics of one of them: "
            f"headscope report {names[0]} -o report.html"
        )

    # --- for parts ---

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
        """Make a section of a part: its title, and the place in the paper before the text.

        Where a part has several sections, each has a title of its own, and a suffix for its anchor
        and the names of its plots and tables.
        """
        about = next(known for known in self.all_parts if known.name == part)
        source = f"{about.source[0].upper()}{about.source[1:]}."
        section = Section(part, title or about.title, f"{source} {text}".strip(), tables, plots)
        return with_suffix(section, suffix) if suffix else section

    def compute(self, name: str, function: Callable[..., Atlas], *values: Any, **how: Any) -> Atlas:
        """Run a function into ``NAME.nc``, or open that file if it holds this very run."""
        path = self.folder / f"{name}.nc"
        common = {"output": path, "overwrite": self.overwrite, "seed": self.seed}
        with self.reporter.progress(path.stem) as progress:
            results = function(*values, progress=progress, **common, **how)
        return self.note(path, results)

    def survey(
        self,
        name: str,
        corpus: Corpus,
        measures: Sequence[Any],
        *,
        model: Model | None = None,
        limit: int | None = None,
        max_length: int | None = None,
        whole: bool = False,
    ) -> Atlas:
        """Survey a corpus into ``NAME.nc``: by default the recipe's model, limit and length.

        ``whole`` uses all examples of the corpus, whatever the limits are.
        """
        return self.compute(
            name,
            survey,
            model or self.model_loaded,
            corpus,
            measures=measures,
            limit=None if whole else (self.limit if limit is None else limit),
            batch_size=self.batch_size,
            max_length=max_length or self.max_length,
            examples=0,
        )

    def note(self, path: Path, results: Atlas, *, shown: bool = True) -> Atlas:
        """Note a results file and its provenance for the page, and its results for claims.

        What is ``shown`` stands in the atlas of the page.
        """
        if path not in self.files:
            self.files.append(path)
        self.about[path.stem] = results.provenance
        if shown:
            self.atlases.append(results)
        self.results[path.stem.replace("-", "_")] = results
        return results


def partial_section(part: Part, recipe: Recipe) -> Callable[[], Section | Sequence[Step]]:
    """Makes a part, unless the recipe lacks what it needs."""

    def make() -> Section | Sequence[Step]:
        part.check(recipe)
        return part.make(recipe)

    return make


# --- Models that are given by name, or in memory ---


def is_one_model(models: Any) -> bool:
    """Whether a recipe was given one model, not a list of them.

    A pair is a network with its tokenizer, unless it has names or models in it.

    Examples
    --------
    >>> is_one_model("demo"), is_one_model(["demo"]), is_one_model(("demo", "bert-base-uncased"))
    (True, False, False)
    """
    if isinstance(models, str | Path) or _in_memory(models):
        return True
    pair = isinstance(models, tuple) and len(models) == 2
    return pair and not isinstance(models[0], str | Path | tuple) and not _in_memory(models[0])


def _in_memory(model: Any) -> bool:
    return not isinstance(model, Iterable) and hasattr(model, "main_stack")


def _name(model: Any) -> str:
    if _in_memory(model):
        return str(model.name)
    return IN_MEMORY if isinstance(model, tuple) else str(model)


# --- Options that several papers share ---


class PaperRecipe(Recipe):
    """The recipe of a paper.

    Parameters
    ----------
    model
        A hub id, a model folder, a .gguf file or an embedded model; in Python also a loaded model
        or a network with its tokenizer.
    """

    model: Annotated[ModelLike, Option(completes="models")] = field(default="demo", kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for model in self.model if isinstance(self.model, tuple) else (self.model,):
            check_loading(model, self)

    @property
    def given_models(self) -> Any:
        """The model, or models, as they were given."""
        return self.model


class Sampled(Options):
    """Which examples are used.

    Parameters
    ----------
    sample
        Which examples are used of a corpus that has more than are wanted: random ones, drawn with
        the seed, or the first ones.
    """

    sample: Literal["random", "first"] = "random"

    def drawn(self, corpus: Corpus, most: int | None) -> Corpus:
        """At most so many examples of a corpus, drawn at random or the first ones."""
        seed: int = getattr(self, "seed", 0)
        return corpus.sample(most, seed=seed) if self.sample == "random" else corpus.first(most)


class Training(Options):
    """How models are fine-tuned.

    Parameters
    ----------
    data
        The files of GLUE tasks, such as FOLDER/RTE/train.tsv (.gz too), or hub to download them.
        The tasks opinion and paraphrase need none: a built-in grammar writes their sentences.
    epochs
        Passes over the training examples. Default: 3, as in the paper; 1 for tasks of the grammar.
    learning_rate
        The highest learning rate, reached after warm-up. Default: the paper's; 1e-4 for tasks of
        the grammar.
    """

    panel: ClassVar[str] = "Fine-tuning"
    rate: ClassVar[float] = 5e-5

    data: Annotated[AnyPath, Option(metavar="FOLDER")] = "hub"
    epochs: Annotated[int | None, Option(least=1, name="number of epochs")] = None
    learning_rate: float | None = None

    def data_of(self, task: Task) -> str:
        """Where the examples of a task are."""
        return GRAMMAR if task in MADE.values() else str(self.data)

    def training_of(self, task: Task) -> dict[str, Any]:
        """Epochs and learning rate of a task: those given, or the paper's."""
        epochs, rate = (1, 1e-4) if task in MADE.values() else (3, self.rate)
        return {
            "epochs": self.epochs or epochs,
            "learning_rate": self.learning_rate or rate,
        }

    def check_training(self, loading: Loading, *, trains: bool) -> None:
        """Check what cannot be checked of one option alone.

        Raises
        ------
        UserError
            If the learning rate is none, or a model that is to be trained is loaded in a way that
            training cannot start from.
        """
        if self.learning_rate is not None and not 0 < self.learning_rate < 1:
            raise UserError(
                f"the learning rate must be between 0 and 1, got {self.learning_rate} instead"
            )
        unfit = [name for name in ("adapter", "quantization") if getattr(loading, name)]
        if unfit and trains:
            raise UserError(
                f"fine-tuning starts from whole weights: {unfit[0]}= cannot be combined with it",
                hint=f"leave {unfit[0]}= out, or the tasks",
            )


def written_remarks(titles: Sequence[str]) -> list[str]:
    """Say that the sentences of some tasks come from a grammar; nothing if there are none."""
    if not titles:
        return []
    return [
        f"The sentences of {', '.join(titles)} come from the built-in grammar: they are English "
        "with certain labels, but they say nothing. Scores on them show what the heads can tell, "
        "not how a model reads real text."
    ]


Row = Mapping[str, Any]
