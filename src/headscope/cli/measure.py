"""Commands that measure: survey, compare, portrait, circuits, retrieval, track, paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headscope.cli.app import MEASURE, CorpusFile, Model, call, command, named
from headscope.cli.console import Console
from headscope.errors import UserError
from headscope.options import Option, Options

if TYPE_CHECKING:
    from headscope.papers import Report
    from headscope.runs.circuits import CircuitOptions
    from headscope.runs.compare import CompareOptions
    from headscope.runs.retrieval import RetrievalOptions
    from headscope.runs.survey import SurveyOptions

SIDE = "A hub id, a model folder, a .gguf file, 'demo' or 'demo-llm'; or a results file (.nc)."


@command(MEASURE, "survey")
def survey(model: Model, corpus: CorpusFile, options: SurveyOptions, console: Console) -> None:
    """Measure every head on a corpus, in one pass.

    A stopped run (Ctrl-C, kill) resumes when the same command is typed again.

    Example: headscope survey bert-base-uncased en_ewt-ud-dev.conllu.gz -o bert.nc
    """
    import headscope as hs
    from headscope.cli.printing import show_nulls, show_summary

    options = named(options, model, corpus)
    atlas = call(hs.survey, model, corpus, options)
    show_summary(console, atlas)
    show_nulls(console, atlas, options.output)
    tables = ("roles", "role"), ("relations", "dependency"), ("coreference", "coreference")
    known = [f"table {options.output} {name}" for name, need in tables if need in atlas.measures]
    words = [f"report {options.output}", f"head {options.output} HEAD", *known]
    console.say("next: " + ", ".join(f"headscope {one}" for one in words))
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
    from headscope.cli.printing import show_comparison, show_differences

    are_files = [Path(side).suffix == ".nc" for side in (first, second)]
    if all(are_files):
        options.check_for_results()
        show_differences(console, Path(first), Path(second))
        return
    if any(are_files):
        raise UserError(
            f"a model and a results file cannot be compared: {first} and {second}",
            hint="give two models, or survey the model and give two results files",
        )
    import headscope as hs

    options = named(options, first, second, corpus)
    atlas = hs.compare.__wrapped__(first, second, corpus, options=options)  # type: ignore[attr-defined]
    show_comparison(console, atlas, split=options.stack != "cross")
    console.say(f"next: headscope figures {options.output}, headscope report {options.output}")
    console.result(str(options.output))


@command(MEASURE, "portrait")
def portrait(
    model: Model,
    corpus: Annotated[
        str, Parameter(name="CORPUS", help="Texts in any format that survey reads.")
    ] = "demo",
    *,
    options: Any,
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

    show_page(call(hs.portrait, model, corpus, options), console)


def portray(model: str, corpus: str, console: Console, **options: Any) -> None:
    """Run a portrait and print where its page is."""
    import headscope as hs

    show_page(hs.portrait(model, corpus, **options), console)


def show_page(report: Report, console: Console) -> None:
    """A recipe's tables as JSON if asked, and the path of its page."""
    if console.as_json:
        console.json(report.records())
    console.result(str(report.page))


def _add_papers() -> None:
    from headscope.papers.catalogue import PAPERS

    for paper in PAPERS.values():
        command(MEASURE, f"papers:{paper.options}", parent="paper")(_paper(paper))


@command(MEASURE, "circuits")
def circuits(model: Model, options: CircuitOptions, console: Console) -> None:
    """Read circuits off a model's weights: copying heads, and which heads feed which.

    No corpus is needed (Elhage et al. 2021). Composition is the norm of a product of two heads'
    matrices over both norms; tables show it over that of random heads.

    Example: headscope circuits demo-llm -o circuits.nc
    """
    import headscope as hs
    from headscope.stats.composition import copying_heads, strongest_compositions

    options = named(options, model, "circuits")
    atlas = call(hs.circuits, model, options)
    copying = copying_heads(atlas, top=options.top)
    pairs = strongest_compositions(atlas, top=options.top)
    console.sections(
        {
            "copying": (copying, "Copying heads"),
            "composition": (pairs, "Strongest composition, over random heads"),
        },
        notes=atlas.provenance.get("notes", []),
    )
    console.say(f"next: headscope report SURVEY --circuits {options.output}")
    console.result(str(options.output))


@command(MEASURE, "retrieval")
def retrieval(model: Model, options: RetrievalOptions, console: Console) -> None:
    """Find the heads that copy an answer out of a long text (Wu et al. 2024).

    Invented facts are hidden in the text, one at a time, and asked for. A head scores for each
    token of the answer that it attends to most while the model writes that token.

    Example: headscope retrieval demo-llm --length 512 -o retrieval.nc
    """
    import headscope as hs
    from headscope.stats.retrieval import retrieval_heads, retrieval_masking, retrieval_recovery

    options = named(options, model, "retrieval")
    atlas = call(hs.retrieval, model, options)
    console.sections(
        {
            "recovered": (
                retrieval_recovery(atlas),
                "Answers recovered (more than half of their words)",
            ),
            "heads": (
                retrieval_heads(atlas, top=options.top),
                "Retrieval heads: share of the answer's tokens copied",
            ),
            "masking": (
                retrieval_masking(atlas),
                "Recovered answers with heads disabled: recall of their words",
            ),
        },
        notes=atlas.provenance.get("notes", []),
    )
    console.say(f"next: headscope report SURVEY --retrieval {options.output}")
    console.result(str(options.output))
