"""What heads do beyond ordinary text: on random tokens, by their weights, and in long texts."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.results import Atlas
from headscope.stats.grid import grid_heads
from headscope.stats.words.phrases import in_percent

SURELY = 0.3
"""On random tokens: attention whose whole interval is above this is worth a sentence."""
COPIES = 0.5
"""From this score on, a head is said to copy. Scores run from -1 to 1."""
RETRIEVES = 0.1
"""From this score on, a head is said to retrieve (Wu et al. 2024)."""
ON_RANDOM = {
    "induction": "what followed the same token in the first (induction)",
    "duplicate": "the same token in the first",
    "previous": "the token before",
}


def beyond_text(results: Atlas) -> dict[str, list[str]]:
    """What is known of single heads beyond ordinary text, in sentences.

    Parameters
    ----------
    results
        A survey with random tokens written twice; with circuits or retrieval scores, where these
        were added.

    Returns
    -------
    dict of str to list of str
        By the name of the head; heads of which nothing is known are missing.

    Examples
    --------
    >>> labels = {"layer": [1], "head": [1, 2]}
    >>> cells = {"mean": (("layer", "head"), [[0.9, 0.1]])}
    >>> copying = xr.Dataset(cells, labels, {"kind": "weights"})
    >>> beyond_text(Atlas.build({"copying": copying}, {}))
    {'1-1': ['By its weights it copies what it attends to (copying score 0.90).']}
    """
    found: dict[str, list[str]] = {}
    if "synthetic" in results:
        for score, words in ON_RANDOM.items():
            data = results["synthetic"].sel(score=score)
            for head, (mean, low) in _rows(data, "mean", "low"):
                if low > SURELY:
                    found.setdefault(head, []).append(
                        f"Where random tokens are written twice, {in_percent(mean)} of its "
                        f"attention in the second copy is on {words}."
                    )
    if "copying" in results:
        for head, (mean,) in _rows(results["copying"], "mean"):
            if mean >= COPIES:
                found.setdefault(head, []).append(
                    f"By its weights it copies what it attends to (copying score {mean:.2f})."
                )
    if "retrieval" in results:
        for head, (mean, low, high) in _rows(results["retrieval"], "mean", "low", "high"):
            if mean >= RETRIEVES and low > 0:
                found.setdefault(head, []).append(
                    "It copies answers out of long texts: retrieval score "
                    f"{mean:.2f} ({low:.2f} to {high:.2f})."
                )
    return found


def retrieving_heads(results: Atlas) -> list[str]:
    """The heads with a retrieval score of 0.1 or more, and an interval above 0, best first."""
    if "retrieval" not in results:
        return []
    scores = {
        head: mean
        for head, (mean, low) in _rows(results["retrieval"], "mean", "low")
        if mean >= RETRIEVES and low > 0
    }
    return sorted(scores, key=lambda head: -scores[head])


def _rows(data: xr.Dataset, *names: str) -> list[tuple[str, NDArray[np.float64]]]:
    """Some values of every head."""
    values = [data[name].transpose("layer", "head").values.ravel() for name in names]
    heads = [str(head) for head in grid_heads(data)]
    return list(zip(heads, np.stack(values, 1).astype(np.float64), strict=True))
