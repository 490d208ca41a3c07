"""The largest attention scores of heads, over a corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.grid import grid_heads


def largest_logits(results: Atlas) -> pd.DataFrame:
    """The largest attention score of every head before the softmax, over all texts.

    Parameters
    ----------
    results
        Results with the measure ``max_logit``.

    Returns
    -------
    pandas.DataFrame
        One row per head, the largest first: ``head``, ``zero-based``, ``largest``, the text (its
        id) that has it, the mean over texts of the largest of each (``mean``, ``low``, ``high``)
        and ``texts``, over how many the largest was taken: about 5000 at most.

    Raises
    ------
    ResultsError
        If the measure is missing.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", ["The dog barks.", "A cat sleeps."], measures="max_logit")
    >>> largest_logits(atlas).columns.tolist()[:4]
    ['head', 'zero-based', 'largest', 'text']
    """
    if "max_logit" not in results:
        raise ResultsError(
            "these results have no measure 'max_logit'",
            hint="hs.survey(model, corpus, measures='max_logit')",
            command="survey again with --measure max_logit",
        )
    data = results["max_logit"]
    values = data["value"].transpose("example", "layer", "head").values
    flat = values.reshape(len(values), -1)
    places = np.nanargmax(flat, 0)
    names = data["id"].values
    heads = list(grid_heads(data))
    parts = ("mean", "low", "high")
    means = {name: data[name].transpose("layer", "head").values.ravel() for name in parts}
    frame = pd.DataFrame(
        {
            "head": [str(head) for head in heads],
            "zero-based": [head.zero_based for head in heads],
            "largest": flat[places, np.arange(flat.shape[1])].astype(float),
            "text": [str(names[place]) for place in places],
            **means,
            "texts": len(values),
        }
    )
    return frame.sort_values("largest", ascending=False, kind="stable").reset_index(drop=True)
