"""The provenance of a results file, checked when it is opened."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from headscope.errors import shorten
from headscope.identity import KEYS

PARTS: Mapping[str, type] = {
    **dict.fromkeys(("model", "corpus", "counts", "settings", "versions", "details"), dict),
    **dict.fromkeys(("examples", "nulls", "synthetic", "circuits"), dict),
    **dict.fromkeys(("notes", "measures", "shards", KEYS), list),
    **dict.fromkeys(("kind", "created", "identity", "maps"), str),
}
"""What the parts of a provenance are, where they are there."""
WORDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text"}
MOST = 100_000
"""No model has as many layers, nor as many heads in a layer."""
_SHARD = re.compile(r"[1-9]\d{0,8}/[1-9]\d{0,8}")


def parsed(text: object) -> Any:
    """A JSON value; None for anything else.

    >>> parsed('{"a": 1}'), parsed("{"), parsed(3)
    ({'a': 1}, None, None)
    """
    if not isinstance(text, str):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0.

    >>> is_count(3), is_count(-1), is_count(True)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def provenance_fault(about: Mapping[str, Any]) -> str:
    """What is wrong with a provenance; "" for nothing.

    >>> provenance_fault({"model": {"name": "demo"}})
    ''
    >>> provenance_fault({"model": {"name": "demo", "layers": -1}})
    'has model.layers -1, which is not a number from 1'
    """
    for name, kind in PARTS.items():
        if name in about and not isinstance(about[name], kind):
            return f"has {name!r} {shorten(about[name])}, which is not {WORDS[kind]}"
    for name in ("notes", "measures", "shards", KEYS):
        if not all(isinstance(one, str) for one in about.get(name, ())):
            return f"has {name!r} that are not texts"
    if not all(_SHARD.fullmatch(one) for one in about.get("shards", ())):
        return "has 'shards' that are not like '1/4'"
    return _model_fault(about.get("model")) or _counts_fault(about)


def _model_fault(model: Any) -> str:
    if model is None or not isinstance(model.get("name"), str):
        return "does not name the model"
    for name in ("layers", "heads", "kv_heads"):
        if name in model and not (is_count(model[name]) and 1 <= model[name] <= MOST):
            return f"has model.{name} {shorten(model[name])}, which is not a number from 1"
    numbers = model.get("layer_numbers")
    if numbers is not None and not (
        isinstance(numbers, list)
        and all(is_count(one) and one for one in numbers)
        and numbers == sorted(set(numbers))
        and len(numbers) == model.get("layers")
    ):
        return "has model.layer_numbers that do not number the layers"
    tokens = model.get("tokens", {})
    if not isinstance(tokens, dict) or not all(isinstance(one, str) for one in tokens.values()):
        return "has model.tokens that are not texts"
    for name in ("type", "stack", "dtype", "revision", "weights"):
        if name in model and not isinstance(model[name], str):
            return f"has model.{name} {shorten(model[name])}, which is not a text"
    return ""


def _counts_fault(about: Mapping[str, Any]) -> str:
    """Corpus, counts and settings."""
    if "corpus" in about and not isinstance(about["corpus"].get("name"), str):
        return "does not name the corpus"
    counts = about.get("counts", {"seen": 0})
    for name in ("seen", *counts):
        found = counts.get(name)
        if not (is_count(found) or (name != "seen" and isinstance(found, list))):
            return f"has counts.{name} {shorten(found)}, which is not a number from 0"
    for name in ("seed", "max_length", "batch_size"):
        found = about.get("settings", {}).get(name, 0)
        if not (is_count(found) or found is None):
            return f"has settings.{name} {shorten(found)}, which is not a number from 0"
    return ""
