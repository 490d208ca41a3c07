"""``headscope examples``: texts on which a head does what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import LOOK, app

if TYPE_CHECKING:
    import pandas as pd

_CORPUS = "With a model and a corpus"


@app.command(rich_help_panel=LOOK)
def examples(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="RESULTS HEAD | MODEL CORPUS HEAD",
            help="A results file (.nc) and a head, such as 3-9 (from 1) or L2H8 (from 0); or a "
            "model, a corpus to look in, and a head.",
            show_default=False,
        ),
    ],
    relation: Annotated[
        str,
        typer.Option(
            "--relation",
            metavar="NAME",
            help="Texts for and against a relation: a dependency label (det), or previous, next, "
            "near, itself or same.",
            show_default=False,
        ),
    ] = "",
    top: Annotated[int, typer.Option("--top", "-k", metavar="N", help="Show N texts.")] = 10,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            metavar="N",
            help="Look at the first N examples of the corpus.",
            rich_help_panel=_CORPUS,
        ),
    ] = 1000,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    parse: opt.Parse = False,
    parser: opt.Parser = None,
    format: opt.Format = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    lines: opt.Lines = None,
    single: opt.Single = False,
    documents: opt.Documents = False,
    stack: opt.Stack = "",
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Show texts on which a head does what it does, with its strongest links.

    From a results file: what the survey kept. From a model and a corpus: found on demand.

    Example: headscope examples demo.nc 3-9 --relation det
    """
    from headscope.errors import UserError
    from headscope.heads import Head

    console = Console(quiet=quiet, as_json=json)
    results = given[0].endswith(".nc")
    if len(given) != (2 if results else 3):
        raise UserError(
            "a results file (.nc) and a head, or a model, a corpus and a head are expected; got "
            + " ".join(given),
            hint="headscope examples demo.nc 3-9, or headscope examples demo demo 3-9",
        )
    Head.parse(given[-1])
    if top < 1:
        raise UserError(f"the number of texts must be 1 or more, got {top} instead")
    if results:
        from headscope.results import Atlas

        found = Atlas.open(Path(given[0])).examples(given[1], relation=relation, k=top)
    else:
        found = _on_demand(
            console,
            *given,
            relation=relation,
            k=top,
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
            run={"batch_size": batch_size, "max_length": max_length, "stack": stack},
            limit=limit,
            load=opt.loading(
                device=device,
                dtype=dtype,
                device_map=device_map,
                quantization=quantization,
                adapter=adapter,
                bos=bos,
                chat=chat,
            ),
        )
    if json:
        console.frame(found)
    else:
        print(found)


def _on_demand(
    console: Console,
    model: str,
    corpus: str,
    head: str,
    *,
    relation: str,
    k: int,
    read: dict[str, Any],
    run: dict[str, Any],
    limit: int,
    load: dict[str, Any],
) -> pd.DataFrame:
    """Check what can be checked without torch, then look in the corpus."""
    from headscope.corpus import read as read_corpus
    from headscope.models.names import check_model_name
    from headscope.runs.settings import make_settings
    from headscope.stats.kept_relations import check_relation

    check_model_name(model)
    make_settings(**run, limit=limit)
    texts = read_corpus(corpus, **read)
    check_relation(texts.first(limit), relation)
    with console.status("loading libraries and model"):
        import headscope as hs

        loaded = hs.load(model, **load)
    return hs.examples(
        loaded, texts, head, relation=relation, k=k, limit=limit, progress=console, **run
    )
