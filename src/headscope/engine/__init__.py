"""The engine: runs measures over a corpus, checkpoints, resumes, and splits."""

from headscope.engine.compare import compare
from headscope.engine.settings import Settings, make_settings, parse_shard
from headscope.engine.survey import survey

__all__ = ["Settings", "compare", "make_settings", "parse_shard", "survey"]
