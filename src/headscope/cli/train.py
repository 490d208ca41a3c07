"""Commands that train, disable or remove: probe, ablate, prune, tune, tasks, label."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from cyclopts import Parameter

from headscope.cli.app import TRAIN, Model, call, command, named
from headscope.cli.console import Console
from headscope.errors import UserError, unknown
from headscope.files import check_writable, locked
from headscope.options import PORT, ModelRun, Option, Options

if TYPE_CHECKING:
    from headscope.labelling import LabelSession
    from headscope.runs.ablate import AblateOptions
    from headscope.runs.ablate.prune import PruneOptions
    from headscope.runs.probe import ProbeOptions
    from headscope.runs.tune import SeveralOptions


SHOWN_CHANGES = 5
"""Gains, and losses."""


@command(TRAIN, "probe")
def probe(
    model: Model,
    tasks: Annotated[
        list[str],
        Parameter(
            name="TASKS...",
            consume_multiple=True,
            help="SentEval files or folders of them; a treebank or 'demo', from which the ten "
            "tasks are made; GLUE tasks (mrpc, sts-b, sst-2 …) with --data.",
        ),
    ],
    options: ProbeOptions,
    console: Console,
) -> None:
    """Train classifiers on every head and layer, and on the best heads together.

    For each task, a logistic regression is trained on the output of every head, on every layer and
    on the best heads concatenated (Jo and Myaeng 2020). An interrupted run resumes when the same
    command is typed again.

    Example: headscope probe demo senteval/probing --task Length --task Depth -o probe.nc
    """
    import headscope as hs
    from headscope.cli.printing import show_remarks
    from headscope.cli.tables import ProbeTable

    options = named(options, model, "probe")
    atlas = call(hs.probe, model, tasks, options)
    ProbeTable(n=options.n).show(console, atlas)
    show_remarks(console, atlas)
    console.say(f"next: headscope figures {options.output}, headscope report {options.output}")
    console.result(str(options.output))


@command(TRAIN, "ablate")
def ablate(model: Model, options: AblateOptions, console: Console) -> None:
    """Disable heads, and see what it does to a task's score or the language-model loss.

    Disables each head and each layer in turn, and sets of heads (Kovaleva et al. 2019, Figures 8
    and 9). A paired bootstrap, corrected over all heads, separates gains from noise. An interrupted
    run resumes when the same command is typed again.

    Example: headscope ablate tuned/mrpc-pretrained --data glue -o mrpc-off.nc
    """
    import headscope as hs
    from headscope.cli.printing import show_remarks
    from headscope.cli.tables import AblationTable
    from headscope.figures import gallery, save_chart
    from headscope.runs.tune import recorded_task
    from headscope.stats.tables.ablation import KINDS

    judge = options.task or options.dev or options.corpus
    recorded = None if judge else recorded_task(model)
    data = str(judge) if judge else recorded.name if recorded else "demo"
    options = named(options, model, data, "ablation")
    output = Path(str(options.output))
    atlas = call(hs.ablate, model, options)
    folder = output.with_name(f"{output.stem}-figures")
    with console.status("drawing figures"):
        charts = [(item.draw(atlas), folder / f"{item.name}.png") for item in gallery(atlas)]
        pictures = [str(save_chart(chart, path)) for chart, path in charts]
    AblationTable(few=None if console.as_json else SHOWN_CHANGES).show(console, atlas)
    if not console.as_json:
        show_remarks(console, atlas)
    if pictures:  # sets alone have none
        console.say("figures: " + ", ".join(pictures))
    disabled = any(name in atlas for name in KINDS.values())
    more = f"table {output} ablation" if disabled else f"heads {output} --by importance"
    console.say(f"next: headscope report {output}, headscope {more}")
    console.result(str(output))


@command(TRAIN, "prune")
def prune(model: Model, options: PruneOptions, console: Console) -> None:
    """Remove the least useful heads for good, and write a model that transformers loads.

    Removes heads step by step, with the loss or the score after each step beside random choices of
    heads of the same layers. Where the architecture allows it the weights get smaller; elsewhere
    the output weights of the heads are set to zero. An interrupted run resumes when the same
    command is typed again.

    Example: headscope prune demo-llm --share 0.34 --corpus demo --tolerance 0.5 -o pruned
    """
    import headscope as hs
    from headscope.cli.console import PrintedTable
    from headscope.stats.tables.ablation import few_documents

    pruned = call(hs.prune, model, options)
    if console.as_json:
        console.records(pruned.table)
    elif not console.quiet:
        console.tables([PrintedTable("What removing heads costs", pruned.table, "PRUNED")])
    if few := few_documents(pruned.documents, pruned.documents):
        console.say(f"warning: {few}")
    console.paragraph(pruned.sentence)
    loads = f'transformers.{pruned.auto}.from_pretrained("{options.output}")'
    console.say(f"load it: {loads}; next: headscope survey {options.output} demo")
    console.result(str(options.output))


@command(TRAIN, "runs.tune:SeveralOptions")
def tune(model: Model, options: SeveralOptions, console: Console) -> None:
    """Fine-tune a model on GLUE tasks or your own table.

    Starts from pretrained or random weights (Kovaleva et al. 2019, Table 1), or trains a classifier
    on chosen heads (Jo and Myaeng 2020, Table 4). Other commands read the folders that this one
    makes. An interrupted run resumes when the same command is typed again; finished folders are not
    trained again.

    Example: headscope tune bert-base-uncased --task rte --task mrpc --data glue --start all
    """
    from headscope.cli.printing import show_tuned
    from headscope.runs.tune import tune_several

    tuned = call(tune_several, model, options)
    show_tuned(console, tuned, seeds=len(options.seed))
    console.say(f"next: headscope ablate {tuned[0].folder} --data DATA, headscope explore FOLDER")
    for result in tuned:
        console.result(str(result.folder))


class TasksOptions(Options):
    """Options of ``headscope tasks``.

    Parameters
    ----------
    output
        Where to write the tasks, one NAME.txt each. Default: only the table.
    task
        Only this task: Tense, past_present.
    size
        The most examples of a task, or three numbers: TRAIN,DEV,TEST. Default: all there are, 80,
        10 and 10 %.
    brackets
        Bracketed trees for Depth and TopConst, as in the paper.
    seed
        The seed of everything random.
    """

    output: Annotated[Path | None, Option(short="-o", metavar="FOLDER")] = None
    task: Annotated[Sequence[str], Option(metavar="NAME", completes="tasks")] = ()
    size: Annotated[Sequence[int], Option(separator=",", metavar="N")] = ()
    brackets: Annotated[Path | None, Option(metavar="FILE")] = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(isinstance(part, int) for part in self.size):
            size = ",".join(map(str, self.size))
            raise UserError(
                f"the size must be a number, or three separated by commas; got {size!r} instead",
                hint="e.g. size=1000 or size=(800, 100, 100)",
            )
        super().__post_init__()


@command(TRAIN, "cli.train:TasksOptions")
def tasks(
    source: Annotated[
        str,
        Parameter(
            help="A treebank (.conllu, .conllx, bracketed .mrg, .psd, .ptb; .gz too) or 'demo', to "
            "make tasks from; or SentEval's files (.txt, .tsv, a folder), to show."
        ),
    ],
    options: TasksOptions,
    console: Console,
) -> None:
    """Make the ten probing tasks of Conneau et al. 2018 from a treebank, or show task files.

    Tasks are written in SentEval's format.

    Example: headscope tasks en_ewt-ud-train.conllu -o tasks && headscope tasks tasks
    """
    from headscope.corpus.treebank import is_brackets
    from headscope.tasks.senteval import is_senteval

    trees = is_brackets(Path(source))
    if trees or not is_senteval(Path(source)):
        _make_tasks(console, source, options, trees=trees)
        return
    if options.output or options.brackets or options.size:
        raise UserError(
            f"{source} has tasks already: there is nothing to make",
            hint="leave out output=, size= and brackets= to see what is in it, or give a "
            "treebank (.conllu)",
        )
    _show_tasks(console, source, options.task)


def _make_tasks(console: Console, source: str, options: TasksOptions, *, trees: bool) -> None:
    from headscope.corpus import read
    from headscope.tasks.make import check_made, report_tasks
    from headscope.tasks.senteval import write_senteval

    output = options.output
    corpus = read(source, format="brackets" if trees else None)
    with console.status("making tasks"):
        reports = report_tasks(
            corpus,
            seed=options.seed,
            size=options.size or None,
            tasks=options.task or None,
            brackets=options.brackets or (Path(source) if trees else None),
        )
    check_made(reports, named=bool(options.task))
    tasks = [report.task for report in reports if report.task]
    if output:
        for task in tasks:
            check_writable(output / f"{task.name}.txt")
        for task in tasks:
            write_senteval(task, output)
    if console.as_json or not console.quiet:
        console.table([report.row() for report in reports])
    if output:
        console.say(f"next: headscope probe MODEL {output}")
        console.result(str(output))
    else:
        console.say("nothing was written: give -o FOLDER to keep the tasks")


def _show_tasks(console: Console, source: str, names: Sequence[str]) -> None:
    """What is in SentEval's files."""
    from headscope.tasks.senteval import read_tasks
    from headscope.tasks.task import SPLITS

    there = read_tasks(source)
    known = {key.lower(): task for task in there for key in (task.name, task.title)}
    for name in names:
        if name.lower() not in known:
            raise unknown("task", name, [task.name for task in there])
    chosen = [known[name.lower()] for name in names] or there
    rows: list[dict[str, Any]] = []
    for task in (task for task in there if task in chosen):
        test = task.counts("test")
        rows.append(
            {
                "task": task.title,
                "name": task.name,
                "group": task.group,
                "classes": len(task.labels),
                **{split: len(task.splits.get(split, ())) for split in SPLITS},
                "largest class": max(test.values()) / test.total(),
                "notes": "; ".join(task.notes),
            }
        )
    console.table(rows)


