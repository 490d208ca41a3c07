"""The name of our attention function, and modelling code that asks for it.

Some architectures look at the name of the attention implementation before they call it: DeepSeek
V3.2 and its relatives mask what their index leaves out only if it is "eager" or "sdpa". Our
function is their eager attention, observed, so its name answers such questions as "eager" would.
What it cannot answer is found in the source when a network is wrapped.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from torch import nn

from headscope.errors import ModelError, cut


class Implementation(str):
    """The name of an attention implementation that is eager attention.

    It is equal to ``"eager"``, so that ``name == "eager"`` and ``name in ("eager", "sdpa")`` hold.
    It is unequal to it, too, since ``name != "eager"`` is how modelling code asks whether to call
    a registered function.

    Examples
    --------
    >>> name = Implementation("headscope")
    >>> name == "eager", name in ("eager", "sdpa"), name != "eager", name == "sdpa"
    (True, True, True, False)
    >>> {"headscope": 1}[name], "eager" in {"eager": 1}.keys() - {name}
    (1, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or (type(other) is str and other == EAGER)


EAGER = "eager"
NAME = Implementation("headscope")
"""The name under which transformers knows the attention function."""

ATTRIBUTES = frozenset({"_attn_implementation", "_attn_implementation_internal"})
# Tables in which the name is registered, and functions that look it up there.
REGISTERED = re.compile(r"ALL_(MASK_)?ATTENTION_FUNCTIONS|get_interface")
LIBRARIES = re.compile(r"(torch|builtins|abc|typing|peft|transformers(?!\.models\.))(\.|$)")
"""Modules that are not the code of a model."""
_IDIOM = re.compile(r"_attn_implementation,\s*\w*eager_attention_forward")
_METHODS = frozenset({"startswith", "endswith", "__contains__", "count", "find"})


@dataclass(frozen=True)
class Question:
    """A place in modelling code that asks for the name of the attention implementation.

    Parameters
    ----------
    line
        Its line in the file.
    code
        What it asks.
    answered
        Whether our name gives the answer that ``"eager"`` would.
    mask
        Whether it decides about a mask.
    """

    line: int
    code: str
    answered: bool
    mask: bool


def check_source(name: str, network: nn.Module) -> list[str]:
    """Look through the modelling code of a network for questions that our name cannot answer.

    Parameters
    ----------
    name
        What to call the model in messages.
    network
        A transformers model.

    Returns
    -------
    list of str
        A note for each question that decides about something other than a mask.

    Raises
    ------
    ModelError
        If a mask depends on such a question: attention could silently be another.
    """
    classes = {kind for module in network.modules() for kind in type(module).__mro__}
    files = {kind.__module__ for kind in classes if not LIBRARIES.match(kind.__module__)}
    notes = []
    for file in sorted(files):
        for question in module_questions(file):
            if question.answered:
                continue
            where = f"{file.rpartition('.')[2]}.py, line {question.line}: {cut(question.code, 80)}"
            if question.mask:
                raise ModelError(
                    f"the code of {name} makes a mask depend on the name of the attention "
                    f"implementation in a way that Headscope cannot answer ({where}), so attention "
                    "maps could be wrong",
                    hint="choose another model, or open an issue to ask for this architecture",
                )
            notes.append(
                f"the code of {name} asks for the name of the attention implementation ({where}); "
                "'headscope check' compares its maps with eager attention"
            )
    return notes


@cache
def module_questions(module: str) -> tuple[Question, ...]:
    """The questions in the source of an imported module; none if there is no source."""
    found = sys.modules.get(module)
    try:
        return tuple(questions(inspect.getsource(found))) if found else ()
    except (OSError, TypeError, SyntaxError):
        return ()


def questions(source: str) -> Iterator[Question]:
    """Every place in a file's source that asks for the name of the attention implementation.

    Looking up the registered function under the name, handing it on and writing it into a message
    are no questions.

    >>> code = '''
    ... def forward(self, mask):
    ...     if self.config._attn_implementation in ("eager", "sdpa"):
    ...         mask = sparse(mask)
    ... '''
    >>> list(questions(code))  # doctest: +ELLIPSIS
    [Question(line=3, code="self...._attn_implementation in ('eager', 'sdpa')", ...answered=True...
    """
    if source.count("_attn_implementation") == len(_IDIOM.findall(source)):
        return  # parsing would take a hundred times as long
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    copies = _copies(tree)
    for node in ast.walk(tree):
        if _names_it(node, copies) and isinstance(getattr(node, "ctx", None), ast.Load):
            asking, answered = _question(node, parents)
            if asking is not None:
                line, code = getattr(asking, "lineno", 0), ast.unparse(asking)
                yield Question(line, code, answered, _decides_mask(asking, parents))


def _copies(tree: ast.AST) -> frozenset[str]:
    """Variables and attributes to which the name is assigned as it is."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _names_it(node.value, frozenset()):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found.add(target.id)
                elif isinstance(target, ast.Attribute):
                    found.add(target.attr)
    return frozenset(found)


def _names_it(node: ast.AST, copies: frozenset[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ATTRIBUTES | copies
    return isinstance(node, ast.Name) and node.id in copies


def _question(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> tuple[ast.AST | None, bool]:
    """What is asked of the name, and whether ours answers as ``"eager"`` would; None if nothing."""
    parent = parents[node]
    if isinstance(parent, ast.Compare):
        return parent, _compares(node, parent, parents)
    if isinstance(parent, ast.Attribute):
        call = parents[parent]
        if not isinstance(call, ast.Call):
            return parent, False
        given = [_literal(argument) for argument in call.args]
        known = parent.attr in _METHODS and all(isinstance(value, str) for value in given)
        return call, known and _same(lambda name: getattr(name, parent.attr)(*given))
    if isinstance(parent, ast.Subscript):
        known = _within_init(parent, parents) or bool(REGISTERED.search(ast.unparse(parent.value)))
        return (None, True) if known else (parent, False)
    if isinstance(parent, ast.Call):
        return (None, True) if REGISTERED.search(ast.unparse(parent.func)) else (parent, False)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.keyword | ast.FormattedValue):
        return None, True
    return parent, False


def _compares(node: ast.AST, compare: ast.Compare, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a comparison has the answer that it has for ``"eager"``."""
    if len(compare.ops) != 1:
        return False
    operator, other = compare.ops[0], compare.comparators[0]
    if other is node:  # "flash" in name, "eager" == name
        found = _literal(compare.left)
        if isinstance(operator, ast.In | ast.NotIn):
            return isinstance(found, str) and _same(lambda name: found in str(name))
        other = compare.left
    value = _literal(other)
    if isinstance(operator, ast.Is | ast.IsNot):
        return isinstance(other, ast.Constant) and value is None
    if isinstance(operator, ast.In | ast.NotIn):
        return isinstance(value, tuple | list | set) or bool(REGISTERED.search(ast.unparse(other)))
    if isinstance(operator, ast.Eq):
        return isinstance(value, str)
    if isinstance(operator, ast.NotEq) and isinstance(value, str):
        return value != EAGER or _looks_up(compare, parents)
    return False


def _literal(node: ast.AST) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _same(ask: Any) -> bool:
    return bool(ask(str(NAME)) == ask(EAGER))


def _statement(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.AST:
    """The statement or conditional expression that an expression belongs to."""
    while not isinstance(node, ast.stmt | ast.IfExp):
        node = parents[node]
    return node


def _looks_up(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a question only decides to look up the registered function."""
    return bool(REGISTERED.search(ast.unparse(_statement(node, parents))))


def _decides_mask(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    return "mask" in ast.unparse(_statement(node, parents)).lower()


def _within_init(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether something happens when a network is made, when the implementation is another."""
    while node in parents:
        node = parents[node]
        if isinstance(node, ast.FunctionDef):
            return node.name == "__init__"
    return False
