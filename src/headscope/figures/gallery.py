"""Every figure that can be drawn from results, by name.

Headscope's own figures and those of a user are added by the decorator :func:`figure`, those of
another package through the entry point group ``headscope.figures``. Names, titles and needs can be
read without loading altair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from headscope.errors import UserError
from headscope.registry import Entry, Registry

if TYPE_CHECKING:
    import xarray as xr

    from headscope.results import Atlas

Drawing = Callable[["Atlas"], Any]
"""A function that draws an Altair chart of results."""
Draw = TypeVar("Draw", bound=Callable[..., Any])

_ABLATE, _PROBE = "hs.ablate(model, …)", "hs.probe(model, tasks)"
MADE_BY = {
    "change": "hs.compare(first, second, corpus)",
    "feature-change": 'hs.compare(first, second, corpus, measures=["feature"])',
    "link-change": 'hs.compare(first, second, corpus, measures=["link"])',
    "ablation": _ABLATE,
    "head_off": _ABLATE,
    "layer_off": _ABLATE,
    "importance": "hs.ablate(model, …, importance=True)",
    "pruning": "hs.ablate(model, …, prune=True)",
    "null": 'hs.survey(model, corpus, null=["random-weights"])',
    "track": "hs.track(models, corpus)",
    "probe": _PROBE,
    "probe_layer": _PROBE,
    "probe_top": _PROBE,
    "probe_splits": "hs.probe(model, tasks, repeats=5)",
    "probe_splits_top": "hs.probe(model, tasks, repeats=5)",
    "probe_embeddings": "hs.probe(model, tasks, embeddings=True)",
}
"""How to get what a survey does not measure."""


def how_to_get(measure: str) -> str:
    """Say how to make results that have a measure.

    Examples
    --------
    >>> how_to_get("entropy")
    "hs.survey(model, corpus, measures=['entropy'])"
    """
    return MADE_BY.get(measure, f"hs.survey(model, corpus, measures=[{measure!r}])")


@dataclass(frozen=True)
class Figure:
    """One figure of the gallery.

    Parameters
    ----------
    name : str
        The name by which it is asked for.
    title : str
        What it shows, in a few words.
    caption : str
        What it shows, in a sentence or two, with the paper it follows.
    needs : tuple of str
        The measures that the results must have.
    """

    name: str
    title: str
    caption: str
    needs: tuple[str, ...]

    def draw(self, results: Atlas) -> Any:
        """Draw the figure.

        Parameters
        ----------
        results : Atlas
            Results that have all the measures the figure needs.

        Returns
        -------
        altair chart
            A chart, to be shown in a notebook or saved with
            :func:`~headscope.figures.save.save_chart`.
        """
        from headscope.figures.offline import offline

        return offline(FIGURES[self.name](results))


def _check(name: str, target: Any) -> None:
    """Refuse a figure from outside that cannot be called."""
    if not callable(target):
        raise UserError(
            f"the figure {name!r} must be a function that draws results, "
            f"got {type(target).__name__} instead",
            hint="decorate a function with headscope.figures.figure",
        )


# The modules that have Headscope's own figures, in the order in which a report shows them.
FAMILIES = (
    *("attention", "distances", "changes", "ablation"),
    *("roles", "role_sets", "patterns", "probing", "beside"),
)
FIGURES: Registry[Drawing] = Registry(
    "figure",
    group="headscope.figures",
    check=_check,
    chapters=[f"headscope.figures.{family}" for family in FAMILIES],
)


def figure(
    name: str, *, title: str = "", caption: str = "", needs: Sequence[str] = ()
) -> Callable[[Draw], Draw]:
    """Add a figure to the gallery.

    The command ``headscope figures`` and the report draw a user's figure as they draw Headscope's,
    which are added in the same way.

    Parameters
    ----------
    name : str
        The name by which it is asked for. Headscope's own names are taken.
    title : str, optional
        What it shows; by default the name.
    caption : str, optional
        What it shows, in a sentence or two; by default the first paragraph of the function's
        docstring.
    needs : sequence of str
        The measures that the results must have.

    Returns
    -------
    callable
        A decorator for a function that takes results and returns an Altair chart.

    Examples
    --------
    >>> @figure("mean-entropy", title="Mean entropy", needs=["entropy"])  # doctest: +SKIP
    ... def mean_entropy(results):
    ...     means = results.mean("entropy").sel(row="all").mean("head")
    ...     frame = means.to_dataframe(name="entropy").reset_index()
    ...     return alt.Chart(frame).mark_bar().encode(x="layer:O", y="entropy:Q")
    >>> find_figure("mean-entropy").draw(results).save("mean-entropy.svg")  # doctest: +SKIP
    """
    add = FIGURES.register(name, title=title, caption=caption, needs=tuple(needs))
    return cast("Callable[[Draw], Draw]", add)


def all_figures() -> tuple[Figure, ...]:
    """Return every figure there is, whatever measures it needs.

    Examples
    --------
    >>> [figure.name for figure in all_figures()][:3]
    ['position', 'special', 'from-sep']
    """
    return tuple(_described(entry) for entry in FIGURES.entries())


def gallery(results: Atlas) -> list[Figure]:
    """Return the figures that can be drawn from some results.

    Parameters
    ----------
    results : Atlas
        Any results.

    Returns
    -------
    list of Figure
        Those whose measures the results have, with at least one defined value each.
    """
    there = {name for name in results if has_values(results[name])} | beside(results)
    return [item for item in all_figures() if there.issuperset(item.needs)]


def beside(results: Atlas) -> set[str]:
    """Say what results hold besides measures that a figure may need: null models, checkpoints."""
    from headscope.results.schema import NULL, TRACK

    return {name for name in (NULL, TRACK) if name in results.tree.children}


def has_values(data: xr.Dataset) -> bool:
    """Tell whether a dataset has any defined value.

    Parameters
    ----------
    data : Dataset
        One group of some results.

    Returns
    -------
    bool
    """
    from headscope.results.schema import values_of

    return bool(values_of(data).notnull().any())


def find_figure(name: str, results: Atlas | None = None) -> Figure:
    """Return a figure by name.

    Parameters
    ----------
    name : str
        The figure's name.
    results : Atlas, optional
        Results that it is to be drawn from. Without them only the name is checked.

    Returns
    -------
    Figure
        The figure, which ``results`` allow.

    Raises
    ------
    UserError
        If there is no such figure, or if the results lack a measure that it needs.

    Examples
    --------
    >>> find_figure("entropy").needs
    ('entropy',)
    """
    item = _described(FIGURES.entry(name))
    known = set() if results is None else {*results, *beside(results)}
    missing = [] if results is None else [need for need in item.needs if need not in known]
    if missing:
        raise UserError(
            f"the figure {name!r} needs the measure {missing[0]!r}, "
            "which these results do not have",
            hint=f"make results that have it with {how_to_get(missing[0])}",
        )
    return item


def _described(entry: Entry[Drawing]) -> Figure:
    """Describe an entry; one without a caption has the first paragraph of its docstring."""
    caption = str(entry.facts.get("caption", ""))
    if not caption and entry.target is not None:
        caption = " ".join((entry.target.__doc__ or "").strip().partition("\n\n")[0].split())
    return Figure(
        entry.name,
        str(entry.facts.get("title", "") or entry.name),
        caption,
        tuple(entry.facts.get("needs", ())),
    )
