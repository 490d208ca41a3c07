"""The ten probing tasks made from treebanks, checked by hand and against the conllu library."""

import gzip
from collections import Counter
from itertools import pairwise
from math import log2
from random import Random

import conllu
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.corpus import ROOT, Example, Word, from_examples, from_texts, read
from headscope.corpus.builtin import builtin_files
from headscope.errors import CorpusError, UserError
from headscope.tasks.make.changes import bigram_shift, invert, odd_man_out
from headscope.tasks.make.labels import dependency_depth, dependents, number, tense
from headscope.tasks.make.sentences import OBJECT, SUBJECT, Sentence, sentences_of, usable
from headscope.tasks.make.splits import Sizes, make_sizes
from headscope.tasks.make.treebank import make_tasks, report_tasks, task_name
from headscope.tasks.probing import SPLITS, TITLES


def words(text):
    """Words from ``form/tag/head/relation``.

    Heads count from 1, 0 is the root; a tag ``UPOS+XPOS`` has both.
    """
    found = []
    for cell in text.split():
        form, tag, head, relation = cell.rsplit("/", 3)
        upos, _, xpos = tag.partition("+")
        found.append(
            Word(
                form,
                head=int(head) - 1 if int(head) else ROOT,
                relation=relation,
                upos=upos,
                xpos=xpos,
            )
        )
    return tuple(found)


def sentence(text):
    return Sentence("1", "", words(text))


CLAUSES = {
    "universal": (
        "It/PRON+PRP/2/nsubj rained/VERB+VBD/0/root ,/PUNCT+,/6/punct and/CCONJ+CC/6/cc "
        "we/PRON+PRP/6/nsubj left/VERB+VBD/2/conj early/ADV+RB/6/advmod ./PUNCT+./2/punct"
    ),
    "stanford": (
        "It/PRP/2/nsubj rained/VBD/0/root ,/,/2/punct and/CC/2/cc we/PRP/6/nsubj "
        "left/VBD/2/conj early/RB/6/advmod ././2/punct"
    ),
}


@pytest.fixture(scope="module")
def demo():
    return list(read("demo"))


@pytest.fixture(scope="module")
def made(demo):
    return {task.title: task for task in make_tasks(demo)}


@pytest.fixture(scope="module")
def parsed():
    """The sentences of the built-in corpus as the conllu library reads them, by their text."""
    files = [file for file in builtin_files() if file.suffix == ".conllu"]
    trees = [tree for file in files for tree in conllu.parse(file.read_text(encoding="utf-8"))]
    return {" ".join(token["form"] for token in tree): tree for tree in trees}


def examples(task):
    return [example for split in SPLITS for example in task.splits[split]]


def originals(task, demo):
    """Each example with the words of the sentence that it was made from."""
    by_id = {found.id: found for found in sentences_of(demo)}
    return [(example, by_id[example.id].words) for example in examples(task)]


# What is made


def test_the_built_in_corpus_gives_all_ten_tasks_in_the_order_of_the_paper(made):
    assert list(made) == list(TITLES.values())
    assert [task.group for task in made.values()] == ["surface"] * 2 + ["syntactic"] * 3 + [
        "semantic"
    ] * 5


@pytest.mark.parametrize("title", TITLES.values())
def test_every_split_has_as_many_of_each_class_and_the_examples_have_texts_only(made, title):
    task = made[title]
    for split in SPLITS:
        assert set(task.counts(split)) == set(task.labels)
        assert len(set(task.counts(split).values())) == 1
    assert all(
        not example.words and example.source and len(example.texts) == 1
        for example in examples(task)
    )
    train, dev, test = (len(task.splits[split]) for split in SPLITS)
    assert train + dev + test >= 40
    assert dev == test <= train / 6


def test_the_same_seed_makes_the_same_tasks_whichever_are_asked_for_and_another_seed_others(
    demo, made
):
    (again,) = make_tasks(demo, tasks=["bigramshift"])
    assert again == made["BigramShift"]
    (other,) = make_tasks(demo, tasks=["BigramShift"], seed=1)
    assert other.splits != again.splits
    assert again.name == "bigram_shift"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (100, (80, 10, 10)),
        (101, (80, 10, 10)),
        ((60, 20, 20), (60, 20, 20)),
        ((600, 200, 200), (540, 178, 178)),
    ],
)
def test_a_size_is_a_limit_that_keeps_the_shares(demo, size, expected):
    (task,) = make_tasks(demo, tasks=["BigramShift"], size=size)
    assert tuple(len(task.splits[split]) for split in SPLITS) == expected


