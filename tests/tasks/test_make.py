"""The ten probing tasks made from treebanks: sizes, splits and sentences."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.corpus import ROOT, Example, Word, from_examples, from_texts, read
from headscope.errors import CorpusError, UserError
from headscope.tasks.make import Sizes, divide, make_sizes, make_tasks, report_tasks, task_name
from headscope.tasks.sentences import Draft, Drafts, Sentence, sentences_of, usable
from headscope.tasks.task import SPLITS, TITLES
from tasks.handmade import CLAUSES, examples, words

# What is made


def test_the_built_in_corpus_gives_all_ten_tasks_in_the_order_of_the_paper(made):
    assert list(made) == list(TITLES.values())
    expected = ["surface"] * 2 + ["syntactic"] * 3 + ["semantic"] * 5
    assert [task.group for task in made.values()] == expected


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

    def clause(number, scheme):
        text = CLAUSES[scheme].replace("early", f"early{number}")
        return Example(str(number), ("",), words(text))

    treebank = [clause(number, "stanford") for number in range(30)]
    reason = "30 sentences are left with balanced classes; 40 are needed"
    (report,) = report_tasks(treebank, tasks=["CoordInv"])
    assert (report.task, report.reason) == (None, reason)
    assert report.row()["skipped"] == f"THE TASK: {reason}"
    with pytest.raises(CorpusError, match=f"CoordInv cannot be made from this treebank: {reason}"):
        make_tasks(treebank, tasks=["CoordInv"])
    more = treebank + [clause(number, "universal") for number in range(30, 50)]
    assert "Tense" not in [task.title for task in make_tasks(more)]
    assert [task.title for task in make_tasks(more, tasks=["CoordInv"])] == ["CoordInv"]


def test_a_size_too_small_for_the_classes_skips_the_task(demo):
    (report,) = report_tasks(demo, tasks=["Length"], size=50)
    message = "a size of 50 leaves fewer than 10 for each of 6 classes: give at least 60"
    assert report.reason == message


def test_without_words_or_sentences_there_is_nothing_to_make():
    with pytest.raises(CorpusError, match="has no sentences of 5 to 28 annotated words"):
        make_tasks(from_texts(["A dog barks at the moon ."]))
    message = "Length cannot be made from this treebank: 1 sentences fit"
    with pytest.raises(CorpusError, match=message):
        make_tasks([Example("1", ("a b c d e",), tuple(Word(text) for text in "abcde"))])


def test_a_task_has_two_names_and_an_unknown_one_is_an_error():
    assert [task_name(name) for name in ("tense", "Tense", "past_present")] == ["past_present"] * 3
    with pytest.raises(UserError, match="did you mean 'Tense'"):
        task_name("Tensed")


def test_skipped_and_used_sentences_add_up_to_all(demo):
    total = sum(1 for _ in sentences_of(demo))
    for report in report_tasks(demo):
        assert sum(report.skipped.values()) + len(examples(report.task)) == total, report.title


# Sentences


def test_passages_are_cut_into_sentences_with_heads_of_their_own():
    parts = [words("Dogs/NNS/2/nsubj bark/VBP/0/root"), words("Cats/NNS/2/nsubj sleep/VBP/0/root")]
    moved = [
        replace(word, segment=1, sentence=1, head=word.head + 2 * (word.head != ROOT))
        for word in parts[1]
    ]
    first, second = sentences_of(
        [Example("p", ("Dogs bark", "Cats sleep"), (*parts[0], *moved), source="file, line 1")]
    )
    expected = ("p-1", "file, line 1, sentence 1", "Dogs bark", 1)
    assert (first.id, first.source, first.text, first.root) == expected
    expected = ("p-2", "Cats sleep", 1, 1)
    assert (second.id, second.text, second.root, second.words[0].head) == expected


def test_sentences_of_5_to_28_words_are_used_once_whatever_their_capitals():
    texts = ["a b c d", "a b c d e", "A b c d E", " ".join("x" * 28), " ".join("x" * 29)]
    every = [Example(str(n), (one,), tuple(map(Word, one.split()))) for n, one in enumerate(texts)]
    kept, passed = usable(sentences_of(every))
    assert [found.id for found in kept] == ["1", "3"]
    assert passed == {"without 5 to 28 words": 2, "that repeat an earlier one": 1}


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
        Sentence(again.id, "", tuple(replace(word, text=word.text.upper()) for word in again.words))
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


def test_frequent_target_words_do_not_keep_a_small_task_from_being_made():
    """Of words that are all too frequent for a class of the test split, each gives a quarter."""
    drafts = Drafts("by hand")
    for number in range(1200):
        text = f"sentence {number}"
        sentence = Sentence(str(number), "", (Word(text),))
        drafts.items.append(Draft(sentence, "AB"[number % 2], text, f"word {number % 24}"))
    splits = divide(drafts, make_sizes((80, 40, 40)), Random(0))
    expected = {"train": 80, "dev": 40, "test": 40}
    assert {split: len(found) for split, found in splits.items()} == expected
    words = {split: {draft.target for draft in found} for split, found in splits.items()}
    assert len(words["test"]) == 8
    assert not words["test"] & (words["train"] | words["dev"])
