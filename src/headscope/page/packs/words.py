"""Sentences for the page: one description per head, and the summary of the model."""

from __future__ import annotations

from typing import Any

from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.convergence import convergence
from headscope.stats.description import descriptions
from headscope.stats.model_summary import model_summary

SEED, ORDERS = 0, 4
"""For the orders in which documents are added: the page shows their mean."""
NOTHING = {"lead": "", "evidence": ""}


def head_texts(atlas: Atlas) -> list[dict[str, str]]:
    """What every head does, in the order of the model."""
    found = descriptions(atlas)
    texts = []
    for layer in atlas.layers:
        for number in range(atlas.shape[1]):
            one = found.get(str(Head(layer - 1, number)))
            texts.append(NOTHING if one is None else {"lead": one.lead, "evidence": one.evidence})
    return texts


def summary_lines(atlas: Atlas) -> list[dict[str, Any]]:
    """What the heads do, each sentence with the heads it speaks of."""
    return [
        {
            "family": line.family,
            "parts": [
                {
                    "text": part.text,
                    **({"heads": list(part.heads)} if part.heads else {}),
                    **({"strong": True} if part.strong else {}),
                }
                for part in line.parts
            ],
        }
        for line in model_summary(atlas)
    ]


def convergence_lines(atlas: Atlas) -> list[dict[str, Any]]:
    """How the intervals of the strongest statistics shrink with the number of examples."""
    lines = []
    table = convergence(atlas, seed=SEED, orders=ORDERS)
    for (statistic, measure, head), part in table.groupby(
        ["statistic", "measure", "head"], sort=False
    ):
        name = str(measure)
        lines.append(
            {
                "title": str(statistic),
                "head": str(head),
                "unit": str(atlas[name].attrs.get("unit", "")) if name in atlas else "",
                "examples": part["examples"].tolist(),
                "half": part["half_width"].tolist(),
                "needed": int(part["to_halve"].iloc[-1]),
            }
        )
    return lines
