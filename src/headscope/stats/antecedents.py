"""Table 2 of Clark et al.: antecedent accuracy of the best head, against three baselines, by mention type."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headscope.results import Results, head_name
from headscope.stats.tests import correct, paired_sign, wilson


def antecedent_table(
    results: Results, *, candidates: str = "mentions", correction: str = "holm"
) -> pd.DataFrame:
    """Rows: the baselines, then the best head over all mentions. For the head: Wilson's interval, and a paired one-sided p against each baseline, corrected over all heads."""
    data = results["coreference"].sel(candidates=candidates)
    right, n = data["sum"].sum("bucket"), data["n"]
    kinds = [str(kind) for kind in data["kind"].values]
    total = {kind: int(n.sel(kind=kind, mentions="every").isel(layer=0, head=0)) for kind in kinds}
    rows: list[dict[str, object]] = []
    names = [str(name) for name in data["mentions"].values if name != "every"]
    for name in names:
        share = n.sel(mentions=name).isel(layer=0, head=0)
        rows.append(
            {
                "system": name.removesuffix(" right"),
                **{
                    kind: float(share.sel(kind=kind)) / total[kind] if total[kind] else np.nan
                    for kind in kinds
                },
            }
        )
    every = right.sel(mentions="every", kind="all")
    place = np.unravel_index(int(np.argmax(every.values)), every.shape)
    layer, head = int(every["layer"][place[0]]), int(every["head"][place[1]])
    mine = right.sel(layer=layer, head=head)
    low, high = wilson(float(mine.sel(mentions="every", kind="all")), total["all"])
    row: dict[str, object] = {"system": f"head {head_name(layer, head)}"}
    row |= {
        kind: float(mine.sel(mentions="every", kind=kind)) / total[kind] if total[kind] else np.nan
        for kind in kinds
    }
    row |= {"low": float(low), "high": float(high)}
    for name in names:
        both, offset = right.sel(mentions=name, kind="all"), n.sel(mentions=name, kind="all")
        p = correct(paired_sign((every - both).values, (offset - both).values), correction)
        row[f"p over {name.removesuffix(' right')}"] = float(p[place])
    rows.append(row)
    rows.append({"system": "mentions", **{kind: total[kind] for kind in kinds}})
    return pd.DataFrame(rows)
