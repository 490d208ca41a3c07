"""The atlas: what a run found, and everything that can be made of it. Reading it needs no torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pandas as pd
import xarray as xr

from headscope.errors import ResultsError, UserError, unknown
from headscope.heads import Head, HeadLike
from headscope.options import RoleTest, takes
from headscope.results.export import CACHE, table_format, write_table
from headscope.results.kept import KeptExamples
from headscope.results.merge import RETRIEVAL, Track, join, track_of
from headscope.results.moments import DOCUMENTS, TEXTS, derive
from headscope.results.netcdf import read_tree, without_folders, write_tree
from headscope.results.schema import (
    EXACT,
    EXAMPLES,
    KEPT,
    NULL,
    SCHEMA,
    SUMS,
    contents,
    is_measure,
    label_dims,
    of_heads,
)
from headscope.results.summary import summary

if TYPE_CHECKING:
    import altair as alt

    from headscope.page.notebook import AtlasViews
    from headscope.stats.heads.findings import Analysis
    from headscope.stats.heads.passport import Passport


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
    >>> atlas.measures, atlas.shape, atlas.provenance["counts"]["seen"]
    (('position',), (6, 12), 2)
    """

    tree: xr.DataTree

    @classmethod
    def build(cls, groups: Mapping[str, xr.Dataset], provenance: Mapping[str, Any]) -> Self:
        """Make an atlas from each measure's sums (or finished statistics) and its provenance.

        Folders are taken out of the provenance: they may hold the names of users.
        """
        root = xr.Dataset(attrs={"headscope_schema": SCHEMA, "provenance": _json(provenance)})
        over = DOCUMENTS if provenance.get("counts", {}).get("grouped", 0) else TEXTS
        derived = {
            f"/{name}": derive(dataset, over=over) if "sum" in dataset else dataset
            for name, dataset in groups.items()
        }
        return cls(xr.DataTree.from_dict({"/": root, **derived}))

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a results file written by :meth:`save`, on this machine or elsewhere.

        Parameters
        ----------
        path
            A path, or an address: ``https://…``, ``hf://datasets/…`` or ``s3://…``. A copy is kept
            in the cache, and fetched again when the file has changed.

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
        return cls(read_tree(path))

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

    def _head(self, head: HeadLike) -> Head:
        layers = [number - 1 for number in self.layers]
        return Head.parse(head, layers=layers, heads=self.shape[1])

    def described(self, provenance: Mapping[str, Any]) -> Self:
        """The same results with another provenance."""
        tree = self.tree.copy()
        tree.attrs = {**tree.attrs, "provenance": _json(provenance)}
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

    @cached_property
    def kept(self) -> KeptExamples:
        """The examples of every head that the survey kept: texts, and maps on them.

        Raises
        ------
        UserError
            If the results hold none; the message says why, and how to add them.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> str(atlas.kept.strongest("1-3")[0].text)
        'The dog barks .'
        """
        if EXAMPLES in self.tree.children:
            return KeptExamples(self.tree[EXAMPLES].to_dataset())
        about = self.provenance
        name = about.get("model", {}).get("name", "MODEL")
        corpus = about.get("corpus", {}).get("name", "CORPUS")
        why = about.get(EXAMPLES, {}).get("why", "they were made without any")
        raise UserError(
            f"these results hold no examples ({why})",
            hint=f"survey again with hs.survey({name!r}, {corpus!r}, examples=32), or look for "
            f'them on demand: hs.examples({name!r}, {corpus!r}, "3-9")',
            command=f"survey again with headscope survey {name} {corpus} --examples 32, or look "
            f"for them on demand: headscope examples {name} {corpus} HEAD",
        )

    @cached_property
    def _views(self) -> AtlasViews:
        """What a notebook shows of these results."""
        from headscope.page.notebook import AtlasViews

        return AtlasViews(self)

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from headscope.page.inline import atlas_html

        return self._views.bundle("atlas", html=atlas_html(self), text=repr(self))

    def _display_(self) -> object:
        """What marimo shows."""
        from headscope.page.inline import atlas_html

        return self._views.shown("atlas", html=atlas_html(self))

    def summary(self) -> pd.DataFrame:
        """One row per statistic: its mean over all heads, and the strongest head.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.summary().loc[0, ["statistic", "strongest"]].tolist()
        ['attention to the previous token', '1-3']
        """
        return summary(self)

    def remarks(self) -> list[str]:
        """What a reader should know first, in plain sentences: what the heads do, and warnings.

        See Also
        --------
        headscope.stats.model_summary : the same sentences, with the heads that each is about.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.remarks()[0]
        'Head 1-3 puts more than half of the attention on the previous token.'
        """
        from headscope.stats.words.summary import model_summary

        return [line.text for line in model_summary(self)]

    @cached_property
    def analysis(self) -> Analysis:
        """What tests say of all heads: each is run once, when it is first asked for.

        Examples
        --------
        >>> import headscope as hs
        >>> atlas = hs.survey("demo", "demo", limit=8)
        >>> atlas.analysis.descriptions["1-3"].family
        'previous'
        """
        from headscope.stats.heads.findings import Analysis

        return Analysis(self)

    def head(self, head: HeadLike) -> Passport:
        """Everything known of one head: it prints itself, and shows itself in a notebook.

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.

        Examples
        --------
        >>> import headscope as hs
        >>> atlas = hs.survey("demo", "demo", limit=8, measures="position")
        >>> atlas.head("1-3").description.lead
        'Puts 99.6 % (99.4 to 99.8) of its attention on the previous token.'
        """
        from headscope.stats.heads.passport import passport

        return passport(self, self._head(head))

    def find(self, query: str) -> tuple[Head, ...]:
        """The heads for which a condition holds, in the order of the model.

        Parameters
        ----------
        query
            Conditions such as ``"position:previous > 0.5 and entropy < 1.5"`` or ``"is:nsubj"``.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> [str(head) for head in atlas.find("position:previous > 0.5")]
        ['1-3']
        """
        from headscope.stats.heads.query import find_heads

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

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.heads(by="position:previous", top=2)["head"].tolist()
        ['1-3', '3-12']
        """
        from headscope.stats.heads.query import head_list

        return head_list(self, where=where, by=by, top=top, ascending=ascending)

    def kv_heads(self, by: str) -> pd.DataFrame:
        """A statistic per KV head: over the query heads that share its keys and values.

        Parameters
        ----------
        by
            The statistic, such as ``"streaming:distant"``.

        Returns
        -------
        pandas.DataFrame
            ``layer`` and ``kv_head`` (both from 1), ``mean`` and ``max`` over the query ``heads``
            that share it. Without grouped queries, every query head has its own KV head.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> print(atlas.kv_heads("position:previous").round(3).head(3).to_string(index=False))
         layer  kv_head  mean   max heads
             1        1 0.140 0.140   1-1
             1        2 0.214 0.214   1-2
             1        3 1.000 1.000   1-3
        """
        from headscope.stats import kv_head_table

        return kv_head_table(self, by)

    def top_heads(self, n: int, *, task: str | None = None) -> tuple[Head, ...]:
        """The n heads with the best validation score in these probing results.

        They can be given to :meth:`headscope.Model.encode`.

        Parameters
        ----------
        n
            How many.
        task
            Of one task. Default: the mean over all tasks.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> atlas = hs.probe(
        ...     "demo", ["demo"], only=["Tense"], sample=20, counts=[12], greedy=False, repeats=1,
        ...     control=False, l2=[0.01], cache=tempfile.mkdtemp(),
        ... )
        >>> hs.load("demo").encode(["She sang."], heads=atlas.top_heads(12)).shape
        (1, 384)
        """
        from headscope.stats.tables.probing import top_heads

        return top_heads(self, n, task=task)

    def examples(self, head: HeadLike, *, relation: str = "", k: int = 10) -> pd.DataFrame:
        """Texts on which a head does what it does, from the examples that the survey kept.

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.
        relation
            Look for a dependency (``"det"``) or one of ``"previous"``, ``"next"``, ``"near"``,
            ``"itself"``, ``"same"``: how many of its pairs the head finds in each text. A
            dependency is looked at in the direction in which the head finds more.
        k
            At most so many texts. With a relation, half of them are those that count most for it,
            and half those that count most against it.

        Returns
        -------
        pandas.DataFrame
            ``rank``, ``score`` (the head's strength in the text: its attention that is neither on
            sinks nor on the token itself), ``id``, ``text`` and ``links``, the strongest ones. With
            a relation also ``side`` ("for" or "against"), ``found`` ``of`` the relation's pairs,
            ``attention`` along them, and ``direction``. It prints its texts with their links.

        See Also
        --------
        kept : the maps themselves.
        headscope.examples : the same from a whole corpus, where results hold no examples.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.examples("1-3", k=1)
        Head 1-3: the examples on which it is strongest
          1  strength 0.80  1
             The dog barks .
             dog → The 1.00; barks → dog 0.50
        """
        from headscope.stats.tables.examples import kept_table

        return kept_table(self.kept, str(self._head(head)), relation=relation, k=k)

    def composition(
        self, head: HeadLike, *, kind: str = "", top: int | None = None
    ) -> pd.DataFrame:
        """The heads that a head composes with, by the weights alone (Elhage et al. 2021).

        Parameters
        ----------
        head
            ``"3-9"`` (from 1), ``"L2H8"`` (from 0), or a :class:`~headscope.Head`.
        kind
            ``"Q"``, ``"K"`` or ``"V"``: what the later head of a pair computes from what the
            earlier one wrote. Default: all three.
        top
            Only so many heads in each direction. Default: all.

        Returns
        -------
        pandas.DataFrame
            ``direction``: whether the other head is "earlier" (it feeds this one) or "later" (it
            reads this one); ``head``, the other one; ``kind``; ``excess`` of the ratio of norms
            over the mean of random heads; and ``times baseline``, the ratio over that mean.

        See Also
        --------
        headscope.circuits, with_circuits

        Examples
        --------
        >>> import headscope as hs
        >>> atlas = hs.circuits("demo", relations="none")
        >>> atlas.composition("3-9", kind="K", top=1)["direction"].tolist()
        ['earlier', 'later']
        """
        from headscope.stats.tables.circuits import composes_with

        return composes_with(self, self._head(head), kind=kind, top=top)

    def with_circuits(self, circuits: Atlas) -> Atlas:
        """These results with circuits of the same model added to them.

        Parameters
        ----------
        circuits
            Results of :func:`headscope.circuits` for the very weights of these results.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.with_circuits(hs.circuits("demo", relations="none")).measures
        ('position', 'copying', 'ov_norm', 'qk_norm', 'composition')
        """
        return join(self, circuits)

    def with_retrieval(self, retrieval: Atlas) -> Atlas:
        """These results with retrieval scores of the same model added to them.

        Parameters
        ----------
        retrieval
            Results of :func:`headscope.retrieval` for the very weights of these results.

        Examples
        --------
        >>> import headscope as hs
        >>> atlas = hs.survey("demo-llm", "demo", limit=8)  # doctest: +SKIP
        >>> both = atlas.with_retrieval(hs.open("retrieval.nc"))  # doctest: +SKIP
        >>> both.find("retrieval > 0.1 and position:previous < 0.1")  # doctest: +SKIP
        """
        return join(self, retrieval, RETRIEVAL)

    @takes(RoleTest)
    def roles(self, options: RoleTest) -> xr.Dataset:
        """Which heads have which role (Pande et al. 2021).

        Returns
        -------
        xarray.Dataset
            mean, interval, effect, p and ``has`` for every layer, head and role.

        See Also
        --------
        headscope.stats.role_tests : All that it returns.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures=hs.Role(["local"]))
        >>> tests = atlas.roles()
        >>> tests["has"].dims
        ('layer', 'head', 'role')
        """
        from headscope.stats import role_tests

        return role_tests(self, **options.subset(RoleTest))

    def figure(self, name: str) -> alt.TopLevelMixin:
        """One of the figures that can be drawn from these results, as an Altair chart.

        An unknown name is answered with those that can be drawn.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.figure("position").to_dict()["$schema"].split("/")[-2]
        'vega-lite'
        """
        from headscope.figures import find_figure

        return find_figure(name, self).draw(self)

    @property
    def figures(self) -> tuple[str, ...]:
        """The names of the figures that can be drawn from these results.

        Examples
        --------
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.figures[0]
        'position'
        """
        from headscope.figures import gallery

        return tuple(item.name for item in gallery(self))

    def card(self, head: HeadLike, path: str | Path) -> Path:
        """Write what one head does as a picture of 1200 × 630 to share: PNG or SVG.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.card("3-9", tempfile.mkdtemp() + "/3-9.svg").name
        '3-9.svg'
        """
        from headscope.page import save_card

        return save_card(self, head, Path(path))

    def report(
        self,
        path: str | Path,
        *,
        others: Sequence[Atlas] = (),
        folder: bool = False,
        figures: bool = False,
    ) -> Path:
        """Write a page to explore these results: one self-contained HTML file, or a folder.

        Parameters
        ----------
        path
            The file, or the folder.
        others
            Further results to compare with.
        folder
            Write a folder for a web server, with one file per head: for large models.
        figures
            Also draw all figures of the gallery into the page.

        Returns
        -------
        Path
            The page.

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.report(tempfile.mkdtemp() + "/demo.html").name
        'demo.html'
        """
        from headscope.page import write_folder, write_report

        write = write_folder if folder else write_report
        return write(self, Path(path), others=others, figures=figures)

    def export(
        self, path: str | Path, *, measure: str | None = None, format: str = "", by: str = ""
    ) -> Path:
        """Write a long table as CSV, Parquet, LaTeX or HTML, or files for other tools.

        Parameters
        ----------
        path
            The file; its ending (.csv, .parquet, .tex, .html) gives the format.
        measure
            Only this measure.
        format
            "csv", "parquet", "latex" or "html", where the ending does not say it; or "headvis", a
            folder that the front end of HeadVis reads; "duoattention", a folder, or "headkv", a
            JSON file, with which these tools compress the cache of keys and values.
        by
            For "duoattention" and "headkv": the value to write, such as ``"repetition:induction"``;
            heads with larger ones keep more. Default: ``"streaming:distant"``; in results of
            :func:`headscope.cache`, the smallest choice within the tolerance.

        See Also
        --------
        headscope.page.write_duoattention, headscope.page.write_headkv

        Examples
        --------
        >>> import tempfile
        >>> import headscope as hs
        >>> texts = ["The dog barks.", "A cat sleeps."]
        >>> atlas = hs.survey("demo", texts, measures="position")
        >>> atlas.export(tempfile.mkdtemp() + "/demo.csv", measure="position").name
        'demo.csv'
        """
        if format in CACHE:
            return self._export_scores(Path(path), measure, format, by)
        if by:
            raise UserError(
                f"by is for the formats {' and '.join(CACHE)}; a table holds all values",
                hint="choose one measure with measure=",
            )
        if format == "headvis":
            from headscope.stats.tools import write_headvis

            return write_headvis(self, Path(path))
        table_format(path, format)
        return write_table(self.table(measure), path, format=format)

    def _export_scores(self, path: Path, measure: str | None, format: str, by: str) -> Path:
        from headscope.stats.tools import write_duoattention, write_headkv

        if measure is not None:
            raise UserError(
                f"the format {format} has one value per head, not a whole measure",
                hint=f"name the value: by={measure!r}",
            )
        write = write_duoattention if format == "duoattention" else write_headkv
        return write(self, path, by=by)


def measure_data(results: Atlas, name: str, problem: str, hint: str) -> xr.Dataset:
    """A measure of some results; where they have none, an error that says how to get it."""
    if name not in results:
        raise ResultsError(f"these results {problem}", hint=hint)
    return results[name]


def _json(provenance: Mapping[str, Any]) -> str:
    return json.dumps(without_folders(dict(provenance)), sort_keys=True)


def _long(name: str, dataset: xr.Dataset) -> pd.DataFrame:
    """The statistics of one measure, one row per head and label."""
    labels = label_dims(dataset)
    frame = dataset[list(contents(dataset).columns)].to_dataframe().reset_index()
    frame.insert(0, "measure", name)
    texts = frame[labels].astype(str)
    joined = texts[labels[0]].str.cat(texts[labels[1:]], sep=", ") if labels else ""
    frame.insert(1, "label", joined)
    return frame.drop(columns=labels)
