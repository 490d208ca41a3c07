"""What all recipes share: named parts, parts that cannot run, tables as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

import headscope as hs
from cli.test_mistakes import mistake
from headscope import papers
from headscope.errors import UserError
from headscope.page import Section, Table
from headscope.papers import PAPERS, Clark2019, Jo2020, Kovaleva2019, Pande2021, Paper
from headscope.papers import recipe as base
from headscope.papers.recipe import PaperRecipe, part
from headscope.results import Atlas
from page.samples import said
from tiny import HEADS, LAYERS, tiny_network, tiny_tokenizer


@pytest.fixture(scope="module")
def demo():
    """The embedded model, loaded."""
    with hs.load("demo") as model:
        yield model


@pytest.mark.parametrize("name", sorted(PAPERS))
def test_every_part_has_a_name_of_its_own(name):
    recipe = getattr(papers, PAPERS[name].recipe)
    names = [part.name for part in recipe.all_parts]
    assert len(set(names)) == len(names) > 4
    assert recipe.paper is PAPERS[name]


def surface(model: Any, folder: Path) -> Atlas:
    """The surface patterns of a model in two segments, as the recipe saves them."""
    Clark2019(model, parts=["surface"], limit=2, output=folder).run()
    return Atlas.open(folder / "surface.nc")


def test_a_loaded_model_gives_the_files_that_its_name_gives(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    named = surface("demo", tmp_path)
    written = (tmp_path / "surface.nc").stat().st_mtime_ns
    with hs.load("demo") as model:
        again = surface(model, tmp_path)
        assert (tmp_path / "surface.nc").stat().st_mtime_ns == written  # found, not made again
        assert not model.closed
        assert again.provenance["model"] == named.provenance["model"]
        assert again.provenance["model"]["name"] == "demo"
        assert Clark2019(model).folder == Path("clark2019-demo")
        assert Kovaleva2019(model).source("demo") is model
        assert Pande2021("demo", tuned=[model]).tuned == (model,)


def test_a_network_with_its_tokenizer_is_put_back(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "save_in_formats", lambda _chart, paths: paths)
    network, tokenizer = tiny_network("bert").train(), tiny_tokenizer("bert")
    attention = network.config._attn_implementation
    recipe = Clark2019(
        (network, tokenizer), parts=["surface"], limit=2, max_length=32, output=tmp_path
    )
    recipe.run()
    assert network.training
    assert network.config._attn_implementation == attention
    about = Atlas.open(tmp_path / "surface.nc").provenance["model"]
    assert (about["name"], about["layers"], about["heads"]) == ("model", LAYERS, HEADS)


def test_several_models_may_be_given_in_any_way(demo):
    several = Jo2020([demo, "other", "a/third"])
    assert several.models == ("demo", "other", "a/third")
    assert several.source("other") == "other"
    assert Jo2020(demo).models == ("demo",)
    assert Jo2020(("one", "two")).models == ("one", "two")
    with pytest.raises(UserError, match="demo and demo have the same short name, demo"):
        Jo2020([demo, "demo"])


def test_a_device_cannot_be_chosen_for_a_model_that_is_loaded(demo):
    with pytest.raises(UserError, match="device= applies only to a model given by its name"):
        Clark2019(demo, device="meta").run()


def test_a_part_that_is_almost_right_is_suggested():
    with pytest.raises(UserError, match=r"Did you mean 'dependencies'\?$"):
        Clark2019("demo", parts=["dependancies"])


def test_one_part_needs_no_list():
    [part] = Clark2019("demo", parts="dependencies").chosen
    assert part.name == "dependencies"


def test_a_part_without_its_input_is_refused_with_python_advice():
    with pytest.raises(UserError) as caught:
        Kovaleva2019("demo", tasks=[], parts=["disabling"])
    assert str(caught.value) == (
        "Disabling heads (Section 4.6, Figures 8 and 9): no GLUE task was given\n"
        'next: give tasks=["rte"]'
    )


def test_a_part_without_its_input_is_refused_with_command_line_advice(run, tmp_path):
    told = mistake(run("paper", "jo2020", "--part", "controls", "-o", tmp_path / "x"))
    assert told == (
        "Controls (Sections 3.2 and 3.3): no request for controls was given",
        "give --controls",
    )
    assert not (tmp_path / "x").exists()


def test_an_unknown_paper_is_refused_with_the_known_ones(run, tmp_path):
    error, _ = mistake(run("paper", "clark2018", "-o", tmp_path / "x"))
    assert error == (
        f"the paper must be one of {', '.join(sorted(PAPERS))}; got 'clark2018' instead. "
        "Did you mean 'clark2019'?"
    )
    assert not (tmp_path / "x").exists()


def test_help_lists_the_parts(run):
    shown = " ".join(run("paper", "clark2019", "--help").out.replace("│", " ").split())
    assert "Parts: surface, gradients, dependencies, coreference, probes, clusters." in shown


class Made(PaperRecipe):
    """A recipe whose parts fail as they are told to.

    Parameters
    ----------
    fails
        The parts that fail.
    """

    paper: ClassVar[Paper] = PAPERS["clark2019"]

    fails: Sequence[str] = ()

    def _made(self, part: str) -> Section:
        if part in self.fails:
            raise UserError(f"{part} cannot run", hint="try something else")
        rows = [{"head": "3-9", "score": 0.5}, {"head": "4-1", "p": float("nan")}]
        return self.section(part, tables=[Table(rows, title="Some heads")])

    @part("surface", "Surface patterns", "Section 3")
    def surface(self) -> Section:
        return self._made("surface")

    @part("gradients", "Gradient importance", "Section 3.2")
    def gradients(self) -> Section:
        return self._made("gradients")

    @part("coreference", "Coreference", "Section 4.3, Table 2")
    def coreference(self) -> Section:
        return self._made("coreference")

    @part("probes", "Probes", "Section 5")
    def probes(self) -> Section:
        return self._made("probes")


def test_a_part_that_cannot_run_says_why_and_the_others_run(tiny_folder, tmp_path, capsys):
    parts = ["coreference", "gradients", "surface"]
    how = {"fails": ("gradients",), "parts": parts, "progress": True}
    made = Made(str(tiny_folder), output=tmp_path, **how)
    report = made.run()
    assert [section.id for section in report.sections] == ["surface", "coreference"]
    assert report.skipped == ("gradients cannot run",)
    assert "skipped: gradients cannot run" in capsys.readouterr().err
    page = said(report.page)
    assert "Skipped: gradients cannot run" in page
    assert "Section 4.3, Table 2." in page


def test_a_recipe_of_which_no_part_can_run_fails_with_the_first_reason(tiny_folder, tmp_path):
    failing = ("surface", "probes")
    made = Made(str(tiny_folder), fails=failing, parts=failing, output=tmp_path)
    with pytest.raises(UserError) as caught:
        made.run()
    assert (caught.value.message, caught.value.hint) == ("surface cannot run", "try something else")
    assert not (tmp_path / "clark2019.html").exists()


def test_tables_are_had_as_frames_and_as_plain_values(tiny_folder, tmp_path):
    report = Made(str(tiny_folder), parts=["surface"], output=tmp_path).run()
    assert list(report.tables) == ["surface/some-heads"]
    assert report.tables["surface/some-heads"]["head"].tolist() == ["3-9", "4-1"]
    assert json.loads(json.dumps(report.records())) == [
        {
            "name": "surface/some-heads",
            "columns": ["head", "score", "p"],
            "rows": [
                {"head": "3-9", "score": 0.5, "p": None},
                {"head": "4-1", "score": None, "p": None},
            ],
        }
    ]
    assert repr(report) == f"{tmp_path / 'clark2019.html'}: 1 sections, 1 tables"


def test_one_part_runs_by_itself_and_its_tables_are_printed_as_json(run, tiny_folder, tmp_path):
    asked = ("paper", "clark2019", "--model", tiny_folder, "--part", "coreference")
    done = run(*asked, "--limit", 2, "--max-length", 64, "--json", "-o", tmp_path / "one")
    assert done.code == 0, done.err
    tables = json.loads(done.out)
    names = ["coreference/table-2", "coreference/by-type-of-mention", "claims/claims"]
    assert [table["name"] for table in tables] == names
    assert tables[0]["columns"][0] == "system"
    published = [row["paper: all"] for row in tables[0]["rows"]]
    assert published[:5] == [27, 52, 69, "83*", 65]
    assert str(tmp_path / "one" / "clark2019.html") in done.err
    assert [path.name for path in (tmp_path / "one").glob("*.nc")] == ["coreference.nc"]
