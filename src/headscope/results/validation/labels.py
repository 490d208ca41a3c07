"""What readers of Headscope's own measures ask for by name: dimensions, labels and attributes."""

from __future__ import annotations

from collections.abc import Mapping

JSON_ATTRIBUTES: Mapping[str, tuple[type, ...]] = {
    "titles": (str,),
    "absent": (str,),
    "offsets": (int,),
    "half_offsets": (list,),
    "offset_counts": (dict,),
}
"""Attributes that hold JSON objects, and what their values are."""
NEEDED: Mapping[str, tuple[str, ...]] = {
    "dependency": ("offsets", "half_offsets", "offset_counts"),
    "work": ("titles",),
}
"""Such attributes that readers of a measure need, for each of its first labels."""
LABELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "position": {"offset": ("previous", "current", "next")},
    "special": {"token": ("cls", "sep", "punctuation"), "row": ("all", "sep", "other")},
    "entropy": {"row": ("all", "cls", "uniform")},
    "activity": {"where": ("at work", "start", "separator", "stops", "other")},
    "spread": {"part": ("entropy", "left")},
    "work": {"role": (), "part": ("attention", "uniform", "left")},
    "role": {"role": ()},
    "repetition": {"repeat": ("induction", "duplicate")},
    "sink": {"sink": ("first", "rate")},
    "reach": {"moment": ("distance", "square", "variance")},
    "frame": {"direction": ("both", "target to element", "element to target")},
    "feature": {"feature": ()},
    "link": {"link": ()},
    "pattern": {"pattern": ("vertical", "diagonal", "block", "heterogeneous")},
    "coreference": {
        "candidates": ("mentions", "words"),
        "kind": ("all",),
        "mentions": ("every", "nearest right"),
    },
    "dependency": {
        "direction": ("dependent to head", "head to dependent"),
        "relation": (),
        "words": ("every", "offset right", "held-out offset right"),
    },
}
"""The dimensions of Headscope's own measures, and labels that readers ask for by name."""
SUMMED = ("coreference", "dependency", "role", "spread", "work")
"""Measures whose readers need sums by bucket."""