@given(st.integers(10, 10**6), st.integers(2, 30), st.none() | st.integers(300, 10**6))
def test_quotas_never_exceed_what_there_is_and_leave_no_split_empty(available, classes, most):
    quotas = Sizes(most).quotas(available, classes)
    assert sum(quotas.values()) == (available if most is None else min(available, most // classes))
    assert min(quotas.values()) >= 1
    assert quotas["train"] >= 8 * quotas["dev"] == 8 * quotas["test"]


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((1, 2), "the size must be one number, or three"),
        (0, "the size must be one number, or three"),
        (39, "the size must be 40 or more in all, got 39"),
    ],
)
def test_an_impossible_size_is_refused(size, message):
    with pytest.raises(UserError, match=message):
        make_sizes(size)


# What is skipped


def test_a_treebank_too_small_for_a_task_skips_it_with_a_reason():
    treebank = [
        Example(str(number), ("",), words(CLAUSES["stanford"].replace("early", f"early{number}")))
        for number in range(30)
    ]
    reason = "30 sentences are left with balanced classes; 40 are needed"
    (report,) = report_tasks(treebank, tasks=["CoordInv"])
    assert (report.task, report.reason) == (None, reason)
    assert report.row()["skipped"] == f"THE TASK: {reason}"
    with pytest.raises(CorpusError, match=f"CoordInv cannot be made from this treebank: {reason}"):
        make_tasks(treebank, tasks=["CoordInv"])
    more = [
        *treebank,
        *(
            Example(
                str(number), ("",), words(CLAUSES["universal"].replace("early", f"early{number}"))
            )
            for number in range(30, 50)
        ),
    ]
    assert "Tense" not in [task.title for task in make_tasks(more)]
    assert [task.title for task in make_tasks(more, tasks=["CoordInv"])] == ["CoordInv"]


def test_a_size_too_small_for_the_classes_skips_the_task(demo):
    (report,) = report_tasks(demo, tasks=["Length"], size=50)
    assert (
        report.reason == "a size of 50 leaves fewer than 10 for each of 6 classes: give at least 60"
    )


def test_without_words_or_sentences_there_is_nothing_to_make():
    with pytest.raises(CorpusError, match="has no sentences of 5 to 28 annotated words"):
        make_tasks(from_texts(["A dog barks at the moon ."]))
    with pytest.raises(
        CorpusError, match="Length cannot be made from this treebank: 1 sentences fit"
    ):
        make_tasks([Example("1", ("a b c d e",), tuple(Word(text) for text in "abcde"))])


def test_a_task_has_two_names_and_an_unknown_one_is_an_error():
    assert [task_name(name) for name in ("tense", "Tense", "past_present")] == ["past_present"] * 3
    with pytest.raises(UserError, match="Did you mean 'Tense'"):
        task_name("Tensed")


def test_skipped_and_used_sentences_add_up_to_all(demo):
    total = sum(1 for _ in sentences_of(demo))
    for report in report_tasks(demo):
        assert sum(report.skipped.values()) + len(examples(report.task)) == total, report.title


# Sentences


def test_passages_are_cut_into_sentences_with_heads_of_their_own():
    parts = [words("Dogs/NNS/2/nsubj bark/VBP/0/root"), words("Cats/NNS/2/nsubj sleep/VBP/0/root")]
    moved = [
        Word(
            word.text,
            1,
            1,
            word.head if word.head == ROOT else word.head + 2,
            word.relation,
            word.upos,
        )
        for word in parts[1]
    ]
    first, second = sentences_of(
        [Example("p", ("Dogs bark", "Cats sleep"), (*parts[0], *moved), source="file, line 1")]
    )
    assert (first.id, first.source, first.text, first.root) == (
        "p-1",
        "file, line 1, sentence 1",
        "Dogs bark",
        1,
    )
    assert (second.id, second.text, second.root, second.words[0].head) == (
        "p-2",
        "Cats sleep",
        1,
        1,
    )


def test_sentences_of_5_to_28_words_are_used_once_whatever_their_capitals():
    texts = ["a b c d", "a b c d e", "A b c d E", " ".join("x" * 28), " ".join("x" * 29)]
    kept, passed = usable(
        sentences_of(
            Example(str(n), (text,), tuple(map(Word, text.split()))) for n, text in enumerate(texts)
        )
    )
    assert [found.id for found in kept] == ["1", "3"]
    assert passed == {"without 5 to 28 words": 2, "that repeat an earlier one": 1}


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
    assert tense(sentence(text)) == expected


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
    assert tense(sentence(text)) == "whose main verb is tagged neither past nor present"


