"""What values an option may have, for completion in a shell."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from inspect import Parameter as Argument
from inspect import Signature, cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from cyclopts import App, CycloptsError, Group, Parameter
from cyclopts.exceptions import (
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from headscope.cli.console import Console
from headscope.errors import UserError, unknown
from headscope.files import slug
from headscope.heads import all_heads
from headscope.options import Described, Option, Options, described

Completer = Callable[[Any], Iterable[str]]


def completer(kind: str, choices: tuple[str, ...] = ()) -> Completer | None:
    """What lists the values of an option when Tab is pressed.

    Parameters
    ----------
    kind
        What the values are: measures, figures, heads, relations, tasks …
    choices
        The values, if they are always the same.
    """
    if choices:
        return lambda context: choices
    return _KINDS[kind] if kind else None


def _listed(*places: str) -> Completer:
    """What a registry or a table of :mod:`headscope` lists, such as ``figures:FIGURES``."""

    def complete(context: Any) -> Iterable[str]:
        for place in places:
            module, _, name = place.partition(":")
            listed = getattr(import_module(f"headscope.{module}"), name)
            yield from listed.values() if name == "TITLES" else listed

    return complete


def _of_results(what: Callable[[Any], Iterable[str]]) -> Completer:
    """Values that a results file holds: it is the first argument that ends in .nc."""

    def complete(context: Any) -> Iterable[str]:
        from headscope.results import Atlas

        words = [token for argument in context.arguments for token in argument.tokens]
        paths = [token.value for token in words if token.value.endswith(".nc")]
        return what(Atlas.open(paths[0])) if paths else ()

    return complete


def _statistics(atlas: Any) -> Iterable[str]:
    from headscope.results.schema import label_dims

    for name in atlas.measures:
        dims = label_dims(atlas[name])
        if len(dims) == 1:
            yield from (f"{name}:{label}" for label in atlas[name][dims[0]].values)
        else:
            yield name


def _heads(atlas: Any) -> Iterable[str]:
    return map(str, all_heads([number - 1 for number in atlas.layers], atlas.shape[1]))


_KINDS: dict[str, Completer] = {
    "models": lambda context: ("demo", "demo-llm"),
    "corpora": lambda context: ("demo",),
    "measures": _listed("measures.registry:MEASURES"),
    "figures": _listed("figures:FIGURES"),
    "heads": _of_results(_heads),
    "relations": _of_results(
        lambda atlas: [str(name) for name in atlas["dependency"]["relation"].values]
    ),
    "statistics": _of_results(_statistics),
    "tasks": _listed("tasks.task:TITLES", "tasks.task:GLUE"),
    "glue": _listed("tasks.task:GLUE"),
    "roles": _of_results(lambda atlas: [str(name) for name in atlas["role"]["role"].values]),
}


VALUE = r"'[^']*'|\"[^\"]*\"|[\[(][^\])]*[\])]|[\w./:-]*\w"
KEYWORD = re.compile(rf"\b([a-z][a-z0-9_]*)=({VALUE})?")
CALL = re.compile(r"\bhs\.(\w+)\(([^()]*)\)")


def off_flag(option: Described) -> str:
    """How False is said, where a user may have to."""
    if bool not in option.plain or option.default is False:
        return ""
    return option.note.off or option.flag.replace("--", "--no-", 1)


def in_shell_words(
    text: str, options: Mapping[str, Described], commands: Mapping[str, Command]
) -> str:
    """A message or advice about Python, as a person at the command line would say it.

    Parameters
    ----------
    text
        The message.
    options
        Those of the command that was called, by keyword.
    commands
        All commands, by name.

    Examples
    --------
    >>> from headscope.cli.app import load_commands
    >>> known = load_commands()
    >>> survey = known["survey"].options
    >>> in_shell_words("use pairs=False, or leave max_length= out", survey, known)
    'use --single, or leave --max-length out'
    >>> in_shell_words("try hs.survey(model, corpus, null='shuffled-words')", survey, known)
    'try headscope survey MODEL CORPUS --null shuffled-words'
    """

    def call(match: re.Match[str]) -> str:
        known = commands.get(match[1])
        return match[0] if known is None else _typed_call(known, match[0])

    def keyword(match: re.Match[str]) -> str:
        option = options.get(match[1])
        if option is None:
            return match[0]
        return _typed(option, _literal(match[2])) if match[2] else option.flag

    return KEYWORD.sub(keyword, CALL.sub(call, text))


def _typed_call(command: Command, text: str) -> str:
    """``hs.survey(model, corpus)`` as a command."""
    try:
        call = ast.parse(text.replace("…", "")).body[0]
    except SyntaxError:
        return text
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    words = ["headscope", command.full_name]
    words += [str(_literal(ast.unparse(value))) for value in call.value.args]
    for keyword in call.value.keywords:
        option = command.options.get(keyword.arg or "")
        if option is not None:
            words.append(_typed(option, _literal(ast.unparse(keyword.value))))
    return " ".join(words)


def _typed(option: Described, value: object) -> str:
    """An option with a value."""
    if isinstance(value, bool):
        return option.flag if value else off_flag(option) or option.flag
    quote: Callable[[object], str] = lambda item: shlex.quote(str(item))  # noqa: E731
    if not isinstance(value, list | tuple):
        return f"{option.flag} {quote(value)}"
    if option.note.separator:
        return f"{option.flag} {quote(option.note.separator.join(map(str, value)))}"
    return " ".join(f"{option.flag} {quote(item)}" for item in value)


def _literal(text: str) -> object:
    """A value that is written out; a name stands for what a user fills in."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.upper() if text.isidentifier() and text.islower() else text


