"""Which heads compose with which: tables of circuits (Elhage et al. 2021)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError, unknown
from headscope.heads import Head
from headscope.results import Atlas

KINDS = ("Q", "K", "V")
EARLIER, LATER = "earlier", "later"
COLUMNS = ["direction", "head", "kind", "excess", "times baseline"]


def composition_of(results: Atlas) -> xr.Dataset:
    """The composition of all pairs of heads.

    Raises
    ------
    UserError
        If the results have none.
    """
    if "composition" not in results:
        name = results.provenance.get("model", {}).get("name", "MODEL")
        raise UserError(
            "these results have no composition of heads",
            hint=f"make it from the weights: hs.circuits({name!r})",
        )
    return results["composition"]


def composes_with(
    results: Atlas, head: Head, *, kind: str = "", top: int | None = None
) -> pd.DataFrame:
    """The heads that one head composes with, strongest first.

    Parameters
    ----------
    results
        Results with circuits.
    head
        The head.
    kind
        ``"Q"``, ``"K"`` or ``"V"``. Default: all three.
    top
        Only so many in each direction. Default: all.

    Returns
    -------
    pandas.DataFrame
        direction (of the other head, "earlier" heads feed this one and "later" ones read it), the
        other head, kind, excess (over random heads) and the ratio to their mean.
    """
    data, kinds = composition_of(results), _kinds(kind)
    if top is not None and top < 1:
        raise UserError(f"the number of heads must be 1 or more, got {top} instead")
    layer, number = head.layer + 1, head.head + 1
    sides = {
        EARLIER: data["excess"].sel(layer=layer, head=number, kind=kinds),
        LATER: data["excess"]
        .sel(from_layer=layer, from_head=number, kind=kinds)
        .drop_vars(("from_layer", "from_head"))
        .rename(layer="from_layer", head="from_head"),
    }
    baseline = {str(one): float(data["baseline"].sel(kind=one)) for one in kinds}
    frames = []
    for direction, values in sides.items():
        layers = values["from_layer"].values
        rows = [
            {
                "direction": direction,
                "head": str(Head(int(layers[b]) - 1, c)),
                "kind": kinds[a],
                "excess": float(values.values[a, b, c]),
                "times baseline": 1 + float(values.values[a, b, c]) / baseline[kinds[a]],
            }
            for a, b, c in _largest(values.transpose("kind", "from_layer", "from_head").values, top)
        ]
        frames.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def strongest_compositions(results: Atlas, *, top: int = 5) -> pd.DataFrame:
    """The pairs of heads with the strongest composition of each kind.

    Parameters
    ----------
    results
        Results with circuits.
    top
        How many pairs of each kind.

    Returns
    -------
    pandas.DataFrame
        kind, from (the earlier head), into (the later one), excess, times baseline.
    """
    data = composition_of(results)
    values = data["excess"].transpose("kind", "layer", "head", "from_layer", "from_head")
    rows = []
    for at, kind in enumerate(KINDS):
        baseline = float(data["baseline"].sel(kind=kind))
        for layer, head, from_layer, from_head in _largest(values.values[at], top):
            excess = float(values.values[at, layer, head, from_layer, from_head])
            later = Head(int(data["layer"][layer]) - 1, head)
            earlier = Head(int(data["from_layer"][from_layer]) - 1, from_head)
            rows.append(
                {
                    "kind": kind,
                    "from": str(earlier),
                    "into": str(later),
                    "excess": excess,
                    "times baseline": 1 + excess / baseline,
                }
            )
    return pd.DataFrame(rows, columns=["kind", "from", "into", "excess", "times baseline"])


def copying_heads(results: Atlas, *, top: int = 10) -> pd.DataFrame:
    """The heads with the largest copying scores: head, zero-based name, score and OV norm."""
    if "copying" not in results:
        return pd.DataFrame(columns=["head", "zero-based", "copying", "OV norm"])
    copying, norms = (
        results[name]["mean"].transpose("layer", "head") for name in ("copying", "ov_norm")
    )
    rows = []
    for layer, number in _largest(copying.values, top):
        head = Head(int(copying["layer"][layer]) - 1, number)
        rows.append(
            {
                "head": str(head),
                "zero-based": head.zero_based,
                "copying": float(copying.values[layer, number]),
                "OV norm": float(norms.values[layer, number]),
            }
        )
    return pd.DataFrame(rows)


def _kinds(kind: str) -> list[str]:
    if not kind:
        return list(KINDS)
    if kind not in KINDS:
        raise unknown("kind of composition", kind, KINDS)
    return [kind]


def _largest(values: NDArray[np.float32], top: int | None) -> list[tuple[int, ...]]:
    """The places of the largest values, largest first, without those that are not defined."""
    flat = values.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    order = known[np.argsort(-flat[known], kind="stable")][:top]
    return [tuple(int(at) for at in np.unravel_index(place, values.shape)) for place in order]
