"""The ten probing tasks: how each labels, or changes, the sentences of a treebank.

References
----------
Conneau et al. (2018), What you can cram into a single $&!#* vector, §2.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from math import log2
from random import Random

from headscope.corpus.example import ROOT, Word
from headscope.tasks.sentences import (
    AUXILIARY,
    CLAUSE_SUBJECT,
    LONGEST,
    OBJECT,
    SHORTEST,
    SUBJECT,
    UNIVERSAL,
    Draft,
    Drafts,
    Sentence,
    Treebank,
    feature,
    is_content,
    is_punctuation,
    penn,
    relation,
    spell,
)

# --- Length, WordContent, Depth and TopConst ---

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
COMMON = 0.01
"""Words in more than this share of the sentences are too common for WordContent."""
CONTENT_SHARE = 0.9
"""A word of WordContent is tagged as a content word in at least this share of its places."""
NO_TREE = "without a tree that has one root"


def sentence_length(bank: Treebank, rng: Random) -> Drafts:
    """Length: the number of words, in six classes of equal width."""
    ranges = ", ".join(
        f"{number} = {start}–{start + WIDTH - 1}"
        for number, start in enumerate(range(SHORTEST, LONGEST + 1, WIDTH))
    )
    return Drafts(f"number of words: {ranges}").label(
        bank.sentences, lambda sentence: (str((len(sentence.words) - SHORTEST) // WIDTH), "")
    )


def word_content(bank: Treebank, rng: Random) -> Drafts:
    """WordContent: which one of some content words of medium frequency is in the sentence.

    A word needs ``LEAST`` sentences that have it and none of the other words, or its share of those
    that are wanted. As long as some words have too few, the worst of them are dropped, which frees
    sentences for the others.
    """
    bags = [
        {word.text.lower() for word in sentence.words if word.text.isalpha()}
        for sentence in bank.sentences
    ]
    counts = Counter(word for bag in bags for word in bag)
    most = max(COMMON * len(bank.sentences), 4 * LEAST)
    content: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for sentence in bank.sentences:
        for word in sentence.words:
            places[word.text.lower()] += 1
            content[word.text.lower()] += is_content(word)
    medium = {
        word
        for word, count in counts.items()
        if LEAST <= count <= most and content[word] >= CONTENT_SHARE * places[word]
    }
    chosen = _told_apart(bags, medium, bank.wanted) or _told_apart(bags, medium, 0)
    chosen = set(sorted(chosen, key=lambda word: (-counts[word], word))[: bank.most_words])
    drafts = Drafts(
        f"the one of {len(chosen)} content words (each in {LEAST} to {int(most)} sentences) "
        "that is in the sentence"
    )
    inside = {
        sentence.key: sorted(bag & chosen)
        for sentence, bag in zip(bank.sentences, bags, strict=True)
    }
    return drafts.label(
        bank.sentences,
        lambda sentence: (
            (inside[sentence.key][0], "")
            if len(inside[sentence.key]) == 1
            else "with none or several of the words"
        ),
    )


def _told_apart(bags: Sequence[set[str]], words: set[str], wanted: int) -> set[str]:
    """Those words of which each is the only one in enough sentences; none, if there are none."""
    chosen = set(words)
    bags = [bag & words for bag in bags]
    holding: dict[str, list[set[str]]] = defaultdict(list)
    for bag in bags:
        for word in bag:
            holding[word].append(bag)
    alone = Counter(word for bag in bags if len(bag) == 1 for word in bag)
    while chosen:
        least = max(LEAST, wanted / len(chosen))
        failing = sorted(
            (word for word in chosen if alone[word] < least), key=lambda word: (alone[word], word)
        )
        if not failing:
            break
        for word in failing[: max(1, len(failing) // 20)]:
            chosen.remove(word)
            for bag in holding[word]:
                bag.remove(word)
                if len(bag) == 1:
                    alone.update(bag)
    return chosen


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


def tree_depth(bank: Treebank, rng: Random) -> Drafts:
    """Depth of the constituency tree, as in the paper; without one, of the dependency tree.

    There are as many sentences of each class at every length: deep sentences are long, and a probe
    could read the depth off the length.
    """
    if bank.trees:
        what = "longest path from the top of the bracketed tree to a word"
        depths = {sentence.key: bank.trees[sentence.key].depth for sentence in bank.sentences}
    else:
        what = "most arcs from the root to a word of the dependency tree"
        rooted = (sentence for sentence in bank.sentences if sentence.root is not None)
        depths = {sentence.key: dependency_depth(sentence) for sentence in rooted}
    drafts = Drafts(what)
    treed = drafts.label(
        bank.sentences,
        lambda sentence: (str(depths[sentence.key]), "") if sentence.key in depths else NO_TREE,
    ).items
    drafts.items = []
    counts = Counter((depths[draft.sentence.key], len(draft.sentence.words)) for draft in treed)
    ends = _widest(counts, bank.wanted) or _widest(counts, 0)
    if ends is None:
        drafts.skipped["whose lengths cannot be matched between depths"] = len(treed)
        return drafts
    low, high = ends
    cells: dict[int, dict[str, list[Draft]]] = defaultdict(
        lambda: {str(depth): [] for depth in range(low, high + 1)}
    )
    for draft in treed:
        label = str(min(max(depths[draft.sentence.key], low), high))
        cells[len(draft.sentence.words)][label].append(replace(draft, label=label))
    for classes in cells.values():
        even = min(map(len, classes.values()))
        drafts.items += [draft for fit in classes.values() for draft in rng.sample(fit, even)]
    drafts.how += (
        f"; {low} is {low} or less, {high} is {high} or more; "
        "as many sentences of each class at every length"
    )
    drafts.skipped["to match the lengths of the classes"] = len(treed) - len(drafts.items)
    return drafts


def _widest(counts: Counter[tuple[int, int]], wanted: int) -> tuple[int, int] | None:
    """Find the lowest and highest depth of the largest number of classes that match in length.

    At least ``MATCHED`` of the sentences must be left, or as many as are wanted. Depths beyond the
    range join its ends. ``counts`` has the number of sentences of each depth and length.
    """
    best: tuple[int, int, int, int] | None = None
    for low, high in combinations(sorted({depth for depth, _ in counts}), 2):
        clamped: Counter[tuple[int, int]] = Counter()
        for (depth, length), count in counts.items():
            clamped[min(max(depth, low), high), length] += count
        per_class = sum(
            min(clamped[depth, length] for depth in range(low, high + 1))
            for length in range(SHORTEST, LONGEST + 1)
        )
        classes = high - low + 1
        if per_class >= max(LEAST, (wanted or MATCHED * counts.total()) / classes) and (
            best is None or (classes, per_class) > best[:2]
        ):
            best = (classes, per_class, low, high)
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


def top_constituents(bank: Treebank, rng: Random) -> Drafts:
    """TopConst: the labels right below S, as in the paper; else the relations around the root."""
    if bank.trees:
        what, reason = "the constituents right below S", "whose top is not S"
        trees = {sentence.key: bank.trees[sentence.key] for sentence in bank.sentences}
        sequences = {key: "_".join(tree.top) for key, tree in trees.items() if tree.label == "S"}
    else:
        what, reason = "the root's dependents in order, instead of constituents", NO_TREE
        rooted = (sentence for sentence in bank.sentences if sentence.root is not None)
        sequences = {sentence.key: dependents(sentence) for sentence in rooted}
    counts = Counter(sequences.values())
    least = max(LEAST, RARE * len(sequences))
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    frequent = {sequence for sequence, count in ordered[:FREQUENT] if count >= least}
    drafts = Drafts(f"{what}: the {len(frequent)} most frequent, and {OTHER}")

    def find(sentence: Sentence) -> tuple[str, str] | str:
        sequence = sequences.get(sentence.key)
        return reason if sequence is None else (sequence if sequence in frequent else OTHER, "")

    return drafts.label(bank.sentences, find)


# --- Tense, SubjNum and ObjNum ---
#
# Morphological features decide wherever a treebank has them. Tags decide only in a treebank with
# Penn tags and without features: in other tag sets, the same names mean other things (NN is any
# common noun in German).

APART = "no two splits share such a word"
TENSES = {"Past": "PAST", "Imp": "PAST", "Pqp": "PAST", "Pres": "PRES"}
"""Labels by ``Tense=``: the imperfect and the pluperfect are past; other tenses have no label."""
NUMBERS = {"Sing": "NN", "Plur": "NNS"}
"""Labels by ``Number=``, which are SentEval's: the Penn tags of a singular and a plural noun."""
FINITE = {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}
PLURALS = frozenset({"NNS"})
Find = Callable[[Sentence], tuple[str, str] | str]
"""Finds the label of a sentence and the word that it is about, or says why there is none."""


