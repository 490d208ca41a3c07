"""Clark et al. 2019, "What Does BERT Look At?": published numbers, parts, tables and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import spearmanr

from headscope import measures
from headscope.corpus import Corpus, Example, read, read_documents
from headscope.corpus.vectors import INSTALL, WordVectors, check_vectors, forms, read_vectors
from headscope.encode import SEPARATOR, Encoded
from headscope.errors import ModelError, UserError
from headscope.figures import attention_lines, attention_panel
from headscope.figures.attention import from_sep, special
from headscope.figures.distances import BehaviourThresholds
from headscope.figures.lines import NARROW, NEAR
from headscope.figures.style import short_corpus
from headscope.heads import Head
from headscope.numbers import MISSING, decimals, interval, p_value
from headscope.options import AnyPath, Option
from headscope.page import Plot, Section, Table, records
from headscope.papers.catalogue import PAPERS, Paper
from headscope.papers.claims import Untested, Verdict, judged, named, percent
from headscope.papers.recipe import PaperRecipe, Sampled, part
from headscope.papers.report import as_sentence, counted, gallery
from headscope.results import Atlas
from headscope.results.columns import Column, for_people
from headscope.runs.looking import attention
from headscope.stats import (
    antecedent_gains,
    antecedent_scores,
    antecedent_table,
    best_heads,
    gain_differences,
    interval_note,
    layer_closeness,
)
from headscope.stats.grid import heads_over
from headscope.stats.tables.relations import ALL, LEAST

if TYPE_CHECKING:
    from headscope.corpus import CorpusLike
else:  # checked where it is read
    CorpusLike = Any

Row = dict[str, Any]
SEGMENTS, DISTANCE_SEGMENTS = 1000, 200
"""Segments of the paper's Section 3; fewer for the distances, which cost more."""
UP = "dependent to head"
BROAD = BehaviourThresholds().broad
"""Broad heads have more than this share of the entropy of uniform attention."""

# --- What the paper reports -----------------------------------------------------------------------

TABLE_1 = {  # relation: best head, its accuracy, that of the best fixed offset, the offset
    "all": ("7-6", 34.5, 26.3, 1),
    "prep": ("7-4", 66.7, 61.8, -1),
    "pobj": ("9-6", 76.3, 34.6, -2),
    "det": ("8-11", 94.3, 51.7, 1),
    "nn": ("4-10", 70.4, 70.2, 1),
    "nsubj": ("8-2", 58.5, 45.5, 1),
    "amod": ("4-10", 75.6, 68.3, 1),
    "dobj": ("8-10", 86.8, 40.0, -2),
    "advmod": ("7-6", 48.8, 40.2, 1),
    "aux": ("4-10", 81.1, 71.5, 1),
    "poss": ("7-6", 80.5, 47.7, 1),
    "auxpass": ("4-10", 82.5, 40.5, 1),
    "ccomp": ("8-1", 48.8, 12.4, -2),
    "mark": ("8-2", 50.7, 14.5, 2),
    "prt": ("6-7", 99.1, 91.4, -1),
}
SAME_RELATION = {  # what Universal Dependencies call it; "(SD)" is made from UD
    "pobj": ("pobj", "pobj (SD)"),
    "nn": ("nn", "compound"),
    "dobj": ("dobj", "obj"),
    "advmod": ("advmod (SD)", "advmod"),
    "aux": ("aux (SD)", "aux"),
    "poss": ("poss", "nmod:poss"),
    "auxpass": ("auxpass", "aux:pass"),
    "mark": ("mark (SD)", "mark"),
    "prt": ("prt", "compound:prt"),
}
MADE = {
    "pobj (SD)": "UD's case with the two words swapped, without the possessive 's",
    "aux (SD)": "UD's aux, and the infinitive's to, which is mark in UD",
    "mark (SD)": "UD's mark without the infinitive's to",
    "advmod (SD)": "UD's advmod without not, n't and never, which are neg in the paper's scheme",
}
NO_PREP = (
    "prep: UD attaches a preposition to its noun, not to the word that the phrase modifies, so "
    "prep has no counterpart."
)
KINDS = ("all", "pronoun", "proper", "nominal")
TABLE_2 = {  # percent right by the kind of mention
    "nearest": (27, 29, 29, 19),
    "same head word": (52, 47, 67, 40),
    "rules": (69, 70, 77, 60),
    "head": (65, 64, 73, 58),
}
TABLE_2_HEAD = "5-4"
TABLE_3 = {  # UAS in percent
    "right-branching": 26,
    "words + distances": 58,
    "attention + words, random encoder": 30,
    "attention": 61,
    "attention + words": 77,
}
NEURAL = {"system": "neural coreference (Wiseman et al. 2015)", "paper: all": "83*"}
STRUCTURAL = {"probe": "structural probe, UUAS (Hewitt and Manning 2019)", "paper": "80*"}
PREVIOUS_LAYERS, NEXT_LAYERS = (2, 4, 7, 8), (1, 2, 2, 3, 6)
"""Heads with over half of their attention on the previous or the next token (Section 3.1)."""
CLS_ENTROPY_LAST = 3.89
"""Entropy of attention from [CLS] in the last layer, in nats (Section 3.3)."""
SEPARATOR_LAYERS = (5 / 12, 10 / 12)
"""Layers 6–10 of 12, as shares of the model's depth (Section 3.2)."""
SPLIT_WORDS = 8
"""Percent of words that are split into pieces, about (Section 4.1)."""

# --- Notes under tables ---------------------------------------------------------------------------

RELATIONS = (
    "Accuracy in percent, with intervals by documents. The head of each row is the best of "
    "all on these words. Held out: heads and offsets were chosen on {chosen}; where two "
    "halves chose differently, both are named. Each head is compared with the best fixed "
    "offset by a paired, one-sided test by documents, corrected (Holm) over all heads, both "
    "directions and all relations."
)
HALVES = "one half of the documents and scored on the other, both ways"
ANTECEDENTS = (
    "Of the mentions that have an antecedent, the percentage whose head word attends most "
    "to the head word of an antecedent. Candidates are the head words of all earlier "
    "mentions. * The paper calls this row only roughly comparable: whole documents, and "
    "other mentions."
)
MENTION_TYPES = (
    "Intervals and one-sided, paired tests are by documents; p of the best head is "
    "corrected (Holm) over all heads. Held out: the head was chosen on one half of the "
    "documents and scored on the other, both ways."
)
PAIRS = (
    "The better probe's UAS minus the other's, in points, by a paired bootstrap over documents; p "
    "is two-sided, and corrected (Holm) over all pairs."
)
NOT_COMPARABLE = (
    "* Not directly comparable, says the paper: undirected trees, from the vectors of one layer."
)
FIGURE_1 = (
    "As in Figure 1: the model's clearest heads of four kinds, on the sentences around a paragraph "
    "break. The darker a line, the more attention; lines under 2 % are not drawn. The numbers are "
    "means over all segments, so a head may behave differently on this text. If the number is "
    "small, the model has no such head."
)
FIGURE_5 = (
    "As in Figure 5: {what}. Words whose attention counts are red, and so is all attention to and "
    "from them. The number is the head's accuracy on the whole corpus. The sentence is chosen: of "
    "the first 30 short ones (60 excerpts for coreference), the one on which the head does best. "
    "Lines to [CLS] and [SEP] show where words rest that the head has nothing to say about."
)


