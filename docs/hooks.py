"""What the documentation makes of the code when it is built: the reference pages, from the
definitions of commands, measures, figures and public names, and the atlas on the home page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from inspect import cleandoc
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.cli.app import Command
    from headscope.options import Described

SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the offline plugin would load from the network for search to work from disk."""
PACKAGE = Path(__file__).parents[1] / "src" / "headscope"
VOCABULARY = ("heads", "errors", "options", "files", "registry", "progress", "identity", "numbers")
"""Modules that belong to no folder."""


MODELS = Path(__file__).parents[1] / "out" / "models"
"""What ``make models`` makes: results of several models, and pages of papers about them."""
ATLAS = "<!-- atlas -->"
"""Where the home page shows the atlas of the embedded model."""
FRAME = """<iframe src="atlas.html?embed#/atlas" title="The atlas of the embedded model"
 width="100%" height="640" style="border: 0" loading="lazy"></iframe>"""
PICTURE = "![One cell per head, coloured by what the head does most](images/page/atlas.png)"


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """Add what is generated to the pages of the reference, and the atlas to the home page."""
    folder, _sep, name = page.file.src_uri.removesuffix(".md").partition("/")
    if ATLAS in markdown:
        return markdown.replace(ATLAS, live_atlas(Path(config.site_dir)))
    return f"{markdown}\n{reference(name)}" if folder == "reference" else markdown


def live_atlas(site: Path) -> str:
    """Write a report of the embedded model into the site, and show it in a frame; and a site of
    several models (``make models``), in small where that was not made.

    Where the embedded models are not installed, the home page has a picture instead.
    """
    import headscope as hs

    try:
        atlas = hs.survey("demo", hs.read("demo", limit=24), examples=8)
        models = [hs.open(path) for path in sorted(MODELS.glob("*.nc"))] or [
            atlas,
            hs.survey("demo-llm", hs.read("demo", limit=8), examples=4),
        ]
    except hs.UserError:
        return PICTURE
    site.mkdir(parents=True, exist_ok=True)
    atlas.report(site / "atlas.html")
    hs.page.write_gallery(models, site / "models", papers=sorted(MODELS.glob("*/*.html")))
    return FRAME


def reference(name: str) -> str:
    """What the code says of itself on a page of the reference; empty for pages that are written."""
    if name == "cli":
        return cli_reference()
    if name == "headscope":
        return public_names()
    if name == "vocabulary":
        return _modules(VOCABULARY)
    if not (PACKAGE / name).is_dir():
        return ""
    table = _measures() if name == "measures" else _figures() if name == "figures" else ""
    return f"{table}\n{_modules(public_modules(name))}"


def _modules(names: Iterable[str]) -> str:
    return "\n".join(f"::: headscope.{name}\n" for name in names)


def public_modules(package: str) -> list[str]:
    """The modules of a folder that define what it, or headscope itself, offers."""
    modules: dict[str, None] = {}
    for contents in (PACKAGE / package, PACKAGE):
        for module in chain.from_iterable(map(_imports, contents.glob("__init__.py*"))):
            whole = module if contents == PACKAGE else f"{package}.{module}"
            if whole.split(".")[0] == package and whole != package:
                modules[whole] = None
    return list(modules)


def _imports(file: Path) -> list[str]:
    """The modules of its own folder, or of this package, that a file imports from."""
    tree = ast.parse(file.read_text("utf-8"))
    froms = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    relative = [str(node.module) for node in froms if node.level == 1]
    prefix = ".".join(("headscope", *file.parent.relative_to(PACKAGE).parts, ""))
    absolute = [str(node.module) for node in froms if str(node.module).startswith(prefix)]
    return relative + [module.removeprefix(prefix) for module in absolute]


