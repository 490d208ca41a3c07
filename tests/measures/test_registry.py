"""Measures by name: the nearest for a misspelt one, what is missing for one that the corpus does
not allow, and those of other packages.
"""

from __future__ import annotations

from pathlib import Path

import derive
import pytest

from headscope.corpus import from_texts, read
from headscope.errors import UserError
from headscope.measures import MEASURES, choose
from headscope.results import Atlas, summary
from headscope.runs.survey import survey
from planted import planted_bert
from refusals import refusal

OURS = ["position", "special", "entropy"]

LARGEST = """
from headscope.measures import Measure

class Largest(Measure):
    name = "largest"
    title = "Largest weight"
    unit = "share of attention"
    source = "a test"
    dims = {}
    needs = frozenset(NEEDS)

    def prepare(self, batch, device):
        return None

    def layer(self, view, attention, prepared):
        return attention.amax((2, 3))[..., None]

class Position(Largest):
    name = "position"

nothing = 3
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that another party installed, its entry points still to be written."""
    monkeypatch.syspath_prepend(tmp_path)
    assert len(MEASURES)  # all chapters are read
    before = dict(MEASURES._entries)
    MEASURES._asked = False
    yield tmp_path
    MEASURES._entries = before
    MEASURES._asked = False


def install(package: Path, points: dict[str, str], *, module: str, needs: str = "()") -> None:
    """Write the module and what pip would leave beside it."""
    (package / f"{module}.py").write_text(LARGEST.replace("NEEDS", needs))
    info = package / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[headscope.measures]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
    )


def test_our_own_measures_come_first():
    assert list(MEASURES)[: len(OURS)] == OURS
    assert all(
        measure.name == name for name, measure in ((name, MEASURES[name]) for name in MEASURES)
    )


def test_what_is_derived_from_measures_and_roles_is_up_to_date():
    old = [path for path, text in derive.pages().items() if path.read_text("utf-8") != text]
    assert old == [], "run python tools/derive.py"


def test_without_names_every_measure_that_the_annotations_allow_is_chosen():
    everything = read("demo", limit=1).annotations
    assert [measure.name for measure in choose(None, everything, corpus="demo")] == [
        name
        for name, measure in ((name, MEASURES[name]) for name in MEASURES)
        if measure.offered and measure.needs <= everything
    ] + ["profile", "arc_offset"]  # what arcs are compared with: computed wherever they are
    expected = ["position", "special", "entropy"]
    assert [measure.name for measure in choose(None, (), corpus="plain")][:3] == expected
    assert not any(measure.needs for measure in choose(None, (), corpus="plain"))


def test_named_measures_are_chosen_in_the_order_asked_for_and_once():
    assert [
        measure.name for measure in choose(["entropy", "position", "entropy"], (), corpus="plain")
    ] == ["entropy", "position"]


def test_a_misspelt_measure_gets_the_nearest_name_first():
    error = refusal(
        UserError, survey, planted_bert(), from_texts(["a dog"]), measures=["entrpy"], max_length=24
    )
    said = f"unknown measure 'entrpy'; did you mean 'entropy'? {len(MEASURES)} are known, such as "
    assert error.message.startswith(said)


def test_no_measure_at_all_is_an_error_that_lists_them():
    error = refusal(UserError, choose, [], (), corpus="plain")
    assert error.message == "no measure was asked for"
    assert error.hint == f"choose from {', '.join(MEASURES)}"


def test_a_measure_of_another_package_is_run_with_ours(package):
    install(package, {"largest": "largest_one:Largest"}, module="largest_one")
    assert list(MEASURES)[-1] == "largest"
    results = survey(planted_bert(), from_texts(["a dog sat.", "it saw"]), max_length=24)
    assert results.measures[0] == "position"
    assert results.measures[-1] == "largest"
    dataset = results["largest"]
    assert dataset["mean"].dims == ("layer", "head")
    expected = pytest.approx(1.0)
    assert float(dataset["mean"].sel(layer=1, head=3)) == expected  # the head on the current token
    expected = pytest.approx((1 / 6 + 1 / 4) / 2)
    assert float(dataset["mean"].sel(layer=2, head=5)) == expected  # the uniform head
    assert (dataset["n"] == 2).all()


def test_a_measure_without_labels_has_its_rows_in_tables_and_summaries_and_survives_saving(package):
    install(package, {"largest": "largest_two:Largest"}, module="largest_two")
    options = {"measures": ["largest", "position"], "max_length": 24}
    results = survey(planted_bert(), from_texts(["a dog sat.", "it saw"]), **options)
    for opened in (results, Atlas.open(results.save(package / "run.nc"))):
        table = opened.table("largest")
        assert table["label"].tolist() == [""] * 10
        expected = [(layer, head) for layer in (1, 2) for head in (1, 2, 3, 4, 5)]
        assert list(zip(table["layer"], table["head"], strict=True)) == expected
        assert table["mean"].tolist() == results["largest"]["mean"].values.ravel().tolist()
        assert len(opened.table()) == 10 + 30
        expected = ["largest", "position", "position", "position"]
        assert summary(opened)["measure"].tolist() == expected


def test_a_measure_whose_annotation_is_missing_says_what_the_corpus_has_and_what_to_give(package):
    install(
        package, {"largest": "largest_three:Largest"}, module="largest_three", needs="('tree',)"
    )
    corpus = from_texts([("a dog", "it saw")], name="mine.txt")
    options = {"measures": ["largest"], "max_length": 24}
    error = refusal(UserError, survey, planted_bert(), corpus, **options)
    message = "the measure 'largest' needs tree, which mine.txt does not have (it has pair)"
    assert error.message == message
    assert error.hint == "use a treebank (.conllu), or parse plain text with parse=True"
    expected = r"needs tree, which mine does not have \(it has plain text only\)"
    with pytest.raises(UserError, match=expected):
        choose(["largest"], (), corpus="mine")
    assert "largest" not in survey(planted_bert(), from_texts(["a dog"]), max_length=24).measures


def test_an_annotation_that_only_another_package_knows_is_named_in_the_hint(package):
    install(
        package, {"largest": "largest_four:Largest"}, module="largest_four", needs="('speakers',)"
    )
    error = refusal(UserError, choose, ["largest"], {"pair", "words"}, corpus="mine.txt")
    assert (
        error.message
        == "the measure 'largest' needs speakers, which mine.txt does not have (it has pair, words)"
    )
    assert error.hint == "use a corpus with speakers"


def test_another_package_cannot_take_the_place_of_one_of_our_measures(package):
    before = MEASURES["position"]
    install(package, {"position": "largest_five:Position"}, module="largest_five")
    assert MEASURES["position"] is before


@pytest.mark.parametrize(
    ("point", "why"),
    [
        (
            "{}:nothing",
            "the entry point 'largest' ({}:nothing) is not a measure: it must be a subclass of "
            "headscope.Measure",
        ),
        (
            "{}:Absent",
            "the entry point 'largest' ({}:Absent) cannot be loaded: module '{}' has no attribute "
            "'Absent'",
        ),
        (
            "{}:Position",
            "the entry point 'largest' ({}:Position) is not a measure: its own name is "
            "'position'; the two must be equal",
        ),
    ],
    ids=["no measure", "not there", "another name"],
)
def test_an_entry_point_that_is_no_measure_is_named(package, point, why):
    module = f"largest_{point.rsplit(':')[-1].lower()}"
    install(package, {"largest": point.format(module)}, module=module)
    error = refusal(UserError, lambda: list(MEASURES))
    assert error.message == why.format(module, module)
    assert error.hint == "fix or uninstall that package"
