"""Pattern classes from the command line (Kovaleva et al. 2019, §4.1): shares, all maps of one
example, and how good the network is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.pattern_shares import draw_shares, open_shares, show_shares
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    import pandas as pd

    from headscope.measures.patterns.labels import Labelled
    from headscope.measures.patterns.training import Report

USAGE = (
    'headscope patterns RESULTS..., headscope patterns MODEL "A sentence.", headscope '
    "patterns MODEL --corpus FILE, or headscope patterns --check"
)
Network = Annotated[
    Path | None,
    typer.Option(
        "--network",
        metavar="FILE",
        help="A network of your own, from 'headscope label --retrain'. Default: the one that "
        "comes with Headscope.",
        show_default=False,
    ),
]


@app.command(rich_help_panel=MEASURE)
def patterns(
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RESULTS... | MODEL [TEXT]",
            help="Results files (.nc) with the measure pattern; or a model and a sentence.",
            show_default=False,
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="TEXT", help="A second text, for a pair.", show_default=False
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            metavar="FILE",
            help="With a model: survey this corpus first ('demo' for the built-in one).",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="How well the network does on labelled maps that it was not trained on."
        ),
    ] = False,
    network: Network = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="MODEL TEXT: the picture (.png, .svg, .pdf, .html). With --corpus: the results "
            "file (.nc). Else: a folder for the figures.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="Of the figures in a folder: png, svg, pdf or html.")
    ] = "png",
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Class maps by pattern: vertical, diagonal, block … (Kovaleva et al. 2019, Figure 2).

    From results: the share of each class, over all heads and by layer. From a model and a sentence:
    a picture of every map with its class.

    Example: headscope patterns demo "The dog that I saw barked." -o dog.png && headscope patterns
    mrpc.nc qqp.nc -o figures
    """
    from headscope.errors import UserError

    console = Console(quiet=quiet, as_json=json)
    names = given or []
    files = [name.endswith(".nc") for name in names]
    if check and not (names or corpus):
        _check(console, network, output, format)
    elif names and all(files) and not (check or corpus or pair):
        opened = open_shares([Path(name) for name in names])
        show_shares(console, opened)
        if output:
            draw_shares(console, opened, output, format)
    elif len(names) == 1 and not any(files) and corpus and not (check or pair):
        _survey(
            console,
            names[0],
            corpus,
            network,
            output,
            {"device": device},
            overwrite,
            {"limit": limit, "seed": seed, "batch_size": batch_size, "max_length": max_length},
        )
    elif len(names) == 2 and not any(files) and not (check or corpus):
        _grid(
            console,
            names[0],
            tuple(names[1:]) + ((pair,) if pair else ()),
            network,
            output or Path("patterns.png"),
            max_length,
            device,
        )
    else:
        raise UserError(
            "results files, or a model with one text or --corpus, or --check are expected, and "
            "only one of them; got " + (" ".join(names) or "nothing") + " instead",
            hint=USAGE,
        )


def _survey(
    console: Console,
    model: str,
    corpus: str,
    network: Path | None,
    output: Path | None,
    load: dict[str, Any],
    overwrite: bool,
    run: dict[str, Any],
) -> None:
    """Survey a corpus for pattern classes alone, with any network, and tell the shares."""
    from headscope.files import check_writable, slug

    output = output or Path(f"{slug(model)}-{slug(corpus)}-patterns.nc")
    check_writable(output)
    with console.status("loading libraries and model"):
        import headscope as hs

        classes = hs.Pattern(network)
        texts, loaded = hs.corpus.read(corpus), hs.load(model, **load)
    results = hs.survey(
        loaded,
        texts,
        measures=classes,
        examples=0,
        output=output,
        overwrite=overwrite,
        progress=console,
        **run,
    )
    show_shares(console, {output.stem: results})
    console.result(str(output))