def has_feature(sentences: Sequence[Sentence], name: str, tags: Sequence[str]) -> bool:
    """Whether any word with one of these universal tags has a feature.

    >>> dogs = Sentence("1", "", (Word("Hunde", upos="NOUN", feats="Number=Plur"),))
    >>> has_feature([dogs], "Number", ["NOUN"]), has_feature([dogs], "Tense", ["VERB"])
    (True, False)
    """
    return any(
        feature(word, name)
        for sentence in sentences
        for word in sentence.words
        if word.upos in tags or word.upos not in UNIVERSAL
    )


def has_penn(sentences: Sequence[Sentence], tags: frozenset[str]) -> bool:
    """Whether any word has one of these Penn tags, which no other tag set has.

    >>> dogs = Sentence("1", "", (Word("dogs", xpos="NNS"), Word("bark", xpos="VBP")))
    >>> has_penn([dogs], PLURALS)
    True
    """
    return any(penn(word) in tags for sentence in sentences for word in sentence.words)


def tense(sentence: Sentence) -> tuple[str, str] | str:
    """PAST or PRES, by the features of the clause's finite word; and that word.

    The finite word is the first finite auxiliary or copula of the root, else the root itself.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Hunde", head=1, relation="nsubj", upos="NOUN")
    >>> bark = Word("bellen", head=ROOT, upos="VERB", feats="Mood=Ind|Tense=Pres|VerbForm=Fin")
    >>> tense(Sentence("1", "", (dogs, bark)))
    ('PRES', 'bellen')
    """
    if sentence.root is None:
        return NO_TREE
    for word in _verbs(sentence, sentence.root):
        if feature(word, "VerbForm") in ("Fin", "") and word.feats:
            if feature(word, "Mood") not in ("Ind", ""):
                return "whose main verb is not in the indicative"
            label = TENSES.get(feature(word, "Tense"))
            if label:
                return label, word.text.lower()
            if feature(word, "VerbForm") == "Fin":
                break
    return "whose main verb is neither past nor present"


