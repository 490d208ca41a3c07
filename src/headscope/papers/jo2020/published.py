"""The section that is made from the authors' own numbers, with ours beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headscope.errors import ResultsError
from headscope.figures import agreement_grid, probe_grid, scatter_grid
from headscope.files import slug
from headscope.numbers import interval
from headscope.page import Plot, Table, records
from headscope.papers.jo2020.encoders import encoder_of
from headscope.papers.jo2020.release import Release
from headscope.papers.jo2020.tables import Row, scatter_rows
from headscope.results import Atlas
from headscope.stats.tables.probing import (
    head_table,
    paired_scores,
    percent_gain,
    probe_agreement,
    probing_of,
    task_titles,
    top_heads,
)
from headscope.tasks.task import TITLES

FIGURE_3 = (
    ("BERT base", "BERT large", "GPT", "GPT2", "ELECTRA large"),
    (
        "sentence_length",
        "tree_depth",
        "subj_number",
        "bigram_shift",
        "coordination_inversion",
        "odd_man_out",
    ),
)
"""The encoders and tasks of Figure 3, in its order."""


def layer_table(release: Release) -> Table:
    """Tables 3 and 5 from the released table, with the gains recomputed.

    Parameters
    ----------
    release
        The authors' numbers.
    """
    rows: list[Row] = [
        {
            "encoder": encoder,
            "task": TITLES[task],
            "last layer": last,
            "best layer": best,
            "top heads": top,
            "gain over last, %": percent_gain(top, last),
            "gain over best, %": percent_gain(top, best),
        }
        for encoder, tasks in release.table.items()
        for task, (last, best, top) in tasks.items()
    ]
    over = {base: [row[f"gain over {base}, %"] for row in rows] for base in ("last", "best")}
    note = "The release has no such numbers."
    if rows:
        note = (
            f"Test accuracy in percent. Median gain of the top heads: "
            f"{np.median(over['last']):.2f} % over the last layer, {np.median(over['best']):.2f} % "
            "over the best layer."
        )
    return Table(rows, title="Tables 3 and 5, released", sortable=True, id="released", note=note)


def head_rows(encoders: Mapping[str, Atlas]) -> list[Row]:
    """List the best layer, the best head and the top heads of each encoder and task.

    Parameters
    ----------
    encoders
        The authors' scores of heads, by encoder.

    Returns
    -------
    list of dict
        Scores in percent. The best layer is the one with the highest mean test score of its heads;
        heads are chosen by validation scores, as many as a layer has.
    """
    rows: list[Row] = []
    for encoder, results in encoders.items():
        data = probing_of(results)
        for name, title in task_titles(results).items():
            means = data["test"].sel(task=name).mean("head")
            best = records(head_table(results, name, count=1))[0]
            chosen = top_heads(results, data.sizes["head"], name)
            rows.append(
                {
                    "encoder": encoder,
                    "task": title,
                    "best layer (mean of heads)": int(means["layer"][int(means.argmax("layer"))]),
                    "best head": best["head"],
                    "its score": 100 * best["test"],
                    "top heads, best first": ", ".join(map(str, chosen)),
                }
            )
    return rows


def release_plots(encoders: Mapping[str, Atlas]) -> list[Plot]:
    """Draw Figures 3, 5, 6 and 7 from the authors' numbers.

    Parameters
    ----------
    encoders
        The authors' scores of heads, by encoder.
    """
    probed = {name: set(task_titles(results)) for name, results in encoders.items()}
    tasks = [task for task in TITLES if all(task in names for names in probed.values())]
    chosen = {name: encoders[name] for name in FIGURE_3[0] if name in encoders}
    plots = []
    if chosen and set(FIGURE_3[1]) <= set(tasks):
        plots.append(
            Plot(
                "published-figure-3",
                "Figure 3, from the authors' numbers",
                "Heads of a layer are sorted, the best on the left; layer 1 is at the bottom.",
                probe_grid(chosen, FIGURE_3[1], columns=len(FIGURE_3[1])),
            )
        )
    plots.append(
        Plot(
            "published-figure-5",
            "Figure 5, from the authors' numbers",
            "One point per head, coloured by layer.",
            scatter_grid(encoders),
        )
    )
    for number, ordered in ((6, True), (7, False)):
        order = "sorted, the best on the left" if ordered else "in their own columns"
        plots.append(
            Plot(
                f"published-figure-{number}",
                f"Figure {number}, from the authors' numbers",
                f"All encoders and tasks; heads of a layer are {order}.",
                probe_grid(encoders, tasks, sorted=ordered),
            )
        )
    return plots


def agreement(
    name: str, results: Atlas, release: Release, *, seed: int
) -> tuple[list[Row], list[Plot]]:
    """Compare the heads of one of our models with the published ones.

    Parameters
    ----------
    name
        What readers call the model.
    results
        Its probing results.
    release
        The authors' numbers.
    seed
        Seed of the intervals.

    Returns
    -------
    rows : list of dict
        Correlations over heads, task by task.
    plots : list of Plot
        Our scores against theirs. Both are empty if the paper has no such encoder, or the tasks
        differ.
    """
    published = release.encoders.get(encoder_of(results.provenance))
    if published is None:
        return [], []
    try:
        scores = paired_scores(results, published)
    except ResultsError:
        return [], []
    found = probe_agreement(scores, seed=seed)
    rows = [_row(name, row) for row in records(found)]
    encoder = encoder_of(results.provenance)
    plot = Plot(
        f"agreement-{slug(name)}",
        f"Heads of {name} beside the published {encoder}",
        "Test scores of each head, the authors' and ours, on different sentences.",
        agreement_grid(scores, found, title=f"{name}: scores of heads, published and here"),
    )
    return rows, [plot]


def _row(model: str, row: Mapping[str, Any]) -> Row:
    return {
        "model": model,
        "task": row["task"],
        "correlation": row["correlation"],
        "value": row["value"],
        "95 % interval over heads": interval(row["low"], row["high"]),
        "95 % interval over layers": interval(row["layer low"], row["layer high"]),
        "heads": row["heads"],
    }


def published_parts(
    release: Release, ours: Mapping[str, Atlas], *, seed: int
) -> tuple[str, list[Table], list[Plot]]:
    """Text, tables and plots of the section.

    Parameters
    ----------
    release
        The authors' numbers.
    ours
        Our probing results by model; empty if nothing was probed.
    seed
        Seed of the intervals.
    """
    encoders = release.encoders
    compared = [agreement(name, results, release, seed=seed) for name, results in ours.items()]
    rows, note = scatter_rows(encoders, seed=seed)
    tables = [
        layer_table(release),
        Table(head_rows(encoders), title="Top heads, recomputed", sortable=True, id="release-top"),
        Table(rows, title="Correlation over heads, recomputed", note=note),
    ]
    beside: Sequence[Row] = [row for found, _ in compared for row in found]
    text = "Computed and drawn by our code from the numbers that the authors released."
    if beside:
        tables.append(Table(beside, title="Agreement of heads, published and here"))
    elif ours:
        text += (
            " None of the models here has the family and shape of a published encoder and one of "
            "its tasks, so there is nothing to lay beside them."
        )
    missing = [_missing(name, results) for name, results in encoders.items()]
    text = " ".join([text, *filter(None, missing)])
    return (
        text,
        tables,
        [*release_plots(encoders), *(plot for _, some in compared for plot in some)],
    )


def _missing(encoder: str, results: Atlas) -> str:
    """Say which scores of heads the release lacks."""
    absent = probing_of(results)["test"].isnull().sum(("layer", "head"))
    titles = task_titles(results)
    lacking = [
        f"{titles[str(task)]} ({int(count)} heads)"
        for task, count in zip(absent["task"].values, absent.values, strict=True)
        if count
    ]
    return f"The release lacks scores of {encoder}: {', '.join(lacking)}." if lacking else ""
