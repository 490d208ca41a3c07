"""``headscope circuits``: what the weights of heads say without any text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    from headscope.results import Atlas


@app.command(rich_help_panel=MEASURE)
def circuits(
    model: opt.Model,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-circuits.nc here.",
            show_default=False,
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option("--top", metavar="N", help="Heads, and pairs of each kind, shown.", min=1),
    ] = 5,
    seed: Annotated[
        int,
        typer.Option("--seed", help="Seed of the random heads that composition is compared with."),
    ] = 0,
    stack: opt.Stack = "",
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Read circuits off a model's weights: copying heads, and which heads feed which.

    No corpus is needed (Elhage et al. 2021). Composition is the norm of a product of two heads'
    matrices over both norms; tables show it over that of random heads.

    Example: headscope circuits demo-llm -o circuits.nc
    """
    from headscope.files import check_writable, slug
    from headscope.models.names import check_model_name

    check_model_name(model)
    load = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        revision=revision,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    output = output or Path(f"{slug(model)}-circuits.nc")
    check_writable(output)
    from headscope.runs.circuits.matrices import Circuits, loading

    console = Console(quiet=quiet, as_json=json)
    with loading(model, **load) as found:
        job = Circuits(found, seed=seed, stack=stack, output=output, overwrite=overwrite)
        atlas = job.execute(console)
    _show(console, atlas, top)
    console.say(f"next: headscope report SURVEY --circuits {output}")
    console.result(str(output))


def _show(console: Console, atlas: Atlas, top: int) -> None:
    """The tables and what they leave out."""
    from headscope.stats.composition import copying_heads, strongest_compositions

    copying, pairs = copying_heads(atlas, top=top), strongest_compositions(atlas, top=top)
    notes = atlas.provenance.get("notes", [])
    if console.as_json:
        console.tables(
            {
                "copying": copying.to_dict("records"),
                "composition": pairs.to_dict("records"),
                "notes": [{"note": note} for note in notes],
            }
        )
        return
    if len(copying):
        console.frame(copying, title="Copying heads")
    console.frame(pairs, title="Strongest composition, over random heads")
    for note in notes:
        console.say(f"note: {note}")
