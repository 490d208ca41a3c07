"""Measures: statistics of every head whose sums add up over a corpus.

Names are loaded when first used, so that the registry can be read without torch. The name of a
measure is a function of plain attention maps: see :func:`measured`.
"""

from functools import partial
from typing import Any

import lazy_loader

_stub, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__ or name.startswith("_"):
        return _stub(name)
    from headscope.registry import MEASURES

    if name not in MEASURES:
        return _stub(name)  # a module, or an error
    from headscope.measures.plain import measured

    return partial(measured, name)
