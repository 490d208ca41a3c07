"""A gallery: a site of several models, whose numbers and claims are those of its reports."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from headscope.errors import ResultsError, UserError
from headscope.page import Document, Section, Table, write_document, write_gallery
from headscope.page.html import pack_of
from headscope.page.packs.pack import unpack
from headscope.results import Atlas
from page.samples import made_results
from page.test_report import HOSTILE, Reader, hostile


def other(name: str = "other", weights: str = "w2") -> Atlas:
    """Results of a model of the same shape, with other weights."""
    tree = made_results(model=name).tree.copy()
    about = made_results(model=name).provenance
    tree.attrs["provenance"] = json.dumps(about | {"model": about["model"] | {"weights": weights}})
    return Atlas(tree)


def paper(path: Path, atlas: Atlas, verdicts: list[str], label: str = "Clark et al. 2019") -> Path:
    rows = [{"the paper says": f"Claim {n}", "holds": one} for n, one in enumerate(verdicts)]
    document = Document(
        title="made", subtitle="A paper", label=label, atlases=[atlas], verdicts=verdicts,
        sections=[Section("claims", "Claims", tables=[Table(rows)])],
    )  # fmt: skip
    return write_document(document, path)


def front(site: Path) -> Reader:
    return Reader((site / "index.html").read_text(encoding="utf-8"))


def test_a_site_has_a_front_page_and_a_report_of_every_model(tmp_path):
    first, second = made_results(), other()
    index = write_gallery([first, second], tmp_path / "site")
    assert index == tmp_path / "site" / "index.html"
    files = {str(file.relative_to(index.parent)) for file in index.parent.rglob("*.*")}
    assert files == {
        "index.html", "made/card.png", "made/index.html", "other/card.png", "other/index.html",
    }  # fmt: skip
    packs = front(index.parent).packs()
    assert [packs[f"atlas-{n}"][0]["model"]["name"] for n in (1, 2)] == ["made", "other"]
    assert [one["folder"] for one in packs["gallery"][0]["models"]] == ["made", "other"]


def test_the_front_page_shows_what_the_reports_show(demo_results, tmp_path):
    index = write_gallery([demo_results, other()], tmp_path / "site")
    mine = front(index.parent).packs()["atlas-1"]
    report = Reader((index.parent / "demo" / "index.html").read_text(encoding="utf-8"))
    whole = report.packs()["atlas"]
    for name in ("model", "heads", "summary", "families", "corpus"):
        assert mine[0][name] == whole[0][name]
    assert mine[1].keys() == {"roles/family", "roles/second", "roles/excess", "roles/borderline"}
    for name, values in mine[1].items():
        assert values.tobytes() == whole[1][name].tobytes()


def test_two_models_of_one_name_have_two_folders(tmp_path):
    index = write_gallery([other("a/x", "1"), other("b/x", "2")], tmp_path / "site")
    names = [one["folder"] for one in front(index.parent).packs()["gallery"][0]["models"]]
    assert names == ["x", "x-2"]


def test_models_of_one_shape_are_compared_in_their_reports(tmp_path):
    index = write_gallery([made_results(), other()], tmp_path / "site")
    report = Reader((index.parent / "other" / "index.html").read_text(encoding="utf-8"))
    assert {"atlas", "atlas-2"} <= report.packs().keys()


def test_claims_stand_side_by_side(tmp_path):
    first, second = other("made", "w1"), other()
    pages = [
        paper(tmp_path / "a.html", first, ["yes", "no", "not tested"]),
        paper(tmp_path / "b.html", second, ["undecided", "yes"]),
        paper(tmp_path / "c.html", second, ["yes"], "Pande et al. 2021"),
    ]
    index = write_gallery([first, second], tmp_path / "site", papers=pages)
    gallery = front(index.parent).packs()["gallery"][0]
    clark, pande = gallery["claims"]
    assert (clark["paper"], pande["paper"]) == ("Clark et al. 2019", "Pande et al. 2021")
    assert [(one["text"], one["verdicts"]) for one in clark["claims"]] == [
        ("Claim 0", ["yes", "undecided"]),
        ("Claim 1", ["no", "yes"]),
        ("Claim 2", ["not tested", ""]),
    ]
    assert [one["verdicts"] for one in pande["claims"]] == [["", "yes"]]
    papers = gallery["models"][1]["papers"]
    expected = [("Clark et al. 2019", "other/b.html"), ("Pande et al. 2021", "other/c.html")]
    assert [(one["title"], one["href"]) for one in papers] == expected
    for one in papers:
        assert (index.parent / one["href"]).is_file()


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_text("<html>"), "must be a page made by 'headscope paper'"),
        (lambda path: None, "no such file"),
        (lambda path: paper(path, other("c", "w9"), ["yes"]), "is about none of these models"),
        (
            lambda path: path.write_text('<script data-pack="document">AAAA</script>'),
            "must be a page made by",
        ),
    ],
)
def test_pages_that_are_not_of_these_models_are_refused_before_anything_is_written(
    write, message, tmp_path
):
    path = tmp_path / "paper.html"
    write(path)
    with pytest.raises(ResultsError, match=message):
        write_gallery([made_results(), other()], tmp_path / "site", papers=[path])
    assert not (tmp_path / "site").exists()


def test_no_page_takes_the_place_of_another(tmp_path):
    first = other("made", "w1")
    pages = []
    for at, label in enumerate(["Clark et al. 2019", "Pande et al. 2021", "Portrait"]):
        (tmp_path / str(at)).mkdir()
        name = "index.html" if at == 2 else "a paper.html"
        pages.append(paper(tmp_path / str(at) / name, first, ["yes"], label))
    index = write_gallery([first, other()], tmp_path / "site", papers=pages)
    papers = front(index.parent).packs()["gallery"][0]["models"][0]["papers"]
    files = [index.parent / unquote(one["href"]) for one in papers]
    assert len(set(files)) == 3
    assert [pack_of(file, "document")["label"] for file in files] == [
        "Clark et al. 2019", "Pande et al. 2021", "Portrait",
    ]  # fmt: skip
    with pytest.raises(KeyError):
        pack_of(index.parent / "made" / "index.html", "document")


def test_a_site_of_nothing_is_refused(tmp_path):
    with pytest.raises(UserError, match="the results of one model or more; got none"):
        write_gallery([], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_pack_that_would_fill_the_memory_is_refused(monkeypatch):
    monkeypatch.setitem(unpack.__globals__, "LARGEST", 1000)
    with pytest.raises(ValueError, match="unpacks to more"):
        unpack(gzip.compress(bytes(5000)))


def test_names_are_text_on_the_front_page(tmp_path):
    index = write_gallery([hostile(), other()], tmp_path / "site")
    page = index.read_text(encoding="utf-8")
    plain = write_gallery([made_results(), other()], tmp_path / "plain").read_text(encoding="utf-8")
    assert [tag for tag, _ in Reader(page).elements] == [tag for tag, _ in Reader(plain).elements]
    assert front(index.parent).packs()["atlas-1"][0]["model"]["name"] == HOSTILE
    folders = [one.name for one in (tmp_path / "site").iterdir() if one.is_dir()]
    assert all(re.fullmatch(r"[\w-]+", name) for name in folders)


def test_the_pack_of_a_page_is_read_back(tmp_path):
    page = paper(tmp_path / "a.html", made_results(), ["yes"])
    assert pack_of(page, "document")["verdicts"] == ["yes"]
    with pytest.raises(KeyError):
        pack_of(page, "nothing")


@pytest.mark.page
def test_the_front_page_in_a_browser(visit, demo_results, tmp_path):
    pages = [paper(tmp_path / "clark.html", demo_results, ["yes", "no"])]
    index = write_gallery([demo_results, other()], tmp_path / "site", papers=pages)
    opened = visit(index, charts=False)
    page = opened.page
    page.wait_for_selector(".hs-gallery-model")
    assert page.locator(".hs-gallery-model h2").all_inner_texts() == ["demo", "other"]
    assert "(1 of 2 claims hold)" in page.locator(".hs-gallery-model").first.inner_text()
    row = page.locator(".hs-gallery-claims tbody tr").first.inner_text()
    assert row.split() == ["Claim", "0", "✓", "holds"]
    page.locator(".hs-gallery-search input").fill("previous token")
    link = page.locator(".hs-gallery-hits a").first
    name = link.inner_text().split()[-1]
    said = demo_results.head(name).description.lead.lower()
    assert "previous token" in said.replace("-", " ")
    folder, _, at = (link.get_attribute("href") or "").partition("/index.html")
    assert (folder, at) == ("demo", f"#/head/{name}")
    head = visit(index.parent / "demo" / "index.html", charts=False, at=at).page
    head.wait_for_selector(".hs-head h1")
    assert head.locator(".hs-head h1").inner_text().startswith(name)
    assert (opened.asked, opened.complaints) == ([], [])
