"""Labels of probing tasks, checked by hand and against the conllu library."""

from collections import Counter
from itertools import pairwise
from math import log2
from random import Random

import pytest

from headscope.corpus import ROOT, Word, read
from headscope.tasks.make import make_tasks, report_tasks
from headscope.tasks.sentences import OBJECT, SUBJECT, Sentence, Treebank, sentences_of, usable
from headscope.tasks.task import SPLITS
from headscope.tasks.ten import (
    bigram_shift,
    dependency_depth,
    dependents,
    invert,
    number,
    odd_man_out,
    tagged_tense,
)
from tasks.handmade import CLAUSES, examples, originals, sentence

# --- labels ---

# Labels, by hand: Universal, Stanford and CLEAR names, universal and Penn tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dogs/NNS/2/nsubj barked/VERB+VBD/0/root", ("PAST", "barked")),
        ("Dogs/NNS/2/nsubj Bark/VBP/0/root", ("PRES", "bark")),
        ("It/PRP/3/nsubj is/AUX+VBZ/3/cop red/ADJ+JJ/0/root", ("PRES", "is")),
        ("It/PRP/3/nsubjpass was/VBD/3/auxpass seen/VBN/0/root", ("PAST", "was")),
        (
            "It/PRON+PRP/4/nsubj:pass had/AUX+VBD/4/aux been/AUX+VBN/4/aux:pass "
            "seen/VERB+VBN/0/root",
            ("PAST", "had"),
        ),
        ("Did/VBD/3/aux it/PRP/3/nsubj go/VB/0/root", ("PAST", "did")),
    ],
)
def test_tense_is_that_of_the_main_verb_or_its_first_auxiliary(text, expected):
    assert tagged_tense(sentence(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It/PRP/4/nsubj would/MD/4/aux have/VBP/4/aux gone/VBN/0/root",
        "Go/VB/0/root",
        "Rain/NN/0/root fell/VBD/1/acl",
        "Er/PRON+PPER/2/nsubj kam/VERB+VVFIN/0/root",
    ],
)
def test_a_modal_an_imperative_or_another_tag_set_has_no_tense(text):
    assert tagged_tense(sentence(text)) == "whose main verb is tagged neither past nor present"


def test_without_one_root_there_is_no_label():
    for text in ("Yes/UH/0/root no/UH/0/root", "a/NN/2/dep b/NN/1/dep"):
        assert (
            tagged_tense(sentence(text))
            == number(SUBJECT, "subject", tagged=True)(sentence(text))
            == "without a tree that has one root"
        )


NO_SUBJECT = "whose main clause has no subject tagged NN or NNS"
NO_THING = "whose main clause has no direct object tagged NN or NNS"


@pytest.mark.parametrize(
    ("text", "subject", "thing"),
    [
        (
            "Dogs/NOUN+NNS/2/nsubj chase/VERB+VBP/0/root cars/NOUN+NNS/2/obj",
            *(("NNS", "dogs"), ("NNS", "cars")),
        ),
        ("Dog/NN/2/nsubj saw/VBD/0/root Cars/NNS/2/dobj", ("NN", "dog"), ("NNS", "cars")),
        ("Dog/NN/3/nsubjpass was/VBD/3/auxpass seen/VBN/0/root", ("NN", "dog"), NO_THING),
        ("Dog/NN/2/nsubj:pass seen/VBN/0/root car/NN/2/iobj", ("NN", "dog"), NO_THING),
        ("He/PRP/2/nsubj saw/VBD/0/root Ann/NNP/2/obj", NO_SUBJECT, NO_THING),
        (
            "Dog/NN/4/nsubj and/CC/1/cc cat/NN/1/conj ate/VBD/0/root fish/NN/4/obj",
            "whose subject is coordinated",
            ("NN", "fish"),
        ),
    ],
)
def test_number_is_that_of_the_noun_that_depends_on_the_root(text, subject, thing):
    assert number(SUBJECT, "subject", tagged=True)(sentence(text)) == subject
    assert number(OBJECT, "direct object", tagged=True)(sentence(text)) == thing


