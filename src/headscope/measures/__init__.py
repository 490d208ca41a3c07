"""Measures: statistics of every head whose sums add up over a corpus.

Names are loaded when first used, so that the registry can be read without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.measures.alignment import Alignment
    from headscope.measures.base import Context, Measure, Together
    from headscope.measures.change import Change, Difference
    from headscope.measures.confidence import Confidence
    from headscope.measures.coreference import Coreference
    from headscope.measures.dependency import Dependency
    from headscope.measures.distance import Distance, exact_divergence, fast_divergence
    from headscope.measures.entropy import Entropy, row_entropy
    from headscope.measures.feature import Feature
    from headscope.measures.frame import Frame
    from headscope.measures.gradient import Gradient
    from headscope.measures.kinds import (
        Columns,
        Dense,
        Diagonals,
        Groups,
        Pairs,
        Relation,
        Weighted,
        bias_weights,
        mass_weights,
    )
    from headscope.measures.link import Link
    from headscope.measures.logit_attribution import LogitAttribution
    from headscope.measures.max_logit import MaxLogit
    from headscope.measures.patterns.measure import Pattern
    from headscope.measures.peak import Peak
    from headscope.measures.position import Position
    from headscope.measures.profile import Arc, ArcOffset, Profile
    from headscope.measures.reach import Reach
    from headscope.measures.registry import MEASURES, choose, load_measure_file, offered_measures
    from headscope.measures.relation import Linear
    from headscope.measures.repetition import Repetition
    from headscope.measures.role import Role
    from headscope.measures.row_mean import RowMean
    from headscope.measures.sieves.base import SIEVES, Sieve, known_sieves, load_sieves, sieve
    from headscope.measures.sink import Sink, SinkPlaces
    from headscope.measures.special import Special
    from headscope.measures.spread import Spread
    from headscope.measures.streaming import Streaming
    from headscope.measures.strongest import Strongest
    from headscope.measures.sums import Kept, Sums
    from headscope.measures.words import WordMap, WordMeasure, word_map
    from headscope.measures.work import Activity, Work

_WHERE = {
    "alignment": ("Alignment",),
    "base": ("Context", "Measure", "Together"),
    "change": ("Change", "Difference"),
    "confidence": ("Confidence",),
    "coreference": ("Coreference",),
    "dependency": ("Dependency",),
    "distance": ("Distance", "exact_divergence", "fast_divergence"),
    "entropy": ("Entropy", "row_entropy"),
    "feature": ("Feature",),
    "frame": ("Frame",),
    "gradient": ("Gradient",),
    "kinds": (
        "Columns",
        "Dense",
        "Diagonals",
        "Groups",
        "Pairs",
        "Relation",
        "Weighted",
        "bias_weights",
        "mass_weights",
    ),
    "link": ("Link",),
    "logit_attribution": ("LogitAttribution",),
    "max_logit": ("MaxLogit",),
    "patterns.measure": ("Pattern",),
    "peak": ("Peak",),
    "position": ("Position",),
    "profile": ("Arc", "ArcOffset", "Profile"),
    "reach": ("Reach",),
    "registry": ("MEASURES", "choose", "load_measure_file", "offered_measures"),
    "relation": ("Linear",),
    "repetition": ("Repetition",),
    "role": ("Role",),
    "row_mean": ("RowMean",),
    "sieves.base": ("SIEVES", "Sieve", "known_sieves", "load_sieves", "sieve"),
    "sink": ("Sink", "SinkPlaces"),
    "special": ("Special",),
    "spread": ("Spread",),
    "streaming": ("Streaming",),
    "strongest": ("Strongest",),
    "sums": ("Kept", "Sums"),
    "words": ("WordMap", "WordMeasure", "word_map"),
    "work": ("Activity", "Work"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "MEASURES",
    "SIEVES",
    "Activity",
    "Alignment",
    "Arc",
    "ArcOffset",
    "Change",
    "Columns",
    "Confidence",
    "Context",
    "Coreference",
    "Dense",
    "Dependency",
    "Diagonals",
    "Difference",
    "Distance",
    "Entropy",
    "Feature",
    "Frame",
    "Gradient",
    "Groups",
    "Kept",
    "Linear",
    "Link",
    "LogitAttribution",
    "MaxLogit",
    "Measure",
    "Pairs",
    "Pattern",
    "Peak",
    "Position",
    "Profile",
    "Reach",
    "Relation",
    "Repetition",
    "Role",
    "RowMean",
    "Sieve",
    "Sink",
    "SinkPlaces",
    "Special",
    "Spread",
    "Streaming",
    "Strongest",
    "Sums",
    "Together",
    "Weighted",
    "WordMap",
    "WordMeasure",
    "Work",
    "bias_weights",
    "choose",
    "exact_divergence",
    "fast_divergence",
    "known_sieves",
    "load_measure_file",
    "load_sieves",
    "mass_weights",
    "offered_measures",
    "row_entropy",
    "sieve",
    "word_map",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"headscope.measures.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'headscope.measures' has no attribute {name!r}")
