"""Commands that measure: survey, compare, portrait, circuits, retrieval, track, paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headscope.cli.app import MEASURE, CorpusFile, Model, call, command, named
from headscope.cli.console import Console, PrintedTable
from headscope.errors import UserError
from headscope.papers.catalogue import PAPERS, Paper

if TYPE_CHECKING:
    from headscope.cli.shown import CircuitsShown, RetrievalShown, TrackShown
    from headscope.papers.portrait import Portrait
    from headscope.papers.recipe import Recipe
    from headscope.papers.report import PaperReport
    from headscope.results import Atlas
    from headscope.runs.ablate.cache import CacheOptions
    from headscope.runs.survey import CompareOptions, SurveyOptions

SHOWN_NULLS = 12
"""Statistics of each null model."""
SIDE = "A hub id, a model folder, a .gguf file, 'demo' or 'demo-llm'; or a results file (.nc)."


@command(MEASURE, "survey")
def survey(model: Model, corpus: CorpusFile, options: SurveyOptions, console: Console) -> None:
    """Measure every head on a corpus, in one pass.

    A stopped run (Ctrl-C, kill) resumes when the same command is typed again.

    Example: headscope survey bert-base-uncased en_ewt-ud-dev.conllu.gz -o bert.nc
    """
    import headscope as hs
    from headscope.cli.printing import show_summary
    from headscope.cli.tables import NullTable

    options = named(options, model, corpus)
    atlas = call(hs.survey, model, corpus, options)
    show_summary(console, atlas)
    if atlas.nulls and not (console.quiet or console.as_json):
        NullTable(top=SHOWN_NULLS).show(console, atlas)
        console.say(f"all statistics beside null models: headscope table {options.output} nulls")
    tables = ("roles", "role"), ("relations", "dependency"), ("coreference", "coreference")
    known = [f"table {options.output} {name}" for name, need in tables if need in atlas.measures]
    words = [f"report {options.output}", f"head {options.output} HEAD", *known[:1]]
    plain = atlas.provenance["corpus"]["format"] in ("text", "tsv", "csv", "jsonl")
    if plain and not options.measures and "dependency" not in atlas.measures:
        console.paragraph(
            "These texts have no trees, so no grammar was measured: --parse would add relations "
            "and the roles built on them (English only)."
        )
    console.say(f"all statistics: headscope table {options.output} statistics")
    console.say("next: " + "\n      ".join(f"headscope {word}" for word in words))
    console.result(str(options.output))


@command(MEASURE, "compare")
def compare(
    first: Annotated[str, Parameter(name="A", help=SIDE)],
    second: Annotated[str, Parameter(name="B", help=f"{SIDE} Differences are B minus A.")],
    corpus: Annotated[
        str,
        Parameter(
            name="CORPUS",
            help="For two models: a corpus file, 'demo' for the built-in one, or 'framenet'.",
        ),
    ] = "demo",
    *,
    options: CompareOptions,
    console: Console,
) -> None:
    """Compare two models head by head: the cosine of their maps (Kovaleva et al. 2019, Figure 5).

    Two results files are compared by their means. With --adapter and the same model twice: what
    the adapter changes. A stopped comparison of models resumes when the same command is typed
    again.

    Example: headscope compare bert-base-uncased ./bert-mrpc dev.tsv -o mrpc.nc
    """
    from headscope.cli.printing import show_differences, show_remarks
    from headscope.cli.tables import MatchTable, SimilarityTable
    from headscope.labels import lost_tokens

    are_files = [Path(side).suffix == ".nc" for side in (first, second)]
    if all(are_files):
        options.check_for_results()
        show_differences(console, Path(first), Path(second))
        console.say(f"next: headscope report {first} {second}")
        return
    if any(are_files):
        raise UserError(
            f"a model and a results file cannot be compared: {first} and {second}",
            hint="give two models, or survey the model and give two results files",
        )
    import headscope as hs

    options = named(options, first, second, corpus)
    atlas = call(hs.compare, first, second, options)
    shown, notes = SimilarityTable().frames(atlas), list[str]()
    if options.match != "no":
        [pairs] = MatchTable().frames(atlas)
        if not console.as_json:  # of many heads, those with something to tell
            elsewhere = pairs.frame[pairs.frame["head"] != pairs.frame["partner"]]
            title = "Heads whose partner in the second model stands elsewhere, by cosine of maps"
            pairs = PrintedTable(title, elsewhere, pairs.columns)
        shown.append(pairs)
        notes = [*MatchTable().notes(atlas), f"all pairs: headscope table {options.output} matches"]
    if console.as_json:
        console.records(*(table.frame for table in shown))
    elif not console.quiet:
        console.tables(shown)
    for note in notes:
        console.say(note)
    if lost := lost_tokens(atlas.provenance, split=options.stack != "cross"):
        console.paragraph(lost, mark="* ")
    show_remarks(console, atlas)
    console.say(f"next: headscope figures {options.output}, headscope report {options.output}")
    console.result(str(options.output))


@command(MEASURE, "portrait")
def portrait(
    model: Model,
    corpus: Annotated[
        str, Parameter(name="CORPUS", help="Texts in any format that survey reads.")
    ] = "demo",
    *,
    options: Portrait,
    console: Console,
) -> None:
    """Write a page about the heads of a language model: what they do, and what they are needed for.

    Sinks, previous tokens, induction and what feeds it, duplicates, copying, syntax, logit
    attribution, retrieval, and the loss with the top heads of each disabled; ends with what the
    field says of such heads, tested here. An interrupted run resumes when the same command is run
    again.

    Example: headscope portrait demo-llm
    """
    import headscope as hs

    show_page(call(hs.portrait, model, options), console)


def show_page(report: PaperReport, console: Console) -> None:
    """A recipe's tables as JSON if asked, and the path of its page."""
    if console.as_json:
        console.json(report.records())
    console.result(str(report.page))


