"""Headscope: what every attention head of a transformer does.

    import headscope as hs

    model = hs.load("demo")  # hub id, folder or "demo"
    atlas = hs.survey(model, "demo")  # path, list of texts, DataFrame, dataset or "demo"
    atlas.head("1-3")  # what this head does
    atlas.find("position:previous > 0.5")  # heads by a condition
    atlas.save("demo.nc")

Names are loaded when first used, so that ``import headscope`` and reading results need no torch.
"""

import os
import sys

# ``python -m headscope`` puts the current folder first in the search path. What lies there must not
# run as a part of us, so the folder goes before anything is imported that Python has not yet.
if sys.argv[:1] == ["-m"] and "headscope" in sys.orig_argv and not sys.flags.safe_path:
    del sys.path[0]

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# A star import takes neither folders nor ``open``, which would hide Python's own.
_hidden = {"open", *(name.partition(".")[0] for name in os.listdir(__path__[0]))}  # noqa: PTH208
__all__ = [name for name in __all__ if name not in _hidden]
