"""Headscope: what every attention head of a transformer does.

    import headscope as hs
    model = hs.load("demo")
    atlas = hs.survey(model, hs.corpus.read("demo"))
    atlas["position"]["mean"].sel(layer=1, head=3, offset="previous")
    atlas.save("demo.nc")

Names are loaded when first used, so that ``import headscope`` and reading results need no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from headscope import corpus
    from headscope.atlas import Atlas, compare, merge, open, probe, survey
    from headscope.errors import UserError
    from headscope.measures import Linear, Measure, sieve
    from headscope.models import LayerView, Model, Replacement, load, wrap

_WHERE = {
    "Atlas": "headscope.atlas",
    "compare": "headscope.atlas",
    "merge": "headscope.atlas",
    "open": "headscope.atlas",
    "probe": "headscope.atlas",
    "survey": "headscope.atlas",
    "UserError": "headscope.errors",
    "Linear": "headscope.measures",
    "Measure": "headscope.measures",
    "sieve": "headscope.measures",
    "LayerView": "headscope.models",
    "Model": "headscope.models",
    "Replacement": "headscope.models",
    "load": "headscope.models",
    "wrap": "headscope.models",
}

__all__ = [
    "Atlas",
    "LayerView",
    "Linear",
    "Measure",
    "Model",
    "Replacement",
    "UserError",
    "compare",
    "corpus",
    "load",
    "merge",
    "open",
    "probe",
    "sieve",
    "survey",
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name == "corpus":
        return import_module("headscope.corpus")
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'headscope' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
