"""The command line, run in this process."""

from cli.conftest import handlers, run

__all__ = ["handlers", "run"]