class Clark2019(PaperRecipe, Sampled):
    """What Does BERT Look At? Every table and figure, for any model.

    Gradients need a language-model head, which is loaded for a model that is given by name.
    Without data files it uses the built-in corpus.

    Parameters
    ----------
    text
        Segments of two paragraphs (Sections 3 and 6): text, TSV or JSON lines. At most 1000 are
        used, 200 for the distances.
    treebank
        Sentences with trees (Sections 4.2 and 5): CoNLL-U or CoNLL-X.
    coref
        Documents with coreference (Section 4.3): JSON lines, CoNLL-U with Entity=, CoNLL-2012
        columns, or a folder.
    train
        A treebank to train the probes on, and to choose heads and offsets on. Default: probes are
        trained on four fifths of the treebank; heads and offsets are chosen on each half of its
        documents and scored on the other half.
    vectors
        Word vectors for the probes: GloVe text, .npy with a vocabulary beside it, or glove for the
        wheel. Without them only the probes that need none are trained.
    epochs
        The most passes over the training sentences for a probe.
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

    paper: ClassVar[Paper] = PAPERS["clark2019"]
    heads: ClassVar[tuple[str, str] | None] = ("12 × 12", "in the paper (BERT base)")
    panel: ClassVar[str] = "Data"

    text: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    treebank: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    coref: Annotated[CorpusLike, Option(metavar="FILE", completes="corpora")] = "demo"
    train: Annotated[CorpusLike | None, Option(metavar="FILE")] = None
    vectors: Annotated[AnyPath | None, Option(metavar="FILE")] = None
    epochs: Annotated[int, Option(least=1, name="number of epochs")] = 20
    special: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.vectors is not None and any(part.name == "probes" for part in self.chosen):
            check_vectors(self.vectors)
        _ = self.texts, self.trees, self.documents, self.trained_on

    @cached_property
    def texts(self) -> Corpus:
        """The text, read."""
        return read(self.text)

    @cached_property
    def segments(self) -> Corpus:
        """The segments of Section 3."""
        return self.drawn(self.texts, self.at_most(SEGMENTS))

    @cached_property
    def trees(self) -> Corpus:
        """The treebank, read."""
        return read(self.treebank)

    @cached_property
    def documents(self) -> Corpus:
        """The documents with coreference, read."""
        return self.drawn(read_documents(self.coref), self.limit)

    @cached_property
    def trained_on(self) -> Corpus | None:
        """The other treebank, read, if there is one."""
        return None if self.train is None else by_sentence(self.drawn(read(self.train), self.limit))

    def facts(self) -> list[tuple[str, str]]:
        """The number of segments."""
        seen = self.about.get("surface", {}).get("counts", {}).get("seen")
        return [] if seen is None else [(str(seen), "segments")]

    def missing(self, result: str) -> str | None:
        """A claim whose part could not run is listed if the part was asked for."""
        wanted = "surface" in self.results and any(one.name == "gradients" for one in self.chosen)
        if result == "gradient" and wanted:
            return "gradients could not be computed (see What is missing)"
        return None

    def encoded(self, corpus: Corpus, limit: int | None = None) -> Iterator[Encoded]:
        """A corpus as tokens, without a forward pass."""
        model = self.model_loaded
        longest = min(self.max_length, model.longest or self.max_length)
        encoder = model.encoder(max_length=longest, long="truncate", stack=model.main_stack())
        yield from encoder.encode(islice(corpus, limit))

    def split_share(self, corpus: Corpus) -> float:
        """The share of words that the tokenizer splits into pieces; NaN without words."""
        pieces = [
            np.unique(item.word[item.word >= 0], return_counts=True)[1]
            for item in self.encoded(corpus)
        ]
        words = np.concatenate([*pieces, np.zeros(0, int)])
        return float(np.mean(words > 1)) if words.size else float("nan")

    @cached_property
    def surfaces(self) -> Atlas:
        """The survey of surface patterns."""
        names = ["position", "special", "entropy", "peak"]
        return self.survey("surface", self.segments, names, limit=self.at_most(SEGMENTS))

    @cached_property
    def uniform(self) -> float:
        """The share that [SEP] would get if attention were uniform; NaN without a [SEP]."""
        causal, shares = self.model_loaded.causal(self.model_loaded.main_stack()), []
        for item in self.encoded(self.segments, self.at_most(SEGMENTS)):
            separators = item.kind == SEPARATOR
            visible = np.cumsum(separators) / np.arange(1, len(item) + 1) if causal else separators
            shares.append(visible.mean())
        return float(np.mean(shares)) if any(shares) else float("nan")

    @part("surface", "Surface patterns", "Sections 3.1 to 3.3, Figures 1, 2 and 4")
    def surface(self) -> Section:
        """Surface patterns in numbers, and on one text."""
        results, counts = self.surfaces, self.surfaces.provenance["counts"]
        self.results["uniform"] = self.uniform
        text = (
            f"{counted(counts['seen'], 'segment')} of {short_corpus(self.segments.name)}, at most "
            f"{self.max_length} tokens each ({counts['truncated']:,} were cut). "
            f"{corpus_notes(self.segments)}"
        )
        position, entropy = gallery(results, "position", "entropy")
        table = Table(surface_rows(results), title="Surface patterns in numbers")
        plots = [*self.figure_1(results), position, *self.figure_2(results), entropy]
        return self.section("surface", text, [table], plots)

    def figure_1(self, results: Atlas) -> list[Plot]:
        """The clearest head of each kind on one short text."""
        from headscope.runs.examples import short_text

        texts, entropy = short_text(self.texts), results.mean("entropy")
        token = results.mean("special").sel(row="all")
        share = "{:.0f} % of its attention, on average"
        broad = entropy.sel(row="all") / entropy.sel(row="uniform")
        kinds = {
            "broad": (broad, "{:.0f} % of uniform entropy, on average"),
            "next token": (results.mean("position").sel(offset="next"), share),
            "[SEP]": (token.sel(token="sep"), share),
            "full stop, comma": (token.sel(token="punctuation"), share),
        }
        charts = []
        for kind, (values, words) in kinds.items():
            if texts is None or not bool(values.notnull().any()):
                continue
            head = heads_over(values, -1.0)[0]
            shown = texts if len(texts) == 2 else texts[0]
            seen = attention(self.model_loaded, shown, heads=str(head))
            number = 100 * float(values.sel(layer=head.layer + 1, head=head.head + 1))
            weights, under = seen.head(head).values, words.format(number)
            charts.append(head_lines(head, kind, seen.tokens, weights, under))
        return panel("figure-1", "Examples of surface patterns", FIGURE_1, charts)

    def figure_2(self, results: Atlas) -> list[Plot]:
        """Attention to special tokens, with the line that [SEP] would be at if it were uniform."""
        line = " Dotted: half of all attention, and the share of [SEP] if attention were uniform."
        both = gallery(results, "special", "from-sep")
        return [
            replace(plot, chart=draw(results, uniform=self.uniform), caption=plot.caption + line)
            for plot, draw in zip(both, (special, from_sep), strict=True)
        ]

    @part("gradients", "Gradient importance", "Section 3.2, Figure 3")
    def gradients(self) -> Section:
        """How much attention to special tokens matters."""
        try:
            model = self.with_head()
        except ModelError as error:
            raise UserError(f"Gradient importance (Figure 3): {error.message}") from None
        limit = self.at_most(SEGMENTS)
        results = self.survey("gradient", self.segments, ["gradient"], model=model, limit=limit)
        text = "How much the loss of the language model would change with attention to a token."
        return self.section("gradients", text, plots=gallery(results, "gradient"))

    @part("dependencies", "Dependency syntax", "Section 4.2, Table 1, Figure 5")
    def dependencies(self) -> Section:
        """The best head of every relation."""
        measure = measures.Dependency(stanford=is_universal(self.trees))
        drawn = self.drawn(self.trees, self.limit)
        source = by_sentence(drawn)
        # Sentences, where examples have several.
        limit = source.size() if self.limit else None
        results = self.survey("dependency", source, [measure], limit=limit)
        if self.special:
            again = measures.Dependency(stanford=measure.stanford, special=True)
            self.survey("dependency-special", source, [again], limit=limit)
        train, chosen = None, HALVES
        if self.trained_on:
            limit = self.trained_on.size() if self.limit else None
            train = self.survey("dependency-train", self.trained_on, [measure], limit=limit)
            chosen = short_corpus(self.trained_on.name)
        relations = self.results["relations"] = Relations(results, train)
        text = (
            f"{counted(results.provenance['counts']['seen'], 'sentence')} of "
            f"{short_corpus(drawn.name)}. The tokenizer splits "
            f"{100 * self.split_share(source):.1f} % of the words into pieces (paper: about "
            f"{SPLIT_WORDS} %). {corpus_notes(drawn)} "
            f"{interval_note(results['dependency'])}"
        )
        note = " ".join([RELATIONS.format(chosen=chosen), *relations.notes()])
        whole = records(for_people(best_heads(results, train=train), TREEBANK))
        tables = [
            Table(relations.table_1(), title="Table 1", note=note),
            Table(whole, title="All relations of the treebank"),
        ]
        plots = [*gallery(results, "dependencies"), *self.figure_5(results, relations)]
        return self.section("dependencies", text, tables, plots)

    def figure_5(self, results: Atlas, relations: Relations) -> list[Plot]:
        """The best heads at the paper's relations, then those that gain most at others."""
        table = best_heads(results)
        known = best_heads(results, relations=relations.known)
        paper = paper_specialists(known, relations.labels)
        further = further_specialists(table, [row["relation"] for row in paper])
        antecedents: list[Any] = []
        if any(part.name == "coreference" for part in self.chosen):
            with suppress(UserError):  # the part itself says why it cannot run
                antecedents = [self.antecedent_chart()]
        what = "the best heads at the paper's relations, and the coreference head"
        more = "heads that gain most over the fixed offset at other relations"
        title, charts = "Heads that find a relation", [*map(self.on_sentence, paper), *antecedents]
        others = [self.on_sentence(row) for row in further]
        return [
            *panel("figure-5", title, FIGURE_5.format(what=what), charts),
            *panel("further-heads", f"Further {title.lower()}", FIGURE_5.format(what=more), others),
        ]

    def on_sentence(self, row: Row) -> Any:
        """A head on the sentence that shows its relation best; None without one."""
        from headscope.runs.examples import relation_example, sentences

        head, relation, way = Head.parse(row["head"]), row["relation"], row["direction"]
        example = relation_example(
            self.model_loaded, sentences(self.trees), relation=relation, head=head, direction=way
        )
        under = "the dependent attends to its head word"
        if way != UP:
            under = "the head word attends to the dependent"
        title = f"{relation}, {100 * float(row['accuracy']):.1f} %"
        return example and head_lines(
            head, title, example.words, example.attention, under, example.marked
        )

    def antecedent_chart(self) -> Any:
        """The coreference head on an excerpt of a document; None without one."""
        from headscope.runs.examples import antecedent_example

        table = records(antecedent_table(self.coreferences))
        best = next((row for row in table if row["system"].startswith("head ")), None)
        if best is None:
            return None
        head = Head.parse(best["system"].removeprefix("head "))
        example = antecedent_example(self.model_loaded, self.documents, head=head)
        if example is None:
            return None
        title = f"coreference, {100 * float(best['all']):.1f} %"
        under = "mentions attend to their antecedents"
        return head_lines(head, title, example.words, example.attention, under, example.marked)

    @cached_property
    def coreferences(self) -> Atlas:
        """The survey of coreference."""
        return self.survey("coreference", self.documents, ["coreference"])

    @part("coreference", "Coreference", "Section 4.3, Table 2")
    def coreference(self) -> Section:
        """The best head at antecedents, beside simple systems."""
        results = self.coreferences
        text = (
            f"{counted(results.provenance['counts']['seen'], 'document')} of "
            f"{short_corpus(self.documents.name)}, cut to {self.max_length} tokens. "
            f"{corpus_notes(self.documents)} {interval_note(results['coreference'])}"
        )
        tables = [
            Table(table_2(antecedent_table(results)), title="Table 2", note=ANTECEDENTS),
            Table(mention_rows(results), title="By type of mention", note=MENTION_TYPES),
        ]
        return self.section("coreference", text, tables)

    @part("probes", "Probing combinations of heads", "Section 5, Table 3")
    def probes(self) -> Section:
        """Dependency probes on all heads together."""
        from headscope.papers.clark2019.parse import ProbeRun

        source = by_sentence(self.trees)
        both = (self.trained_on, source) if self.trained_on else split_treebank(source)
        train, dev = (self.drawn(corpus, self.limit) for corpus in both)
        vectors, missing = given_vectors(self.vectors, train, dev)
        run = ProbeRun(
            self.model_loaded,
            train,
            dev,
            vectors,
            seed=self.seed,
            epochs=self.epochs,
            folder=self.folder,
            reporter=self.reporter,
        )
        table = self.results["probes"] = run.table()
        self.about["probes"] = run.provenance(table.attrs)
        seen, unseen = table.attrs["train"], table.attrs["dev"]
        least = self.limit is not None and self.train is None
        most = f" Of each part, at most {self.limit:,} examples are used." if least else ""
        text = (
            f"Trained on {counted(seen['sentences'], 'sentence')} of {short_corpus(train.name)} "
            f"and tested on {unseen['sentences']:,} of {short_corpus(dev.name)}, without "
            f"punctuation.{most} Intervals come from a bootstrap over documents. The word maps "
            "take "
            f"{(seen['bytes'] + unseen['bytes']) / 1e6:.0f} MB on disk. {missing}"
        )
        tables = [Table(table_3(table), title="Table 3 (UAS, %)", note=NOT_COMPARABLE)]
        if pairs := table.attrs["pairs"]:
            compared = records(for_people(pd.DataFrame(pairs), PROBE_PAIRS))
            tables.append(Table(compared, title="Pairs of probes", note=PAIRS))
        return self.section("probes", text, tables)

    @part("clusters", "Clusters of heads", "Section 6, Figure 6")
    def clusters(self) -> Section:
        """Distances between heads, coloured by what the parts of this run found."""
        limit = self.at_most(DISTANCE_SEGMENTS)
        results = self.survey("distance", self.drawn(self.texts, limit), ["distance"], limit=limit)
        language = [name for name in ("dependency", "coreference") if name in self.results]
        sums = results.sums() | self.surfaces.sums()
        sums |= {name: self.results[name].sums()[name] for name in language}
        text = (
            "Mean Jensen–Shannon divergence between the rows of every pair of heads over "
            f"{results.provenance['counts']['seen']} segments, scaled to two dimensions (metric "
            f"MDS, seed {self.seed}). Behaviours come from the surface patterns"
            f"{''.join(f', {name}' for name in language)}."
        )
        whole = Atlas.build(sums, results.provenance)
        plots = gallery(whole, "heads-by-layer", "heads-by-behaviour")
        return self.section("clusters", text, plots=plots)