def test_without_one_root_there_is_no_label():
    for text in ("Yes/UH/0/root no/UH/0/root", "a/NN/2/dep b/NN/1/dep"):
        assert (
            tense(sentence(text))
            == number(SUBJECT, "subject")(sentence(text))
            == "without a tree that has one root"
        )


@pytest.mark.parametrize(
    ("text", "subject", "thing"),
    [
        (
            "Dogs/NOUN+NNS/2/nsubj chase/VERB+VBP/0/root cars/NOUN+NNS/2/obj",
            ("NNS", "dogs"),
            ("NNS", "cars"),
        ),
        ("Dog/NN/2/nsubj saw/VBD/0/root Cars/NNS/2/dobj", ("NN", "dog"), ("NNS", "cars")),
        (
            "Dog/NN/3/nsubjpass was/VBD/3/auxpass seen/VBN/0/root",
            ("NN", "dog"),
            "whose main clause has no direct object tagged NN or NNS",
        ),
        (
            "Dog/NN/2/nsubj:pass seen/VBN/0/root car/NN/2/iobj",
            ("NN", "dog"),
            "whose main clause has no direct object tagged NN or NNS",
        ),
        (
            "He/PRP/2/nsubj saw/VBD/0/root Ann/NNP/2/obj",
            "whose main clause has no subject tagged NN or NNS",
            "whose main clause has no direct object tagged NN or NNS",
        ),
        (
            "Dog/NN/4/nsubj and/CC/1/cc cat/NN/1/conj ate/VBD/0/root fish/NN/4/obj",
            "whose subject is coordinated",
            ("NN", "fish"),
        ),
    ],
)
def test_number_is_that_of_the_noun_that_depends_on_the_root(text, subject, thing):
    assert number(SUBJECT, "subject")(sentence(text)) == subject
    assert number(OBJECT, "direct object")(sentence(text)) == thing


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
    counts = {
        label: Counter(
            len(example.texts[0].split())
            for example in examples(made["Depth"])
            if example.label == label
        )
        for label in made["Depth"].labels
    }
    assert len({frozenset(found.items()) for found in counts.values()}) == 1


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
            (node,) = [
                child
                for child in parsed[example.texts[0]].to_tree().children
                if child.token["deprel"] in relations
            ]
            assert node.token["feats"]["Number"] == {"NN": "Sing", "NNS": "Plur"}[example.label], (
                example.texts
            )


def test_the_word_that_a_label_is_about_is_in_one_split_only(made, parsed):
    for title, relations in (("SubjNum", {"nsubj", "nsubjpass"}), ("ObjNum", {"dobj"})):
        forms = [
            {
                child.token["form"].lower()
                for example in made[title].splits[split]
                for child in parsed[example.texts[0]].to_tree().children
                if child.token["deprel"] in relations
            }
            for split in SPLITS
        ]
        assert all(forms)
        assert sum(map(len, forms)) == len(set().union(*forms))
    verbs = [
        {
            tense(Sentence("1", "", tree_words(parsed[example.texts[0]])))[1]
            for example in made["Tense"].splits[split]
        }
        for split in SPLITS
    ]
    assert sum(map(len, verbs)) == len(set().union(*verbs))


def tree_words(tree):
    return tuple(
        Word(
            token["form"],
            head=token["head"] - 1 if token["head"] else ROOT,
            relation=token["deprel"],
            upos=token["upos"],
            xpos=token["xpos"],
        )
        for token in tree
    )


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


# Changes


def test_unchanged_sentences_are_in_the_corpus_and_changed_ones_are_not(made, demo):
    said = {found.text for found in sentences_of(demo)}
    for title in ("BigramShift", "OddManOut", "CoordInv"):
        for example in examples(made[title]):
            assert (example.texts[0] in said) == (example.label == "O")


def test_a_shift_swaps_two_adjacent_words_never_punctuation_nor_the_first_word(made, demo):
    for example, old in originals(made["BigramShift"], demo):
        new = example.texts[0].split()
        changed = [
            place
            for place, (word, text) in enumerate(zip(old, new, strict=True))
            if word.text != text
        ]
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
        changed = [
            place
            for place, (word, text) in enumerate(zip(old, new, strict=True))
            if word.text != text
        ]
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
        assert Counter(example.texts[0].lower().split()) == Counter(
            word.text.lower() for word in old
        )


