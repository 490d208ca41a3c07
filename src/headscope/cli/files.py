"""Commands on files: report, figures, ls, export, merge, cite, check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headscope.cli.app import FILES, Model, ResultsFile, call, command
from headscope.cli.console import Console
from headscope.errors import UserError
from headscope.options import Option, Options, check_results_name

if TYPE_CHECKING:
    from headscope.runs.looking import CheckOptions

ABOUT = ("model", "corpus", "settings", "counts", "versions")


LARGE = 10_000_000
"""Bytes of a page over which a folder is better."""


class ReportOptions(Options):
    """Options of ``headscope report``.

    Parameters
    ----------
    circuits
        Circuits of the same model (headscope circuits), to show beside its heads.
    retrieval
        Retrieval scores of the same model (headscope retrieval), likewise.
    output
        The page, or the folder. Default: RESULTS with .html.
    folder
        Write a folder for a web server, with one file per head: for large models. Of several
        results, a site: a front page with all models, and a report of each.
    paper
        A page made by 'headscope paper', for the site: its claims are compared across models.
    figures
        Also draw all figures of the gallery into the page.
    """

    circuits: Annotated[Path | None, Option(metavar="FILE")] = None
    retrieval: Annotated[Path | None, Option(metavar="FILE")] = None
    output: Annotated[Path | None, Option(short="-o")] = None
    folder: bool = False
    paper: Annotated[Sequence[Path], Option(metavar="PAGE")] = ()
    figures: bool = False


@command(FILES, "cli.files:ReportOptions", json=False)
def report(
    results: ResultsFile,
    *others: Annotated[Path, Parameter(name="RESULTS", help="Further results to compare with.")],
    options: ReportOptions,
    console: Console,
) -> None:
    """Write a page to explore results: every head, its roles, statistics and examples.

    Example: headscope report demo.nc -o demo.html
    """
    from headscope.page import write_gallery
    from headscope.results import Atlas

    if options.paper and not options.folder:
        raise UserError(
            "--paper is for a site, which is written into a folder",
            hint="add --folder, or open the paper's page itself",
        )

    atlas, more = Atlas.open(results), [Atlas.open(path) for path in others]
    if options.circuits is not None:
        atlas = atlas.with_circuits(Atlas.open(options.circuits))
    if options.retrieval is not None:
        atlas = atlas.with_retrieval(Atlas.open(options.retrieval))
    target = options.output or results.with_suffix("" if options.folder else ".html")
    if options.folder and (more or options.paper):
        page = write_gallery([atlas, *more], target, papers=options.paper, figures=options.figures)
    else:
        page = atlas.report(target, others=more, folder=options.folder, figures=options.figures)
    if options.folder:
        console.say(f"serve it: python -m http.server --directory {target}\npage:")
    elif (size := page.stat().st_size) > LARGE:
        console.say(f"{size / 1e6:.0f} MB in one file: --folder loads heads when they are opened")
    console.result(str(page))


class FigureOptions(Options):
    """Options of ``headscope figures``.

    Parameters
    ----------
    figure
        Only this figure. Default: all.
    output
        The folder for the figures.
    format
        png, svg, pdf or html.
    width
        How wide each figure is, such as 3.3in, 84mm or 240pt. Default: its own size.
    height
        How high each figure is. Default: as its width needs.
    font
        The font of all words; it must be installed.
    title
        Draw the title and the lines below it.
    beside
        Further results whose shares of pattern classes are drawn beside these: the figure
        task-patterns.
    """

    figure: Annotated[Sequence[str], Option(metavar="NAME", completes="figures")] = ()
    output: Annotated[Path, Option(short="-o", metavar="FOLDER")] = Path("figures")
    format: str = "png"
    width: Annotated[str | None, Option(metavar="LENGTH")] = None
    height: Annotated[str | None, Option(metavar="LENGTH")] = None
    font: Annotated[str, Option(metavar="NAME")] = ""
    title: bool = True
    beside: Annotated[Sequence[Path], Option(metavar="FILE")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        from headscope.figures import find_figure
        from headscope.figures.sizes import check_font, length

        for name in self.figure:
            find_figure(name)
        for side in ("width", "height"):
            if (text := getattr(self, side)) is not None:
                length(text, side)
        if self.font:
            check_font(self.font)


@command(FILES, "cli.files:FigureOptions")
def figures(results: ResultsFile, options: FigureOptions, console: Console) -> None:
    """Draw the figures of a results file, one file each.

    Example: headscope figures demo.nc -o figures --format pdf
    """
    from headscope.figures import find_figure, gallery, save_chart, task_patterns
    from headscope.results import Atlas

    atlas = Atlas.open(results)
    named = [find_figure(name, atlas) for name in options.figure]
    charts = {
        drawn.name: (drawn.title, drawn.draw) for drawn in named or list(gallery(atlas))
    }  # drawn one by one
    if options.beside:
        from headscope.cli.tables import pattern_files

        files = pattern_files({results: atlas}, options.beside)
        charts["task-patterns"] = ("Pattern classes by file", lambda results: task_patterns(files))
    rows = []
    for name, (title, draw) in charts.items():
        path = options.output / f"{name}.{options.format}"
        looks = {key: getattr(options, key) for key in ("width", "height", "font", "title")}
        save_chart(draw(atlas), path, **looks)
        rows.append({"figure": name, "title": title, "file": str(path)})
    console.table(rows)


@command(FILES)
def ls(results: ResultsFile, console: Console) -> None:
    """Show what is in a results file: measures, model, corpus, settings, versions.

    Example: headscope ls demo.nc
    """
    from headscope.results import Atlas
    from headscope.results.schema import contents, label_dims

    atlas = Atlas.open(results)
    about = atlas.provenance
    for key in ABOUT:
        values = about.get(key, {}).items()
        known = (f"{name} {value}" for name, value in values if value not in (None, "", []))
        if values:
            console.say(f"{key + ':':10} {', '.join(known)}")
    for note in about.get("notes", ()):
        console.say(f"note:      {note}")
    console.say(f"shards:    {', '.join(about['shards'])}\ncreated:   {about['created']}")
    rows = []
    for name in atlas:
        dataset = atlas[name]
        labels = {dim: [str(value) for value in dataset[dim].values] for dim in label_dims(dataset)}
        rows.append(
            {
                "measure": name,
                "title": dataset.attrs.get("title", name),
                "unit": dataset.attrs.get("unit", ""),
                "labels": "; ".join(
                    f"{dim}: {', '.join(values)}" for dim, values in labels.items()
                ),
                "examples": int(dataset[contents(dataset).count].max()),
                "source": dataset.attrs.get("source", ""),
            }
        )
    console.table(rows)


class ExportOptions(Options):
    """Options of ``headscope export``.

    Parameters
    ----------
    output
        The table: .csv, .parquet or .tex (LaTeX); or a folder, or .json for headkv.
    format
        csv, parquet, latex; headvis: a folder that HeadVis' front end reads; duoattention (a
        folder) or headkv (.json): one score per head, for cache compression. Default: as the file's
        ending says.
    measure
        Only this measure.
    by
        For duoattention and headkv: the value to write, such as repetition:induction. Default:
        streaming:distant; of a tested cache, the smallest choice within the tolerance.
    """

    output: Annotated[Path | None, Option(short="-o")] = None
    format: str = ""
    measure: Annotated[str | None, Option(metavar="NAME", completes="measures")] = None
    by: Annotated[str, Option(metavar="VALUE", completes="statistics")] = ""


@command(FILES, "cli.files:ExportOptions", json=False)
def export(results: ResultsFile, options: ExportOptions, console: Console) -> None:
    """Write results as one long table, one row per head and statistic, with its interval.

    Example: headscope export demo.nc -o demo.csv
    """
    from headscope.results import Atlas

    output = _needed(options.output, "export RESULTS -o table.csv")
    atlas = Atlas.open(results)
    path = atlas.export(output, measure=options.measure, format=options.format, by=options.by)
    if options.format == "duoattention":
        from headscope.stats.tools import scaling_note

        if note := scaling_note(path):
            console.say(note)
    console.result(str(path))


class MergeOptions(Options):
    """Options of ``headscope merge``.

    Parameters
    ----------
    output
        The merged results file.
    partial
        Merge even if shards are missing.
    overwrite
        Replace the results of another run in the output.
    """

    output: Annotated[Path | None, Option(short="-o")] = None
    partial: bool = False
    overwrite: bool = False


@command(FILES, "cli.files:MergeOptions")
def merge(
    part: Annotated[Path, Parameter(name="RESULTS", help="A shard of a run.")],
    *parts: Annotated[Path, Parameter(name="RESULTS...", help="Its other shards.")],
    options: MergeOptions,
    console: Console,
) -> None:
    """Put the shards of one run together: the numbers of the whole.

    Example: headscope merge part1.nc part2.nc -o whole.nc
    """
    from headscope.cli.printing import show_summary
    from headscope.identity import check_same_run
    from headscope.results import Atlas
    from headscope.results import merge as merge_parts

    output = _needed(options.output, "merge RESULTS... -o whole.nc")
    check_results_name(output)
    atlas = merge_parts([Atlas.open(path) for path in (part, *parts)], partial=options.partial)
    if output.exists() and not options.overwrite:
        there = Atlas.open(output).provenance
        check_same_run(there, atlas.provenance, f"{output} holds the results of another run")
    atlas.save(output)
    show_summary(console, atlas)
    console.say(f"next: headscope report {output}")
    console.result(str(output))


@command(FILES, json=False)
def cite(
    results: Annotated[
        Path | None,
        Parameter(name="RESULTS", help="A results file: cite what its measures come from too."),
    ] = None,
    *,
    console: Console,
) -> None:
    """Print BibTeX entries for Headscope and for the papers behind the measures.

    Example: headscope cite demo.nc > headscope.bib
    """
    from headscope.results import Atlas
    from headscope.results.export import citations

    entries = citations(Atlas.open(results) if results else None)
    behind = f"the measures of {results}" if results else "its measures"
    console.say(f"Headscope and {entries.count('@inproceedings')} papers behind {behind}:")
    console.result(entries)


@command(FILES, "check")
def check(model: Model, options: CheckOptions, console: Console) -> None:
    """Compare a model with transformers' own eager attention on this machine.

    Maps and outputs of every layer, on one text, a padded batch and a long text. The exit code is 1
    if something differs by more than rounding.

    Example: headscope check demo --dtype bfloat16
    """
    import headscope as hs

    with console.status("loading and comparing the model"):
        agreement = call(hs.check, model, options)
    console.frame(agreement.frame())
    for note in agreement.notes:
        console.say(f"note: {note}")
    console.result(agreement.verdict())
    if not agreement.passed:
        raise SystemExit(1)


def _needed(output: Path | None, example: str) -> Path:
    if output is None:
        raise UserError("there is no output", hint=f"say where to write: headscope {example}")
    return output