# --- Corpora --------------------------------------------------------------------------------------


def split_treebank(corpus: Corpus) -> tuple[Corpus, Corpus]:
    """Hold out every fifth example for testing; train on the other four fifths.

    Examples
    --------
    >>> from headscope.corpus import from_texts
    >>> train, test = split_treebank(from_texts(list("abcdef")))
    >>> [example.texts[0] for example in train], [example.texts[0] for example in test]
    (['a', 'b', 'c', 'd', 'f'], ['e'])
    """

    def share(name: str, keep: Callable[[int], bool]) -> Corpus:
        def source() -> Iterator[Example]:
            return (example for index, example in enumerate(corpus) if keep(index))

        return corpus.derived(name, source, name=f"{corpus.name} ({name})")

    return (
        share("all but every fifth", lambda index: index % 5 != 4),
        share("every fifth", lambda index: index % 5 == 4),
    )


def sentence_corpus(corpus: Corpus) -> Corpus:
    """Cut passages into sentences, one per example.

    Examples
    --------
    >>> len(list(sentence_corpus(read("demo", limit=1)))) > 1
    True
    """

    def source() -> Iterator[Example]:
        from headscope.runs.examples import sentences

        return iter(sentences(corpus))

    return corpus.derived("sentences", source)


def by_sentence(corpus: Corpus) -> Corpus:
    """The built-in corpus by sentence, as the paper scores trees; any other corpus as it is.

    Examples
    --------
    >>> next(iter(by_sentence(read("demo")))).id
    'news-01-0'
    """
    return sentence_corpus(corpus) if corpus.format == "builtin" else corpus


