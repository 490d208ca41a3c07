"""``headscope probe``: classifiers on every head and layer (Jo and Myaeng 2020)."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headscope.cli import options as opt
from headscope.cli import task_options as task_opt
from headscope.cli.console import Console
from headscope.cli.root import TRAIN, app

if TYPE_CHECKING:
    from headscope.results import Atlas
    from headscope.runs.probe.options import PairMode, Position, Solver

SHOWN = 3
"""Number of best heads in the table."""
_CLASSIFIERS = "The classifiers"


@app.command(rich_help_panel=TRAIN)
def probe(
    model: opt.Model,
    tasks: Annotated[
        list[str],
        typer.Argument(
            metavar="TASKS...",
            help=(
                "SentEval files or folders of them; a treebank or 'demo', from which the ten tasks "
                "are made; GLUE tasks (mrpc, sts-b, sst-2 …) with --data."
            ),
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Results file (.nc). Default: MODEL-probe.nc.",
            show_default=False,
        ),
    ] = None,
    task: task_opt.Only = None,
    data: task_opt.GlueData = None,
    limit: task_opt.RandomLimit = None,
    n: task_opt.TopHeads = None,
    curve: Annotated[
        list[int] | None,
        typer.Option(
            "--curve",
            metavar="N",
            help=(
                "A number of heads for the curve over n (repeat for more). Default: up to ten "
                "between 1 and all heads."
            ),
            show_default=False,
        ),
    ] = None,
    greedy: Annotated[
        bool,
        typer.Option(
            "--greedy/--no-greedy", help="Also select heads by what they add to each other."
        ),
    ] = True,
    position: task_opt.Position = None,
    pairs: Annotated[
        str,
        typer.Option(
            "--pairs",
            help="Encode pairs of texts together (one input) or apart (u, v, |u-v|, u·v).",
            rich_help_panel=task_opt.VECTORS,
        ),
    ] = "together",
    cache: Annotated[
        Path,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Folder where vectors are kept for other runs.",
            rich_help_panel=task_opt.VECTORS,
        ),
    ] = Path("headscope-vectors"),
    solver: task_opt.Solver = "exact",
    l2: Annotated[
        list[float] | None,
        typer.Option(
            "--l2",
            help="An L2 penalty to choose from (repeat for more). Default: 1e-5 to 1e-1.",
            rich_help_panel=_CLASSIFIERS,
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(
            "--folds",
            help="Cross-validation folds for a task without a validation split.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = 5,
    control: Annotated[
        bool,
        typer.Option(
            "--control/--no-control",
            help="Also train on shuffled labels.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = True,
    embeddings: Annotated[
        bool,
        typer.Option(
            "--embeddings",
            help="Also train on the embeddings alone, averaged over tokens.",
            rich_help_panel=_CLASSIFIERS,
        ),
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            metavar="N",
            help=(
                "Random splits that are probed besides the task's own; 1 for none. Default: 5 if "
                "validation or test has fewer than 200 sentences, else none."
            ),
            rich_help_panel=_CLASSIFIERS,
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 32,
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
    """Train classifiers on every head and layer, and on the best heads together.

    For each task, a logistic regression is trained on the output of every head, on every layer and
    on the best heads concatenated (Jo and Myaeng 2020). An interrupted run resumes when the same
    command is run again. Draw the results with 'headscope figures'.

    Example: headscope probe demo senteval/probing --task Length --task Depth -o probe.nc
    """
    from headscope.files import check_writable, slug
    from headscope.models.names import check_model_name
    from headscope.runs.engines import check_engine
    from headscope.runs.probe.options import L2, ProbeOptions
    from headscope.stats.probe_tests import small_test_text, small_tests
    from headscope.stats.probing import probing_remarks, top_table
    from headscope.tasks.find import find_tasks
    from headscope.tasks.probing import all_notes

    console = Console(quiet=quiet, as_json=json)
    path = output or Path(f"{slug(model)}-probe.nc")
    check_writable(path)
    check_model_name(model)
    how_load = opt.loading(
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
    check_engine(engine, workers, address)
    options = ProbeOptions(
        position=cast("Position | None", position),
        pairs=cast("PairMode", pairs),
        n=n,
        counts=tuple(curve) if curve else None,
        greedy=greedy,
        max_length=max_length,
        batch_size=batch_size,
        solver=cast("Solver", solver),
        l2=tuple(l2 or L2),
        folds=folds,
        control=control,
        embeddings=embeddings,
        repeats=repeats,
        seed=seed,
        device=device,
    )
    with console.status("reading the tasks"):
        probing_tasks = find_tasks(tasks, data=data, only=task, limit=limit, seed=seed)
    for note in all_notes(probing_tasks):
        console.say(note)
    from headscope.models import load
    from headscope.runs.probe import probe as run

    with console.status("loading the model"):
        loaded = load(model, **how_load)
    for note in loaded.notes:
        console.say(f"note: {note}")
    results = run(
        loaded,
        probing_tasks,
        cache=cache,
        output=path,
        overwrite=overwrite,
        engine=cast("Any", engine),
        workers=workers,
        address=address,
        progress=console,
        **asdict(options),
    )
    if json:
        console.frame(top_table(results, n=n))
    elif not quiet:
        console.table(
            _rows(results, n),
            title=(
                f"Test scores in percent of {loaded.name}; layers and heads are chosen by "
                "validation scores"
            ),
        )
        _show_splits(console, results)
    small = small_test_text(small_tests(results))
    for remark in [*probing_remarks(results), *([small] if small else [])]:
        console.say(f"* {remark}")
    console.result(str(path))


def _rows(results: Atlas, n: int | None) -> list[dict[str, object]]:
    """The rows of the table that is printed: scores in percent, and the best heads by name."""
    from headscope.stats.probing import head_table, top_table

    table = top_table(results, n=n).to_dict("records")
    rows: list[dict[str, object]] = []
    for name, row in zip(results["probe"]["task"].values, table, strict=True):
        best = head_table(results, str(name), count=SHOWN).to_dict("records")
        rows.append(
            {
                "task": row["task"],
                "majority": _percent(row["majority"]),
                **({"embeddings": _percent(row["embeddings"])} if "embeddings" in row else {}),
                "last layer": _percent(row["last"]),
                "best layer": f"{_percent(row['best'])} ({row['best layer']})",
                f"top {row['n']} heads": _percent(row["top"]),
                f"greedy {row['n']}": _percent(row["greedy"]),
                "best heads": ", ".join(f"{one['head']} {100 * one['test']:.1f}" for one in best),
            }
        )
    return rows


def _show_splits(console: Console, results: Atlas) -> None:
    """Print the means over repeated splits, if there are any."""
    from headscope.page.probing import split_rows
    from headscope.stats.probe_splits import TOP, split_table, split_text

    if TOP in results.measures:
        table = split_table(results)
        title = f"Means over {table['splits'][0]} random splits, with 95 % intervals"
        console.table(split_rows(table), title=title)
        console.say(f"* {split_text(results)}")


def _percent(value: object) -> str:
    return "–" if not isinstance(value, float) or value != value else f"{value:.1f}"
