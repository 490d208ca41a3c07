"""``headscope paper clark2019``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.paper import options as opt
from headscope.cli.paper.group import Common, recipe_command

if TYPE_CHECKING:
    from headscope.papers import Recipe

_DATA = "Data"


@recipe_command()
def clark2019(
    model: opt.Model = "demo",
    text: Annotated[
        str,
        typer.Option(
            "--text",
            metavar="FILE",
            help="Segments of two paragraphs: text, TSV or JSON lines.",
            rich_help_panel=_DATA,
        ),
    ] = "demo",
    treebank: Annotated[
        str,
        typer.Option(
            "--treebank",
            metavar="FILE",
            help="Sentences with trees: CoNLL-U or CoNLL-X.",
            rich_help_panel=_DATA,
        ),
    ] = "demo",
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="A treebank to train the probes on, and to choose heads and offsets on. Default: "
            "four fifths of --treebank for probes, each half in turn for heads and offsets.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None,
    coref: Annotated[
        str,
        typer.Option(
            "--coref",
            metavar="FILE",
            help="Coreference: JSON lines, CoNLL-U with Entity=, CoNLL-2012 columns, or a folder.",
            rich_help_panel=_DATA,
        ),
    ] = "demo",
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors",
            metavar="FILE",
            help="Word vectors: GloVe text, .npy with a vocabulary, or 'glove' for the wheel.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int, typer.Option("--epochs", help="The most passes over the training data of a probe.")
    ] = 20,
    sample: opt.Sample = "random",
    special: Annotated[
        bool,
        typer.Option(
            "--special",
            help="Score the treebank a second time with special tokens as candidates (footnote 3).",
        ),
    ] = False,
    *,
    common: Common,
) -> Recipe:
    """What Does BERT Look At? Surface patterns, gradients, syntax, coreference, probes, clusters.

    Without data files it uses the built-in corpus.

    Example: headscope paper clark2019 --model bert-base-uncased --part dependencies
    """
    from headscope.corpus import read, read_documents
    from headscope.corpus.vectors import check_vectors
    from headscope.errors import unknown
    from headscope.papers import find_paper

    find_paper("clark2019").choose(common.part)
    if sample not in ("random", "first"):
        raise unknown("sample", sample, ("random", "first"))
    if vectors is not None:
        check_vectors(vectors)
    segments, trees = read(text), read(treebank)
    documents = read_documents(coref)
    training = read(train) if train else None
    from headscope.papers import Clark2019

    return Clark2019(
        model,
        text=segments,
        treebank=trees,
        coref=documents,
        train=training,
        vectors=vectors,
        epochs=epochs,
        sample="first" if sample == "first" else "random",
        special=special,
        **common.options,
    )
