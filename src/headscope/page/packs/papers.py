"""What the page shows by paper: tables and charts, from the results alone.

The charts are drawn by the page itself, from the statistics that it has anyway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from headscope.figures.gallery import has_values
from headscope.figures.style import is_share
from headscope.labels import CHANGE
from headscope.page.document import Row, Table, records
from headscope.page.packs.sections import page_table
from headscope.page.probing import probe_section
from headscope.page.roles import role_rows
from headscope.page.schema import PaperChart, Section, Statistic
from headscope.results import Atlas
from headscope.results.columns import ANTECEDENTS, RELATIONS, for_people
from headscope.stats.tables.antecedents import antecedent_table, table_of_scores
from headscope.stats.tables.relations import best_heads
from headscope.stats.tables.roles import describe_test

Kind = Literal["layers", "grids"]
LAYERS: Kind = "layers"
GRIDS: Kind = "grids"
"""Kinds of charts: one point per head by layer; one small grid of heads per statistic."""
MOST = 24
"""Panels of a chart; a measure with more labels than that is left to the atlas and the finder."""


@dataclass(frozen=True)
class Paper:
    """A paper, and which measures follow it."""

    id: str
    title: str
    recipe: bool = True
    measures: tuple[str, ...] = field(default=())


PAPERS = (
    Paper(
        "clark2019",
        "Clark et al. 2019, “What Does BERT Look At?”",
        measures=("position", "special", "entropy", "gradient", "dependency", "coreference"),
    ),
    Paper(
        "kovaleva2019",
        "Kovaleva et al. 2019, “Revealing the Dark Secrets of BERT”",
        measures=(
            "frame",
            "feature",
            "link",
            "pattern",
            "change",
            "head_off",
            "layer_off",
            "set_off",
        ),
    ),
    Paper("pande2021", "Pande et al. 2021, “The Heads Hypothesis”", measures=("role",)),
    Paper(
        "jo2020",
        "Jo and Myaeng 2020, “Roles and Utilization of Attention Heads”",
        measures=("probe",),
    ),
    Paper("other", "Other measures", recipe=False),
)
CHARTS: dict[str, tuple[Kind, str, str]] = {
    "position": (
        LAYERS,
        "Attention to neighbouring tokens (§3.1)",
        "One point per head; the line is the mean of a layer.",
    ),
    "special": (
        LAYERS,
        "Attention to special tokens and punctuation (§3.2, Figure 2)",
        "One point per head; the line is the mean of a layer.",
    ),
    "entropy": (
        LAYERS,
        "Entropy of attention (§3.3, Figure 4)",
        "One point per head; the dashed line is uniform attention.",
    ),
    "gradient": (LAYERS, "Gradient importance (§3.2, Figure 3)", "One point per head."),
    "frame": (GRIDS, "Attention along frame relations (§4.2, Figure 3)", ""),
    "feature": (GRIDS, "Attention to linguistic features (§4.4, Figure 6)", ""),
    "link": (GRIDS, "Attention between words (§4.5, Figure 7)", ""),
    "pattern": (GRIDS, "Pattern classes (§4.1, Figure 2)", ""),
    "change": (GRIDS, "Change of the maps (§4.3, Figure 5)", ""),
    "head_off": (GRIDS, "Score with each head disabled (§4.6, Figure 8)", ""),
    "role": (GRIDS, "Mean sieve bias of every role", "1 is uniform attention."),
    "probe": (GRIDS, "Probing accuracy of every head (Figure 3)", ""),
}
"""How the statistics of a measure are drawn: kind, title, caption."""


def paper_sections(atlas: Atlas, statistics: Sequence[Statistic]) -> list[Section]:
    """The papers whose measures these results have, each with its tables and charts.

    Parameters
    ----------
    atlas
        The results.
    statistics
        As :func:`headscope.page.packs.statistics.statistic_columns` names them.
    """
    claimed = {measure for paper in PAPERS for measure in paper.measures}
    sections: list[Section] = []
    for paper in PAPERS:
        mine = [
            name
            for name in atlas
            if _plain(name) in paper.measures
            or (paper.id == "other" and _plain(name) not in claimed)
        ]
        charts = [chart for name in mine if (chart := _chart(name, atlas, statistics))]
        tables = [page_table(table) for name in mine for table in _tables(name, atlas)]
        if charts or tables:
            model = str(atlas.provenance.get("model", {}).get("name", "MODEL"))
            section: Section = {
                "id": paper.id,
                "title": paper.title,
                "text": "",
                "plots": [*charts],
                "tables": tables,
            }
            if paper.recipe:
                section["command"] = f"headscope paper {paper.id} --model {model}"
            sections.append(section)
    return sections


def _plain(measure: str) -> str:
    return measure.removesuffix(CHANGE)


def _chart(name: str, atlas: Atlas, statistics: Sequence[Statistic]) -> PaperChart | None:
    ids = [entry["id"] for entry in statistics if entry["measure"] == name]
    if not ids or len(ids) > MOST or name in ("coreference", "activity"):
        return None  # the atlas shows activity; coreference has a table
    own: tuple[Kind, str, str] = (GRIDS, str(atlas[name].attrs.get("title", name)), "")
    kind, title, caption = CHARTS.get(name, own)
    unit = str(atlas[name].attrs.get("unit", ""))
    return {
        "id": name,
        "kind": kind,
        "title": title,
        "caption": caption,
        "unit": f"{unit}, 0–1" if is_share(unit) else unit,
        "statistics": ids,
    }


def _dependencies(atlas: Atlas) -> list[Table]:
    note = (
        "The best head and direction of each relation, with a 95 % interval by documents, beside "
        "the best fixed offset. Held out: chosen on one half of the documents and scored on the "
        "other, both ways; where the halves chose differently, both heads are named. The test is "
        "paired and one-sided (sign flips over documents); p is corrected (Holm) over all heads, "
        "directions and relations."
    )
    return [Table(dependency_rows(atlas), title="Dependencies (§4.2, Table 1)", note=note)]


def _antecedents(atlas: Atlas) -> list[Table]:
    note = (
        "The share of mentions whose head word attends most to the head word of an antecedent. "
        "Candidates are the head words of all earlier mentions. Held out: the head was chosen on "
        "one half of the documents and scored on the other, both ways. Intervals and tests are by "
        "documents. The last row counts mentions."
    )
    return [Table(antecedent_rows(atlas), title="Coreference (§4.3, Table 2)", note=note)]


def _roles(atlas: Atlas) -> list[Table]:
    tests = atlas.analysis.sieves
    note = (
        "" if tests is None else f"One-sided test of the mean sieve bias: {describe_test(tests)}."
    )
    rows = [] if tests is None else role_rows(atlas, tests)
    return [Table(rows, title="Heads with each role", note=note)]


def _probes(atlas: Atlas) -> list[Table]:
    return list(probe_section(atlas).tables)


TABLES: dict[str, Callable[[Atlas], list[Table]]] = {
    "dependency": _dependencies,
    "coreference": _antecedents,
    "role": _roles,
    "probe": _probes,
}
"""Measures with tables of their own."""


def _tables(name: str, atlas: Atlas) -> list[Table]:
    """The tables of one measure, if it has any values."""
    return TABLES[name](atlas) if name in TABLES and has_values(atlas[name]) else []


# --- Rows of tables -------------------------------------------------------------------------------


def dependency_rows(results: Atlas) -> list[Row]:
    """Return one row per dependency relation: its best head against the best fixed offset."""
    return records(for_people(_best_heads(results), RELATIONS))


def _best_heads(results: Atlas) -> pd.DataFrame:
    """The best head of each relation, as the analysis of all heads has found it."""
    known = results.analysis.best_heads
    return best_heads(results) if known is None else known


def antecedent_rows(results: Atlas) -> list[Row]:
    """Return the accuracy of the baselines and of the best head at finding antecedents.

    The last row counts mentions: its numbers are integers.
    """
    scores = results.analysis.antecedent_scores
    table = antecedent_table(results) if scores is None else table_of_scores(scores)
    return records(for_people(table, ANTECEDENTS))
