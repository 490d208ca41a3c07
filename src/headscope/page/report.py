"""The report of a survey: what stands out, summary, figures, every head, provenance."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headscope.figures import gallery
from headscope.figures.gallery import has_values
from headscope.numbers import count
from headscope.page.document import (
    Document,
    Plot,
    Row,
    Section,
    Table,
    render_document,
    write_document,
)
from headscope.page.probing import probe_section
from headscope.page.statistics import (
    antecedent_rows,
    dependency_rows,
    head_rows,
    summary_rows,
)
from headscope.results import Atlas, remarks

TABLES: dict[str, tuple[str, str, str, Callable[[Atlas], list[Row]]]] = {
    "dependency": (
        "dependencies",
        "Dependencies",
        "The best head and direction of each relation, with a 95 % interval by documents, beside "
        "the best fixed offset. Held out: chosen on one half of the documents and scored on the "
        "other, both ways; where the halves chose differently, both heads are named. The test is "
        "paired, exact and one-sided; p is corrected (Holm) over all heads, directions and "
        "relations.",
        dependency_rows,
    ),
    "coreference": (
        "coreference",
        "Coreference",
        "The share of mentions whose head word attends most to the head word of an antecedent. "
        "Candidates are the head words of all earlier mentions. Held out: the head was chosen on "
        "one half of the documents and scored on the other, both ways. Intervals and tests are by "
        "documents. The last row counts mentions.",
        antecedent_rows,
    ),
}
"""Measures with a table of their own: the section's id, title and text, and its rows."""


def write_report(results: Atlas, path: Path) -> Path:
    """Write the report of a run, whole or not at all.

    Parameters
    ----------
    results : Atlas
        Results of a survey, a comparison, an ablation or a probe.
    path : Path
        The HTML file.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ResultsError
        If it cannot be written.
    """
    return write_document(survey_document(results), path)


def render(results: Atlas) -> str:
    """Return the report as HTML."""
    return render_document(survey_document(results))


def survey_document(results: Atlas) -> Document:
    """Return the report of a run as data.

    Parameters
    ----------
    results : Atlas
        Any results. Measures whose attribute ``listed`` is "yes" are in the summary and in the
        table of all heads.

    Returns
    -------
    Document
    """
    about = results.provenance
    plots = [
        Plot(item.name, item.title, item.caption, item.draw(results)) for item in gallery(results)
    ]
    sections = table_sections(results)
    sections.append(Section("figures", "Figures", plots=plots))
    if results.listed:
        summary = Section("summary", "Summary", tables=[Table(summary_rows(results))])
        heads = Section(
            "heads",
            "Every head",
            "Means over examples. Click a column to sort by it. Layers and heads count from 1.",
            [Table(head_rows(results), sortable=True, id="head-table")],
        )
        sections = [summary, *sections, heads]
    return Document(
        title=about["model"]["name"],
        subtitle=f"every attention head, on {about['corpus']['name']}",
        facts=facts(about),
        remarks=remarks(results),
        sections=sections,
        provenance=json.dumps(about, indent=2, ensure_ascii=False),
    )


def table_sections(results: Atlas) -> list[Section]:
    """Return the sections of measures that have a table of their own."""
    sections = []
    for measure, (name, title, text, rows) in TABLES.items():
        if measure in results and has_values(results[measure]):
            table = Table(rows(results), id=f"{measure}-table")
            sections.append(Section(name, title, text, [table]))
    if "probe" in results:
        sections.append(probe_section(results))
    return sections


def facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers at the top of the page, with what they count."""
    counts, model, longest = about["counts"], about["model"], about["settings"]["max_length"]
    shown = [
        (
            f"{model['layers']} × {model['heads']}",
            f"layers × heads ({model['type']}, {model['stack']})",
        ),
        (count(counts["seen"]), "examples used"),
        (count(counts["empty"] + counts["too_long"]), "skipped: empty or too long"),
        (count(counts["truncated"]), f"truncated to {longest} tokens"),
    ]
    if counts["split"]:
        shown.append((count(counts["split"]), f"split into parts of at most {longest} tokens"))
    if counts["nonfinite"]:
        shown.append((count(counts["nonfinite"]), "skipped: attention not finite"))
    return shown
