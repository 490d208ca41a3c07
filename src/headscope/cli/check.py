"""``headscope check``: a model beside transformers' own eager attention, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def check(
    model: opt.Model,
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            metavar="N",
            help="Tokens of the long text. Default: 512, or beyond the windows and indices of the "
            "model, up to 4096.",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Compare a model with transformers' own eager attention on this machine.

    Maps and outputs of every layer, on one text, a padded batch and a long text. The exit code is 1
    if something differs by more than rounding.

    Example: headscope check demo --dtype bfloat16
    """
    from headscope.models.names import check_model_name

    check_model_name(model)
    load = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        bos=bos,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    console = Console(quiet=quiet, as_json=json)
    with console.status("loading and comparing the model"):
        from headscope.runs.agreement import check as compare

        found = compare(model, max_length=max_length, seed=seed, **load)
    console.frame(found.frame())
    for note in found.notes:
        console.say(f"note: {note}")
    console.result(found.verdict())
    if not found.passed:
        raise typer.Exit(1)
