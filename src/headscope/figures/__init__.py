"""Figures: Altair charts drawn from results only."""

from headscope.figures.gallery import Figure, figure, find_figure, gallery
from headscope.figures.heat import heat_map
from headscope.figures.layers import layer_scatter
from headscope.figures.lines import attention_lines, attention_panel
from headscope.figures.points import head_points, ranked_bars
from headscope.figures.save import FORMATS, save_chart, script_json, vega_bundle

__all__ = [
    "FORMATS",
    "Figure",
    "attention_lines",
    "attention_panel",
    "figure",
    "find_figure",
    "gallery",
    "head_points",
    "heat_map",
    "layer_scatter",
    "ranked_bars",
    "save_chart",
    "script_json",
    "vega_bundle",
]
