"""What the embedded model does, surveyed once for all tests of sentences."""

from __future__ import annotations

from functools import cache

import headscope as hs
from headscope.results import Atlas

MEASURES = ("activity", "work", "spread", "dependency", "coreference")


@cache
def embedded() -> Atlas:
    """The embedded model on the built-in corpus."""
    return hs.survey("demo", "demo", measures=list(MEASURES))
