"""SentEval's files of probing tasks: read, refused, and written and read back."""

import csv
import gzip
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpus import Example
from headscope.errors import CorpusError
from headscope.tasks.senteval import read_senteval, read_tasks, write_senteval
from headscope.tasks.task import SPLITS, TITLES, ProbingTask
from refusals import refusal
from written import rows_of, written

GOOD = 'tr\t10\t" A " dog \'s\ntr\t9\tTwo cats .\nva\t9\tThree cats .\nte\t10\tA  cow .\n'
TWO = "a task needs two classes or more in the second column"
SPLIT = "the split must be one of tr, va, te"
UNKNOWN = "without training examples:"
GIVE = (
    "give each class at least one tr line (change the first column of some), or delete the va and "
    "te lines of the class"
)
SHAPE = "each line is a split (tr, va or te), a label and a sentence, separated by tabs"


def write(folder, text, name="task.txt"):
    return written(folder / name, text)


@pytest.mark.parametrize("name", ["task.txt", "task.txt.gz", "task.tsv", "task.TXT", "task.tsv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_sentences_are_kept_as_they_are_and_labels_that_are_numbers_are_sorted_as_numbers(
    tmp_path, name, end
):
    path = write(tmp_path, GOOD.replace("\n", end), name)
    task = read_senteval(path)
    expected = ("task", "task", "", ("9", "10"), ())
    assert (task.name, task.title, task.group, task.labels, task.notes) == expected
    assert [rows_of(task.splits[split]) for split in SPLITS] == [
        [(('" A " dog \'s',), "10"), (("Two cats .",), "9")],
        [(("Three cats .",), "9")],
        [(("A  cow .",), "10")],
    ]
    assert not any(example.words for split in SPLITS for example in task.splits[split])
    assert task.splits["test"][0].source == f"{path}, line {7 if end == 2 * chr(10) else 4}"


TEN = {
    "surface": "sentence_length Length word_content WordContent",
    "syntactic": "tree_depth Depth top_constituents TopConst bigram_shift BigramShift",
    "semantic": "past_present Tense subj_number SubjNum obj_number ObjNum odd_man_out OddManOut "
    "coordination_inversion CoordInv",
}


def test_the_ten_tasks_have_the_titles_and_groups_of_the_paper(tmp_path):
    for group, names in TEN.items():
        stems, titles = names.split()[::2], names.split()[1::2]
        for stem, title in zip(stems, titles, strict=True):
            task = read_senteval(write(tmp_path, GOOD, f"{stem}.txt"))
            assert (task.name, task.title, task.group) == (stem, title, group)


@pytest.mark.parametrize(
    ("text", "where", "message", "hint"),
    [
        ("tr\ta\tx\nte\ta\ty\n", ", line 1", "the whole file has only one class, 'a'", TWO),
        ("tr\ta\tx\ntr\tb\n", ", line 2", "2 columns, expected 3", SHAPE),
        ("tr\ta\tx\tz\n", ", line 1", "4 columns, expected 3", SHAPE),
        ("tr\ta\tx\ntrain\tb\tx\n", ", line 2", f"{SPLIT}; got 'train' instead", SHAPE),
        ("tr\t \tx\n", ", line 1", "the label is empty", SHAPE),
        (
            "tr\ta\t \n",
            ", line 1",
            "the sentence is empty",
            "delete the line, or write its sentence",
        ),
        ("tr\ta\tx\ntr\tb\ty\nva\tc\tz\nte\ta\tw\n", ", line 3", f"a class {UNKNOWN} 'c'", GIVE),
        (
            "tr\ta\tx\nte\td\tz\nte\tc\tw\nva\tc\tv\n",
            *(", line 4", f"2 classes {UNKNOWN} 'c', 'd'", GIVE),
        ),
    ],
)
def test_a_bad_line_is_reported_with_its_number_and_what_to_do(
    tmp_path, text, where, message, hint
):
    path = write(tmp_path, text)
    error = refusal(CorpusError, read_senteval, path)
    assert (error.message, error.hint) == (f"{path}{where}: {message}", hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: no line has a sentence"),
        ("\n \n", "is empty: no line has a sentence"),
        ("te\ta\tx\nva\tb\ty\n", "has no tr lines: there is nothing to train on"),
        ("tr\ta\tx\nva\tb\ty\n", "has no te lines: there is nothing to test on"),
    ],
)
def test_a_file_without_a_split_that_is_needed_is_refused(tmp_path, text, message):
    path = write(tmp_path, text)
    assert refusal(CorpusError, read_senteval, path).message == f"{path} {message}"


