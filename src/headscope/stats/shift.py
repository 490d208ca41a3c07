"""What fine-tuning does to roles (Pande et al. 2021, Figure 6): mean score after minus before, by thirds of the layers, paired by sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError, unknown
from headscope.results import Results
from headscope.stats.roles import kept_scores, role_data
from headscope.stats.tests import CORRECTIONS, correct

THIRDS = ("first", "middle", "last")
SAME = ("max_length", "long", "token_types", "subtypes", "direction")
"""Settings that change what a score is of."""


def role_shift(
    before: Results, after: Results, *, roles: Sequence[str] | None = None, correction: str = "holm"
) -> pd.DataFrame:
    """One row a role and third of the layers: the mean over heads of the score after minus before, its 95 % interval over sequences, p of no change (paired t, corrected).

    Both must be of models with the same layers and heads, on the same corpus; sequences are paired by number and must have the same ids.
    """
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    old, new = _paired(before, after)
    names = [
        str(name)
        for name in old["role"].values
        if name in new["role"].values and (roles is None or name in roles)
    ]
    if not names:
        raise ResultsError(
            "the two results have no role in common", hint="survey both with the same roles"
        )
    difference = new.sel(role=names).astype(np.float64) - old.sel(role=names).astype(np.float64)
    rows = []
    for third, layers in zip(THIRDS, np.array_split(difference["layer"].values, 3), strict=True):
        if not len(layers):
            continue
        part = difference.sel(layer=layers)
        single = part.mean(("layer", "head"))  # one number a sequence
        for name in names:
            values = single.sel(role=name).values
            values = values[~np.isnan(values)]
            low, high = _interval(values)
            row: dict[str, object] = {
                "role": name,
                "third": third,
                "layers": f"{layers[0]}–{layers[-1]}" if len(layers) > 1 else str(layers[0]),
            }
            row |= {
                "before": float(old.sel(role=name, layer=layers).mean()),
                "after": float(new.sel(role=name, layer=layers).mean()),
            }
            p = (
                float(stats.ttest_1samp(values, 0.0).pvalue)
                if len(values) > 1 and np.ptp(values) > 0
                else 1.0
                if len(values) and not values.any()
                else np.nan
            )
            rows.append(
                row
                | {
                    "shift": float(values.mean()) if len(values) else np.nan,
                    "low": low,
                    "high": high,
                    "p": p,
                    "sequences": len(values),
                }
            )
    frame = pd.DataFrame(rows)
    return frame.assign(p_corrected=correct(frame["p"], correction))


def _interval(values: np.ndarray) -> tuple[float, float]:
    if len(values) < 2:
        return np.nan, np.nan
    error = float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean()) - error, float(values.mean()) + error


def _paired(before: Results, after: Results) -> tuple[xr.DataArray, xr.DataArray]:
    """The kept scores of both, for the sequences that both have; errors where they cannot be compared."""
    one, two = before.provenance, after.provenance
    shapes = [(about["model"]["layers"], about["model"]["heads"]) for about in (one, two)]
    if shapes[0] != shapes[1]:
        raise ResultsError(
            f"the two models have different heads ({shapes[0][0]} × {shapes[0][1]} and {shapes[1][0]} × {shapes[1][1]}), and cannot be compared head by head",
            hint="compare a model with its own fine-tuned version",
        )
    if one["corpus"]["sha256"] != two["corpus"]["sha256"]:
        raise ResultsError(
            f"the two results are of different corpora ({one['corpus']['name']} and {two['corpus']['name']})",
            hint="survey both models with the same corpus",
        )
    other = next(
        (key for key in SAME if one["settings"].get(key) != two["settings"].get(key)), None
    )
    if other is not None:
        raise ResultsError(
            f"the two results were made with another {other.replace('_', ' ')} ({one['settings'].get(other)} and {two['settings'].get(other)}): their scores are not of the same thing",
            hint="survey both models with the same options",
        )
    old, new = kept_scores(role_data(before)), kept_scores(role_data(after))
    ids = [pd.Series(scores["id"].values, scores["example"].values) for scores in (old, new)]
    common = ids[0].index.intersection(ids[1].index)
    if common.empty or not (ids[0][common] == ids[1][common]).all():
        raise ResultsError(
            "the two results do not have the same sequences in the same order: another tokenizer, length or batch size was used",
            hint="survey both models with the same options",
        )
    return old.sel(example=common), new.sel(example=common)