def test_depth_is_counted_in_arcs_punctuation_aside_and_the_sequence_goes_around_the_root():
    found = sentence(
        "The/DT/2/det dog/NN/3/nsubj:outer barked/VBD/0/root at/IN/6/case the/DT/6/det "
        "moon/NN/3/obl ,/,/4/punct ./PUNCT/3/punct"
    )
    assert dependency_depth(found) == 2
    assert dependents(found) == "nsubj_ROOT_obl_punct"


# Labels, against the conllu library


def height(node):
    """Arcs below a node of conllu's own tree, punctuation aside."""
    return max(
        (1 + height(child) for child in node.children if child.token["upos"] != "PUNCT"), default=0
    )


def test_lengths_and_depths_are_those_of_the_conllu_library(made, parsed):
    for example in examples(made["Length"]):
        low = 5 + 4 * int(example.label)
        assert low <= len(parsed[example.texts[0]]) <= low + 3
    assert made["Length"].labels == tuple("012345")
    low, *_, high = map(int, made["Depth"].labels)
    assert len(made["Depth"].labels) == high - low + 1
    for example in examples(made["Depth"]):
        assert int(example.label) == min(max(height(parsed[example.texts[0]].to_tree()), low), high)


def test_at_every_length_there_are_as_many_sentences_of_each_depth(made):
    counts = {label: Counter() for label in made["Depth"].labels}
    for example in examples(made["Depth"]):
        counts[example.label][len(example.texts[0].split())] += 1
    assert len({frozenset(found.items()) for found in counts.values()}) == 1


def around_root(parsed, example, relations):
    nodes = parsed[example.texts[0]].to_tree().children
    return [node for node in nodes if node.token["deprel"] in relations]


def test_tense_and_number_are_those_of_the_morphological_features(made, parsed):
    for example in examples(made["Tense"]):
        tree = parsed[example.texts[0]].to_tree()
        finite = [
            node.token
            for node in [tree, *tree.children]
            if node is tree or node.token["deprel"] in {"aux", "auxpass"}
        ]
        tenses = [
            token["feats"]["Tense"]
            for token in finite
            if (token["feats"] or {}).get("VerbForm") == "Fin" and "Tense" in token["feats"]
        ]
        assert tenses[:1] == [{"PAST": "Past", "PRES": "Pres"}[example.label]], example.texts
    for title, relations in (("SubjNum", {"nsubj", "nsubjpass"}), ("ObjNum", {"dobj"})):
        for example in examples(made[title]):
            (node,) = around_root(parsed, example, relations)
            assert node.token["feats"]["Number"] == {"NN": "Sing", "NNS": "Plur"}[example.label], (
                example.texts
            )


def test_the_word_that_a_label_is_about_is_in_one_split_only(made, parsed):
    for title, relations in (("SubjNum", {"nsubj", "nsubjpass"}), ("ObjNum", {"dobj"})):
        forms = [
            {
                node.token["form"].lower()
                for example in made[title].splits[split]
                for node in around_root(parsed, example, relations)
            }
            for split in SPLITS
        ]
        assert all(forms)
        assert sum(map(len, forms)) == len(set().union(*forms))
    verbs = [
        {
            tagged_tense(Sentence("1", "", tree_words(parsed[example.texts[0]])))[1]
            for example in made["Tense"].splits[split]
        }
        for split in SPLITS
    ]
    assert sum(map(len, verbs)) == len(set().union(*verbs))


def tree_words(tree):
    heads = [token["head"] - 1 if token["head"] else ROOT for token in tree]
    tags = [[token[name] for name in ("deprel", "upos", "xpos")] for token in tree]
    rows = zip(tree, heads, tags, strict=True)
    return tuple(Word(token["form"], 0, 0, head, *rest) for token, head, rest in rows)


def test_a_sentence_of_word_content_has_its_word_and_none_of_the_others(made):
    labels = set(made["WordContent"].labels)
    for example in examples(made["WordContent"]):
        assert {word.lower() for word in example.texts[0].split()} & labels == {example.label}


