"""Maps of every class and of every head: Figure 1 and Appendix A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.corpus import Corpus
from headscope.figures import pattern_grid
from headscope.figures.patterns import PATTERNS, NamedMap, typical_maps
from headscope.models import Model
from headscope.page import Plot
from headscope.results import TextAttention
from headscope.runs.attention import attention

TYPICAL = 4
"""Maps of each class in Figure 1."""
LONGEST = 64
"""Tokens of an example whose maps are drawn."""


@dataclass(frozen=True)
class DrawnExample:
    """All maps of a model on one example, with the classes of their patterns."""

    texts: tuple[str, ...]
    seen: TextAttention


def random_maps(model: Model, corpus: Corpus, *, seed: int) -> DrawnExample:
    """All maps of a model on one example that is drawn at random, as in Appendix A."""
    texts = next(iter(corpus.sample(1, seed=seed))).texts
    return DrawnExample(texts, attention(model, *texts, max_length=LONGEST, patterns=True))


def typical_plot(found: Mapping[str, DrawnExample]) -> Plot:
    """Draw the maps of each class that the network is surest of (Figure 1).

    Parameters
    ----------
    found
        All maps of one example per model, by what they are of.
    """
    maps: dict[str, list[tuple[float, str, Any]]] = {name: [] for name in PATTERNS}
    for name, one in found.items():
        for row in one.seen.patterns().itertuples():
            weights = one.seen.maps.sel(layer=row.layer, head=row.head).values
            maps[str(row.pattern)].append(
                (float(row.sureness), f"{name} {row.layer}-{row.head}", weights)  # type: ignore[arg-type]
            )
    chosen: dict[str, list[NamedMap]] = {
        name: [(label, weights) for _, label, weights in _surest(several)]
        for name, several in maps.items()
    }
    return Plot(
        "figure-1",
        "Typical maps of each class",
        "After Figure 1: the maps that the network is surest of, among all maps of one random dev "
        "example of each task.",
        typical_maps(chosen),
    )


def _surest(maps: Sequence[tuple[float, str, Any]]) -> list[tuple[float, str, Any]]:
    return sorted(maps, key=lambda one: -one[0])[:TYPICAL]


def appendix_plots(found: Mapping[str, DrawnExample]) -> list[Plot]:
    """Draw all maps of one example of each task (Appendix A)."""
    plots = []
    for name, one in found.items():
        title = f"{name}: all maps of one example"
        chart = pattern_grid(
            one.seen.maps.values,
            one.seen.maps["pattern"].values.tolist(),
            title=title,
            subtitle=" / ".join(one.texts),
            numbers=one.seen.maps["layer"].values.tolist(),
        )
        caption = (
            "After Appendix A: every head on one dev example that was drawn at random and cut to "
            f"{LONGEST} tokens; frames and letters are the classes that the network gives."
        )
        plots.append(Plot(f"appendix-{name.lower()}", title, caption, chart))
    return plots
