"""The whole command line: importing this brings all commands together, in the order in which help lists them."""

from headscope.cli import surveys  # isort: skip
from headscope.cli import attention, dependencies, coreference, roles, paper  # isort: skip
from headscope.cli import tune  # isort: skip
from headscope.cli import ablate  # isort: skip
from headscope.cli import compare  # isort: skip
from headscope.cli import patterns, label  # isort: skip
from headscope.cli import probe, probing  # isort: skip
from headscope.cli.root import app

__all__ = [
    "ablate",
    "app",
    "attention",
    "compare",
    "coreference",
    "dependencies",
    "label",
    "paper",
    "patterns",
    "probe",
    "probing",
    "roles",
    "surveys",
    "tune",
]
