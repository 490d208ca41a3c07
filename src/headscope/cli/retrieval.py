"""``headscope retrieval``: heads that copy an answer out of a long text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.options.panels import RARE
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    from headscope.results import Atlas


@app.command(rich_help_panel=MEASURE)
def retrieval(
    model: opt.Model,
    text: Annotated[
        str,
        typer.Option(
            "--text",
            metavar="FILE",
            help="The text around the needles: any corpus, or 'demo' for the built-in one.",
        ),
    ] = "demo",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-retrieval.nc here.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        list[int] | None,
        typer.Option(
            "--length",
            metavar="N",
            help="Tokens of a prompt, at most (repeat for more). Default: 512 and 1024.",
            min=1,
            show_default=False,
        ),
    ] = None,
    depth: Annotated[
        list[float] | None,
        typer.Option(
            "--depth",
            metavar="D",
            help="Where in the text a needle is hidden, 0 to 1 (repeat for more). Default: 0.1, "
            "0.3, 0.5, 0.7 and 0.9, in turn.",
            show_default=False,
        ),
    ] = None,
    every_depth: Annotated[
        bool,
        typer.Option(
            "--every-depth", help="Ask for each needle at every depth, instead of in turn."
        ),
    ] = False,
    needles: Annotated[
        str | None,
        typer.Option(
            "--needles",
            metavar="N|FILE",
            help="How many of the 24 built-in needles, or a JSON-lines file with your own (text, "
            "question, answer). Default: all 24.",
            show_default=False,
        ),
    ] = None,
    chat: Annotated[
        bool | None,
        typer.Option(
            "--chat/--no-chat",
            help="Make the prompt the user's turn of a chat. Default: if the tokenizer has a chat "
            "template.",
            show_default=False,
        ),
    ] = None,
    masking: Annotated[
        bool,
        typer.Option(
            "--masking/--no-masking",
            help="Check the top heads: disable them, and as many random ones of the same layers, "
            "and see how much of the answers is left.",
        ),
    ] = True,
    masked: Annotated[
        list[int] | None,
        typer.Option(
            "--masked",
            metavar="N",
            help="How many heads the check disables (repeat for more). Default: 5 and 10, or "
            "fewer in a small model.",
            min=1,
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option("--draws", metavar="N", help="Sets of random heads in the check.", min=1),
    ] = 3,
    way: Annotated[
        str,
        typer.Option(
            "--way",
            rich_help_panel=RARE,
            help="How the check disables heads: zero or uniform (attends equally to every token).",
        ),
    ] = "zero",
    top: Annotated[int, typer.Option("--top", metavar="N", help="Heads shown.", min=1)] = 10,
    seed: opt.Seed = 0,
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    revision: opt.Revision = "",
    bos: opt.Bos = "keep",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Find the heads that copy an answer out of a long text (Wu et al. 2024).

    Invented facts are hidden in the text, one at a time, and asked for. A head scores for each
    token of the answer that it attends to most while the model writes that token.

    Example: headscope retrieval demo-llm --length 512 -o retrieval.nc
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
        bos=bos,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    output = output or Path(f"{slug(model)}-retrieval.nc")
    check_writable(output)
    from headscope.corpus import read
    from headscope.runs.retrieval.find import loading
    from headscope.runs.retrieval.needles import choose_needles
    from headscope.runs.retrieval.run import RetrievalRun
    from headscope.runs.retrieval.settings import DEPTHS, LENGTHS, RetrievalSettings

    settings = RetrievalSettings(
        lengths=length or LENGTHS,
        depths=depth or DEPTHS,
        every_depth=every_depth,
        needles=choose_needles(int(needles) if needles and needles.isdigit() else needles),
        chat=chat,
        masked=masked if masking else (),
        draws=draws,
        way=way,
        seed=seed,
    )
    corpus = read(text)
    console = Console(quiet=quiet, as_json=json)
    with loading(model, **load) as found:
        run = RetrievalRun(found, corpus, settings, output=output, overwrite=overwrite)
        atlas = run.execute(console)
    _show(console, atlas, top)
    console.say(f"next: headscope report SURVEY --retrieval {output}")
    console.result(str(output))


def _show(console: Console, atlas: Atlas, top: int) -> None:
    """The tables, and what a reader should know."""
    from headscope.stats.retrieval import retrieval_heads, retrieval_masking, retrieval_recovery

    heads, recovery = retrieval_heads(atlas, top=top), retrieval_recovery(atlas)
    masking = retrieval_masking(atlas)
    notes = atlas.provenance.get("notes", [])
    if console.as_json:
        console.tables(
            {
                "recovered": recovery.to_dict("records"),
                "heads": heads.to_dict("records"),
                "masking": masking.to_dict("records"),
                "notes": [{"note": note} for note in notes],
            }
        )
        return
    console.frame(recovery, title="Answers recovered (more than half of their words)")
    if len(heads):
        console.frame(heads, title="Retrieval heads: share of the answer's tokens copied")
    if len(masking):
        console.frame(masking, title="Recovered answers with heads disabled: recall of their words")
    for note in notes:
        console.say(f"note: {note}")
