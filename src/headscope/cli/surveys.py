"""Surveys and what is made of them. Each command reads its options, calls the library and prints; heavy imports wait until they are needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import app

if TYPE_CHECKING:
    from headscope.results import Atlas, Results


@app.command()
def survey(
    model: opt.Model,
    corpus: opt.CorpusFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The results file (.nc). Default: MODEL-CORPUS.nc here.",
            show_default=False,
        ),
    ] = None,
    measure: opt.Measures = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    long: opt.Long = "truncate",
    shard: opt.Shard = "1/1",
    device: opt.Device = "cpu",
    dtype: opt.Dtype = "float32",
    revision: opt.Revision = "",
    stack: opt.Stack = "",
    subtypes: opt.Subtypes = "keep",
    role: opt.Roles = None,
    sieve: opt.Sieves = None,
    direction: opt.Direction = "to head",
    keep: opt.Keep = 5000,
    allow_pickle: opt.AllowPickle = False,
    trust_remote_code: opt.TrustRemoteCode = False,
    format: opt.Format = None,
    columns: opt.Columns = None,
    header: opt.Header = None,
    lines: opt.Lines = False,
    single: opt.Single = False,
    parse: opt.Parse = False,
    parser: opt.Parser = None,
    documents: opt.Documents = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Every measure that fits, for every head, in one pass over a corpus.

    A stopped run (Ctrl-C, kill) goes on where it was when the same command is typed again.

    Example: headscope survey bert-base-uncased en_ewt-ud-dev.conllu.gz -o bert.nc
    """
    from headscope.files import slug

    console = Console(quiet=quiet, as_json=json)
    output = output or Path(f"{slug(model)}-{slug(corpus)}.nc")
    how_load = {
        "device": device,
        "dtype": dtype,
        "revision": revision,
        "allow_pickle": allow_pickle,
        "trust_remote_code": trust_remote_code,
    }
    how_read = {
        "format": format,
        "pairs": not single,
        "lines": lines,
        "header": header,
        "columns": columns.split(",") if columns else None,
        "parse": parser or parse,
        "documents": documents,
    }
    how_run: dict[str, Any] = {
        "limit": limit,
        "seed": seed,
        "batch_size": batch_size,
        "max_length": max_length,
        "long": long,
        "stack": stack,
    }
    own: dict[str, Any] = {
        "roles": tuple(role or ()),
        "direction": direction,
        "subtypes": subtypes,
        "keep": keep,
    }
    for file in sieve or ():
        from headscope.measures import load_sieves

        console.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
    atlas = _run(console, model, corpus, output, measure, shard, how_load, how_read, how_run, own)
    _show(console, atlas)
    tables = [
        name
        for name, measure in (
            ("roles", "role"),
            ("dependencies", "dependency"),
            ("coreference", "coreference"),
        )
        if measure in atlas.measures
    ]
    console.say("next: " + ", ".join(f"headscope {name} {output}" for name in ("report", *tables)))
    console.result(str(output))


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for results and report.")
    ] = Path("headscope-demo"),
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Survey the embedded model with the built-in corpus, and write a report.

    Example: headscope demo && open headscope-demo/demo.html
    """
    console = Console(quiet=quiet, as_json=json)
    run = {"limit": limit, "seed": seed, "batch_size": batch_size, "max_length": max_length}
    atlas = _run(
        console, "demo", "demo", output / "demo.nc", None, "1/1", {"device": device}, {}, run
    )
    _show(console, atlas)
    console.say(f"results: {output / 'demo.nc'}\nreport:")
    console.result(str(atlas.report(output / "demo.html")))


@app.command()
def report(
    results: opt.ResultsFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The page. Default: RESULTS with .html.", show_default=False
        ),
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write one self-contained HTML page about a results file.

    Example: headscope report demo.nc -o demo.html
    """
    from headscope.results import Atlas

    console = Console(quiet=quiet)
    console.result(str(Atlas.open(results).report(output or results.with_suffix(".html"))))


