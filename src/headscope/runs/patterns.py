"""Pattern classes (Kovaleva et al. 2019, §4.1): what the maps of every head look like."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from headscope.corpus import CorpusLike
from headscope.measures.patterns.measure import Pattern
from headscope.models.like import ModelLike
from headscope.progress import ProgressLike
from headscope.results import Atlas
from headscope.runs.survey import survey


def patterns(
    model: ModelLike,
    corpus: CorpusLike,
    *,
    network: str | Path | None = None,
    limit: int | None = 1000,
    max_length: int = 128,
    long: Literal["truncate", "split", "drop"] = "truncate",
    batch_size: int = 16,
    stack: str = "",
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: ProgressLike = False,
) -> Atlas:
    """Classify the maps of every head: vertical, diagonal, both, block or heterogeneous.

    Parameters
    ----------
    model, corpus
        As in :func:`headscope.survey`.
    network
        The weights of a network of your own (``headscope label --retrain``). Default: the one
        shipped with Headscope.
    limit
        Use at most this many examples; the paper uses 1000.
    max_length, long, batch_size, stack, output, overwrite, progress
        As in :func:`headscope.survey`.

    Returns
    -------
    Atlas
        With the measure ``pattern``: the share of inputs on which a head's map is of each class.

    References
    ----------
    Kovaleva et al. 2019, "Revealing the Dark Secrets of BERT", section 4.1 and Figure 2.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.patterns("demo", ["The dog that I saw barked at the cat."])
    >>> float(atlas.mean("pattern").sel(layer=1, head=3, pattern="diagonal"))
    1.0
    """
    return survey(
        model,
        corpus,
        measures=[Pattern(network)],
        limit=limit,
        max_length=max_length,
        long=long,
        batch_size=batch_size,
        stack=stack,
        examples=0,
        output=output,
        overwrite=overwrite,
        progress=progress,
    )
