"""The recipes of the papers, from the command line: one command each under ``headscope paper``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app
from headscope.errors import UserError, unknown

if TYPE_CHECKING:
    from headscope.papers import Workshop


class _Papers(TyperGroup):
    """Names the papers there are when another is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise unknown("paper", args[0], sorted(self.commands))
        return super().resolve_command(ctx, args)


paper = typer.Typer(
    cls=_Papers,
    no_args_is_help=True,
    help="Every table and figure of a paper, the published numbers beside ours.\n\nA stopped run goes on where it was when the same command is typed again.\n\n"
    "Example: headscope paper clark2019 --model bert-base-uncased --treebank en_ewt-ud-dev.conllu.gz",
)
app.add_typer(paper, name="paper")

_Model = Annotated[str, typer.Option("--model", help="A hub id, a model folder, or 'demo'.")]
_Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="The folder for page, figures and results. Default: PAPER-MODEL.",
        show_default=False,
    ),
]


@paper.command()
def clark2019(
    model: _Model = "demo",
    text: Annotated[
        str,
        typer.Option(
            "--text", metavar="FILE", help="Segments of two paragraphs: text, TSV or JSON lines."
        ),
    ] = "demo",
    treebank: Annotated[
        str, typer.Option("--treebank", metavar="FILE", help="CoNLL-U or CoNLL-X.")
    ] = "demo",
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="A treebank to train the probes on. Default: four fifths of --treebank.",
            show_default=False,
        ),
    ] = None,
    coref: Annotated[
        str,
        typer.Option(
            "--coref",
            metavar="FILE",
            help="Coreference: JSON lines, CoNLL-U with Entity=, or CoNLL-2012 columns.",
        ),
    ] = "demo",
    vectors: Annotated[
        str | None,
        typer.Option(
            "--vectors",
            metavar="FILE",
            help="Word vectors: GloVe text, .npy with a vocabulary, or 'glove' for the wheel.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(
            "--epochs", help="At most this many passes over the training sentences for a probe."
        ),
    ] = 20,
    output: _Output = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """What Does BERT Look At? Surface patterns, gradients, dependencies, coreference, probes, clusters.

    Without data files it runs on the built-in corpus.

    Example: headscope paper clark2019 --model bert-base-uncased --treebank en_ewt-ud-dev.conllu.gz
    """
    from headscope.corpus import read
    from headscope.papers import Clark2019

    console, shop = _shop(
        "clark2019",
        model,
        output,
        quiet,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
    )
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


@paper.command()
def pande2021(
    model: _Model = "demo",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus",
            metavar="FILE",
            help="A corpus (repeat for more). Default: the built-in one.",
            show_default=False,
        ),
    ] = None,
    tuned: Annotated[
        list[str] | None,
        typer.Option(
            "--tuned",
            metavar="MODEL",
            help="The model after fine-tuning: one for all corpora, or one for each (repeat).",
            show_default=False,
        ),
    ] = None,
    tau: opt.Tau = None,
    test: opt.Test = "z",
    correction: opt.Correction = "none",
    alpha: opt.Alpha = 0.05,
    role: opt.Roles = None,
    sieve: opt.Sieves = None,
    direction: opt.Direction = "to head",
    parser: opt.Parser = None,
    output: _Output = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """The heads hypothesis: which heads have which role, tested; overlaps, layers, and the shift by fine-tuning.

    Text without trees is parsed with spaCy, as in the paper. At most 1000 sequences of each corpus are used.

    Example: headscope paper pande2021 --model bert-base-uncased --corpus MRPC/dev.tsv --tuned my-mrpc-model
    """
    from headscope.corpus import read
    from headscope.measures import load_sieves
    from headscope.papers import Pande2021, corpus_names
    from headscope.stats import parse_tau

    thresholds = parse_tau(tau or ())
    console, shop = _shop(
        "pande2021",
        model,
        output,
        quiet,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
    )
    for file in sieve or ():
        console.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
    files = corpus or ["demo"]
    corpora = {
        name: read(file, parse_with=parser or "") if file != "demo" else read(file)
        for name, file in zip(corpus_names(files), files, strict=True)
    }
    recipe = Pande2021(
        model,
        shop,
        corpora,
        tuned=tuned or (),
        tau=thresholds,
        how={"test": test, "correction": correction, "alpha": alpha, "seed": seed},
        run_options={"roles": tuple(role or ()), "direction": direction},
    )
    console.result(str(recipe.run()))


