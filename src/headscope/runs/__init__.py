"""The engine: runs measures over a corpus, checkpoints, resumes, and splits."""

from headscope.runs.compare import compare
from headscope.runs.settings import Settings, make_settings, parse_shard
from headscope.runs.survey import survey

__all__ = ["Settings", "compare", "make_settings", "parse_shard", "survey"]
