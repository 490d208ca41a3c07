"""Rows and sentences for the page of Kovaleva et al. 2019."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headscope.numbers import interval
from headscope.page import records
from headscope.results import Atlas
from headscope.stats import frame_table
from headscope.stats.tables.disabling import DisablingSummary
from headscope.stats.tables.patterns import pattern_shares
from headscope.tasks.metrics import METRICS, metric_title


def share_rows(found: Mapping[str, Atlas]) -> list[dict[str, object]]:
    """List the share of each pattern class (Figure 2).

    Parameters
    ----------
    found
        Surveys with the measure pattern, by what their maps are of.

    Returns
    -------
    list of dict
        Percent of all maps with the 95 % interval, one row per survey.
    """
    rows = []
    for name, results in found.items():
        row: dict[str, object] = {"maps of": name}
        for share in records(pattern_shares(results)):
            ends = interval(100 * share["low"], 100 * share["high"], form="{:.1f}".format)
            row[str(share["pattern"])] = f"{100 * share['share']:.1f} {ends}"
        rows.append(row | {"examples": results.provenance["counts"]["seen"]})
    return rows


def frame_rows(results: Atlas) -> list[dict[str, object]]:
    """List the heads that attend most along frame links (Figure 3).

    Parameters
    ----------
    results
        A survey with the measure frame.

    Returns
    -------
    list of dict
        The strongest heads: attention in either direction with its 95 % interval, each direction
        alone, and whether the head is above the 99th percentile of all heads.
    """
    return [
        {
            "head": row["head"],
            "largest attention": row["mean"],
            "95 % interval": interval(row["low"], row["high"]),
            "target → element": row["target to element"],
            "element → target": row["element to target"],
            "99th percentile of all heads": row["percentile"],
            "above it": "yes" if row["over"] else "no",
            "sentences": row["sentences"],
        }
        for row in records(frame_table(results))
    ]


def gain_rows(found: Sequence[Mapping[str, Any]], what: str) -> list[dict[str, object]]:
    """List what disabling heads or layers gains (Figures 8 and 9).

    Parameters
    ----------
    found
        Rows of what :func:`headscope.stats.tables.ablation.change_table` returned.
    what
        "head" or "layer".

    Returns
    -------
    list of dict
        The score without the head or layer in percent, and the gain over the baseline in points.
    """
    rows = []
    for row in found:
        metric = next(key for key in row if key in METRICS)
        ends = interval(100 * row["low"], 100 * row["high"], form=signed)
        rows.append(
            {
                f"{what} disabled": row[f"{what} off"],
                "metric": metric_title(metric),
                "score": 100 * row[metric],
                "gain": signed(100 * row["gain"]),
                "95 % interval": ends,
                "p": row["p"],
                "p (corrected)": row["p corrected"],
            }
        )
    return rows


def summary_row(task: str, model: str, found: DisablingSummary, kind: str) -> dict[str, object]:
    """Sum up one ablation in a row: a random head, the best head, and chance.

    Parameters
    ----------
    task, model
        The task, and the seed or name of its model.
    found
        The summary.
    kind
        "head" or "layer".

    Returns
    -------
    dict
        Gains in points, as text.
    """
    ends = interval(100 * found.mean_low, 100 * found.mean_high, form=signed)
    return {
        "task": task,
        "model": model,
        "baseline": 100 * found.baseline,
        f"{kind}s that gain / lose": f"{found.better} / {found.worse} of {found.tested}",
        f"a random {kind}": f"{signed(100 * found.mean)} {ends}",
        f"best {kind}": (
            f"{found.best}: {signed(100 * found.best_gain)}" if found.better else "none gains"
        ),
        "on other examples": (
            f"{signed(100 * found.fitted)} ({found.chosen}: {found.chosen_share:.0%})"
        ),
        "best by chance": f"{signed(100 * found.chance)}, 95 %: {signed(100 * found.chance_high)}",
        "p": found.p,
    }


def signed(value: object) -> str:
    """Write points with their sign; a dash where there are none.

    Examples
    --------
    >>> signed(1.24), signed(-0.04), signed(float("nan"))
    ('+1.2', '0.0', '–')
    """
    known = float("nan") if value is None else float(value)  # type: ignore[arg-type]
    if not math.isfinite(known):
        return "–"
    return "0.0" if abs(known) < 0.05 else f"{known:+.1f}"


def points(share: float) -> str:
    """Write a share as points, with enough digits not to be 0.

    Examples
    --------
    >>> points(1 / 277), points(1 / 1500)
    ('0.36', '0.067')
    """
    return f"{100 * share:.2g}"
