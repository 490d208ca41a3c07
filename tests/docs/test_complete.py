"""Every command, option, measure, figure and public name is documented."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from functools import cache
from types import ModuleType

import pytest

import headscope as hs
from docs.pages import DOCS, GUIDES, figure_names, has_row, hooks, measure_names, read
from headscope.cli.app import COMMANDS, load_commands
from headscope.measures import MEASURES

NAMES = sorted(load_commands())
reference = cache(lambda name: str(hooks().reference(name)))


@pytest.mark.parametrize("command", NAMES)
def test_a_page_written_for_readers_shows_the_command(command):
    shown = re.compile(rf"headscope {command}\b")
    assert any(shown.search(read(page)) for page in GUIDES)


@pytest.mark.parametrize("command", NAMES)
def test_the_generated_reference_has_every_option_that_the_help_shows(command, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    listed = set(re.findall(r"│ (--[a-z0-9.-]+)", run(*command.split(), "--help").out))
    assert listed
    sections = re.split(r"^## ", reference("cli"), flags=re.MULTILINE)
    own = next(part for part in sections if part.startswith(f"headscope {command}\n"))
    assert {option for option in listed if f"| `{option}`" not in own} == set()


def test_the_reference_has_the_options_that_a_word_chooses():
    text = reference("cli")
    chosen = [
        option.flag
        for command in COMMANDS.values()
        if not isinstance(command.takes, str)
        for word in command.takes
        for option in replace(command, words=(word,)).options.values()
    ]
    assert chosen
    assert [flag for flag in chosen if f"`{flag}`" not in text] == []


def test_the_reference_has_every_public_name_and_links_to_its_page():
    table = reference("headscope")
    public = [name for name in hs.__all__ if not isinstance(getattr(hs, name), ModuleType)]
    assert len(public) > 40
    assert [name for name in public if f"| [`hs.{name}`](" not in table] == []
    pages = set(re.findall(r"\]\((\w+)\.md\)", table))
    assert all((DOCS / "reference" / f"{page}.md").exists() for page in pages)


@pytest.mark.parametrize("package", ["corpus", "measures", "models", "results", "runs"])
def test_the_reference_of_a_package_names_modules_that_exist(package):
    modules = re.findall(r"^::: (\S+)$", reference(package), re.MULTILINE)
    assert modules
    assert all(importlib.util.find_spec(module) for module in modules)


@pytest.mark.parametrize("measure", measure_names())
def test_every_measure_is_listed_and_its_method_is_explained(measure):
    assert has_row(reference("measures"), measure)
    methods = [page for page in GUIDES if page.stem == "methods" or page.parent.name == "papers"]
    name = re.escape(measure)
    explained = re.compile(rf"^#+ .*\b{name}\b|`{name}`", re.MULTILINE)
    in_reference = "References\n" in (MEASURES[measure].__doc__ or "")
    assert in_reference or any(explained.search(read(page)) for page in methods)


def test_every_figure_is_listed_and_shown_in_the_gallery():
    table, names = reference("figures"), figure_names()
    assert len(names) >= 9
    assert [name for name in names if not has_row(table, name)] == []
    gallery = read(DOCS / "reference" / "gallery.md")
    assert [name for name in names if f"`{name}`" not in gallery] == []