def _grid(
    console: Console,
    model: str,
    texts: tuple[str, ...],
    network: Path | None,
    output: Path,
    max_length: int,
    device: str,
) -> None:
    """Draw every map of one example, and list their classes."""
    from headscope.files import check_writable

    check_writable(output)
    with console.status("loading libraries and model"):
        from headscope.corpus import Example
        from headscope.figures.patterns.grid import pattern_grid
        from headscope.figures.save import save_chart
        from headscope.labelling import example_maps
        from headscope.measures.patterns.labels import pack
        from headscope.measures.patterns.network import SHIPPED, load_network
        from headscope.measures.patterns.training import predict
        from headscope.models import load

        chosen = load_network(network or SHIPPED)
        loaded = load(model, device=device)
    seen = example_maps(loaded, Example("text", texts), max_length=max_length)
    found = [predict(chosen, [pack(one) for one in layer]) for layer in seen.maps]
    numbers = loaded.shape(loaded.main_stack()).labels
    if console.as_json:
        console.table(
            [
                {"layer": layer, "head": head, "pattern": name}
                for layer, names in zip(numbers, found, strict=True)
                for head, name in enumerate(names, 1)
            ]
        )
    with console.status("drawing"):
        chart = pattern_grid(
            seen.maps,
            found,
            title=f"Every map of {loaded.name.rstrip('/').rsplit('/', 1)[-1]}, by pattern class",
            subtitle=" | ".join(texts),
            numbers=numbers,
        )
        console.result(str(save_chart(chart, output)))


def _check(console: Console, network: Path | None, output: Path | None, format: str) -> None:
    """The held-out report of the built-in labelled set."""
    from headscope.measures.patterns.labels import read_labelled
    from headscope.measures.patterns.network import SHIPPED, load_network
    from headscope.measures.patterns.training import evaluate

    labelled = read_labelled()
    held = labelled.part(split="test")
    report = evaluate(load_network(network or SHIPPED), held)
    tables = check_tables(labelled, report.predicted)
    mean = tables["class"].iloc[-1]
    told = (
        f"macro-F1 {report.f1:.3f} ({mean['low']:.3f}–{mean['high']:.3f}), "
        f"accuracy {report.accuracy:.3f}"
    )
    console.say(
        f"{told} on {len(held)} held-out maps of {len(labelled)} (published: F1 0.86 on about 400 "
        "maps)"
    )
    show_report(console, report)
    if not console.as_json:
        for name, table in tables.items():
            console.frame(table, title=f"F1 by {name}, with 95 % intervals (bootstrap over heads)")
        console.say("a mean F1 is over the classes that occur among the labels")
    if output:
        from headscope.figures import confusion_map
        from headscope.figures.save import save_chart

        console.result(
            str(
                save_chart(
                    confusion_map(
                        report.confusion,
                        title="Labels against the network",
                        subtitle=f"{len(held)} held-out maps, {told}",
                    ),
                    output / f"confusion.{format}",
                )
            )
        )


def check_tables(labelled: Labelled, predicted: Sequence[str]) -> dict[str, pd.DataFrame]:
    """F1 of the test maps with intervals: by class, length and model, and by whether any map of
    the model was trained on.
    """
    from headscope.measures.patterns.network import CLASSES
    from headscope.stats.pattern_scores import (
        HEAD,
        class_scores,
        head_confusions,
        length_bin,
        scores_by,
    )

    held = labelled.part(split="test")
    trained = {row["model"] for row in labelled.part(split="train").known}
    heads = [tuple(row[key] for key in HEAD) for row in held.known]
    groups = {
        "length": [length_bin(len(one)) for one in held.maps],
        "model": [row["model"] for row in held.known],
        "training": [
            "other heads of a model trained on" if row["model"] in trained else "unseen model"
            for row in held.known
        ],
    }
    confusions = head_confusions(held.labels, predicted, heads, CLASSES)
    return {"class": class_scores(confusions, CLASSES, seed=0)} | {
        name: scores_by(held.labels, predicted, held.known, group, CLASSES, seed=0)
        for name, group in groups.items()
    }


def show_report(console: Console, report: Report, *, title: str = "") -> None:
    """Scores by class, and unless a machine reads it the confusion matrix."""
    console.frame(
        report.classes.reset_index(),
        title=f"{title}: scores by class" if title else "Scores by class",
    )
    if not console.as_json:
        console.frame(
            report.confusion.reset_index(), title="Labels (rows) and what the network says"
        )
