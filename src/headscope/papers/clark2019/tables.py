"""Rows for the tables of Clark et al. 2019: the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from headscope.numbers import MISSING, interval
from headscope.page import records
from headscope.papers.clark2019 import facts
from headscope.results import Atlas, heads_over
from headscope.stats import antecedent_scores, antecedent_table, best_heads

Row = dict[str, Any]
KINDS = ("all", "pronoun", "proper", "nominal")
"""The types of mentions in Table 2."""


def surface_rows(results: Atlas) -> list[Row]:
    """Make the rows on surface patterns (Sections 3.1 to 3.3).

    Parameters
    ----------
    results
        A survey with the measures position, special and entropy.

    Returns
    -------
    list of dict
        Heads on the previous and the next token, the entropy from [CLS] in the last layer, and the
        layers that attend most to special tokens.
    """
    return [*_position_rows(results), _entropy_row(results), *_special_rows(results)]


def _position_rows(results: Atlas) -> list[Row]:
    position = results.mean("position")
    rows: list[Row] = []
    for offset, layers in (("previous", facts.PREVIOUS_LAYERS), ("next", facts.NEXT_LAYERS)):
        heads = heads_over(position.sel(offset=offset), 0.5)
        rows.append(
            {
                "quantity": f"heads with over half of their attention on the {offset} token",
                "paper": len(layers),
                "here": len(heads),
                "paper: layers": ", ".join(map(str, layers)),
                "here: where": ", ".join(heads) or "none",
            }
        )
    return rows


def _entropy_row(results: Atlas) -> Row:
    entropy = results.mean("entropy")
    last = int(entropy["layer"].max())
    return {
        "quantity": "entropy from [CLS] in the last layer (nats)",
        "paper": f"{facts.CLS_ENTROPY_LAST:.2f}",
        "here": f"{float(entropy.sel(row='cls', layer=last).mean('head')):.2f}",
        "paper: layers": "12",
        "here: where": f"layer {last}, mean of its heads",
    }


def _special_rows(results: Atlas) -> list[Row]:
    special = results.mean("special").sel(row="all").mean("head")
    rows: list[Row] = []
    for token, words in (("cls", "[CLS]"), ("sep", "[SEP]"), ("punctuation", "full stop or comma")):
        values = special.sel(token=token)
        known = bool(values.notnull().any())
        rows.append(
            {
                "quantity": f"largest mean attention of a layer to {words} (%)",
                "paper": ">50" if token == "sep" else None,
                "here": f"{100 * float(values.max()):.1f}" if known else None,
                "paper: layers": "6–10" if token == "sep" else "",
                "here: where": f"layer {int(values.idxmax('layer'))}" if known else "–",
            }
        )
    return rows


def relation_rows(results: Atlas, train: Atlas | None = None) -> tuple[list[Row], list[str]]:
    """Make the rows of Table 1.

    Parameters
    ----------
    results
        A survey with the measure dependency.
    train
        The same of a training treebank, to choose heads and offsets on.

    Returns
    -------
    rows : list of dict
        One row per relation of the paper.
    notes : list of str
        How relations were made from Universal Dependencies, and which has no counterpart.
    """
    labels = treebank_labels(results)
    present = [label for label in labels.values() if label]
    found = records(best_heads(results, relations=present, train=train)) if present else []
    ours = {row["relation"]: row for row in found}
    rows = [_relation_row(fact, ours.get(labels[fact.relation])) for fact in facts.TABLE_1]
    notes = [
        f"{relation}: {facts.MADE[label]}."
        for relation, label in labels.items()
        if label in facts.MADE
    ]
    if labels["prep"] is None and "case" in results["dependency"]["relation"].values:
        notes.append(f"prep: {facts.NO_PREP}.")
    return rows, notes


def treebank_labels(results: Atlas) -> dict[str, str | None]:
    """Find what a treebank calls the paper's relations.

    Parameters
    ----------
    results
        A survey with the measure dependency.

    Returns
    -------
    dict
        By the paper's name, in the order of Table 1; None for a relation that the treebank lacks.
    """
    known = {str(name) for name in results["dependency"]["relation"].values}
    return {fact.relation: _label(fact.relation, known) for fact in facts.TABLE_1}


def _label(relation: str, known: set[str]) -> str | None:
    """What the treebank calls a relation of the paper."""
    names = facts.SAME_RELATION.get(relation, (relation,))
    return next((name for name in names if name in known), None)


def _relation_row(fact: facts.BestHead, ours: Row | None) -> Row:
    row: Row = {
        "relation": fact.relation,
        "paper: head": fact.head,
        "paper: accuracy": fact.accuracy,
        "paper: offset baseline": f"{fact.baseline:.1f} ({fact.offset})",
    }
    if ours is None:
        return row | {"here: label": "–"}
    accuracy = 100 * float(ours["accuracy"])
    return row | {
        "here: label": ours["relation"],
        "words": int(ours["words"]),
        "here: head": ours["head"],
        "direction": ours["direction"],
        "here: accuracy": accuracy,
        "95 % interval": _percent_interval(ours),
        "here: held out": 100 * float(ours["held_out"]),
        "held-out head": ours["held_out_head"] or MISSING,
        "here: offset baseline": f"{100 * ours['baseline']:.1f} ({ours['offset']})",
        "offset held out": _held_out_offset(ours),
        "p (Holm)": float(ours["p_corrected"]),
        "difference": f"{accuracy - fact.accuracy:+.1f}",
    }


def treebank_rows(results: Atlas, train: Atlas | None = None) -> list[Row]:
    """List the best head of every relation of the treebank.

    Parameters
    ----------
    results
        A survey with the measure dependency.
    train
        The same of a training treebank, to choose heads and offsets on.

    Returns
    -------
    list of dict
        One row per relation with enough words; accuracies in percent.
    """
    return [
        {
            "relation": row["relation"],
            "words": int(row["words"]),
            "best head": row["head"],
            "direction": row["direction"],
            "accuracy": 100 * float(row["accuracy"]),
            "95 % interval": _percent_interval(row),
            "held out": 100 * float(row["held_out"]),
            "held-out head": row["held_out_head"] or MISSING,
            "offset baseline": f"{100 * row['baseline']:.1f} ({row['offset']})",
            "offset held out": _held_out_offset(row),
            "p": float(row["p"]),
            "p (Holm)": float(row["p_corrected"]),
        }
        for row in records(best_heads(results, train=train))
    ]


def antecedent_rows(results: Atlas) -> list[Row]:
    """Make the rows of Table 2.

    Parameters
    ----------
    results
        A survey with the measure coreference.

    Returns
    -------
    list of dict
        Baselines, the best head, the head that was chosen on other mentions, and the number of
        mentions; percent right by mention type.
    """
    rows: list[Row] = []
    for found in records(antecedent_table(results)):
        system = str(found["system"])
        is_head, is_count = system.startswith("head"), system == "mentions"
        published = facts.TABLE_2.get("head" if is_head else system, {})
        row: Row = {"system": f"{system} (paper: head {facts.TABLE_2_HEAD})" if is_head else system}
        for kind in KINDS:
            row[f"paper: {kind}"] = published.get(kind)
            row[f"here: {kind}"] = int(found[kind]) if is_count else 100 * float(found[kind])
        if "low" in found and not np.isnan(found["low"]):
            row["95 % interval (all)"] = _percent_interval(found)
        rows.append(row)
        if system == "rules":
            name, published_only = facts.NEURAL_COREFERENCE
            rows.append({"system": name, "paper: all": published_only})
    return rows


def mention_rows(results: Atlas) -> list[Row]:
    """Compare systems at finding antecedents for each type of mention.

    Parameters
    ----------
    results
        A survey with the measure coreference.

    Returns
    -------
    list of dict
        One row per system and type of mention: percent right with its interval, and for heads the
        p over each baseline.
    """
    scores = antecedent_scores(results)
    rows: list[Row] = []
    for kind in dict.fromkeys(scores["kind"]):
        for row in records(scores[(scores["kind"] == kind) & (scores["mentions"] > 0)]):
            tests = {name: value for name, value in row.items() if str(name).startswith("p over ")}
            rows.append(
                {
                    "type": kind,
                    "mentions": int(row["mentions"]),
                    "system": row["system"],
                    "right (%)": 100 * float(row["accuracy"]),
                    "95 % interval": _percent_interval(row),
                    **tests,
                }
            )
    return rows


def probe_rows(table: pd.DataFrame) -> list[Row]:
    """Make the rows of Table 3.

    Parameters
    ----------
    table
        What :func:`headscope.papers.clark2019.parse.parse_probes` returned.

    Returns
    -------
    list of dict
        UAS in percent without punctuation. A probe that was not trained has only the published
        number.
    """
    ours = {str(row["probe"]): row for row in records(table)}
    name, published_only = facts.STRUCTURAL_PROBE
    rows: list[Row] = [{"probe": name, "paper": published_only}]
    for probe, published in facts.TABLE_3.items():
        row: Row = {"probe": probe, "paper": published}
        if probe in ours:
            uas = 100 * ours[probe]["uas"]
            row |= {
                "here": uas,
                "95 % interval": _percent_interval(ours[probe]),
                "difference": f"{uas - published:+.1f}",
                "parameters": int(ours[probe]["parameters"]),
            }
        rows.append(row)
    return rows


def probe_pairs(pairs: Sequence[Row]) -> list[Row]:
    """Make the rows that compare the probes pair by pair.

    Parameters
    ----------
    pairs
        What :func:`headscope.papers.clark2019.parse.compare_probes` returned.

    Returns
    -------
    list of dict
        Differences of UAS in points, with their intervals and p-values.
    """
    return [
        {
            "pair": f"{pair['probe']} minus {pair['other']}",
            "difference": f"{100 * pair['difference']:+.1f}",
            "95 % interval": _percent_interval(pair),
            "p": pair["p"],
            "p (Holm)": pair["p_corrected"],
        }
        for pair in pairs
    ]


def _held_out_offset(row: Row) -> str:
    share = 100 * row["held_out_baseline"]
    return f"{share:.1f} ({row['held_out_offset']})" if row["held_out_offset"] else MISSING


def _percent_interval(row: Row) -> str:
    return interval(100 * row["low"], 100 * row["high"], form="{:.1f}".format)
