"""Published numbers of Clark et al. 2019, each with its table or section. Nothing is computed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BestHead:
    """A row of Table 1; accuracies in percent.

    Parameters
    ----------
    relation
        The Stanford name of the dependency relation, or "all".
    head
        The best head, counted from 1.
    accuracy
        The best head's accuracy.
    baseline, offset
        The best fixed offset and its accuracy.
    """

    relation: str
    head: str
    accuracy: float
    baseline: float
    offset: int


TABLE_1 = (
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
"""Best heads at dependency relations (Table 1)."""

SAME_RELATION: dict[str, tuple[str, ...]] = {
    "pobj": ("pobj", "pobj (SD)"),
    "nn": ("nn", "compound"),
    "dobj": ("dobj", "obj"),
    "advmod": ("advmod (SD)", "advmod"),
    "aux": ("aux (SD)", "aux"),
    "poss": ("poss", "nmod:poss"),
    "auxpass": ("auxpass", "aux:pass"),
    "mark": ("mark (SD)", "mark"),
    "prt": ("prt", "compound:prt"),
}
"""What Universal Dependencies call the paper's relations. The first name that the treebank has is
used. Names that end in "(SD)" are made from UD; see :mod:`headscope.measures.dependency`."""
MADE = {
    "pobj (SD)": "UD's case with the two words swapped, without the possessive 's",
    "aux (SD)": "UD's aux, and the infinitive's to, which is mark in UD",
    "mark (SD)": "UD's mark without the infinitive's to",
    "advmod (SD)": "UD's advmod without not, n't and never, which are neg in the paper's scheme",
}
"""How a relation was made from UD."""
NO_PREP = (
    "UD attaches a preposition to its noun, not to the word that the phrase modifies, so prep has "
    "no counterpart"
)

TABLE_2 = {
    "nearest": {"all": 27, "pronoun": 29, "proper": 29, "nominal": 19},
    "same head word": {"all": 52, "pronoun": 47, "proper": 67, "nominal": 40},
    "rules": {"all": 69, "pronoun": 70, "proper": 77, "nominal": 60},
    "head": {"all": 65, "pronoun": 64, "proper": 73, "nominal": 58},
}
"""Antecedent accuracy in percent, by system and mention type (Table 2)."""
NEURAL_COREFERENCE = ("neural coreference (Wiseman et al. 2015)", "83*")
"""A published row of Table 2 for comparison: on whole documents, with other mentions."""
TABLE_2_HEAD = "5-4"
"""The head in the last row of Table 2."""

TABLE_3 = {
    "right-branching": 26,
    "words + distances": 58,
    "attention + words, random encoder": 30,
    "attention": 61,
    "attention + words": 77,
}
"""UAS of the probes in percent (Table 3)."""

STRUCTURAL_PROBE = ("structural probe, UUAS (Hewitt and Manning 2019)", "80*")
"""A published row of Table 3 for comparison: undirected, from the vectors of one layer."""
SPLIT_WORDS = 8
"""Percent of words that are split into pieces, about (Section 4.1)."""

PREVIOUS_LAYERS = (2, 4, 7, 8)
"""The layers of heads with over half of their attention on the previous token (Section 3.1)."""
NEXT_LAYERS = (1, 2, 2, 3, 6)
"""The same for the next token (Section 3.1)."""
CLS_ENTROPY_LAST = 3.89
"""Entropy of attention from [CLS] in the last layer, in nats (Section 3.3)."""
