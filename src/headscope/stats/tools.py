"""Results in the files that other tools read: HeadVis, DuoAttention and HeadKV.

Heads and layers count from 0 there. DuoAttention and HeadKV compress caches: both keep more keys
and values of heads with larger scores.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError, first_few
from headscope.files import check_folder, check_writable, write_text
from headscope.heads import Head, all_heads
from headscope.results import Atlas
from headscope.results.kept import KeptExamples, KeptMap
from headscope.stats.heads.query import kv_head_counts, kv_head_table, values_by
from headscope.stats.tables.cache import KEPT
from headscope.stats.tables.examples import top_keys, top_queries


def _write(path: Path, text: str) -> None:
    check_writable(path, error=ResultsError)
    try:
        write_text(path, text)
    except UserError as error:
        raise ResultsError(error.message, hint=error.hint, command=error.command) from None


# --- HeadVis: a folder with one file per head. What was not measured is null ----------------------

QUARTERS = 4  # the sample is divided by strength into so many intervals, after the strongest
TOKENS = 20  # query and key tokens of each head
# HeadVis' metrics that a survey measures: measure, labels, description.
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
UNMEASURED = dict.fromkeys(
    ("qk_distance", "qk_distance_variance", "induction_score"), "Not measured by this survey."
)


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
    check_folder(folder, error=ResultsError)
    kept = atlas.kept
    heads = all_heads([number - 1 for number in atlas.layers], atlas.shape[1])
    files: dict[str, Any] = {
        "config.json": _config(atlas, kept, heads),
        "scatter_data.json": _scatter(atlas, heads),
        "server_config.json": {},
        "attributions/manifest.json": {},
    }
    for name, content in files.items():
        _write(folder / name, _json(content))
    for head in heads:
        _write(folder / "heads" / f"{head.zero_based}.json", _json(_head(kept, head)))
    return folder


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
            at = {"layer": head.layer + 1, "head": head.head + 1}
            row[name] = None if values is None else float(values.sel(at))
        rows.append(row | dict.fromkeys(UNMEASURED))
    return rows


def _head(kept: KeptExamples, head: Head) -> dict[str, Any]:
    strongest, sample = kept.strongest(head), kept.sample(head)
    per_quarter = -(-len(sample) // QUARTERS) or 1
    sequences = [_sequence(map_, 1) for map_ in strongest]
    sequences += [_sequence(map_, 2 + rank // per_quarter) for rank, map_ in enumerate(sample)]
    offsets, share, _ = kept.histogram(head)
    counts, edges = np.histogram([map_.score for map_ in sample], bins=20, range=(0.0, 1.0))
    most = [sequence["max_activation"] for sequence in sequences]
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


def _sequence(map_: KeptMap, interval: int) -> dict[str, Any]:
    length = len(map_.text.tokens)
    off_first = map_.weights[map_.keys > 0]
    return {
        "sequence_id": map_.text.number,
        "interval": interval,
        "tokens": list(map_.text.tokens),
        "attention_indices": (map_.queries * length + map_.keys).tolist(),
        "attention_values": [round(float(weight), 5) for weight in map_.weights],
        "seq_len": length,
        "max_activation": round(float(off_first.max()), 5) if len(off_first) else 0.0,
    }


def _json(content: Any) -> str:
    return json.dumps(_plain(content), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """NaN becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- DuoAttention and HeadKV: one score per head --------------------------------------------------

# What is exported unless another value is named: attention that a short cache would lose.
DEFAULT = "streaming:distant"
SIZES = (128, 256)  # first and recent tokens in the patterns that DuoAttention's authors released
MATRIX, CONFIG = "full_attention_heads.tsv", "config.json"
NAMED = 6  # messages name at most so many heads


