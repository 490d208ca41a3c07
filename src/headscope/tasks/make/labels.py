"""The labels of Length, WordContent, Depth and TopConst, which do not change their sentences.

References
----------
Conneau et al. (2018), What you can cram into a single $&!#* vector, §2.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

from headscope.corpus.example import ROOT
from headscope.corpus.readers.brackets import BracketTree
from headscope.tasks.make.drafts import Draft, Drafts
from headscope.tasks.make.sentences import (
    LONGEST,
    SHORTEST,
    Sentence,
    is_content,
    is_punctuation,
    relation,
)

LEAST = 10
"""The fewest sentences of a class: eight to train, one to choose and one to test on."""
WIDTH = 4
"""How many lengths a class of Length spans: six classes from 5 to 28 words."""
MATCHED = 0.1
"""The smallest share of sentences that may be left once the classes of Depth match in length."""
FREQUENT = 19
"""TopConst has at most this many classes besides OTHER."""
RARE = 0.005
"""Sequences of TopConst rarer than this share of the sentences are OTHER."""
OTHER = "OTHER"
WORDS = 1000
"""The most words of WordContent."""
COMMON = 0.01
"""Words in more than this share of the sentences are too common for WordContent."""
CONTENT_SHARE = 0.9
"""A word of WordContent is tagged as a content word in at least this share of its places."""
NO_TREE = "without a tree that has one root"


def sentence_length(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """Length: the number of words, in six classes of equal width."""
    ranges = ", ".join(
        f"{number} = {start}–{start + WIDTH - 1}"
        for number, start in enumerate(range(SHORTEST, LONGEST + 1, WIDTH))
    )
    return Drafts(f"number of words: {ranges}").label(
        sentences, lambda sentence: (str((len(sentence.words) - SHORTEST) // WIDTH), "")
    )


def word_content(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """WordContent: which one of some content words of medium frequency is in the sentence.

    A word needs ``LEAST`` sentences that have it and none of the other words. As long as some words
    have too few, the worst of them are dropped, which frees sentences for the others.
    """
    bags = [
        {word.text.lower() for word in sentence.words if word.text.isalpha()}
        for sentence in sentences
    ]
    counts = Counter(word for bag in bags for word in bag)
    most = max(COMMON * len(sentences), 4 * LEAST)
    content: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for sentence in sentences:
        for word in sentence.words:
            places[word.text.lower()] += 1
            content[word.text.lower()] += is_content(word)
    chosen = {
        word
        for word, count in counts.items()
        if LEAST <= count <= most and content[word] >= CONTENT_SHARE * places[word]
    }
    while chosen:
        alone = Counter(word for bag in bags for word in (bag & chosen) if len(bag & chosen) == 1)
        failing = sorted(
            (word for word in chosen if alone[word] < LEAST), key=lambda word: (alone[word], word)
        )
        if not failing:
            break
        chosen -= set(failing[: max(1, len(failing) // 20)])
    chosen = set(sorted(chosen, key=lambda word: (-counts[word], word))[:WORDS])
    found = Drafts(
        f"the one of {len(chosen)} content words (each in {LEAST} to {int(most)} sentences) "
        "that is in the sentence"
    )
    inside = {
        sentence.key: sorted(bag & chosen) for sentence, bag in zip(sentences, bags, strict=True)
    }
    return found.label(
        sentences,
        lambda sentence: (
            (inside[sentence.key][0], "")
            if len(inside[sentence.key]) == 1
            else "with none or several of the words"
        ),
    )


def dependency_depth(sentence: Sentence) -> int:
    """The largest number of arcs from the root to a word that is not punctuation.

    >>> from headscope.corpus import Word
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> sentence = Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP")))
    >>> dependency_depth(sentence)
    1
    """
    deepest = 0
    for place, word in enumerate(sentence.words):
        if not is_punctuation(word):
            steps, at = 0, place
            while (head := sentence.words[at].head) is not None and head != ROOT:
                steps, at = steps + 1, head
            deepest = max(deepest, steps)
    return deepest


def tree_depth(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """Depth of the dependency tree."""
    depths = {
        sentence.key: dependency_depth(sentence)
        for sentence in sentences
        if sentence.root is not None
    }
    return _depth(
        sentences, depths, "most arcs from the root to a word of the dependency tree", rng
    )


def bracket_depth(
    sentences: Sequence[Sentence], trees: dict[str, BracketTree], rng: Random
) -> Drafts:
    """Depth of the constituency tree, as in the paper."""
    return _depth(
        sentences,
        {sentence.key: trees[sentence.key].depth for sentence in sentences},
        "longest path from the top of the bracketed tree to a word",
        rng,
    )


def _depth(sentences: Sequence[Sentence], depths: dict[str, int], what: str, rng: Random) -> Drafts:
    """Label sentences by depth, with as many sentences of each class at every length.

    Deep sentences are long: otherwise a probe could read the depth off the length.
    """
    found = Drafts(what)
    treed = found.label(
        sentences,
        lambda sentence: (str(depths[sentence.key]), "") if sentence.key in depths else NO_TREE,
    ).items
    found.items = []
    if (
        ends := _widest(
            Counter((depths[draft.sentence.key], len(draft.sentence.words)) for draft in treed)
        )
    ) is None:
        found.skipped["whose lengths cannot be matched between depths"] = len(treed)
        return found
    low, high = ends
    cells: dict[int, dict[str, list[Draft]]] = defaultdict(
        lambda: {str(depth): [] for depth in range(low, high + 1)}
    )
    for draft in treed:
        label = str(min(max(depths[draft.sentence.key], low), high))
        cells[len(draft.sentence.words)][label].append(replace(draft, label=label))
    for classes in cells.values():
        even = min(map(len, classes.values()))
        found.items += [draft for drafts in classes.values() for draft in rng.sample(drafts, even)]
    found.how += (
        f"; {low} is {low} or less, {high} is {high} or more; "
        "as many sentences of each class at every length"
    )
    found.skipped["to match the lengths of the classes"] = len(treed) - len(found.items)
    return found


def _widest(counts: Counter[tuple[int, int]]) -> tuple[int, int] | None:
    """Find the lowest and highest depth of the largest number of classes that match in length.

    At least ``MATCHED`` of the sentences must be left. Depths beyond the range join its ends.
    ``counts`` has the number of sentences of each depth and length.
    """
    best: tuple[int, int, int, int] | None = None
    for low, high in combinations(sorted({depth for depth, _ in counts}), 2):
        clamped: Counter[tuple[int, int]] = Counter()
        for (depth, length), count in counts.items():
            clamped[min(max(depth, low), high), length] += count
        each = sum(
            min(clamped[depth, length] for depth in range(low, high + 1))
            for length in range(SHORTEST, LONGEST + 1)
        )
        classes = high - low + 1
        if each >= max(LEAST, MATCHED * counts.total() / classes) and (
            best is None or (classes, each) > best[:2]
        ):
            best = (classes, each, low, high)
    return best and best[2:]


def dependents(sentence: Sentence) -> str:
    """The relations of the root's dependents, in order, with ROOT in the place of the root.

    >>> from headscope.corpus import Word
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> sentence = Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP")))
    >>> dependents(sentence)
    'nsubj_ROOT'
    """
    assert sentence.root is not None
    order = sorted([*sentence.under(sentence.root), sentence.root])
    return "_".join(
        "ROOT" if place == sentence.root else relation(sentence.words[place]) for place in order
    )


def top_constituents(sentences: Sequence[Sentence], rng: Random) -> Drafts:
    """TopConst without constituents: the relations around the root replace them."""
    found = {
        sentence.key: dependents(sentence) for sentence in sentences if sentence.root is not None
    }
    return _sequences(
        sentences, found, "the root's dependents in order, instead of constituents", NO_TREE
    )


def bracket_constituents(
    sentences: Sequence[Sentence], trees: dict[str, BracketTree], rng: Random
) -> Drafts:
    """TopConst as in the paper: the labels right below S."""
    found = {
        sentence.key: "_".join(trees[sentence.key].top)
        for sentence in sentences
        if trees[sentence.key].label == "S"
    }
    return _sequences(sentences, found, "the constituents right below S", "whose top is not S")


def _sequences(
    sentences: Sequence[Sentence], found: dict[str, str], what: str, reason: str
) -> Drafts:
    counts = Counter(found.values())
    least = max(LEAST, RARE * len(found))
    frequent = {
        sequence
        for sequence, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[
            :FREQUENT
        ]
        if count >= least
    }
    drafts = Drafts(f"{what}: the {len(frequent)} most frequent, and {OTHER}")

    def find(sentence: Sentence) -> tuple[str, str] | str:
        sequence = found.get(sentence.key)
        return reason if sequence is None else (sequence if sequence in frequent else OTHER, "")

    return drafts.label(sentences, find)
