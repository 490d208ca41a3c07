"""Disabling heads from the command line (Kovaleva et al. 2019, §4.6)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import TRAIN, app

if TYPE_CHECKING:
    import pandas as pd

    from headscope.corpus import Corpus
    from headscope.models import Model
    from headscope.results import Results
    from headscope.runs.ablate.objective import Objective

SHOWN = 5
"""How many of the best gains and of the worst drops are printed."""
FEW = 30
"""With fewer examples a warning is given."""
_WHAT = "What is disabled"


@app.command(rich_help_panel=TRAIN)
def ablate(
    model: opt.Model,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="NAME",
            help="The task of a tuned classifier: mrpc, sts-b, sst-2, qqp, rte, qnli or mnli.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="PLACE",
            help="GLUE files (FOLDER/MRPC/dev.tsv), 'hub', or a labelled table of your own.",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        str,
        typer.Option(
            "--corpus",
            metavar="FILE",
            help="Without a task: the texts for the model's language-model loss.",
        ),
    ] = "demo",
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="Another metric of the task than its main one: accuracy, spearman.",
            show_default=False,
        ),
    ] = "",
    heads: Annotated[
        bool,
        typer.Option(
            "--heads", help="Each head in turn. Default: heads and layers.", rich_help_panel=_WHAT
        ),
    ] = False,
    layers: Annotated[
        bool, typer.Option("--layers", help="Each layer in turn.", rich_help_panel=_WHAT)
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="3-9,4-1",
            help="These heads together, LAYER-HEAD from 1 (repeat for more).",
            rich_help_panel=_WHAT,
            show_default=False,
        ),
    ] = None,
    way: Annotated[
        str,
        typer.Option(
            "--way",
            help="uniform (1/L to every token, as the paper), zero, or mean (the head's mean output).",
            rich_help_panel=_WHAT,
        ),
    ] = "uniform",
    importance: Annotated[
        bool,
        typer.Option(
            "--importance",
            help="Gradient head importance too, and how far it agrees.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    prune: Annotated[
        bool,
        typer.Option(
            "--prune", help="A pruning curve too: score against heads left.", rich_help_panel=_WHAT
        ),
    ] = False,
    correction: Annotated[
        str, typer.Option("--correction", help="none, holm or bh, over all heads (layers, sets).")
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
    revision: opt.Revision = "",
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Disable each head, each layer or a set of heads, and see what it does to a task's score or to the language-model loss (Kovaleva et al. 2019, Figures 8 and 9).

    A gain is told apart from noise by a paired bootstrap, corrected over all heads. A stopped run goes on where it was when the same command is typed again.

    Example: headscope ablate tuned/mrpc-pretrained --task mrpc --data glue -o mrpc-off.nc
    """
    from headscope.errors import unknown
    from headscope.files import check_writable, slug
    from headscope.models.selection import split_heads
    from headscope.stats.ablation import scored, with_nodes
    from headscope.stats.tests import CORRECTIONS

    console = Console(quiet=quiet, as_json=json)
    output = output or Path(f"{slug(model)}-{slug(task or data or corpus)}-ablation.nc")
    check_writable(output)
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    for text in sets or ():
        split_heads(text)
    with console.status("loading libraries and model"):
        from headscope.runs.ablate.ablate import ablate as run
        from headscope.runs.ablate.prune import prune as run_prune

        load_options = {
            "device": device,
            "dtype": dtype,
            "revision": revision,
            "allow_pickle": allow_pickle,
            "trust_remote_code": trust_remote_code,
        }
        loaded, examples, objective = _prepare(
            model, task, data, corpus, metric, seed, load_options
        )
    for note in loaded.notes:
        console.say(f"warning: {note}")
    if (partial := output.with_name(output.name + ".partial")).exists():
        console.say(f"going on from {partial}")
    both = not (heads or layers or sets)
    what: dict[str, Any] = {
        "heads": heads or both,
        "layers": layers or (both and loaded.shape(loaded.main_stack()).layers > 1),
        "sets": sets or (),
    }
    settings: dict[str, Any] = {
        "limit": limit,
        "seed": seed,
        "batch_size": batch_size,
        "max_length": max_length,
    }
    with console.progress("disabling") as progress:
        results = run(
            loaded,
            examples,
            objective,
            **what,
            way=way,
            importance=importance,
            output=output,
            progress=progress,
            **settings,
        )
    if prune:
        with console.progress("pruning") as progress:
            curve = run_prune(loaded, examples, objective, way=way, progress=progress, **settings)
        from headscope.results.moments import derive

        results = with_nodes(results, {"pruning": derive(curve)})
    with console.status("bootstrap and figures"):
        results = scored(results, correction=correction)
        results.save(output)
        pictures = _draw(results, output.with_name(f"{output.stem}-figures"))
    _show(console, results)
    if pictures:  # a set alone has none
        console.say("figures: " + ", ".join(str(picture) for picture in pictures))
    console.result(str(output))