def test_without_a_split_to_choose_on_folds_are_used_and_sentences_in_two_splits_are_counted(
    tmp_path,
):
    task = read_senteval(write(tmp_path, "tr\ta\tx\ntr\tb\ty\ntr\tb\ty\nte\ta\tx\nte\tb\tz\n"))
    assert "dev" not in task.splits
    assert task.notes == ("no va lines: 5 folds are used", "1 sentence is in more than one split")
    task = read_senteval(write(tmp_path, "tr\ta\tx\ntr\tb\ty\nva\ta\tx\nte\ta\tx\nte\tb\ty\n"))
    assert task.notes == ("2 sentences are in more than one split",)


def test_a_folder_is_read_in_the_order_of_the_paper_and_then_by_name(tmp_path):
    for stem in ["zebra", "apple", *sorted(TITLES)]:
        write(
            tmp_path, GOOD, f"{stem}.txt.gz" if stem in {"apple", "tree_depth"} else f"{stem}.txt"
        )
    write(tmp_path, "not a task", "README.md")
    write(tmp_path, "not a task", ".hidden.txt")
    assert [task.name for task in read_tasks(tmp_path)] == [*TITLES, "apple", "zebra"]
    assert [task.name for task in read_tasks(tmp_path / "zebra.txt")] == ["zebra"]


def test_a_folder_with_a_task_twice_or_with_none_is_refused(tmp_path):
    with pytest.raises(CorpusError, match="has no files of probing tasks"):
        read_tasks(tmp_path)
    write(tmp_path, GOOD, "a.txt")
    write(tmp_path, GOOD, "a.tsv.gz")
    with pytest.raises(CorpusError, match=r"has one task twice: a\.tsv\.gz and a\.txt"):
        read_tasks(tmp_path)


def test_a_file_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(CorpusError, match="no such corpus file"):
        read_tasks(tmp_path / "none.txt")


SENTENCES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1
).filter(str.strip)


@given(
    st.lists(
        st.tuples(st.sampled_from(SPLITS), st.sampled_from(["a", "b"]), SENTENCES), max_size=20
    )
)
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    rows = [("train", "a", "x"), ("train", "b", "y"), ("test", "a", "z"), *rows]
    splits = dict.fromkeys(SPLITS, ())
    for split, label, text in rows:
        splits[split] += (Example("1", (text,), label=label),)
    path = write_senteval(
        ProbingTask("mine", "mine", ("a", "b"), splits), tmp_path_factory.mktemp("tasks")
    )
    task = read_senteval(path)
    assert (task.name, task.labels) == ("mine", ("a", "b"))
    for split in SPLITS:
        found = [(example.label, example.texts) for example in task.splits.get(split, ())]
        assert found == [(example.label, example.texts) for example in splits[split]]


@pytest.mark.shared
def test_the_public_tasks_are_read_as_the_csv_module_reads_them(shared):
    tasks = {task.name: task for task in read_tasks(shared / "data" / "probing")}
    assert list(tasks) == [name for name in TITLES if name != "odd_man_out"]
    for name, task in tasks.items():
        with gzip.open(
            shared / "data" / "probing" / f"{name}.txt.gz", "rt", encoding="utf-8", newline=""
        ) as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        for mark, split in zip(("tr", "va", "te"), SPLITS, strict=True):
            assert task.counts(split) == Counter(label for found, label, _ in rows if found == mark)
            expected = [text for found, _, text in rows if found == mark]
            assert [example.texts[0] for example in task.splits[split]] == expected
    assert len(tasks["word_content"].labels) == 1000
    assert tasks["tree_depth"].labels == ("3", "4", "5", "6", "7")
