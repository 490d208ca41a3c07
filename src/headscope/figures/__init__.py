"""Figures: Altair charts drawn from results only."""

from headscope.figures.gallery import Figure, figure, find_figure, gallery
from headscope.figures.heat import heat_map
from headscope.figures.layers import layer_scatter
from headscope.figures.save import FORMATS, save_chart

__all__ = ["FORMATS", "Figure", "figure", "find_figure", "gallery", "heat_map", "layer_scatter", "save_chart"]
