"""Links lead to files, and the commands on a page exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import typer

from docs.pages import FENCE, PAGES, command_lines, name_of, read
from headscope.cli.app import app

LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", read(page)))
    targets = [match["target"] for match in LINK.finditer(text)]
    files = [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    assert [file for file in files if not (page.parent / file).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_on_a_page_has_existing_options_and_arguments(page: Path) -> None:
    group: Any = typer.main.get_command(app)
    for words in command_lines(page):
        if not {"--help", "--version"} & set(words):
            context = group.make_context("headscope", list(words))
            name, command, rest = group.resolve_command(context, words)
            # Raises for an option or argument that does not exist.
            command.make_context(name, list(rest), parent=context)