def is_universal(corpus: Corpus) -> bool:
    """Whether a treebank has Universal Dependencies: ``case`` in its first sentences, no ``pobj``.

    Examples
    --------
    >>> is_universal(read("demo"))  # the labels of the built-in corpus are spaCy's
    False
    """
    labels = {word.relation for example in islice(corpus, 500) for word in example.words}
    return "case" in labels and "pobj" not in labels


def given_vectors(given: str | Path | None, *corpora: Corpus) -> tuple[WordVectors | None, str]:
    """Read the word vectors of some corpora, or say which rows are missing without them.

    Examples
    --------
    >>> given_vectors(None)[1].split(":")[0]
    'No word vectors were given, so only the probes that need none were trained'
    """
    if given is None:
        return None, (
            "No word vectors were given, so only the probes that need none were trained: for the "
            f"others, type {INSTALL} and add --vectors glove (or name a GloVe file)."
        )
    words = (word.text for corpus in corpora for example in corpus for word in example.words)
    try:
        return read_vectors(given, only=forms(words)), ""
    except UserError as error:
        return None, (
            "Only the probes that need no word vectors were trained, because the vectors cannot be "
            f"read: {error.message}."
        )


def corpus_notes(corpus: Corpus) -> str:
    """Write the notes of a corpus as sentences."""
    return " ".join(map(as_sentence, corpus.notes))


# --- Tables ---------------------------------------------------------------------------------------


def hundred(share: float) -> float:
    """A share in percent."""
    return 100 * float(share)


def span(low: float, high: float) -> str:
    """The interval of a share, in percent."""
    return interval(100 * low, 100 * high, form="{:.1f}".format)


SPAN = Column("95 % interval", ("low", "high"), span)


def _offset(share: float, offset: object) -> str:
    return f"{100 * share:.1f} ({offset})" if offset != "" else MISSING


