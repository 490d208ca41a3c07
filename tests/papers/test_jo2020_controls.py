"""Controls on the page of Jo and Myaeng 2020, and notes that readers need."""

from __future__ import annotations

import pytest

from cli.test_probe import senteval  # noqa: F401 (fixture)
from headscope.papers import Jo2020
from headscope.papers import recipe as base
from headscope.papers.jo2020 import task_notes
from headscope.results import Atlas
from headscope.tasks.probing import find_tasks


def test_notes_say_where_made_tasks_come_from_in_one_sentence():
    tasks = find_tasks(["demo"], only=["Tense", "Length"], limit=30, seed=0)
    assert sum(len(note) for task in tasks for note in task.notes) > 300
    first, *rest = task_notes(tasks)
    assert first == "Tasks are made from a treebank; the notes of the results file say how."
    assert all("skipped" not in note and len(note) < 120 for note in rest)


@pytest.mark.slow
def test_controls_stand_on_the_page_and_are_computed_once(
    tiny_folder, senteval, tmp_path, monkeypatch
):
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    how = {"only": ["Depth"], "top": 2, "max_length": 32, "controls": True, "parts": ["controls"]}
    asked = Jo2020(tiny_folder, tasks=[senteval], output=tmp_path, **how)
    report, name = asked.run(), tiny_folder.name
    best = report.tables[f"controls-{name}/controls-of-the-best-head"].iloc[0]
    results, controls = (
        Atlas.open(tmp_path / f"{kind}-{name}.nc") for kind in ("probe", "controls")
    )
    layer, head = map(int, best["best head"].split("-"))
    mine = controls["probe_control"].sel(task="tree_depth", layer=layer, head=head)
    test = results["probe"]["test"].sel(task="tree_depth", layer=layer, head=head)
    assert best["test"] == pytest.approx(100 * float(test))
    assert best["selectivity"] == pytest.approx(100 * float(test - mine["control_task"]))
    assert best["compression"] == pytest.approx(float(mine["compression"]))
    words = controls["probe_embeddings"]["test"].sel(task="tree_depth")
    assert best["embeddings only"] == pytest.approx(100 * float(words))
    splits = report.tables[f"controls-{name}/repeated-splits"].iloc[0]
    mean = controls["probe_splits_top"]["each"].sel(task="tree_depth", way="top").mean()
    assert splits["top-2 heads"].startswith(f"{100 * float(mean):.1f} (")
    beside = report.tables[f"controls-{name}/top-heads-beside-random-ones"].iloc[0]
    top = results["probe_top"]["test"].sel(task="tree_depth", way="top", n=2)
    assert beside["top-2 heads"] == pytest.approx(100 * float(top))

    def again(*_: object, **__: object) -> None:
        raise AssertionError("controls are computed a second time")

    monkeypatch.setattr("headscope.runs.probe.controls.probe_controls", again)
    assert asked.run().tables.keys() == report.tables.keys()
