"""The paper's numbers beside ours: rows for tables, from results and published facts."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.papers.clark2019.facts import (
    CLARK_CLS_ENTROPY_LAST,
    CLARK_NEXT_LAYERS,
    CLARK_PREVIOUS_LAYERS,
    CLARK_TABLE_1,
    CLARK_TABLE_2,
    CLARK_TABLE_2_HEAD,
    CLARK_TABLE_3,
    ROUGH,
    SAME_RELATION,
)
from headscope.results import Results, heads_over
from headscope.stats import antecedent_table, best_heads

Row = dict[str, Any]


def surface_rows(results: Results) -> list[Row]:
    """§3.1 and §3.3 in numbers: heads on the previous and next token, and the entropy from [CLS] in the last layer."""
    position, entropy = results.mean("position"), results.mean("entropy")
    rows: list[Row] = []
    for offset, layers in (("previous", CLARK_PREVIOUS_LAYERS), ("next", CLARK_NEXT_LAYERS)):
        heads = heads_over(position.sel(offset=offset), 0.5)
        rows.append(
            {
                "what": f"heads with over half of their attention on the {offset} token",
                "paper": len(layers),
                "here": len(heads),
                "paper: layers": ", ".join(map(str, layers)),
                "here: heads": ", ".join(heads) or "none",
            }
        )
    last = int(entropy["layer"].max())
    rows.append(
        {
            "what": "entropy from [CLS] in the last layer (nats)",
            "paper": CLARK_CLS_ENTROPY_LAST,
            "here": float(entropy.sel(row="cls", layer=last).mean("head")),
            "paper: layers": "12",
            "here: heads": f"layer {last}, mean of heads",
        }
    )
    special = results.mean("special").sel(row="all").mean("head")
    for token, words in (("cls", "[CLS]"), ("sep", "[SEP]"), ("punctuation", ". or ,")):
        values = special.sel(token=token)
        layer = int(values.idxmax("layer")) if bool(values.notnull().any()) else 0
        rows.append(
            {
                "what": f"layer that attends most to {words}, mean share of attention",
                "paper": None,
                "here": float(values.max()),
                "paper: layers": "6–10: over 0.5" if token == "sep" else "",
                "here: heads": f"layer {layer}" if layer else "–",
            }
        )
    return rows


def relation_rows(results: Results) -> tuple[list[Row], list[str]]:
    """Table 1: the paper's relations with ours beside, and notes on those that are only roughly the same."""
    known = {str(name) for name in results["dependency"]["relation"].values}
    named = {
        fact.relation: next(
            (name for name in SAME_RELATION.get(fact.relation, (fact.relation,)) if name in known),
            None,
        )
        for fact in CLARK_TABLE_1
    }
    there = [name for name in named.values() if name]
    records: list[dict[Any, Any]] = (
        best_heads(results, relations=there).to_dict("records") if there else []
    )
    ours = {record["relation"]: record for record in records}
    rows: list[Row] = []
    for fact in CLARK_TABLE_1:
        name = named[fact.relation]
        row: Row = {
            "relation": fact.relation,
            "paper: head": fact.head,
            "paper: accuracy": fact.accuracy,
            "paper: offset baseline": f"{fact.baseline:.1f} ({fact.offset})",
        }
        if name is None or name not in ours:
            rows.append(row | {"here: label": "–"})
            continue
        mine = ours[name]
        row |= {
            "here: label": name,
            "words": int(mine["words"]),
            "here: head": mine["head"],
            "direction": mine["direction"],
            "here: accuracy": 100 * float(mine["accuracy"]),
        }
        row |= {
            "95 %": f"{100 * mine['low']:.1f} … {100 * mine['high']:.1f}",
            "here: offset baseline": f"{100 * mine['baseline']:.1f} ({mine['offset']})",
        }
        rows.append(
            row
            | {
                "p (Holm)": float(mine["p_corrected"]),
                "difference": f"{100 * float(mine['accuracy']) - fact.accuracy:+.1f}",
            }
        )
    return rows, [f"{fact}: {ROUGH[name]}." for fact, name in named.items() if name in ROUGH]


def antecedent_rows(results: Results) -> list[Row]:
    """Table 2: antecedent accuracy by mention type, percent, the paper's beside ours."""
    rows: list[Row] = []
    for record in antecedent_table(results).to_dict("records"):
        system = str(record["system"])
        published = CLARK_TABLE_2.get(
            system, CLARK_TABLE_2["head"] if system.startswith("head") else {}
        )
        row: Row = {
            "system": f"{system} (paper: head {CLARK_TABLE_2_HEAD})"
            if system.startswith("head")
            else system
        }
        for kind in ("all", "pronoun", "proper", "nominal"):
            row[f"paper: {kind}"] = published.get(kind)
            row[f"here: {kind}"] = (
                int(record[kind]) if system == "mentions" else 100 * float(record[kind])
            )
        if "low" in record and not pd.isna(record["low"]):
            row["95 % (all)"] = f"{100 * record['low']:.1f} … {100 * record['high']:.1f}"
        rows.append(row)
    return rows


def probe_rows(table: pd.DataFrame) -> list[Row]:
    """Table 3: UAS of the probes, percent, punctuation left out, the paper's beside ours; a probe that was not made has only the paper's."""
    ours = {str(row["probe"]): row for row in table.to_dict("records")}
    rows: list[Row] = []
    for probe, paper in CLARK_TABLE_3.items():
        row: Row = {"probe": probe, "paper": paper}
        if probe in ours:
            mine = ours[probe]
            row |= {
                "here": 100 * mine["uas"],
                "95 %": f"{100 * mine['low']:.1f} … {100 * mine['high']:.1f}",
                "difference": f"{100 * mine['uas'] - paper:+.1f}",
            }
            row["parameters"] = int(mine["parameters"])
        rows.append(row)
    return rows
