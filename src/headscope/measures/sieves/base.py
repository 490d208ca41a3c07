"""Sieves (Pande et al. 2021): for each token the set of tokens that a role should attend to. A user
adds one with a decorated function.

    import headscope as hs

    @hs.sieve("capitals", title="Words with a capital letter")
    def capitals(tokens):
        return [piece[:1].isupper() for piece in tokens.text]

A sieve is given the tokens of one example (:class:`headscope.encode.Encoded`) and returns which
tokens each one should attend to: a boolean matrix (query, key), one row of it where the set is the
same for every token, or a relation of a known kind (:mod:`headscope.measures.kinds`), which costs
less on long inputs. A token without any does not count; None, or no pair at all, skips the
example.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headscope.corpus import Example
from headscope.encode import Encoded
from headscope.errors import UserError
from headscope.identity import code_digest
from headscope.measures.kinds import Relation, as_relation
from headscope.measures.registry import run_file
from headscope.registry import Registry

Select = Callable[[Encoded], Relation | ArrayLike | None]


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
        found = self._ask(self.select, item, f"example {item.example.id}")
        if found is None:
            return None
        size = len(item)
        if isinstance(found, Relation) and len(found.sizes()) == size:
            return found
        array = self._ask(np.asarray, found, f"example {item.example.id}")
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

    def _ask(self, function: Callable[[Any], Any], given: Any, where: str) -> Any:
        try:
            return function(given)
        except Exception as error:  # a user's sieve may fail in any way
            if not self.own:
                raise
            raise UserError(
                f"the sieve {self.name!r} fails on {where}: {type(error).__name__}: {error}",
                hint="fix it, then run it again",
            ) from error

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
        asked = frozenset([needs] if isinstance(needs, str) else needs)
        learn = function if learns else None
        add_sieve(Sieve(name, title or name, function, asked, later, learn, own))
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
    import headscope.measures.sieves.builtin  # noqa: F401  (they register themselves)

    return {name: SIEVES[name] for name in SIEVES}
