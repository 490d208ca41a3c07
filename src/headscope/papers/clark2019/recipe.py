"""The recipe of Clark et al. 2019, "What Does BERT Look At?"."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any

from headscope.corpus import Corpus
from headscope.errors import ModelError, UserError
from headscope.measures import Dependency
from headscope.models import Model
from headscope.options import takes
from headscope.page import Plot, Section, Table
from headscope.papers.claims import Finding
from headscope.papers.clark2019 import Clark2019Options
from headscope.papers.clark2019.drawings import antecedent_charts, language_plots
from headscope.papers.clark2019.findings import Found
from headscope.papers.clark2019.pieces import separator_share, split_share
from headscope.papers.clark2019.probes import ProbeRun
from headscope.papers.clark2019.sections import (
    coreference_tables,
    coreference_text,
    corpus_name,
    dependency_tables,
    dependency_text,
    probe_tables,
    probe_text,
    surface_text,
)
from headscope.papers.clark2019.surface_drawings import separator_plots, surface_plots
from headscope.papers.clark2019.tables import surface_rows
from headscope.papers.clark2019.treebank import (
    by_sentence,
    given_vectors,
    is_universal,
    split_treebank,
)
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import gallery_plots, readable
from headscope.results import Atlas
from headscope.stats import antecedent_table

SEGMENTS = 1000
"""Segments of the paper's Section 3."""
DISTANCE_SEGMENTS = 200
"""Segments for the distances between heads, which cost more than the other measures."""


