"""Metric multidimensional scaling of head distances to two dimensions (Clark et al. 2019, §6)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr


def scale(distances: xr.DataArray, *, seed: int, tries: int = 4) -> tuple[pd.DataFrame, float]:
    """Place heads in a plane so that their distances are as close as possible to the given ones.

    Parameters
    ----------
    distances
        With dims one and other, which have the same names.
    seed
        Of the random starts.
    tries
        How many starts; the best is kept, turned so that its longest axis is x.

    Returns
    -------
    pandas.DataFrame
        Columns name, x and y.
    float
        The stress that remains (Kruskal's; 0 is perfect).

    Examples
    --------
    >>> names = ["1-1", "1-2", "1-3"]
    >>> lines = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> triangle = xr.DataArray(lines, {"one": names, "other": names}, ("one", "other"))
    >>> points, stress = scale(triangle, seed=0)
    >>> points["name"].tolist(), stress < 0.05
    (['1-1', '1-2', '1-3'], True)
    """
    values = np.asarray(distances.values, float)
    from sklearn.manifold import MDS  # slow to import

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
    names = [str(name) for name in distances["one"].values]
    return pd.DataFrame({"name": names, "x": turned[:, 0], "y": turned[:, 1]}), stress
