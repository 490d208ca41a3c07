"""Tasks, their files and their labels; errors name file and line."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.corpus import Example, from_examples
from headscope.errors import CorpusError, UserError
from headscope.tasks import GLUE, custom_task, find_task, label_ids, task_examples
from headscope.tasks.glue import labelled
from headscope.tasks.task import ProbingTask, all_notes
from refusals import refusal
from written import rows_of, written

# --- tasks ---

RTE = "index\tsentence1\tsentence2\tlabel\n0\tA.\tB.\tentailment\n1\tC.\tD.\tnot_entailment\n"


@pytest.mark.parametrize("name", ["rte", "RTE", "Rte"])
def test_the_spelling_of_a_task_does_not_matter(name):
    assert find_task(name) is GLUE["rte"]


def test_the_seven_tasks_are_those_of_the_table_in_its_order():
    titles = [task.title for task in GLUE.values()]
    assert titles == ["MRPC", "STS-B", "SST-2", "QQP", "RTE", "QNLI", "MNLI-m"]
    assert [name for name, task in GLUE.items() if task.kind == "regression"] == ["sts-b"]
    assert [task.outputs for task in GLUE.values()] == [2, 1, 2, 2, 2, 2, 3]


def test_an_unknown_task_lists_the_known_ones():
    assert (
        refusal(UserError, find_task, "rtee").message
        == "the task must be one of mnli, mrpc, opinion, paraphrase, qnli, qqp, rte, sst-2, sts-b; "
        "got 'rtee' instead. Did you mean 'rte'?"
    )


@pytest.mark.parametrize("place", ["RTE/dev.tsv", "rte/dev.tsv.gz", "Rte/DEV.tsv"])
def test_the_files_of_a_task_are_found_in_any_case_gzip_or_not(tmp_path, place):
    written(tmp_path / "glue" / place, RTE)
    corpus = task_examples(GLUE["rte"], tmp_path / "glue", "dev")
    assert rows_of(corpus) == [(("A.", "B."), "entailment"), (("C.", "D."), "not_entailment")]


def test_the_folder_of_the_task_itself_or_a_file_can_be_given(tmp_path):
    file = written(tmp_path / "SST2" / "train.tsv", "sentence\tlabel\nfine \t1\n")
    for path in (tmp_path, file.parent, file):
        assert rows_of(task_examples(GLUE["sst-2"], path, "train")) == [(("fine",), "1")]


def test_mnli_is_scored_on_its_matched_half(tmp_path):
    header = "index\tsentence1\tsentence2\tlabel1\tgold_label\n"
    written(tmp_path / "MNLI" / "dev_matched.tsv", f"{header}0\tA.\tB.\tneutral\tcontradiction\n")
    written(tmp_path / "MNLI" / "dev_mismatched.tsv", f"{header}0\tA.\tB.\tneutral\tentailment\n")
    assert label_ids(GLUE["mnli"], task_examples(GLUE["mnli"], tmp_path, "dev")).tolist() == [2]


def test_a_subset_replaces_a_missing_training_file_with_a_note(tmp_path):
    part = written(
        tmp_path / "QNLI" / "train_subset99.tsv.gz",
        "index\tquestion\tsentence\tlabel\n0\tWho?\tMe.\tentailment\n",
    )
    found = task_examples(GLUE["qnli"], tmp_path, "train")
    expected = (str(part), (f"{part} holds only a part of the task's training examples",))
    assert (found.name, found.notes) == expected
    whole = written(
        tmp_path / "QNLI" / "train.tsv",
        "index\tquestion\tsentence\tlabel\n0\tWho?\tMe.\tentailment\n",
    )
    found = task_examples(GLUE["qnli"], tmp_path, "train")
    assert (found.name, found.notes) == (str(whole), ())


def test_a_missing_task_or_split_lists_what_is_there(tmp_path):
    written(tmp_path / "RTE" / "train.tsv", RTE)
    message = f"{tmp_path} has no folder for QQP; its folders are: RTE"
    assert refusal(CorpusError, task_examples, GLUE["qqp"], tmp_path, "train").message == message
    message = f"{tmp_path / 'RTE'} has no dev split: no dev.tsv or dev.tsv.gz"
    assert refusal(CorpusError, task_examples, GLUE["rte"], tmp_path, "dev").message == message
    with pytest.raises(UserError, match="the split must be one of dev, train; got 'test' instead"):
        task_examples(GLUE["rte"], tmp_path, "test")


def test_an_unknown_label_is_reported_with_its_line(tmp_path):
    file = written(tmp_path / "rte.tsv", RTE + "2\tE.\tF.\tentailmant\n")
    assert (
        refusal(CorpusError, task_examples, GLUE["rte"], file, "train").message
        == f"{file}, line 4: the label of RTE must be one of entailment, not_entailment; got "
        "'entailmant' instead. Did you mean 'entailment' or 'not_entailment'?"
    )


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ("sentence1\tsentence2\nA.\tB.\n", 2),
        ("sentence1\tsentence2\tlabel\nA.\tB.\tentailment\nA.\tB.\t \n", 3),
    ],
)
def test_a_missing_column_or_empty_label_is_reported_with_its_line(tmp_path, rows, line):
    file = written(tmp_path / "rte.tsv", rows)
    message = f"{file}, line {line}: no label, which a task needs"
    assert refusal(CorpusError, task_examples, GLUE["rte"], file, "train").message == message


@pytest.mark.parametrize("label", ["high", "nan", "inf"])
def test_a_score_must_be_a_number(tmp_path, label):
    file = written(tmp_path / "sts.tsv", f"sentence1\tsentence2\tscore\nA.\tB.\t{label}\n")
    message = f"{file}, line 2: the label of STS-B must be a number, got {label!r} instead"
    assert refusal(CorpusError, task_examples, GLUE["sts-b"], file, "train").message == message


def test_classes_are_numbered_by_the_task_and_scores_stay_numbers():
    examples = [
        Example("1", ("a", "b"), label="not_entailment"),
        Example("2", ("a", "b"), label=" entailment "),
    ]
    found = (label_ids(GLUE["rte"], examples).tolist(), label_ids(GLUE["rte"], examples).dtype)
    assert found == ([1, 0], np.int64)
    scores = label_ids(GLUE["sts-b"], [Example("1", ("a", "b"), label="3.25")])
    assert (scores.tolist(), scores.dtype) == ([3.25], np.float64)


def rows(*labels: str):
    return from_examples(
        [Example(str(number), ("x",), label=label) for number, label in enumerate(labels, 1)],
        name="folder/mine.tsv",
    )


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("pos", "neg", "pos", "neg"), ("neg", "pos")),
        (("10", "9", "10", "9"), ("9", "10")),
        (("b", "a", "c", "c", "a", "b"), ("a", "b", "c")),
    ],
)
def test_the_classes_of_a_custom_table_are_its_labels_in_order(labels, classes):
    task = custom_task(rows(*labels))
    expected = ("custom", "mine.tsv", "classification", classes, ("accuracy",))
    assert (task.name, task.title, task.kind, task.labels, task.metrics) == expected


def test_labels_that_are_fractions_make_a_regression():
    task = custom_task(rows("1.5", "2", "0.25"))
    assert (task.kind, task.labels, task.metrics) == ("regression", (), ("pearson", "spearman"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("yes", "yes"), "a task needs two classes or more; folder/mine.tsv has only 'yes'"),
        (
            ("sentiment", "pos", "neg", "pos", "neg"),
            "folder/mine.tsv, example 1: the label 'sentiment' occurs nowhere else: the line "
            "looks like a header",
        ),
        (
            ("a text", "a text", "another", "and one more"),
            "folder/mine.tsv: 3 different labels in 4 examples: they are not classes",
        ),
    ],
)
def test_labels_that_are_no_classes_are_refused(labels, message):
    with pytest.raises(UserError, match=message):
        custom_task(rows(*labels))


LINES = '{"text": "A.", "label": "pos"}\n{"text": "B.", "label": "neg"}\n'


@pytest.mark.parametrize(
    ("name", "text", "texts"),
    [
        ("a.tsv", "A.\tpos\nB.\tneg\n", [("A.",), ("B.",)]),
        ("a.tsv", "text\tlabel\nA.\tpos\nB.\tneg\n", [("A.",), ("B.",)]),
        ("a.tsv", "A.\tC.\tpos\nB.\tD.\tneg\n", [("A.", "C."), ("B.", "D.")]),
        ("a.jsonl", LINES, [("A.",), ("B.",)]),
    ],
)
def test_tables_of_two_and_three_columns_have_their_label_last(tmp_path, name, text, texts):
    corpus = labelled(written(tmp_path / name, text))
    assert rows_of(corpus) == list(zip(texts, ["pos", "neg"], strict=True))


# --- probing notes ---


def task(title: str, *notes: str) -> ProbingTask:
    return ProbingTask(title.lower(), title, ("0", "1"), {}, notes=notes)


def test_a_note_of_several_tasks_is_listed_once():
    found = all_notes([task("Length", "few"), task("Tense", "few", "no va lines"), task("Depth")])
    assert found == ["Length, Tense: few", "Tense: no va lines"]
    assert all_notes([task("Length", "few"), task("Tense", "few")]) == ["all tasks: few"]
    assert all_notes([task("Length", "few")]) == ["Length: few"]
    assert all_notes([task("Length")]) == []
