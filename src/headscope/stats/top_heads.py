"""The heads that know most about a task, by the validation scores of their probes."""

from __future__ import annotations

import numpy as np

from headscope.errors import UserError, unknown
from headscope.heads import Head
from headscope.results import Atlas
from headscope.stats.grid import grid_heads
from headscope.stats.probing import probing_of, task_titles


def top_heads(results: Atlas, n: int, task: str | None = None) -> tuple[Head, ...]:
    """The n heads with the best validation scores.

    Parameters
    ----------
    results
        Results of :func:`headscope.runs.probe.probe`.
    n
        Number of heads.
    task
        Name or title of a task, such as ``"past_present"`` or ``"Tense"``. Default: the mean over
        all tasks decides.

    Returns
    -------
    tuple of Head
        From the best head on; equally good heads are in the order of the model. A head without a
        score in one of the tasks is not included.

    Raises
    ------
    UserError
        If the task was not probed, or fewer than n heads have a score.

    See Also
    --------
    headscope.stats.probing.head_table : the same heads with their scores.

    Examples
    --------
    >>> import xarray as xr
    >>> scores = xr.DataArray(
    ...     [[[0.5, 0.9], [0.8, 0.6]]],
    ...     coords={"task": ["mine"], "layer": [1, 2], "head": [1, 2]},
    ...     name="validation",
    ... )
    >>> group = scores.to_dataset().assign(title=("task", ["Mine"]))
    >>> results = Atlas.build({"probe": group}, {})
    >>> [str(head) for head in top_heads(results, 2, task="Mine")]
    ['1-2', '2-1']
    """
    data = probing_of(results)
    if task is None:
        validation = data["validation"].dropna("task", how="all").mean("task", skipna=False)
    else:
        titles = task_titles(results)
        same = {name: {name.lower(), title.lower()} for name, title in titles.items()}
        names = [name for name, known_as in same.items() if task.lower() in known_as]
        if not names:
            raise unknown("task", task, titles)
        validation = data["validation"].sel(task=names[0])
    scores = validation.transpose("layer", "head")
    ranked = np.argsort(-np.nan_to_num(scores.values.ravel(), nan=-np.inf), kind="stable")
    known = int(scores.notnull().sum())
    if not 1 <= n <= known:
        raise UserError(
            f"the number of heads must be between 1 and {known}, the number of heads with a "
            f"validation score; got {n} instead"
        )
    heads = grid_heads(scores)
    return tuple(heads[unit] for unit in ranked[:n])
