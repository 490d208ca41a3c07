"""Statistics on results: intervals, tests with correction, best heads, scaling to two dimensions. No torch."""

from headscope.stats.antecedents import antecedent_table
from headscope.stats.behaviour import Thresholds, behaviours
from headscope.stats.relations import DEFAULT_DIRECTIONS, best_heads, relation_tests
from headscope.stats.scaling import scale
from headscope.stats.tests import correct, paired_sign, wilson

__all__ = ["DEFAULT_DIRECTIONS", "Thresholds", "antecedent_table", "behaviours", "best_heads", "correct", "paired_sign", "relation_tests", "scale", "wilson"]
