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


def _statistics(atlas: Any) -> Iterable[str]:
    from headscope.results.schema import label_dims

    for name in atlas.measures:
        dims = label_dims(atlas[name])
        if len(dims) == 1:
            yield from (f"{name}:{label}" for label in atlas[name][dims[0]].values)
        else:
            yield name


def _tasks(context: Any) -> Iterable[str]:
    from headscope.tasks.task import GLUE, TITLES

    return (*TITLES.values(), *GLUE)


def _glue(context: Any) -> Iterable[str]:
    from headscope.tasks.task import GLUE

    return GLUE


_KINDS: dict[str, Completer] = {
    "models": lambda context: ("demo", "demo-llm"),
    "corpora": lambda context: ("demo",),
    "measures": _measures,
    "figures": _figures,
    "heads": _of_results(lambda atlas: [str(head) for head in atlas.all_heads()]),
    "relations": _of_results(
        lambda atlas: [str(name) for name in atlas["dependency"]["relation"].values]
    ),
    "statistics": _of_results(_statistics),
    "tasks": _tasks,
    "glue": _glue,
    "roles": _of_results(lambda atlas: [str(name) for name in atlas["role"]["role"].values]),
}
