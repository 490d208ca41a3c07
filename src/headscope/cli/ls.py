"""``headscope ls``: what is in a results file."""

from __future__ import annotations

from headscope.cli import options as opt
from headscope.cli.console import Console
from headscope.cli.root import FILES, app


@app.command(rich_help_panel=FILES)
def ls(results: opt.ResultsFile, json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """Show what is in a results file: measures, model, corpus, settings, versions.

    Example: headscope ls demo.nc
    """
    from headscope.results import Atlas
    from headscope.results.schema import contents, label_dims

    console = Console(quiet=quiet, as_json=json)
    atlas = Atlas.open(results)
    about = atlas.provenance
    for key in ("model", "corpus", "settings", "counts", "versions"):
        if key not in about:
            continue
        console.say(
            f"{key + ':':10} "
            + ", ".join(
                f"{name} {value}"
                for name, value in about[key].items()
                if value not in (None, "", [])
            )
        )
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