TREEBANK = (
    *("relation", Column("words", form=int), Column("best head", ("head",)), "direction"),
    *(Column("accuracy", form=hundred), SPAN, Column("held out", ("held_out",), hundred)),
    Column("held-out head", ("held_out_head",), lambda head: head or MISSING),
    Column("offset baseline", ("baseline", "offset"), _offset),
    Column("offset held out", ("held_out_baseline", "held_out_offset"), _offset),
    *(Column("p", form=float), Column("p (Holm)", ("p_corrected",), float)),
)
IN_TABLE_1 = {  # the columns of Table 1 that are called otherwise above
    "here: label": "relation",
    "words": "words",
    "here: head": "best head",
    "direction": "direction",
    "here: accuracy": "accuracy",
    "95 % interval": "95 % interval",
    "here: held out": "held out",
    "held-out head": "held-out head",
    "here: offset baseline": "offset baseline",
    "offset held out": "offset held out",
    "p (Holm)": "p (Holm)",
}
MENTIONS = (
    *(Column("type", ("kind",)), Column("mentions", form=int), "system"),
    *(Column("right (%)", ("accuracy",), hundred), SPAN, "p over *"),
)
PROBE_PAIRS = (
    Column("pair", ("probe", "other"), lambda one, other: f"{one} minus {other}"),
    Column("difference", form=partial(decimals, places=1, sign="+", times=100)),
    *(SPAN, "p", Column("p (Holm)", ("p_corrected",))),
)


def surface_rows(results: Atlas) -> list[Row]:
    """The numbers of Sections 3.1 to 3.3."""
    position, entropy = results.mean("position"), results.mean("entropy")
    last = int(entropy["layer"].max())
    cells: list[tuple[Any, ...]] = []
    for where, layers in (("previous", PREVIOUS_LAYERS), ("next", NEXT_LAYERS)):
        heads = heads_over(position.sel(offset=where), 0.5)
        what = f"heads with over half of their attention on the {where} token"
        places = ", ".join(map(str, layers))
        cells.append((what, len(layers), len(heads), places, ", ".join(map(str, heads)) or "none"))
    from_cls = f"{float(entropy.sel(row='cls', layer=last).mean('head')):.2f}"
    what = "entropy from [CLS] in the last layer (nats)"
    cells.append((what, str(CLS_ENTROPY_LAST), from_cls, "12", f"layer {last}, mean of its heads"))
    means = results.mean("special").sel(row="all").mean("head")
    for token, words in (("cls", "[CLS]"), ("sep", "[SEP]"), ("punctuation", "full stop or comma")):
        values = means.sel(token=token)
        known = bool(values.notnull().any())
        here = f"{100 * float(values.max()):.1f}" if known else None
        strongest = f"layer {int(values.idxmax('layer'))}" if known else "–"
        paper = (">50", "6–10") if token == "sep" else (None, "")
        what = f"largest mean attention of a layer to {words} (%)"
        cells.append((what, paper[0], here, paper[1], strongest))
    columns = ("quantity", "paper", "here", "paper: layers", "here: where")
    return [dict(zip(columns, row, strict=True)) for row in cells]


class Relations:
    """The paper's relations in a treebank: their labels there, and their best heads.

    ``train`` is the survey of a training treebank, if heads were chosen there.
    """

    def __init__(self, results: Atlas, train: Atlas | None = None) -> None:
        names = {str(name) for name in results["dependency"]["relation"].values}
        self.has_case = "case" in names
        self.labels = {
            name: next((own for own in SAME_RELATION.get(name, (name,)) if own in names), None)
            for name in TABLE_1
        }
        self.known = [label for label in self.labels.values() if label]
        table = best_heads(results, relations=self.known, train=train) if self.known else None
        self.rows = {} if table is None else {row["relation"]: row for row in records(table)}
        shown = [] if table is None else records(for_people(table, TREEBANK))
        self.cells = {row["relation"]: row for row in shown}

    def table_1(self) -> list[Row]:
        """Table 1, with ours beside it."""
        rows = []
        for name, (head, accuracy, baseline, place) in TABLE_1.items():
            row: Row = {
                "relation": name,
                "paper: head": head,
                "paper: accuracy": accuracy,
                "paper: offset baseline": f"{baseline:.1f} ({place})",
            }
            cells = self.cells.get(self.labels[name] or "")
            if cells is None:
                row["here: label"] = "–"
            else:
                row |= {title: cells[key] for title, key in IN_TABLE_1.items()}
                row["difference"] = f"{cells['accuracy'] - accuracy:+.1f}"
            rows.append(row)
        return rows

    def notes(self) -> list[str]:
        """How relations were made from Universal Dependencies, and which has no counterpart."""
        notes = [f"{name}: {MADE[label]}." for name, label in self.labels.items() if label in MADE]
        return [*notes, *([NO_PREP] if self.labels["prep"] is None and self.has_case else [])]

    def tested(self) -> dict[str, Row]:
        """The relations with enough words, by the paper's names, "all" among them."""
        ours = {name: self.rows.get(label or "") for name, label in self.labels.items()}
        tested = {
            name: row
            for name, row in ours.items()
            if row and row["words"] >= LEAST and not np.isnan(row["held_out"])
        }
        if not set(tested) - {ALL}:
            raise Untested("no relation of the paper has 20 words")
        return tested


def table_2(table: pd.DataFrame) -> list[Row]:
    """Table 2: baselines, the best head, the head chosen on other mentions, and the counts."""
    rows: list[Row] = []
    for ours in records(table):
        system = str(ours["system"])
        is_head, is_count = system.startswith("head"), system == "mentions"
        row: Row = {"system": f"{system} (paper: head {TABLE_2_HEAD})" if is_head else system}
        published = TABLE_2.get("head" if is_head else system, (None,) * 4)
        for kind, number in zip(KINDS, published, strict=True):
            row[f"paper: {kind}"] = number
            row[f"here: {kind}"] = int(ours[kind]) if is_count else 100 * float(ours[kind])
        if not np.isnan(ours.get("low", np.nan)):
            row["95 % interval (all)"] = span(ours["low"], ours["high"])
        rows += [row, NEURAL] if system == "rules" else [row]
    return rows


def mention_rows(results: Atlas) -> list[Row]:
    """Percent right by system and type of mention, and for heads the p over each baseline."""
    scores = antecedent_scores(results)
    scores = scores[scores["mentions"] > 0]
    kinds = list(dict.fromkeys(scores["kind"]))
    by_type = scores.sort_values("kind", key=lambda kind: kind.map(kinds.index), kind="stable")
    return records(for_people(by_type, MENTIONS))


def table_3(table: pd.DataFrame) -> list[Row]:
    """Table 3: a probe that was not trained has only the published number."""
    rows: list[Row] = [STRUCTURAL]
    ours = {str(row["probe"]): row for row in records(table)}
    for probe, published in TABLE_3.items():
        row: Row = {"probe": probe, "paper": published}
        if score := ours.get(probe):
            uas = 100 * score["uas"]
            row |= {"here": uas, "95 % interval": span(score["low"], score["high"])}
            row |= {"difference": f"{uas - published:+.1f}", "parameters": int(score["parameters"])}
        rows.append(row)
    return rows


