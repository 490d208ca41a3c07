"""Figures: Altair charts drawn from results alone.

The gallery of named figures is at hand at once; everything else is imported when it is first used,
so that names can be checked without loading altair.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headscope.figures.gallery import (
    FIGURES,
    Figure,
    all_figures,
    figure,
    find_figure,
    gallery,
)

if TYPE_CHECKING:
    from headscope.figures.bars import ranked_bars
    from headscope.figures.grids import heat_grid, measure_grid
    from headscope.figures.heat import heat_map, measure_map
    from headscope.figures.lines import attention_lines, attention_panel
    from headscope.figures.patterns.confusion import confusion_map
    from headscope.figures.patterns.grid import pattern_grid, shades
    from headscope.figures.patterns.shares import pattern_bars, task_patterns
    from headscope.figures.points import head_points
    from headscope.figures.probing.agreement import agreement_grid
    from headscope.figures.probing.maps import task_maps
    from headscope.figures.probing.models import before_after, probe_grid
    from headscope.figures.probing.syntactic_semantic import scatter_grid
    from headscope.figures.probing.top_n import top_curves
    from headscope.figures.roles.correlations import correlation_map
    from headscope.figures.roles.cumulative import score_curves
    from headscope.figures.roles.heat import role_maps
    from headscope.figures.roles.layers import role_layers
    from headscope.figures.roles.p import p_histogram
    from headscope.figures.roles.scores import score_histogram
    from headscope.figures.roles.shift import shift_dots
    from headscope.figures.roles.sieves import DrawnSieve, sieve_arcs
    from headscope.figures.roles.skills import skill_grid
    from headscope.figures.roles.upset import upset
    from headscope.figures.roles.venn import venn
    from headscope.figures.save import FORMATS, save_chart, script_json, vega_bundle
    from headscope.figures.scatter import layer_scatter

_WHERE = {
    "DrawnSieve": "roles.sieves",
    "FORMATS": "save",
    "agreement_grid": "probing.agreement",
    "attention_lines": "lines",
    "attention_panel": "lines",
    "before_after": "probing.models",
    "confusion_map": "patterns.confusion",
    "correlation_map": "roles.correlations",
    "head_points": "points",
    "heat_grid": "grids",
    "heat_map": "heat",
    "layer_scatter": "scatter",
    "measure_grid": "grids",
    "measure_map": "heat",
    "p_histogram": "roles.p",
    "pattern_bars": "patterns.shares",
    "pattern_grid": "patterns.grid",
    "probe_grid": "probing.models",
    "ranked_bars": "bars",
    "role_layers": "roles.layers",
    "role_maps": "roles.heat",
    "save_chart": "save",
    "scatter_grid": "probing.syntactic_semantic",
    "score_curves": "roles.cumulative",
    "score_histogram": "roles.scores",
    "script_json": "save",
    "shades": "patterns.grid",
    "shift_dots": "roles.shift",
    "sieve_arcs": "roles.sieves",
    "skill_grid": "roles.skills",
    "task_maps": "probing.maps",
    "task_patterns": "patterns.shares",
    "top_curves": "probing.top_n",
    "upset": "roles.upset",
    "vega_bundle": "save",
    "venn": "roles.venn",
}

__all__ = [
    "FIGURES",
    "FORMATS",
    "DrawnSieve",
    "Figure",
    "agreement_grid",
    "all_figures",
    "attention_lines",
    "attention_panel",
    "before_after",
    "confusion_map",
    "correlation_map",
    "figure",
    "find_figure",
    "gallery",
    "head_points",
    "heat_grid",
    "heat_map",
    "layer_scatter",
    "measure_grid",
    "measure_map",
    "p_histogram",
    "pattern_bars",
    "pattern_grid",
    "probe_grid",
    "ranked_bars",
    "role_layers",
    "role_maps",
    "save_chart",
    "scatter_grid",
    "score_curves",
    "score_histogram",
    "script_json",
    "shades",
    "shift_dots",
    "sieve_arcs",
    "skill_grid",
    "task_maps",
    "task_patterns",
    "top_curves",
    "upset",
    "vega_bundle",
    "venn",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
