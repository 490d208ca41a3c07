"""``headscope examples``, and examples kept or not by ``survey`` and ``demo``."""

from __future__ import annotations

import json

import pytest

import headscope as hs
from page.samples import made_results

TREE = """# sent_id = one
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\t_

# sent_id = two
1\ta\ta\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\tdog\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\t_

"""


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_text(TREE)
    return path


@pytest.fixture
def results(run, tiny_folder, trees, tmp_path):
    path = tmp_path / "run.nc"
    line = ("survey", tiny_folder, trees, "-o", path, "--measure", "position", "--max-length", 32)
    assert run(*line).code == 0
    return path


def test_examples_of_results_are_those_of_the_atlas(run, results):
    table = hs.open(results).examples("2-3")
    done = run("examples", results, "2-3")
    assert done.code == 0
    assert done.out == f"{table}\n"
    assert done.out.startswith("Head 2-3: the examples on which it is strongest\n")
    rows = json.loads(run("examples", results, "L1H2", "--json").out)
    assert [row["id"] for row in rows] == table["id"].tolist()
    assert list(rows[0]) == ["rank", "score", "id", "text", "links"]


def test_a_relation_is_counted_and_k_limits_the_rows(run, results):
    rows = json.loads(run("examples", results, "1-1", "--relation", "det", "--json").out)
    assert sorted(row["id"] for row in rows) == ["one", "two"]
    assert {row["of"] for row in rows} == {1}
    one = json.loads(run("examples", results, "1-1", "--relation", "det", "-k", 1, "--json").out)
    assert len(one) == 1
    assert one[0]["id"] == rows[0]["id"]


def test_on_demand_shows_the_same_as_results(run, results, tiny_folder, trees):
    for more in ((), ("--relation", "nsubj")):
        kept = json.loads(run("examples", results, "1-2", "--json", *more).out)
        line = ("examples", tiny_folder, trees, "1-2", "--max-length", 32, "--json", *more)
        found = json.loads(run(*line).out)
        assert [row["id"] for row in found] == [row["id"] for row in kept]
        assert [row["links"] for row in found] == [row["links"] for row in kept]


def test_examples_can_be_switched_off(run, tiny_folder, text, tmp_path):
    path = tmp_path / "private.nc"
    line = ("survey", tiny_folder, text, "-o", path, "--max-length", 32, "--examples", 0)
    assert run(*line).code == 0
    assert hs.open(path).provenance["examples"] == {"kept": 0, "why": "switched off"}
    done = run("examples", path, "1-1")
    assert done.code == 2
    error, advice = done.told
    assert error == "error: these results hold no examples (switched off)"
    assert "--examples 32" in advice
    assert "headscope examples" in advice


def test_results_of_an_earlier_version_say_how_to_add_examples(run, tmp_path):
    path = made_results().save(tmp_path / "old.nc")
    error, advice = run("examples", path, "1-1").told
    assert error.startswith("error: these results hold no examples")
    assert "headscope survey" in advice


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("demo", "3-9"), "a results file (.nc) and a head, or a model, a corpus and a head"),
        (("run.nc",), "a results file (.nc) and a head, or a model, a corpus and a head"),
        (("nowhere.nc", "3-9"), "no such results file: nowhere.nc"),
        (("nowhere.nc", "three"), "a head must be given as LAYER-HEAD counted from 1"),
        (("no-such-model", "demo", "3-9"), "no-such-model"),
        (("demo", "nowhere.txt", "3-9"), "nowhere.txt"),
        (("demo", "demo", "3-9", "-k", "0"), "the number of examples must be 1 or more, got 0"),
        (("demo", "demo", "3-9", "--limit", "0"), "the limit must be 1 or more, got 0"),
        (("demo", "demo", "3-9", "--relation", "dett"), "did you mean 'det'"),
    ],
)
def test_mistakes_are_told_in_words(run, here, arguments, error):
    done = run("examples", *arguments)
    assert done.code == 2
    assert error in done.told[0]
    assert done.told[1].startswith("next:  ")


def test_a_head_or_relation_that_is_not_there_is_told(run, results):
    assert "the model has no head 9-9" in run("examples", results, "9-9").told[0]
    wrong = run("examples", results, "1-1", "--relation", "nsub")
    assert "Did you mean 'nsubj'?" in wrong.told[0]


def test_a_corpus_without_trees_has_no_dependencies(run, tiny_folder, text):
    error, advice = run("examples", tiny_folder, text, "1-1", "--relation", "det").told
    assert "the texts have no dependency trees" in error
    assert "--parse" in advice


def test_a_wrong_number_of_examples_is_told_before_anything_is_run(run, tiny_folder, text, here):
    for line in (("survey", tiny_folder, text), ("demo",)):
        done = run(*line, "--examples", -1)
        assert done.code == 2
        assert "the number of examples to keep must be 0 to 1024, got -1" in done.told[0]
    assert list(here.iterdir()) == []
