"""The portrait of a language model: one page with all that is known of its heads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal

from headscope.corpus import Corpus
from headscope.errors import AnotherRunError, UserError
from headscope.measures.registry import choose
from headscope.models import Model, ModelLike
from headscope.page import Section
from headscope.papers.claims import Finding
from headscope.papers.portrait import PortraitOptions, sections
from headscope.papers.portrait.claims import portrait_claims
from headscope.papers.portrait.found import GROUPS, Found
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import short_name
from headscope.results import Atlas
from headscope.runs.ablate import group_losses
from headscope.runs.ablate.groups import check_predicts
from headscope.runs.circuits import circuits
from headscope.runs.retrieval import choose_needles, retrieval
from headscope.runs.survey import survey
from headscope.runs.synthetic import Sequences
from headscope.stats import model_summary

ATTRIBUTION = "logit_attribution"


class Portrait(Recipe):
    """What :func:`headscope.portrait` runs: a page about the heads of a causal language model."""

    options: PortraitOptions
    head: ClassVar[Literal["lm"] | None] = "lm"
    claims_title: ClassVar[str] = "What the field says"
    claims_column: ClassVar[str] = "claim"

    def __init__(self, model: ModelLike, corpus: Corpus, options: PortraitOptions) -> None:
        super().__init__(model, options)
        self._corpus = corpus
        self._found = Found()

    @property
    def one(self) -> Model:
        """The model."""
        return self.load(self.models[0])

    def check(self) -> None:
        """Refuse models that predict no next token."""
        check_predicts(self.one)

    def subtitle(self) -> str:
        """Which model, on which texts."""
        return (
            f"{short_name(self.models[0])} on {short_name(self._corpus.name)}: what its attention "
            "heads do, with intervals, and what happens without them"
        )

    def facts(self) -> list[tuple[str, str]]:
        """How many texts there were."""
        seen = self.about.get("survey", {}).get("counts", {}).get("seen")
        return [] if seen is None else [(str(seen), "texts")]

    def remarks(self) -> list[str]:
        """What the heads do, in sentences."""
        atlas = self._found.survey
        return [] if atlas is None else [line.text for line in model_summary(atlas)]

    def steps(self, part: str) -> Sequence[Step]:
        """Every part is one section."""
        makers = {
            "roles": lambda: sections.roles(self.surveyed),
            "sinks": lambda: sections.sinks(self.surveyed),
            "local": lambda: sections.local(self.surveyed),
            "induction": self._induction,
            "duplicate": lambda: sections.duplicate(self.surveyed),
            "copying": lambda: sections.copying(self.composed),
            "syntax": lambda: sections.syntax(self.surveyed),
            "attribution": self._attribution,
            "retrieval": lambda: sections.retrieval(self.retrieved),
            "disabling": self._disabling,
        }

        def step() -> Section:
            content = makers[part]()
            return self.section(part, content.text, content.tables, content.plots)

        return [step]

    def claims(self) -> Sequence[Finding]:
        """What the field says."""
        return list(portrait_claims(self._found, top=self.options.top, seed=self.options.seed))

    @cached_property
    def surveyed(self) -> Atlas:
        """The survey: all that is offered, logit attribution, and random tokens written twice."""
        model, corpus = self.one, self._corpus
        offered = corpus.annotations | model.capabilities
        measures = choose(None, offered, corpus=corpus.name, cross=False)
        try:
            more = choose([ATTRIBUTION], offered, corpus=corpus.name, cross=False)
            more[0].check_model(model, model.main_stack())
            measures += more
        except UserError as error:
            self._found.why["attribution"] = error.message
        stack, synthetic = model.main_stack(), True
        try:
            Sequences(seed=self.options.seed).check(model, stack)
        except UserError as error:
            self.reporter.say(f"no random tokens written twice: {error.message}")
            self._found.why["synthetic"], synthetic = error.message, False
        path = self.folder / "survey.nc"
        with self.reporter.progress("survey") as progress:
            atlas = survey(
                model,
                corpus,
                measures=measures,
                synthetic=synthetic,
                output=path,
                overwrite=self.options.overwrite,
                progress=progress,
                limit=self.options.limit,
                seed=self.options.seed,
                batch_size=self.options.batch_size,
                max_length=self.options.max_length,
            )
        self._found.survey = self.keep(path, atlas)
        return atlas

    @cached_property
    def composed(self) -> Atlas:
        """Circuits, from the weights alone."""
        path = self.folder / "circuits.nc"
        try:
            with self.reporter.progress("circuits") as progress:
                atlas = circuits(
                    self.one,
                    seed=self.options.seed,
                    output=path,
                    overwrite=self.options.overwrite,
                    progress=progress,
                )
        except UserError as error:
            self._found.why["circuits"] = error.message
            raise
        self._found.circuits = self.keep(path, atlas)
        return atlas

    @cached_property
    def retrieved(self) -> Atlas:
        """Retrieval from long texts."""
        path = self.folder / "retrieval.nc"
        try:
            with self.reporter.progress("retrieval") as progress:
                atlas = retrieval(
                    self.one,
                    self._corpus,
                    lengths=self.options.lengths,
                    needles=choose_needles()[: self.options.needles],
                    seed=self.options.seed,
                    output=path,
                    overwrite=self.options.overwrite,
                    progress=progress,
                )
        except UserError as error:
            self._found.why["retrieval"] = error.message
            raise
        self._found.retrieval = self.keep(path, atlas)
        return atlas

    def _induction(self) -> sections.Content:
        """With the heads that feed induction heads, where circuits can be read."""
        atlas = self.surveyed
        try:
            feeders = self.composed
        except AnotherRunError:
            raise
        except UserError as error:
            self.reporter.say(f"no composition: {error.message}")
            feeders = None
        return sections.induction(atlas, feeders, self._found, self.options.top)

    def _attribution(self) -> sections.Content:
        atlas = self.surveyed
        if ATTRIBUTION not in atlas:
            raise UserError(self._found.why["attribution"])
        return sections.attribution(atlas)

    def _disabling(self) -> sections.Content:
        """The top heads of every role that was measured."""
        _ = self.surveyed
        groups = {name: self._found.ranked(name, self.options.top) for name in GROUPS}
        chosen = {name: heads for name, heads in groups.items() if heads}
        path = self.folder / "disabling.nc"
        try:
            with self.reporter.progress("disabling") as progress:
                atlas = group_losses(
                    self.one,
                    self._corpus,
                    chosen,
                    draws=self.options.draws,
                    seed=self.options.seed,
                    output=path,
                    overwrite=self.options.overwrite,
                    progress=progress,
                )
        except UserError as error:
            self._found.why["disabling"] = error.message
            raise
        self._found.losses = self.keep(path, atlas)
        return sections.disabling(atlas)
