"""What the documentation makes of the code when it is built: the command-line reference, from the
commands themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.cli.app import Command
    from headscope.options import Described

PAGE = "reference/cli.md"
SHIM = "https://unpkg.com/iframe-worker/shim"
"""What the offline plugin would load from the network for search to work from disk."""


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put the commands on the page of the command line."""
    return f"{markdown}\n{cli_reference()}" if page.file.src_uri == PAGE else markdown


def on_post_page(output: str, *, page: Any, **_: Any) -> str:
    """Load the script that search needs from the site itself."""
    up = "../" * page.file.dest_uri.count("/")
    return output.replace(SHIM, f"{up}javascripts/iframe-worker.js")


def on_post_template(output: str, *, template_name: str, **_: Any) -> str:
    """The page for addresses that do not exist is not a page of the site."""
    return output.replace(SHIM, "/javascripts/iframe-worker.js")


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
