"""Results: labelled arrays with provenance, saved, opened, merged and exported without torch."""

from headscope.results.atlas import Atlas
from headscope.results.export import write_table
from headscope.results.merge import merge
from headscope.results.schema import KEPT, SCHEMA, SUMS
from headscope.results.summary import head_name, heads_over, summary
from headscope.results.text_attention import TextAttention

open = Atlas.open  # offered as headscope.open

__all__ = [
    "KEPT",
    "SCHEMA",
    "SUMS",
    "Atlas",
    "TextAttention",
    "head_name",
    "heads_over",
    "merge",
    "summary",
    "write_table",
]
