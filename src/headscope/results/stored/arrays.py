"""The arrays that examples are stored in: in a checkpoint, between processes, and in results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results.kept import REACH
from headscope.results.schema import EXAMPLES
from headscope.results.stored.entries import Array, SparseMap, StoredText

DIMS = {
    "texts": ("byte",),
    "text_bytes": ("text",),
    "text_rows": ("text",),
    "text_key": ("text",),
    "strongest_text": ("layer", "head", "rank"),
    "strongest_score": ("layer", "head", "rank"),
    "sample_text": ("sample",),
    "sample_digest": ("sample", "digest_byte"),
    "sample_rows": ("sample",),
    "sample_score": ("sample", "layer", "head"),
    "sample_share": ("sample", "layer", "head", "offset"),
    "sample_uniform": ("sample", "layer", "head", "offset"),
    "counts": ("row",),
    "keys": ("link",),
    "weights": ("link",),
}
"""The arrays that everything is kept in, and their dimensions. Maps are in ``counts``, ``keys`` and
``weights``, one after the other: first the strongest of each head, then those of the sample."""


class StoredMaps:
    """The maps of some arrays, taken one after the other."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.row = self.link = 0
        self.links = np.concatenate([[0], np.cumsum(arrays["counts"], dtype=np.int64)])
        self.ends = np.concatenate([[0], np.cumsum(arrays["text_bytes"])])

    def take(self, text: int) -> SparseMap:
        """The next map, which is of this text. Copied: the arrays it comes from are let go."""
        end = self.row + int(self.arrays["text_rows"][text])
        links = slice(int(self.links[self.row]), int(self.links[end]))
        rows, self.row = slice(self.row, end), end
        return SparseMap(
            self.arrays["counts"][rows].copy(),
            self.arrays["keys"][links].copy(),
            self.arrays["weights"][links].copy(),
        )

    def text(self, text: int) -> StoredText:
        """A text."""
        span = slice(int(self.ends[text]), int(self.ends[text + 1]))
        json = str(self.arrays["texts"][span].tobytes(), "ascii")
        return StoredText(int(self.arrays["text_rows"][text]), json)


def label_arrays(arrays: Mapping[str, Array], layers: Sequence[int]) -> xr.Dataset:
    """The arrays of a store with labels."""
    heads = arrays["strongest_text"].shape[1]
    coordinates = {
        "layer": np.array(layers, np.int64),
        "head": np.arange(1, heads + 1),
        "offset": np.arange(-REACH, REACH + 1),
    }
    about = {
        "title": "Examples of every head",
        "unit": "share of attention",
        "kind": EXAMPLES,
        "listed": "no",
    }
    variables = {name: (dims, arrays[name]) for name, dims in DIMS.items()}
    return xr.Dataset(variables, coordinates, about)


def joined_maps(maps: Sequence[SparseMap]) -> dict[str, Array]:
    """Maps one after the other, as three arrays."""
    kinds = {"counts": np.uint8, "keys": np.uint16, "weights": np.uint16}
    return {
        name: np.concatenate([np.zeros(0, kind), *(one[place] for one in maps)]).astype(kind)
        for place, (name, kind) in enumerate(kinds.items())
    }


def stacked(parts: Sequence[Array], shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Arrays of one shape as one array, even if there are none."""
    return np.array(parts, np.float32).reshape(len(parts), *shape)
