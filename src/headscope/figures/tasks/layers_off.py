"""The score with each layer disabled, one panel per task (Kovaleva et al. 2019, Figure 9)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from headscope.figures.ablation.layer_off import layer_bars
from headscope.figures.ablation.scores import way_text
from headscope.figures.style import styled
from headscope.results import Atlas

BAR = 22
"""Pixels of a layer."""


def layers_off_by_task(results: Mapping[str, Atlas]) -> Any:
    """Draw one bar per layer, from the baseline to the score without it, for every task.

    Parameters
    ----------
    results : mapping of str to Atlas
        Ablations, by the name of the task.

    Returns
    -------
    altair chart
        One panel per task, each with the axis of its metric.
    """
    charts = [
        layer_bars(one["layer_off"], bar=BAR, height=170).properties(
            title=alt.TitleParams(
                f"{name}: baseline {float(one['layer_off'].attrs['baseline']):.3f}",
                fontSize=11,
                anchor="middle",
            )
        )
        for name, one in results.items()
    ]
    first = next(iter(results.values()))
    return styled(
        alt.concat(*charts, columns=4, spacing=20),
        "Score with one layer disabled",
        way_text(str(first["layer_off"].attrs["way"])),
        "orange line: no layer disabled; whiskers: 95 % interval of the difference from it",
    )
