"""The section on controls: is it the head or the classifier, and would any heads do?"""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.numbers import p_value
from headscope.page import Table, records
from headscope.results import Atlas
from headscope.stats.tables.probing import better_heads, head_table, task_titles

Row = dict[str, Any]
TEXT = (
    "Not in the paper. A control task gives each sentence a random label of its first word's type "
    "(after Hewitt and Liang 2019), so that only remembering words helps; selectivity is the score "
    "minus that of the control task. A vector that has lost the first word scores low on it, too. "
    "Compression is how many times shorter the training labels become when they are sent with the "
    "head's vectors (online code of Voita and Titov 2020); 1 means that the head tells nothing."
)


def head_table_of_controls(results: Atlas, controls: Atlas, random: Atlas) -> Table:
    """The controls of the best head of each task.

    Parameters
    ----------
    results
        Probing results of the model.
    controls
        What :func:`headscope.runs.probe.controls.probe_controls` returned.
    random
        Probing results of the model with random weights.
    """
    rows: list[Row] = []
    found, better = controls["probe_control"], better_heads(results).set_index("task")
    for name, title in task_titles(results).items():
        if name not in found["task"].values:
            continue
        best = records(head_table(results, name, count=1))[0]
        layer, head = (int(part) for part in best["head"].split("-"))
        mine = found.sel(task=name, layer=layer, head=head)
        words = controls["probe_embeddings"]["test"].sel(task=name)
        chance = random["probe"].sel(task=name)["test"]
        trained = results["probe"].sel(task=name)["test"]
        count = better.loc[title] if title in better.index else None
        rows.append(
            {
                "task": title,
                "best head": best["head"],
                "test": 100 * best["test"],
                "control task": 100 * float(mine["control_task"]),
                "selectivity": 100 * float(mine["selectivity"]),
                "compression": float(mine["compression"]),
                "embeddings only": 100 * float(words),
                "best of random weights": 100 * float(chance.max()),
                "mean of heads": 100 * float(trained.mean()),
                "random weights": 100 * float(chance.mean()),
                "heads above majority": ""
                if count is None
                else f"{count['holm']} of {count['heads']}",
            }
        )
    sizes = ", ".join(
        f"{title} {size:.0f}"
        for title, size in zip(found["title"].values, found["control_size"].values, strict=True)
    )
    note = (
        f"Scores in percent; means over {controls.provenance['draws']} control tasks. Test "
        f"sentences of the control tasks: {sizes}. Embeddings only: the mean over tokens of "
        "what the first layer reads, with the width of a layer; positions are part of it, so that "
        "it knows lengths. Random weights: all weights drawn anew but the embeddings. Heads above "
        "majority: exact binomial tests with Holm's correction over heads, level 0.05."
    )
    return Table(rows, title="Controls of the best head", note=note)


def random_head_table(controls: Atlas) -> Table:
    """The top heads beside random ones.

    Parameters
    ----------
    controls
        What :func:`headscope.runs.probe.controls.probe_controls` returned.
    """
    data = controls["probe_random"]
    rows: list[Row] = []
    for place, title in enumerate(data["title"].values):
        mine = data.isel(task=place)
        scores = 100 * mine["test"].values
        ends = f"{100 * float(mine['low']):+.1f} to {100 * float(mine['high']):+.1f}"
        rows.append(
            {
                "task": str(title),
                f"top-{int(mine['n'])} heads": 100 * float(mine["top"]),
                "random heads, mean": float(np.mean(scores)),
                "lowest and highest": f"{scores.min():.1f}–{scores.max():.1f}",
                "difference, points": f"{100 * float(mine['difference']):+.1f} ({ends})",
                "p": p_value(float(mine["p"])),
                "sets at least as good": f"{int((scores >= 100 * float(mine['top'])).sum())} of "
                f"{len(scores)}",
            }
        )
    note = (
        "Test scores in percent. The difference, its 95 % interval and its p-value are paired over "
        "test sentences: the top heads are right, minus the share of random sets that are."
    )
    return Table(rows, title="Top heads beside random ones", note=note)
