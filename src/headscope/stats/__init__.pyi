from .heads.main_roles import main_roles as main_roles, role_stability as role_stability
from .heads.positions import (
    beyond_position as beyond_position,
    times_position as times_position,
    with_positions as with_positions,
)
from .heads.query import kv_head_counts as kv_head_counts, kv_head_table as kv_head_table
from .heads.thresholds import Thresholds as Thresholds, threshold_table as threshold_table
from .inference.correction import (
    CrossFit as CrossFit,
    best_choice as best_choice,
    cross_fit as cross_fit,
    cross_score as cross_score,
    fit_apart as fit_apart,
)
from .inference.correction import correct as correct, paired_test as paired_test, wilson as wilson
from .inference.documents import (
    interval as interval,
    interval_note as interval_note,
    p_above as p_above,
    standard_error as standard_error,
)
from .tables.alike import (
    LayerCloseness as LayerCloseness,
    layer_closeness as layer_closeness,
    map_agreement as map_agreement,
    null_bands as null_bands,
    null_table as null_table,
    scale as scale,
)
from .tables.antecedents import (
    antecedent_gains as antecedent_gains,
    antecedent_scores as antecedent_scores,
    antecedent_table as antecedent_table,
    gain_differences as gain_differences,
)
from .tables.change import (
    cosine_table as cosine_table,
    difference_atlas as difference_atlas,
    difference_table as difference_table,
    matched_heads as matched_heads,
    not_compared as not_compared,
    paired_table as paired_table,
    same_examples as same_examples,
)
from .tables.circuits import sink_table as sink_table
from .tables.patterns import (
    leading_patterns as leading_patterns,
    pattern_heads as pattern_heads,
    pattern_layers as pattern_layers,
    pattern_shares as pattern_shares,
    shares_by_file as shares_by_file,
)
from .tables.relations import (
    DEFAULT_DIRECTIONS as DEFAULT_DIRECTIONS,
    best_heads as best_heads,
    frame_table as frame_table,
    outstanding as outstanding,
    relation_tests as relation_tests,
)
from .tables.role_tables import (
    cautions as cautions,
    fine_overlaps as fine_overlaps,
    layer_shares as layer_shares,
    overlap_shares as overlap_shares,
    present as present,
    regions as regions,
    role_correlations as role_correlations,
    role_sets as role_sets,
    role_table as role_table,
    share_table as share_table,
    skills as skills,
    tau_table as tau_table,
    undecided as undecided,
)
from .tables.roles import (
    COARSE as COARSE,
    FINE as FINE,
    find_tau as find_tau,
    find_taus as find_taus,
    grand_mean as grand_mean,
    pooled_mean as pooled_mean,
    pooled_tau as pooled_tau,
    role_tests as role_tests,
)
from .tables.role_tables import role_shift as role_shift
from .tables.track import emergence as emergence, track_values as track_values
from .words.describe import Description as Description, descriptions as descriptions
from .words.summary import model_summary as model_summary
from .words.formatter import Part as Part, SummaryLine as SummaryLine
from .tables.ablation import (
    change_table as change_table,
    group_table as group_table,
    repeated_more as repeated_more,
)
from .tables.cache import cache_table as cache_table
from .tables.circuits import (
    retrieval_answers as retrieval_answers,
    retrieval_masking as retrieval_masking,
)
from .tables.disabling import disabling_summary as disabling_summary
from .tables.probing import (
    head_table as head_table,
    split_table as split_table,
    top_table as top_table,
)
from .tables.examples import (
    top_keys as top_keys,
    top_pairs as top_pairs,
    top_queries as top_queries,
)
