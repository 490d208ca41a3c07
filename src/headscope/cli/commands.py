"""Which commands there are. A command's module is imported when it is called: all take 0.15 s."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module

from typer import Typer

COMMANDS = (
    *("demo", "head", "heads", "examples", "attention", "explore"),
    *("survey", "compare", "portrait", "circuits", "retrieval", "track", "paper"),
    *("dependencies", "coreference", "roles", "frames", "patterns"),
    *("probe", "tasks", "tune", "ablate", "label"),
    *("report", "figures", "ls", "export", "merge", "cite", "check"),
)
"""In the order of help. Each is defined in the module of its name."""
READING = frozenset({"cite", "export", "figures", "head", "heads", "ls", "merge", "report"})
"""Those that only read results: they load no model."""


def load(names: Iterable[str]) -> Typer:
    """The command line with some of its commands.

    Parameters
    ----------
    names
        Which of :data:`COMMANDS`.
    """
    from headscope.cli.root import app

    for name in names:
        import_module(f"headscope.cli.{name}")
    return app


def called(arguments: Sequence[str]) -> Iterable[str]:
    """The command that a command line calls; all of them where it calls none, as for help.

    Examples
    --------
    >>> called(["report", "demo.nc"])
    ('report',)
    >>> called(["--help"]) == COMMANDS == called(["repport"])
    True
    """
    first = arguments[0] if arguments else ""
    return (first,) if first in COMMANDS else COMMANDS
