"""Metric multidimensional scaling of head distances to two dimensions (Clark et al. 2019, §6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.manifold import MDS


def scale(distances: xr.DataArray, *, seed: int, tries: int = 4) -> tuple[pd.DataFrame, float]:
    """Points (name, x, y) whose Euclidean distances come as near as they can to the given ones, and the stress that remains (Kruskal's, 0 is perfect).

    ``distances`` has dims one and other with the same names. The best of some seeded starts is kept, turned so that its longest axis is x.
    """
    values = np.asarray(distances.values, float)
    model = MDS(
        n_components=2,
        metric="precomputed",
        metric_mds=True,
        n_init=tries,
        init="random",
        random_state=seed,
        normalized_stress=False,
    )
    points = model.fit_transform((values + values.T) / 2)
    centred = points - points.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned = centred @ axes.T
    upper = np.triu_indices(len(values), 1)
    fitted = np.linalg.norm(turned[upper[0]] - turned[upper[1]], axis=1)
    stress = float(np.sqrt(((fitted - values[upper]) ** 2).sum() / (values[upper] ** 2).sum()))
    return pd.DataFrame(
        {
            "name": [str(name) for name in distances["one"].values],
            "x": turned[:, 0],
            "y": turned[:, 1],
        }
    ), stress
