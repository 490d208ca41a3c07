"""Clark et al. 2019, "What Does BERT Look At?", from top to bottom: every table and figure, the published numbers beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headscope.corpus import Corpus, Example
from headscope.errors import ModelError, UserError
from headscope.figures import attention_lines, attention_panel
from headscope.models import Model, load
from headscope.page import Document, Plot, Section, Table, records
from headscope.papers.clark2019.tables import (
    antecedent_rows,
    probe_rows,
    relation_rows,
    surface_rows,
)
from headscope.papers.recipe import Workshop, plots_of
from headscope.results import Results
from headscope.runs.examples import relation_example, sentences
from headscope.runs.parse import parse_probes
from headscope.stats import best_heads

SEGMENTS = 1000
DISTANCE_SEGMENTS = 200
HELD_OUT = 5
"""Without a training treebank, every fifth sentence is held out for testing the probes."""
DRAWN = 6


@dataclass
class Clark2019:
    """The recipe. Each part runs if its data are there; a part that cannot be run says why, and the others go on."""

    model: str
    shop: Workshop
    text: Corpus
    treebank: Corpus
    coref: Corpus
    train: Corpus | None = None
    vectors: str | Path | None = None
    epochs: int = 20
    load_options: dict[str, Any] = field(default_factory=dict)

    def run(self) -> Path:
        """Everything, then the page."""
        self.loaded: Model = load(self.model, device=self.shop.options.device, **self.load_options)
        surface = self._surface()
        parts: list[Callable[[], Section]] = [
            self._gradients,
            self._dependencies,
            self._coreference,
            self._probes,
            lambda: self._distances(surface),
        ]
        sections, notes = self.shop.sections(parts)
        about = surface.provenance
        document = Document(
            title="What Does BERT Look At?",
            subtitle=f"Clark et al. 2019, on {self.model}: the paper's tables and figures, published numbers (BERT base) beside ours",
            facts=[
                (f"{about['model']['layers']} × {about['model']['heads']}", "layers × heads here"),
                ("12 × 12", "in the paper (BERT base)"),
                (str(about["counts"]["seen"]), "segments"),
            ],
            remarks=[f"Left out: {note}" for note in notes],
            sections=[self._surface_section(surface), *sections],
            provenance=json.dumps(about, indent=2, ensure_ascii=False),
        )
        return self.shop.page("clark2019", document)

    def _surface(self) -> Results:
        """C2, C3, C5 on segments of two paragraphs (C1)."""
        return self.shop.survey(
            "surface",
            self.loaded,
            self.text,
            ["position", "special", "entropy"],
            limit=self._limit(SEGMENTS),
        )

    def _surface_section(self, results: Results) -> Section:
        counts = results.provenance["counts"]
        text = f"Section 3: {counts['seen']} segments of {_short(self.text)}, at most {self.shop.options.max_length} tokens ({counts['truncated']} cut)."
        return Section(
            "surface",
            "Surface patterns",
            text,
            [Table(surface_rows(results))],
            plots_of(results, "position", "special", "from-sep", "entropy"),
        )

    def _gradients(self) -> Section:
        """C4: needs the model with its language-model head."""
        try:
            model = load(
                self.model, device=self.shop.options.device, head="lm", **self.load_options
            )
        except ModelError as error:
            raise UserError(f"gradient importance (Figure 3): {error.message}") from None
        results = self.shop.survey(
            "gradient", model, self.text, ["gradient"], limit=self._limit(SEGMENTS)
        )
        return Section(
            "gradients",
            "Gradient importance",
            "Section 3.2: how much the language-model loss would change with attention to a token.",
            plots=plots_of(results, "gradient"),
        )

    def _dependencies(self) -> Section:
        """C7, with the best heads drawn (C12)."""
        results = self.shop.survey("dependency", self.loaded, self.treebank, ["dependency"])
        rows, rough = relation_rows(results)
        note = "Accuracy in percent. The test is paired and exact, one-sided against the best fixed offset, and corrected (Holm) over all heads, both directions and all relations. "
        tables = [
            Table(rows, title="Table 1", note=note + " ".join(rough)),
            Table(records(best_heads(results)), title="All relations of the treebank"),
        ]
        plots = [*plots_of(results, "dependencies"), *self._lines(results)]
        return Section(
            "dependencies",
            "Dependency syntax",
            f"Section 4.2, on {_short(self.treebank)}: {results.provenance['counts']['seen']} examples.",
            tables,
            plots,
        )

    def _lines(self, results: Results) -> list[Plot]:
        """Figure 5: the relations at which heads beat the offset by most, each on a sentence."""
        table = best_heads(results)
        table = table[
            (table["p_corrected"] < 0.05)
            & ~table["relation"].str.startswith("all")
            & (table["relation"] != "punct")
        ]
        table = (
            table.assign(gain=table["accuracy"] - table["baseline"])
            .sort_values("gain", ascending=False)
            .head(DRAWN)
        )
        charts = []
        for row in table.to_dict("records"):
            layer, head = (int(part) - 1 for part in row["head"].split("-"))
            drawn = relation_example(
                self.loaded,
                sentences(self.treebank),
                relation=row["relation"],
                layer=layer,
                head=head,
                direction=row["direction"],
            )
            if drawn:
                charts.append(
                    attention_lines(
                        drawn.words,
                        drawn.attention,
                        title=f"Head {row['head']}: {row['relation']}",
                        subtitle=f"{row['direction']}, {100 * row['accuracy']:.1f} %",
                        red=drawn.marked,
                    )
                )
        if not charts:
            return []
        caption = "As Figure 5: darkness is the weight of attention between words; attention to and from the words of the relation is red."
        return [
            Plot(
                "lines",
                "Attention of the best heads",
                caption,
                attention_panel(charts, title="Heads that find a relation", columns=3),
            )
        ]

    def _coreference(self) -> Section:
        """C8."""
        results = self.shop.survey("coreference", self.loaded, self.coref, ["coreference"])
        note = "Percent of mentions with an antecedent whose head word attends most to the head word of one. Candidates: the head words of all earlier mentions."
        text = (
            f"Section 4.3, on {_short(self.coref)}: {results.provenance['counts']['seen']} documents, cut to {self.shop.options.max_length} tokens. "
            + " ".join(self.coref.notes)
        )
        return Section(
            "coreference",
            "Coreference",
            text,
            [Table(antecedent_rows(results), title="Table 2", note=note)],
        )

    def _probes(self) -> Section:
        """C9 and C10."""
        source = (
            sentence_corpus(self.treebank) if self.treebank.format == "builtin" else self.treebank
        )
        train, dev = (self.train, source) if self.train else split(source)
        limit = self.shop.options.limit
        with self.shop.voice.progress("probes") as progress:
            told: Callable[[str, int, int], None] | None = (
                None if progress is None else lambda _what, done, total: progress(done, total)
            )
            table = parse_probes(
                self.loaded,
                train,
                dev,
                seed=self.shop.options.seed,
                vectors=self.vectors,
                epochs=self.epochs,
                limit=limit,
                dev_limit=limit,
                cache=self.shop.folder / "word-maps",
                progress=told,
            )
        table.to_csv(self.shop.folder / "probes.csv", index=False)
        about = table.attrs
        text = f"Section 5: trained on {about['train']['sentences']} sentences of {_short(train)}, tested on {about['dev']['sentences']} of {_short(dev)}; punctuation left out. Intervals by bootstrap over sentences. Word maps on disk: {(about['train']['bytes'] + about['dev']['bytes']) / 1e6:.0f} MB."
        if self.vectors is None:
            text += " Without word vectors only the rows that need none are made: give --vectors."
        return Section(
            "probes",
            "Probing combinations of heads",
            text,
            [Table(probe_rows(table), title="Table 3 (UAS, percent)")],
        )

    def _distances(self, surface: Results) -> Section:
        """C11, coloured by what the other parts found."""
        limit = min(self._limit(SEGMENTS), DISTANCE_SEGMENTS)
        results = self.shop.survey("distance", self.loaded, self.text, ["distance"], limit=limit)
        parts = {
            name: Results.open(path)
            for name, path in (
                ("dependency", self.shop.folder / "dependency.nc"),
                ("coreference", self.shop.folder / "coreference.nc"),
            )
            if path.exists()
        }
        sums = (
            results.sums()
            | surface.sums()
            | {name: part.sums()[name] for name, part in parts.items()}
        )
        whole = Results.build(sums, results.provenance)
        text = f"Section 6: mean Jensen–Shannon divergence between the rows of every pair of heads over {results.provenance['counts']['seen']} segments, scaled to two dimensions (metric MDS, seed {self.shop.options.seed})."
        return Section(
            "distances",
            "Clusters of heads",
            text,
            plots=plots_of(whole, "heads-by-layer", "heads-by-behaviour"),
        )

    def _limit(self, most: int) -> int:
        return min(self.shop.options.limit or most, most)


def split(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Every fifth example for testing, the others for training."""

    def part(name: str, keep: Callable[[int], bool]) -> Corpus:
        def source() -> Iterator[Example]:
            return (example for index, example in enumerate(corpus) if keep(index))

        return replace(
            corpus,
            name=f"{corpus.name} ({name})",
            source=source,
            rough=None,
            limit=None,
            fingerprint=lambda: f"{corpus.checksum}:{name}",
        )

    return part("four fifths", lambda index: index % HELD_OUT != HELD_OUT - 1), part(
        "every fifth", lambda index: index % HELD_OUT == HELD_OUT - 1
    )


def sentence_corpus(corpus: Corpus) -> Corpus:
    """Passages cut into sentences, one tree an example."""
    return replace(
        corpus,
        source=lambda: iter(sentences(corpus)),
        rough=None,
        limit=None,
        fingerprint=lambda: f"{corpus.checksum}:sentences",
    )


def _short(corpus: Corpus) -> str:
    """A corpus by its file's name, without the folders."""
    return corpus.name.rsplit("/", 1)[-1]