def _prepare(
    model: str,
    task: str | None,
    data: str | None,
    corpus: str,
    metric: str,
    seed: int,
    options: dict[str, Any],
) -> tuple[Model, Corpus, Objective]:
    """The model, its examples, and what it is judged by: the labels of a task, or else its own language-model loss."""
    from headscope.errors import ModelError, UserError
    from headscope.runs.ablate.objective import Labels, LanguageModel
    from headscope.runs.tune.classifier import load_classifier
    from headscope.tasks import custom_task, find_task, task_examples
    from headscope.tasks.files import labelled

    if task is None and data is None:
        from headscope.corpus import read
        from headscope.models import load

        if metric and metric != "loss":
            raise UserError(
                f"the metric {metric} needs a task",
                hint="give --task and --data, or leave --metric out",
            )
        try:
            loaded = load(model, head="lm", **options)
        except ModelError as error:
            if "language-model head" not in error.message:
                raise
            raise ModelError(
                f"{error.message}; and no task was given",
                hint="give --task and --data for a tuned classifier, or choose a masked or causal language model",
            ) from None
        return loaded, read(corpus), LanguageModel(loaded, seed)
    if data is None:
        raise UserError(
            f"the examples of {task} are missing",
            hint="give --data FOLDER (with FOLDER/MRPC/dev.tsv and so on), a file, or 'hub'",
        )
    named = find_task(task) if task else None
    examples = task_examples(named, data, "dev") if named else labelled(data)
    which = named or custom_task(examples)
    loaded, _ = load_classifier(model, which, seed=seed, **options)
    return loaded, examples, Labels(loaded, which, metric)


def _draw(results: Results, folder: Path) -> list[Path]:
    from headscope.figures import gallery, save_chart

    return [
        save_chart(item.draw(results), folder / f"{item.name}.png") for item in gallery(results)
    ]


def _show(console: Console, results: Results) -> None:
    """The baseline, the best gains and worst drops, layers and sets; as JSON every row."""
    from headscope.stats.ablation import KINDS, change_table
    from headscope.stats.importance import agreement

    tables = {
        kind: change_table(results, kind)
        for kind, name in KINDS.items()
        if name in results.measures
    }
    about = results[KINDS[next(iter(tables))]].attrs
    counts = results.provenance["counts"]
    console.say(
        f"baseline: {about['metric']} {about['baseline']:.4f} ({about['baseline_low']:.4f} … {about['baseline_high']:.4f}), {counts['seen']} examples"
        + (f", {counts['nonfinite']} left out" if counts["nonfinite"] else "")
        + f"; a gain is {'more' if about['better'] == 'higher' else 'less'} {about['metric']}; p by {about['resamples']} resamples, correction {about['correction']}"
    )
    if counts["seen"] < FEW:
        console.say(
            f"warning: {counts['seen']} examples are few for a bootstrap: its intervals are too narrow below {FEW} or so"
        )
    if console.as_json:
        console.table(
            [
                _row(kind, about, row)
                for kind, table in tables.items()
                for row in table.to_dict("records")
            ]
        )
        return
    if console.quiet:
        return
    for kind, table in tables.items():
        if kind != "head" or len(table) <= 2 * SHOWN:
            console.frame(_told(table), title=f"{kind}s off")
        else:
            console.frame(_told(table.head(SHOWN)), title="the best gains")
            console.frame(_told(table.tail(SHOWN)[::-1]), title="the worst drops")
            sure = table[table["p corrected"] < 0.05]
            console.say(
                f"{len(sure)} of {len(table)} heads differ from the baseline (p corrected < 0.05): {int((sure['gain'] > 0).sum())} gain, {int((sure['gain'] < 0).sum())} lose"
            )
    if "importance" in results.measures and "head" in tables:
        console.frame(agreement(results), title="gradient importance and disabling")


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """Four digits of scores, and p as text: three digits would hide what matters."""
    shown = table.copy()
    for name in shown.columns[1:5]:
        shown[name] = [
            f"{value:+.4f}" if name in ("gain", "low", "high") else f"{value:.4f}"
            for value in shown[name]
        ]
    for name in ("p", "p corrected"):
        shown[name] = [f"{value:.2g}" for value in shown[name]]
    return shown


def _row(kind: str, about: dict[str, Any], row: dict[Any, Any]) -> dict[str, Any]:
    return {
        "kind": kind,
        "off": row[f"{kind} off"],
        "metric": about["metric"],
        "baseline": about["baseline"],
        "score": row[about["metric"]],
    } | {name.replace(" ", "_"): row[name] for name in ("gain", "low", "high", "p", "p corrected")}
