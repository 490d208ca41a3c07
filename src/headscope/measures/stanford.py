"""Relations of Stanford Dependencies that Universal Dependencies annotate in another way.

Clark et al. (2019, Table 1) score Stanford Dependencies. Where UD differs in the name alone (obj,
nmod:poss), a table can rename it. The relations here differ in what they join:

- *pobj* joins the object of a preposition to the preposition. UD's ``case`` joins the preposition
  to the object: the same two words, the other way round. The clitic 's is ``case`` too, but no
  preposition.
- *aux* includes the infinitive's "to", which is ``mark`` in UD; *mark* does not.
- *neg* is "not", "n't" or "never", which is ``advmod`` in UD; *advmod* has the other adverbs.

*prep* has no counterpart in UD.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headscope.corpus import ROOT, Word
from headscope.labels import STANFORD

CLITICS = frozenset({"'s", "s'", "'", "’s", "’"})
NEGATIONS = frozenset({"not", "n't", "n’t", "nt", "never"})


class StanfordArc(NamedTuple):
    """An arc of Stanford Dependencies.

    Parameters
    ----------
    dependent, head : int
        The indices of the two words.
    relation : str
        The label, such as ``"pobj (SD)"``.
    """

    dependent: int
    head: int
    relation: str


def stanford_arc(words: Sequence[Word], index: int) -> StanfordArc | None:
    """The Stanford arc of a word of a UD tree, where the two schemes differ in more than the name.

    Parameters
    ----------
    words
        The words with their UD tree.
    index
        Which word.

    Returns
    -------
    StanfordArc or None
        None for words without a head word, and for all other relations.

    Examples
    --------
    >>> words = [Word("in", head=1, relation="case"), Word("Rome", head=ROOT, relation="root")]
    >>> tuple(stanford_arc(words, 0))
    (1, 0, 'pobj (SD)')
    """
    word = words[index]
    if word.head is None or word.head == ROOT:
        return None
    text, relation = word.text.lower(), word.relation.partition(":")[0]
    if relation == "case" and text not in CLITICS:
        return StanfordArc(word.head, index, f"pobj{STANFORD}")
    name = ""
    if word.relation == "aux" or relation == "mark":
        infinitive = text == "to" and word.upos in {"PART", ""}
        name = "aux" if relation == "aux" or infinitive else "mark"
    elif relation == "advmod":
        name = "neg" if text in NEGATIONS else "advmod"
    return StanfordArc(index, word.head, f"{name}{STANFORD}") if name else None
