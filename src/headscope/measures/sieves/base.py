"""Sieves (Pande et al. 2021): for each token the set of tokens that a role should attend to. A user adds one with a decorated function.

    import headscope as hs

    @hs.sieve("capitals", title="Words with a capital letter")
    def capitals(tokens):
        return [piece[:1].isupper() for piece in tokens.text]

A sieve is given the tokens of one example (:class:`headscope.encode.Encoded`) and returns which tokens each one should attend to: a boolean matrix
(query, key), or one row of it where the set is the same for every token. A token without any is left out; None, or no pair at all, leaves out the example.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headscope.corpus import Example
from headscope.encode import Encoded
from headscope.errors import UserError
from headscope.measures.relation import Pairs

GROUP = "headscope.sieves"
Select = Callable[[Encoded], ArrayLike | None]


@dataclass(frozen=True)
class Sieve:
    """A role's sieve: which tokens each token should attend to, and what it needs of a corpus (pair, words, tree, tags, mentions).

    ``later``: its tokens all come later in the text, so that a causal model has none of them. ``learn``, if there is one, looks at the corpus first and gives ``select``.
    """

    name: str
    title: str
    select: Select
    needs: frozenset[str] = frozenset()
    later: bool = False
    learn: Callable[[Iterable[Example]], Select] | None = None
    own: bool = False

    def pairs(self, item: Encoded) -> Pairs | None:
        """The sieve of one example as a matrix (query, key), or None if it has none."""
        found = self._ask(self.select, item, f"example {item.example.id}")
        if found is None:
            return None
        size = len(item)
        array = self._ask(np.asarray, found, f"example {item.example.id}")
        if array.shape not in ((size, size), (size,)) or array.dtype != np.bool_:
            raise UserError(
                f"the sieve {self.name!r} must give true and false for each of the example's {size} tokens, or for each pair of them; "
                f"it gave {array.dtype} of shape {array.shape} for example {item.example.id}",
                hint="return a boolean array of shape (T, T) or (T,): see the docs, 'Write a sieve'",
            )
        return np.broadcast_to(array, (size, size))

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
                hint="mend it, then type the same command again",
            ) from error

    @property
    def digest(self) -> str:
        """What the code of a user's sieve is, so that a changed one makes another run; empty for ours, which go with the version."""
        return (
            hashlib.sha256(_source(self.learn or self.select).encode()).hexdigest()[:12]
            if self.own
            else ""
        )


def _source(function: Callable[..., Any]) -> str:
    """The whole file that a sieve stands in, because it may use what stands beside it; of a script or notebook its own lines; without a text what was compiled."""
    try:
        return (
            inspect.getsource(function)
            if function.__module__ == "__main__"
            else Path(inspect.getfile(function)).read_text(encoding="utf-8", errors="replace")
        )
    except OSError:
        return repr(_compiled(function.__code__))


def _compiled(code: CodeType) -> tuple[object, ...]:
    constants = [
        _compiled(one)
        if isinstance(one, CodeType)
        else sorted(map(repr, one))
        if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    ]
    return code.co_code, code.co_names, constants


_KNOWN: dict[str, Sieve] = {}


def add_sieve(new: Sieve) -> None:
    """Make a sieve known by its name. A user's may take the place of a user's, as when a notebook's cell is run again, but never of one of ours."""
    before = _KNOWN.get(new.name)
    if before is not None and not (new.own and before.own):
        raise UserError(
            f"there is a sieve called {new.name!r} already", hint="give yours another name"
        )
    _KNOWN[new.name] = new


def sieve(
    name: str,
    *,
    title: str = "",
    needs: Iterable[str] = (),
    later: bool = False,
    learns: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function a role's sieve, under this name. With ``learns`` the function is given the corpus and returns the sieve."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if not inspect.isfunction(function):
            raise UserError(
                f"the sieve {name!r} must be a function of an example's tokens, got {function!r} instead",
                hint="see the docs, 'Write a sieve'",
            )
        own = not function.__module__.startswith("headscope.")
        learn = function if learns else None
        add_sieve(
            Sieve(
                name,
                title or name,
                function,
                frozenset([needs] if isinstance(needs, str) else needs),
                later,
                learn,
                own,
            )
        )
        return function

    return register


def load_sieves(path: str | Path) -> list[str]:
    """Run a Python file that decorates sieves, and say which it brought. The file's code runs: it must be the user's own."""
    file = Path(path)
    if not file.is_file() or file.suffix != ".py":
        raise UserError(
            f"a file of sieves must be a Python file (.py); got {str(path)!r}, which is {'no such file' if not file.exists() else 'none'}",
            hint="give --sieve my_sieves.py",
        )
    before = {name: known for name, known in _KNOWN.items() if known.own}
    spec = importlib.util.spec_from_file_location(f"headscope_sieves_of_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except Exception as error:  # a user's file may fail in any way
        raise UserError(
            f"the file of sieves {file} cannot be run: {type(error).__name__}: {error}",
            hint="run it with python to see where",
        ) from error
    brought = [name for name, known in _KNOWN.items() if known.own and before.get(name) != known]
    if not brought:
        raise UserError(
            f"{file} has no sieve in it", hint="decorate a function with @headscope.sieve('name')"
        )
    return brought


@cache
def _entry_points() -> None:
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:  # another package's import may fail in any way
            raise UserError(
                f"the entry point {point.name!r} ({point.value}) cannot be loaded: {error}",
                hint="mend or uninstall that package",
            ) from error


def known_sieves() -> dict[str, Sieve]:
    """Every sieve by name: ours first, then those of other packages (entry points ``headscope.sieves``) and of the user."""
    import headscope.measures.sieves.builtin  # noqa: F401  ours register themselves

    _entry_points()
    return dict(_KNOWN)
