"""Results of retrieval with labels: scores of heads, and answers with heads disabled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.models import Shape
from headscope.results.moments import Range
from headscope.runs.retrieval.masking import Variant
from headscope.runs.retrieval.prompts import Place
from headscope.stats.inference import interval, standard_error
from headscope.stats.retrieval import RECOVERED

SOURCE = "Wu et al. 2024"
Array = NDArray[Any]


def score_dataset(
    scores: NDArray[np.float32],
    recall: NDArray[np.float64],
    tokens: NDArray[np.int64],
    written: Sequence[str],
    places: Sequence[Place],
    shape: Shape,
) -> xr.Dataset:
    """The retrieval score of every head, with its interval over needles, and all answers.

    Parameters
    ----------
    scores
        (prompt, layer, head).
    recall, tokens, written
        Of each prompt: how much of the answer was written, the prompt's length, the text.
    places
        The needle, length and depth of each prompt.
    shape
        The shape of the stack.
    """
    needles = np.array([place.needle for place in places], np.int64)
    recovered = recall > RECOVERED
    cells = xr.DataArray(scores.astype(np.float64), dims=("prompt", "layer", "head"))
    mean, low, high, error = over_needles(cells[recovered], needles[recovered], "share")
    grid = ("layer", "head")
    count = int(recovered.sum())
    spread = cells[recovered].std("prompt", ddof=1) if count > 1 else mean * np.nan
    return xr.Dataset(
        {
            "mean": (grid, mean.values),
            "low": (grid, low.values),
            "high": (grid, high.values),
            "error": (grid, error.values),
            "deviation": (grid, spread.values),
            "n": (grid, np.full(mean.shape, count, np.int64)),
            "score": (("prompt", *grid), scores),
            "recall": ("prompt", recall),
            "tokens": ("prompt", tokens),
            "needle": ("prompt", needles + 1),
            "length": ("prompt", np.array([place.length for place in places], np.int64)),
            "depth": ("prompt", np.array([place.depth for place in places], np.float64)),
            "written": ("prompt", np.array(written, dtype=object)),
        },
        {"layer": list(shape.labels), "head": list(range(1, shape.heads + 1))},
        {
            "title": "retrieval score",
            "unit": "share of the answer's tokens",
            "source": SOURCE,
            "kind": "mean",
            "listed": "yes",
        },
    )


def masking_dataset(
    recall: NDArray[np.float64],
    used: NDArray[np.bool_],
    needles: NDArray[np.int64],
    variants: Sequence[Variant],
) -> xr.Dataset:
    """How much of the answers is written with heads disabled, with intervals over needles.

    Parameters
    ----------
    recall
        (prompt, variant).
    used
        Which prompts were run, (prompt,).
    needles
        The needle of each prompt, (prompt,).
    variants
        What was disabled.
    """
    groups = list(dict.fromkeys(variant.group for variant in variants))
    draws = max(variant.draw for variant in variants)
    merged = np.empty((len(groups), int(used.sum())))
    by_draw = np.full((len(groups), max(draws, 1)), np.nan)
    for at, group in enumerate(groups):
        own = [place for place, variant in enumerate(variants) if variant.group == group]
        merged[at] = recall[used][:, own].mean(1)
        by_draw[at, : len(own)] = recall[used][:, own].mean(0)
    against = [groups.index(group.replace("top", "random")) for group in groups]
    cells = xr.DataArray(merged, dims=("disabled", "prompt"))
    mean, low, high, error = over_needles(cells, needles[used], "share")
    difference = over_needles(cells - cells[against].values, needles[used])
    compared = np.array([one != at for at, one in enumerate(against)])
    names = ("difference", "difference_low", "difference_high")
    return xr.Dataset(
        {
            "mean": ("disabled", mean.values),
            "low": ("disabled", low.values),
            "high": ("disabled", high.values),
            "deviation": ("disabled", error.values),
            "n": ("disabled", np.full(len(groups), int(used.sum()), np.int64)),
            "draw_mean": (("disabled", "draw"), by_draw),
            **{
                name: ("disabled", np.where(compared, part.values, np.nan))
                for name, part in zip(names, difference, strict=False)
            },
        },
        {"disabled": np.array(groups, dtype=object)},
        {
            "title": "recall of answers with heads disabled",
            "unit": "share of the answer's words",
            "source": SOURCE,
            "kind": "curve",
            "listed": "no",
        },
    )


def over_needles(
    cells: xr.DataArray, needles: Array, values: Range = "signed"
) -> tuple[xr.DataArray, ...]:
    """The mean over prompts with its 95 % interval and standard error, by jackknife over needles.

    Prompts with the same needle depend on each other, so one needle after the other is left out.

    Parameters
    ----------
    cells
        Values, one of the dimensions of which is prompt.
    needles
        The needle of each prompt.
    values
        Where the mean may lie: "share" (0 to 1), "positive" or "signed".

    Returns
    -------
    tuple of xarray.DataArray
        Mean, low, high and standard error. All are NaN without prompts; all but the mean are NaN
        with too few needles.

    Examples
    --------
    >>> cells = xr.DataArray([0.2, 0.4, 0.9], dims="prompt")
    >>> mean, low, high, error = over_needles(cells, np.array([0, 0, 1]))
    >>> round(float(mean), 3), round(float(error), 3)
    (0.5, 0.447)
    """
    if not cells.sizes["prompt"]:
        nothing = cells.sum("prompt") * np.nan
        return nothing, nothing, nothing, nothing
    known = np.unique(needles)
    parts = [cells[{"prompt": np.flatnonzero(needles == one)}].sum("prompt") for one in known]
    sums = xr.concat(parts, dim="bucket")
    counts = xr.DataArray([int((needles == one).sum()) for one in known], dims="bucket")
    return cells.mean("prompt"), *interval(sums, counts, values), standard_error(sums, counts)
