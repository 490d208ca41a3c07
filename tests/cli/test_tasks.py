"""``headscope tasks``: tasks made from a treebank and written, and what is in files of tasks."""

from __future__ import annotations

import json

import pytest

from cli.test_mistakes import mistake
from headscope.corpus import read
from headscope.tasks.make import make_tasks
from headscope.tasks.senteval import read_tasks
from headscope.tasks.task import SPLITS, TITLES


def test_the_tasks_of_a_treebank_are_written_and_read_back(run, tmp_path):
    done = run("tasks", "demo", "-o", tmp_path / "new" / "tasks", "--quiet")
    assert (done.code, done.out, done.err) == (0, f"{tmp_path / 'new' / 'tasks'}\n", "")
    found = read_tasks(tmp_path / "new" / "tasks")
    assert [task.name for task in found] == list(TITLES)
    for ours, theirs in zip(found, make_tasks(read("demo")), strict=True):
        expected = (theirs.title, theirs.group, theirs.labels, ())
        assert (ours.title, ours.group, ours.labels, ours.notes) == expected
        for split in SPLITS:
            assert [(example.label, example.texts) for example in ours.splits[split]] == [
                (example.label, example.texts) for example in theirs.splits[split]
            ]


def test_the_table_tells_what_was_made_and_the_files_show_the_same(run, tmp_path):
    made = run(
        "tasks",
        "demo",
        "--task Tense --task bigram_shift --size 60,20,20 --seed 3 -o",
        tmp_path,
        "--json",
    )
    rows = json.loads(made.out)
    assert [
        (row["task"], row["classes"], row["train"], row["dev"], row["test"]) for row in rows
    ] == [("BigramShift", 2, 60, 20, 20), ("Tense", 2, 60, 20, 20)]
    assert "Past, Imp and Pqp are PAST" in rows[1]["label"]
    assert "42 without 5 to 28 words" in rows[0]["skipped"]
    assert str(tmp_path) in made.err
    shown = json.loads(run("tasks", tmp_path, "--json").out)
    assert [
        (row["task"], row["name"], row["group"], row["classes"], row["train"], row["largest class"])
        for row in shown
    ] == [
        ("BigramShift", "bigram_shift", "syntactic", 2, 60, 0.5),
        ("Tense", "past_present", "semantic", 2, 60, 0.5),
    ]
    assert [
        row["task"] for row in json.loads(run("tasks", tmp_path, "--task", "tense", "--json").out)
    ] == ["Tense"]
    assert "│ BigramShift │" in run("tasks", tmp_path / "bigram_shift.txt").out


def test_without_a_folder_nothing_is_written(run, here):
    done = run("tasks", "demo", "--task", "Length", "--size", 60)
    assert (done.code, list(here.iterdir())) == (0, [])
    assert "│ Length │" in done.out
    assert done.err.splitlines()[-1] == "nothing was written: give -o FOLDER to keep the tasks"


def test_bracketed_trees_are_a_treebank_or_give_depth_to_one(run, tmp_path):
    path = tmp_path / "trees.mrg"
    shallow, deep = (
        "( (S (NP (NN n{0})) (VP (VBD a) (RB b) (RB c)) (. .)) )",
        "( (S (NP (NN n{0})) (VP (VBD a) (NP (NN b) (IN c))) (. .)) )",
    )
    path.write_text(
        "\n".join(
            tree.format(f"{number}{mark}")
            for number in range(40)
            for mark, tree in (("x", shallow), ("y", deep))
        )
    )
    for source, options in ((path, ()), (tmp_path, ()), ("demo", ("--brackets", path))):
        (row,) = json.loads(run("tasks", source, *options, "--task", "Depth", "--json").out)
        assert (row["classes"], row["train"], row["dev"], row["test"]) == (2, 64, 8, 8)
        assert row["label"].startswith(
            "longest path from the top of the bracketed tree to a word; 3 is 3 or less, 4 is 4 or "
            "more"
        )


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("nowhere.conllu",), "no such corpus file: nowhere.conllu", ""),
        (("demo", "--task", "Tensed"), "did you mean 'Tense'?", ""),
        (
            ("demo", "--size", "many"),
            "the size must be a number, or three separated by commas; got 'many' instead",
            "e.g. --size 1000 or --size 800,100,100",
        ),
        (
            ("demo", "--size", "5"),
            "the size must be 40 or more in all, got 5 instead",
            "leave it out to use all sentences",
        ),
        (
            ("demo", "--task", "Length", "--size", "50"),
            "Length cannot be made from this treebank: a size of 50 leaves fewer than 10",
            "give a larger treebank",
        ),
        (
            ("t.txt", "-o", "x"),
            "t.txt has tasks already: there is nothing to make",
            "leave out --output",
        ),
        (("t.txt", "--task", "u"), "the task must be one of t; got 'u' instead", ""),
        (
            ("bad.mrg",),
            "bad.mrg, line 1: the tree that begins here is not closed",
            "add the missing brackets, or remove the tree",
        ),
        (("demo", "-o", "t.txt"), "t.txt is a file, not a folder", "choose another place with -o"),
    ],
)
def test_mistakes_are_told_and_leave_nothing_behind(run, here, arguments, message, hint):
    (here / "t.txt").write_text("tr\ta\tx\ntr\tb\ty\nte\ta\tz\n")
    (here / "bad.mrg").write_text("(S (NN a)\n")
    error, after = mistake(run("tasks", *arguments, "--quiet"))
    assert message in error
    assert hint in after
    assert sorted(file.name for file in here.iterdir()) == ["bad.mrg", "t.txt"]
