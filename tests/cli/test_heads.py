"""Commands that look into a results file: ``heads``, ``head`` and ``cite``; measures from a file;
and mistakes that are found before torch is loaded.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import headscope as hs
from cli.conftest import Run
from page.samples import made_results, made_values
from stats.heads.test_kv_heads import PLANTED, planted

PREVIOUS = {
    f"{layer + 1}-{head + 1}": made_values(2, 3)["position"][layer, head, 0]
    for layer in range(2)
    for head in range(3)
}
"""Attention to the previous token in the hand-made results, by head."""
LARGEST_FIRST = sorted(PREVIOUS, key=lambda head: -PREVIOUS[head])
OWN_MEASURE = """
from typing import ClassVar

import torch
from headscope.measures import Measure


class Ones(Measure):
    name = "ones"
    title = "Ones"
    unit = "count"
    source = "a test"
    dims: ClassVar = {"row": ("all",)}

    def prepare(self, batch, device):
        return None

    def layer(self, view, attention, prepared):
        return torch.ones(attention.shape[0], attention.shape[1], 1)
"""


def rows_of(run: Run, *arguments: object) -> list[dict]:
    done = run(*arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_heads_lists_every_head_in_the_order_of_the_model(run, made_nc):
    rows = rows_of(run, "heads", made_nc)
    assert [row["head"] for row in rows] == ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]
    assert [row["zero-based"] for row in rows] == ["L0H0", "L0H1", "L0H2", "L1H0", "L1H1", "L1H2"]


def test_heads_keeps_the_heads_for_which_the_query_holds(run, made_nc):
    limit = sorted(PREVIOUS.values())[2]
    rows = rows_of(run, "heads", made_nc, "--where", f"position:previous > {limit + 1e-9:.12f}")
    assert [row["head"] for row in rows] == [head for head in PREVIOUS if PREVIOUS[head] > limit]
    assert len(rows) == 3


def test_heads_are_sorted_by_a_value_largest_first_or_smallest_first(run, made_nc):
    rows = rows_of(run, "heads", made_nc, "--by", "position:previous")
    assert [row["head"] for row in rows] == LARGEST_FIRST
    means = [value for row in rows for key, value in row.items() if "previous" in key]
    assert means == pytest.approx([PREVIOUS[head] for head in LARGEST_FIRST])
    rows = rows_of(run, "heads", made_nc, "--by", "position:previous", "--ascending")
    assert [row["head"] for row in rows] == LARGEST_FIRST[::-1]


def test_heads_keeps_only_the_first_ones(run, made_nc):
    rows = rows_of(run, "heads", made_nc, "--by", "position:previous", "--top", 2)
    assert [row["head"] for row in rows] == LARGEST_FIRST[:2]


def test_heads_prints_a_table_for_people(run, made_nc):
    done = run("heads", made_nc, "--by", "position:previous", "--top", 1)
    assert done.code == 0
    assert LARGEST_FIRST[0] in done.out
    assert LARGEST_FIRST[1] not in done.out


def test_heads_says_so_when_no_head_fulfils_the_query(run, made_nc):
    done = run("heads", made_nc, "--where", "position:previous > 1", "--json")
    assert (done.code, json.loads(done.out)) == (0, [])
    assert "no head meets this condition" in done.err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_head_counted_from_one_and_from_zero_is_the_same(run, tmp_path, form):
    path = made_results(3, 9).save(tmp_path / "nine.nc")
    one, zero = run("head", path, "3-9", *form), run("head", path, "L2H8", *form)
    assert one.code == 0, one.err
    assert one.out == zero.out
    assert one.out != run("head", path, "3-8", *form).out


def test_head_prints_its_name_and_the_number_of_rows_asked_for(run, made_nc):
    done = run("head", made_nc, "1-3", "--top", 2)
    assert "1-3" in done.out.splitlines()[0]
    assert "(first 2 of " in done.out


def test_head_begins_with_what_the_head_does_in_lines_that_fit(run, made_nc):
    said = hs.open(made_nc).head("1-3").description
    title, lead, evidence = run("head", made_nc, "1-3").out.split("\n\n")[:3]
    assert title.startswith("Head 1-3 (L0H2) of made")
    assert (lead.replace("\n", " "), evidence.replace("\n", " ")) == (said.lead, said.evidence)
    assert max(map(len, f"{lead}\n{evidence}".splitlines())) <= 100


def test_head_as_json_has_its_sentences_and_tables(run, made_nc):
    done = run("head", made_nc, "1-3", "--json")
    found = json.loads(done.out)
    assert set(found) == {"description", "sentences", "roles", "relations", "statistics"}
    [description] = found["description"]
    assert (description["head"], description["family"]) == ("1-3", "")
    means = [row["mean"] for row in found["statistics"]]
    assert any(mean == pytest.approx(PREVIOUS["1-3"]) for mean in means)


@pytest.mark.parametrize("name", ["3-1", "L2H0", "1-4"])
def test_a_head_outside_the_model_is_refused(run, made_nc, name):
    done = run("head", made_nc, name)
    assert (done.code, done.out) == (2, "")
    error, after = done.told
    assert error.startswith("error: ")
    assert name in error
    assert after.startswith("next:  ")


def test_cite_prints_the_papers_behind_the_measures_of_a_file(run, demo_nc):
    done = run("cite", demo_nc)
    assert done.code == 0
    entries = [line for line in done.out.splitlines() if line.startswith("@")]
    assert entries[0] == "@software{headscope,"
    assert "@inproceedings{clark2019," in entries
    assert "@inproceedings{jo2020," not in entries
    assert done.out.count("{") == done.out.count("}")


def test_cite_without_a_file_prints_every_paper(run):
    done = run("cite")
    for key in ("headscope", "clark2019", "kovaleva2019", "pande2021", "jo2020", "michel2019"):
        assert f"{{{key},\n" in done.out
    assert done.err == "Headscope and 5 papers behind its measures:\n"


def test_quiet_cite_prints_only_the_entries(run):
    loud, quiet = run("cite"), run("cite", "--quiet")
    assert (quiet.err, quiet.out) == ("", loud.out)
    assert quiet.out.startswith("@software{headscope,")


def test_a_survey_computes_the_measures_of_a_file(run, tmp_path, tiny_folder, text):
    (tmp_path / "own.py").write_text(OWN_MEASURE)
    done = run(
        *("survey", tiny_folder, text, "--max-length", 32, "--measure", "entropy"),
        *("--measure-file", tmp_path / "own.py", "-o", tmp_path / "own.nc", "--quiet"),
    )
    assert done.code == 0, done.err
    atlas = hs.open(tmp_path / "own.nc")
    assert sorted(atlas.measures) == ["entropy", "ones"]
    assert (atlas.mean("ones") == 1).all()


BY = ("--by", "position:previous")


@pytest.fixture
def grouped(tmp_path):
    """Results of two layers of four query heads and two KV heads."""
    return planted(kv_heads=2).save(tmp_path / "grouped.nc")


def test_kv_heads_are_sorted_by_their_mean(run, grouped):
    rows = json.loads(run("heads", grouped, "--kv", *BY, "--top", 2, "--json").out)
    assert [list(row) for row in rows] == [["layer", "kv_head", "mean", "max", "heads"]] * 2
    assert rows[0]["heads"] == "2-1, 2-2"
    assert (rows[0]["mean"], rows[0]["max"]) == (pytest.approx(0.8), pytest.approx(0.9))
    rows = json.loads(run("heads", grouped, "--kv", *BY, "--ascending", "--json").out)
    assert rows[-1]["heads"] == "2-1, 2-2"
    assert len(rows) == 4


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "error: name the value to show per KV head"),
        (
            (*BY, "--where", "layer 1"),
            "error: --where selects query heads, --kv shows KV heads; they cannot be combined",
        ),
    ],
)
def test_kv_needs_a_value_and_no_condition(run, grouped, options, told):
    done = run("heads", grouped, "--kv", *options)
    assert (done.code, done.told[0]) == (2, told)


def test_export_writes_a_folder_for_duoattention_and_says_that_values_were_scaled(
    run, grouped, tmp_path
):
    folder = tmp_path / "pattern"
    done = run("export", grouped, "--format", "duoattention", *BY, "-o", folder)
    assert (done.code, done.out, done.err) == (0, f"{folder}\n", "")
    large = planted(PLANTED * 10, kv_heads=2).save(tmp_path / "large.nc")
    done = run("export", large, "--format", "duoattention", *BY, "-o", folder)
    assert done.err == (
        "position:previous is not between 0 and 1, so it was scaled: 3 became 0 and 9 1\n"
    )
    gates = np.loadtxt(folder / "full_attention_heads.tsv", delimiter="\t")
    np.testing.assert_allclose(gates, [[2 / 6, 1 / 6], [1.0, 0.0]], atol=1e-12)


def test_export_writes_a_file_for_headkv(run, grouped, tmp_path):
    path = tmp_path / "scores.json"
    done = run("export", grouped, "--format", "headkv", *BY, "-o", path)
    assert (done.code, done.out) == (0, f"{path}\n")
    assert len(json.loads(path.read_text())) == PLANTED.size