def test_sentences_that_cannot_be_changed_are_counted():
    same = sentence("no/UH/0/root no/UH/1/dep no/UH/1/dep !/PUNCT/1/punct")
    assert bigram_shift([same], Random(0)).skipped == {"without two words that could be swapped": 1}
    assert odd_man_out([same], Random(0)).skipped == {
        "without a noun or verb that has a fitting replacement": 1
    }


def test_a_change_that_spells_another_sentence_is_not_made():
    pair = [
        sentence("Go/VB/0/root up/RB/1/advmod down/RB/1/advmod ./PUNCT/1/punct"),
        sentence("Go/VB/0/root down/RB/1/advmod up/RB/1/advmod ./PUNCT/1/punct"),
    ]
    found = bigram_shift(pair, Random(0))
    assert (found.items, found.skipped) == ([], {"that would spell another sentence": 2})


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
    assert {report.title for report in reports.values() if report.task is None} >= {
        "Tense",
        "SubjNum",
        "ObjNum",
        "CoordInv",
    }
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


# Nothing is in two splits


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 10**6), st.integers(60, 250), st.integers(0, 100))
def test_no_sentence_nor_its_changed_twin_is_in_two_splits(demo, seed, size, repeats):
    """Sentences of the corpus in random order, some of them several times or in capitals."""
    rng = Random(seed)
    every = [found for found in sentences_of(demo) if len(found.words) > 4]
    chosen = rng.sample(every, size)
    chosen += [
        Sentence(
            again.id,
            "",
            tuple(
                Word(
                    word.text.upper(),
                    head=word.head,
                    relation=word.relation,
                    upos=word.upos,
                    xpos=word.xpos,
                )
                for word in again.words
            ),
        )
        for again in rng.choices(chosen, k=repeats)
    ]
    texts = {f"{number}": found.text.casefold() for number, found in enumerate(chosen)}
    corpus = from_examples(
        [Example(str(number), (found.text,), found.words) for number, found in enumerate(chosen)]
    )
    for report in report_tasks(corpus, seed=seed):
        if report.task is not None:
            both = [
                {texts[example.id] for example in report.task.splits[split]}
                | {example.texts[0].casefold() for example in report.task.splits[split]}
                for split in SPLITS
            ]
            assert sum(map(len, both)) == len(set().union(*both)), report.title


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["en_ewt-ud-dev.conllu.gz", "wsj_sample_stanford_dependencies.conllx.gz"]
)
def test_universal_and_stanford_treebanks_give_all_ten_tasks(shared, name):
    tasks = make_tasks(read(shared / "data" / "treebank" / name), size=2000)
    assert [task.title for task in tasks] == list(TITLES.values())


@pytest.mark.shared
def test_tense_and_number_of_a_universal_treebank_are_those_of_its_features(shared):
    path = shared / "data" / "treebank" / "en_ewt-ud-dev.conllu.gz"
    trees = {
        tree.metadata["sent_id"]: [token for token in tree if isinstance(token["id"], int)]
        for tree in conllu.parse(gzip.decompress(path.read_bytes()).decode())
    }
    for task in make_tasks(read(path), tasks=["Tense", "SubjNum", "ObjNum"]):
        for example in examples(task):
            (root,) = [token for token in trees[example.id] if token["head"] == 0]
            below = [
                (token["deprel"].split(":")[0], token["feats"] or {})
                for token in trees[example.id]
                if token["head"] == root["id"]
            ]
            if task.title == "Tense":
                finite = [
                    feats
                    for feats in [
                        root["feats"] or {},
                        *(feats for kind, feats in below if kind in {"aux", "cop"}),
                    ]
                    if feats.get("VerbForm") == "Fin" and "Tense" in feats
                ]
                assert finite[0]["Tense"] == {"PAST": "Past", "PRES": "Pres"}[example.label], (
                    example.texts
                )
            else:
                (feats,) = [
                    feats
                    for kind, feats in below
                    if kind == {"SubjNum": "nsubj", "ObjNum": "obj"}[task.title]
                ]
                assert (
                    feats.get("Number", "none")
                    in {"NN": {"Sing", "none"}, "NNS": {"Plur", "Ptan"}}[example.label]
                ), example.texts
