"""Packs: how numbers reach the page, as typed arrays instead of JSON text.

A pack is gzip over a small header (JSON: a document, and where each array is) and the arrays'
bytes. The page reads it with ``web/src/data/pack.ts``.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {"f4": "<f4", "i4": "<i4", "u1": "|u1", "u2": "<u2", "u4": "<u4"}
"""The types of arrays that the page knows."""
LARGEST = 1 << 30
"""No pack unpacks to more bytes."""
MANTISSA = 23
"""Bits of the mantissa of a float32."""
STEP = 8
"""Arrays begin at multiples of so many bytes."""


def pack(
    document: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    level: int = 6,
    bits: int = MANTISSA,
) -> bytes:
    """Put a document and its arrays into one compressed block of bytes.

    Parameters
    ----------
    document
        Anything that JSON can hold. NaN and infinity become null.
    arrays
        Arrays by name. Floats are stored as float32, booleans as bytes.
    level
        How hard gzip tries, 1 to 9.
    bits
        Of the mantissa of floats; fewer are smaller. 12 leave an error of at most 1 in 8,000.

    Returns
    -------
    bytes
        The same for the same content: no time stamp is in it.

    Examples
    --------
    >>> document, arrays = unpack(pack({"a": 1}, {"x": np.array([1.5, 2.5])}))
    >>> document, arrays["x"].tolist()
    ({'a': 1}, [1.5, 2.5])
    """
    places: dict[str, dict[str, Any]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        kind = _kind(array)
        values = np.ascontiguousarray(array, dtype=TYPES[kind])
        data = (rounded(values, bits) if kind == "f4" else values).tobytes()
        places[name] = {"dtype": kind, "shape": list(array.shape), "offset": offset}
        padded = data + bytes(-len(data) % STEP)
        parts.append(padded)
        offset += len(padded)
    header = _json({"document": document, "arrays": places}).encode("utf-8", "replace")
    start = struct.pack("<I", len(header)) + header
    start += bytes(-len(start) % STEP)
    return gzip.compress(start + b"".join(parts), compresslevel=level, mtime=0)


def rounded(values: NDArray[Any], bits: int) -> NDArray[Any]:
    """Floats with fewer bits in their mantissa.

    Examples
    --------
    >>> rounded(np.float32([0.1, -3, np.nan, np.inf, 0]), 12).tolist()
    [0.100006103515625, -3.0, nan, inf, 0.0]
    """
    if bits == MANTISSA:
        return values
    left = np.uint32(1 << (MANTISSA - bits))
    whole = np.ascontiguousarray(values, TYPES["f4"]).view(TYPES["u4"])
    return ((whole + left // 2) & ~(left - 1)).view(TYPES["f4"])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The document and the arrays of a pack.

    Raises
    ------
    ValueError
        If it unpacks to more than any page holds, or is no pack.
    """
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        whole = file.read(LARGEST + 1)
    if len(whole) > LARGEST:
        raise ValueError("it unpacks to more than any page holds")
    (length,) = struct.unpack_from("<I", whole)
    header = json.loads(whole[4 : 4 + length])
    base = -(-(4 + length) // STEP) * STEP
    arrays = {
        name: np.frombuffer(
            whole, TYPES[entry["dtype"]], int(np.prod(entry["shape"])), base + entry["offset"]
        ).reshape(entry["shape"])
        for name, entry in header["arrays"].items()
    }
    return header["document"], arrays


def to_text(data: bytes) -> str:
    """A pack as base64, which is safe inside a page."""
    return base64.b64encode(data).decode("ascii")


def _kind(array: NDArray[Any]) -> str:
    if array.dtype.kind == "f":
        return "f4"
    if array.dtype.kind == "b":
        return "u1"
    name = f"{array.dtype.kind}{array.dtype.itemsize}"
    if name in TYPES:
        return name
    return "i4"


def _json(value: Mapping[str, Any]) -> str:
    """JSON, with null for NaN and infinity. Looking for them takes long, and few documents have
    any.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):
        return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Values that JSON can hold."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
