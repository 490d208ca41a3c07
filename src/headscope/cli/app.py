"""The command line's options, derived from the definitions that Python's functions take.

A command is a function whose parameters are its arguments, its options (a class of
:mod:`headscope.options`) and a console. :func:`command` makes cyclopts' parameters of the classes'
fields: their names, types, help, panels and completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter as Argument
from inspect import Signature, signature
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from cyclopts import App, Group, Parameter

from headscope.cli.completion import completer
from headscope.cli.console import Console
from headscope.errors import for_command
from headscope.options import Described, Option, Options, alternatives, described, items

LOOK = Group("Look at heads", sort_key=1)
MEASURE = Group("Measure", sort_key=2)
TRAIN = Group("Train and disable", sort_key=3)
FILES = Group("Results and files", sort_key=4)
RARELY = Group("Rarely needed", sort_key=90)
PRINTED = Group("What is printed", sort_key=80)

app = App(
    name="headscope",
    help="Measure what every attention head of a transformer does.\n\n"
    "Example: headscope survey demo demo -o demo.nc && headscope head demo.nc 1-3",
    help_format="plaintext",
    version_flags=["--version"],
    default_parameter=Parameter(negative_iterable=(), consume_multiple=False),
)
FLAGS: dict[str, Mapping[str, str]] = {}
"""What each command calls the options of Python, by the command's name."""

Model = Annotated[
    str,
    Parameter(
        help="A hub id, a model folder, a .gguf file, or an embedded model: demo or demo-llm.",
        completer=completer("models"),
    ),
]
CorpusFile = Annotated[
    str,
    Parameter(
        help="A text, TSV, CSV, JSON-lines or CoNLL file (.gz too), or 'demo' for the built-in "
        "corpus.",
        completer=completer("corpora"),
    ),
]
ResultsFile = Annotated[
    Path, Parameter(help="A results file (.nc) made by 'headscope survey' or another run.")
]


@dataclass(frozen=True, kw_only=True)
class Printing(Options):
    """What is printed.

    Parameters
    ----------
    quiet
        Print only the result.
    json
        Print the table as JSON on standard output; everything else goes to standard error.
    """

    quiet: Annotated[bool, Option(short="-q")] = False
    json: bool = False


Function = TypeVar("Function", bound=Callable[..., Any])


def command(group: Group, *, of: App = app, json: bool = True) -> Callable[[Function], Function]:
    """Add a function to the command line.

    Parameters
    ----------
    group
        Where help lists it.
    of
        The app, or a group of commands in it.
    json
        Whether the command can print JSON.
    """

    def add(function: Function) -> Function:
        hints = get_type_hints(function, include_extras=True)
        parameters: list[Argument] = []
        kinds: dict[str, type[Options]] = {}
        for name, argument in signature(function).parameters.items():
            hint = hints[name]
            if hint is Console:
                kinds[name] = Printing
            elif isinstance(hint, type) and issubclass(hint, Options):
                kinds[name] = hint
            else:
                parameters.append(
                    argument.replace(annotation=hint, kind=_positional(argument.kind))
                )
                continue
            hidden = () if json else ("json",)
            parameters += [one for one in _options(kinds[name]) if one.name not in hidden]
        positional = [one for one in parameters if one.kind is not Argument.KEYWORD_ONLY]
        keyword = [one for one in parameters if one.kind is Argument.KEYWORD_ONLY]

        def call(*given: Any, **named: Any) -> Any:
            made = {
                name: kind(**{key: named[key] for key in described(kind) if _has(named, key)})
                for name, kind in kinds.items()
            }
            consoles = {
                name: Console(quiet=one.quiet, as_json=one.json)
                for name, one in made.items()
                if isinstance(one, Printing)
            }
            return function(*given, **{**made, **consoles})

        call.__signature__ = Signature([*positional, *keyword])  # type: ignore[attr-defined]
        call.__doc__ = function.__doc__
        name = function.__name__.rstrip("_").replace("_", "-")
        call.__name__ = name
        full = name if of is app else f"{of.name[0]} {name}"
        FLAGS[full] = {key: one.flag for kind in kinds.values() for key, one in _flagged(kind)}
        of.command(call, name=name, group=group)
        return function

    return add


def _has(named: Mapping[str, Any], key: str) -> bool:
    return key in named and named[key] is not None


def _positional(kind: Any) -> Any:
    return kind if kind is Argument.VAR_POSITIONAL else Argument.POSITIONAL_ONLY


def _flagged(kind: type[Options]) -> Iterator[tuple[str, Described]]:
    yield from ((key, option) for key, option in described(kind).items() if option.flag)


def _options(kind: type[Options]) -> Iterator[Argument]:
    """The parameters that cyclopts makes options of."""
    flags = {key: option.flag for key, option in _flagged(kind)}
    for key, option in _flagged(kind):
        hint = Annotated[option_type(option), _parameter(option, flags)]
        default = None if option.default in ((), "") else option.default
        yield Argument(key, Argument.KEYWORD_ONLY, default=default, annotation=hint)


def _parameter(option: Described, flags: Mapping[str, str]) -> Parameter:
    note, panel = option.note, option.group.panel
    group: Group | None = Group(panel, sort_key=50) if panel else None
    if option.group is Printing:
        group = PRINTED
    return Parameter(
        name=(option.flag, note.short) if note.short else option.flag,
        help=for_command(option.words, flags),
        group=RARELY if note.rare else group,
        negative=_negative(option),
        metavar=note.metavar or "|".join(option.choices) or None,
        completer=completer(note.completes, option.choices),
        allow_leading_hyphen=True,
        show_default=option.default not in (None, "", (), False, True),
    )


def _negative(option: Described) -> str:
    """How False is said, where a user may have to."""
    if bool not in option.kinds or option.default is False:
        return ""
    return option.note.off or option.flag.replace("--", "--no-", 1)


def option_type(option: Described) -> Any:
    """What the command line makes of the words that are typed."""
    several = [kind for kind in option.kinds if items(kind) != (kind,)]
    single = [kind for kind in option.kinds if items(kind) == (kind,)]
    if several and str not in single:
        (inner,) = items(several[0])
        return list[_typed(alternatives(inner), option)] | None  # type: ignore[misc]
    return _typed(tuple(single), option) | None


def _typed(kinds: tuple[Any, ...], option: Described) -> Any:
    if Path in kinds and not isinstance(option.default, str):
        return Path
    plain = [kind for kind in kinds if kind in (bool, int, float)]
    words = any(kind is str or get_origin(kind) is Literal for kind in kinds)
    if words or not plain:
        return str
    return float if float in plain else plain[0]


def option_count(name: str) -> int:
    """How many options a command has, without the rare ones."""
    return sum("." not in flag for flag in FLAGS[name].values())


__all__ = ["NoneType", "app", "command", "get_args"]
