"""What each head mostly does, from its measured statistics: the colours of Clark et al., Figure 6."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd
import xarray as xr

from headscope.results import Results, head_name, heads_over
from headscope.stats.relations import LEAST, best_heads

OTHER = "none of these"


@dataclass(frozen=True)
class Thresholds:
    """From which value on a head is said to do something."""

    position: float = 0.5  # of attention on the previous, current or next token
    token: float = 0.5  # of attention on [CLS], [SEP], or full stops and commas
    broad: float = 0.9  # of the entropy of uniform attention
    p: float = 0.05  # corrected, for the best head of a relation against its offset


def behaviours(results: Results, thresholds: Thresholds | None = None) -> pd.DataFrame:
    """One row a head: its name, layer and main behaviour (the first that fits: position, special token, dependency, coreference, broad)."""
    limits = thresholds or Thresholds()
    found: dict[str, str] = {}

    def give(frame: dict[str, str]) -> None:
        for name, what in frame.items():
            found.setdefault(name, what)

    if "position" in results.measures:
        means = results.mean("position")
        for offset in ("previous", "next", "current"):
            give(_over(means.sel(offset=offset), limits.position, f"{offset} token"))
    if "special" in results.measures:
        means = results.mean("special").sel(row="all")
        for token, words in (("cls", "[CLS]"), ("sep", "[SEP]"), ("punctuation", ". or ,")):
            give(_over(means.sel(token=token), limits.token, words))
    if "dependency" in results.measures and int(results["dependency"]["n"].max()) >= LEAST:
        table = best_heads(results)
        good = table[
            (table["p_corrected"] < limits.p) & ~table["relation"].str.startswith("all")
        ].sort_values("accuracy", ascending=False)
        give(dict.fromkeys(good["head"], "dependency"))
    if "coreference" in results.measures:
        data = results["coreference"].sel(candidates="mentions", kind="all", mentions="every")[
            "mean"
        ]
        if bool(data.notnull().any()):
            layer, head = data.stack(place=("layer", "head")).idxmax().item()
            give({head_name(int(layer), int(head)): "coreference"})
    if "entropy" in results.measures:
        means = results.mean("entropy")
        give(_over(means.sel(row="all") / means.sel(row="uniform"), limits.broad, "broad"))
    shape = results.provenance["model"]
    names = [
        (layer, head)
        for layer in range(1, shape["layers"] + 1)
        for head in range(1, shape["heads"] + 1)
    ]
    return pd.DataFrame(
        [
            {
                "name": head_name(layer, head),
                "layer": layer,
                "head": head,
                "behaviour": found.get(head_name(layer, head), OTHER),
            }
            for layer, head in names
        ]
    )


def _over(values: xr.DataArray, threshold: float, what: str) -> dict[str, str]:
    return dict.fromkeys(heads_over(values, threshold), what)
