"""Commands that show heads: demo, head, heads, examples, attention, explore."""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headscope.cli.app import LOOK, Model, ResultsFile, call, command, completer
from headscope.cli.console import Console, wrapped
from headscope.errors import UserError
from headscope.heads import Head
from headscope.options import AnyPath, FolderRun, Option, Options

if TYPE_CHECKING:
    from headscope.cli.shown import AttentionShown, ExploreShown
    from headscope.results import TextAttention
    from headscope.runs.looking import ExampleOptions

HEAD = "LAYER-HEAD from 1 (3-9), or L2H8 from 0."


class DemoOptions(FolderRun):
    """Options of ``headscope demo``.

    Parameters
    ----------
    llm
        The embedded language model instead, and a page about its heads: see 'headscope portrait'.
        It takes about ten minutes.
    output
        The folder for results and report. Default: headscope-demo, or headscope-demo-llm.
    examples
        Keep N example texts that all heads share; 0 keeps none.
    """

    llm: bool = False
    output: Annotated[AnyPath | None, Option(short="-o", metavar="FOLDER")] = None
    examples: int = 32


@command(LOOK, "cli.look:DemoOptions")
def demo(options: DemoOptions, console: Console) -> None:
    """Survey the embedded model with the built-in corpus, and write a report.

    Example: headscope demo && open headscope-demo/demo.html
    """
    import headscope as hs

    how = options.subset(FolderRun)
    folder = Path(how.pop("output") or f"headscope-demo{'-llm' * options.llm}")
    if options.llm:
        from headscope.cli.measure import show_page

        show_page(hs.portrait("demo-llm", output=folder, **how), console)
        return
    from headscope.cli.printing import show_summary

    results = folder / "demo.nc"
    atlas = hs.survey("demo", "demo", examples=options.examples, output=results, **how)
    show_summary(console, atlas, table=False)
    console.say(
        f"{_activation()}results: {results}\n"
        f"look at a head: headscope head {results} 3-9\n"
        f"its examples: headscope examples {results} 3-9\n"
        "type a text: headscope explore demo\n"
        "report:"
    )
    console.result(str(atlas.report(folder / "demo.html")))


