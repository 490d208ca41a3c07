"""The whole command line, with all commands in the order of help."""

from headscope.cli.commands import COMMANDS, load

__all__ = ["app"]

app = load(COMMANDS)
