"""Charts that draw themselves in a notebook without a network.

Altair's default renderer writes a page that loads Vega from a CDN: without a network the cell stays
empty. Headscope's charts are drawn to SVG in the kernel instead. They are Altair charts all the
same, and another renderer that the user enabled is used as it is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

from headscope.figures.save import chart_svg

DEFAULT = "default"
"""The name of Altair's renderer when the user chose none."""


class Offline:
    """Draws a chart as SVG where Altair would load its scripts from a CDN."""

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        if alt.renderers.active != DEFAULT:
            return super()._repr_mimebundle_(*args, **kwds)  # type: ignore[misc]
        return {"image/svg+xml": chart_svg(self), "text/plain": repr(self)}


class Chart(Offline, alt.Chart):  # type: ignore[misc]
    """A chart of one mark."""


class LayerChart(Offline, alt.LayerChart):  # type: ignore[misc]
    """Several marks on top of each other."""


class HConcatChart(Offline, alt.HConcatChart):  # type: ignore[misc]
    """Charts in a row."""


class VConcatChart(Offline, alt.VConcatChart):  # type: ignore[misc]
    """Charts in a column."""


class ConcatChart(Offline, alt.ConcatChart):  # type: ignore[misc]
    """Charts in rows of a given length."""


class FacetChart(Offline, alt.FacetChart):  # type: ignore[misc]
    """One chart per part of the data."""


class RepeatChart(Offline, alt.RepeatChart):  # type: ignore[misc]
    """One chart per field."""


def offline(chart: Any) -> Any:
    """The same chart, which draws itself in a notebook without a network.

    Parameters
    ----------
    chart : altair chart
        Any chart. It is changed in place: nothing is copied.

    Returns
    -------
    altair chart
        The chart, of a subclass of its class. What is made of it by ``properties``,
        ``configure_axis`` and the like is of that class too.

    Examples
    --------
    >>> import pandas as pd
    >>> chart = offline(alt.Chart(pd.DataFrame({"x": [1]})).mark_point().encode(x="x:Q"))
    >>> isinstance(chart, alt.Chart), sorted(chart._repr_mimebundle_())
    (True, ['image/svg+xml', 'text/plain'])
    """
    if type(chart) in _classes():
        # Altair would take a plain assignment for an entry of the chart's specification.
        object.__setattr__(chart, "__class__", _classes()[type(chart)])
    return chart


@cache
def _classes() -> dict[type, type]:
    own = (Chart, LayerChart, HConcatChart, VConcatChart, ConcatChart, FacetChart, RepeatChart)
    return {getattr(alt, kind.__name__): kind for kind in own}
