"""The sentences of ``words.toml``, and how their places are filled."""

from __future__ import annotations

import math
import re
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from headscope.heads import Head
from headscope.measures.roles import FAMILIES, ROLES
from headscope.numbers import count, number

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
           "eleven", "twelve")  # fmt: skip
"""Numbers that are written out."""
UP = "dependent to head"
FEW = 8
"""How many heads of many are named."""
_PIECES = re.compile(r"(\*\*.+?\*\*|⟦.+?⟧|\{heads:(?:@|few)\})")


@cache
def table() -> dict[str, dict[str, Any]]:
    """Everything that sentences say, by section and name; roles bring their own words."""
    rows: dict[str, dict[str, Any]] = tomllib.loads(
        (files(__package__) / "words.toml").read_text("utf-8")
    )
    return rows | {"family": {name: family.says for name, family in FAMILIES.items()}}


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in a row, with "and" (or another word) before the last.

    >>> listed(["1-3"]), listed(["1-3", "2-9"]), listed(["1-3", "2-9", "3-1"], "or")
    ('1-3', '1-3 and 2-9', '1-3, 2-9 or 3-1')
    """
    return f" {last} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def in_words(size: int) -> str:
    """A count as people write it: small ones in words.

    >>> in_words(1), in_words(12), in_words(47), in_words(1204)
    ('one', 'twelve', '47', '1,204')
    """
    return NUMBERS[size] if size < len(NUMBERS) else f"{size:,}"


def capital(text: str) -> str:
    """The same text with a capital letter at the beginning.

    >>> capital("looks at [CLS]")
    'Looks at [CLS]'
    """
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """The same text with a small letter at the beginning."""
    return text[:1].lower() + text[1:]


def in_percent(share: float) -> str:
    """A share in percent; only exactly none and all look like 0 and 100.

    >>> in_percent(0.643), in_percent(0.002), in_percent(0.9989), in_percent(1.0)
    ('64 %', 'less than 1 %', 'more than 99 %', '100 %')
    """
    whole = round(100 * share)
    if whole == 0 and share > 0:
        return "less than 1 %"
    return "more than 99 %" if whole == 100 and share < 1 else f"{whole} %"


def with_interval(values: tuple[float, float, float]) -> str:
    """A share in percent with its interval, whose width decides on the digits.

    >>> with_interval((0.7004, 0.696, 0.704)), with_interval((0.192, 0.161, 0.231))
    ('70.0 % (69.6 to 70.4)', '19 % (16 to 23)')
    >>> with_interval((0.99871, 0.9982, 0.9991)), with_interval((0.5, float("nan"), float("nan")))
    ('99.87 % (99.82 to 99.91)', '50 %')
    """
    share, low, high = values
    percent = 50 * (high - low)
    if not percent >= 0.005:  # not known, or nothing at two decimals
        return in_percent(share)
    places = 0 if percent >= 0.95 else 1 if percent >= 0.095 else 2
    mean, *ends = (f"{100 * value:.{places}f}" for value in values)
    return f"{mean} % ({' to '.join(ends)})"


def p_words(p: float) -> str:
    """A p-value; small ones by their power of ten.

    >>> p_words(0.0312), p_words(1.9e-5), p_words(0.0), p_words(0.9999), p_words(math.nan)
    ('p = 0.031', 'p < 1e-4', 'p < 1e-300', 'p = 1.00', 'not tested')
    """
    if math.isnan(p):
        return "not tested"
    if p >= 0.001:
        return f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
    power = 300 if p < 1e-300 else math.floor(-math.log10(p))
    return f"p < 1e-{power}" if power > 2 else "p < 0.001"


def in_layers(heads: Sequence[str]) -> str:
    """The layers that some heads are in, from the first to the last.

    >>> in_layers(["1-3"]), in_layers(["2-10", "1-3", "3-12"])
    ('layer 1', 'layers 1 to 3')
    """
    numbers = [Head.parse(head).layer + 1 for head in heads]
    first, last = min(numbers), max(numbers)
    return f"layer {first}" if first == last else f"layers {first} to {last}"


_WAYS: Mapping[str, Callable[[Any], str]] = {
    "%": in_percent,
    "±": with_interval,
    "p": p_words,
    "#": count,
    "g": number,
    "and": listed,
    "or": lambda names: listed(names, "or"),
    "name": in_words,
    "^": capital,
}


class _Formatter(string.Formatter):
    """Fills in places; ``{n:one|many}`` chooses by a number or, as yes or no, by a truth value."""

    def format_field(self, value: Any, spec: str) -> str:
        if "|" in spec:
            return spec.split("|")[0 if value == 1 else 1]
        return _WAYS[spec](value) if spec in _WAYS else format(value, spec)


_FORMATTER = _Formatter()


def fill(text: str, /, **places: Any) -> str:
    """A text with its places filled.

    >>> fill("{n:name} {n:head|heads}, {share:%}, {p:p}", n=2, share=0.25, p=2e-9)
    'two heads, 25 %, p < 1e-8'
    """
    return str(_FORMATTER.vformat(text, (), places))


def say(where: str, /, **places: Any) -> str:
    """A sentence by its section and name, with its places filled.

    >>> say("beyond.copying", mean=0.9)
    'By its weights it copies what it attends to (copying score 0.90).'
    """
    section, name = where.split(".", 1)
    return fill(table()[section][name], **places)


def relation_words(relation: str, direction: str) -> str:
    """What a head finds that follows the arcs of a relation.

    Parameters
    ----------
    relation
        Its label, in Universal Dependencies or Stanford's scheme. A subtype without words of its
        own has those of its kind.
    direction
        "dependent to head" or "head to dependent".

    Examples
    --------
    >>> relation_words("det", "dependent to head"), relation_words("det", "head to dependent")
    ('the noun of a determiner', 'the determiner of a noun')
    >>> relation_words("obl:tmod", "dependent to head")
    'the verb of an oblique nominal'
    >>> relation_words("flat", "dependent to head")
    'the head word of “flat”'
    """
    known = _relations()
    words = known.get(relation) or known.get(relation.split(":")[0]) or table()["other"]["relation"]
    return fill(words[direction != UP], relation=relation)


@cache
def _relations() -> dict[str, list[str]]:
    """By relation; those with the same words stand in one row of the table."""
    rows = table()["relation"].items()
    return {relation: words for relations, words in rows for relation in relations.split()}


def role_name(role: str) -> str:
    """What people call a role.

    >>> role_name("modifier to noun"), role_name("broad")
    ('modifiers to their noun', 'broad')
    """
    return ROLES[role].words.name if role in ROLES else role


def family_name(family: str) -> str:
    """What heads of a family do, in the words that stand out in a summary.

    >>> family_name("previous"), family_name("same")
    ('previous token', 'same word elsewhere')
    """
    if family not in FAMILIES:
        return family
    return next(part.text for part in parts(f"family.{family}", n=1, resting=0.0) if part.strong)


@dataclass(frozen=True)
class Part:
    """A piece of a sentence.

    Parameters
    ----------
    text
        The words.
    heads
        The heads that the words stand for; none for plain text.
    strong
        Whether the words stand out.
    """

    text: str
    heads: tuple[str, ...] = ()
    strong: bool = False


@dataclass(frozen=True)
class SummaryLine:
    """One line of a summary.

    Parameters
    ----------
    family
        What it is about: "lead", a family of roles, "fact", "finding" or "warning".
    parts
        Its pieces, in order, spaces included.

    Examples
    --------
    >>> line = SummaryLine("next", [Part("One head", ("2-9",)), Part(" looks ahead.")])
    >>> line.text, line.heads
    ('One head looks ahead.', ('2-9',))
    """

    family: str
    parts: list[Part]

    @property
    def text(self) -> str:
        """The line as plain text."""
        return "".join(part.text for part in self.parts)

    @property
    def heads(self) -> tuple[str, ...]:
        """All heads of the line, each once."""
        return tuple(dict.fromkeys(head for part in self.parts for head in part.heads))

    def __str__(self) -> str:
        return self.text


def parts(where: str, /, heads: Sequence[str] = (), **places: Any) -> list[Part]:
    """A sentence of a summary, in pieces; ``n`` is the number of its heads unless it is given.

    Marks are read before places are filled, so that what is filled in cannot be taken for one.

    >>> [part.text for part in parts("model.most", heads=["1-3", "2-9"], shares="99 % each")]
    ['; ', '1-3', ' and ', '2-9', ' most (99 % each)']
    """
    section, name = where.split(".", 1)
    places = {"n": len(heads)} | places
    pieces: list[Part] = []
    for piece in _PIECES.split(table()[section][name]):
        if piece in ("{heads:@}", "{heads:few}"):
            pieces += _linked(heads) if piece.endswith("@}") else _first(heads)
        elif piece:
            strong = piece.startswith("**")
            text = piece[2:-2] if strong else piece
            of = tuple(heads) if text.startswith("⟦") else ()
            pieces.append(Part(fill(text.strip("⟦⟧"), **places), of, strong))
    return pieces


def _linked(heads: Sequence[str]) -> list[Part]:
    """Heads in a row, each a part of its own."""
    pieces: list[Part] = []
    for at, head in enumerate(heads):
        if at:
            pieces.append(Part(" and " if at == len(heads) - 1 else ", "))
        pieces.append(Part(head, (head,)))
    return pieces


def _first(heads: Sequence[str]) -> list[Part]:
    """The first few of many heads, in brackets."""
    pieces = [Part(" (")]
    for at, head in enumerate(heads[:FEW]):
        pieces += [Part(", " if at else ""), Part(head, (head,))]
    more = f" and {len(heads) - FEW} more" if len(heads) > FEW else ""
    return [*pieces, Part(f"{more})")]
