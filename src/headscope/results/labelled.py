"""Labelled results: a tree of datasets with provenance, saved, opened and put into tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.results.moments import DOCUMENTS, TEXTS, derive
from headscope.results.netcdf import read_tree, write_tree
from headscope.results.private import without_folders
from headscope.results.schema import (
    EXACT,
    KEPT,
    NULL,
    SCHEMA,
    SUMS,
    contents,
    is_measure,
    label_dims,
    of_heads,
)
from headscope.results.track import Track, track_of
from headscope.results.validation import check_contents, unreadable


@dataclass(frozen=True, repr=False)
class LabelledResults:
    """What :class:`headscope.Atlas` holds, and its plain tables.

    Parameters
    ----------
    tree
        One group per measure; provenance in the attributes of the root.
    """

    tree: xr.DataTree

    @classmethod
    def build(cls, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> Self:
        """Make an atlas from each measure's sums (or finished statistics) and its provenance.

        Folders are taken out of the provenance: they may hold the names of users.
        """
        about = json.dumps(without_folders(dict(provenance)), sort_keys=True)
        root = xr.Dataset(attrs={"headscope_schema": SCHEMA, "provenance": about})
        grouped = provenance.get("counts", {}).get("grouped", 0)
        over = DOCUMENTS if grouped else TEXTS
        made = {
            f"/{name}": derive(dataset, over=over) if "sum" in dataset else dataset
            for name, dataset in groups.items()
        }
        return cls(xr.DataTree.from_dict({"/": root, **made}))

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a results file written by :meth:`save`.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> path = atlas.save(tempfile.mkdtemp() + "/demo.nc")
        >>> hs.Atlas.open(path)
        Atlas of demo on 2 texts: 6 layers of 12 heads, measures: position
        """
        try:
            tree = read_tree(Path(path), schema=SCHEMA)
        except (TypeError, ValueError, OverflowError, MemoryError) as error:
            raise unreadable(Path(path), error) from None
        return cls(check_contents(tree, Path(path)))

    def save(self, path: str | Path) -> Path:
        """Write one netCDF file, whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.save(tempfile.mkdtemp() + "/demo.nc").name
        'demo.nc'
        """
        return write_tree(self.tree, Path(path))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures in it."""
        return tuple(name for name, node in self.tree.children.items() if is_measure(node))

    @property
    def nulls(self) -> dict[str, Self]:
        """The same survey of null models, by the null model's name; empty if there was none.

        See Also
        --------
        headscope.stats.null_table

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position", null="shuffled-words")
        >>> atlas.nulls["shuffled-words"]
        Atlas of demo on 2 texts (words shuffled): 6 layers of 12 heads, measures: position
        """
        if NULL not in self.tree.children:
            return {}
        parts = self.tree[NULL].children.items()
        return {str(name): type(self)(part.copy(deep=False)) for name, part in parts}

    @property
    def track(self) -> Track:
        """What every head did at every checkpoint of a training; see :func:`headscope.track`.

        Raises
        ------
        ResultsError
            If the results are of one model.

        See Also
        --------
        headscope.stats.emergence : when each head got its role.
        """
        return track_of(self)

    @property
    def provenance(self) -> dict[str, Any]:
        """Model, corpus, settings, versions, and what could not be used."""
        return dict(json.loads(self.tree.attrs["provenance"]))

    @property
    def listed(self) -> tuple[str, ...]:
        """The measures that belong in tables with one row per head and label."""
        return tuple(name for name in self if self[name].attrs.get("listed", "yes") == "yes")

    def __getitem__(self, measure: str) -> xr.Dataset:
        if measure not in self:
            raise unknown("measure", str(measure), self.measures, error=ResultsError)
        return self.tree[measure].to_dataset()

    def __contains__(self, measure: object) -> bool:
        return measure in self.measures

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __repr__(self) -> str:
        about = self.provenance
        model, corpus = about.get("model", {}), about.get("corpus", {})
        shape = f"{model.get('layers', '?')} layers of {model.get('heads', '?')} heads"
        where = f" on {corpus.get('name', '?')}" if about.get("kind") != "circuits" else ""
        return (
            f"Atlas of {model.get('name', '?')}{where}: {shape}, "
            f"measures: {', '.join(self.measures)}"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """How many layers there are, and how many heads in each."""
        model = self.provenance.get("model", {})
        return int(model.get("layers", 0)), int(model.get("heads", 0))

    @property
    def layers(self) -> tuple[int, ...]:
        """The model's own numbers of the layers with attention, from 1.

        They have gaps for hybrid models, where other layers have no attention.
        """
        numbers = self.provenance.get("model", {}).get("layer_numbers")
        return tuple(numbers if isinstance(numbers, list) else range(1, self.shape[0] + 1))

    def described(self, provenance: Mapping[str, Any]) -> Self:
        """The same results with another provenance."""
        about = json.dumps(without_folders(dict(provenance)), sort_keys=True)
        tree = self.tree.copy()
        tree.attrs = {**tree.attrs, "provenance": about}
        return type(self)(tree)

    def mean(self, measure: str) -> xr.DataArray:
        """The mean over examples, by layer, head and the measure's own dimensions.

        Raises
        ------
        ResultsError
            If the measure holds something else, such as the test scores of probes.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> round(float(atlas.mean("position").sel(layer=1, head=3, offset="previous")), 3)
        1.0
        """
        value = contents(self[measure]).value
        if value != "mean":
            raise ResultsError(
                f"{measure!r} holds {value} scores, not means over examples",
                hint=f"atlas[{measure!r}][{value!r}]",
            )
        return self[measure]["mean"]

    def sums(self) -> dict[str, xr.Dataset]:
        """The additive part of every measure: sums, and the values of single examples.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> dict(atlas.sums()["position"]["sum"].sizes)
        {'bucket': 32, 'layer': 6, 'head': 12, 'offset': 3}
        """
        names = (*SUMS, *(f"{name}{EXACT}" for name in SUMS), KEPT)
        return {name: self[name][[part for part in names if part in self[name]]] for name in self}

    def table(self, measure: str | None = None) -> pd.DataFrame:
        """A long table: one row per layer, head and label, with mean, interval, deviation and n.

        A table of probes has the columns test (the score), low, high and test_size instead.

        Parameters
        ----------
        measure
            Only this measure. Default: all measures of single heads.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.table("position").columns.tolist()[:6]
        ['measure', 'label', 'layer', 'head', 'mean', 'low']
        """
        if measure is not None:
            names = [measure]
        else:
            names = [name for name in self if of_heads(self[name])] or list(self)
        frames = [_long(name, self[name]) for name in names]
        if not frames:
            raise ResultsError("these results have no statistics of heads to put in a table")
        whole = pd.concat(frames, ignore_index=True)
        columns = dict.fromkeys(column for name in names for column in contents(self[name]).columns)
        wanted = ("measure", "label", "layer", "head", *columns)
        return whole[[column for column in wanted if column in whole]]

    def saved(self, path: str | Path) -> Self:
        """The same atlas, after saving it.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.saved(tempfile.mkdtemp() + "/demo.nc") is atlas
        True
        """
        self.save(path)
        return self


def _long(name: str, dataset: xr.Dataset) -> pd.DataFrame:
    """The statistics of one measure, one row per head and label."""
    labels = label_dims(dataset)
    frame = dataset[list(contents(dataset).columns)].to_dataframe().reset_index()
    frame.insert(0, "measure", name)
    texts = frame[labels].astype(str)
    joined = texts[labels[0]].str.cat(texts[labels[1:]], sep=", ") if labels else ""
    frame.insert(1, "label", joined)
    return frame.drop(columns=labels)
