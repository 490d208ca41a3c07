"""Every command, option, measure, figure and public name is documented."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import headscope as hs
from docs.pages import (
    DOCS,
    GUIDES,
    ROOT,
    commands,
    figure_names,
    has_option,
    has_row,
    hooks,
    measure_names,
    options,
    read,
)
from headscope.cli.app import app


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_option_is_explained_on_a_page_that_shows_its_command(command: str) -> None:
    texts = [read(page) for page in GUIDES]
    there = [text for text in texts if re.search(rf"headscope {command}\b", text)]
    assert there, f"no page of the docs shows 'headscope {command}'"
    missing = [
        names[0]
        for names in options(commands()[command])
        if not any(has_option(text, names) for text in there)
    ]
    assert not missing, f"no page with 'headscope {command}' explains {', '.join(missing)}"


def test_the_options_of_headscope_itself_are_documented() -> None:
    group: Any = typer.main.get_command(app)
    texts = [read(page) for page in GUIDES]
    assert all(any(has_option(text, names) for text in texts) for names in options(group))


@pytest.mark.parametrize("command", sorted(commands()))
def test_the_generated_reference_has_every_option_that_the_help_shows(command: str) -> None:
    terminal = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    shown = CliRunner().invoke(app, [*command.split(), "--help"], env=terminal).stdout
    listed = set(re.findall(r"│ \*? *(--[a-z0-9-]+)", shown)) - {"--help"}
    assert listed
    sections = re.split(r"^## ", hooks().cli_reference(), flags=re.MULTILINE)
    own = next(part for part in sections if part.startswith(f"headscope {command}\n"))
    assert {option for option in listed if f"| `{option}`" not in own} == set()


def test_the_reference_has_every_public_name() -> None:
    text = "".join(read(page) for page in (DOCS / "reference").glob("*.md"))
    assert [name for name in hs.__all__ if f"`hs.{name}`" not in text] == []


@pytest.mark.parametrize("measure", measure_names())
def test_every_measure_is_listed_in_readme_and_docs_and_its_method_is_explained(
    measure: str,
) -> None:
    assert has_row(read(ROOT / "README.md"), measure)
    assert any(has_row(read(page), measure) for page in GUIDES)
    methods = [page for page in GUIDES if page.stem == "methods" or page.parent.name == "papers"]
    name = re.escape(measure)
    explained = re.compile(rf"^#+ .*\b{name}\b|`{name}`", re.MULTILINE)
    assert any(explained.search(read(page)) for page in methods)


def test_every_figure_is_listed_in_the_docs() -> None:
    texts = [read(page) for page in GUIDES]
    names = figure_names()
    assert len(names) >= 9
    assert [name for name in names if not any(has_row(text, name) for text in texts)] == []
