"""Heads in labelled arrays: results count layers and heads from 1, :class:`Head` from 0."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from headscope.errors import UserError
from headscope.heads import Head


def labelled_head(layer: Any, head: Any) -> Head:
    """The head that two labels of a results array stand for.

    >>> str(labelled_head(3, 9)), labelled_head(3, 9).zero_based
    ('3-9', 'L2H8')
    """
    return Head(int(layer) - 1, int(head) - 1)


def check_same_heads(data: xr.Dataset, train: xr.Dataset) -> None:
    """Raise an error unless heads that are chosen on training results are those of the others.

    Parameters
    ----------
    data, train
        The same measure of two results.

    Raises
    ------
    UserError
        If one has other layers or heads.
    """
    if any(data[dim].values.tolist() != train[dim].values.tolist() for dim in ("layer", "head")):
        raise UserError(
            "heads can only be chosen on results of the same model: the training results have "
            f"{train.sizes['layer']} × {train.sizes['head']} heads, the others "
            f"{data.sizes['layer']} × {data.sizes['head']}",
            hint="survey the training corpus with the same model",
        )


def grid_heads(values: xr.DataArray | xr.Dataset) -> list[Head]:
    """All heads of an array with dims layer and head, layer by layer.

    >>> grid = xr.DataArray([[0.1, 0.9]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> [str(head) for head in grid_heads(grid)]
    ['1-1', '1-2']
    """
    places = product(values["layer"].values, values["head"].values)
    return [labelled_head(layer, head) for layer, head in places]


def strongest_head(values: xr.DataArray) -> Head | None:
    """The head with the largest value, the first of equals; None where no value is defined.

    >>> grid = xr.DataArray([[0.1, 0.6, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> str(strongest_head(grid))
    '1-3'
    """
    flat = values.transpose("layer", "head").values.ravel()
    return grid_heads(values)[int(np.nanargmax(flat))] if np.isfinite(flat).any() else None


def heads_over(values: xr.DataArray, threshold: float) -> list[Head]:
    """The heads whose value is over a threshold, the largest first, equal ones in model order.

    >>> grid = xr.DataArray([[0.1, 0.6, 0.9]], {"layer": [1], "head": [1, 2, 3]}, ("layer", "head"))
    >>> [str(head) for head in heads_over(grid, 0.5)]
    ['1-3', '1-2']
    """
    flat = values.transpose("layer", "head").values.ravel()
    heads = grid_heads(values)
    over = [place for place in range(len(flat)) if flat[place] > threshold]
    return [heads[place] for place in sorted(over, key=lambda place: -flat[place])]
