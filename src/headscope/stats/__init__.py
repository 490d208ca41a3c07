"""Statistics on results: intervals, corrected tests, best heads, scaling to two dimensions.

Nothing here needs torch.
"""

from headscope.stats.antecedent_gains import antecedent_gains, gain_differences
from headscope.stats.antecedents import antecedent_scores, antecedent_table
from headscope.stats.beyond_position import beyond_position, times_position, with_positions
from headscope.stats.comparison import cosine_table, paired_table
from headscope.stats.crossfit import CrossFit, best_choice, cross_fit, cross_score, fit_apart
from headscope.stats.description import Description, descriptions
from headscope.stats.differences import difference_atlas, difference_table, same_examples
from headscope.stats.emergence import emergence
from headscope.stats.frames import frame_table, outstanding
from headscope.stats.inference import interval, interval_note, p_above, standard_error
from headscope.stats.kv_heads import kv_head_counts, kv_head_table
from headscope.stats.layers import LayerCloseness, layer_closeness
from headscope.stats.lengths import matched_scores
from headscope.stats.main_roles import main_roles, role_stability
from headscope.stats.map_agreement import map_agreement
from headscope.stats.model_summary import model_summary
from headscope.stats.nulls import null_bands, null_table
from headscope.stats.overlap import (
    fine_overlaps,
    layer_shares,
    overlap_shares,
    present,
    regions,
    role_correlations,
    role_sets,
    skills,
)
from headscope.stats.paired import paired_test
from headscope.stats.patterns import (
    leading_patterns,
    pattern_heads,
    pattern_layers,
    pattern_shares,
    shares_by_file,
)
from headscope.stats.relations import DEFAULT_DIRECTIONS, best_heads, relation_tests
from headscope.stats.role_scores import COARSE, FINE
from headscope.stats.role_tables import cautions, role_table, tau_table, undecided
from headscope.stats.roles import role_tests
from headscope.stats.scaling import scale
from headscope.stats.shared import not_compared
from headscope.stats.shift import role_shift
from headscope.stats.sinks import sink_table
from headscope.stats.summary_parts import Part, SummaryLine
from headscope.stats.tau import find_tau, find_taus, grand_mean, parse_tau, pooled_mean, pooled_tau
from headscope.stats.tests import correct, wilson
from headscope.stats.thresholds import Thresholds, threshold_table
from headscope.stats.track import track_values

__all__ = [
    "COARSE",
    "DEFAULT_DIRECTIONS",
    "FINE",
    "CrossFit",
    "Description",
    "LayerCloseness",
    "Part",
    "SummaryLine",
    "Thresholds",
    "antecedent_gains",
    "antecedent_scores",
    "antecedent_table",
    "best_choice",
    "best_heads",
    "beyond_position",
    "cautions",
    "correct",
    "cosine_table",
    "cross_fit",
    "cross_score",
    "descriptions",
    "difference_atlas",
    "difference_table",
    "emergence",
    "find_tau",
    "find_taus",
    "fine_overlaps",
    "fit_apart",
    "frame_table",
    "gain_differences",
    "grand_mean",
    "interval",
    "interval_note",
    "kv_head_counts",
    "kv_head_table",
    "layer_closeness",
    "layer_shares",
    "leading_patterns",
    "main_roles",
    "map_agreement",
    "matched_scores",
    "model_summary",
    "not_compared",
    "null_bands",
    "null_table",
    "outstanding",
    "overlap_shares",
    "p_above",
    "paired_table",
    "paired_test",
    "parse_tau",
    "pattern_heads",
    "pattern_layers",
    "pattern_shares",
    "pooled_mean",
    "pooled_tau",
    "present",
    "regions",
    "relation_tests",
    "role_correlations",
    "role_sets",
    "role_shift",
    "role_stability",
    "role_table",
    "role_tests",
    "same_examples",
    "scale",
    "shares_by_file",
    "sink_table",
    "skills",
    "standard_error",
    "tau_table",
    "threshold_table",
    "times_position",
    "track_values",
    "undecided",
    "wilson",
    "with_positions",
]
