"""``headscope compare``: two models, or two results files, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app

_SIDE = "A hub id, a model folder, a .gguf file, 'demo' or 'demo-llm'; or a results file (.nc)."
_Adapter = Annotated[
    str,
    typer.Option(
        "--adapter",
        metavar="PATH",
        help="Put a PEFT adapter (LoRA) on the second model. Give the same model twice to see what "
        "the adapter changes.",
        show_default=False,
    ),
]


@app.command(rich_help_panel=MEASURE)
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_SIDE, show_default=False)],
    second: Annotated[
        str,
        typer.Argument(metavar="B", help=f"{_SIDE} Differences are B minus A.", show_default=False),
    ],
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="[CORPUS]",
            help="For two models: a corpus file, 'demo' for the built-in one, or 'framenet'.",
        ),
    ] = "demo",
    features: Annotated[
        bool,
        typer.Option(
            "--features",
            help="Also compare attention to linguistic features and between tokens (needs a tree).",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="For two models: the results file (.nc). Default: A-B-CORPUS.nc here.",
            show_default=False,
        ),
    ] = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    long: opt.Long = "truncate",
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: _Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    stack: opt.Stack = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    format: opt.Format = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    lines: opt.Lines = None,
    single: opt.Single = False,
    parse: opt.Parse = False,
    parser: opt.Parser = None,
    engine: opt.Engine = "local",
    workers: opt.Workers = None,
    address: opt.Address = "",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Compare two models head by head: the cosine of their maps (Kovaleva et al. 2019, Figure 5).

    Two results files are compared by their means. A stopped comparison of models resumes when the
    same command is typed again.

    Example: headscope compare bert-base-uncased ./bert-mrpc dev.tsv -o mrpc.nc
    """
    console = Console(quiet=quiet, as_json=json)
    files = [Path(side).suffix == ".nc" for side in (first, second)]
    if all(files):
        _refuse_unused(
            {
                "--format": format,
                "--columns": columns,
                "--header": header is not None,
                "--lines": lines is not None,
                "--single": single,
                "--parse": parse,
                "--parser": parser,
                "--engine": engine != "local",
                "--workers": workers is not None,
                "--address": address,
            }
        )
        _compare_results(console, Path(first), Path(second))
        return
    if any(files):
        from headscope.errors import UserError

        raise UserError(
            f"a model and a results file cannot be compared: {first} and {second}",
            hint="give two models, or survey the model and give two results files",
        )
    how_load = opt.loading(
        device=device,
        dtype=dtype,
        device_map=device_map,
        quantization=quantization,
        adapter=adapter,
        bos=bos,
        chat=chat,
        allow_pickle=allow_pickle,
        trust_remote_code=trust_remote_code,
    )
    how_read = opt.reading(
        format=format,
        columns=columns,
        header=header,
        lines=lines,
        single=single,
        parse=parse,
        parser=parser,
    )
    how_run = {
        "limit": limit,
        "seed": seed,
        "batch_size": batch_size,
        "max_length": max_length,
        "long": long,
        "stack": stack,
    }
    _compare_models(
        console,
        first,
        second,
        corpus,
        output,
        ("feature", "link") if features else (),
        how_load,
        how_read,
        how_run,
        {"engine": engine, "workers": workers, "address": address},
        overwrite=overwrite,
    )


def _refuse_unused(given: dict[str, object]) -> None:
    """Refuse options that say how a corpus is read and run, where none is."""
    unused = [name for name, value in given.items() if value]
    if unused:
        from headscope.errors import UserError

        raise UserError(
            f"two results files are compared without a corpus: {unused[0]} has no effect",
            hint=f"leave {unused[0]} out",
        )


def _compare_results(console: Console, first: Path, second: Path) -> None:
    from headscope.results import Atlas
    from headscope.stats import difference_table, not_compared, same_examples

    one, other = Atlas.open(first), Atlas.open(second)
    table = difference_table(one, other)
    for sentence in not_compared(table.attrs, first=str(first), second=str(second)):
        console.say(sentence)
    if same_examples(one, other):
        console.say(
            "Both runs saw the same examples, but results keep only sums, so the test is not "
            "paired "
            "and misses small changes. Comparing the two models directly pairs them."
        )
    else:
        console.say(
            "The two runs saw different examples: differences may come from these as well as from "
            "the models."
        )
    if not console.as_json:  # a screen has room for what both files know, and surveys list
        listed = {*one.listed, *other.listed}
        table = table[(table["heads"] > 0) & table["measure"].isin(listed)]
    console.frame(table)


def _compare_models(
    console: Console,
    first: str,
    second: str,
    corpus: str,
    output: Path | None,
    measures: tuple[str, ...],
    load: dict[str, Any],
    read: dict[str, Any],
    run: dict[str, Any],
    engine: dict[str, Any],
    *,
    overwrite: bool,
) -> None:
    from headscope.files import check_writable, slug
    from headscope.labels import lost_tokens

    path = output or Path(f"{slug(first)}-{slug(second)}-{slug(corpus)}.nc")
    check_writable(path)
    from headscope.corpus import read as read_corpus
    from headscope.models.names import check_model_name
    from headscope.runs.engines import check_engine
    from headscope.runs.settings import make_settings
    from headscope.stats import cosine_table, paired_table

    check_model_name(first)
    check_model_name(second)
    make_settings(**run)
    check_engine(**engine)
    texts = read_corpus(corpus, **read)
    console.say(texts.first(run["limit"]).preview())
    for note in texts.notes:
        console.say(f"note: {note}")
    with console.status("loading libraries and models"):
        import headscope as hs

        one, other = hs.load(first, **(load | {"adapter": ""})), hs.load(second, **load)
    for note in dict.fromkeys([*one.notes, *other.notes]):
        console.say(f"note: {note}")
    atlas = hs.compare(
        one,
        other,
        texts,
        measures=measures,
        output=path,
        overwrite=overwrite,
        progress=console,
        **run,
        **engine,
    )
    tables = [cosine_table(atlas), *([paired_table(atlas)] if measures else [])]
    if console.as_json:
        console.table(
            [
                {str(key): value for key, value in row.items()}
                for table in tables
                for row in table.to_dict("records")
            ]
        )
    elif not console.quiet:
        for table in tables:
            console.frame(table)
    if lost := lost_tokens(atlas.provenance, split=run.get("stack") != "cross"):
        console.say(f"* {lost}")
    console.say(f"next: headscope figures {path}, headscope report {path}")
    console.result(str(path))
