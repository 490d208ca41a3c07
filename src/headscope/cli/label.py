"""Labelling maps from the command line, and training the network of pattern classes on one's own
labels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.patterns import Network, show_report
from headscope.cli.root import TRAIN, app

if TYPE_CHECKING:
    from headscope.labelling import LabelSession

_PAGE, _TRAIN = "The page", "Training"
EXAMPLES = 100
"""How many examples maps are taken of, unless told."""


@app.command(rich_help_panel=TRAIN)
def label(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL | LABELS",
            help="A hub id, a model folder, a .gguf file, 'demo' or 'demo-llm'; with --retrain a "
            "folder of labels.",
            show_default=False,
        ),
    ],
    corpus: Annotated[
        str,
        typer.Argument(metavar="[CORPUS]", help="A corpus file, or 'demo' for the built-in one."),
    ] = "demo",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder of labels; with --retrain the file of the network.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            "--port", help="The page's port; 0 takes any free one.", rich_help_panel=_PAGE
        ),
    ] = 0,
    open_page: Annotated[
        bool,
        typer.Option("--open", help="Open the page in the default browser.", rich_help_panel=_PAGE),
    ] = False,
    retrain: Annotated[
        bool,
        typer.Option(
            "--retrain",
            help="Train a network on the built-in maps and those of LABELS.",
            rich_help_panel=_TRAIN,
        ),
    ] = False,
    epochs: Annotated[
        int, typer.Option("--epochs", help="How often each map is seen.", rich_help_panel=_TRAIN)
    ] = 60,
    network: Network = None,
    limit: opt.Limit = EXAMPLES,
    seed: opt.Seed = 0,
    max_length: opt.MaxLength = 64,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Label maps of your own, one key each, and train the network of pattern classes on them.

    Every label is saved at once; the same command resumes where it was stopped. The network's guess
    is shown after yours.

    Example: headscope label bert-base-uncased dev.tsv -o my-labels && headscope label my-labels
    --retrain -o network.safetensors
    """
    console = Console(quiet=quiet, as_json=json)
    if retrain:
        _retrain(console, Path(model), output or Path("network.safetensors"), network, epochs, seed)
        return
    from headscope.files import locked

    folder = output or Path("labels")
    with locked(folder):
        _label(
            console,
            model,
            corpus,
            folder,
            network,
            {"limit": EXAMPLES if limit is None else limit, "seed": seed, "max_length": max_length},
            device,
            port,
            open_page,
        )


def _label(
    console: Console,
    model: str,
    corpus: str,
    folder: Path,
    network: Path | None,
    run: dict[str, int],
    device: str,
    port: int,
    open_page: bool,
) -> None:
    from headscope.page.serving import open_port

    with open_port(port) as opened:
        with console.status("loading libraries and model"):
            from headscope.corpus import read
            from headscope.labelling import CorpusMaps, LabelSession, LabelStore
            from headscope.labelling.server import serve
            from headscope.measures.patterns.network import SHIPPED, load_network
            from headscope.models import load

            store, chosen, texts = (
                LabelStore(folder),
                load_network(network or SHIPPED),
                read(corpus, limit=run["limit"]),
            )
            maps = CorpusMaps(load(model, device=device), texts, **run)
            session = LabelSession(maps, store, chosen)
        if store.damaged:
            console.say(
                f"{store.damaged} labels were damaged and are asked for again; the damaged files "
                f"are kept in {folder}, with names that end in .damaged"
            )
        before = len(store.labelled)
        _nothing_left(session, folder)
        try:
            serve(session, opened, lambda address: _ready(console, address, open_page))
        except KeyboardInterrupt:
            console.say("stopped")
    console.say(
        f"{len(store.labelled) - before} labelled now, {len(store.labelled)} in all: "
        + ", ".join(f"{count} {name}" for name, count in session.counts.items())
    )
    if len(store.labelled):
        console.say(f"next: headscope label {folder} --retrain -o network.safetensors")
    console.result(str(folder))


def _nothing_left(session: LabelSession, folder: Path) -> None:
    from headscope.errors import UserError

    if not session.remaining:
        raise UserError(
            f"no maps are left: all {len(session.maps)} maps of these examples are labelled or "
            f"skipped in {folder}",
            hint="give another corpus, a higher --limit, or another folder",
        )


def _ready(console: Console, address: str, open_page: bool) -> None:
    console.say(
        "the page is at the address below, for this machine only; Ctrl-C stops, and every label "
        "is saved at once"
    )
    print(address, file=sys.stderr, flush=True)
    if open_page:
        from headscope.page.serving import open_browser

        open_browser(address)


def _retrain(
    console: Console, folder: Path, output: Path, network: Path | None, epochs: int, seed: int
) -> None:
    """Train, save, and tell how the old and the new network do on held-out maps."""
    from headscope.errors import UserError
    from headscope.files import check_writable

    if epochs < 1:
        raise UserError(f"the epochs must be 1 or more, got {epochs} instead")
    check_writable(output)
    with console.status("loading libraries and labels"):
        from headscope.labelling import retrain
        from headscope.measures.patterns.labels import read_labelled
        from headscope.measures.patterns.network import SHIPPED, load_network, save_network

        own, old = read_labelled(folder), load_network(network or SHIPPED)
        builtin = read_labelled()
    with console.progress("training") as progress:
        done = retrain(old, builtin, own, seed=seed, epochs=epochs, progress=progress)
    save_network(output, done.network)
    rows = [
        {
            "maps": name,
            "count": int(before.classes["count"].sum()),
            "macro-F1 before": before.f1,
            "after": done.after[name].f1,
            "accuracy before": before.accuracy,
            "accuracy after": done.after[name].accuracy,
        }
        for name, before in done.before.items()
    ]
    console.table(rows, title="Held-out maps, before and after")
    if not (console.as_json or console.quiet):
        for name, report in done.after.items():
            show_report(console, report, title=f"{name}, after")
    console.say(
        f"trained on the built-in maps and {done.trained} of your {len(own)}"
        + ("" if done.trained < len(own) else ": too few to hold some out")
    )
    console.say(f"use it: headscope patterns MODEL --corpus FILE --network {output}")
    console.result(str(output))