def show_named(
    console: Console, atlas: Atlas, shown: Sequence[PrintedTable], names: Sequence[str]
) -> None:
    """Tables and the notes on a run; or one JSON object with all of them, by name."""
    notes = atlas.provenance.get("notes", [])
    if console.as_json:
        import pandas as pd

        frames = dict(zip(names, (table.frame for table in shown), strict=True))
        console.named(frames | {"notes": pd.DataFrame({"note": notes})})
        return
    console.tables(shown)
    for note in notes:
        console.say(f"note: {note}")


@command(MEASURE, "cli.shown:CircuitsShown")
def circuits(model: Model, options: CircuitsShown, console: Console) -> None:
    """Read circuits off a model's weights: what heads copy, which feed which, relations of words.

    No corpus is needed (Elhage et al. 2021). Composition is the norm of a product of two heads'
    matrices over both norms; tables show it over that of random heads. Relations are pairs of words
    such as Monday and Tuesday, of which a head raises the second when it attends to the first
    (Elhelo and Geva 2025).

    Example: headscope circuits demo-llm -o circuits.nc
    """
    import headscope as hs
    from headscope.cli.tables import TABLES

    options = named(options, model, "circuits")
    atlas = call(hs.circuits, model, options)
    kinds: dict[str, Any] = {
        name: TABLES[name] for name in ("copying", "composition", "vocabulary")
    }
    shown = [kind(top=options.top).frames(atlas)[0] for kind in kinds.values()]
    show_named(console, atlas, shown, list(kinds))
    console.say(f"next: headscope report SURVEY --circuits {options.output}")
    console.result(str(options.output))


