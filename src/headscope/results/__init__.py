"""Results: labelled arrays with provenance, saved, opened, merged, summed up and exported without torch."""

from headscope.results.export import export
from headscope.results.merge import merge
from headscope.results.summary import head_name, heads_over, remarks, summary
from headscope.results.tree import KEPT, SCHEMA, SUMS, Results

__all__ = [
    "KEPT",
    "SCHEMA",
    "SUMS",
    "Results",
    "export",
    "head_name",
    "heads_over",
    "merge",
    "remarks",
    "summary",
]
