"""Notes that several tasks share are listed once, with their names."""

from __future__ import annotations

from headscope.tasks.task import ProbingTask, all_notes


def task(title: str, *notes: str) -> ProbingTask:
    return ProbingTask(title.lower(), title, ("0", "1"), {}, notes=notes)


def test_a_note_of_several_tasks_is_listed_once() -> None:
    assert all_notes(
        [task("Length", "few"), task("Tense", "few", "no va lines"), task("Depth")]
    ) == ["Length, Tense: few", "Tense: no va lines"]
    assert all_notes([task("Length", "few"), task("Tense", "few")]) == ["all tasks: few"]
    assert all_notes([task("Length", "few")]) == ["Length: few"]
    assert all_notes([task("Length")]) == []
