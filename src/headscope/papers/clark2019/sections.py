"""The text and the tables of each section of the page."""

from __future__ import annotations

import pandas as pd

from headscope.corpus import Corpus
from headscope.figures.style import short_corpus
from headscope.page import Table
from headscope.papers.clark2019 import facts
from headscope.papers.clark2019.tables import (
    antecedent_rows,
    mention_rows,
    probe_pairs,
    probe_rows,
    relation_rows,
    treebank_rows,
)
from headscope.papers.sections import as_sentence, counted
from headscope.results import Atlas
from headscope.stats import interval_note

PAIRS = (
    "The better probe's UAS minus the other's, in points, by a paired bootstrap over documents; p "
    "is two-sided, and corrected (Holm) over all pairs."
)
STRUCTURAL = (
    "* Not directly comparable, says the paper: undirected trees, from the vectors of one layer."
)
RELATIONS = (
    "Accuracy in percent, with intervals by documents. The head of each row is the best of "
    "all on these words. Held out: heads and offsets were chosen on {chosen}; where two "
    "halves chose differently, both are named. Each head is compared with the best fixed "
    "offset by a paired, one-sided test by documents, corrected (Holm) over all heads, both "
    "directions and all relations."
)
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


def corpus_notes(corpus: Corpus) -> str:
    """Write the notes of a corpus as sentences."""
    return " ".join(map(as_sentence, corpus.notes))


def corpus_name(corpus: Corpus) -> str:
    """Name a corpus as figures do, without folders."""
    return short_corpus(corpus.name)


def surface_text(results: Atlas, segments: Corpus, *, max_length: int) -> str:
    """Say how many segments of which corpus were used."""
    counts = results.provenance["counts"]
    return (
        f"{counted(counts['seen'], 'segment')} of {corpus_name(segments)}, at most {max_length} "
        f"tokens each ({counts['truncated']:,} were cut). {corpus_notes(segments)}"
    )


def dependency_text(results: Atlas, treebank: Corpus, *, split_words: float) -> str:
    """Say how many sentences of which treebank were used, and how many words are split.

    Parameters
    ----------
    results
        A survey with the measure dependency.
    treebank
        The sentences.
    split_words
        The share of words that the tokenizer splits into pieces.

    Returns
    -------
    str
        A few sentences.
    """
    return (
        f"{counted(results.provenance['counts']['seen'], 'sentence')} of {corpus_name(treebank)}. "
        f"The tokenizer splits {100 * split_words:.1f} % of the words into pieces (paper: about "
        f"{facts.SPLIT_WORDS} %). {corpus_notes(treebank)} "
        f"{interval_note(results['dependency'])}"
    )


def dependency_tables(
    results: Atlas, train: Atlas | None = None, *, train_name: str = ""
) -> list[Table]:
    """Make Table 1, and the same for all relations of the treebank.

    Parameters
    ----------
    results
        A survey with the measure dependency.
    train
        The same of a training treebank, to choose heads and offsets on.
    train_name
        What that treebank is called.

    Returns
    -------
    list of Table
        Both tables.
    """
    chosen = train_name or "one half of the documents and scored on the other, both ways"
    rows, notes = relation_rows(results, train)
    note = " ".join([RELATIONS.format(chosen=chosen), *notes])
    return [
        Table(rows, title="Table 1", note=note),
        Table(treebank_rows(results, train), title="All relations of the treebank"),
    ]


def coreference_text(results: Atlas, documents: Corpus, *, max_length: int) -> str:
    """Say how many documents of which corpus were used."""
    return (
        f"{counted(results.provenance['counts']['seen'], 'document')} of {corpus_name(documents)}, "
        f"cut to {max_length} tokens. {corpus_notes(documents)} "
        f"{interval_note(results['coreference'])}"
    )


def coreference_tables(results: Atlas) -> list[Table]:
    """Make Table 2, and one row per system and type of mention."""
    return [
        Table(antecedent_rows(results), title="Table 2", note=ANTECEDENTS),
        Table(mention_rows(results), title="By type of mention", note=MENTION_TYPES),
    ]


def probe_text(table: pd.DataFrame, train: Corpus, dev: Corpus) -> str:
    """Say on how many sentences the probes were trained and tested.

    Parameters
    ----------
    table
        What :func:`headscope.papers.clark2019.parse.parse_probes` returned.
    train, dev
        The two corpora.

    Returns
    -------
    str
        A few sentences.
    """
    seen, unseen = table.attrs["train"], table.attrs["dev"]
    return (
        f"Trained on {counted(seen['sentences'], 'sentence')} of {corpus_name(train)} and tested "
        f"on {unseen['sentences']:,} of {corpus_name(dev)}, without punctuation. Intervals come "
        "from a bootstrap over documents. The word maps take "
        f"{(seen['bytes'] + unseen['bytes']) / 1e6:.0f} MB on disk."
    )


def probe_tables(table: pd.DataFrame) -> list[Table]:
    """Make Table 3, and one row per pair of probes."""
    tables = [Table(probe_rows(table), title="Table 3 (UAS, %)", note=STRUCTURAL)]
    pairs = table.attrs["pairs"]
    if pairs:
        tables.append(Table(probe_pairs(pairs), title="Pairs of probes", note=PAIRS))
    return tables
