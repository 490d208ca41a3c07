"""Results with a right digest and wrong contents: refused with our own error, or harmless."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

import headscope as hs
from headscope.errors import ResultsError, UserError
from headscope.results import Atlas, schema
from headscope.results.netcdf import write_tree
from headscope.results.schema import check_contents
from planted import planted_bert
from refusals import refusal
from results.mutations import ALL, Groups, attribute, dataset, provenance, without

MEASURES = ("position", "special", "entropy", "role", "activity", "work", "spread", "dependency")
NAMES = list(ALL)
FILES = {name for number, name in enumerate(NAMES) if number % 10 == 0 or name.startswith("root")}
"""Mutations that are written to a file and opened; the others are checked in memory."""
REPORTS = set(NAMES[::7])
"""Mutations after which a report is written, if the results can be opened."""


@pytest.fixture(scope="module")
def survey():
    """Small real results with examples."""
    atlas = hs.survey(
        planted_bert(), hs.read("demo", limit=4), measures=list(MEASURES), max_length=16, examples=2
    )
    groups = atlas.tree.to_dict()
    groups["/dependency"] = groups["/dependency"].isel(relation=slice(0, 5))
    return xr.DataTree.from_dict(groups)


def mutated(tree: xr.DataTree, name: str) -> xr.DataTree:
    """The tree with one thing changed, which must be a change."""
    groups: Groups = {path: data.copy() for path, data in tree.to_dict().items()}
    ALL[name](groups)
    made = xr.DataTree.from_dict(groups)
    assert not made.identical(tree)
    return made


def opened(tree: xr.DataTree, path: Path, *, by_file: bool) -> Atlas:
    """The results as a user opens them."""
    if by_file:
        return Atlas.open(write_tree(tree, path))
    return Atlas(check_contents(tree, path))


def error_of(step: Callable[[], object]) -> UserError | None:
    """The error of ours with which a step refuses; any other error is raised."""
    try:
        step()
    except UserError as error:
        return error
    return None


def steps(atlas: Atlas, path: Path, *, report: bool) -> list[Callable[[], object]]:
    """What users do first."""
    first: list[Callable[[], object]] = [
        lambda: repr(atlas),
        lambda: str(atlas.head("1-1")),
        atlas.heads,
        lambda: atlas.figures,
        lambda: [one.dense() for one in atlas.kept.strongest("2-1") + atlas.kept.sample("1-2")],
    ]
    page = [atlas.table, atlas.remarks, lambda: atlas.report(path.with_suffix(".html"))]
    return [*first, *page] if report else first


@pytest.mark.filterwarnings("ignore")  # of numbers that are not numbers
@pytest.mark.parametrize("name", NAMES)
def test_wrong_contents_never_raise_a_foreign_error(survey, tmp_path, name):
    path, made = tmp_path / "run.nc", list[Atlas]()
    tree = mutated(survey, name)
    refused = error_of(lambda: made.append(opened(tree, path, by_file=name in FILES)))
    if refused is not None:
        assert isinstance(refused, ResultsError)
        assert str(path) in refused.message
        assert refused.hint
        assert len(refused.message) < 2000
        return
    for step in steps(made[0], path, report=name in REPORTS):
        refused = error_of(step)
        assert refused is None or len(refused.message) < 2000


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("json: provenance is not JSON", "the attribute 'provenance' is not a JSON object"),
        ("json: offsets is missing", "the group 'dependency' lacks labels in its attribute"),
        ("provenance: model.layers is -1", "the provenance has model.layers -1"),
        ("groups: empty group role", "the group 'role' has no variable 'mean'"),
        ("groups: a null without provenance", "the attribute 'provenance' of null/shuffled-words"),
        ("variables: no mean", "the group 'position' has no variable 'mean'"),
        ("variables: means are texts", "a variable 'mean' that holds"),
        ("variables: no dimension of labels", "the group 'entropy' lacks the dimension 'row'"),
        ("variables: fewer heads", "the group 'entropy' has other layers than the model"),
        ("variables: words are negative", "a variable 'count' with negative numbers"),
        ("labels: layers are NaN", "the group 'position' has labels of 'layer'"),
        ("labels: a label twice", "the group 'position' has a label of 'offset' twice"),
        ("examples: keys that are not there", "the group 'examples' has 'keys' beyond"),
    ],
)
def test_the_error_says_which_part_is_wrong(survey, name, said):
    error = refusal(ResultsError, check_contents, mutated(survey, name), Path("run.nc"))
    assert error.message.startswith("run.nc has wrong contents: ")
    assert said in error.message
    assert error.hint.startswith("run the survey again")


ENTRIES = {
    **{f"array {name}": without("/examples", name) for name in schema.EXAMPLE_ARRAYS},
    **{
        f"provenance {path}": provenance(path.replace("*", "used"), 1.5)
        for path in schema.PROVENANCE
    },
    **{f"attribute {name}": attribute("/entropy", name, 3) for name in schema.ATTRIBUTES},
    **{
        f"{measure} by {dim}": dataset(f"/{measure}", lambda data, dim=dim: data.rename({dim: "x"}))
        for measure in MEASURES
        for dim in (*schema.GRID, *schema.MEASURES[measure].dims)
    },
    **{
        f"{variable} of {measure}": without(f"/{measure}", variable)
        for measure in MEASURES
        for variable in (*schema.KINDS["mean"].columns, *schema.SUMS)
    },
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_of_the_tables_is_checked(survey, entry):
    groups: Groups = {path: data.copy() for path, data in survey.to_dict().items()}
    ENTRIES[entry](groups)
    with pytest.raises(ResultsError, match=r"^run\.nc has wrong contents: the "):
        check_contents(xr.DataTree.from_dict(groups), Path("run.nc"))


def test_a_damaged_text_of_the_examples_is_named_when_it_is_read(survey):
    atlas = Atlas(mutated(survey, "examples: examples lack tokens"))
    with pytest.raises(ResultsError, match="text 1 of the examples cannot be read"):
        _ = atlas.kept.texts


def test_results_that_would_fill_the_memory_are_refused_before_they_are_loaded(
    survey, tmp_path, monkeypatch
):
    path = write_tree(survey, tmp_path / "run.nc")
    monkeypatch.setenv("HEADSCOPE_MAX_RESULTS", "1kB")
    monkeypatch.setattr(xr.DataTree, "load", lambda tree: pytest.fail("it was loaded"))
    with pytest.raises(ResultsError, match=r"run\.nc would take 0\.0 GB of memory") as caught:
        hs.open(path)
    assert "HEADSCOPE_MAX_RESULTS=64GB" in caught.value.hint


def test_right_contents_pass_unchanged_and_quickly(survey):
    before = time.process_time()
    for _ in range(10):
        assert check_contents(survey, Path("run.nc")) is survey
    assert (time.process_time() - before) / 10 < 0.02
