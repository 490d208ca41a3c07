"""The group of commands under ``headscope paper``, and what all of them do."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from headscope.cli.console import Console
from headscope.cli.paper import options as opt
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


@dataclass(frozen=True)
class Common:
    """What the user typed for the options that all recipes share."""

    part: list[str] | None
    output: Path | None
    limit: int | None
    seed: int
    batch_size: int
    max_length: int
    device: str
    overwrite: bool
    json: bool
    quiet: bool

    @cached_property
    def console(self) -> Console:
        """Prints as the user asked."""
        return Console(quiet=self.quiet, as_json=self.json)

    @property
    def options(self) -> dict[str, Any]:
        """The same as parameters of a recipe."""
        return {
            "output": self.output,
            "parts": self.part or (),
            "limit": self.limit,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "max_length": self.max_length,
            "device": self.device,
            "overwrite": self.overwrite,
            "progress": self.console,
        }


def _shared(
    part: opt.Parts = None,
    output: opt.Output = None,
    limit: opt.Limit = None,
    seed: opt.Seed = 0,
    batch_size: opt.BatchSize = 16,
    max_length: opt.MaxLength = 128,
    device: opt.Device = "cpu",
    overwrite: opt.Overwrite = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> Common:
    """The options that all recipes share, with their defaults."""
    return Common(part, output, limit, seed, batch_size, max_length, device, overwrite, json, quiet)


def recipe_command(
    *, batch_size: int = 16, limit: Any = opt.Limit
) -> Callable[[Callable[..., Recipe]], Callable[..., Recipe]]:
    """Make a command of a function that makes a recipe.

    The function's own parameters are options of the command, followed by those that all recipes
    share. It is called with these as ``common``, and the command runs the recipe that it returns.

    Parameters
    ----------
    batch_size
        Another default than that of the other recipes.
    limit
        The option ``--limit``, where it means something else.
    """
    shared = inspect.signature(_shared, eval_str=True).parameters
    changed = {
        "batch_size": shared["batch_size"].replace(default=batch_size),
        "limit": shared["limit"].replace(annotation=limit),
    }
    ours = [changed.get(name, parameter) for name, parameter in shared.items()]

    def register(make: Callable[..., Recipe]) -> Callable[..., Recipe]:
        # Recipe is not imported here: it would take torch with it.
        declared = inspect.signature(make, eval_str=True, locals={"Recipe": object}).parameters
        own = [parameter for name, parameter in declared.items() if name != "common"]

        def command(**values: Any) -> None:
            common = _shared(**{name: values.pop(name) for name in shared})
            run_recipe(make(**values, common=common), common.console)

        command.__name__, command.__doc__ = make.__name__, make.__doc__
        signature = inspect.Signature([*own, *ours])
        command.__signature__ = signature  # type: ignore[attr-defined]
        command.__annotations__ = {
            name: parameter.annotation for name, parameter in signature.parameters.items()
        }
        paper.command(epilog=parts_help(make.__name__))(command)
        return make

    return register


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