def _verbs(sentence: Sentence, root: int) -> list[Word]:
    """The auxiliaries of the root in order, then the root."""
    return [*(sentence.words[at] for at in sentence.under(root, AUXILIARY)), sentence.words[root]]


def tagged_tense(sentence: Sentence) -> tuple[str, str] | str:
    """PAST or PRES, by the Penn tag of the main verb or its first auxiliary; and that word.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> tagged_tense(Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP"))))
    ('PRES', 'bark')
    """
    if sentence.root is None:
        return NO_TREE
    *auxiliaries, root = _verbs(sentence, sentence.root)
    for word in [root, *auxiliaries]:
        if penn(word) == "MD":
            break
        if penn(word) in FINITE:
            return FINITE[penn(word)], word.text.lower()
    return "whose main verb is tagged neither past nor present"


def past_present(bank: Treebank, rng: Random) -> Drafts:
    """Tense of the main verb."""
    if has_feature(bank.sentences, "Tense", ["VERB", "AUX"]):
        how = "Tense= of the main clause's finite verb or auxiliary: Past, Imp and Pqp are PAST"
        return Drafts(f"{how}, Pres is PRES; {APART}").label(bank.sentences, tense)
    how = f"tag of the main verb or its first auxiliary: VBD is PAST, VBP and VBZ are PRES; {APART}"
    if has_penn(bank.sentences, frozenset(FINITE)):
        return Drafts(how).label(bank.sentences, tagged_tense)
    return _lacking(how, bank.sentences, "Tense", "verbs")


