from .bars import ranked_bars as ranked_bars
from .gallery import (
    FIGURES as FIGURES,
    Figure as Figure,
    all_figures as all_figures,
    figure as figure,
    find_figure as find_figure,
    gallery as gallery,
)
from .grids import heat_grid as heat_grid, measure_grid as measure_grid
from .heat import heat_map as heat_map, measure_map as measure_map
from .lines import attention_lines as attention_lines, attention_panel as attention_panel
from .patterns.confusion import confusion_map as confusion_map
from .patterns.grid import pattern_grid as pattern_grid, shades as shades
from .patterns.shares import pattern_bars as pattern_bars, task_patterns as task_patterns
from .points import head_points as head_points
from .probing.agreement import agreement_grid as agreement_grid
from .probing.maps import task_maps as task_maps
from .probing.models import before_after as before_after, probe_grid as probe_grid
from .probing.syntactic_semantic import scatter_grid as scatter_grid
from .probing.top_n import top_curves as top_curves
from .roles.correlations import correlation_map as correlation_map
from .roles.cumulative import score_curves as score_curves
from .roles.heat import role_maps as role_maps
from .roles.layers import role_layers as role_layers
from .roles.p import p_histogram as p_histogram
from .roles.scores import score_histogram as score_histogram
from .roles.shift import shift_dots as shift_dots
from .roles.sieves import DrawnSieve as DrawnSieve, sieve_arcs as sieve_arcs
from .roles.skills import skill_grid as skill_grid
from .roles.upset import upset as upset
from .roles.venn import venn as venn
from .save import (
    FORMATS as FORMATS,
    save_chart as save_chart,
    script_json as script_json,
    vega_bundle as vega_bundle,
)
from .scatter import layer_scatter as layer_scatter