def _activation() -> str:
    """How to make ``headscope`` a command of this shell, where it is not one yet."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("headscope") or not script.exists():
        return ""
    here = Path.cwd()
    near = script.relative_to(here) if script.is_relative_to(here) else script
    return f"to use the commands below, type first: source {near}\n"


class HeadOptions(Options):
    """Options of ``headscope head``.

    Parameters
    ----------
    top
        Rows of each table.
    output
        Draw what the head does as a picture to share (.png or .svg) instead.
    """

    top: Annotated[int, Option(least=1, name="number of rows")] = 12
    output: Annotated[AnyPath | None, Option(short="-o", metavar="FILE")] = None


@command(LOOK, "cli.look:HeadOptions")
def head(
    results: ResultsFile,
    name: Annotated[str, Parameter(name="HEAD", help=HEAD, completer=completer("heads"))],
    options: HeadOptions,
    console: Console,
) -> None:
    """Say what one head does, with the evidence, and show all of its statistics.

    Example: headscope head demo.nc 3-9
    """
    from headscope.results import Atlas

    Head.parse(name)
    atlas = Atlas.open(results)
    if options.output is not None:
        console.result(str(atlas.card(name, options.output)))
        return
    passport = atlas.head(name)
    if console.as_json:
        import pandas as pd

        console.named(
            {
                "description": pd.DataFrame([asdict(passport.description)]),
                "sentences": pd.DataFrame({"sentence": passport.sentences}),
                "roles": passport.roles,
                "relations": passport.relations,
                "statistics": passport.statistics,
            }
        )
        return
    print(f"{passport.title}\n")
    for text in (passport.description.lead, passport.description.evidence):
        if text:
            print(f"{wrapped(text)}\n")
    for sentence in passport.sentences:
        print(wrapped(sentence, mark="* "))
    for title, frame in passport.tables().items():
        more = f" (first {options.top} of {len(frame)})" if len(frame) > options.top else ""
        console.frame(frame.head(options.top), title=title + more)


class HeadsOptions(Options):
    """Options of ``headscope heads``.

    Parameters
    ----------
    where
        Only heads for which this holds: 'entropy < 1.5 and is:nsubj', 'layer 3-5'.
    by
        Sort by this value: position:previous, role:nsubj, entropy.
    top
        Only the first N.
    ascending
        Smallest first.
    kv
        One row per KV head: the mean and maximum of by= over the query heads that share its keys
        and values, sorted by the mean.
    nulls
        One row per statistic: the model's heads beside the bands of its null models (headscope
        survey --null).
    thresholds
        One row per threshold behind roles and sentences: its source, and how many heads change at
        20 % less and more.
    """

    where: Annotated[str, Option(metavar="QUERY")] = ""
    by: Annotated[str, Option(metavar="VALUE", completes="statistics")] = ""
    top: Annotated[int | None, Option(least=1, name="number of heads")] = None
    ascending: bool = False
    kv: bool = False
    nulls: bool = False
    thresholds: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        where = bool(self.where.strip())
        if where:
            from headscope.results.query import parse_query

            parse_query(self.where)
        if self.kv and where:
            raise UserError(
                "--where selects query heads, --kv shows KV heads; they cannot be combined",
                hint="leave one of them out",
            )
        if self.thresholds and (self.nulls or self.kv or self.by or where):
            raise UserError(
                "--thresholds shows one row per threshold; it cannot be combined with --where, "
                "--by, --kv or --nulls",
                hint="leave one of them out",
            )
        if self.nulls and (self.kv or self.by or where):
            raise UserError(
                "--nulls shows one row per statistic; it cannot be combined with --where, --by or "
                "--kv",
                hint="leave --nulls out: with --by, the bands of null models are shown beside "
                "heads",
            )


@command(LOOK, "cli.look:HeadsOptions")
def heads(results: ResultsFile, options: HeadsOptions, console: Console) -> None:
    """List the heads of a results file: filtered, sorted and cut.

    Example: headscope heads demo.nc --by position:previous --top 10 --where "entropy < 2"
    """
    from headscope.results import Atlas

    atlas = Atlas.open(results)
    if options.thresholds or options.nulls:
        from headscope.cli.tables import TABLES

        TABLES["thresholds" if options.thresholds else "nulls"]().show(console, atlas)
        return
    if options.kv:
        table = atlas.kv_heads(options.by)
        table = table.sort_values("mean", ascending=options.ascending, kind="stable")
        console.frame(table.head(options.top) if options.top else table)
        return
    table = atlas.heads(
        where=options.where, by=options.by, top=options.top, ascending=options.ascending
    )
    console.frame(table)
    if not len(table):
        console.say("no head meets this condition")


@command(LOOK, "examples")
def examples(
    given: Annotated[
        list[str],
        Parameter(
            name="RESULTS HEAD | MODEL CORPUS HEAD",
            consume_multiple=True,
            completer=completer("heads"),
            help="A results file (.nc) and a head, such as 3-9 (from 1) or L2H8 (from 0); or a "
            "model, a corpus to look in, and a head.",
        ),
    ],
    options: ExampleOptions,
    console: Console,
) -> None:
    """Show texts on which a head does what it does, with its strongest links.

    From a results file: what the survey kept. From a model and a corpus: found on demand.

    Example: headscope examples demo.nc 3-9 --relation det
    """
    from_results = given[0].endswith(".nc")
    if len(given) != (2 if from_results else 3):
        raise UserError(
            "a results file (.nc) and a head, or a model, a corpus and a head are expected; got "
            + " ".join(given),
            hint="headscope examples demo.nc 3-9, or headscope examples demo demo 3-9",
        )
    Head.parse(given[-1])
    if from_results:
        from headscope.results import Atlas

        atlas = Atlas.open(Path(given[0]))
        shown = atlas.examples(given[1], relation=options.relation, k=options.top)
    else:
        import headscope as hs

        shown = call(hs.examples, *given, options)
    if console.as_json:
        console.frame(shown)
    else:
        print(shown)


@command(LOOK, "cli.shown:AttentionShown")
def attention(
    model: Model,
    text: Annotated[str, Parameter(help="The text.")],
    options: AttentionShown,
    console: Console,
) -> None:
    """Show which words a model's heads attend to in one text.

    Prints the strongest links between words, and draws them with -o (Clark et al. 2019, Figure 5).
    With --patterns: the class of every map (Kovaleva et al. 2019, Figure 1).

    Example: headscope attention demo "The dog that I saw barked." --head 1-3 -o dog.svg
    """
    import headscope as hs

    seen = call(hs.attention, model, text, options)
    if options.output is not None:
        with console.status("drawing"):
            _draw(seen, (text, options.pair), options)
    if options.patterns:
        console.frame(seen.patterns())
    else:
        table = seen.table(top=options.top) if options.heads else seen.overview(options.top)
        console.frame(table if console.as_json else table.drop(columns=["query", "key"]))
    if options.output is not None:
        console.result(str(options.output))


def _draw(seen: TextAttention, texts: tuple[str | None, ...], options: AttentionShown) -> None:
    """Draw lines between words, or every map with its class."""
    from headscope.figures import pattern_grid, save_chart
    from headscope.models.names import model_label

    assert options.output is not None
    if options.patterns:
        chart = pattern_grid(
            seen.maps.values,
            seen.maps["pattern"].values.tolist(),
            title=f"Every map of {model_label(seen.model)}, by pattern class",
            subtitle=" | ".join(text for text in texts if text),
            numbers=seen.maps["layer"].values.tolist(),
        )
    else:
        chart = seen.lines(
            options.heads, red=options.red, hide=options.hide, threshold=options.threshold
        )
    save_chart(chart, options.output)


@command(LOOK, "cli.shown:ExploreShown", json=False)
def explore(model: Model, options: ExploreShown, console: Console) -> None:
    """Type a text and see every head's attention; switch heads off and see what changes.

    Serves a page on this machine only, until Ctrl-C. Predictions are shown for language models and
    classifiers.

    Example: headscope explore demo-llm --results demo-llm.nc
    """
    import headscope as hs

    def say(text: str) -> None:
        if text.startswith("note:"):
            console.say(text)
        else:
            console.say("the page is at the address below, for this machine only; Ctrl-C stops")
            print(text, file=sys.stderr, flush=True)

    call(hs.explore, model, replace(options, say=say))
    console.say("stopped")
