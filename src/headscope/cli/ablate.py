"""``headscope ablate``: disabling heads from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headscope.cli import options as opt
from headscope.cli.changes import show_changes
from headscope.cli.console import Console
from headscope.cli.root import TRAIN, app

if TYPE_CHECKING:
    from headscope.results import Atlas

_WHAT = "What is disabled"
_JUDGE = "What the model is judged by"


@app.command(rich_help_panel=TRAIN)
def ablate(
    model: opt.Model,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="The task of a classifier: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli. Default: "
            "the one that 'headscope tune' wrote down beside the model.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="The task's files, as FOLDER/MRPC/dev.tsv (.gz too), or 'hub'.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            "--dev",
            metavar="FILE",
            help="Your own table (TSV or JSON lines): text, optional second text, label.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="With --dev: the table whose labels are the classes. Default: those of --dev.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            "--corpus",
            metavar="FILE",
            help="Without a task: texts for the language-model loss. Default: demo.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Another metric of the task than its main one: accuracy, spearman.",
            rich_help_panel=_JUDGE,
            show_default=False,
        ),
    ] = "",
    heads: Annotated[
        bool,
        typer.Option(
            "--heads",
            help="Disable each head in turn. Default: heads and layers.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    layers: Annotated[
        bool, typer.Option("--layers", help="Disable each layer in turn.", rich_help_panel=_WHAT)
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="3-9,4-1",
            help="Disable these heads together; 4-* is a whole layer. Repeatable.",
            rich_help_panel=_WHAT,
            show_default=False,
        ),
    ] = None,
    way: Annotated[
        str,
        typer.Option(
            "--way",
            help="uniform (attends equally to every token), zero, or mean (its mean output).",
            rich_help_panel=_WHAT,
        ),
    ] = "uniform",
    importance: Annotated[
        bool,
        typer.Option(
            "--importance",
            help="Also compute gradient importance, and how far it agrees.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune",
            help="Also compute a pruning curve: the score with fewer and fewer heads.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    correction: Annotated[
        str, typer.Option("--correction", help="holm, bh or none, over all heads (layers, sets).")
    ] = "holm",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-DATA-ablation.nc here.",
            show_default=False,
        ),
    ] = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    device_map: opt.DeviceMap = "",
    quantization: opt.Quantization = "",
    adapter: opt.Adapter = "",
    bos: opt.Bos = "keep",
    chat: opt.Chat = False,
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    engine: opt.Engine = "local",
    workers: opt.Workers = None,
    address: opt.Address = "",
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Disable heads, and see what it does to a task's score or the language-model loss.

    Disables each head and each layer in turn, or sets of heads (Kovaleva et al. 2019, Figures 8 and
    9). A paired bootstrap, corrected over all heads, separates gains from noise. Run the same
    command again to resume an interrupted run.

    Example: headscope ablate tuned/mrpc-pretrained --data glue -o mrpc-off.nc
    """
    from headscope.files import check_writable, slug
    from headscope.models.names import check_model_name
    from headscope.models.selection import split_heads
    from headscope.runs.ablate.judgement import Judgement
    from headscope.runs.ablate.settings import ablation_settings
    from headscope.runs.engines import check_engine
    from headscope.stats.tests import check_correction
    from headscope.tasks import Task

    console = Console(quiet=quiet, as_json=json)
    judgement = Judgement(task, data, train, dev, corpus, metric=metric).for_model(model)
    recorded = judgement.task.name if isinstance(judgement.task, Task) else "demo"
    named = slug(task or dev or corpus or recorded)
    output = output or Path(f"{slug(model)}-{named}-ablation.nc")
    check_writable(output)
    check_model_name(model)
    load = opt.loading(
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
    )
    check_correction(correction)
    check_engine(engine, workers, address)
    for chosen in sets or ():
        split_heads(chosen)
    settings: dict[str, Any] = {
        "limit": limit,
        "max_length": max_length,
        "batch_size": batch_size,
        "seed": seed,
    }
    ablation_settings(way, "truncate", **settings)
    found, examples = judgement.read()
    with console.status("loading libraries"):
        from headscope.runs.ablate import ablate as run
    both = not (heads or layers or sets)
    atlas = run(
        model,
        task=found,
        dev=examples if found else None,
        corpus=None if found else examples,
        metric=metric,
        heads=heads or both,
        layers=layers or both,
        sets=sets or (),
        way=cast("Any", way),
        importance=importance,
        prune=prune,
        correction=cast("Any", correction),
        output=output,
        overwrite=overwrite,
        engine=cast("Any", engine),
        workers=workers,
        address=address,
        progress=console,
        **load,
        **settings,
    )
    with console.status("drawing figures"):
        pictures = _draw(atlas, output.with_name(f"{output.stem}-figures"))
    show_changes(console, atlas)
    if pictures:  # sets alone have none
        console.say("figures: " + ", ".join(str(picture) for picture in pictures))
    console.result(str(output))


def _draw(atlas: Atlas, folder: Path) -> list[Path]:
    from headscope.figures import gallery, save_chart

    return [save_chart(item.draw(atlas), folder / f"{item.name}.png") for item in gallery(atlas)]
