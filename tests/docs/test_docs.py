"""The documentation says what is there: every command, option, measure and figure has its place, every link leads somewhere, and every example runs."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

import headscope as hs
from headscope.cli.app import app
from headscope.figures import all_figures
from headscope.measures import MEASURES
from planted import HEADS, POSITIONS, planted_bert

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.rglob("*.md")),
]
GUIDES = [
    page
    for page in PAGES
    if DOCS in page.parents and page.parent.name not in {"reference", "findings"}
]
RUN = [ROOT / "README.md", *GUIDES]

FENCE = re.compile(
    r"^(?P<skip><!-- no-run -->\n)?^```(?P<kind>\w*)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
OUTSIDE = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc=["']?(?:https?:)?//|<link[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon)[^>]*href=["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


class Block(NamedTuple):
    kind: str
    code: str
    run: bool


def blocks(text: str, kind: str) -> list[Block]:
    """The fenced blocks of one language, in order."""
    return [
        Block(kind, match["code"], match["skip"] is None)
        for match in FENCE.finditer(text)
        if match["kind"] == kind
    ]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands() -> dict[str, Any]:
    found: dict[str, Any] = hooks().all_commands(typer.main.get_command(app))
    return found


def options(command: Any) -> list[list[str]]:
    """The names of each option, long and short."""
    return [parameter.opts for parameter in command.params if parameter.param_type_name == "option"]


def has_option(text: str, names: list[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){name}(?![\w-])", text) for name in names)


def guides() -> list[str]:
    return [page.read_text(encoding="utf-8") for page in GUIDES]


def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_command_and_each_of_its_options_is_on_a_task_page_that_names_the_command(
    command: str,
) -> None:
    there = [text for text in guides() if re.search(rf"headscope {command}\b", text)]
    assert there, f"no page of the docs has 'headscope {command}'"
    missing = [
        names[0]
        for names in options(commands()[command])
        if not any(has_option(text, names) for text in there)
    ]
    assert not missing, f"no page with 'headscope {command}' explains {', '.join(missing)}"


def test_the_options_of_the_command_itself_are_in_the_docs() -> None:
    group: Any = typer.main.get_command(app)
    assert all(any(has_option(text, names) for text in guides()) for names in options(group))


@pytest.mark.parametrize("command", sorted(commands()))
def test_the_generated_reference_has_every_option_that_the_help_shows(command: str) -> None:
    shown = (
        CliRunner()
        .invoke(
            app,
            [*command.split(), "--help"],
            env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"},
        )
        .stdout
    )
    promised = set(re.findall(r"│ \*? *(--[a-z0-9-]+)", shown)) - {"--help"}
    assert promised
    section = re.split(r"^## ", hooks().cli_reference(), flags=re.MULTILINE)
    own = next(part for part in section if part.startswith(f"headscope {command}\n"))
    assert {option for option in promised if f"| `{option}`" not in own} == set()


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "reference" / "headscope.md").read_text(encoding="utf-8")
    assert [name for name in hs.__all__ if f"`hs.{name}`" not in text] == []


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_every_measure_is_in_the_table_of_measures_and_its_method_is_told(measure: str) -> None:
    assert f"\n| `{measure}` |" in (DOCS / "tasks" / "survey.md").read_text(encoding="utf-8")
    assert f"\n| `{measure}` |" in (ROOT / "README.md").read_text(encoding="utf-8")
    methods = [DOCS / "methods.md", *(DOCS / "papers").rglob("*.md")]
    assert any(
        re.search(
            rf"^#+ .*\b{re.escape(measure)}\b|`{re.escape(measure)}`",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
        for page in methods
    )


def test_every_figure_is_in_the_table_of_figures() -> None:
    names = [figure.name for figure in all_figures()]  # whatever results they need
    assert len(names) >= 9
    text = (DOCS / "tasks" / "figures.md").read_text(encoding="utf-8")
    assert [name for name in names if f"\n| `{name}` |" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
    targets = [
        match["target"]
        for match in LINK.finditer(text)
        if not re.match(r"[a-z]+:|#", match["target"])
    ]
    assert [
        target for target in targets if not (page.parent / target.partition("#")[0]).exists()
    ] == []


def lines_of_shell(page: Path) -> Iterator[list[str]]:
    """The words of each ``headscope`` command on a page, without what follows a pipe, a redirection or a comment."""
    for block in blocks(page.read_text(encoding="utf-8"), "sh"):
        for line in block.code.replace("\\\n", " ").splitlines():
            if line.startswith("headscope "):
                words = shlex.split(line, comments=True)
                yield words[
                    1 : next(
                        (
                            place
                            for place, word in enumerate(words)
                            if word in {"|", ">", "&&", ";"}
                        ),
                        len(words),
                    )
                ]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_that_is_printed_is_one_that_can_be_typed(page: Path) -> None:
    group: Any = typer.main.get_command(app)
    for words in lines_of_shell(page):
        if not {"--help", "--version"} & set(words):
            context = group.make_context("headscope", list(words))
            name, command, rest = group.resolve_command(context, words)
            command.make_context(
                name, list(rest), parent=context
            )  # raises for an option or argument that does not exist


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in RUN
        if any(block.run for block in blocks(page.read_text(encoding="utf-8"), "python"))
    ],
    ids=name_of,
)
def test_the_python_blocks_of_a_page_run_in_order(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "docs_example"}
    for number, block in enumerate(blocks(page.read_text(encoding="utf-8"), "python"), 1):
        if block.run:
            exec(compile(block.code, f"{name_of(page)}, block {number}", "exec"), names)


@pytest.fixture
def segment_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The package of 'Add a measure' as pip would leave it: the module of the page's first block, and the entry points of its toml block."""
    text = (DOCS / "tasks" / "measure.md").read_text(encoding="utf-8")
    project = tomllib.loads(blocks(text, "toml")[0].code)["project"]
    points = project["entry-points"]["headscope.measures"]
    module = next(iter(points.values())).partition(":")[0]
    (tmp_path / f"{module}.py").write_text(blocks(text, "python")[0].code)
    info = tmp_path / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (info / "entry_points.txt").write_text(
        "[headscope.measures]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
    )
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(MEASURES._entries)
    MEASURES._asked = False
    yield next(iter(points))
    MEASURES._entries = before
    MEASURES._asked = False
    sys.modules.pop(module, None)