class LabelOptions(ModelRun):
    """Options of ``headscope label``.

    Parameters
    ----------
    output
        The folder of labels; with retrain the file of the network; with check a picture of right
        and wrong classes (.png, .svg, .pdf or .html). Default: labels, or network.safetensors; no
        picture.
    port
        The page's port; 0 takes any free one.
    open
        Open the page in the default browser.
    network
        A network of your own, made by retrain. Default: the one that comes with Headscope.
    limit
        Take maps of the first N examples.
    max_length
        Tokens per example; longer ones are truncated.
    seed
        The seed of the order of maps, and of training.
    retrain
        Train a network on the built-in maps and those of LABELS.
    epochs
        How often each map is seen in training.
    check
        Only print how well the network does on labelled maps that it was not trained on.
    """

    panel: ClassVar[str] = ""

    output: Annotated[Path | None, Option(short="-o", metavar="PATH")] = None
    port: Annotated[int, PORT] = 0
    open: bool = False
    network: Annotated[Path | None, Option(metavar="FILE")] = None
    limit: Annotated[int, Option(least=1, metavar="N")] = 100
    max_length: Annotated[int, Option(least=4, name="maximum length")] = 64
    seed: int = 0
    retrain: bool = False
    epochs: Annotated[int, Option(least=1)] = 60
    check: bool = False


