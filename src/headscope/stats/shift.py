"""What fine-tuning does to roles (Pande et al. 2021, Figure 6), by thirds of the layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.role_scores import kept_scores, role_data
from headscope.stats.tests import check_correction, correct

THIRDS = ("first", "middle", "last")
SAME = ("max_length", "long", "token_types", "subtypes", "direction")
"""Settings of a run, or of its roles, that change what a score means."""
OPTIONS = "survey both models with the same options"


def role_shift(
    before: Atlas, after: Atlas, *, roles: Sequence[str] | None = None, correction: str = "holm"
) -> pd.DataFrame:
    """Compare the scores of roles before and after fine-tuning, paired by sequence.

    Parameters
    ----------
    before, after
        Results of two models with the same layers and heads on the same corpus, which keep the
        scores of single sequences. Sequences are paired by number and must have the same ids.
    roles
        Which roles, by default all that both have.
    correction
        How p-values are corrected over all rows: holm, bh or none.

    Returns
    -------
    pandas.DataFrame
        One row per role and third of the layers: the mean score over heads before and after, the
        shift with its 95 % interval over sequences, p of no change (paired t test) and p corrected.

    Raises
    ------
    ResultsError
        If the two cannot be compared; the message says why.
    """
    check_correction(correction)
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
    change = new.sel(role=names).astype(np.float64) - old.sel(role=names).astype(np.float64)
    rows = []
    for third, layers in zip(THIRDS, np.array_split(change["layer"].values, 3), strict=True):
        if not len(layers):
            continue
        by_sequence = change.sel(layer=layers).mean(("layer", "head"))
        for name in names:
            row: dict[str, object] = {"role": name, "third": third, "layers": _named(layers)}
            row["before"] = float(old.sel(role=name, layer=layers).mean())
            row["after"] = float(new.sel(role=name, layer=layers).mean())
            rows.append(row | _tested(by_sequence.sel(role=name).values))
    frame = pd.DataFrame(rows)
    return frame.assign(p_corrected=correct(frame["p"], correction))


def _named(layers: NDArray[np.int64]) -> str:
    return f"{layers[0]}–{layers[-1]}" if len(layers) > 1 else str(layers[0])


def _tested(changes: NDArray[np.float64]) -> dict[str, object]:
    """Mean, interval and p of paired changes, one per sequence; NaN is not counted."""
    known = changes[~np.isnan(changes)]
    low = high = p = np.nan
    if len(known) > 1:
        error = stats.t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / np.sqrt(len(known))
        low, high = float(known.mean() - error), float(known.mean() + error)
    if len(known) and not known.any():
        p = 1.0
    elif len(known) > 1 and np.ptp(known) > 0:
        p = float(stats.ttest_1samp(known, 0.0).pvalue)
    shift = float(known.mean()) if len(known) else np.nan
    return {"shift": shift, "low": low, "high": high, "p": p, "sequences": len(known)}


def _paired(before: Atlas, after: Atlas) -> tuple[xr.DataArray, xr.DataArray]:
    """The kept scores of both for the sequences that both have."""
    _check_comparable(before, after)
    old, new = kept_scores(role_data(before)), kept_scores(role_data(after))
    ids = [pd.Series(scores["id"].values, scores["example"].values) for scores in (old, new)]
    common = ids[0].index.intersection(ids[1].index)
    if common.empty or not (ids[0][common] == ids[1][common]).all():
        raise ResultsError(
            "the two results do not have the same sequences in the same order: "
            "tokenizer, length or batch size differ",
            hint=OPTIONS,
        )
    return old.sel(example=common), new.sel(example=common)


def _check_comparable(before: Atlas, after: Atlas) -> None:
    """Refuse two results whose scores do not mean the same thing."""
    one, two = before.provenance, after.provenance
    shapes = [(about["model"]["layers"], about["model"]["heads"]) for about in (one, two)]
    if shapes[0] != shapes[1]:
        (layers, heads), (others, others_heads) = shapes
        raise ResultsError(
            f"the two models have different heads ({layers} × {heads} and {others} × "
            f"{others_heads}) and cannot be compared head by head",
            hint="compare a model with its own fine-tuned version",
        )
    if one["corpus"]["sha256"] != two["corpus"]["sha256"]:
        raise ResultsError(
            f"the two results are of different corpora ({one['corpus']['name']} and "
            f"{two['corpus']['name']})",
            hint="survey both models with the same corpus",
        )
    for key in SAME:
        values = [
            about["settings"].get(key, role_data(results).attrs.get(key))
            for about, results in ((one, before), (two, after))
        ]
        if values[0] != values[1]:
            raise ResultsError(
                f"the two results differ in {key.replace('_', ' ')} ({values[0]} and {values[1]}), "
                "so their scores do not mean the same thing",
                hint=OPTIONS,
            )
