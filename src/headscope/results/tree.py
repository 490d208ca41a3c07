"""What a run found: one labelled tree, a branch a measure, provenance at the root. Reading it needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.results.moments import derive
from headscope.results.netcdf import read_tree, write_tree

SCHEMA = 1
SUMS = ("sum", "square", "count")
KEPT = "value"
"""The values of single examples, where a measure keeps them."""


@dataclass(frozen=True)
class Results:
    """The results of a run. ``results["entropy"]`` is a dataset with dims layer and head (labelled from 1) and the measure's own.

    Each dataset has ``mean`` with its interval ``low`` … ``high``, ``deviation``, ``n``, and the sums they come from, by block.
    """

    tree: xr.DataTree

    @classmethod
    def build(cls, sums: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> Self:
        """Make results from each measure's sums and what is known of the run."""
        root = xr.Dataset(
            attrs={
                "headscope_schema": SCHEMA,
                "provenance": json.dumps(dict(provenance), sort_keys=True),
            }
        )
        return cls(
            xr.DataTree.from_dict(
                {
                    "/": root,
                    **{
                        f"/{name}": derive(dataset) if "sum" in dataset else dataset
                        for name, dataset in sums.items()
                    },
                }
            )
        )

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a results file written by :meth:`save`."""
        return cls(read_tree(Path(path), schema=SCHEMA))

    def save(self, path: str | Path) -> Path:
        """Write one netCDF file, whole or not at all."""
        return write_tree(self.tree, Path(path))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures in it."""
        return tuple(self.tree.children)

    @property
    def provenance(self) -> dict[str, Any]:
        """Model, corpus, settings, versions and what was left out."""
        return dict(json.loads(self.tree.attrs["provenance"]))

    def __getitem__(self, measure: str) -> xr.Dataset:
        if measure not in self.tree.children:
            raise unknown("measure", measure, self.measures, error=ResultsError)
        return self.tree[measure].to_dataset()

    @property
    def listed(self) -> tuple[str, ...]:
        """The measures that go into tables with a row a head: not those of pairs of heads, nor those with tables of their own."""
        return tuple(name for name in self if self[name].attrs.get("listed", "yes") == "yes")

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def mean(self, measure: str) -> xr.DataArray:
        """The mean over examples, by layer, head and the measure's own dims."""
        return self[measure]["mean"]

    def sums(self) -> dict[str, xr.Dataset]:
        """The additive part of every measure, with the values of single examples where they are kept, and its attributes."""
        return {
            name: self[name][[part for part in (*SUMS, KEPT) if part in self[name]]]
            for name in self
        }

    def table(self, measure: str | None = None) -> pd.DataFrame:
        """A long table: one row a layer, head and label, with mean, low, high, deviation and n."""
        names = (
            [measure]
            if measure is not None
            else [name for name in self if "layer" in self[name].dims] or list(self)
        )
        frames = []
        for name in names:
            dataset = self[name][["mean", "low", "high", "deviation", "n"]]
            labels = [str(dim) for dim in dataset["mean"].dims if dim not in ("layer", "head")]
            frame = dataset.to_dataframe().reset_index()
            frame.insert(0, "measure", name)
            texts = frame[labels].astype(str)
            frame.insert(
                1, "label", texts[labels[0]].str.cat(texts[labels[1:]], sep=", ") if labels else ""
            )
            frames.append(frame.drop(columns=labels))
        whole = pd.concat(frames, ignore_index=True)
        columns = ("measure", "label", "layer", "head", "mean", "low", "high", "deviation", "n")
        return whole[
            [column for column in columns if column in whole]
        ]  # pairs of heads have no layer and head of their own

    def __sub__(self, other: Results) -> dict[str, xr.DataArray]:
        """The difference of two runs' means, measure by measure; heads and labels must be the same."""
        with xr.set_options(arithmetic_join="exact"):  # type: ignore[no-untyped-call]
            try:
                return {
                    name: self.mean(name) - other.mean(name)
                    for name in self
                    if name in other.measures
                }
            except ValueError:
                raise ResultsError(
                    "the two results have different layers, heads or labels, and cannot be subtracted",
                    hint="compare runs of models of one shape with the same measures",
                ) from None