def public_names() -> str:
    """A table of everything that headscope offers, with the page that describes it."""
    import headscope as hs

    rows = []
    for name in sorted(hs.__all__, key=str.lower):
        found = getattr(hs, name)
        if isinstance(found, ModuleType):
            continue
        module = getattr(found, "__module__", "headscope.results").split(".")
        page = module[1] if (PACKAGE / module[1]).is_dir() else "vocabulary"
        about = cleandoc(found.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| [`hs.{name}`]({page}.md) | {about} |")
    return "\n".join(["| name | what it is |", "|---|---|", *rows])


MOST = 6
"""Of a dimension with more labels, the first few are shown."""
NEEDS = {"lm": "a language-model head", "tree": "a tree", "frames": "frame links"}


def _measures() -> str:
    """A table of all measures, in the order in which a survey lists them."""
    from headscope.measures import MEASURES

    columns = (_sentence, _when, _labels, _source)
    rows = [
        "| measure | what it says about each head | when | labels | source |",
        "|---|" + "---|" * 4,
    ]
    for name in MEASURES:
        cells = (column(MEASURES[name]) for column in columns)
        rows.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _sentence(measure: Any) -> str:
    """The first sentence of a measure's documentation, without references to papers."""
    text = " ".join(cleandoc(measure.__doc__ or "").split())
    text = re.sub(r" \([A-Z]\w+ et al\.[^()]*\)", "", text)
    first = re.match(r"(.*?[a-z)\]`])\.(?= [A-Z0-9*`]|$)", text)
    said = first[1] if first else text.rstrip(".")
    said = re.sub(r"(?<!`)(\[(?:CLS|SEP)\])", r"`\1`", said.replace("``", "`"))
    return said.replace("|", r"\|")


def _when(measure: Any) -> str:
    """When a survey computes a measure."""
    from headscope.measures import MEASURES

    needs = " and ".join(NEEDS.get(name, name) for name in sorted(measure.needs, reverse=True))
    with_others = [
        f"`{name}`" for name in MEASURES if measure.name in MEASURES[name]().beside()
    ] + (["`--pass.stack cross`"] if measure.cross else [])
    by_name = " or with ".join(["by name", ", ".join(with_others)][: 1 + bool(with_others)])
    parts = (f"needs {needs}" if needs else "", "" if measure.offered else by_name)
    return "; ".join(part for part in parts if part)


def _labels(measure: Any) -> str:
    """The dimensions of a measure and their labels."""
    return "; ".join(
        f"{dim}: {', '.join(names[:MOST])}{' …' if len(names) > MOST else ''}" if names else dim
        for dim, names in measure.dims.items()
    )


def _source(measure: Any) -> str:
    """The paper that a measure comes from."""
    return "" if measure.source == "Headscope" else str(measure.source)


def _figures() -> str:
    """A table of all figures."""
    from headscope.figures import all_figures

    rows = [f"| `{one.name}` | {one.title} |" for one in all_figures()]
    return "\n".join(["| figure | what it shows |", "|---|---|", *rows])


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Load the script that search needs from the site itself."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace(SHIM, f"{up}javascripts/iframe-worker.js")


def on_post_template(output: str, *, template_name: str, **_: Any) -> str:
    """The page for addresses that do not exist is not a page of the site."""
    return output.replace(SHIM, "/javascripts/iframe-worker.js")


MOVED = {
    "start": "tutorials/start",
    "tutorial": "tutorials/hour",
    "tasks/survey": "howto/survey",
    "tasks/norm-weighted": "howto/survey",
    "tasks/corpora": "howto/corpora",
    "tasks/split": "howto/long-runs",
    "tasks/cluster": "howto/long-runs",
    "tasks/compare": "howto/compare",
    "tasks/checkpoints-and-nulls": "howto/compare",
    "tasks/results": "howto/results",
    "tasks/scripts": "howto/results",
    "tasks/roles": "howto/heads",
    "tasks/examples": "howto/heads",
    "tasks/report": "howto/pages",
    "tasks/explore": "howto/pages",
    "tasks/notebooks": "howto/pages",
    "tasks/figures": "howto/figures",
    "tasks/portrait": "howto/language-models",
    "tasks/circuits": "howto/language-models",
    "tasks/retrieval": "howto/language-models",
    "tasks/logits": "howto/language-models",
    "tasks/attention": "howto/attention",
    "tasks/observe": "howto/attention",
    "tasks/ablate": "howto/ablate",
    "tasks/tune": "howto/tune",
    "tasks/probe": "howto/probe",
    "tasks/probing-tasks": "howto/probe",
    "tasks/sentence-vectors": "howto/probe",
    "tasks/measure": "howto/measure",
    "tasks/sieve": "howto/sieve",
    "tasks/label": "howto/patterns",
    "tasks/patterns": "howto/patterns",
    "findings/clark2019": "papers/clark2019",
    "findings/kovaleva2019": "papers/kovaleva2019",
    "findings/pande2021": "papers/pande2021",
    "findings/jo2020": "papers/jo2020",
    "concepts": "explanation/concepts",
    "methods": "explanation/methods",
    "checks": "explanation/checks",
    "reliability": "explanation/checks",
    "benchmarks": "explanation/checks",
    "models": "reference/supported-models",
    "errors": "reference/messages",
    "gallery": "reference/gallery",
}
"""Pages by their old addresses."""
REDIRECT = """<!doctype html>
<meta charset="utf-8">
<title>Moved</title>
<link rel="canonical" href="{to}">
<meta http-equiv="refresh" content="0; url={to}">
<a href="{to}">This page has moved.</a>
"""


def on_post_build(*, config: Any, **_: Any) -> None:
    """Leave a page at every old address that leads to the new one."""
    for old, new in MOVED.items():
        page = Path(config.site_dir, f"{old}.html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(REDIRECT.format(to="../" * old.count("/") + f"{new}.html"))


def cli_reference() -> str:
    """Every command with its arguments and options, as Markdown."""
    from headscope.cli.app import load_commands

    return "\n".join(line for command in load_commands().values() for line in _command(command))


def _command(command: Command) -> Iterator[str]:
    yield f"\n## headscope {command.full_name}\n"
    for paragraph in cleandoc(command.function.__doc__ or "").split("\n\n"):
        example = paragraph.partition("Example: ")[2]
        yield f"```sh\n{example}\n```\n" if example else f"{paragraph}\n"
    for argument in command.arguments():
        name, words = described_argument(argument)
        yield f"- `{name}`: {words}"
    yield from _table(command.options.values())
    if not isinstance(command.takes, str):  # one word chooses among several kinds of options
        shared = set(command.options)
        for word in filter(None, command.takes):
            chosen = replace(command, words=(word,))
            own = [option for key, option in chosen.options.items() if key not in shared]
            if own:
                yield f"\n### {word}\n"
                yield from _table(own)


def described_argument(argument: Any) -> tuple[str, str]:
    """What help calls an argument, and what it says of it."""
    note = argument.annotation.__metadata__[0]
    return (note.name or (argument.name.upper(),))[0], note.help


def _table(options: Iterable[Described]) -> Iterator[str]:
    from headscope.cli.app import help_text, metavar, off_flag

    yield "\n| option | what it does |\n|---|---|"
    for option in options:
        names = filter(None, (option.flag, option.note.short, off_flag(option)))
        shown = ", ".join(f"`{name}`" for name in names)
        value = "" if option.is_switch else f" `{metavar(option)}`".replace("|", "\\|")
        yield f"| {shown}{value} | {help_text(option)} |"
