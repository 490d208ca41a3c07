"""Warnings of a summary: learned sinks, collapsed heads, texts that were cut, few documents."""

from __future__ import annotations

from typing import Any

import xarray as xr

from headscope.labels import lost_tokens
from headscope.results import Atlas
from headscope.stats.grid import heads_over
from headscope.stats.heads.findings import Analysis
from headscope.stats.inference.correction import flip_note
from headscope.stats.inference.documents import interval_note
from headscope.stats.tables.relations import DEFAULT_DIRECTIONS
from headscope.stats.words.phrases import in_percent
from headscope.stats.words.role_words import token_names
from headscope.stats.words.summary_parts import WARNING, Part, SummaryLine

SINK = 0.8
"""A head with more attention than this on one token has collapsed onto it."""
MANY = 3
"""If one head in so many has collapsed, it is a warning about the model."""
SURVEYED = ("activity", "position", "special", "entropy", "role", "dependency")
"""Measures of a survey, whose sums are kept by document."""
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
        for token, words in token_words(results).items():
            said += _collapsed(results.mean("special").sel(row="all", token=token), words)
    cross = about.get("model", {}).get("stack") == "cross"
    if lost := lost_tokens(about, split=not cross):
        said.append(SummaryLine(WARNING, [Part(lost)]))
    return [*said, *_few_documents(results), *_not_finite(about.get("counts", {}))]


def _few_documents(results: Atlas) -> list[SummaryLine]:
    """Whether there are few documents for intervals, and too few to test relations."""
    measured = [name for name in SURVEYED if name in results and "count" in results[name]]
    notes = [interval_note(results[measured[0]])] if measured else []
    if "dependency" in results:
        counts = results["dependency"]["count"].sel(words="every")
        note = flip_note(counts.sel(direction=list(DEFAULT_DIRECTIONS)))
        notes.append(note and f"{note} So no relation is named.")
    return [SummaryLine(WARNING, [Part(note)]) for note in notes if note]


def _collapsed(values: xr.DataArray, words: str) -> list[SummaryLine]:
    """Whether many heads put nearly all of their attention on one kind of token."""
    heads, many = collapsed_heads(values)
    if not many:
        return []
    total = int(values.notnull().sum())
    put, whose = ("puts", "its") if len(heads) == 1 else ("put", "their")
    parts = [
        Part("Collapsed onto a sink: "),
        Part(f"{len(heads)} of {total} heads", heads),
        Part(f" {put} more than {in_percent(SINK)} of {whose} attention on {words}. {CARE}"),
    ]
    return [SummaryLine(WARNING, parts)]


def collapsed_heads(values: xr.DataArray) -> tuple[tuple[str, ...], bool]:
    """The heads with nearly all of their attention on a kind of token, and whether they are many.

    Parameters
    ----------
    values
        The share of attention of every head, by layer and head.
    """
    heads = tuple(str(head) for head in heads_over(values, SINK))
    return heads, bool(heads) and len(heads) * MANY >= int(values.notnull().sum())


def token_words(results: Atlas) -> dict[str, str]:
    """What the tokens of the measure ``special`` are called, as the model names its own."""
    tokens = token_names(results)
    return {
        "cls": tokens.get("start", "the start token"),
        "sep": tokens.get("separator", "the separator"),
        "punctuation": "full stops and commas",
    }


def _not_finite(counts: dict[str, Any]) -> list[SummaryLine]:
    number, examples = counts.get("nonfinite"), counts.get("nonfinite_examples")
    if not number or not isinstance(examples, list):
        return []
    those = "1 example was skipped" if number == 1 else f"{number} examples were skipped"
    text = f"{those} because of attention that was not finite, e.g. {examples[0]}."
    return [SummaryLine(WARNING, [Part(text)])]