def test_top_constituents_are_the_relations_around_the_root_and_other_is_none_of_them(made, parsed):
    frequent = set(made["TopConst"].labels) - {"OTHER"}
    for example in examples(made["TopConst"]):
        tree = parsed[example.texts[0]].to_tree()
        order = sorted([tree, *tree.children], key=lambda node: node.token["id"])
        sequence = "_".join("ROOT" if node is tree else node.token["deprel"] for node in order)
        assert example.label == sequence if example.label != "OTHER" else sequence not in frequent


# Bracketed trees


TREES = [
    "(S (NP (DT the) (NN {})) (VP (VBD {}) (ADVP (RB so) (RB far))) (. .))",
    "(S (NP (NN {})) (, ,) (VP (VBD {}) (NP (NP (DT a) (NN b)) (PP (IN c) (NP (NN d))))))",
    "(FRAG (NP (NN {}) (NN {}) (NN x) (NN y) (NN z)))",
]


def test_depth_and_top_constituents_come_from_bracketed_trees(tmp_path):
    path = tmp_path / "trees.mrg"
    fill = [
        "(S (NP (DT the) (NN n{0})) (VP (VP (VBD v{0}) (NP (NN x) (NN y) (NN z)))) (. .))",
        *TREES,
    ]
    path.write_text(
        "\n".join(
            f"( {tree.format(*(f'{letter}{number}' for letter in 'nv'))} )"
            for number in range(40)
            for tree in fill
        )
    )
    reports = {report.title: report for report in report_tasks(read(path), brackets=path)}
    top = reports["TopConst"].task
    assert top.labels == ("NP_,_VP", "NP_VP_.")
    assert reports["TopConst"].skipped["whose top is not S"] == 40
    for example in examples(top):
        assert example.label == ("NP_,_VP" if "," in example.texts[0] else "NP_VP_.")
    missing = {report.title for report in reports.values() if report.task is None}
    assert missing >= {"Tense", "SubjNum", "ObjNum", "CoordInv"}
    assert "without a tree that has one root" in reports["Tense"].reason
    assert reports["BigramShift"].task is not None


def test_depth_of_bracketed_trees_is_matched_by_length(tmp_path):
    path = tmp_path / "trees.mrg"
    shallow, deep = (
        "(S (NP (NN n{0})) (VP (VBD a) (RB b) (RB c)) (. .))",
        "(S (NP (NN n{0})) (VP (VBD a) (NP (NN b) (IN c))) (. .))",
    )
    path.write_text(
        "\n".join(
            tree.format(f"{number}{mark}")
            for number in range(40)
            for mark, tree in (("x", shallow), ("y", deep))
        )
    )
    (task,) = make_tasks(read(path), tasks=["Depth"], brackets=path)
    assert task.labels == ("3", "4")
    assert all(
        example.label == ("3" if "x a" in example.texts[0] else "4") for example in examples(task)
    )
    assert len(examples(task)) == 80


# --- changes ---


def test_unchanged_sentences_are_in_the_corpus_and_changed_ones_are_not(made, demo):
    said = {found.text for found in sentences_of(demo)}
    for title in ("BigramShift", "OddManOut", "CoordInv"):
        for example in examples(made[title]):
            assert (example.texts[0] in said) == (example.label == "O")


def changes(old, new):
    """Where the words differ."""
    pairs = zip(old, new, strict=True)
    return [place for place, (word, text) in enumerate(pairs) if word.text != text]


def test_a_shift_swaps_two_adjacent_words_never_punctuation_nor_the_first_word(made, demo):
    for example, old in originals(made["BigramShift"], demo):
        new = example.texts[0].split()
        changed = changes(old, new)
        if example.label == "I":
            at, after = changed
            assert (after, new[at], new[after]) == (at + 1, old[after].text, old[at].text)
            assert all(old[place].upos != "PUNCT" for place in changed)
            assert any(word.upos != "PUNCT" for word in old[:at])
        else:
            assert not changed


