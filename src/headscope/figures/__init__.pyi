from .ablation import group_losses_chart as group_losses_chart
from .builders import (
    heat_grid as heat_grid,
    heat_map as heat_map,
    layer_scatter as layer_scatter,
    measure_grid as measure_grid,
    measure_map as measure_map,
    numbers_of as numbers_of,
    ranked_bars as ranked_bars,
)
from .distances import head_points as head_points
from .gallery import (
    FIGURES as FIGURES,
    Figure as Figure,
    all_figures as all_figures,
    figure as figure,
    find_figure as find_figure,
    gallery as gallery,
)
from .lines import (
    DrawnSieve as DrawnSieve,
    attention_lines as attention_lines,
    attention_panel as attention_panel,
    sieve_arcs as sieve_arcs,
)
from .patterns import (
    confusion_map as confusion_map,
    pattern_bars as pattern_bars,
    pattern_grid as pattern_grid,
    shades as shades,
    task_patterns as task_patterns,
)
from .probing import (
    agreement_grid as agreement_grid,
    before_after as before_after,
    probe_grid as probe_grid,
    scatter_grid as scatter_grid,
    task_maps as task_maps,
    top_curves as top_curves,
)
from .role_sets import (
    correlation_map as correlation_map,
    role_layers as role_layers,
    skill_grid as skill_grid,
    upset as upset,
    venn as venn,
)
from .roles import (
    p_histogram as p_histogram,
    role_maps as role_maps,
    score_curves as score_curves,
    score_histogram as score_histogram,
    shift_dots as shift_dots,
)
from .save import (
    FORMATS as FORMATS,
    save_chart as save_chart,
    script_json as script_json,
    vega_bundle as vega_bundle,
)