@paper.command()
def kovaleva2019(
    model: _Model = "demo",
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="A GLUE task: mrpc, sts-b, sst-2, qqp, rte, qnli, mnli (repeat for more).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="GLUE files, FOLDER/RTE/train.tsv and so on (.gz too), or 'hub'.",
        ),
    ] = "hub",
    tuned: Annotated[
        Path | None,
        typer.Option(
            "--tuned",
            metavar="FOLDER",
            help="Where tuned models are, or go: FOLDER/TASK-START. Default: tuned/ in the output folder.",
            show_default=False,
        ),
    ] = None,
    frames: Annotated[
        str,
        typer.Option(
            "--frames",
            metavar="FILE",
            help="Frame links: JSON lines, 'framenet' for nltk's, or 'demo'.",
        ),
    ] = "demo",
    start: Annotated[
        list[str] | None,
        typer.Option(
            "--start",
            help="Columns of Table 1: pretrained, random, untrained (repeat). Default: all three.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="Passes over the training examples.")] = 3,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="The highest one, after warm-up.")
    ] = 5e-5,
    way: Annotated[
        str, typer.Option("--way", help="How a head is disabled: uniform, zero or mean.")
    ] = "uniform",
    parser: opt.Parser = None,
    output: _Output = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """Revealing the Dark Secrets of BERT: fine-tuning, pattern classes, frames, change, features, disabled heads.

    Models are tuned first (batches of 32), unless --tuned has them. --limit is of the dev examples that are looked at, never of training.

    Example: headscope paper kovaleva2019 --model bert-base-uncased --task mrpc --task rte --data glue
    """
    from headscope.corpus import read
    from headscope.errors import unknown
    from headscope.papers import Kovaleva2019
    from headscope.runs.tune import STARTS
    from headscope.tasks import find_task

    for name in start or ():
        if name not in STARTS:
            raise unknown("start", name, STARTS)
    tasks = [find_task(name) for name in dict.fromkeys(task or ())]
    console, shop = _shop(
        "kovaleva2019",
        model,
        output,
        quiet,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
    )
    recipe = Kovaleva2019(
        model,
        shop,
        tasks,
        data,
        frames=read(frames),
        tuned=tuned or shop.folder / "tuned",
        starts=start or STARTS,
        way=way,
        parser=parser or "",
        training={"epochs": epochs, "learning_rate": learning_rate, "max_length": max_length},
    )
    console.result(str(recipe.run()))


@paper.command()
def jo2020(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="A hub id, a model folder, or 'demo' (repeat for more). Default: demo.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            "--tasks",
            metavar="SOURCE",
            help="SentEval files, a folder of them, or a treebank (repeat for more). Default: made from the built-in corpus.",
            show_default=False,
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="Only this probing task (repeat for more).",
            show_default=False,
        ),
    ] = None,
    downstream: Annotated[
        list[str] | None,
        typer.Option(
            "--downstream",
            metavar="NAME",
            help="A GLUE task: mrpc, sts-b, sst-2 … (repeat for more).",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="GLUE files, FOLDER/MRPC/train.tsv and so on (.gz too), or 'hub'.",
        ),
    ] = "hub",
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            help="Fine-tune with so many seeds from each of last layer, best layer and top heads; 0: not at all.",
        ),
    ] = 5,
    tuned: Annotated[
        Path | None,
        typer.Option(
            "--tuned",
            metavar="FOLDER",
            help="Where tuned models are, or go. Default: tuned/ in the output folder.",
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[int, typer.Option("--epochs", help="Passes over the training examples.")] = 3,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", help="The highest one, after warm-up.")
    ] = 2e-5,
    position: Annotated[
        str | None,
        typer.Option(
            "--position",
            help="Where vectors are read: cls, last or mean. Default: what fits the model.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            "-n",
            metavar="N",
            help="How many of the best heads are put together. Default: as many as a layer has.",
            show_default=False,
        ),
    ] = None,
    solver: Annotated[
        str, typer.Option("--solver", help="exact, or rmsprop (as in the paper).")
    ] = "exact",
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Where vectors are kept. Default: vectors/ in the output folder.",
            show_default=False,
        ),
    ] = None,
    output: _Output = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            help="At most N examples of each split of a task, drawn at random (not for fine-tuning).",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 32,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
) -> None:
    """Roles and Utilization of Attention Heads: probing, heat maps, top heads, and fine-tuning from them.

    Without task files the ten probing tasks are made from the built-in corpus, in small.

    Example: headscope paper jo2020 --model bert-base-uncased --tasks senteval/probing --downstream mrpc --data glue
    """
    from headscope.papers import Jo2020
    from headscope.runs.probe.options import ProbeOptions
    from headscope.tasks import find_task
    from headscope.tasks.find import find_tasks

    if seeds < 0:
        raise UserError(f"the number of seeds must be 0 or more, got {seeds} instead")
    models = model or ["demo"]
    wanted = [find_task(name) for name in dict.fromkeys(downstream or ())]
    options = ProbeOptions(
        position=position,  # type: ignore[arg-type]
        n=n,
        max_length=max_length,
        batch_size=batch_size,
        solver=solver,  # type: ignore[arg-type]
        seed=seed,
        device=device,
    )
    console, shop = _shop(
        "jo2020",
        models[0],
        output,
        quiet,
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        max_length=max_length,
        device=device,
    )
    recipe = Jo2020(
        models,
        shop,
        find_tasks(tasks or ["demo"], only=task, limit=limit, seed=seed),
        wanted,
        data,
        tuned=tuned or shop.folder / "tuned",
        seeds=range(seed, seed + seeds),
        cache=cache or shop.folder / "vectors",
        options=options,
        training={"epochs": epochs, "learning_rate": learning_rate, "max_length": max_length},
    )
    console.result(str(recipe.run()))


def _shop(
    name: str, model: str, output: Path | None, quiet: bool, **options: Any
) -> tuple[Console, Workshop]:
    """The console and the folder of a recipe."""
    from headscope.files import check_writable, slug
    from headscope.papers import Options, Workshop

    console = Console(quiet=quiet)
    folder = output or Path(f"{name}-{slug(model)}")
    check_writable(folder / f"{name}.html")
    return console, Workshop(folder, console, Options(**options))
