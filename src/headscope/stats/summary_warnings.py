"""Warnings of a summary: learned sinks, collapsed heads, skipped examples, few documents."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.stats.analysis import Analysis
from headscope.stats.grid import heads_over
from headscope.stats.jackknife import rough_intervals
from headscope.stats.summary_parts import WARNING, Part, SummaryLine

SINK = 0.8
"""A head with more attention than this on one token has collapsed onto it."""
MANY = 3
"""If one head in so many has collapsed, it is a warning about the model."""
SHOWN = 8
CARE = "Read other statistics of these heads with care."


def warning_lines(analysis: Analysis) -> list[SummaryLine]:
    """What a reader should know before using the numbers.

    Parameters
    ----------
    analysis
        The tests of all heads.
    """
    results = analysis.results
    about = results.provenance
    said: list[SummaryLine] = []
    if about.get("model", {}).get("sink"):
        text = (
            "The rows of this model's attention sum to less than 1: the rest goes to a learned "
            "sink, which is not a token."
        )
        said.append(SummaryLine(WARNING, [Part(text)]))
    if "special" in results:
        tokens = about.get("model", {}).get("tokens", {})
        said += _collapsed(results.mean("special").sel(row="all"), tokens)
    said += _not_finite(about.get("counts", {}))
    for measure in ("activity", "position"):
        if measure in results and "count" in results[measure]:
            rough = rough_intervals(results[measure])
            return [*said, SummaryLine(WARNING, [Part(rough)])] if rough else said
    return said


def _collapsed(means: xr.DataArray, tokens: dict[str, str]) -> list[SummaryLine]:
    """Heads that put nearly all of their attention on one kind of token."""
    names = {
        "cls": tokens.get("start", "the start token"),
        "sep": tokens.get("separator", "the separator"),
        "punctuation": "full stops and commas",
    }
    found = []
    for token, words in names.items():
        values = means.sel(token=token)
        heads = tuple(str(head) for head in heads_over(values, SINK))
        total = int(values.notnull().sum())
        if len(heads) * MANY < max(total, 1) or not heads:
            continue
        put = "puts" if len(heads) == 1 else "put"
        their = "its" if len(heads) == 1 else "their"
        parts = [
            Part("Collapsed onto a sink: "),
            Part(f"{len(heads)} of {total} heads", heads),
            Part(f" {put} more than 80 % of {their} attention on {words}. {CARE}"),
        ]
        found.append(SummaryLine(WARNING, parts))
    return found


def _not_finite(counts: dict[str, Any]) -> list[SummaryLine]:
    number, examples = counts.get("nonfinite"), counts.get("nonfinite_examples")
    if not number or not isinstance(examples, list):
        return []
    those = "1 example was skipped" if number == 1 else f"{number} examples were skipped"
    text = f"{those} because of attention that was not finite, e.g. {examples[0]}."
    return [SummaryLine(WARNING, [Part(text)])]