def paper_specialists(table: pd.DataFrame, labels: Mapping[str, str | None]) -> list[Row]:
    """The best heads at the relations of Figure 5, in its order, if the treebank has them."""
    ours = {row["relation"]: row for row in records(table)}
    wanted = [labels.get(name) for name in ("dobj", "det", "poss", "auxpass", "pobj")]
    return [ours[label] for label in wanted if label in ours]


def further_specialists(table: pd.DataFrame, drawn: Sequence[str], most: int = 6) -> list[Row]:
    """The heads that significantly gain most over the fixed offset at relations not drawn yet."""
    new = ~table["relation"].str.startswith(ALL) & ~table["relation"].isin(["punct", *drawn])
    gains = table.assign(gain=table["accuracy"] - table["baseline"])
    gains = gains[new & (table["p_corrected"] < 0.05)].sort_values("gain", ascending=False)
    return records(gains.head(most))


def head_lines(
    head: Head, what: str, words: Sequence[str], weights: Any, under: str, red: Any = ()
) -> Any:
    """A head's attention on a text, drawn as lines."""
    title = f"Head {head}: {what}"
    return attention_lines(
        words, weights, title=title, subtitle=under, red=red, widest=NARROW, between=NEAR
    )


def panel(name: str, title: str, caption: str, charts: Sequence[Any]) -> list[Plot]:
    """Several texts in one panel; nothing if none can be drawn."""
    drawn = [chart for chart in charts if chart is not None]
    if not drawn:
        return []
    return [Plot(name, title, caption, attention_panel(drawn, title=title, columns=2))]


# --- Claims: the text, its place, the published number, and the rule that decides here ------------

claim = Clark2019.claim


def is_low(head: Head, results: Atlas) -> bool:
    """Whether a head is in the lower half of the layers."""
    return sorted(results.layers).index(head.layer + 1) < len(results.layers) / 2


def over_half(surface: Atlas, offset: str) -> Verdict:
    """Whether some head has over half of its attention on a neighbour."""
    values = surface.mean("position").sel(offset=offset)
    if not bool(values.notnull().any()):
        raise Untested(f"the model does not see the {offset} token")
    heads = heads_over(values, 0.5)
    return Verdict(f"{named(heads)}; largest share {percent(float(values.max()))}", bool(heads))


@claim(
    "Section 3.1",
    "4 heads (layers 2, 4, 7, 8)",
    "at least one head does",
    ours="one head is enough",
)
def previous(surface: Atlas) -> Verdict:
    """Some heads put over half of their attention on the previous token."""
    return over_half(surface, "previous")


@claim(
    "Section 3.1",
    "5 heads (layers 1, 2, 2, 3, 6)",
    "at least one head does",
    ours="one head is enough",
)
def following(surface: Atlas) -> Verdict:
    """Some heads put over half of their attention on the next token."""
    return over_half(surface, "next")


@claim(
    "Section 3.1",
    "7 of 9 in layers 1–6",
    "more than half of them are in the lower half of the layers",
    ours="where earlier layers end",
)
def early(surface: Atlas) -> Verdict:
    """Heads on the previous or next token are mostly in earlier layers."""
    means = surface.mean("position")
    near = [heads_over(means.sel(offset=where), 0.5) for where in ("previous", "next")]
    heads = {head for several in near for head in several}
    if not heads:
        raise Untested("there are no such heads")
    low = sum(is_low(head, surface) for head in heads)
    return Verdict(f"{low} of {len(heads)} in the lower half", low > len(heads) / 2)


@claim("Section 3.1", MISSING, "more than half of the heads put under 10 % on it", ours="10 %")
def current(surface: Atlas) -> Verdict:
    """Most heads put little attention on the current token."""
    shares = surface.mean("position").sel(offset="current").values.ravel()
    little = int((shares < 0.1).sum())
    return Verdict(f"{little} of {shares.size} heads under 10 %", little > shares.size / 2)


def separators(surface: Atlas) -> tuple[xr.DataArray, xr.DataArray, int]:
    """Means over heads, those to [SEP], and the layer with the most attention to it."""
    means = surface.mean("special").mean("head")
    shares = means.sel(token="sep", row="all")
    if not bool(shares.notnull().any()):
        raise Untested("the model has no [SEP]")
    return means, shares, int(shares.idxmax("layer"))


@claim(
    "Section 3.2, Figure 2",
    "over 50 %; 1.6 % (1/64) if uniform",
    "in every layer at this depth, the mean over heads is over 50 %",
    ours="the same depth, where there are not 12 layers",
)
def separator(surface: Atlas, uniform: float) -> Verdict:
    """Over half of the attention in layers 6–10 is on [SEP]."""
    _, shares, _ = separators(surface)
    depths = (np.arange(shares.size) + 0.5) / shares.size
    inside = shares[(depths > SEPARATOR_LAYERS[0]) & (depths < SEPARATOR_LAYERS[1])]
    if not inside.size:
        raise Untested("the model has too few layers")
    least, layer = float(inside.min()), int(inside.idxmin("layer"))
    first, last = int(inside["layer"][0]), int(inside["layer"][-1])
    text = f"layers {first}–{last}: at least {percent(least)} (layer {layer})"
    return Verdict(f"{text}; {percent(uniform)} if uniform", least > 0.5)


@claim(
    "Section 3.2, Figure 2",
    "layers 6–10",
    "in some layer, the mean over heads is over 50 %",
    ours="any layer",
)
def some_separator(surface: Atlas) -> Verdict:
    """In some layer, over half of the attention is on [SEP]."""
    _, shares, layer = separators(surface)
    most = float(shares.max())
    return Verdict(f"{percent(most)} in layer {layer}", most > 0.5)


@claim(
    "Figure 2",
    MISSING,
    "the layers with the most attention to each come in this order",
    ours="one layer stands for each",
)
def order(surface: Atlas) -> Verdict:
    """Early heads attend to [CLS], middle heads to [SEP], deep heads to full stops and commas."""
    means = separators(surface)[0].sel(row="all")
    if not bool(means.notnull().any("layer").all()):
        raise Untested("the model has no [CLS], or the text no full stops and commas")
    layers = [int(means.sel(token=token).idxmax("layer")) for token in means["token"].values]
    return Verdict(f"layers {', '.join(map(str, layers))}", layers[0] < layers[1] < layers[2])


@claim(
    "Section 3.2, Figure 2",
    "over 90 %",
    "in the layer with the most attention to [SEP], [SEP] itself puts over 90 % on [SEP]",
    ours="this layer",
)
def from_separator(surface: Atlas) -> Verdict:
    """[SEP] attends almost entirely to [SEP]."""
    means, _, layer = separators(surface)
    itself = float(means.sel(token="sep", row="sep", layer=layer))
    return Verdict(f"{percent(itself)} in layer {layer}", itself > 0.9)


