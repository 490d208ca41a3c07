"""The whole command line: importing this brings all commands together, in the order of help."""

from headscope.cli import demo, head, heads, examples, attention, explore  # isort: skip
from headscope.cli import survey, compare, portrait, circuits, retrieval, track  # isort: skip
from headscope.cli import plan, paper  # isort: skip
from headscope.cli import dependencies, coreference, roles, frames, patterns  # isort: skip
from headscope.cli import probe, tasks, tune, ablate, label  # isort: skip
from headscope.cli import report, figures, ls, export, merge, cite  # isort: skip
from headscope.cli.root import app

__all__ = [
    "ablate",
    "app",
    "attention",
    "circuits",
    "cite",
    "compare",
    "coreference",
    "demo",
    "dependencies",
    "examples",
    "explore",
    "export",
    "figures",
    "frames",
    "head",
    "heads",
    "label",
    "ls",
    "merge",
    "paper",
    "patterns",
    "plan",
    "portrait",
    "probe",
    "report",
    "retrieval",
    "roles",
    "survey",
    "tasks",
    "track",
    "tune",
]
