"""``headscope explore``: a page with the model behind it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app


@app.command(rich_help_panel=LOOK)
def explore(
    model: opt.Model,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            metavar="FILE",
            help="Results of the same model (.nc): the page then has all views of the report.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", help="The page's port; 0 takes any free one.")] = 0,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser", help="Open the page in the default browser, or only print it."
        ),
    ] = True,
    stack: opt.Stack = "",
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    quiet: opt.Quiet = False,
) -> None:
    """Type a text and see every head's attention; switch heads off and see what changes.

    Serves a page on this machine only, until Ctrl-C. Predictions are shown for language models and
    classifiers.

    Example: headscope explore demo-llm --results demo-llm.nc
    """
    from headscope.models.names import check_model_name
    from headscope.page.serving import check_server, open_port

    check_server("the explorer")
    check_model_name(model)
    options = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        bos=bos,
        chat=chat,
    )
    open_port(port).close()
    console = Console(quiet=quiet)
    from headscope.page.explorer.start import explore as start
    from headscope.results import Atlas

    atlas = None if results is None else Atlas.open(results)
    with console.status("loading the model"):
        from headscope.models import load

        loaded = load(model, head="own", **options)

    def say(text: str) -> None:
        if text.startswith("note:"):
            console.say(text)
        else:
            console.say("the page is at the address below, for this machine only; Ctrl-C stops")
            print(text, file=sys.stderr, flush=True)

    start(loaded, atlas, port=port, browser=browser, stack=stack, say=say)
    console.say("stopped")