@claim(
    "Section 3.2, Figure 3",
    "from layer 5 on",
    "over layers, the two correlate negatively (Spearman, one-sided p < 0.05)",
    ours="this test",
)
def no_op(surface: Atlas, gradient: Atlas) -> Verdict:
    """Gradients for attention to [SEP] become small where attention to [SEP] becomes high."""
    shares = surface.mean("special").sel(token="sep", row="all").mean("head")
    size = gradient.mean("gradient").sel(token="sep").mean("head")
    if shares.size < 3 or not bool((shares.notnull() & size.notnull()).all()):
        raise Untested("the model has no [SEP], or fewer than three layers")
    rho, p = spearmanr(shares.values, size.values, alternative="less")
    text = f"Spearman {rho:+.2f} over {shares.size} layers, p {p_value(p)}"
    return Verdict(text, bool(rho < 0 and p < 0.05))


def broad_heads(surface: Atlas) -> tuple[xr.DataArray, list[Head]]:
    """Each head's share of uniform entropy, and the heads that are broad."""
    entropy = surface.mean("entropy")
    ratio = entropy.sel(row="all") / entropy.sel(row="uniform")
    return ratio, heads_over(ratio, BROAD)


@claim(
    "Section 3.3, Figure 4",
    "layer 1",
    "a head in the lower half of the layers has over 90 % of uniform entropy",
    ours="90 %",
)
def some_broad(surface: Atlas) -> Verdict:
    """Some heads in lower layers attend very broadly."""
    heads = broad_heads(surface)[1]
    low = sorted(head for head in heads if is_low(head, surface))
    more = f", {len(heads)} in all" if len(heads) > len(low) else ""
    return Verdict(f"{named(low)} in the lower half{more}", bool(low))


@claim(
    "Section 3.3",
    "10 %",
    "their largest weight is at most 10 %, averaged over tokens and heads",
    ours="the average",
)
def at_most(surface: Atlas) -> Verdict:
    """Such heads put at most 10 % of their attention on any single word."""
    if "peak" not in surface.measures:
        raise Untested("the measure peak was not asked for")
    peaks = surface.mean("peak").sel(peak="weight").where(broad_heads(surface)[0] > BROAD)
    if not bool(peaks.notnull().any()):
        raise Untested("there are no such heads")
    mean = float(peaks.mean())
    text = f"{percent(mean)} (single heads: at most {percent(float(peaks.max()))})"
    return Verdict(text, mean <= 0.1)


@claim(
    "Section 3.3",
    "3.89 nats, 80 % of uniform (ln 128)",
    "its entropy is at least 80 % of uniform",
    ours="a share of uniform instead of nats",
)
def last_cls(surface: Atlas) -> Verdict:
    """In the last layer, [CLS] attends very broadly."""
    entropy = surface.mean("entropy")
    entropy = entropy.sel(layer=int(entropy["layer"].max())).mean("head")
    from_cls = float(entropy.sel(row="cls"))
    if np.isnan(from_cls):
        raise Untested("the model has no [CLS]")
    share = from_cls / float(entropy.sel(row="uniform"))
    text = f"{from_cls:.2f} nats, {percent(share)} of uniform"
    return Verdict(text, share >= CLS_ENTROPY_LAST / np.log(128))


@claim(
    "Section 4.1, footnote 3",
    MISSING,
    "for more than half of the heads, accuracy over all words changes by less than 1 point",
    ours="1 point",
)
def footnote(dependency: Atlas, dependency_special: Atlas) -> Verdict:
    """Ignoring [SEP] and [CLS] does not significantly change the accuracies of most heads."""
    where = {"relation": ALL, "words": "every", "direction": UP}
    both = (dependency, dependency_special)
    before, after = (atlas["dependency"]["mean"].sel(where).values for atlas in both)
    change = np.abs(after - before)
    if np.isnan(change).all():
        raise Untested("there are no words")
    little = int((change < 0.01).sum())
    text = f"{little} of {change.size} heads; median change {100 * np.nanmedian(change):.1f} points"
    return Verdict(text, little > change.size / 2)


def ends(row: Row) -> tuple[float, float]:
    """The interval of a held-out accuracy."""
    return float(row["held_out_low"]), float(row["held_out_high"])


def between(low: float, high: float) -> str:
    """The ends of an interval of shares, in percent."""
    return f"{100 * low:.1f} to {100 * high:.1f}"


@claim(
    "Section 4.2, Table 1",
    "34.5 % (offset 26.3 %)",
    "the best head gets under 50 % of all words (held out)",
    ours="50 %",
)
def no_parser(relations: Relations) -> Verdict:
    """No single head does well at syntax overall."""
    row = relations.tested().get(ALL)
    if row is None:
        raise Untested("there are too few words")
    (low, high), base = ends(row), percent(row["held_out_baseline"])
    text = f"{percent(row['held_out'])} ({between(low, high)}; offset {base})"
    return judged(text, [(-high, -low)], least=-0.5)


@claim(
    "Section 1, Table 1",
    "dobj 86.8, det 94.3, pobj 76.3, poss 80.5 %",
    "each of the four is over 75 % (held out)",
)
def over_75(relations: Relations) -> Verdict:
    """Heads find direct objects, determiners, objects of prepositions and possessives."""
    tested, wanted = relations.tested(), ("dobj", "det", "pobj", "poss")
    if missing := [name for name in wanted if name not in tested]:
        raise Untested(f"{', '.join(missing)}: fewer than 20 words")
    spans = {name: ends(tested[name]) for name in wanted}
    numbers = [
        f"{name} {100 * tested[name]['held_out']:.1f} ({between(*both)})"
        for name, both in spans.items()
    ]
    return judged(f"{', '.join(numbers)} %", list(spans.values()), least=0.75)


@claim(
    "Section 4.2, Table 1",
    "7 of 14 relations by over 20 points",
    "for at least one relation the gain is over 20 points (held out), with p < 0.05 (Holm)",
    ours="20 points, one relation",
)
def specialise(relations: Relations) -> Verdict:
    """Certain heads specialise in a relation and substantially outperform the offset."""
    single = {name: row for name, row in relations.tested().items() if name != ALL}
    gains = {
        name: float(row["held_out"] - row["held_out_baseline"])
        for name, row in single.items()
        if row["p_corrected"] < 0.05
    }
    large = [name for name, gain in gains.items() if gain > 0.2]
    text = f"{len(large)} of {len(single)} relations by over 20 points"
    if gains:
        most = max(gains, key=lambda name: gains[name])
        text += f"; most for {most}, {100 * gains[most]:+.1f}"
    return Verdict(text, bool(large))