class Clark2019(Recipe):
    """What Does BERT Look At? Every table and figure, for any model.

    Its options are those of :class:`headscope.papers.Clark2019Options`. Gradients need a
    language-model head, which is loaded for a model that is given by name.

    Examples
    --------
    >>> recipe = Clark2019("demo", parts=["dependencies"], limit=50)
    >>> [part.source for part in recipe.chosen]
    ['Section 4.2, Table 1, Figure 5']

    ``recipe.run()`` then writes the page into the folder ``clark2019-demo``.

    References
    ----------
    Kevin Clark, Urvashi Khandelwal, Omer Levy and Christopher D. Manning. 2019. What Does BERT Look
    At? An Analysis of BERT's Attention. BlackboxNLP.
    """

    options: Clark2019Options

    @takes(Clark2019Options)
    def __init__(self, options: Clark2019Options) -> None:
        super().__init__(options.model, options)
        self._text, self._treebank = options.segments, options.sentences
        self._coref = options.documents
        self._train = by_sentence(options.training) if options.training is not None else None
        names = {part.name for part in self.chosen}
        self._found = Found(seed=options.seed, asked_for_gradients="gradients" in names)

    def steps(self, part: str) -> Sequence[Step]:
        """Every part is one section."""
        steps: dict[str, Step] = {
            "surface": self._surface_section,
            "gradients": self._gradients,
            "dependencies": self._dependencies,
            "coreference": self._coreference,
            "probes": self._probes,
            "clusters": self._clusters,
        }
        return [steps[part]]

    def facts(self) -> list[tuple[str, str]]:
        """The number of segments."""
        seen = self.about.get("surface", {}).get("counts", {}).get("seen")
        return [] if seen is None else [(str(seen), "segments")]

    @cached_property
    def _segments(self) -> Corpus:
        return self.options.drawn(self._text, self.options.at_most(SEGMENTS))

    def claims(self) -> list[Finding]:
        """What this run found about the claims of the parts that ran."""
        return self._found.findings()

    @property
    def _loaded(self) -> Model:
        return self.load(self.models[0])

    @cached_property
    def _surface(self) -> Atlas:
        return self.survey(
            "surface",
            self._loaded,
            self._segments,
            ["position", "special", "entropy", "peak"],
            limit=self.options.at_most(SEGMENTS),
        )

    @cached_property
    def _uniform(self) -> float:
        """The share that [SEP] would get if attention were uniform."""
        limit = self.options.at_most(SEGMENTS)
        return separator_share(
            self._loaded, self._segments, limit=limit, max_length=self.options.max_length
        )

    def _surface_section(self) -> Section:
        self._found.surface, self._found.uniform = self._surface, self._uniform
        text = surface_text(self._surface, self._segments, max_length=self.options.max_length)
        by_layer = [
            *gallery_plots(self._surface, "position"),
            *separator_plots(self._surface, self._uniform),
            *gallery_plots(self._surface, "entropy"),
        ]
        return self.section(
            "surface",
            text,
            [Table(surface_rows(self._surface), title="Surface patterns in numbers")],
            [
                *surface_plots(self._loaded, self._surface, self._text),
                *readable(by_layer, layers=len(self._surface.layers)),
            ],
        )

    def _gradients(self) -> Section:
        try:
            model = self._models.with_head(self.models[0])
        except ModelError as error:
            raise UserError(f"Gradient importance (Figure 3): {error.message}") from None
        results = self.survey(
            "gradient", model, self._segments, ["gradient"], limit=self.options.at_most(SEGMENTS)
        )
        self._found.gradient = results
        return self.section(
            "gradients",
            "How much the loss of the language model would change with attention to a token.",
            plots=readable(gallery_plots(results, "gradient"), layers=len(results.layers)),
        )

    def _dependencies(self) -> Section:
        measure = Dependency(stanford=is_universal(self._treebank))
        drawn = self.options.drawn(self._treebank, self.options.limit)
        source = by_sentence(drawn)
        # Sentences, where examples have several.
        limit = source.size() if self.options.limit else None
        results = self.survey("dependency", self._loaded, source, [measure], limit=limit)
        self._found.dependency = results
        if self.options.special:
            again = Dependency(stanford=measure.stanford, special=True)
            self._found.dependency_special = self.survey(
                "dependency-special", self._loaded, source, [again], limit=limit
            )
        train = None
        if self._train:
            limit = self._train.size() if self.options.limit else None
            train = self.survey(
                "dependency-train", self._loaded, self._train, [measure], limit=limit
            )
            self._found.dependency_train = train
        best = [replace(plot, wide=True) for plot in gallery_plots(results, "dependencies")]
        split = split_share(self._loaded, source, limit=None, max_length=self.options.max_length)
        return self.section(
            "dependencies",
            dependency_text(results, drawn, split_words=split),
            dependency_tables(
                results, train, train_name=corpus_name(self._train) if self._train else ""
            ),
            [*best, *self._drawings(results)],
        )

    def _drawings(self, results: Atlas) -> list[Plot]:
        """Figure 5; with the coreference head if coreference was asked for."""
        antecedents: list[Any] = []
        if "coreference" in {part.name for part in self.chosen}:
            with suppress(UserError):  # the part itself says why it cannot run
                table = antecedent_table(self._antecedents)
                antecedents = antecedent_charts(self._loaded, self._coref, table)
        return language_plots(self._loaded, results, self._treebank, antecedents)

    @cached_property
    def _antecedents(self) -> Atlas:
        results = self.survey("coreference", self._loaded, self._coref, ["coreference"])
        self._found.coreference = results
        return results

    def _coreference(self) -> Section:
        results = self._antecedents
        text = coreference_text(results, self._coref, max_length=self.options.max_length)
        return self.section("coreference", text, coreference_tables(results))

    def _probes(self) -> Section:
        source = by_sentence(self._treebank)
        both = (self._train, source) if self._train else split_treebank(source)
        train, dev = (self.options.drawn(part, self.options.limit) for part in both)
        vectors, missing = given_vectors(self.options.vectors, [train, dev])
        run = ProbeRun(
            self._loaded,
            train,
            dev,
            vectors,
            seed=self.options.seed,
            epochs=self.options.epochs,
            folder=self.folder,
            reporter=self.reporter,
        )
        table = run.table()
        self._found.probes = table
        self.about["probes"] = run.provenance(table.attrs)
        text = f"{probe_text(table, train, dev)} {missing}"
        return self.section("probes", text, probe_tables(table))

    def _clusters(self) -> Section:
        """Distances between heads, coloured by what the parts of this run found."""
        language = self._found.language
        limit = min(self.options.at_most(SEGMENTS), DISTANCE_SEGMENTS)
        segments = self.options.drawn(self._text, limit)
        results = self.survey("distance", self._loaded, segments, ["distance"], limit=limit)
        sums = results.sums() | self._surface.sums()
        for name, found in language.items():
            sums[name] = found.sums()[name]
        self._found.distance = results
        whole = Atlas.build(sums, results.provenance)
        text = (
            "Mean Jensen–Shannon divergence between the rows of every pair of heads over "
            f"{results.provenance['counts']['seen']} segments, scaled to two dimensions (metric "
            f"MDS, seed {self.options.seed}). Behaviours come from the surface patterns"
            f"{''.join(f', {name}' for name in language)}."
        )
        return self.section(
            "clusters", text, plots=gallery_plots(whole, "heads-by-layer", "heads-by-behaviour")
        )
