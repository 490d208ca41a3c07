"""The sentences that probing tasks are made from, and drafts of examples before they are split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from headscope.corpus.example import ROOT, Example, Word
from headscope.corpus.treebank import BracketTree

# --- sentences ---

SHORTEST, LONGEST = 5, 28
"""Conneau et al. (2018) take sentences of 5 to 28 words."""
PENN = frozenset(
    {
        *("CC", "CD", "DT", "EX", "FW", "IN", "JJ", "JJR", "JJS", "LS", "MD", "NN", "NNS"),
        *("NNP", "NNPS", "PDT", "POS", "PRP", "PRP$", "RB", "RBR", "RBS", "RP", "TO", "UH"),
        *("VB", "VBD", "VBG", "VBN", "VBP", "VBZ", "WDT", "WP", "WP$", "WRB"),
    }
)
UNIVERSAL = frozenset(
    {
        *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON"),
        *("PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
    }
)
CONTENT = frozenset({"NOUN", "PROPN", "VERB", "ADJ"})
# Universal, Stanford and CLEAR names, without subtypes (nsubj:pass).
SUBJECT = frozenset({"nsubj", "nsubjpass"})
CLAUSE_SUBJECT = SUBJECT | {"csubj", "csubjpass", "expl"}
OBJECT = frozenset({"obj", "dobj"})
AUXILIARY = frozenset({"aux", "auxpass", "cop"})


@dataclass(frozen=True)
class Sentence:
    """One sentence of a treebank.

    Parameters
    ----------
    id, source : str
        The name of the sentence, and where it was read.
    words : tuple of Word
        Their heads are places in the sentence itself, or ROOT; None if there is no tree.
    group : str, default ""
        The document that the sentence belongs to.

    Examples
    --------
    >>> words = (Word("Dogs", head=1, relation="nsubj"), Word("bark", head=ROOT))
    >>> sentence = Sentence("1", "a.conllu, line 1", words)
    >>> sentence.text, sentence.root, sentence.under(1)
    ('Dogs bark', 1, [0])
    """

    id: str
    source: str
    words: tuple[Word, ...]
    group: str = ""

    @cached_property
    def text(self) -> str:
        """The words joined by single spaces."""
        return spell(word.text for word in self.words)

    @cached_property
    def key(self) -> str:
        """The text in lower case: equal for sentences that differ only in capitals."""
        return self.text.casefold()

    @cached_property
    def root(self) -> int | None:
        """The place of the root; None without a tree or with several roots."""
        roots = [place for place, word in enumerate(self.words) if word.head == ROOT]
        whole = all(word.head is not None for word in self.words)
        return roots[0] if whole and len(roots) == 1 else None

    def under(self, place: int, relations: Iterable[str] = ()) -> list[int]:
        """The dependents of a word, in order; only those in ``relations``, if there are any."""
        return [
            index
            for index, word in enumerate(self.words)
            if word.head == place and (not relations or relation(word) in relations)
        ]

    def subtree(self, place: int) -> set[int]:
        """A word, its dependents, their dependents and so on."""
        places, waiting = {place}, [place]
        while waiting:
            below = self.under(waiting.pop())
            places.update(below)
            waiting += below
        return places


def spell(words: Iterable[str]) -> str:
    """Join words to a text by single spaces, without any other white space.

    >>> spell(["Dogs", " bark\u00a0"])
    'Dogs bark'
    """
    return " ".join(" ".join(words).split())


def relation(word: Word) -> str:
    """A dependency label without its subtype.

    >>> relation(Word("it", relation="nsubj:pass"))
    'nsubj'
    """
    return word.relation.split(":")[0]


def penn(word: Word) -> str:
    """The Penn tag of a word, from whichever column has it; empty if neither has.

    >>> penn(Word("dogs", upos="NOUN", xpos="NNS")), penn(Word("dogs", upos="NNS"))
    ('NNS', 'NNS')
    >>> penn(Word("dogs", upos="NOUN"))
    ''
    """
    return next((tag for tag in (word.xpos, word.upos) if tag in PENN), "")


def feature(word: Word, name: str) -> str:
    """The value of a morphological feature; empty if the word has none.

    >>> feature(Word("Hunde", feats="Case=Nom|Number=Plur"), "Number")
    'Plur'
    """
    for pair in word.feats.split("|"):
        key, _, value = pair.partition("=")
        if key == name:
            return value
    return ""


def is_content(word: Word) -> bool:
    """Whether a word is a noun, verb or adjective by its tag.

    Auxiliaries are not content words. Neither are adverbs and numerals: many are function words
    (*only*, *so*, *there*), and tags do not tell which. A word without a tag may be one.

    >>> is_content(Word("dog", upos="NOUN")), is_content(Word("of", upos="ADP"))
    (True, False)
    >>> is_content(Word("is", xpos="VBZ", relation="cop")), is_content(Word("noch", upos="ADV"))
    (False, False)
    """
    if relation(word) in AUXILIARY:
        return False
    return word.upos in CONTENT or (
        word.upos not in UNIVERSAL and penn(word)[:2] in {"", "NN", "VB", "JJ"}
    )


def is_punctuation(word: Word) -> bool:
    """Whether a word is punctuation by its tag or relation, or has neither letters nor digits.

    >>> is_punctuation(Word("...")), is_punctuation(Word("dog"))
    (True, False)
    """
    return (
        word.upos == "PUNCT"
        or relation(word) == "punct"
        or not any(sign.isalnum() for sign in word.text)
    )


def sentences_of(examples: Iterable[Example]) -> Iterator[Sentence]:
    """Yield the sentences of examples that have words."""
    for example in examples:
        places = groupby(
            range(len(example.words)),
            key=lambda place: (example.words[place].segment, example.words[place].sentence),
        )
        parts = [list(group) for _, group in places]
        for number, part in enumerate(parts, 1):
            first = part[0]
            words = tuple(_local(example.words[place], first, len(part)) for place in part)
            name = f"{example.id}-{number}" if len(parts) > 1 else example.id
            source = example.source or example.id
            where = f"{source}, sentence {number}" if len(parts) > 1 else source
            yield Sentence(name, where, words, example.group)


def _local(word: Word, first: int, length: int) -> Word:
    if word.head is None or word.head == ROOT:
        return word
    head = word.head - first
    if not 0 <= head < length:
        return replace(word, head=None)
    return replace(word, head=head) if first else word


def usable(sentences: Iterable[Sentence]) -> tuple[list[Sentence], dict[str, int]]:
    """Choose the sentences of 5 to 28 words, each once, whatever its capitals.

    Returns
    -------
    sentences : list of Sentence
        The sentences to use.
    skipped : dict of str to int
        How many sentences were skipped, by reason.
    """
    length, again = f"without {SHORTEST} to {LONGEST} words", "that repeat an earlier one"
    kept: dict[str, Sentence] = {}
    skipped = {length: 0, again: 0}
    for sentence in sentences:
        if not SHORTEST <= len(sentence.words) <= LONGEST:
            skipped[length] += 1
        elif kept.setdefault(sentence.key, sentence) is not sentence:
            skipped[again] += 1
    return list(kept.values()), {reason: count for reason, count in skipped.items() if count}


# --- drafts ---


@dataclass(frozen=True)
class Draft:
    """A labelled sentence.

    Parameters
    ----------
    sentence : Sentence
        The sentence of the treebank.
    label : str
        Its label.
    text : str
        The text of the example: the sentence, or the sentence after a change.
    target : str, default ""
        The word that the label is about; no two splits share it.
    """

    sentence: Sentence
    label: str
    text: str
    target: str = ""


@dataclass
class Drafts:
    """The drafts of one task.

    Parameters
    ----------
    how : str
        How the labels were found, in words.
    items : list of Draft
        The drafts.
    skipped : Counter of str
        How many sentences were skipped, by reason.
    lacking : str, default ""
        What the treebank lacks, so that the task cannot be made from it at all.
    """

    how: str
    items: list[Draft] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    lacking: str = ""

    def label(
        self, sentences: Iterable[Sentence], find: Callable[[Sentence], tuple[str, str] | str]
    ) -> Drafts:
        """Label sentences and return the drafts themselves.

        ``find`` returns the label and the target word, or the reason why there is none.
        """
        for sentence in sentences:
            answer = find(sentence)
            if isinstance(answer, str):
                self.skipped[answer] += 1
            else:
                self.items.append(Draft(sentence, answer[0], sentence.text, answer[1]))
        return self


@dataclass(frozen=True)
class Treebank:
    """The sentences that tasks are made from.

    Parameters
    ----------
    sentences : sequence of Sentence
        The sentences of 5 to 28 words, each once.
    trees : mapping of str to BracketTree, optional
        The constituents of each sentence, by its key.
    skipped : mapping of str to int, optional
        How many sentences were skipped, by reason.
    wanted : int, default 0
        How many examples a task should have; 0 for as many as there are.
    most_words : int, default 1000
        The most words of WordContent.
    """

    sentences: Sequence[Sentence]
    trees: Mapping[str, BracketTree] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    wanted: int = 0
    most_words: int = 1000
