"""The kept examples of a results file, checked when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, cut

if TYPE_CHECKING:
    from headscope.results.kept import KeptText

Array = NDArray[Any]
HINT = "run the survey again; if another program wrote the file, correct it there"
GRID = ("layer", "head")
VARIABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "texts": (("byte",), "u"),
    "text_bytes": (("text",), "iu"),
    "text_rows": (("text",), "iu"),
    "strongest_text": ((*GRID, "rank"), "i"),
    "strongest_score": ((*GRID, "rank"), "f"),
    "sample_text": (("sample",), "iu"),
    "sample_rows": (("sample",), "iu"),
    "sample_score": (("sample", *GRID), "f"),
    "sample_share": (("sample", *GRID, "offset"), "f"),
    "sample_uniform": (("sample", *GRID, "offset"), "f"),
    "counts": (("row",), "u"),
    "keys": (("link",), "u"),
    "weights": (("link",), "u"),
    "layer": (("layer",), "iu"),
    "head": (("head",), "iu"),
    "offset": (("offset",), "iu"),
}
"""The dimensions of every variable, and the kinds of numbers in it."""


def examples_fault(variables: Mapping[Any, xr.Variable]) -> str:
    """What is wrong with the group of kept examples; "" for nothing.

    >>> examples_fault({})
    "has no variable 'texts'"
    """
    for name, (dims, kinds) in VARIABLES.items():
        if name not in variables:
            return f"has no variable {name!r}"
        if variables[name].dims != dims:
            return f"has a variable {name!r} whose dimensions are not {', '.join(dims)}"
        if variables[name].dtype.kind not in kinds:
            return f"has a variable {name!r} that holds {variables[name].dtype}"
    return _places_fault({name: variables[name].values for name in VARIABLES})


def _places_fault(data: Mapping[str, Array]) -> str:
    """Whether every place points into what it is a place of."""
    count = len(data["text_rows"])
    if (data["text_bytes"] < 0).any() or data["text_bytes"].sum() != len(data["texts"]):
        return "has 'text_bytes' that do not fit 'texts'"
    for name, least in (("strongest_text", -1), ("sample_text", 0)):
        if data[name].size and not (least <= data[name].min() and data[name].max() < count):
            return f"has {name!r} that name texts it does not hold"
    if (data["text_rows"] < 0).any() or (data["sample_rows"] < 0).any():
        return "has negative numbers of rows"
    return _maps_fault(data, data["text_rows"].astype(np.int64))


def _maps_fault(data: Mapping[str, Array], rows: Array) -> str:
    """Whether the maps have the rows of their texts, and no key beyond the last row."""
    strongest = data["strongest_text"]
    heads = strongest.shape[0] * strongest.shape[1]
    of = np.concatenate([strongest[strongest >= 0], np.repeat(data["sample_text"], heads)])
    ends = np.cumsum(rows[of])
    if (ends[-1] if len(ends) else 0) != len(data["counts"]):
        return "has 'counts' of other rows than those of its maps"
    links = np.concatenate([[0], np.cumsum(data["counts"], dtype=np.int64)])
    if links[-1] != len(data["keys"]):
        return "has 'keys' that do not fit 'counts'"
    first, last = links[np.concatenate([[0], ends[:-1]])], links[ends]
    some = first < last  # maps with any key
    if some.any() and (np.maximum.reduceat(data["keys"], first[some]) >= rows[of][some]).any():
        return "has 'keys' beyond the tokens of its texts"
    return ""


def checked_text(
    parse: Callable[[bytes], KeptText], number: int, text: bytes, rows: int
) -> KeptText:
    """A kept text whose maps have so many rows.

    Texts are read when they are first asked for, which is long after the file was opened.

    Raises
    ------
    ResultsError
        If the text is not as Headscope writes it.
    """
    try:
        made = parse(text)
        fault = _text_fault(made, rows)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        fault = f"cannot be read: {cut(str(error), 200)}"
    if fault:
        raise ResultsError(
            f"these results have wrong contents: text {number + 1} of the examples {fault}",
            hint=HINT,
        )
    return made


def _text_fault(text: KeptText, rows: int) -> str:
    tokens, words = len(text.tokens), len(text.words)
    for names, wanted in (
        (("tokens", "unit", "special", "sink"), tokens),
        (("words", "head", "relation", "sentence"), words),
    ):
        for name in names:
            if not isinstance(getattr(text, name), tuple) or len(getattr(text, name)) != wanted:
                return f"has {name!r} of another length"
    texts = (text.id, text.group, *text.tokens, *text.words, *text.relation)
    if not all(isinstance(one, str) for one in texts):
        return "has tokens or words that are not texts"
    numbers = (text.number, text.length, text.part, *text.unit, *text.head, *text.sentence)
    if not all(isinstance(one, int) for one in numbers):
        return "has places that are not whole numbers"
    if tokens != rows or any(not -1 <= unit < words for unit in text.unit):
        return "has tokens that do not fit its words or its maps"
    if any(not -2 <= head < words for head in text.head):
        return "has head words that it does not hold"
    return ""
