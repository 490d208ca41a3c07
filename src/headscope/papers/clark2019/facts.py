"""Published numbers, each with the table or figure that it stands in. Facts only: nothing here is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BestHead:
    """A row of Clark et al. 2019, Table 1 (accuracies in percent)."""

    relation: str
    head: str
    accuracy: float
    baseline: float
    offset: int


CLARK_TABLE_1 = (
    BestHead("all", "7-6", 34.5, 26.3, 1),
    BestHead("prep", "7-4", 66.7, 61.8, -1),
    BestHead("pobj", "9-6", 76.3, 34.6, -2),
    BestHead("det", "8-11", 94.3, 51.7, 1),
    BestHead("nn", "4-10", 70.4, 70.2, 1),
    BestHead("nsubj", "8-2", 58.5, 45.5, 1),
    BestHead("amod", "4-10", 75.6, 68.3, 1),
    BestHead("dobj", "8-10", 86.8, 40.0, -2),
    BestHead("advmod", "7-6", 48.8, 40.2, 1),
    BestHead("aux", "4-10", 81.1, 71.5, 1),
    BestHead("poss", "7-6", 80.5, 47.7, 1),
    BestHead("auxpass", "4-10", 82.5, 40.5, 1),
    BestHead("ccomp", "8-1", 48.8, 12.4, -2),
    BestHead("mark", "8-2", 50.7, 14.5, 2),
    BestHead("prt", "6-7", 99.1, 91.4, -1),
)

# Stanford names in the paper, and what other schemes call (roughly) the same: the first that the treebank has is taken.
SAME_RELATION: dict[str, tuple[str, ...]] = {
    "prep": ("prep", "case"),
    "pobj": ("pobj", "obl"),
    "nn": ("nn", "compound"),
    "dobj": ("dobj", "obj"),
    "poss": ("poss", "nmod:poss"),
    "auxpass": ("auxpass", "aux:pass"),
    "prt": ("prt", "compound:prt"),
}
ROUGH = {
    "case": "UD's case joins a preposition to its noun, not to what it modifies: only roughly prep",
    "obl": "UD's obl is the noun under a verb, without its preposition: only roughly pobj",
}

CLARK_TABLE_2 = {
    "nearest": {"all": 27, "pronoun": 29, "proper": 29, "nominal": 19},
    "same head word": {"all": 52, "pronoun": 47, "proper": 67, "nominal": 40},
    "rules": {"all": 69, "pronoun": 70, "proper": 77, "nominal": 60},
    "head": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58},
}
CLARK_TABLE_2_HEAD = "5-4"

CLARK_TABLE_3 = {
    "right-branching": 26,
    "words + distances": 58,
    "attention + words, random encoder": 30,
    "attention": 61,
    "attention + words": 77,
}

CLARK_PREVIOUS_LAYERS = (2, 4, 7, 8)
CLARK_NEXT_LAYERS = (1, 2, 2, 3, 6)
CLARK_CLS_ENTROPY_LAST = 3.89
