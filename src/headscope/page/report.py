"""The report of a survey: what stands out, summary, figures, every head, provenance; made from results only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headscope.figures import gallery
from headscope.page.document import (
    Document,
    Plot,
    Section,
    Table,
    missing,
    records,
    render_document,
    write_document,
)
from headscope.page.probing import probe_section
from headscope.results import Atlas, head_name, remarks, summary
from headscope.stats import antecedent_table, best_heads


def write_report(results: Atlas, path: Path) -> Path:
    """Write the report of a run, whole or not at all."""
    return write_document(survey_document(results), path)


def render(results: Atlas) -> str:
    """The page as a string."""
    return render_document(survey_document(results))


def survey_document(results: Atlas) -> Document:
    """The report of a survey as data."""
    about = results.provenance
    figures = [
        Plot(item.name, item.title, item.caption, item.draw(results)) for item in gallery(results)
    ]
    sections = (
        [Section("summary", "Summary", tables=[Table(summary_rows(results))])]
        if results.listed
        else []
    )
    sections += table_sections(results)
    sections.append(Section("figures", "Figures", plots=figures))
    if results.listed:
        heads = Table(head_rows(results), sortable=True, id="head-table")
        sections.append(
            Section(
                "heads",
                "Every head",
                "Means over examples. Click a column to sort. Layers and heads count from 1.",
                [heads],
            )
        )
    return Document(
        title=about["model"]["name"],
        subtitle=f"every attention head, on {about['corpus']['name']}",
        facts=facts(about),
        remarks=remarks(results),
        sections=sections,
        provenance=json.dumps(about, indent=2, ensure_ascii=False),
    )


def table_sections(results: Atlas) -> list[Section]:
    """The measures that have tables of their own."""
    sections = []
    if "dependency" in results.measures and bool((results["dependency"]["n"] > 0).any()):
        note = "The best head and direction of each relation, with Wilson's interval; the best fixed offset; a paired exact test, corrected (Holm) over all heads, directions and relations."
        sections.append(
            Section(
                "dependencies",
                "Dependencies",
                note,
                [Table(records(best_heads(results)), id="dependency-table")],
            )
        )
    if "coreference" in results.measures and bool((results["coreference"]["n"] > 0).any()):
        note = "Share of mentions whose head word attends most to the head word of an antecedent; candidates are the head words of all earlier mentions."
        sections.append(
            Section(
                "coreference",
                "Coreference",
                note,
                [Table(records(antecedent_table(results)), id="coreference-table")],
            )
        )
    if "probe" in results.measures:
        sections.append(probe_section(results))
    return sections


def facts(about: dict[str, Any]) -> list[tuple[str, str]]:
    """The numbers at the top of the page."""
    counts, model, longest = about["counts"], about["model"], about["settings"]["max_length"]
    found = [
        (
            f"{model['layers']} × {model['heads']}",
            f"layers × heads ({model['type']}, {model['stack']})",
        ),
        (str(counts["seen"]), "examples used"),
        (str(counts["empty"] + counts["too_long"]), "left out"),
        (str(counts["truncated"]), f"cut to {longest} tokens"),
    ]
    if counts["split"]:
        found.append((str(counts["split"]), f"split into parts of at most {longest} tokens"))
    if counts["nonfinite"]:
        found.append((str(counts["nonfinite"]), "dropped: attention not finite"))
    return found


def summary_rows(results: Atlas) -> list[dict[str, Any]]:
    """One row a statistic, for people."""
    rows = []
    for row in records(summary(results)):
        over = None if not row["strongest"] or missing(row["over"]) else int(row["over"])
        interval = "–" if missing(row["low"]) else f"{row['low']:.3f} … {row['high']:.3f}"
        rows.append(
            {
                "measure": row["measure"],
                "of": row["label"],
                "mean of heads": row["mean"],
                "strongest head": row["strongest"] or "–",
                "its mean": row["value"],
            }
            | {"95 % interval": interval, "heads over 0.5": over, "examples": row["n"]}
        )
    return rows


def head_rows(results: Atlas) -> list[dict[str, Any]]:
    """One row a head, one column a statistic: the table in which readers look up a head."""
    table = results.table()
    table = table[table["measure"].isin(results.listed)].copy()
    table["column"] = table["measure"] + ": " + table["label"]
    columns = list(dict.fromkeys(table["column"]))
    wide = table.pivot(index=["layer", "head"], columns="column", values="mean")[columns]
    return [
        {
            "head": head_name(int(layer), int(head)),
            **{column: float(value) for column, value in zip(columns, row, strict=True)},
        }
        for (layer, head), row in zip(wide.index, wide.to_numpy(), strict=True)
    ]