@app.command()
def figures(
    results: opt.ResultsFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the figures.")
    ] = Path("figures"),
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Only this figure (repeat for more). Default: all.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[str, typer.Option("--format", help="png, svg, pdf or html.")] = "png",
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Draw the figures of a results file, one file each.

    Example: headscope figures demo.nc -o figures --format pdf
    """
    from headscope.figures import find_figure, gallery, save_chart
    from headscope.results import Atlas

    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    chosen = [find_figure(one, atlas) for one in name] if name else list(gallery(atlas))
    rows = [
        {
            "figure": item.name,
            "title": item.title,
            "file": str(save_chart(item.draw(atlas), output / f"{item.name}.{format}")),
        }
        for item in chosen
    ]
    console.table(rows)


@app.command()
def ls(results: opt.ResultsFile, json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """Show what is in a results file: measures, model, corpus, settings, versions.

    Example: headscope ls demo.nc
    """
    from headscope.results import Atlas

    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    about = atlas.provenance
    for key in ("model", "corpus", "settings", "counts", "versions"):
        console.say(
            f"{key + ':':10} "
            + ", ".join(
                f"{name} {value}"
                for name, value in about[key].items()
                if value not in (None, "", [])
            )
        )
    console.say(f"shards:    {', '.join(about['shards'])}\ncreated:   {about['created']}")
    rows = []
    for name in atlas:
        dataset = atlas[name]
        scores, counted = (
            ("mean", "n") if "mean" in dataset else ("test", "test_size")
        )  # n heads together
        labels = {
            str(dim): [str(value) for value in dataset[dim].values]
            for dim in dataset[scores].dims
            if dim not in ("layer", "head")
        }
        rows.append(
            {
                "measure": name,
                "title": dataset.attrs["title"],
                "unit": dataset.attrs["unit"],
                "labels": "; ".join(
                    f"{dim}: {', '.join(values)}" for dim, values in labels.items()
                ),
                "examples": int(dataset[counted].max()),
                "source": dataset.attrs["source"],
            }
        )
    console.table(rows)


@app.command()
def export(
    results: opt.ResultsFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The table: .csv or .parquet.", show_default=False),
    ],
    measure: Annotated[
        str | None, typer.Option("--measure", help="Only this measure.", show_default=False)
    ] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write results as one long table: a row a head and statistic, with its interval.

    Example: headscope export demo.nc -o demo.csv
    """
    from headscope.results import Atlas

    Console(quiet=quiet).result(str(Atlas.open(results).export(output, measure=measure)))


@app.command()
def merge(
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="The shards of one run.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The merged results file.", show_default=False)
    ],
    partial: Annotated[
        bool, typer.Option("--partial", help="Merge even if shards are missing.")
    ] = False,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Put the shards of one run together: the numbers of the whole.

    Example: headscope merge part1.nc part2.nc -o whole.nc
    """
    from headscope.results import Atlas
    from headscope.results import merge as merge_parts

    console = Console(quiet=quiet, as_json=json)
    atlas = merge_parts([Atlas.open(part) for part in parts], partial=partial)
    atlas.save(output)
    _show(console, atlas)
    console.result(str(output))


def _run(
    console: Console,
    model: str,
    corpus: str,
    output: Path,
    measures: list[str] | None,
    shard: str,
    load: dict[str, Any],
    read: dict[str, Any],
    run: dict[str, Any],
    own: dict[str, Any] | None = None,
) -> Atlas:
    """Load, read, survey with progress and a checkpoint beside the output, save."""
    from headscope.files import check_writable

    check_writable(output)
    with console.status("loading libraries and model"):
        import headscope as hs
        from headscope.measures.registry import offered_measures
        from headscope.runs.run import check_shard
        from headscope.runs.settings import make_settings

        make_settings(**run)
        part = check_shard(shard)
        read_corpus = hs.corpus.read(corpus, **read)
        loaded = hs.load(model, head="lm" if "gradient" in (measures or ()) else None, **load)
        offered = read_corpus.annotations | loaded.capabilities
        chosen: list[Any] = list(measures or offered_measures(offered))
        for place, name in enumerate(chosen):
            if name == "role" and own:
                chosen[place] = hs.Role(**own)
            if name == "dependency" and own:
                chosen[place] = hs.Dependency(subtypes=own["subtypes"])
    console.say(read_corpus.first(run["limit"]).preview())
    return hs.survey(
        loaded, read_corpus, measures=chosen, shard=part, output=output, progress=console, **run
    )


def _show(console: Console, atlas: Results) -> None:
    """The summary table, what was left out, and remarks."""
    from headscope.results import remarks, summary

    counts = atlas.provenance["counts"]
    lost = {
        "truncated": "cut to the maximum length",
        "split": "split into parts",
        "too_long": "dropped as too long",
        "empty": "dropped because they have no tokens",
        "nonfinite": "dropped because their attention was not finite",
        "words_lost": "words without a token",
        "words_unknown": "words that the tokenizer does not know at all",
    }
    console.say(
        f"{counts['seen']} examples used; "
        + (
            ", ".join(f"{counts[key]} {words}" for key, words in lost.items() if counts.get(key))
            or "nothing cut or dropped"
        )
    )
    for name in [*counts["dropped"], *counts["nonfinite_examples"]][:5]:
        console.say(f"  left out: {name}")
    frame = summary(atlas).rename(
        columns={
            "label": "of",
            "mean": "mean of heads",
            "strongest": "strongest head",
            "value": "its mean",
            "over": "heads over 0.5",
        }
    )
    if console.as_json or not console.quiet:  # quiet: the path alone
        console.frame(frame)
    for remark in remarks(atlas):
        console.say(f"* {remark}")
