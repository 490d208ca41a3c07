"""The Python examples of README and docs run, and the example measure computes what it should."""

from __future__ import annotations

import sys
import tomllib
from typing import Any

import pytest

import headscope as hs
from docs.pages import GUIDES, ROOT, blocks, name_of, read
from headscope.figures import FIGURES
from headscope.measures import MEASURES
from planted import HEADS, POSITIONS, planted_bert

GROUP = "headscope.measures"
RUN = [
    page
    for page in (ROOT / "README.md", *GUIDES)
    if any(block.run for block in blocks(read(page), "python"))
]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_the_python_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # A figure that a page registers is forgotten afterwards.
    monkeypatch.setattr(FIGURES, "_entries", dict(FIGURES._entries))
    names: dict[str, Any] = {"__name__": "docs_example"}
    for number, block in enumerate(blocks(read(page), "python"), 1):
        if block.run:
            exec(compile(block.code, f"{name_of(page)}, block {number}", "exec"), names)


def measure_page() -> tuple[str, dict[str, Any]]:
    """The page that shows a package with a measure, and the ``project`` table it shows."""
    for page in GUIDES:
        for block in blocks(read(page), "toml"):
            project = tomllib.loads(block.code).get("project", {})
            if GROUP in project.get("entry-points", {}):
                return read(page), project
    raise AssertionError(f"no page shows how a package adds a measure ({GROUP})")


@pytest.fixture
def segment_package(tmp_path, monkeypatch):
    """The documented package as pip would install it: a module and its entry point."""
    text, project = measure_page()
    points = project["entry-points"][GROUP]
    module = next(iter(points.values())).partition(":")[0]
    (tmp_path / f"{module}.py").write_text(blocks(text, "python")[0].code)
    info = tmp_path / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}")
    monkeypatch.syspath_prepend(tmp_path)
    assert len(MEASURES)  # all chapters are read
    before = dict(MEASURES._entries)
    MEASURES._asked = False
    yield next(iter(points))
    MEASURES._entries = before
    MEASURES._asked = False
    sys.modules.pop(module, None)


def test_the_documented_measure_is_found_and_recognises_the_segment_head(segment_package):
    texts = [("the dog sat", "the cat")]  # [CLS] the dog sat [SEP] the cat [SEP]
    results = hs.survey(planted_bert(), hs.corpus.from_texts(texts), max_length=POSITIONS)
    means = results.mean(segment_package)
    # The planted head attends to all tokens of its own segment: 5 in the first text with its
    # special tokens, 3 in the second. Three of the words are in the first, two in the second.
    expected = {
        ("segment", "same"): (3 * 3 / 5 + 2 * 2 / 3) / 5,
        ("segment", "other"): 0.0,
        ("uniform", "same"): (3 * 3 + 2 * 2) / 8 / 5,
        ("uniform", "other"): 2 * 3 * 2 / 8 / 5,
    }
    for (planted, text), value in expected.items():
        layer, head = HEADS[planted]
        found = means.sel(layer=layer, head=head, text=text).item()
        assert found == pytest.approx(value, abs=1e-5)


def test_the_documented_measure_is_not_offered_for_single_texts(segment_package):
    texts = hs.corpus.from_texts(["the dog sat"])
    results = hs.survey(planted_bert(), texts, max_length=POSITIONS)
    assert segment_package not in results.measures
