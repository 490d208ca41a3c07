"""The whole command line: importing this brings all commands together, in the order in which help lists them."""

from headscope.cli import surveys  # isort: skip
from headscope.cli import clark, papers  # isort: skip
from headscope.cli.root import app

__all__ = ["app", "clark", "papers", "surveys"]
