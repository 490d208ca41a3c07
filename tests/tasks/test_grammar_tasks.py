"""The tasks of the built-in grammar: every label again by a plain loop over trees."""

from itertools import islice

import pytest

from headscope.corpus.grammar import grammar_trees
from headscope.errors import UserError
from headscope.tasks import find_task
from headscope.tasks.glue import made_examples, training_data
from headscope.tasks.make import GRAMMAR_SENTENCES
from headscope.tasks.probing import find_tasks
from headscope.tasks.task import MADE, TITLES
from refusals import refusal

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pairs():
    return list(islice(grammar_trees(), GRAMMAR_SENTENCES))


@pytest.fixture(scope="module")
def source(pairs):
    return {example.texts[0]: (example, tree) for example, tree in pairs}


@pytest.fixture(scope="module")
def tasks(pairs):
    with pytest.MonkeyPatch.context() as patch:  # the sentences are written once
        patch.setattr("headscope.tasks.make.grammar_trees", lambda: iter(pairs))
        return {task.title: task for task in find_tasks(["grammar"])}


def examples(task):
    return [example for split in task.splits.values() for example in split]


def test_all_ten_are_made_and_large_enough(tasks):
    assert list(tasks) == list(TITLES.values())
    for task in tasks.values():
        assert len(task.splits["train"]) >= 2000
        assert len(task.splits["test"]) >= 500
        assert "written by the built-in grammar" in task.notes[0]


def test_classes_are_balanced_in_every_split(tasks):
    for task in tasks.values():
        for split in task.splits:
            if task.title in ("Tense", "SubjNum", "ObjNum", "WordContent"):
                continue
            assert len(set(task.counts(split).values())) == 1, (task.title, split)
        assert len(set(task.counts("test").values())) == 1


def test_no_text_is_in_two_splits(tasks):
    for task in tasks.values():
        texts = [
            {example.texts[0].casefold() for example in split} for split in task.splits.values()
        ]
        assert sum(map(len, texts)) == len(set().union(*texts)), task.title


def depth(tree) -> int:
    return 1 if tree.word else 1 + max(depth(part) for part in tree.parts)


def test_sentences_are_labelled_by_their_constituents(tasks, source):
    low, *_, high = sorted(map(int, tasks["Depth"].labels))
    for example in examples(tasks["Depth"]):
        _, tree = source[example.texts[0]]
        assert int(example.label) == min(max(depth(tree), low), high)
    for example in examples(tasks["TopConst"]):
        _, tree = source[example.texts[0]]
        assert example.label == "_".join(part.label for part in tree.parts)


def test_inverted_coordinations_are_the_two_clauses_the_other_way_round(tasks, source):
    by_id = {example.id: (example, tree) for example, tree in source.values()}
    for example in examples(tasks["CoordInv"]):
        whole, tree = by_id[example.id]
        parts = [[leaf.word for leaf in part.leaves()] for part in tree.parts]
        assert sum(part.label == "S" for part in tree.parts) == 2
        if example.label == "I":
            clauses = [at for at, part in enumerate(tree.parts) if part.label == "S"]
            first, second = clauses
            parts[first], parts[second] = parts[second], parts[first]
        text = " ".join(word for part in parts for word in part)
        assert text.casefold() == example.texts[0].casefold(), whole.texts


@pytest.mark.parametrize("name", MADE)
def test_the_two_downstream_tasks_need_no_file(name):
    data = training_data(name)
    assert data.task is find_task(name)
    assert (data.train.size(), data.dev.size()) == (2000, 500)
    train, dev = ({example.texts for example in corpus} for corpus in (data.train, data.dev))
    assert not train & dev
    for corpus in (data.train, data.dev):
        labels = [example.label for example in corpus]
        expected = dict.fromkeys(data.task.labels, len(labels))
        assert {label: 2 * labels.count(label) for label in labels} == expected
    [probing] = find_tasks([name])
    assert probing.splits["test"] == tuple(data.dev)
    assert {len(example.texts) for example in data.dev} == {1 if name == "opinion" else 2}


def test_the_grammar_has_no_examples_of_glue():
    error = refusal(UserError, made_examples, find_task("rte"), "train")
    assert error.message == "the built-in grammar has no examples of RTE"
    assert "opinion, paraphrase" in error.hint