LOOK = Group("Look at heads", sort_key=1)
MEASURE = Group("Measure", sort_key=2)
TRAIN = Group("Train and disable", sort_key=3)
FILES = Group("Results and files", sort_key=4)
OPTIONS = Group("Options", sort_key=40)
COMMON = ("The corpus", "The pass", "The model", "Workers")
PRINTED = Group("What is printed", sort_key=80)
RARELY = Group("Rarely needed", sort_key=90)
MODULES = ("look", "measure", "train", "tables", "files", "agents")
"""The modules whose commands help lists, in its order."""
READING = frozenset(
    {"cite", "export", "figures", "head", "heads", "ls", "merge", "report", "table"}
)
"""Commands that only read results: they load no model."""

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
ResultsFile = Annotated[Path, Parameter(help="A results file (.nc) made by 'headscope survey'.")]


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


@dataclass(frozen=True)
class Command:
    """A command, before cyclopts knows it.

    Parameters
    ----------
    function
        What it does.
    group
        Where help lists it.
    takes
        Whose options it takes: the name of a function of :mod:`headscope`, or the place of a class
        in it, such as ``papers:Clark2019``. Or several kinds of options by the word that
        chooses one of them, such as ``roles``, and by ``""`` those that all share.
    json
        Whether it can print JSON.
    parent
        The command that it belongs to, such as ``paper``.
    """

    function: Callable[..., None]
    group: Group
    takes: str | Mapping[str, type[Options]]
    json: bool
    parent: str
    words: tuple[str, ...] = ()
    """What was typed, if it is the command that is called."""

    @property
    def name(self) -> str:
        """What is typed to call it, after its parent."""
        return self.function.__name__.rstrip("_").replace("_", "-")

    @property
    def full_name(self) -> str:
        """The same, with its parent."""
        return f"{self.parent} {self.name}".strip()

    @cached_property
    def kinds(self) -> dict[str, type[Options]]:
        """The options that its function takes, by the parameter."""
        options: type[Options] | None
        if not isinstance(self.takes, str):
            words = (word for word in self.words if word in self.takes)
            options = self.takes[next(words, "")]
        elif ":" in self.takes:
            module, _, name = self.takes.partition(":")
            options = getattr(import_module(f"headscope.{module}"), name)
        else:
            options = (
                getattr(import_module("headscope"), self.takes).options if self.takes else None
            )
        names = signature(self.function).parameters
        kinds = {"options": options, "console": Printing}
        return {name: kind for name, kind in kinds.items() if name in names and kind}

    @cached_property
    def options(self) -> dict[str, Described]:
        """Its options as they are defined, by the keyword."""
        return {
            key: option
            for kind in self.kinds.values()
            for key, option in described(kind).items()
            if option.flag and (key != "json" or self.json)
        }

    @property
    def flags(self) -> dict[str, str]:
        """What it calls the keywords of Python."""
        return {key: option.flag for key, option in self.options.items()}

    def arguments(self) -> Iterator[Argument]:
        """What is given without a name."""
        # The types of options are not known here, nor needed.
        hints = self.function.__annotations__
        unknown_types = {str(hints[name]).split(".")[0]: Any for name in self.kinds}
        typed = get_type_hints(self.function, localns=unknown_types, include_extras=True)
        for name, parameter in signature(self.function).parameters.items():
            if name not in ("options", "console"):
                repeated = parameter.kind is Argument.VAR_POSITIONAL
                kind = parameter.kind if repeated else Argument.POSITIONAL_ONLY
                yield parameter.replace(annotation=typed[name], kind=kind)

    def registered(self) -> Callable[..., None]:
        """The function that cyclopts calls, with a signature that says what it takes."""

        def call(*values: Any, **typed: Any) -> None:
            nameless = {argument.name: argument.default for argument in self.arguments()}
            nameless |= dict(zip(nameless, values, strict=False))
            self.function(*values, **self._objects(typed, nameless))

        options = [_argument(option, self) for option in self.options.values()]
        call.__signature__ = Signature(  # type: ignore[attr-defined]
            [*self.arguments(), *options]
        )
        more = [getattr(kind, "more_help", "") for kind in self.kinds.values()]
        return _named(call, self, " ".join(filter(None, more)))

    def _objects(self, typed: Mapping[str, Any], nameless: Mapping[str, Any]) -> dict[str, Any]:
        """The objects of options, made of what was typed with and without names."""
        values = {
            key: self.options[key].parsed(words)
            for key, words in typed.items()
            if words is not None
        }
        objects: dict[str, Any] = {}
        console = Console(quiet=values.get("quiet", False), as_json=values.get("json", False))
        for name, kind in self.kinds.items():
            known = described(kind)
            chosen = {key: value for key, value in {**nameless, **values}.items() if key in known}
            shown = {"progress": console} if "progress" in known else {}
            objects[name] = console if kind is Printing else kind(**chosen, **shown)
        return objects