def number(relations: frozenset[str], what: str, *, tagged: bool = False) -> Find:
    """NN or NNS: the number of the one dependent of the root in these relations.

    Only common nouns count; features decide, or Penn tags. A coordination (a dog and a cat) has no
    number of its own.

    >>> from headscope.corpus import ROOT
    >>> dogs = Word("Hunde", head=1, relation="nsubj", upos="NOUN", feats="Number=Plur")
    >>> number(SUBJECT, "subject")(Sentence("1", "", (dogs, Word("bellen", head=ROOT))))
    ('NNS', 'hunde')
    >>> dogs = Word("Dogs", head=1, relation="nsubj", xpos="NNS")
    >>> sentence = Sentence("1", "", (dogs, Word("bark", head=ROOT, xpos="VBP")))
    >>> number(SUBJECT, "subject", tagged=True)(sentence)
    ('NNS', 'dogs')
    """
    reason = f"whose main clause has no {what} that is a singular or plural noun"
    if tagged:
        reason = f"whose main clause has no {what} tagged NN or NNS"

    def label(word: Word) -> str:
        is_noun = penn(word) in {"NN", "NNS"}
        if tagged:
            return penn(word) if is_noun else ""
        common = word.upos == "NOUN" or (word.upos not in UNIVERSAL and is_noun)
        return NUMBERS.get(feature(word, "Number"), "") if common else ""

    def find(sentence: Sentence) -> tuple[str, str] | str:
        if sentence.root is None:
            return NO_TREE
        places = sentence.under(sentence.root, relations)
        if len(places) != 1 or not label(sentence.words[places[0]]):
            return reason
        if sentence.under(places[0], {"conj"}):
            return f"whose {what} is coordinated"
        return label(sentence.words[places[0]]), sentence.words[places[0]].text.lower()

    return find


def _number_task(sentences: Sequence[Sentence], relations: frozenset[str], what: str) -> Drafts:
    if has_feature(sentences, "Number", ["NOUN"]):
        how = f"Number= of the main clause's {what}: Sing is NN, Plur is NNS; {APART}"
        return Drafts(how).label(sentences, number(relations, what))
    how = f"tag of the main clause's {what}: NN or NNS; {APART}"
    if has_penn(sentences, PLURALS):
        return Drafts(how).label(sentences, number(relations, what, tagged=True))
    return _lacking(how, sentences, "Number", "nouns")


def _lacking(how: str, sentences: Sequence[Sentence], name: str, what: str) -> Drafts:
    """The drafts of a task that the annotation cannot give; a missing tree is the first reason."""
    if all(sentence.root is None for sentence in sentences):
        return Drafts(how, lacking=f"all sentences are {NO_TREE}")
    return Drafts(how, lacking=f"its {what} have neither the feature {name}= nor Penn tags")


def subj_number(bank: Treebank, rng: Random) -> Drafts:
    """SubjNum: number of the main clause's subject."""
    return _number_task(bank.sentences, SUBJECT, "subject")


def obj_number(bank: Treebank, rng: Random) -> Drafts:
    """ObjNum: number of the main clause's object."""
    return _number_task(bank.sentences, OBJECT, "direct object")


# --- BigramShift, OddManOut and CoordInv ---
#
# A sentence is used once, either changed or as it is. A change that would spell another sentence
# of the treebank is not made.

