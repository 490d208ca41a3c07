"""``headscope track``: the same survey of several checkpoints, and when roles appear."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app
from headscope.cli.surveying import check_measures, chosen_measures

if TYPE_CHECKING:
    from headscope.corpus import Corpus
    from headscope.results import Atlas

SHOWN = 20
"""How many rows are printed."""
ROLES = {"roles": (), "direction": "auto", "subtypes": "keep", "keep": 5000}
"""The options of roles, if none is given."""
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
    measure_file: opt.MeasureFiles = None,
    maps: opt.Maps = "attention",
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    examples: opt.Examples = 32,
    synthetic: opt.Synthetic = None,
    device: opt.Device = "cpu",
    parse: opt.Parse = False,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    long: opt.Long = "truncate",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    stack: opt.Stack = "",
    subtypes: opt.Subtypes = "keep",
    role: opt.Roles = None,
    sieve: opt.Sieves = None,
    direction: opt.Direction = "auto",
    keep: opt.Keep = 5000,
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    format: opt.Format = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    lines: opt.Lines = None,
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
    load = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        bos=bos,
        chat=chat,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    run: dict[str, Any] = {
        "limit": limit,
        "seed": seed,
        "batch_size": batch_size,
        "max_length": max_length,
        "long": long,
        "stack": stack,
    }
    workforce: dict[str, Any] = {"engine": engine, "workers": workers, "address": address}
    roles = {
        "roles": tuple(role or ()),
        "direction": direction,
        "subtypes": subtypes,
        "keep": keep,
    }
    files = {"files": measure_file or (), "sieves": sieve or ()}
    chosen = [part.strip() for part in revisions.split(",") if part.strip()]
    _check(models, chosen, by=by, least=least, maps=maps, examples=examples)
    check_measures(measure, **files, cross=stack == "cross")
    output = output or Path(f"{slug(models[0])}-{slug(corpus)}-track.nc")
    check_writable(output)
    texts = _corpus(
        corpus,
        run=run,
        engine=workforce,
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
    measures = _measures(console, measure, texts, roles, stack=stack, **files)
    if measure is None and measures and synthetic is None:
        console.say("note: random tokens written twice are not run: for decoders, add --synthetic")
    with console.status("loading libraries"):
        import headscope as hs
    atlas = hs.track(
        list(models) if len(models) > 1 else models[0],
        texts,
        revisions=chosen,
        measures=measures,
        maps=cast("Any", maps),
        examples=examples,
        synthetic=synthetic,
        output=output,
        overwrite=overwrite,
        progress=console,
        **run,
        **load,
        **workforce,
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
    maps: str,
    examples: int,
) -> None:
    """Check what can be checked without torch, before anything is read."""
    from headscope.errors import UserError
    from headscope.measures.maps import check_maps
    from headscope.models.checkpoints import find_checkpoints
    from headscope.results.query import split_value
    from headscope.runs.settings import check_examples

    find_checkpoints(list(models) if len(models) > 1 else models[0], revisions)
    check_examples(examples)
    check_maps(cast("Any", maps))
    if by.strip():
        split_value(by)
        if least is None:
            raise UserError(
                f"the threshold of {by} is missing: values differ too much for one default",
                hint=f"e.g. --by {by} --least 0.5",
                command=f"e.g. --by {by} --least 0.5",
            )


def _corpus(
    corpus: str, *, run: dict[str, Any], engine: dict[str, Any], read: dict[str, Any]
) -> Corpus:
    """Check the options of running, and read the corpus."""
    from headscope.corpus import read as read_corpus
    from headscope.runs.engines import check_engine
    from headscope.runs.settings import make_settings

    make_settings(**run)
    check_engine(**engine)
    return read_corpus(corpus, **read)


def _measures(
    console: Console,
    names: list[str] | None,
    texts: Corpus,
    roles: dict[str, Any],
    *,
    files: Any,
    sieves: Any,
    stack: str,
) -> list[Any] | None:
    """The measures of every checkpoint; None for the default ones."""
    from headscope.measures.registry import cross_measures, offered_measures

    if roles == ROLES and not files and not sieves:
        return names
    offered = cross_measures() if stack == "cross" else offered_measures(texts.annotations)
    return chosen_measures(console, names, files, sieves, offered, roles)


def show_emergence(
    console: Console, atlas: Atlas, *, by: str = "", least: float | None = None
) -> None:
    """Print when each head got what it has at the last checkpoint."""
    from headscope.labels import lost_tokens
    from headscope.results.nested import EXCESS
    from headscope.stats.emergence import emergence

    for note in atlas.provenance.get("notes", ()):
        console.say(f"note: {note}")
    if lost := lost_tokens(atlas.provenance, split=True):
        console.say(f"* {lost}")
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