@claim("Section 4.2", "13 of 13", "so it is for each relation but pobj")
def direction(relations: Relations) -> Verdict:
    """In Table 1 the dependent attends to its head word, except for pobj."""
    others = {name: row for name, row in relations.tested().items() if name not in (ALL, "pobj")}
    if not others:
        raise Untested("no relation but pobj has 20 words")
    against = [name for name, row in others.items() if row["direction"] != UP]
    text = f"{len(others) - len(against)} of {len(others)}"
    return Verdict(text + (f", not {', '.join(against)}" if against else ""), not against)


@claim(
    "Section 4.2, Table 1",
    "6 of 14 by under 10 points",
    "for at least a third of the relations the gain is under 10 points (held out)",
    ours="10 points, a third",
)
def slight(relations: Relations) -> Verdict:
    """For many relations, heads only slightly improve over the simple baseline."""
    tested = {name: row for name, row in relations.tested().items() if name != ALL}
    gains = [row["held_out"] - row["held_out_baseline"] for row in tested.values()]
    few = sum(gain < 0.1 for gain in gains)
    return Verdict(f"{few} of {len(gains)} by under 10 points", few >= len(gains) / 3)


def points(gain: float, low: float, high: float) -> str:
    """A difference of shares and its interval, in points."""
    return f"{100 * gain:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def gains_over(coreference: Atlas, baseline: str) -> dict[str, tuple[float, float, float]]:
    """What the head chosen on other mentions gains over a baseline, with intervals, by kind."""
    table = {str(row["system"]): row for row in records(antecedent_table(coreference))}
    chosen = next((row for name, row in table.items() if name.startswith("held out")), None)
    if chosen is None or np.isnan(chosen["all"]):
        raise Untested("there are too few documents to choose a head on one half")
    gains = antecedent_gains(coreference, baseline=baseline)
    return _by_kind(gains) | {"accuracy": (chosen["all"], table[baseline]["all"], np.nan)}


def _by_kind(numbers: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """A number of each kind of mention, with the ends of its interval."""
    cells = zip(numbers.index, numbers.to_numpy(float), strict=True)
    return {str(kind): (value, low, high) for kind, (value, low, high) in cells}


def over(coreference: Atlas, baseline: str, least: float) -> Verdict:
    """Whether the head that was chosen apart gains at least so much over a baseline."""
    gains = gains_over(coreference, baseline)
    (gain, low, high), (ours, other, _) = gains["all"], gains["accuracy"]
    text = f"{100 * ours:.1f} against {percent(other)}: {points(gain, low, high)}"
    return judged(text, [(low, high)], least=least)


@claim(
    "Section 4.3, Table 2",
    "65 against 52 %",
    "the gain over the same head word is over 10 points (held out)",
)
def over_strings(coreference: Atlas) -> Verdict:
    """A head finds antecedents over 10 points better than string matching."""
    return over(coreference, "same head word", 0.1)


@claim(
    "Section 4.3, Table 2",
    "65 against 69 %",
    "it is at most 5 points below the rules (held out)",
    ours="5 points",
)
def near_rules(coreference: Atlas) -> Verdict:
    """It is close to the rule-based system."""
    return over(coreference, "rules", -0.05)


@claim(
    "Section 4.3, Table 2",
    "18 points over the same head word; pronouns 17, proper names 6",
    "the gain over the same head word is largest for nominal mentions (held out)",
    ours="comparing gains",
)
def nominal(coreference: Atlas) -> Verdict:
    """It is particularly good with nominal mentions."""
    gains = gains_over(coreference, "same head word")
    kinds = ("nominal", "pronoun", "proper")
    if any(np.isnan(gains.get(kind, (np.nan,))[0]) for kind in kinds):
        raise Untested("some type of mention does not occur, or types are not known")
    text = ", ".join(f"{kind} {100 * gains[kind][0]:+.1f}" for kind in kinds)
    others = _by_kind(gain_differences(coreference, baseline="same head word", kind="nominal"))
    return judged(f"{text} points", [others[kind][1:] for kind in kinds[1:]], least=0.0)


def better(probes: pd.DataFrame, probe: str, *baselines: str) -> Verdict:
    """Whether a probe is 10 points above each of some baselines, by the paired bootstrap."""
    uas = {str(row["probe"]): 100 * float(row["uas"]) for row in records(probes)}
    if any(name not in uas for name in (probe, *baselines)):
        raise Untested("no word vectors were given")
    gains = {}
    for pair in probes.attrs.get("pairs", ()):
        gain, low, high = (float(pair[key]) for key in ("difference", "low", "high"))
        gains[pair["probe"], pair["other"]] = gain, low, high
        gains[pair["other"], pair["probe"]] = -gain, -high, -low
    if any((probe, name) not in gains for name in baselines):
        raise Untested("the probes were not tested on the same sentences")
    least = min(baselines, key=lambda name: gains[probe, name])
    others = ", ".join(f"{uas[name]:.1f}" for name in baselines)
    text = f"{uas[probe]:.1f} against {others} UAS: {points(*gains[probe, least])}"
    text += f" over {least}" if len(baselines) > 1 else ""
    return judged(text, [gains[probe, name][1:] for name in baselines], least=0.1)


@claim(
    "Section 5, Table 3",
    "61 UAS; right-branching 26",
    "at least 10 points above right-branching",
    ours="10 points",
)
def attention_only(probes: pd.DataFrame) -> Verdict:
    """Attention alone carries much syntax."""
    return better(probes, "attention", "right-branching")


@claim(
    "Section 5, Table 3",
    "77 against 58, 30 and 26 UAS",
    "at least 10 points above every baseline",
    ours="10 points",
)
def with_words(probes: pd.DataFrame) -> Verdict:
    """Attention and words together parse substantially better than the baselines."""
    others = ("words + distances", "attention + words, random encoder", "right-branching")
    return better(probes, "attention + words", *others)


@claim(
    "Section 6, Figure 6",
    MISSING,
    "the mean distance within layers is smaller than between layers (permutation test, p < 0.05)",
    ours="this test",
)
def within_layers(distance: Atlas, seed: int) -> Verdict:
    """Heads of one layer are close to each other."""
    close = layer_closeness(distance.mean("distance"), seed=seed)
    if np.isnan(close.p):
        raise Untested("one layer, or one head per layer, has nothing to compare")
    text = (
        f"{close.within:.3f} nats within, {close.between:.3f} between, p {p_value(close.p)} "
        f"({close.permutations:,} permutations)"
    )
    return Verdict(text, close.within < close.between and close.p < 0.05)
