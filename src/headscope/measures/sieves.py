"""Sieves (Pande et al. 2021): for each token the set of tokens that a role should attend to: those
of the paper, the roles it lists beside its own, and a few that the field has found since. A user
adds one with a decorated function.

    import headscope as hs

    @hs.sieve("capitals", title="Words with a capital letter")
    def capitals(tokens):
        return [piece[:1].isupper() for piece in tokens.text]

A sieve is given the tokens of one example (:class:`headscope.encode.Encoded`) and returns which
tokens each one should attend to: a boolean matrix (query, key), one row of it where the set is the
same for every token, or a relation of a known kind (:mod:`headscope.measures.relations`), which
costs less on long inputs. A token without any does not count; None, or no pair at all, skips the
example.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headscope.corpus import Example, surface_words
from headscope.encode import SEPARATOR, START, TEXT, Encoded
from headscope.errors import UserError
from headscope.identity import code_digest
from headscope.measures.registry import run_file
from headscope.measures.relations import Diagonals, Groups, Matrix, Pairs, Relation, as_relation
from headscope.measures.roles import after_same, same_token
from headscope.registry import Registry

Select = Callable[["Encoded"], "Relation | ArrayLike | None"]


@dataclass(frozen=True)
class Sieve:
    """A role's sieve: which tokens each token should attend to, and what it needs of a corpus
    (pair, words, tree, tags, mentions).

    ``later``: its tokens all come later in the text, so that a causal model has none of them.
    ``learn``, if there is one, looks at the corpus first and gives ``select``. ``relations`` are
    those whose arcs the sieve follows, of a sieve that follows arcs of the tree.
    """

    name: str
    title: str
    select: Select
    needs: frozenset[str] = frozenset()
    later: bool = False
    learn: Callable[[Iterable[Example]], Select] | None = None
    own: bool = False
    relations: tuple[str, ...] = ()

    def relation(self, item: Encoded) -> Relation | None:
        """The sieve of one example, or None if it has none."""
        answer = self._ask(self.select, item, f"example {item.example.id}")
        if answer is None:
            return None
        size = len(item)
        if isinstance(answer, Relation) and len(answer.sizes()) == size:
            return answer
        array = self._ask(np.asarray, answer, f"example {item.example.id}")
        right = array.shape in ((size, size), (size,)) and array.dtype == np.bool_
        if not right:
            raise UserError(
                f"the sieve {self.name!r} must give true and false for each of the example's "
                f"{size} tokens, or for each pair of them; "
                f"it gave {array.dtype} of shape {array.shape} for example {item.example.id}",
                hint="return a boolean array of shape (T, T) or (T,): see the docs, 'Write a "
                "sieve'",
            )
        return as_relation(array)

    def ready(self, corpus: Iterable[Example]) -> Sieve:
        """The sieve after a look at the corpus."""
        return (
            replace(self, select=self._ask(self.learn, corpus, "the corpus"))
            if self.learn
            else self
        )

    def _ask(self, function: Callable[[Any], Any], argument: Any, where: str) -> Any:
        try:
            return function(argument)
        except Exception as error:  # a user's sieve may fail in any way
            if not self.own:
                raise
            raise UserError(
                f"the sieve {self.name!r} fails on {where}: {type(error).__name__}: {error}",
                hint="fix it, then run it again",
            ) from error

    @property
    def words(self) -> str:
        """Its name and its title."""
        known = self.title == self.name or self.title.startswith(f"{self.name}:")
        return self.title if known else f"{self.name}: {self.title}"

    @property
    def digest(self) -> str:
        """What the code of a user's sieve is, so that a changed one makes another run; empty for
        ours, which go with the version.
        """
        return code_digest(self.learn or self.select) if self.own else ""


SIEVES: Registry[Sieve] = Registry("sieve", group="headscope.sieves")
"""All sieves: Headscope's own, then those of other packages and of the user."""


def add_sieve(new: Sieve) -> None:
    """Make a sieve known by its name.

    A user's sieve may replace another of the user's, as when a notebook's cell is run again, but
    never one of Headscope's.
    """
    SIEVES.add(new.name, new, own=new.own)


def sieve(
    name: str,
    *,
    title: str = "",
    needs: Iterable[str] = (),
    later: bool = False,
    learns: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function the sieve of a role.

    Parameters
    ----------
    name
        The role's name.
    title
        What the role is, for people. Default: the name.
    needs
        The annotations it needs: pair, words, tree, tags, mentions.
    later
        True if all its tokens come later in the text, so that a causal model sees none of them.
    learns
        True if the function is given the whole corpus and returns the sieve.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isfunction(function):
            raise UserError(
                f"the sieve {name!r} must be a function of an example's tokens, "
                f"got {function!r} instead",
                hint="see the docs, 'Write a sieve'",
            )
        own = not function.__module__.startswith("headscope.")
        annotations = frozenset([needs] if isinstance(needs, str) else needs)
        learn = function if learns else None
        add_sieve(Sieve(name, title or name, function, annotations, later, learn, own))
        return function

    return register


def load_sieves(path: str | Path) -> list[str]:
    """Run a Python file that decorates sieves, and return their names.

    The file's code runs: it must be the user's own.
    """
    before = {entry.name: entry.target for entry in SIEVES.entries()}
    run_file(path, what="file of sieves")
    new = [
        entry.name
        for entry in SIEVES.entries()
        if entry.own and before.get(entry.name) is not entry.target
    ]
    if not new:
        raise UserError(
            f"{path} defines no sieve", hint="decorate a function with @headscope.sieve('name')"
        )
    return new


def known_sieves() -> dict[str, Sieve]:
    """Every sieve by name: Headscope's first, then those of other packages and of the user."""
    return {name: SIEVES[name] for name in SIEVES}


# --- Headscope's own ---

NEAR = 2
"""How far "local" reaches."""
SYNTACTIC = ("nsubj", "dobj", "amod", "advmod")
SAME_LABEL = {"dobj": ("dobj", "obj")}
"""What other schemes call the paper's relations (Stanford names)."""
DIRECTIONS = ("to head", "from head", "both")

PAPER = (
    "local",
    "previous-local",
    "next-local",
    "delimiter",
    "cls",
    "sep",
    "block",
    "syntactic",
    *SYNTACTIC,
)
"""The roles of the paper, in the order of its text."""


@sieve("local", title="Within two tokens, itself included")
def _local(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(-NEAR, NEAR + 1)))