@command(TRAIN, "cli.train:LabelOptions")
def label(
    model: Annotated[
        str,
        Parameter(
            name="MODEL | LABELS",
            help="A hub id, a model folder, a .gguf file, 'demo' or 'demo-llm'; with --retrain a "
            "folder of labels; with --check nothing.",
        ),
    ] = "",
    corpus: Annotated[
        str, Parameter(name="CORPUS", help="A corpus file, or 'demo' for the built-in one.")
    ] = "demo",
    *,
    options: LabelOptions,
    console: Console,
) -> None:
    """Label maps of your own on a page, and train the network of pattern classes on them.

    Every label is saved at once; the same command resumes where it was stopped. The network's guess
    is shown after yours.

    Example: headscope label bert-base-uncased dev.tsv -o my-labels && headscope label my-labels
    --retrain -o network.safetensors
    """
    if options.check:
        from headscope.cli.printing import show_network_check

        show_network_check(console, options.network, options.output)
        return
    if not model:
        raise UserError("the argument MODEL | LABELS is missing")
    if options.retrain:
        _retrain(console, Path(model), options)
        return
    folder = options.output or Path("labels")
    with locked(folder):
        _label(console, model, corpus, folder, options)


def _label(console: Console, model: str, corpus: str, folder: Path, options: LabelOptions) -> None:
    from headscope.corpus import read
    from headscope.models.names import check_loading
    from headscope.page.serving import open_port
    from headscope.runs.preparing import opened

    check_loading(model, options)
    texts = read(corpus, limit=options.limit)
    with ExitStack() as stack:
        port = stack.enter_context(open_port(options.port))
        from headscope.labelling import LabelStore

        store = LabelStore(folder)
        used = stack.enter_context(opened(model, options))
        from headscope.labelling import CorpusMaps, LabelSession
        from headscope.labelling.server import serve
        from headscope.measures.patterns.network import SHIPPED, load_network

        network = load_network(options.network or SHIPPED)
        maps = CorpusMaps(
            used, texts, limit=options.limit, seed=options.seed, max_length=options.max_length
        )
        session = LabelSession(maps, store, network)
        if store.damaged:
            console.say(
                f"{store.damaged} labels were damaged and are asked for again; the damaged files "
                f"are kept in {folder}, with names that end in .damaged"
            )
        before = len(store.labelled)
        _check_remaining(session, folder)
        try:
            serve(session, port, lambda address: _ready(console, address, options.open))
        except KeyboardInterrupt:
            console.say("stopped")
    console.say(
        f"{len(store.labelled) - before} labelled now, {len(store.labelled)} in all: "
        + ", ".join(f"{count} {name}" for name, count in session.counts.items())
    )
    if len(store.labelled):
        console.say(f"next: headscope label {folder} --retrain -o network.safetensors")
    console.result(str(folder))


