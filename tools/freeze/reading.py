"""Read every number in a results file, a table, a page's data or a model's weights.

Nothing of Headscope is imported, so that files of any commit can be read. Texts are read too: they
label the numbers, and a text that changed may be a result that changed.
"""

from __future__ import annotations

import base64
import gzip
import html
import itertools
import json
import math
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from safetensors.numpy import load_file

Numbers = dict[tuple[str, str], xr.DataArray]
"""The numbers and texts of a file by part (measure, pack of a page) and statistic."""

BLOCKED = {"block", "bucket"}
"""Dimensions over which a run keeps partial sums. How a run is cut is free, so their totals are
compared."""
TIMES = {"seconds", "minutes", "created", "made"}
"""Columns and entries that differ between any two runs."""
TEXTS = ("texts", "provenance texts")
"""Parts that hold wording. It may change; what changed is listed."""
PACK, DOCUMENT = "pack ", "document"
"""What the names of parts that are packs of a page begin with, and the name of the pack with the
tables and sentences of a paper."""
LABELS = {"value": "statistics", "low": "statistics", "high": "statistics"} | {
    name: name for name in ("work", "tests", "relations")
}
"""Arrays in the pack of an atlas (the first part of their name), and the list in the pack's
document that labels their first dimension."""
READERS = {".nc", ".json", ".csv", ".safetensors", ".bin", ".html"}
"""Kinds of files whose numbers are compared."""


def read_numbers(path: Path) -> Numbers:
    """Every number of a file. ``READERS`` lists the kinds of files."""
    if path.suffix == ".nc":
        return read_netcdf(path)
    if path.suffix == ".html":
        return read_packs(path)
    if path.suffix == ".csv":
        return table_numbers(pd.read_csv(path))
    if path.suffix == ".json":
        content = json.loads(path.read_text() or "[]")
        if isinstance(content, list) and all(isinstance(row, dict) for row in content):
            return table_numbers(pd.DataFrame(content))
        return leaves(content, "json", "texts")
    if path.suffix == ".safetensors":
        weights = load_file(path)
        return {("weights", name): xr.DataArray(weights[name]) for name in sorted(weights)}
    maps = np.fromfile(path, np.float16)
    return {("maps", "value"): xr.DataArray(maps.astype(np.float32))}


def read_netcdf(path: Path) -> Numbers:
    """All variables of all groups of a results file, its attributes and its provenance.

    Of partial sums the totals are read, named ``total sum`` and so on.
    """
    found: Numbers = {}
    with xr.open_datatree(path) as tree:
        for node in tree.subtree:
            name = node.path.strip("/") or "root"
            dataset = node.to_dataset(inherit=False).load()
            for key, array in dataset.variables.items():
                statistic = str(key)
                if statistic in dataset.dims:
                    continue
                labelled = by_id(dataset[statistic])
                blocked = BLOCKED & set(map(str, labelled.dims))
                if blocked and array.dtype.kind in "biuf":
                    found[name, f"total {statistic}"] = labelled.sum(blocked, skipna=False)
                else:
                    found[name, statistic] = labelled
            attributes = dict(dataset.attrs)
            attributes.pop("provenance", None)
            for (_, kind), array in leaves(attributes, "", "texts").items():
                part = "texts" if kind == "texts" else name
                found[part, f"{name} attributes"] = array
        provenance = json.loads(tree.attrs.get("provenance", "{}"))
    return found | leaves(provenance, "provenance", "provenance texts")


def by_id(array: xr.DataArray) -> xr.DataArray:
    """Kept values of single examples, labelled by the examples' ids where these are unique."""
    if "id" in array.coords and "example" in array.dims:
        ids = array["id"].values.astype(str)
        if len(set(ids)) == len(ids):
            array = array.assign_coords(example=ids)
    extra = [name for name in array.coords if name not in array.dims]
    return array.drop_vars(extra)


def table_numbers(frame: pd.DataFrame) -> Numbers:
    """The numeric columns of a table, its rows labelled by the text columns."""
    frame = frame.drop(columns=list(TIMES & set(frame)))
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    texts = frame.drop(columns=numeric).astype(str)
    labels = [" | ".join(sorted(map(str, row))) for row in texts.itertuples(index=False)]
    if len(set(labels)) < len(labels):
        labels = [f"{label} #{number}" for number, label in enumerate(labels)]
    return {
        ("table", str(name)): xr.DataArray(
            frame[name].to_numpy(float), dims="row", coords={"row": labels}
        )
        for name in numeric
    }


def leaves(content: Any, part: str, texts: str) -> Numbers:
    """The numbers and the texts of nested JSON, each labelled by its path.

    >>> leaves({"seed": 0, "data": {"name": "RTE"}, "seconds": 3.1}, "json", "texts")[
    ...     "json", "numbers"].to_series().to_dict()
    {'seed': 0.0}
    """
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for path, value in walk(content):
        if isinstance(value, int | float | np.number):
            numbers[path] = float(value)
        else:
            words[path] = str(value)
    found: Numbers = {}
    for name, kind, values in ((part, "numbers", numbers), (texts, "texts", words)):
        if values:
            coordinates = {"path": list(values)}
            found[name, kind] = xr.DataArray(list(values.values()), coordinates, "path")
    return found


def walk(content: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every entry of nested JSON that is not a container. Texts that hold JSON are entered."""
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            content = json.loads(content)
        except ValueError:
            yield path, content
            return
    if isinstance(content, dict):
        for key, value in content.items():
            if key not in TIMES:
                yield from walk(value, f"{path}.{key}" if path else str(key))
    elif isinstance(content, list | tuple | np.ndarray):
        ids = [entry.get("id") if isinstance(entry, dict) else None for entry in content]
        unique = all(ids) and len(set(ids)) == len(ids)
        for label, value in zip(ids if unique else itertools.count(), content, strict=False):
            yield from walk(value, f"{path}.{label}")
    else:
        yield path, content


def packs_of(path: Path) -> dict[str, tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """The packs of data in a page by name: a document, and arrays (``page/packs/pack.py``)."""
    packs = {}
    for name, text in re.findall(r'data-pack="([^"]*)">([A-Za-z0-9+/=]*)<', path.read_text()):
        data = gzip.decompress(base64.b64decode(text))
        (length,) = struct.unpack_from("<I", data)
        header = json.loads(data[4 : 4 + length])
        start = -(-(4 + length) // 8) * 8  # arrays begin at multiples of 8 bytes
        arrays = {
            key: np.frombuffer(
                data, f"<{about['dtype']}", math.prod(about["shape"]), start + about["offset"]
            ).reshape(about["shape"])
            for key, about in header["arrays"].items()
        }
        packs[html.unescape(name)] = header["document"], arrays
    return packs


def read_packs(path: Path) -> Numbers:
    """The numbers in the packs of a page, but for those that its tables and sentences show."""
    found: Numbers = {}
    for name, (document, arrays) in packs_of(path).items():
        if name == DOCUMENT:  # its tables and sentences are compared as they are shown
            plots = [plot for section in document["sections"] for plot in section["plots"]]
            document = {"plots": plots}
        part = f"{PACK}{name}"
        for (place, kind), array in leaves(document, part, "texts").items():
            found[place, kind if place == part else part] = array
        for key, array in arrays.items():
            rows = [row["id"] for row in document.get(LABELS.get(key.split("/")[0], ""), [])]
            dims = [f"dim_{number}" for number in range(array.ndim)]
            labels = {"dim_0": rows} if rows and len(rows) == len(array) else {}
            found[part, key] = xr.DataArray(array, labels, dims)
    return found
