"""What values an option may have, for completion in a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

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


def _measures(context: Any) -> Iterable[str]:
    from headscope.measures.registry import MEASURES

    return [entry.name for entry in MEASURES.entries()]


def _figures(context: Any) -> Iterable[str]:
    from headscope.figures import FIGURES

    return [entry.name for entry in FIGURES.entries()]


def _of_results(what: Callable[[Any], Iterable[str]]) -> Completer:
    """Values that a results file holds: it is the first argument that ends in .nc."""

    def complete(context: Any) -> Iterable[str]:
        from headscope.results import Atlas

        words = [token for one in context.arguments for token in one.tokens]
        paths = [token.value for token in words if token.value.endswith(".nc")]
        return what(Atlas.open(paths[0])) if paths else ()

    return complete


_KINDS: dict[str, Completer] = {
    "models": lambda context: ("demo", "demo-llm"),
    "corpora": lambda context: ("demo",),
    "measures": _measures,
    "figures": _figures,
    "heads": _of_results(lambda atlas: [str(head) for head in atlas.all_heads()]),
    "relations": _of_results(
        lambda atlas: [str(name) for name in atlas["dependency"]["relation"].values]
    ),
    "roles": _of_results(lambda atlas: [str(name) for name in atlas["role"]["role"].values]),
}