def write_duoattention(atlas: Atlas, folder: Path, *, by: str = "") -> Path:
    """Write a folder that DuoAttention reads: which KV heads need full attention.

    ``full_attention_heads.tsv`` has one row per layer and one column per KV head, each the maximum
    over its query heads, since a KV head is needed as soon as one of them needs it. Values that are
    not all between 0 and 1 are scaled, the smallest to 0 and the largest to 1; ``config.json`` says
    so. It also has ``sink_size`` and ``recent_size``, those that :func:`headscope.cache` tested or
    those of the measure ``streaming``, if the results have them, otherwise 128 and 256.

    Parameters
    ----------
    atlas
        Results of a model in which every layer has as many KV heads.
    folder
        The folder; it is made if it does not exist.
    by
        The value to write; larger means that a head needs more of the text. Default: the smallest
        cache within the tolerance, in results of :func:`headscope.cache`; attention to distant
        tokens, ``"streaming:distant"``, in others.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    UserError
        If the value is not defined for some heads, the model has no cache of this kind, or the
        folder cannot be written.

    References
    ----------
    Xiao et al. 2024, "DuoAttention". Their values are gates that are learnt.
    """
    check_folder(folder, error=ResultsError)
    by, _ = _scores(atlas, by, "DuoAttention")
    counts = kv_head_counts(atlas)
    if len(set(counts)) > 1:
        raise UserError(
            f"DuoAttention needs as many KV heads in every layer; these have {counts}",
            hint='use format="headkv"',
        )
    values = kv_head_table(atlas, by)["max"].to_numpy(np.float64).reshape(len(counts), -1)
    values, note = _between_0_and_1(values, by)
    sink, recent, sizes = _cache_sizes(atlas)
    config = {
        "model_name": atlas.provenance["model"].get("name", ""),
        "sink_size": sink,
        "recent_size": recent,
        "headscope": {"value": by, "over_query_heads": "maximum", "scaling": note, "sizes": sizes},
    }
    lines = ["\t".join(repr(float(value)) for value in row) for row in values]
    _write(folder / MATRIX, "\n".join(lines) + "\n")
    _write(folder / CONFIG, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    return folder


def scaling_note(folder: Path) -> str:
    """How the values in a folder of :func:`write_duoattention` were scaled; empty if they were not.

    Parameters
    ----------
    folder
        The folder.
    """
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    return str(config["headscope"]["scaling"])


def write_headkv(atlas: Atlas, path: Path, *, by: str = "") -> Path:
    """Write a file that HeadKV reads: one line of JSON with a list of scores per query head.

    Parameters
    ----------
    atlas
        The results.
    path
        The file.
    by
        The value to write, 0 or more; larger means a larger share of the cache. Default: attention
        to distant tokens, ``"streaming:distant"``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    UserError
        If the value is negative or not defined for some heads, 0 for all, or the file cannot be
        written.

    References
    ----------
    Fu et al. 2025, "Not all heads matter" (HeadKV). Their scores are those of retrieval heads.
    """
    by, values = _scores(atlas, by, "HeadKV")
    if (values < 0).any():
        raise UserError(
            f"HeadKV needs scores of 0 or more; {by} is negative for {_named(values < 0)}",
            hint="choose a value that is never negative, such as a share of attention",
        )
    if not values.any():
        raise UserError(
            f"{by} is 0 for all heads, so HeadKV cannot share the cache by it",
            hint="choose another value",
        )
    scores = {f"{head.layer}-{head.head}": [float(values[head])] for head in _places(values)}
    _write(path, json.dumps(scores, allow_nan=False) + "\n")
    return path


def _scores(atlas: Atlas, by: str, tool: str) -> tuple[str, NDArray[np.float64]]:
    """The value to write and its numbers, (layer, head); they are defined for every head."""
    model = atlas.provenance.get("model", {})
    if model.get("causal") is False:
        raise UserError(
            f"{tool} compresses the cache of a model that writes text; {model.get('name', '?')} "
            "reads whole texts and has none",
            hint="use the results of a causal model",
        )
    if list(atlas.layers) != list(range(1, atlas.shape[0] + 1)):
        raise UserError(
            f"{tool} needs attention in every layer; {model.get('name', '?')} has it in layers "
            f"{', '.join(map(str, atlas.layers))} only",
            hint="use the results of a model whose layers all have attention",
        )
    if not by.strip():
        by = _default(atlas, tool)
    values = values_by(atlas, by)
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise UserError(
            f"{tool} needs a number for every head; {by} is not defined for {_named(wrong)}",
            hint=f"survey texts of more than {sum(_cache_sizes(atlas)[:2])} tokens"
            if by.startswith("streaming")
            else "choose another value, or survey more texts",
        )
    return by, values


def _default(atlas: Atlas, tool: str) -> str:
    if KEPT in atlas:
        if chosen := str(atlas[KEPT].attrs["chosen"]):
            return chosen
        by, kept = (atlas[KEPT][dim].values[0] for dim in ("by", "kept"))
        raise UserError(
            "no tested choice of KV heads is within the tolerance",
            hint=f"""name one all the same: by='{KEPT}:"{by}":{kept}'""",
        )
    if "streaming" in atlas:
        return DEFAULT
    about = atlas.provenance
    name = about.get("model", {}).get("name", "MODEL")
    corpus = about.get("corpus", {}).get("name", "CORPUS")
    raise UserError(
        f"{tool} needs a value per head, and these results lack the measure streaming, whose "
        "attention to distant tokens is written by default",
        hint=f'survey it with hs.survey({name!r}, {corpus!r}, measures=["streaming"]), or name '
        'another value: by="entropy"',
    )


def _between_0_and_1(values: NDArray[Any], by: str) -> tuple[NDArray[Any], str]:
    """Values as they are if all are between 0 and 1, else scaled; and a note that says so."""
    least, most = float(values.min()), float(values.max())
    if least >= 0 and most <= 1:
        return values, ""
    if least == most:
        raise UserError(
            f"{by} is {least:g} for all KV heads, which cannot be scaled to 0…1",
            hint="choose another value",
        )
    note = f"{by} is not between 0 and 1, so it was scaled: {least:g} became 0 and {most:g} 1"
    return (values - least) / (most - least), note


def _cache_sizes(atlas: Atlas) -> tuple[int, int, str]:
    """The numbers of first and recent tokens to keep, and where they come from."""
    if KEPT in atlas:
        kept = atlas[KEPT].attrs
        return int(kept["first"]), int(kept["recent"]), "those that were tested"
    details = str(atlas.provenance.get("details", {}).get("streaming", ""))
    match = re.search(r"first=(\d+), recent=(\d+)", details)
    if "streaming" in atlas and match:
        return int(match[1]), int(match[2]), "those of the measure streaming"
    return *SIZES, "those of DuoAttention's released patterns"


def _places(values: NDArray[Any]) -> list[Head]:
    """All places of a grid, layer by layer, from 0."""
    return [Head(*place) for place in np.ndindex(*values.shape)]


def _named(mask: NDArray[np.bool_]) -> str:
    """The heads where a mask holds, as a message names them."""
    return first_few([str(head) for head in _places(mask) if mask[head]], NAMED)