def test_the_measure_of_the_docs_is_found_by_its_entry_point_and_finds_the_segment_head(
    segment_package: str,
) -> None:
    texts = [("the dog sat", "the cat")]  # [CLS] the dog sat [SEP] the cat [SEP]
    found = hs.survey(planted_bert(), hs.corpus.from_texts(texts), max_length=POSITIONS).mean(
        segment_package
    )
    layer, head = HEADS[
        "segment"
    ]  # attends to all tokens of its type: 5 in the first text with its special tokens, 3 in the second
    assert found.sel(layer=layer, head=head, text="same").item() == pytest.approx(
        (3 * 3 / 5 + 2 * 2 / 3) / 5, abs=1e-5
    )
    assert found.sel(layer=layer, head=head, text="other").item() == pytest.approx(0.0, abs=1e-5)
    layer, head = HEADS["uniform"]
    assert found.sel(layer=layer, head=head, text="same").item() == pytest.approx(
        (3 * 3 + 2 * 2) / 8 / 5, abs=1e-5
    )
    assert found.sel(layer=layer, head=head, text="other").item() == pytest.approx(
        2 * 3 * 2 / 8 / 5, abs=1e-5
    )


def test_the_measure_of_the_docs_is_not_offered_where_no_example_is_a_pair(
    segment_package: str,
) -> None:
    assert (
        segment_package
        not in hs.survey(
            planted_bert(), hs.corpus.from_texts(["the dog sat"]), max_length=POSITIONS
        ).measures
    )


OFFLINE = """
import socket, sys

def refuse(*_):
    raise OSError("the build asked for the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from mkdocs.__main__ import cli
cli(sys.argv[1:])
"""


@pytest.mark.slow
def test_the_site_builds_strictly_without_a_network_and_needs_none_to_be_read(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    built = subprocess.run(
        [sys.executable, "-c", OFFLINE, "build", "--strict", "--quiet", "--site-dir", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(GUIDES)
    assert [
        str(page.relative_to(site))
        for page in pages
        if OUTSIDE.search(page.read_text(encoding="utf-8"))
    ] == []
    assert [
        sheet.name
        for sheet in site.rglob("*.css")
        if OUTSIDE.search(sheet.read_text(encoding="utf-8"))
    ] == []
    reference = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    assert all(f"headscope {command}" in reference for command in commands())
