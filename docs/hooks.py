"""What the documentation makes of the code when it is built: the command-line reference, from the
commands themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    import typer

    from headscope.cli.app import app

    group: Any = typer.main.get_command(app)
    return "\n".join(
        [
            *_table(group.params),
            *(
                line
                for name, command in all_commands(group).items()
                for line in _command(name, command)
            ),
        ]
    )


def all_commands(group: Any, before: str = "") -> dict[str, Any]:
    """Every command by what is typed for it; those of a group (``paper``) under the group's name,
    in place of it.
    """
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        found |= (
            all_commands(command, f"{before}{name} ")
            if hasattr(command, "commands")
            else {f"{before}{name}": command}
        )
    return found


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [
        parameter for parameter in command.params if parameter.param_type_name == "argument"
    ]
    yield f"\n## headscope {name}\n"
    for paragraph in command.help.split("\n\n"):
        example = paragraph.partition("Example: ")[2]
        yield f"```sh\n{example}\n```\n" if example else f"{paragraph}\n"
    yield from (f"- `{argument.metavar}`: {argument.help}" for argument in arguments)
    yield from _table([parameter for parameter in command.params if parameter not in arguments])


def _table(options: list[Any]) -> Iterator[str]:
    yield "\n| option | default | what it does |\n|---|---|---|"
    for option in options:
        names = ", ".join(f"`{name}`" for name in option.opts)
        value = f" `{option.metavar}`" if option.metavar else ""
        default = f"`{option.default}`" if option.show_default and not option.is_flag else ""
        required = "Required. " if option.required else ""
        yield f"| {names}{value} | {default} | {required}{option.help} |"
