"""Registries: how measures, sieves, figures and metrics are found by name.

Headscope's own register themselves by being defined; users add theirs with the registry's
decorator, other packages through an entry point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from headscope.errors import UserError, unknown

T = TypeVar("T")


@dataclass(frozen=True)
class Entry(Generic[T]):
    """One name of a registry.

    Parameters
    ----------
    name
        The name people use.
    target
        The object.
    facts
        What else is known of it, such as a title.
    own
        True for objects of a user or another package, false for Headscope's.
    """

    name: str
    target: T
    facts: Mapping[str, Any]
    own: bool


class Registry(Generic[T]):
    """Objects of one kind by name.

    Parameters
    ----------
    kind
        What the objects are, in the singular, for messages ("measure").
    group
        The entry point group through which other packages add theirs.
    check
        Called with the name and an object from outside Headscope; raises if it is not of the kind.
    chapters
        Modules of Headscope's that add their objects when they are imported; they are when the
        registry is first asked.

    Examples
    --------
    >>> tools = Registry("tool")
    >>> tools.add("half", lambda value: value / 2)
    >>> tools.add("double", lambda value: 2 * value)
    >>> list(tools), tools["double"](4)
    (['half', 'double'], 8)
    >>> tools["duoble"]  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    headscope.errors.UserError: the tool must be one of double, half; got 'duoble' instead...
    """

    def __init__(
        self,
        kind: str,
        *,
        group: str = "",
        check: Callable[[str, Any], None] | None = None,
        chapters: Iterable[str] = (),
    ) -> None:
        self.kind = kind
        self.group = group
        self._check = check
        self._chapters = tuple(chapters)
        self._entries: dict[str, Entry[T]] = {}
        self._asked = not group

    def add(self, name: str, target: T, *, own: bool = True, **facts: Any) -> None:
        """Add an object.

        An object of the user's may replace another of the user's (a notebook cell that is run
        again), but never one of Headscope's.
        """
        before = self._entries.get(name)
        if before is not None and not (own and before.own):
            raise UserError(
                f"there is already a {self.kind} called {name!r}", hint="choose another name"
            )
        if own and self._check is not None:
            self._check(name, target)
        self._entries[name] = Entry(name, target, MappingProxyType(facts), own)

    def register(self, name: str, **facts: Any) -> Callable[[T], T]:
        """A decorator that adds what it decorates under ``name``."""

        def decorate(target: T) -> T:
            module = str(getattr(target, "__module__", ""))
            self.add(name, target, own=not module.startswith("headscope."), **facts)
            return target

        return decorate

    def __getitem__(self, name: str) -> T:
        return self.entry(name).target

    def entry(self, name: str) -> Entry[T]:
        """What is known of a name."""
        self._ask_packages()
        if name not in self._entries:
            raise unknown(self.kind, str(name), self._entries)
        return self._entries[name]

    def entries(self) -> tuple[Entry[T], ...]:
        """All entries: Headscope's first, then those of other packages and of the user."""
        self._ask_packages()
        return tuple(self._entries.values())

    def __iter__(self) -> Iterator[str]:
        self._ask_packages()
        return iter(tuple(self._entries))

    def __contains__(self, name: object) -> bool:
        self._ask_packages()
        return name in self._entries

    def __len__(self) -> int:
        self._ask_packages()
        return len(self._entries)

    def _ask_packages(self) -> None:
        """Load what other packages bring, once."""
        if self._asked:
            return
        self._asked = True
        self._read_chapters()
        try:
            for point in entry_points(group=self.group):
                self._load(point)
        except UserError:
            self._asked = False  # ask again next time: the error must not be shown only once
            raise

    def _read_chapters(self) -> None:
        """Import the chapters; whichever was imported first, objects are listed in their order."""
        places = {chapter: number for number, chapter in enumerate(self._chapters)}
        for chapter in self._chapters:
            import_module(chapter)
        self._entries = dict(
            sorted(
                self._entries.items(),
                key=lambda item: places.get(
                    getattr(item[1].target, "__module__", ""), len(places) * (1 + item[1].own)
                ),
            )
        )

    def _load(self, point: Any) -> None:
        known = self._entries.get(point.name)
        if known is not None and not known.own:
            return
        where = f"the entry point {point.name!r} ({point.value})"
        before = len(self._entries)
        try:
            target = point.load()
        except Exception as error:  # another package's import may fail in any way
            raise UserError(
                f"{where} cannot be loaded: {error}", hint="fix or uninstall that package"
            ) from error
        if len(self._entries) > before or point.name in self._entries:  # it registered itself
            return
        try:
            self.add(point.name, target)
        except UserError as error:
            raise UserError(
                f"{where} is not a {self.kind}: {error.message}",
                hint="fix or uninstall that package",
            ) from error


def _check_measure(name: str, target: Any) -> None:
    """Refuse what is not a measure's class."""
    kind = import_module("headscope.measures.base").Measure
    if not (isinstance(target, type) and issubclass(target, kind)):
        raise UserError("it must be a subclass of headscope.Measure")
    if getattr(target, "name", None) != name:  # results are kept under the measure's own name
        raise UserError(f"its own name is {getattr(target, 'name', None)!r}; the two must be equal")


MEASURES: Registry[Any] = Registry(
    "measure",
    group="headscope.measures",
    check=_check_measure,
    chapters=[
        f"headscope.measures.{name}"
        for name in (
            "attention",
            "work",
            "tokens",
            "arcs",
            "dependency",
            "coreference",
            "grammar",
            "distance",
            "gradients",
            "patterns",
        )
    ],
)
"""All measures: Headscope's own, which register themselves by being defined in these chapters, then
those of other packages. It stands here because readers of results files ask it too."""