INTACT, INVERTED, CHANGED = "O", "I", "C"
"""SentEval's labels."""
SIMILAR = 1.0
"""How far apart the frequencies of bigrams may be, in doublings."""
PAIRED = frozenset("\"'`“”‘’«»()[]{}") | {"``", "''"}
OPEN = frozenset({"NOUN", "VERB", "NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
"""Tags of nouns and verbs."""
_NAME = re.compile(r"I\b|.+[A-Z]")
"""First words that keep their capitals: I, I'm, NASA."""
Change = Callable[[Sentence], list[str]]
"""Returns the words of the changed sentence; none if it cannot be changed."""


def _half(
    drafts: Drafts,
    sentences: Sequence[Sentence],
    rng: Random,
    label: str,
    reason: str,
    change: Change,
) -> Drafts:
    """Change every second sentence that can be changed, in random order."""
    said = {sentence.key for sentence in sentences}
    fit: list[tuple[Sentence, str]] = []
    for sentence in rng.sample(list(sentences), len(sentences)):
        text = spell(change(sentence))
        if not text:
            drafts.skipped[reason] += 1
        elif text.casefold() in said:
            drafts.skipped["that would spell another sentence"] += 1
        else:
            said.add(text.casefold())
            fit.append((sentence, text))
    drafts.items = [
        Draft(sentence, label, text) if index % 2 else Draft(sentence, INTACT, sentence.text)
        for index, (sentence, text) in enumerate(fit)
    ]
    return drafts


def bigram_shift(bank: Treebank, rng: Random) -> Drafts:
    """BigramShift: swap two adjacent words."""

    def change(sentence: Sentence) -> list[str]:
        words = [word.text for word in sentence.words]
        signs = [is_punctuation(word) for word in sentence.words]
        first = signs.index(False) if False in signs else len(words)
        places = [
            at
            for at in range(first + 1, len(words) - 1)
            if not signs[at]
            and not signs[at + 1]
            and words[at].casefold() != words[at + 1].casefold()
        ]
        if not places:
            return []
        at = rng.choice(places)
        words[at], words[at + 1] = words[at + 1], words[at]
        return words

    how = (
        "I: two adjacent words are swapped (never punctuation, nor the first word, whose capital "
        "would give it away); O: unchanged"
    )
    reason = "without two words that could be swapped"
    return _half(Drafts(how), bank.sentences, rng, INVERTED, reason, change)


def open_class(word: Word, *, tags: bool = True) -> str:
    """The tag of a noun or verb that may be replaced; empty for names, auxiliaries and other words.

    It is the Penn tag if the treebank has them, else the universal one with the features, so that
    a plural noun in the dative is replaced by another one.

    >>> open_class(Word("dogs", upos="NOUN", xpos="NNS")), open_class(Word("of", upos="ADP"))
    ('NNS', '')
    >>> hund = Word("Hund", upos="NOUN", xpos="NN", lemma="Hund", feats="Number=Sing")
    >>> open_class(hund, tags=False)
    'NOUN|Number=Sing'
    """
    if (
        not word.text.isalpha()
        or (word.text != word.text.lower() and not (not tags and word.lemma[:1].isupper()))
        or relation(word) in AUXILIARY
        or word.upos in UNIVERSAL - {"NOUN", "VERB"}
    ):
        return ""
    if not tags and word.upos in OPEN:
        return f"{word.upos}|{word.feats}"
    tag = penn(word) or word.upos
    return tag if tag in OPEN else ""


def odd_man_out(bank: Treebank, rng: Random) -> Drafts:
    """OddManOut: replace a noun or verb by another with the same tag.

    The bigrams of the new word with its neighbours are about as frequent as those of the old one.
    """
    by_tags = has_penn(bank.sentences, PLURALS)
    bigrams: Counter[tuple[str, str]] = Counter()
    tags: dict[str, set[str]] = defaultdict(set)
    lemmas: dict[str, set[str]] = defaultdict(set)
    written: dict[str, str] = {}
    after: dict[tuple[str, str], set[str]] = defaultdict(set)
    before: dict[str, set[str]] = defaultdict(set)
    for sentence in bank.sentences:
        lower = [word.text.lower() for word in sentence.words]
        bigrams.update(pairwise(lower))
        for word in sentence.words:
            if tag := open_class(word, tags=by_tags):
                lower_case = word.text.lower()
                written[lower_case] = word.text
                tags[lower_case].add(tag)
                lemmas[lower_case].add(word.lemma.lower() or lower_case)
    for left, right in bigrams:
        before[right].add(left)
        for tag in tags.get(right, ()):
            after[left, tag].add(right)

    def tag_of(word: Word) -> str:
        return open_class(word, tags=by_tags)

    rates = {pair: log2(count + 1) for pair, count in bigrams.items()}

    @cache
    def others(left: str, old: str, right: str, tag: str) -> list[str]:
        seen = (new for new in after[left, tag] & before[right] if not lemmas[new] & lemmas[old])
        first, second = rates[left, old], rates[old, right]
        return sorted(
            new
            for new in seen
            if abs(rates[left, new] - first) <= SIMILAR
            and abs(rates[new, right] - second) <= SIMILAR
        )

    def change(sentence: Sentence) -> list[str]:
        words = [word.text for word in sentence.words]
        lower = [word.lower() for word in words]
        places = [at for at in range(1, len(words) - 1) if tag_of(sentence.words[at])]
        for at in rng.sample(places, len(places)):
            if fitting := others(*lower[at - 1 : at + 2], tag_of(sentence.words[at])):
                return [*words[:at], written[rng.choice(fitting)], *words[at + 1 :]]
        return []

    how = (
        "C: a noun or verb is replaced by one with the same tag, whose bigrams with both "
        "neighbours occur in the treebank, as frequent within a factor of two; O: unchanged"
    )
    reason = "without a noun or verb that has a fitting replacement"
    return _half(Drafts(how), bank.sentences, rng, CHANGED, reason, change)


def clauses(sentence: Sentence) -> tuple[int, int, int] | None:
    """Find two coordinated main clauses.

    Returns
    -------
    tuple of int or None
        The place of the conjunction, the end of the first clause before it, and the end of the
        second clause; None if the sentence is not two such clauses.
    """
    root = sentence.root
    if root is None or any(word.text in PAIRED for word in sentence.words):
        return None
    conjuncts = sentence.under(root, {"conj"})
    if len(conjuncts) != 1 or any(
        not sentence.under(place, CLAUSE_SUBJECT) for place in (root, conjuncts[0])
    ):
        return None
    second = sentence.subtree(conjuncts[0])
    joints = [
        place
        for place, word in enumerate(sentence.words)
        if relation(word) == "cc" and word.head in {root, conjuncts[0]}
    ]
    if len(joints) != 1 or not root < joints[0] < conjuncts[0]:
        return None
    joint = joints[0]
    signs = [is_punctuation(word) for word in sentence.words]
    begin, end = joint, len(sentence.words)
    while begin and signs[begin - 1]:
        begin -= 1
    while signs[end - 1]:
        end -= 1
    inside = {place for place in range(joint + 1, end) if not signs[place]}
    words = {place for place in second if not signs[place]} - {joint}
    return (joint, begin, end) if begin and inside == words else None


def invert(sentence: Sentence) -> list[str]:
    """Swap two coordinated clauses; capitals stay at the front.

    Punctuation before the conjunction, the conjunction itself and the end of the sentence stay
    where they are.
    """
    places = clauses(sentence)
    if places is None:
        return []
    joint, begin, end = places
    words = list(sentence.words)
    first = [word.text for word in words[:begin]]
    second = [word.text for word in words[joint + 1 : end]]
    if (
        not _NAME.match(first[0])
        and not words[0].lemma[:1].isupper()  # German nouns keep their capitals
        and words[0].upos != "PROPN"
        and penn(words[0]) not in {"NNP", "NNPS"}
    ):
        first[0] = first[0].lower()
    if words[0].text[:1].isupper():
        second[0] = second[0][:1].upper() + second[0][1:]
    return [
        *second,
        *(word.text for word in words[begin : joint + 1]),
        *first,
        *(word.text for word in words[end:]),
    ]


def coordination_inversion(bank: Treebank, rng: Random) -> Drafts:
    """CoordInv: swap the two coordinated main clauses."""
    how = "I: the two coordinated main clauses (each with a subject) are swapped; O: unchanged"
    reason = "that are not just two coordinated clauses"
    return _half(Drafts(how), bank.sentences, rng, INVERTED, reason, invert)