COMPLETE = "__complete"
APP_WIDE = (["--install-completion"],)
"""What needs all commands whole."""
COMMANDS: dict[str, Command] = {}
"""All commands by their full names, once :func:`load_commands` has been called."""
Function = TypeVar("Function", bound=Callable[..., None])


def command(
    group: Group,
    takes: str | Mapping[str, type[Options]] = "",
    *,
    json: bool = True,
    parent: str = "",
) -> Callable[[Function], Function]:
    """Make a function a command; see :class:`Command` for the parameters."""

    def add(function: Function) -> Function:
        noted = Command(function, group, takes, json, parent)
        COMMANDS[noted.full_name] = noted
        return function

    return add


def load_commands() -> Mapping[str, Command]:
    """All commands: their modules import nothing that is slow."""
    for module in MODULES:
        import_module(f"headscope.cli.{module}")
    return COMMANDS


def called(words: Sequence[str]) -> str:
    """The full name of the command that is called; empty if none is.

    >>> called(["report", "demo.nc"]), called(["paper", "pande2021", "-q"]), called(["--help"])
    ('report', 'paper pande2021', '')
    """
    known = load_commands()
    names = (" ".join(words[:2]), " ".join(words[:1]))
    return next((name for name in names if name in known), "")


def make_app(only: Command | None = None, *, everything: bool = False) -> App:
    """The command line.

    Parameters
    ----------
    only
        The command that is called: it is made whole; of others there is what help lists.
    everything
        Make all of them whole, for completion.
    """
    app = App(
        name="headscope",
        help="Measure what every attention head of a transformer does.\n\n"
        "Example: headscope survey demo demo -o demo.nc && headscope head demo.nc 1-3",
        help_format="plaintext",
        default_parameter=Parameter(negative_iterable=(), consume_multiple=False),
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    papers = App(
        name="paper",
        help="Reproduce a paper: all its tables and figures, with the published numbers beside "
        "ours.\n\nAn interrupted run resumes when you type the same command again.\n\n"
        "Example: headscope paper clark2019 --model bert-base-uncased --treebank "
        "en_ewt-ud-dev.conllu.gz",
        group=MEASURE,
    )
    for noted in load_commands().values():
        known = only if only and only.full_name == noted.full_name else noted
        whole = everything or known is only
        function = known.registered() if whole else _named(lambda: None, known)
        (papers if known.parent else app).command(function, name=known.name, group=known.group)
    app.command(papers)
    app.register_install_completion_command(add_to_startup=True)
    return app


def run(words: list[str]) -> None:
    """Do what was typed.

    Raises
    ------
    UserError
        If it is not a command, or cannot be done; advice is in the words of the command line.
    """
    from headscope import __version__

    # A shell asks for the values of an option as if the rest of the words were a command.
    typed = words[1:] if words[:1] == [COMPLETE] else words
    name = called(typed)
    only = replace(COMMANDS[name], words=tuple(typed)) if name else None
    app = make_app(only, everything=words[:1] in APP_WIDE)
    app.version = f"headscope {__version__}"
    try:
        app(words, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        raise _mistake(error, only) from None
    except UserError as error:
        if only is None:
            raise
        message = in_shell_words(error.message, only.options, COMMANDS)
        advice = error.command or in_shell_words(error.hint, only.options, COMMANDS)
        raise type(error)(message, hint=advice) from error


def _mistake(error: CycloptsError, only: Command | None) -> UserError:
    """What is wrong with what was typed."""
    if isinstance(error, UnknownCommandError):
        typed = (error.unused_tokens or [""])[0]
        kind = "paper" if error.command_chain else "command"
        parent = "paper" if error.command_chain else ""
        known = {entry.name for entry in COMMANDS.values() if entry.parent == parent}
        return unknown(kind, typed, known if parent else {*known, "paper"})
    name = only.full_name if only else ""
    flags = only.flags if only else {}
    match error:
        case UnknownOptionError():
            typed = (error.token.keyword or error.token.value).partition("=")[0]
            from difflib import get_close_matches

            rare = [flag for flag in flags.values() if flag.endswith(f".{typed.strip('-')}")]
            near = rare or get_close_matches(typed, flags.values(), n=1)
            guess = f"; did you mean {near[0]}?" if near else ""
            return UserError(f"headscope {name} has no option {typed}{guess}")
        case MissingArgumentError(argument=argument) if argument is not None:
            typed = error.keyword or argument.name
            what = typed if typed.startswith("-") else f"the argument {typed.upper()}"
            return UserError(f"{what} {'needs a value' if what == typed else 'is missing'}")
        case RepeatArgumentError():
            return UserError(f"{error.token.keyword} is given twice")
        case UnusedCliTokensError(unused_tokens=tokens):
            return UserError(f"headscope {name} takes fewer arguments: {' '.join(tokens or ())}")
    return UserError(str(error).rstrip("."))


def call(function: Any, *values: Any) -> Any:
    """Call a function of Python's with an object of options, the last of the values."""
    return function.__wrapped__(*values[:-1], options=values[-1])


def named(options: Any, *parts: str) -> Any:
    """The options, with an output here that is named by some parts if they have none."""
    if options.output is not None:
        return options
    return replace(options, output=Path("-".join(slug(part) for part in parts) + ".nc"))


# --- options as cyclopts knows them ---


def _named(function: Callable[..., None], noted: Command, more: str = "") -> Callable[..., None]:
    """A function with a command's name and help; more help stands before the example."""
    function.__name__ = noted.name
    paragraphs = cleandoc(noted.function.__doc__ or "").split("\n\n")
    if more:
        paragraphs.insert(-1, more)
    function.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return function


def _argument(option: Described, command: Command) -> Argument:
    """The parameter that an option is made of: text, several texts, or yes and no."""
    is_switch = option.is_switch
    kind: Any = bool if is_switch else list[str] if _is_repeated(option) else str
    default = option.default if is_switch else None
    parameter = Parameter(
        name=(option.flag, option.note.short) if option.note.short else option.flag,
        help=in_shell_words(help_text(option), command.options, COMMANDS),
        group=_panel(option),
        negative=off_flag(option),
        metavar=None if is_switch else metavar(option),
        completer=completer(option.note.completes, option.choices),
        allow_leading_hyphen=not is_switch,
        show_default=False,
    )
    hint = Annotated[kind | None, parameter]
    return Argument(option.key, Argument.KEYWORD_ONLY, default=default, annotation=hint)


def _is_repeated(option: Described) -> bool:
    return option.several and not option.note.separator


def help_text(option: Described) -> str:
    """What help says of an option."""
    text = f"{option.words} Repeat it for more." if _is_repeated(option) else option.words
    default = option.default
    shown = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    return f"{text} [default: {default}]" if shown and default != "" else text


def metavar(option: Described) -> str:
    """What help shows for the value of an option."""
    if option.note.metavar or option.choices:
        return option.note.metavar or "|".join(option.choices)
    known = ((int, "N"), (float, "X"), (Path, "PATH"))
    return next((word for kind, word in known if kind in option.plain), "TEXT")


def _panel(option: Described) -> Group:
    if option.group is Printing:
        return PRINTED
    if option.note.rare:
        return RARELY
    panel = vars(option.group).get("panel", "")  # not that of a group it is made of
    order = COMMON.index(panel) if panel in COMMON else -1  # a command's own come first
    return Group(panel, sort_key=50 + order) if panel else OPTIONS
