"""``headscope survey``: every measure that fits, for every head, in one pass over a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app
from headscope.cli.surveying import run_survey, show_nulls, show_summary


@app.command(rich_help_panel=MEASURE)
def survey(
    model: opt.Model,
    corpus: opt.CorpusFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-CORPUS.nc here.",
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
    null: opt.Nulls = None,
    device: opt.Device = "cpu",
    parse: opt.Parse = False,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
    long: opt.Long = "truncate",
    shard: opt.Shard = "1/1",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    revision: opt.Revision = "",
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
    """Measure every head on a corpus, in one pass.

    A stopped run (Ctrl-C, kill) resumes when the same command is typed again.

    Example: headscope survey bert-base-uncased en_ewt-ud-dev.conllu.gz -o bert.nc
    """
    from headscope.files import slug

    console = Console(quiet=quiet, as_json=json)
    output = output or Path(f"{slug(model)}-{slug(corpus)}.nc")
    atlas = run_survey(
        console,
        model,
        corpus,
        output,
        measures=measure,
        files=measure_file or (),
        sieves=sieve or (),
        maps=maps,
        shard=shard,
        examples=examples,
        synthetic=synthetic,
        null=null or (),
        overwrite=overwrite,
        load=opt.loading(
            device=device,
            dtype=dtype,
            device_map=device_map,
            quantization=quantization,
            adapter=adapter,
            bos=bos,
            chat=chat,
            revision=revision,
            allow_pickle=allow_pickle,
            trust_remote_code=trust_remote_code,
        ),
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
        run={
            "limit": limit,
            "seed": seed,
            "batch_size": batch_size,
            "max_length": max_length,
            "long": long,
            "stack": stack,
        },
        roles={
            "roles": tuple(role or ()),
            "direction": direction,
            "subtypes": subtypes,
            "keep": keep,
        },
        engine={"engine": engine, "workers": workers, "address": address},
    )
    show_summary(console, atlas)
    show_nulls(console, atlas, output)
    known = (("roles", "role"), ("dependencies", "dependency"), ("coreference", "coreference"))
    tables = [name for name, needed in known if needed in atlas.measures]
    words = [f"report {output}", f"head {output} HEAD", *(f"{name} {output}" for name in tables)]
    console.say("next: " + ", ".join(f"headscope {one}" for one in words))
    console.result(str(output))
