"""The atlas: what a run found, as one labelled tree with provenance. Reading it needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.heads import Head, HeadLike
from headscope.results.export import export
from headscope.results.moments import derive
from headscope.results.netcdf import read_tree, write_tree
from headscope.results.private import without_folders
from headscope.results.schema import (
    EXACT,
    KEPT,
    SCHEMA,
    SUMS,
    contents,
    label_dims,
    of_heads,
)
from headscope.results.summary import remarks, summary

if TYPE_CHECKING:
    import altair as alt

    from headscope.stats.passport import Passport


@dataclass(frozen=True, repr=False)
class Atlas:
    """The results of a run: every statistic of every head, and everything that can be made of them.

    ``atlas["entropy"]`` is a dataset with the dimensions layer and head (labelled from 1) and the
    measure's own. It has ``mean`` with its 95 % interval ``low`` … ``high``, ``deviation``, ``n``,
    and the sums they come from, by bucket of documents.

    Parameters
    ----------
    tree
        One group per measure; provenance in the attributes of the root.

    See Also
    --------
    headscope.survey, headscope.open

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="position")
    >>> atlas
    Atlas of demo on 2 texts: 6 layers of 12 heads, measures: position
    """

    tree: xr.DataTree

    @classmethod
    def build(cls, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> Self:
        """Make an atlas from each measure's sums (or finished statistics) and its provenance.

        Folders are taken out of the provenance: they may hold the names of users.
        """
        about = json.dumps(without_folders(dict(provenance)), sort_keys=True)
        root = xr.Dataset(attrs={"headscope_schema": SCHEMA, "provenance": about})
        made = {
            f"/{name}": derive(dataset) if "sum" in dataset else dataset
            for name, dataset in groups.items()
        }
        return cls(xr.DataTree.from_dict({"/": root, **made}))

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
        """Model, corpus, settings, versions, and what could not be used."""
        return dict(json.loads(self.tree.attrs["provenance"]))

    @property
    def listed(self) -> tuple[str, ...]:
        """The measures that belong in tables with one row per head and label."""
        return tuple(name for name in self if self[name].attrs.get("listed", "yes") == "yes")

    def __getitem__(self, measure: str) -> xr.Dataset:
        if measure not in self.tree.children:
            raise unknown("measure", str(measure), self.measures, error=ResultsError)
        return self.tree[measure].to_dataset()

    def __contains__(self, measure: object) -> bool:
        return measure in self.tree.children

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __repr__(self) -> str:
        about = self.provenance
        model, corpus = about.get("model", {}), about.get("corpus", {})
        shape = f"{model.get('layers', '?')} layers of {model.get('heads', '?')} heads"
        return (
            f"Atlas of {model.get('name', '?')} on {corpus.get('name', '?')}: {shape}, "
            f"measures: {', '.join(self.measures)}"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """How many layers there are, and how many heads in each."""
        model = self.provenance.get("model", {})
        return int(model.get("layers", 0)), int(model.get("heads", 0))

    def mean(self, measure: str) -> xr.DataArray:
        """The mean over examples, by layer, head and the measure's own dimensions.

        Raises
        ------
        ResultsError
            If the measure holds something else, such as the test scores of probes.
        """
        value = contents(self[measure]).value
        if value != "mean":
            raise ResultsError(
                f"{measure!r} holds {value} scores, not means over examples",
                hint=f"atlas[{measure!r}][{value!r}]",
            )
        return self[measure]["mean"]

    def sums(self) -> dict[str, xr.Dataset]:
        """The additive part of every measure: sums, and the values of single examples."""
        names = (*SUMS, *(f"{name}{EXACT}" for name in SUMS), KEPT)
        return {name: self[name][[part for part in names if part in self[name]]] for name in self}

    def table(self, measure: str | None = None) -> pd.DataFrame:
        """A long table: one row per layer, head and label, with mean, interval, deviation and n.

        A table of probes has the columns test (the score), low, high and test_size instead.

        Parameters
        ----------
        measure
            Only this measure. Default: all measures of single heads.
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

    def summary(self) -> pd.DataFrame:
        """One row per statistic: its mean over all heads, and the strongest head."""
        return summary(self)

    def remarks(self) -> list[str]:
        """What a reader should know first, in plain sentences."""
        return remarks(self)

    def head(self, head: HeadLike) -> Passport:
        """Everything known of one head: it prints itself, and shows itself in a notebook.

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.
        """
        from headscope.stats.passport import passport

        layers, heads = self.shape
        return passport(self, Head.parse(head, layers=layers, heads=heads))

    def find(self, query: str) -> tuple[Head, ...]:
        """The heads for which a condition holds, in the order of the model.

        Parameters
        ----------
        query
            Conditions such as ``"position:previous > 0.5 and entropy < 1.5"`` or ``"is:nsubj"``.
        """
        from headscope.stats.query import find_heads

        return find_heads(self, query)

    def heads(
        self, *, where: str = "", by: str = "", top: int | None = None, ascending: bool = False
    ) -> pd.DataFrame:
        """A table of heads: filtered, sorted, and cut.

        Parameters
        ----------
        where
            A condition as in :meth:`find`. Default: all heads.
        by
            The statistic to sort by, such as ``"position:previous"``; its mean and interval are
            shown.
        top
            Only the first so many.
        ascending
            Smallest first.
        """
        from headscope.stats.query import head_list

        return head_list(self, where=where, by=by, top=top, ascending=ascending)

    def top_heads(self, n: int, *, task: str | None = None) -> tuple[Head, ...]:
        """The n heads with the best validation score in these probing results.

        They can be given to :meth:`headscope.Model.encode`.

        Parameters
        ----------
        n
            How many.
        task
            Of one task. Default: the mean over all tasks.
        """
        from headscope.stats.top_heads import top_heads

        return top_heads(self, n, task=task)

    def examples(self, head: HeadLike, *, relation: str = "", k: int = 10) -> pd.DataFrame:
        """Sentences on which a head does what it does.

        No survey keeps examples yet, so this says how to look at one text instead.
        """
        name = self.provenance.get("model", {}).get("name", "MODEL")
        raise UserError(
            "these results hold no examples",
            hint=f'look at one text: hs.attention({name!r}, "The dog barks.").head({str(head)!r})',
            command=f'look at one text: headscope attention {name} "The dog barks." --head {head}',
        )

    def roles(
        self,
        *,
        tau: float | str | Mapping[str, float | str] = 3,
        test: str = "z",
        correction: str = "none",
        alpha: float = 0.05,
        seed: int = 0,
    ) -> xr.Dataset:
        """Which heads have which role (Pande et al. 2021).

        Parameters
        ----------
        tau
            The threshold of the mean sieve bias: a number, "auto", or one for each role.
        test
            "z", "t", "bootstrap" or "permutation".
        correction
            "none", "holm" or "bh".
        alpha
            The level of the test.
        seed
            For tests by resampling.

        Returns
        -------
        xarray.Dataset
            mean, interval, effect, p and ``has`` for every layer, head and role.
        """
        from headscope.stats import role_tests

        return role_tests(self, tau=tau, test=test, correction=correction, alpha=alpha, seed=seed)

    def figure(self, name: str) -> alt.TopLevelMixin:
        """One of the figures that can be drawn from these results, as an Altair chart.

        An unknown name is answered with those that can be drawn.
        """
        from headscope.figures import find_figure

        return find_figure(name, self).draw(self)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that can be drawn from these results."""
        from headscope.figures import gallery

        return tuple(item.name for item in gallery(self))

    def report(self, path: str | Path) -> Path:
        """Write one self-contained HTML page."""
        from headscope.page import write_report

        return write_report(self, Path(path))

    def export(
        self,
        path: str | Path,
        *,
        measure: str | None = None,
        format: Literal["", "csv", "parquet", "latex"] = "",
    ) -> Path:
        """Write a long table as CSV, Parquet or LaTeX.

        Parameters
        ----------
        path
            The file; its ending (.csv, .parquet, .tex) gives the format.
        measure
            Only this measure.
        format
            The format, where the ending does not say it.
        """
        return export(self, Path(path), measure=measure, format=format)

    def saved(self, path: str | Path) -> Self:
        """The same atlas, after saving it."""
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
