"""Links lead to files, and the commands on a page exist."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from docs.pages import FENCE, PAGES, command_lines, name_of, read
from headscope.cli.app import called, load_commands, make_app

LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file(page):
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", read(page)))
    targets = [match["target"] for match in LINK.finditer(text)]
    files = [target.partition("#")[0] for target in targets if not re.match(r"[a-z]+:|#", target)]
    assert [file for file in files if not (page.parent / file).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_on_a_page_has_existing_options_and_arguments(page):
    known = load_commands()
    for words in command_lines(page):
        if not {"--help", "--version", "--install-completion"} & set(words):
            name = called(words)
            assert name, f"there is no command {shlex.join(words)}"
            app = make_app(replace(known[name], words=tuple(words)))
            # Raises for an option or argument that does not exist.
            app.parse_args(words, exit_on_error=False, print_error=False)
