"""What fine-tuning does to roles (Pande et al. 2021, Figure 6), by thirds of the layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from headscope.errors import ResultsError, UserError
from headscope.identity import same_corpus
from headscope.results import KEPT, Atlas
from headscope.stats.inference.correction import ALPHA, check_correction, correct
from headscope.stats.inference.documents import ClusterSums, kept_groups
from headscope.stats.tables.roles import kept_scores, role_data

THIRDS = ("first", "middle", "last")
LEAST = 0.1
"""The smallest shift of interest by default: a tenth of what uniform attention gives."""
RUN = ("max_length", "long", "token_types")
"""Settings of a run that change what a score means."""
ROLES = ("direction", "subtypes")
"""The same of the measure ``role``."""
OPTIONS = "survey both models with the same options"


def role_shift(
    before: Atlas,
    after: Atlas,
    *,
    roles: Sequence[str] | None = None,
    correction: str = "holm",
    alpha: float = ALPHA,
    least: float = LEAST,
    clusters: bool = True,
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
    alpha
        The level of the verdicts.
    least
        The smallest shift of interest, in times uniform attention. With many sequences a shift of
        0.0001 has a tiny p too, and means nothing.
    clusters
        Whether sequences that share a document or another group count as one cluster.

    Returns
    -------
    pandas.DataFrame
        One row per role and third of the layers: the mean score over heads before and after, the
        ``shift`` with its 95 % interval, p of no change (paired t test) and p corrected, all over
        documents where the corpus has any, else over sequences; ``effect``, the shift divided by
        the deviation of the scores before over sequences; ``p_least``, corrected, of "the shift is
        no larger than ``least``"; and a ``verdict``: higher or lower (``p_least`` is below alpha),
        same (the 90 % interval lies within ``least`` either way), or unclear. ``attrs`` has
        ``least``, ``alpha`` and ``correction``.

    Raises
    ------
    ResultsError
        If the two cannot be compared; the message says why.
    """
    check_correction(correction)
    if not least >= 0:
        raise UserError(
            f"the smallest shift of interest must be 0 or more, got {least} instead",
            hint=f"{LEAST} is the default",
        )
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
    groups = kept_groups(old.to_dataset(name=KEPT)) if clusters else [""] * len(old)
    old, new = (scores.sel(role=names).astype(np.float64) for scores in (old, new))
    change = new - old
    rows = []
    for third, layers in zip(THIRDS, np.array_split(change["layer"].values, 3), strict=True):
        if not len(layers):
            continue
        by_sequence = change.sel(layer=layers).mean(("layer", "head"))
        for name in names:
            row: dict[str, object] = {"role": name, "third": third, "layers": _named(layers)}
            start = old.sel(role=name, layer=layers).mean(("layer", "head")).values
            row["before"] = float(old.sel(role=name, layer=layers).mean())
            row["after"] = float(new.sel(role=name, layer=layers).mean())
            rows.append(row | _tested(by_sequence.sel(role=name).values, start, groups, least))
    frame = pd.DataFrame(rows)
    frame["p_corrected"] = correct(frame["p"], correction)
    frame["p_least"] = correct(frame["p_least"], correction)
    frame = frame.assign(verdict=_verdicts(frame, alpha)).drop(columns="p_same")
    frame.attrs |= {"least": least, "alpha": alpha, "correction": correction}
    return frame


def _verdicts(frame: pd.DataFrame, alpha: float) -> list[str]:
    """What can be said of each shift."""
    found = []
    for row in frame.to_dict("records"):
        if row["p_least"] < alpha:
            found.append("higher" if row["shift"] > 0 else "lower")
        elif np.isnan(row["p_same"]):
            found.append("")
        else:
            found.append("same" if row["p_same"] < alpha else "unclear")
    return found


def _named(layers: NDArray[np.int64]) -> str:
    return f"{layers[0]}–{layers[-1]}" if len(layers) > 1 else str(layers[0])


def _tested(
    changes: NDArray[np.float64], start: NDArray[np.float64], groups: Sequence[str], least: float
) -> dict[str, object]:
    """What paired changes show, one per sequence; NaN is not counted."""
    there = ~np.isnan(changes)
    known = changes[there]
    row: dict[str, object] = dict.fromkeys(("low", "high", "p", "p_least", "p_same"), np.nan)
    row["shift"] = shift = float(known.mean()) if len(known) else np.nan
    row["effect"] = _effect(shift, start[there])
    sums = ClusterSums.of(changes[:, None, None], groups)
    number = int(sums.number.item())
    row |= {"sequences": len(known), "clusters": number}
    if len(known) and not known.any():
        return row | {"low": 0.0, "high": 0.0, "p": 1.0, "p_least": 1.0, "p_same": 0.0}
    ratio = sums.ratio
    if np.isfinite(ratio.degrees).all() and np.ptp(known) > 0:
        error, degrees = float(ratio.error.item()), float(ratio.degrees.item())
        row |= zip(("low", "high"), (end.item() for end in ratio.interval()), strict=True)
        row["p"] = 2 * special.stdtr(degrees, -abs(shift) / error)
        row["p_least"] = min(1.0, 2 * special.stdtr(degrees, (least - abs(shift)) / error))
        row["p_same"] = special.stdtr(degrees, (abs(shift) - least) / error)
    return row


def _effect(shift: float, start: NDArray[np.float64]) -> float:
    """The shift in deviations of the scores before; NaN where they have none."""
    if len(start) < 2 or not np.ptp(start) > 0:
        return np.nan
    return float(shift / start.std(ddof=1))


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
    if not same_corpus(one, two):
        raise ResultsError(
            f"the two results are of different corpora ({one['corpus']['name']} and "
            f"{two['corpus']['name']})",
            hint="survey both models with the same corpus",
        )
    about = [one["settings"], two["settings"]]
    roles = [role_data(results).attrs for results in (before, after)]
    for key, where in (*((key, about) for key in RUN), *((key, roles) for key in ROLES)):
        values = [settings.get(key) for settings in where]
        if values[0] != values[1]:
            raise ResultsError(
                f"the two results differ in {key.replace('_', ' ')} ({values[0]} and {values[1]}), "
                "so their scores do not mean the same thing",
                hint=OPTIONS,
            )
