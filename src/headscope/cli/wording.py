"""Messages about Python, in the words of the command line.

Advice is written once, for Python: ``give max_length=64``. What to type instead follows from the
definitions of options.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headscope.options import Described

if TYPE_CHECKING:
    from headscope.cli.app import Command

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
    quote: Callable[[object], str] = lambda one: shlex.quote(str(one))  # noqa: E731
    if not isinstance(value, list | tuple):
        return f"{option.flag} {quote(value)}"
    if option.note.separator:
        return f"{option.flag} {quote(option.note.separator.join(map(str, value)))}"
    return " ".join(f"{option.flag} {quote(one)}" for one in value)


def _literal(text: str) -> object:
    """A value that is written out; a name stands for what a user fills in."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text.upper() if text.isidentifier() and text.islower() else text
