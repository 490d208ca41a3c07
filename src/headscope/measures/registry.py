"""Every measure by name. A third-party package adds its own through the entry point group ``headscope.measures``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import entry_points

from headscope.errors import UserError, unknown
from headscope.measures.base import HOW, Measure
from headscope.measures.coreference import Coreference
from headscope.measures.dependency import Dependency
from headscope.measures.distance import Distance
from headscope.measures.entropy import Entropy
from headscope.measures.feature import Feature
from headscope.measures.frame import Frame
from headscope.measures.gradient import Gradient
from headscope.measures.link import Link
from headscope.measures.patterns.measure import Pattern
from headscope.measures.position import Position
from headscope.measures.role import Role
from headscope.measures.special import Special

GROUP = "headscope.measures"
OWN: tuple[type[Measure], ...] = (
    Position,
    Special,
    Entropy,
    Role,
    Dependency,
    Coreference,
    Frame,
    Feature,
    Link,
    Distance,
    Gradient,
    Pattern,
)


@cache
def available() -> dict[str, type[Measure]]:
    """All measures, ours first, then those that other packages bring."""
    found = {measure.name: measure for measure in OWN}
    for point in entry_points(group=GROUP):
        if point.name in found:
            continue
        try:
            loaded = point.load()
        except Exception as error:  # another package's import may fail in any way
            raise UserError(
                f"the entry point {point.name!r} ({point.value}) cannot be loaded: {error}",
                hint="mend or uninstall that package",
            ) from error
        if not (isinstance(loaded, type) and issubclass(loaded, Measure)):
            raise UserError(
                f"the entry point {point.name!r} ({point.value}) is not a measure: it must be a subclass of headscope.measures.Measure",
                hint="mend or uninstall that package",
            )
        if (
            loaded.name != point.name
        ):  # results are kept under the measure's own name, which may be another's
            raise UserError(
                f"the entry point {point.name!r} ({point.value}) gives a measure that calls itself {loaded.name!r}: the two must be the same",
                hint="mend or uninstall that package",
            )
        found[point.name] = loaded
    return found


def choose(
    names: Iterable[str] | None, offered: Collection[str], *, corpus: str
) -> list[type[Measure]]:
    """The measures asked for, or all that the corpus' annotations allow. Asking for one that they don't allow is an error."""
    measures = available()
    if names is None:
        return [
            measure
            for measure in measures.values()
            if measure.offered and measure.needs <= set(offered)
        ]
    chosen = []
    for name in dict.fromkeys([names] if isinstance(names, str) else names):
        if name not in measures:
            raise unknown("measure", name, measures)
        missing = sorted(measures[name].needs - set(offered))
        if missing == ["lm"]:
            raise UserError(
                f"the measure {name!r} needs a language-model head, which this model does not have",
                hint=HOW["lm"],
            )
        if missing:
            raise UserError(
                f"the measure {name!r} needs {', '.join(missing)}, which {corpus} does not have (it has {', '.join(sorted(offered)) or 'plain text only'})",
                hint=HOW.get(missing[0], f"give a corpus with {missing[0]}"),
            )
        chosen.append(measures[name])
    if not chosen:
        raise UserError("no measure was asked for", hint=f"choose from {', '.join(measures)}")
    return chosen