@command(MEASURE, "cli.shown:RetrievalShown")
def retrieval(
    model: Model,
    text: Annotated[
        str,
        Parameter(
            name="CORPUS",
            help="The text around the needles: any corpus, or 'demo' for the built-in one.",
        ),
    ] = "demo",
    *,
    options: RetrievalShown,
    console: Console,
) -> None:
    """Find the heads that copy an answer out of a long text (Wu et al. 2024).

    Invented facts are hidden in the text, one at a time, and asked for. A head scores for each
    token of the answer that it attends to most while the model writes that token; and by how much
    the question attends to the fact (query-focused retrieval, Zhang et al. 2025).

    Example: headscope retrieval demo-llm --length 512 -o retrieval.nc
    """
    import headscope as hs
    from headscope.cli.tables import RetrievalTable

    options = named(options, model, "retrieval")
    atlas = call(hs.retrieval, model, options)
    shown = RetrievalTable(top=options.top).frames(atlas)
    show_named(console, atlas, shown, ("heads", "recovered", "masking", "focused"))
    console.say(f"next: headscope report SURVEY --retrieval {options.output}")
    console.result(str(options.output))


@command(MEASURE, "cache")
def cache(
    model: Model,
    text: Annotated[
        str,
        Parameter(
            name="CORPUS",
            help="Long texts, also around the needles: any corpus, or 'demo' for the built-in one.",
        ),
    ] = "demo",
    *,
    options: CacheOptions,
    console: Console,
) -> None:
    """Cut the cache of more and more KV heads, and see what the model loses.

    A cut KV head keeps the first 4 and the last 64 tokens (Xiao et al. 2024). Prints the loss on
    long texts and the recall of needles as fewer KV heads keep all, by rankings and at random. An
    interrupted run resumes when the same command is typed again.

    Example: headscope cache demo-llm --by retrieval.nc:retrieval --tokens 2048 -o cache.nc
    """
    import headscope as hs
    from headscope.cli.tables import CacheTable

    options = named(options, model, "cache")
    atlas = call(hs.cache, model, options)
    CacheTable().show(console, atlas)
    for note in () if console.as_json else atlas.provenance["notes"]:
        console.say(f"note: {note}")
    console.say(
        f"next: headscope figures {options.output}, headscope export {options.output} --format "
        "duoattention -o pattern"
    )
    console.result(str(options.output))


@command(MEASURE, "cli.shown:TrackShown")
def track(
    given: Annotated[
        list[str],
        Parameter(
            name="MODEL... CORPUS",
            consume_multiple=True,
            help="The checkpoints in their order, one folder that holds a folder for each, or one "
            "hub id with --revisions; then a corpus file, or 'demo' for the built-in one.",
        ),
    ],
    options: TrackShown,
    console: Console,
) -> None:
    """Survey the checkpoints of a training, and print when heads get their roles.

    A stopped run resumes when the same command is typed again. The report of the results has a
    slider over the checkpoints.

    Example: headscope track EleutherAI/pythia-70m demo --revisions step0,step512,step1000
    """
    *models, corpus = given
    if not models:
        raise UserError(
            f"checkpoints and a corpus are expected; got {corpus} alone",
            hint="headscope track CHECKPOINTS demo",
        )
    import headscope as hs
    from headscope.cli.printing import show_emergence

    options = named(options, models[0], corpus, "track")
    atlas = call(hs.track, models if len(models) > 1 else models[0], corpus, options)
    show_emergence(console, atlas, options)
    console.say(
        f"next: headscope report {options.output}, headscope figures {options.output} --figure "
        "emergence"
    )
    console.result(str(options.output))


def _add_paper(paper: Paper) -> None:
    """The command of a paper's recipe."""

    def reproduce(options: Recipe, console: Console) -> None:
        show_page(options.run(), console)

    title = paper.title if paper.title.endswith("?") else f"{paper.title}:"
    reproduce.__name__, reproduce.__doc__ = paper.name, f"{title} {paper.about}"
    command(MEASURE, f"papers:{paper.recipe}", parent="paper")(reproduce)


for _paper in PAPERS.values():
    _add_paper(_paper)
