"""What each head mainly does, by its statistics: the colours of Clark et al. 2019, Figure 6."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from headscope.heads import Head, all_heads
from headscope.results import Atlas
from headscope.stats.grid import heads_over, labelled_head
from headscope.stats.relations import LEAST, best_heads

OTHER = "none of these"
"""The behaviour of a head that none of the thresholds fits."""
TOKENS = {"cls": "[CLS]", "sep": "[SEP]", "punctuation": ". or ,"}


@dataclass(frozen=True)
class Thresholds:
    """From which value on a head is said to do something.

    Parameters
    ----------
    position
        Share of attention on the previous, current or next token.
    token
        Share of attention on [CLS], on [SEP], or on full stops and commas.
    broad
        Share of the entropy that uniform attention has.
    p
        Corrected p of the best head of a relation against its best fixed offset.
    """

    position: float = 0.5
    token: float = 0.5
    broad: float = 0.9
    p: float = 0.05


def behaviours(results: Atlas, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """Name the main behaviour of every head.

    Parameters
    ----------
    results
        Results of a survey. Only the measures they have are looked at.
    thresholds
        From which value on a head is said to do something.

    Returns
    -------
    pandas.DataFrame
        One row per head: name, layer, head and behaviour. The first that fits is taken, in the
        order position, special token, dependency, coreference, broad attention.
    """
    limits = thresholds or Thresholds()
    behaviour: dict[Head, str] = {}
    for heads, what in [*_surface(results, limits), *_linguistic(results, limits)]:
        for head in heads:
            behaviour.setdefault(head, what)
    if "entropy" in results.measures:
        means = results.mean("entropy")
        for head in heads_over(means.sel(row="all") / means.sel(row="uniform"), limits.broad):
            behaviour.setdefault(head, "broad")
    layers = [number - 1 for number in results.layers]
    rows = [
        {
            "name": str(head),
            "layer": head.layer + 1,
            "head": head.head + 1,
            "behaviour": behaviour.get(head, OTHER),
        }
        for head in all_heads(layers, results.shape[1])
    ]
    return pd.DataFrame(rows)


def _surface(results: Atlas, limits: Thresholds) -> Iterator[tuple[list[Head], str]]:
    """Heads that attend to a position or to a special token."""
    if "position" in results.measures:
        means = results.mean("position")
        for offset in ("previous", "next", "current"):
            yield heads_over(means.sel(offset=offset), limits.position), f"{offset} token"
    if "special" in results.measures:
        means = results.mean("special").sel(row="all")
        for token, words in TOKENS.items():
            yield heads_over(means.sel(token=token), limits.token), words


def _linguistic(results: Atlas, limits: Thresholds) -> Iterator[tuple[list[Head], str]]:
    """The best heads of relations that beat the offset, and the best head at antecedents."""
    if "dependency" in results.measures and int(results["dependency"]["n"].max()) >= LEAST:
        table = best_heads(results)
        single = ~table["relation"].str.startswith("all")
        good = table[(table["p_corrected"] < limits.p) & single]
        yield [Head.parse(name) for name in good["head"]], "dependency"
    if "coreference" in results.measures:
        data = results["coreference"]["mean"]
        means = data.sel(candidates="mentions", kind="all", mentions="every")
        if bool(means.notnull().any()):
            layer, head = means.stack(place=("layer", "head")).idxmax().item()
            yield [labelled_head(layer, head)], "coreference"
