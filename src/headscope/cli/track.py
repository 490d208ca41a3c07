"""``headscope track``: the same survey of several checkpoints, and when roles appear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

if TYPE_CHECKING:
    from headscope.results import Atlas

SHOWN = 20
"""How many rows are printed."""
COLUMNS = {"before": "one before", "last": "at the end", "main": "main role"}


@app.command(rich_help_panel=MEASURE)
def track(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="FOLDER... | MODEL",
            help="The checkpoints in their order; one folder that holds a folder for each; or one "
            "hub id, with --revisions.",
            show_default=False,
        ),
    ],
    corpus: opt.CorpusFile,
    revisions: Annotated[
        str,
        typer.Option(
            "--revisions",
            metavar="A,B,...",
            help="Branches, tags or commits of one hub model, in their order.",
            show_default=False,
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-CORPUS-track.nc here.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="VALUE",
            help="Print when this value passes --least, such as synthetic:induction. Default: "
            "every role, by its excess over even attention and its test.",
            show_default=False,
        ),
    ] = "",
    least: Annotated[
        float | None,
        typer.Option(
            "--least",
            help="The threshold that a head must pass for good. Default: an excess of 0.1.",
            show_default=False,
        ),
    ] = None,
    measure: opt.Measures = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    examples: opt.Examples = 32,
    synthetic: opt.Synthetic = None,
    device: opt.Device = "cpu",
    parse: opt.Parse = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    long: opt.Long = "truncate",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    stack: opt.Stack = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    format: opt.Format = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    lines: opt.Lines = False,
    single: opt.Single = False,
    parser: opt.Parser = None,
    documents: opt.Documents = False,
    engine: opt.Engine = "local",
    workers: opt.Workers = None,
    address: opt.Address = "",
) -> None:
    """Survey the checkpoints of a training, and print when heads get their roles.

    A stopped run resumes when the same command is typed again. The report of the results has a
    slider over the checkpoints.

    Example: headscope track EleutherAI/pythia-70m demo --revisions step0,step512,step1000
    """
    from headscope.files import check_writable, slug

    console = Console(quiet=quiet, as_json=json)
    load = {
        "device": device,
        "dtype": dtype,
        "device_map": device_map,
        "quantization": quantization,
        "bos": bos,
        "chat": chat,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
    }
    run = {
        "limit": limit,
        "seed": seed,
        "batch_size": batch_size,
        "max_length": max_length,
        "long": long,
        "stack": stack,
    }
    chosen = [part.strip() for part in revisions.split(",") if part.strip()]
    _check(models, chosen, by=by, least=least, measures=measure, examples=examples)
    output = output or Path(f"{slug(models[0])}-{slug(corpus)}-track.nc")
    check_writable(output)
    texts = _corpus(
        corpus,
        load=load,
        run=run,
        engine={"engine": engine, "workers": workers, "address": address},
        read=opt.reading(
            format=format,
            columns=columns,
            header=header,
            lines=lines,
            single=single,
            parse=parse,
            parser=parser,
            documents=documents,
        ),
    )
    console.say(texts.first(limit).preview())
    with console.status("loading libraries"):
        import headscope as hs
    options: dict[str, Any] = {**run, **load}
    atlas = hs.track(
        list(models) if len(models) > 1 else models[0],
        texts,
        revisions=chosen,
        measures=measure,
        examples=examples,
        synthetic=synthetic,
        output=output,
        engine=engine,  # type: ignore[arg-type]
        workers=workers,
        address=address,
        progress=console,
        **options,
    )
    show_emergence(console, atlas, by=by, least=least)
    console.say(f"next: headscope report {output}, headscope figures {output} --figure emergence")
    console.result(str(output))


def _check(
    models: list[str],
    revisions: list[str],
    *,
    by: str,
    least: float | None,
    measures: list[str] | None,
    examples: int,
) -> None:
    """Check what can be checked without torch, before anything is read."""
    from headscope.errors import UserError
    from headscope.measures.registry import MEASURES
    from headscope.models.checkpoints import find_checkpoints
    from headscope.results.query import split_value
    from headscope.runs.settings import check_examples

    find_checkpoints(list(models) if len(models) > 1 else models[0], revisions)
    check_examples(examples)
    for name in measures or ():
        MEASURES.entry(name)
    if by.strip():
        split_value(by)
        if least is None:
            raise UserError(
                f"the threshold of {by} is missing: values differ too much for one default",
                hint=f"e.g. --by {by} --least 0.5",
                command=f"e.g. --by {by} --least 0.5",
            )


def _corpus(
    corpus: str,
    *,
    load: dict[str, Any],
    run: dict[str, Any],
    engine: dict[str, Any],
    read: dict[str, Any],
) -> Any:
    """Check the options of loading and running, and read the corpus."""
    from headscope.corpus import read as read_corpus
    from headscope.models.load_options import check_load_options, checked_early
    from headscope.runs.engines import check_engine
    from headscope.runs.settings import make_settings

    check_load_options(**checked_early(load))
    make_settings(**run)
    check_engine(**engine)
    return read_corpus(corpus, **read)


def show_emergence(
    console: Console, atlas: Atlas, *, by: str = "", least: float | None = None
) -> None:
    """Print when each head got what it has at the last checkpoint."""
    from headscope.results.track import EXCESS
    from headscope.stats.emergence import emergence

    for note in atlas.provenance.get("notes", ()):
        console.say(f"note: {note}")
    if not by and EXCESS not in atlas.track:
        console.say("no main roles: they need the measures activity, work and spread; see --by")
        return
    table = emergence(atlas, by=by, least=least)
    if not by and not (atlas.track[EXCESS]["passes"].values > 0).any():
        console.say("note: the corpus has too few documents to test roles; see --by and --lines")
    if console.as_json:
        console.frame(table)
        return
    if console.quiet:
        return
    if not len(table):
        console.say("no head is past the threshold at the last checkpoint")
        return
    shown = table.head(SHOWN).rename(columns=COLUMNS)
    if atlas.track.steps is None:
        shown = shown.drop(columns="step")
    shown[COLUMNS["main"]] = ["yes" if main else "" for main in shown[COLUMNS["main"]]]
    console.frame(shown, title="first checkpoint from which on a head is past the threshold")
    if len(table) > SHOWN:
        console.say(f"{len(table) - SHOWN} more rows: --json")
