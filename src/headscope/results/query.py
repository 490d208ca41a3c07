"""The query language for heads: one small grammar for Python, the command line and the page.

::

    position:previous > 0.5 and entropy < 1.5
    is:nsubj or role:nsubj >= 3
    layer 3-5 and not special:sep > 0.8
    heads 3-9,4-*
    top 10 by entropy

A value is ``measure``, ``measure:label`` or ``measure:label:label``; a label with spaces is quoted.
A role's name alone stands for its mean (``induction > 5``). ``is:ROLE`` holds for heads that have
the role by its test and, if it is a dependency role, give it more attention than their positions
alone would; ``is:positional-ROLE`` holds for those that pass the test by positions alone.
``top 10 by VALUE`` holds for the ten heads with the largest value among all
heads of the model. Parsing knows nothing of results: it gives a tree, which
:mod:`headscope.stats.heads.query` evaluates and which the page evaluates in the browser.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headscope.errors import UserError

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<op><=|>=|!=|==|<|>|=)
      | (?P<bracket>[()])
      | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?=[\s()<>=!]|$)
      | (?P<word>(?:"[^"]*"|[^\s()<>=!"])+)
    )""",
    re.VERBOSE,
)
HINT = "e.g. position:previous > 0.5 and entropy < 1.5, is:nsubj, layer 3-5"
LONGEST = 2000


class Token(NamedTuple):
    """A piece of a query, and where it begins (from 1)."""

    kind: str
    text: str
    place: int


Tree = list[Any]
"""A parsed query as nested lists, the same in Python and JavaScript:

``["and", tree, tree]``, ``["or", tree, tree]``, ``["not", tree]``,
``["compare", [measure, label, ...], comparison, number]``, ``["is", role]``,
``["layer", first, last]``, ``["heads", "3-9,4-*"]``, ``["top", count, [measure, label, ...]]``.
"""


def parse_query(text: str) -> Tree:
    """Read a query.

    Parameters
    ----------
    text
        The query.

    Returns
    -------
    list
        The query as nested lists, see :data:`Tree`.

    Raises
    ------
    UserError
        If it cannot be read, with the place where reading stopped.

    Examples
    --------
    >>> parse_query("position:previous > 0.5 and not is:nsubj")
    ['and', ['compare', ['position', 'previous'], '>', 0.5], ['not', ['is', 'nsubj']]]
    """
    if len(text) > LONGEST:
        raise UserError(f"a query has at most {LONGEST} characters, got {len(text)}", hint=HINT)
    return _Parser(_tokens(text), text).whole()


def split_value(text: str) -> list[str]:
    """A value's measure and labels.

    >>> split_value('dependency:det:"head to dependent"')
    ['dependency', 'det', 'head to dependent']
    """
    parts = re.findall(r'((?:"[^"]*"|[^:"])*)(?::|$)', text)[: text.count(":") + 1]
    return [part.replace('"', "").strip() for part in parts if part]


def _tokens(text: str) -> list[Token]:
    """The pieces of a query; the last one, of no kind, is its end."""
    tokens: list[Token] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.end() == at:
            raise _stop(text, at + len(text[at:]) - len(text[at:].lstrip()) + 1)
        kind = str(match.lastgroup)
        value = match.group(kind)
        tokens.append(Token(kind, "=" if value == "==" else value, match.start(kind) + 1))
        at = match.end()
    return [*tokens, Token("", "", len(text) + 1)]


def _stop(text: str, place: int, wanted: str = "") -> UserError:
    rest = text[place - 1 :].strip()
    where = f"at {rest[:30]!r} (character {place})" if rest else "at its end"
    expected = f": {wanted} is expected there" if wanted else ""
    return UserError(f"the query cannot be read {where}{expected}", hint=HINT)


class _Parser:
    """Recursive descent: or, and, not, conditions."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.left, self.text, self.depth = deque(tokens), text, 0

    def stop(self, token: Token, wanted: str) -> UserError:
        return _stop(self.text, token.place, wanted)

    def take(self, wanted: str, *kinds: str) -> Token:
        """The next token, which must be of one of these kinds."""
        if self.left[0].kind not in kinds:
            raise self.stop(self.left[0], wanted)
        return self.left.popleft()

    def took(self, word: str) -> bool:
        """Take the next token if it is this word."""
        here = self.left[0].kind not in ("number", "") and self.left[0].text.lower() == word
        if here:
            self.left.popleft()
        return here

    def whole(self) -> Tree:
        if not self.left[0].kind:
            raise UserError("the query is empty", hint=HINT)
        tree = self.either()
        self.take("'and' or 'or'", "")
        return tree

    def either(self) -> Tree:
        return self.chain("or", lambda: self.chain("and", self.single))

    def chain(self, word: str, part: Callable[[], Tree]) -> Tree:
        tree = part()
        while self.took(word):
            tree = [word, tree, part()]
        return tree

    def single(self) -> Tree:
        self.depth += 1
        if self.depth > 50:
            raise UserError("the query is nested too deeply (50 levels at most)", hint=HINT)
        try:
            if self.took("not"):
                return ["not", self.single()]
            if self.took("("):
                tree = self.either()
                if not self.took(")"):
                    raise self.stop(self.left[0], "')'")
                return tree
            return self.condition()
        finally:
            self.depth -= 1

    def condition(self) -> Tree:
        token = self.take("a condition", "word")
        word = token.text.lower()
        if word.startswith("is:"):
            role = token.text[3:].replace('"', "").strip()
            if not role:
                raise self.stop(token, "is:ROLE")
            return ["is", role]
        if self.left[0].kind != "op":  # a measure may be called "layer", too
            if word in ("layer", "layers"):
                return self.layers()
            if word in ("head", "heads"):
                return ["heads", self.take("the names of heads", "word", "number").text]
            if word == "top":
                return self.top()
        value = self.value(token)
        operator = self.take("a comparison (> < >= <= = !=)", "op").text
        return ["compare", value, operator, float(self.take("a number", "number").text)]

    def value(self, token: Token) -> list[str]:
        """The measure and labels of a word."""
        value = split_value(token.text)
        if not value:
            raise self.stop(token, "a value")
        return value

    def layers(self) -> Tree:
        token = self.take("a layer or a range of layers", "word", "number")
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", token.text)
        if match is None:
            raise self.stop(token, "a layer or a range of layers, such as 3-5")
        return ["layer", int(match[1]), int(match[2] or match[1])]

    def top(self) -> Tree:
        token = self.take("a number of heads", "word", "number")
        if not re.fullmatch(r"[0-9]{1,6}", token.text) or int(token.text) < 1:
            raise self.stop(token, "a number of heads, such as 10,")
        if not self.took("by"):
            raise self.stop(self.left[0], "'by'")
        return ["top", int(token.text), self.value(self.take("the value to sort by", "word"))]