def test_the_odd_word_has_the_tag_and_similar_bigrams_to_the_one_it_replaces(made, demo):
    kept, _ = usable(sentences_of(demo))
    bigrams = Counter(
        pair for found in kept for pair in pairwise(word.text.lower() for word in found.words)
    )
    tags = {(word.text, word.xpos) for found in kept for word in found.words}
    lemmas = {(word.text, word.lemma) for found in kept for word in found.words}
    for example, old in originals(made["OddManOut"], demo):
        new = example.texts[0].split()
        changed = changes(old, new)
        assert len(changed) == (example.label == "C")
        for at in changed:
            assert old[at].upos in {"NOUN", "VERB"}
            assert (new[at], old[at].xpos) in tags
            assert (new[at], old[at].lemma) not in lemmas
            before = [word.text.lower() for word in old]
            after = [word.lower() for word in new]
            for place in (at - 1, at):
                one, other = (
                    bigrams[before[place], before[place + 1]],
                    bigrams[after[place], after[place + 1]],
                )
                assert min(one, other) >= 1
                assert abs(log2(one + 1) - log2(other + 1)) <= 1


@pytest.mark.parametrize("scheme", CLAUSES)
def test_clauses_are_swapped_and_capitals_stay_in_front(scheme):
    assert " ".join(invert(sentence(CLAUSES[scheme]))) == "We left early , and it rained ."


def test_names_and_the_pronoun_keep_their_capitals():
    for text, expected in (
        ("Ann/PROPN/2/nsubj", "Ann"),
        ("Ann/NNP/2/nsubj", "Ann"),
        ("I/PRP/2/nsubj", "I"),
        ("NASA/NN/2/nsubj", "NASA"),
        ("He/PRP/2/nsubj", "he"),
        ("it/PRP/2/nsubj", "it"),
    ):
        found = invert(sentence(CLAUSES["stanford"].replace("It/PRP/2/nsubj", text)))
        assert found[5] == expected
        assert found[0] == ("we" if expected == "it" and text.startswith("it") else "We")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("we/PRP/6/nsubj", "we/PRP/6/advmod"),  # no subject: verbs of one clause
        ("and/CC/2/cc", "and/CC/2/dep"),  # no conjunction
        ("early/RB/6/advmod", "early/RB/2/advmod"),  # the second clause is not by itself
        ("early/RB/6/advmod", '"/PUNCT/6/punct'),  # one of a pair of quotes would be torn off
        ("early/RB/6/advmod", "went/VBD/2/conj"),  # three clauses
        ("rained/VBD/0/root", "rained/VBD/6/dep"),  # no root
    ],
)
def test_what_is_not_two_clauses_is_not_inverted(old, new):
    assert invert(sentence(CLAUSES["stanford"].replace(old, new))) == []


def test_an_inverted_sentence_has_the_words_it_had(made, demo):
    for example, old in originals(made["CoordInv"], demo):
        expected = Counter(word.text.lower() for word in old)
        assert Counter(example.texts[0].lower().split()) == expected


def test_sentences_that_cannot_be_changed_are_counted():
    same = sentence("no/UH/0/root no/UH/1/dep no/UH/1/dep !/PUNCT/1/punct")
    expected = {"without two words that could be swapped": 1}
    assert bigram_shift(Treebank([same]), Random(0)).skipped == expected
    expected = {"without a noun or verb that has a fitting replacement": 1}
    assert odd_man_out(Treebank([same]), Random(0)).skipped == expected


def test_a_change_that_spells_another_sentence_is_not_made():
    pair = [
        sentence("Go/VB/0/root up/RB/1/advmod down/RB/1/advmod ./PUNCT/1/punct"),
        sentence("Go/VB/0/root down/RB/1/advmod up/RB/1/advmod ./PUNCT/1/punct"),
    ]
    found = bigram_shift(Treebank(pair), Random(0))
    assert (found.items, found.skipped) == ([], {"that would spell another sentence": 2})