def _check_remaining(session: LabelSession, folder: Path) -> None:
    if not session.remaining:
        raise UserError(
            f"no maps are left: all {len(session.maps)} maps of these examples are labelled or "
            f"skipped in {folder}",
            hint="give another corpus, a higher limit=, or another folder",
        )


def _ready(console: Console, address: str, open_page: bool) -> None:
    console.say(
        "the page is at the address below, for this machine only; Ctrl-C stops, and every label "
        "is saved at once"
    )
    print(address, file=sys.stderr, flush=True)
    if open_page:
        from headscope.page.serving import open_browser

        open_browser(address)


def _retrain(console: Console, folder: Path, options: LabelOptions) -> None:
    """Train, save, and tell how the old and the new network do on held-out maps."""
    output = options.output or Path("network.safetensors")
    check_writable(output)
    with console.status("loading libraries and labels"):
        from headscope.cli.printing import show_report
        from headscope.labelling import retrain
        from headscope.measures.patterns.labels import read_labelled
        from headscope.measures.patterns.network import SHIPPED, load_network, save_network

        own, old = read_labelled(folder), load_network(options.network or SHIPPED)
        builtin = read_labelled()
    with console.progress("training") as progress:
        done = retrain(
            old, builtin, own, seed=options.seed, epochs=options.epochs, progress=progress
        )
    save_network(output, done.network)
    rows = [
        {
            "maps": name,
            "count": int(before.classes["count"].sum()),
            "macro-F1 before": before.f1,
            "after": done.after[name].f1,
            "accuracy before": before.accuracy,
            "accuracy after": done.after[name].accuracy,
        }
        for name, before in done.before.items()
    ]
    console.table(rows, title="Held-out maps, before and after")
    if not (console.as_json or console.quiet):
        for name, report in done.after.items():
            show_report(console, report, title=f"{name}, after")
    console.say(
        f"trained on the built-in maps and {done.trained} of your {len(own)}"
        + ("" if done.trained < len(own) else ": too few to hold some out")
    )
    console.say(f"use it: headscope attention MODEL TEXT --patterns --network {output}")
    console.result(str(output))