@sieve("previous-local", title="The two tokens before")
def _previous(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(-NEAR, 0)))


@sieve("next-local", title="The two tokens after", later=True)
def _next(item: Encoded) -> Relation:
    return Diagonals(len(item), tuple(range(1, NEAR + 1)))


@sieve("delimiter", title="[CLS] and [SEP], or the model's own start and end tokens")
def _delimiter(item: Encoded) -> Matrix:
    return np.isin(item.kind, (START, SEPARATOR))


@sieve("cls", title="[CLS], or the model's own start token")
def _cls(item: Encoded) -> Matrix:
    return np.asarray(item.kind == START)


@sieve("sep", title="[SEP], or the model's own end token")
def _sep(item: Encoded) -> Matrix:
    return np.asarray(item.kind == SEPARATOR)


@sieve("block", title="The words of the same segment of a pair", needs=("pair",))
def _block(item: Encoded) -> Relation | None:
    if len(item.example.texts) < 2:
        return None
    return Groups(np.where(item.kind == TEXT, item.segment, -1))


def dependency_sieve(name: str, labels: Iterable[str], direction: str, fold: bool = False) -> Sieve:
    """From a dependent to its head word, the other way, or both, over the given labels; ``fold``
    drops a label's subtype first.
    """
    wanted = frozenset(label for known in labels for label in SAME_LABEL.get(known, (known,)))

    def select(item: Encoded) -> Relation:
        words = item.example.words
        labels = [word.relation.split(":")[0] if fold else word.relation for word in words]
        pairs = [(token, head) for word, token, head in item.arcs if labels[word] in wanted]
        back = [(key, query) for query, key in pairs]
        return Pairs.of(
            len(item), {"to head": pairs, "from head": back}.get(direction, pairs + back)
        )

    arrow = {"to head": "its head word", "from head": "its dependent", "both": "the other word"}[
        direction
    ]
    title = f"{' or '.join(labels)}: {arrow}"
    return Sieve(name, title, select, frozenset({"tree"}), relations=tuple(sorted(wanted)))


def dependency_sieves(direction: str, fold: bool = False) -> dict[str, Sieve]:
    """The paper's syntactic roles: any of the four relations, and each by itself."""
    return {
        name: dependency_sieve(name, labels, direction, fold)
        for name, labels in (("syntactic", SYNTACTIC), *((label, (label,)) for label in SYNTACTIC))
    }


for _known in dependency_sieves(DIRECTIONS[0]).values():
    add_sieve(_known)


@sieve("rare word", title="The word of the sequence that is rarest in the corpus", learns=True)
def _rare(corpus: Iterable[Example]) -> Callable[[Encoded], Matrix | None]:
    counts = Counter(word.lower() for example in corpus for word in surface_words(example))

    def select(item: Encoded) -> Matrix | None:
        words = surface_words(item.example, int(item.unit.max(initial=-1)) + 1)
        here = {
            unit: counts[words[unit].lower()]
            for unit in np.unique(item.unit[item.unit >= 0]).tolist()
            if any(map(str.isalnum, words[unit]))
        }
        if not here:
            return None
        least = min(here.values())
        return np.asarray(
            np.isin(item.unit, [unit for unit, count in here.items() if count == least])
        )

    return select


@sieve("word pieces", title="The other pieces of its own word")
def _pieces(item: Encoded) -> Relation:
    return Pairs.alike(item.unit)


@sieve("question mark", title="Question marks")
def _question(item: Encoded) -> Matrix:
    return np.array([piece.strip() in {"?", "？"} for piece in item.text])


@sieve("first token", title="The first token of all: where a sink of attention often is")
def _first(item: Encoded) -> Matrix:
    return np.asarray(np.arange(len(item)) == 0)


sieve("duplicate", title="Other occurrences of the same token")(same_token)
sieve("induction", title="The token after the previous occurrence of the same token")(after_same)


@sieve(
    "coreferent", title="The head words of other mentions of the same entity", needs=("mentions",)
)
def _coreferent(item: Encoded) -> Relation:
    pieces, heads = item.pieces, dict[str, set[int]]()
    for mention in item.example.mentions:
        heads.setdefault(mention.entity, set()).add(mention.head)
    return Pairs.of(
        len(item),
        (
            pair
            for words in heads.values()
            for first, second in permutations(words, 2)
            for pair in product(pieces.get(first, ()), pieces.get(second, ()))
        ),
    )
