"""The recipes of the papers, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app


@app.command()
def paper(
    name: Annotated[str, typer.Argument(metavar="PAPER", help="clark2019", show_default=False)],
    model: Annotated[str, typer.Option("--model", help="A hub id, a model folder, or 'demo'.")] = "demo",
    text: Annotated[str, typer.Option("--text", metavar="FILE", help="Segments of two paragraphs: text, TSV or JSON lines.")] = "demo",
    treebank: Annotated[str, typer.Option("--treebank", metavar="FILE", help="CoNLL-U or CoNLL-X.")] = "demo",
    train: Annotated[str | None, typer.Option("--train", metavar="FILE", help="A treebank to train the probes on. Default: four fifths of --treebank.", show_default=False)] = None,
    coref: Annotated[str, typer.Option("--coref", metavar="FILE", help="Coreference: JSON lines, CoNLL-U with Entity=, or CoNLL-2012 columns.")] = "demo",
    vectors: Annotated[
        str | None, typer.Option("--vectors", metavar="FILE", help="Word vectors: GloVe text, .npy with a vocabulary, or 'glove' for the wheel.", show_default=False)
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="At most this many passes over the training sentences for a probe.")] = 20,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder for page, figures and results. Default: PAPER-MODEL.", show_default=False)] = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """Every table and figure of a paper, the published numbers beside ours.

    Without data files it runs on the built-in corpus. A stopped run goes on where it was when the same command is typed again.

    Example: headscope paper clark2019 --model bert-base-uncased --treebank en_ewt-ud-dev.conllu.gz
    """
    from headscope.cli.surveys import slug
    from headscope.errors import unknown
    from headscope.papers import PAPERS, Clark2019, Options, Workshop

    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    from headscope.corpus import read
    from headscope.results import check_writable

    console = Console(quiet=quiet)
    folder = output or Path(f"{name}-{slug(model)}")
    check_writable(folder / f"{name}.html")
    shop = Workshop(folder, console, Options(limit=limit, seed=seed, batch_size=batch_size, max_length=max_length, device=device))
    recipe = Clark2019(
        model,
        shop,
        text=read(text),
        treebank=read(treebank),
        coref=read(coref, documents=coref != "demo" and ".conll" in coref),
        train=read(train) if train else None,
        vectors=vectors,
        epochs=epochs,
    )
    console.result(str(recipe.run()))
