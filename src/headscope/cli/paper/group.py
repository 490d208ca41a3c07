"""The group of commands under ``headscope paper``, and what all of them do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from headscope.cli.console import Console
from headscope.cli.root import MEASURE, app
from headscope.errors import unknown

if TYPE_CHECKING:
    from headscope.papers import Recipe


class _Papers(TyperGroup):
    """Lists the known papers when another is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            raise unknown("paper", args[0], sorted(self.commands))
        return super().resolve_command(ctx, args)


paper = typer.Typer(
    cls=_Papers,
    no_args_is_help=True,
    help=(
        "Reproduce a paper: all its tables and figures, with the published numbers beside ours.\n\n"
        "An interrupted run resumes when you type the same command again.\n\n"
        "Example: headscope paper clark2019 --model bert-base-uncased "
        "--treebank en_ewt-ud-dev.conllu.gz"
    ),
)
app.add_typer(paper, name="paper", rich_help_panel=MEASURE)


def parts_help(name: str) -> str:
    """List a paper's parts for the help text."""
    from headscope.papers.catalogue import PAPERS

    return "Parts: " + ", ".join(part.name for part in PAPERS[name].parts) + "."


def run_recipe(recipe: Recipe, console: Console) -> None:
    """Run a recipe; print its tables as JSON if asked, and the path of its page."""
    report = recipe.run()
    if console.as_json:
        console.json(report.records())
    console.result(str(report.page))
