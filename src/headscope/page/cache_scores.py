"""Scores of heads in the files that tools for cache compression read: DuoAttention and HeadKV.

Both keep more keys and values of heads with larger scores. Heads and layers count from 0 there.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError
from headscope.files import check_writable, write_text
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.heads.query import kv_head_counts, kv_head_table, values_by

DEFAULT = "streaming:distant"
"""What is exported unless another value is named: attention that a short cache would lose."""
SIZES = (128, 256)
"""First and recent tokens in the patterns that DuoAttention's authors released."""
MATRIX, CONFIG = "full_attention_heads.tsv", "config.json"
NAMED = 6
"""Messages name at most so many heads."""


def write_duoattention(atlas: Atlas, folder: Path, *, by: str = "") -> Path:
    """Write a folder that DuoAttention reads: which KV heads need full attention.

    ``full_attention_heads.tsv`` has one row per layer and one column per KV head, each the maximum
    over its query heads, since a KV head is needed as soon as one of them needs it. Values that are
    not all between 0 and 1 are scaled, the smallest to 0 and the largest to 1; ``config.json`` says
    so. It also has ``sink_size`` and ``recent_size``, those of the measure ``streaming`` if the
    results have it, otherwise 128 and 256.

    Parameters
    ----------
    atlas
        Results of a model in which every layer has as many KV heads.
    folder
        The folder; it is made if it does not exist.
    by
        The value to write; larger means that a head needs more of the text. Default: attention to
        distant tokens, ``"streaming:distant"``.

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
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file, not a folder", hint="give another folder")
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
        "headscope": {
            "value": by,
            "over_query_heads": "maximum",
            "scaling": note,
            "sizes": sizes,
        },
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
        short = by.startswith("streaming")
        raise UserError(
            f"{tool} needs a number for every head; {by} is not defined for {_named(wrong)}",
            hint=f"survey texts of more than {sum(_cache_sizes(atlas)[:2])} tokens"
            if short
            else "choose another value, or survey more texts",
        )
    return by, values


def _default(atlas: Atlas, tool: str) -> str:
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
    details = str(atlas.provenance.get("details", {}).get("streaming", ""))
    found = re.search(r"first=(\d+), recent=(\d+)", details)
    if "streaming" in atlas and found:
        return int(found[1]), int(found[2]), "those of the measure streaming"
    return *SIZES, "those of DuoAttention's released patterns"


def _places(values: NDArray[Any]) -> list[Head]:
    """All places of a grid, layer by layer, from 0."""
    return [Head(*place) for place in np.ndindex(*values.shape)]


def _named(mask: NDArray[np.bool_]) -> str:
    """The heads where a mask holds, as a message names them."""
    names = [str(head) for head in _places(mask) if mask[head]]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _write(path: Path, text: str) -> None:
    check_writable(path, error=ResultsError)
    try:
        write_text(path, text)
    except UserError as error:
        raise ResultsError(error.message, hint=error.hint, command=error.command) from None
