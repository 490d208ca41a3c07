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
:mod:`headscope.stats.query` evaluates and which the page evaluates in the browser.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headscope.errors import UserError

COMPARISONS = ("<=", ">=", "!=", "<", ">", "=")
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


@dataclass(frozen=True)
class Token:
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
    found: list[Token] = []
    place = 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None or match.end() == place:
            raise _stop(text, place + len(text[place:]) - len(text[place:].lstrip()) + 1)
        kind = str(match.lastgroup)
        value = match.group(kind)
        found.append(Token(kind, "=" if value == "==" else value, match.start(kind) + 1))
        place = match.end()
    return found


def _stop(text: str, place: int, wanted: str = "") -> UserError:
    rest = text[place - 1 :].strip()
    where = f"at {rest[:30]!r} (character {place})" if rest else "at its end"
    expected = f": {wanted} is expected there" if wanted else ""
    return UserError(f"the query cannot be read {where}{expected}", hint=HINT)


class _Parser:
    """Recursive descent: or, and, not, conditions."""

    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self.tokens, self.text, self.at, self.depth = list(tokens), text, 0, 0

    def whole(self) -> Tree:
        if not self.tokens:
            raise UserError("the query is empty", hint=HINT)
        tree = self.either()
        if self.at < len(self.tokens):
            raise self.stop("'and' or 'or'")
        return tree

    def stop(self, wanted: str) -> UserError:
        after = len(self.text) + 1
        place = self.tokens[self.at].place if self.at < len(self.tokens) else after
        return _stop(self.text, place, wanted)

    def next_is(self, *words: str) -> bool:
        if self.at >= len(self.tokens):
            return False
        token = self.tokens[self.at]
        return token.kind != "number" and token.text.lower() in words

    def either(self) -> Tree:
        tree = self.both()
        while self.next_is("or"):
            self.at += 1
            tree = ["or", tree, self.both()]
        return tree

    def both(self) -> Tree:
        tree = self.single()
        while self.next_is("and"):
            self.at += 1
            tree = ["and", tree, self.single()]
        return tree

    def single(self) -> Tree:
        self.depth += 1
        if self.depth > 50:
            raise UserError("the query is nested too deeply (50 levels at most)", hint=HINT)
        try:
            if self.next_is("not"):
                self.at += 1
                return ["not", self.single()]
            if self.next_is("("):
                self.at += 1
                tree = self.either()
                if not self.next_is(")"):
                    raise self.stop("')'")
                self.at += 1
                return tree
            return self.condition()
        finally:
            self.depth -= 1

    def condition(self) -> Tree:
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != "word":
            raise self.stop("a condition")
        word = self.tokens[self.at].text
        self.at += 1
        if word.lower().startswith("is:"):
            role = word[3:].replace('"', "").strip()
            if not role:
                self.at -= 1
                raise self.stop("is:ROLE")
            return ["is", role]
        if word.lower() in ("layer", "layers") and not self._comparison():
            return self.layers()
        if word.lower() in ("head", "heads") and not self._comparison():
            return ["heads", self.word("the names of heads")]
        if word.lower() == "top" and not self._comparison():
            return self.top()
        return self.comparison(word)

    def _comparison(self) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at].kind == "op"

    def comparison(self, word: str) -> Tree:
        value = self.value(word)
        if not self._comparison():
            raise self.stop("a comparison (> < >= <= = !=)")
        operator = self.tokens[self.at].text
        self.at += 1
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != "number":
            raise self.stop("a number")
        number = float(self.tokens[self.at].text)
        self.at += 1
        return ["compare", value, operator, number]

    def value(self, word: str) -> list[str]:
        """The measure and labels of the word just read."""
        value = split_value(word)
        if not value:
            self.at -= 1
            raise self.stop("a value")
        return value

    def layers(self) -> Tree:
        text = self.word("a layer or a range of layers")
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", text)
        if match is None:
            self.at -= 1
            raise self.stop("a layer or a range of layers, such as 3-5")
        first = int(match[1])
        return ["layer", first, int(match[2] or first)]

    def top(self) -> Tree:
        count = self.word("a number of heads")
        if not re.fullmatch(r"[0-9]{1,6}", count) or int(count) < 1:
            self.at -= 1
            raise self.stop("a number of heads, such as 10,")
        if not self.next_is("by"):
            raise self.stop("'by'")
        self.at += 1
        if self.at >= len(self.tokens) or self.tokens[self.at].kind != "word":
            raise self.stop("the value to sort by")
        self.at += 1
        return ["top", int(count), self.value(self.tokens[self.at - 1].text)]

    def word(self, wanted: str) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at].kind not in ("word", "number"):
            raise self.stop(wanted)
        self.at += 1
        return self.tokens[self.at - 1].text
