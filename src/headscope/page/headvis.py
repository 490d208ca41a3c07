"""Results in the files that HeadVis' front end reads, so that its users can look at our numbers.

A folder with ``config.json``, ``scatter_data.json``, ``server_config.json``,
``attributions/manifest.json`` and one file per head. Heads and layers count from 0 there. What was
not measured is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from headscope.errors import ResultsError, UserError
from headscope.files import check_writable, write_text
from headscope.heads import Head, all_heads
from headscope.results import Atlas
from headscope.results.kept import KeptExamples, KeptMap
from headscope.stats.tables.examples import top_keys, top_queries

QUARTERS = 4
"""The sample is divided by strength into so many intervals, after that of the strongest."""
TOKENS = 20
"""Query and key tokens of each head."""
METRICS: Mapping[str, tuple[str, dict[str, str], str]] = {
    "self_attention_score": (
        "position",
        {"offset": "current"},
        "Mean attention to the token itself.",
    ),
    "prev_token_score": (
        "position",
        {"offset": "previous"},
        "Mean attention to the previous token.",
    ),
    "pattern_entropy": ("entropy", {"row": "all"}, "Mean entropy of the rows, in nats."),
}
"""HeadVis' metrics that a survey measures: measure, labels, description."""
UNMEASURED = {
    "qk_distance": "Not measured by this survey.",
    "qk_distance_variance": "Not measured by this survey.",
    "induction_score": "Not measured by this survey.",
}


def write_headvis(atlas: Atlas, folder: Path) -> Path:
    """Write results for HeadVis.

    Parameters
    ----------
    atlas
        Results of a survey that kept examples.
    folder
        The folder; it is made if it does not exist.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UserError
        If the results hold no examples, or the folder cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file, not a folder", hint="give another folder")
    kept = atlas.kept
    heads = all_heads([number - 1 for number in atlas.layers], atlas.shape[1])
    files: dict[str, Any] = {
        "config.json": _config(atlas, kept, heads),
        "scatter_data.json": _scatter(atlas, heads),
        "server_config.json": {},
        "attributions/manifest.json": {},
    }
    for name, content in files.items():
        _write(folder / name, content)
    for head in heads:
        _write(folder / "heads" / f"{head.zero_based}.json", _head(kept, head))
    return folder


def _write(path: Path, content: Any) -> None:
    check_writable(path, error=ResultsError)
    try:
        write_text(path, json.dumps(_plain(content), ensure_ascii=False, allow_nan=False))
    except UserError as error:
        raise ResultsError(error.message, hint=error.hint, command=error.command) from None


def _config(atlas: Atlas, kept: KeptExamples, heads: Sequence[Head]) -> dict[str, Any]:
    about = atlas.provenance
    descriptions = {name: text for name, (_, _, text) in METRICS.items()} | UNMEASURED
    return {
        "model_name": about["model"]["name"],
        "dataset_name": about["corpus"]["name"],
        "heads": [[head.layer, head.head] for head in heads],
        "n_layers": max(atlas.layers),
        "n_heads": atlas.shape[1],
        "n_intervals": 1 + QUARTERS,
        "metrics": list(descriptions),
        "metric_descriptions": descriptions,
        "head_data_pattern": "L{layer}H{head}.json",
        "has_umap": False,
        "umap_heads": [],
        "custom_plots": [],
        "custom_tables": [],
        "statistics_display": [],
        "pipeline_config": {
            "n_sequences": int(about["counts"]["seen"]),
            "seq_len": max((len(text.tokens) for text in kept.texts), default=0),
            "dtype": about["model"].get("dtype", ""),
            "attn_implementation": "headscope",
        },
    }


def _scatter(atlas: Atlas, heads: Sequence[Head]) -> list[dict[str, Any]]:
    columns: dict[str, xr.DataArray | None] = {}
    for name, (measure, labels, _) in METRICS.items():
        columns[name] = atlas.mean(measure).sel(labels) if measure in atlas else None
    rows = []
    for head in heads:
        row: dict[str, Any] = {"layer": head.layer, "head": head.head}
        for name, values in columns.items():
            place = {"layer": head.layer + 1, "head": head.head + 1}
            row[name] = None if values is None else float(values.sel(place))
        rows.append(row | dict.fromkeys(UNMEASURED))
    return rows


def _head(kept: KeptExamples, head: Head) -> dict[str, Any]:
    strongest, sample = kept.strongest(head), kept.sample(head)
    per_quarter = -(-len(sample) // QUARTERS) or 1
    sequences = [_sequence(one, 1) for one in strongest]
    sequences += [_sequence(one, 2 + rank // per_quarter) for rank, one in enumerate(sample)]
    offsets, share, _ = kept.histogram(head)
    scores = [one.score for one in sample]
    counts, edges = np.histogram(scores, bins=20, range=(0.0, 1.0))
    most = [one["max_activation"] for one in sequences]
    return {
        "sequences": sequences,
        "qk_distance_histogram": {
            "bin_edges": [*(-offsets[::-1] - 0.5).tolist(), float(-offsets[0]) + 0.5],
            "bin_values": share[::-1].tolist(),
        },
        "histogram": {"bin_edges": edges.tolist(), "bin_values": counts.tolist()},
        "top_query_tokens": _tokens(top_queries(kept, head, TOKENS)),
        "top_key_tokens": _tokens(top_keys(kept, head, TOKENS)),
        "statistics": {
            "n_samples": len(sample),
            "mean_max_activation": float(np.mean(most)) if most else None,
        },
    }


def _tokens(shares: Any) -> list[dict[str, Any]]:
    return [{"token": word, "weight": weight} for word, weight in shares]


def _sequence(one: KeptMap, interval: int) -> dict[str, Any]:
    length = len(one.text.tokens)
    off_first = one.weights[one.keys > 0]
    return {
        "sequence_id": one.text.number,
        "interval": interval,
        "tokens": list(one.text.tokens),
        "attention_indices": (one.queries * length + one.keys).tolist(),
        "attention_values": [round(float(weight), 5) for weight in one.weights],
        "seq_len": length,
        "max_activation": round(float(off_first.max()), 5) if len(off_first) else 0.0,
    }


def _plain(value: Any) -> Any:
    """NaN becomes null."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
