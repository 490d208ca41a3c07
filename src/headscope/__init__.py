"""Headscope: what every attention head of a transformer does.

    import headscope as hs

    model = hs.load("demo")  # hub id, folder or "demo"
    atlas = hs.survey(model, "demo")  # path, list of texts, DataFrame, dataset or "demo"
    atlas.head("1-3")  # what this head does
    atlas.find("position:previous > 0.5")  # heads by a condition
    atlas.save("demo.nc")

Names are loaded when first used, so that ``import headscope`` and reading results need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from headscope.corpus import Corpus, Example, read
    from headscope.errors import UserError
    from headscope.figures import figure
    from headscope.heads import Head
    from headscope.measures import (
        Activity,
        Confidence,
        Coreference,
        Dependency,
        Distance,
        Entropy,
        Feature,
        Frame,
        Gradient,
        Linear,
        Link,
        LogitAttribution,
        Measure,
        Pattern,
        Peak,
        Position,
        Reach,
        Repetition,
        Role,
        Sink,
        SinkPlaces,
        Special,
        Spread,
        Streaming,
        Work,
        sieve,
    )
    from headscope.models import LayerView, Model, Pooling, Replacement, load, wrap
    from headscope.page.explorer.start import explore
    from headscope.page.show import show
    from headscope.results import Atlas, TextAttention, merge
    from headscope.runs.ablate import ablate
    from headscope.runs.ablate.groups import group_losses
    from headscope.runs.attention import attention
    from headscope.runs.circuits import circuits
    from headscope.runs.compare import compare
    from headscope.runs.keeping.on_demand import examples
    from headscope.runs.logit_parts import logit_parts
    from headscope.runs.patterns import patterns
    from headscope.runs.probe import probe
    from headscope.runs.retrieval import Needle, retrieval
    from headscope.runs.survey import survey
    from headscope.runs.synthetic import synthetic
    from headscope.runs.track import track
    from headscope.runs.tune import tune

    open = Atlas.open

_WHERE = {
    "corpus": ("Corpus", "Example", "read"),
    "errors": ("UserError",),
    "figures": ("figure",),
    "heads": ("Head",),
    "measures": (
        "Activity",
        "Confidence",
        "Coreference",
        "Dependency",
        "Distance",
        "Entropy",
        "Feature",
        "Frame",
        "Gradient",
        "Linear",
        "Link",
        "LogitAttribution",
        "Measure",
        "Pattern",
        "Peak",
        "Position",
        "Reach",
        "Repetition",
        "Role",
        "Sink",
        "SinkPlaces",
        "Special",
        "Spread",
        "Streaming",
        "Work",
        "sieve",
    ),
    "models": ("LayerView", "Model", "Pooling", "Replacement", "load", "wrap"),
    "page.explorer.start": ("explore",),
    "page.show": ("show",),
    "results": ("Atlas", "TextAttention", "merge"),
    "runs.ablate": ("ablate",),
    "runs.ablate.groups": ("group_losses",),
    "runs.attention": ("attention",),
    "runs.circuits": ("circuits",),
    "runs.compare": ("compare",),
    "runs.keeping.on_demand": ("examples",),
    "runs.logit_parts": ("logit_parts",),
    "runs.patterns": ("patterns",),
    "runs.probe": ("probe",),
    "runs.retrieval": ("Needle", "retrieval"),
    "runs.survey": ("survey",),
    "runs.synthetic": ("synthetic",),
    "runs.track": ("track",),
    "runs.tune": ("tune",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

# ``open`` is offered as ``hs.open`` but not exported by a star import: it would hide Python's own.
__all__ = [
    "Activity",
    "Atlas",
    "Confidence",
    "Coreference",
    "Corpus",
    "Dependency",
    "Distance",
    "Entropy",
    "Example",
    "Feature",
    "Frame",
    "Gradient",
    "Head",
    "LayerView",
    "Linear",
    "Link",
    "LogitAttribution",
    "Measure",
    "Model",
    "Needle",
    "Pattern",
    "Peak",
    "Pooling",
    "Position",
    "Reach",
    "Repetition",
    "Replacement",
    "Role",
    "Sink",
    "SinkPlaces",
    "Special",
    "Spread",
    "Streaming",
    "TextAttention",
    "UserError",
    "Work",
    "ablate",
    "attention",
    "circuits",
    "compare",
    "examples",
    "explore",
    "figure",
    "group_losses",
    "load",
    "logit_parts",
    "merge",
    "patterns",
    "probe",
    "read",
    "retrieval",
    "show",
    "sieve",
    "survey",
    "synthetic",
    "track",
    "tune",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name == "open":
        return import_module("headscope.results").Atlas.open
    if name in _MODULES:
        return getattr(import_module(f"headscope.{_MODULES[name]}"), name)
    try:  # hs.corpus, hs.stats and the other folders
        return import_module(f"headscope.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"headscope.{name}":
            raise
    raise AttributeError(f"module 'headscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "open", "__version__"])
