"""Figures: Altair charts drawn from results only."""

from headscope.figures.ablation import head_off, layer_off
from headscope.figures.correlations import correlation_map
from headscope.figures.cumulative import score_curves
from headscope.figures.gallery import Figure, figure, find_figure, gallery
from headscope.figures.heat import heat_map
from headscope.figures.kovaleva import from_cls, heat_grid
from headscope.figures.layers import layer_scatter
from headscope.figures.lines import attention_lines, attention_panel
from headscope.figures.patterns.classes import confusion_map, pattern_bars, task_patterns
from headscope.figures.patterns.grid import pattern_grid
from headscope.figures.points import head_points, ranked_bars
from headscope.figures.probing.heat import before_after, probe_grid, task_maps
from headscope.figures.probing.scatter import scatter_grid
from headscope.figures.probing.top import top_curves
from headscope.figures.pvalues import p_histogram
from headscope.figures.roles import role_maps
from headscope.figures.save import FORMATS, save_chart, script_json, vega_bundle
from headscope.figures.scores import score_histogram
from headscope.figures.shares import role_layers
from headscope.figures.shift import shift_dots
from headscope.figures.skills import skill_grid
from headscope.figures.upset import upset
from headscope.figures.venn import venn

__all__ = [
    "FORMATS",
    "Figure",
    "attention_lines",
    "attention_panel",
    "before_after",
    "confusion_map",
    "correlation_map",
    "figure",
    "find_figure",
    "from_cls",
    "gallery",
    "head_off",
    "head_points",
    "heat_grid",
    "heat_map",
    "layer_off",
    "layer_scatter",
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
    "shift_dots",
    "skill_grid",
    "task_maps",
    "task_patterns",
    "top_curves",
    "upset",
    "vega_bundle",
    "venn",
]
