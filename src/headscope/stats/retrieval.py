"""Tables of retrieval: the heads, the answers, and the check with heads disabled."""

from __future__ import annotations

import numpy as np
import pandas as pd

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.results.merge import RETRIEVAL

RECOVERED = 0.5
"""An answer counts as recovered if more than this share of its words was written."""
MASKING = "retrieval_masking"
"""The group with answers while heads are disabled."""


def retrieval_heads(results: Atlas, *, top: int | None = 10) -> pd.DataFrame:
    """The heads with the largest retrieval scores.

    Parameters
    ----------
    results
        Results of :func:`headscope.retrieval`, or a survey with them.
    top
        How many heads; None for all.

    Returns
    -------
    pandas.DataFrame
        head, zero-based name, score, low, high, and n, the number of recovered answers. Empty if
        none was recovered.
    """
    _check(results)
    table = results.heads(by=RETRIEVAL, top=top)
    score = table.columns[2]
    return table.rename(columns={score: "score"}).dropna(subset="score").reset_index(drop=True)


def retrieval_answers(results: Atlas) -> pd.DataFrame:
    """One row per prompt: needle, length, depth, tokens, recall, recovered, and what was written.

    Parameters
    ----------
    results
        Results of :func:`headscope.retrieval`, or a survey with them.
    """
    _check(results)
    data = results[RETRIEVAL]
    columns = ("needle", "length", "depth", "tokens", "recall", "written")
    frame = pd.DataFrame({name: data[name].values for name in columns})
    frame.insert(5, "recovered", frame["recall"] > RECOVERED)
    return frame


def retrieval_recovery(results: Atlas) -> pd.DataFrame:
    """How many answers were recovered, by length of the context, and in all.

    Parameters
    ----------
    results
        Results of :func:`headscope.retrieval`, or a survey with them.

    Returns
    -------
    pandas.DataFrame
        length, prompts, recovered, share, and the mean recall.
    """
    answers = retrieval_answers(results)
    parts = [(str(length), part) for length, part in answers.groupby("length")]
    if len(parts) > 1:
        parts.append(("all", answers))
    return pd.DataFrame(
        {
            "length": [name for name, _ in parts],
            "prompts": [len(part) for _, part in parts],
            "recovered": [int(part["recovered"].sum()) for _, part in parts],
            "share": [float(part["recovered"].mean()) for _, part in parts],
            "recall": [float(part["recall"].mean()) for _, part in parts],
        }
    )


def retrieval_masking(results: Atlas) -> pd.DataFrame:
    """How much of the recovered answers is left with heads disabled.

    Parameters
    ----------
    results
        Results of :func:`headscope.retrieval`, or a survey with them.

    Returns
    -------
    pandas.DataFrame
        disabled ("none", "top 5", "random 5", …), recall with its interval over needles, n, and the
        difference of top heads from as many random ones, with its interval. Empty without a check.
    """
    _check(results)
    names = {"mean": "recall", "low": "low", "high": "high", "n": "n"}
    rest = {
        "difference": "top − random",
        "difference_low": "difference low",
        "difference_high": "difference high",
    }
    columns = ["disabled", *names.values(), *rest.values()]
    if MASKING not in results:
        return pd.DataFrame(columns=columns)
    data = results[MASKING]
    frame = pd.DataFrame({"disabled": data["disabled"].values.astype(str)})
    for name, column in (names | rest).items():
        frame[column] = np.asarray(data[name].values)
    return frame


def _check(results: Atlas) -> None:
    if RETRIEVAL not in results:
        name = results.provenance.get("model", {}).get("name", "MODEL")
        raise ResultsError(
            "these results have no retrieval scores",
            hint=f"make them with hs.retrieval({name!r})",
        )
