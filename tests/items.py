"""Encoded examples made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from headscope.corpus import Example
from headscope.encode import Encoded

TYPES = {"types": int, "kind": np.int8, "segment": np.int8, "word": int, "stop": bool}
TYPES |= {"unit": int, "unknown": bool}


def item_of(
    example: Example, ids: Any, *, text: Any = None, word: Any = -1, **rows: Any
) -> Encoded:
    """An encoded example; one value stands for all tokens, and units are the words."""
    given = {"word": word, "unit": word} | rows
    parts = {
        name: np.broadcast_to(np.asarray(given.get(name, 0), kind), len(ids)).copy()
        for name, kind in TYPES.items()
    }
    return Encoded(example, np.array(ids, int), text=text or ("",) * len(ids), **parts)
