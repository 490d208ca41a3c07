"""Heads that compose, copy and retrieve, and the sinks on which they rest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError, unknown
from headscope.heads import Head
from headscope.results import Atlas
from headscope.results.merge import RETRIEVAL
from headscope.results.schema import GRID, VOCABULARY
from headscope.stats.grid import by_head, grid_heads
from headscope.stats.inference.correction import cross_fit

KINDS = ("Q", "K", "V")
EARLIER, LATER = "earlier", "later"
COLUMNS = ["direction", "head", "kind", "excess", "times baseline"]


def composition_of(results: Atlas) -> xr.Dataset:
    """The composition of all pairs of heads.

    Raises
    ------
    UserError
        If the results have none.
    """
    if "composition" not in results:
        name = results.provenance.get("model", {}).get("name", "MODEL")
        raise UserError(
            "these results have no composition of heads",
            hint=f"make it from the weights: hs.circuits({name!r})",
        )
    return results["composition"]


def composes_with(
    results: Atlas, head: Head, *, kind: str = "", top: int | None = None
) -> pd.DataFrame:
    """The heads that one head composes with, strongest first.

    Parameters
    ----------
    results
        Results with circuits.
    head
        The head.
    kind
        ``"Q"``, ``"K"`` or ``"V"``. Default: all three.
    top
        Only so many in each direction. Default: all.

    Returns
    -------
    pandas.DataFrame
        direction (of the other head, "earlier" heads feed this one and "later" ones read it), the
        other head, kind, excess (over random heads) and the ratio to their mean.
    """
    data, kinds = composition_of(results), _kinds(kind)
    if top is not None and top < 1:
        raise UserError(f"the number of heads must be 1 or more, got {top} instead")
    layer, number = head.layer + 1, head.head + 1
    sides = {
        EARLIER: data["excess"].sel(layer=layer, head=number, kind=kinds),
        LATER: data["excess"]
        .sel(from_layer=layer, from_head=number, kind=kinds)
        .drop_vars(("from_layer", "from_head"))
        .rename(layer="from_layer", head="from_head"),
    }
    baseline = {str(name): float(data["baseline"].sel(kind=name)) for name in kinds}
    frames = []
    for direction, values in sides.items():
        layers = values["from_layer"].values
        rows = [
            {
                "direction": direction,
                "head": str(Head(int(layers[b]) - 1, c)),
                "kind": kinds[a],
                "excess": float(values.values[a, b, c]),
                "times baseline": 1 + float(values.values[a, b, c]) / baseline[kinds[a]],
            }
            for a, b, c in _largest(values.transpose("kind", "from_layer", "from_head").values, top)
        ]
        frames.append(pd.DataFrame(rows, columns=COLUMNS))
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)


def strongest_compositions(results: Atlas, *, top: int = 5) -> pd.DataFrame:
    """The pairs of heads with the strongest composition of each kind.

    Parameters
    ----------
    results
        Results with circuits.
    top
        How many pairs of each kind.

    Returns
    -------
    pandas.DataFrame
        kind, from (the earlier head), into (the later one), excess, times baseline.
    """
    data = composition_of(results)
    values = data["excess"].transpose("kind", "layer", "head", "from_layer", "from_head")
    rows = []
    for at, kind in enumerate(KINDS):
        baseline = float(data["baseline"].sel(kind=kind))
        for layer, head, from_layer, from_head in _largest(values.values[at], top):
            excess = float(values.values[at, layer, head, from_layer, from_head])
            later = Head(int(data["layer"][layer]) - 1, head)
            rows.append(
                {
                    "kind": kind,
                    "from": str(Head(int(data["from_layer"][from_layer]) - 1, from_head)),
                    "into": str(later),
                    "excess": excess,
                    "times baseline": 1 + excess / baseline,
                }
            )
    return pd.DataFrame(rows, columns=["kind", "from", "into", "excess", "times baseline"])


def copying_heads(results: Atlas, *, top: int = 10) -> pd.DataFrame:
    """The heads with the largest copying scores: head, zero-based name, score and OV norm."""
    if "copying" not in results:
        return pd.DataFrame(columns=["head", "zero-based", "copying", "OV norm"])
    copying, norms = (
        results[name]["mean"].transpose("layer", "head") for name in ("copying", "ov_norm")
    )
    rows = []
    for layer, number in _largest(copying.values, top):
        head = Head(int(copying["layer"][layer]) - 1, number)
        rows.append(
            {
                "head": str(head),
                "zero-based": head.zero_based,
                "copying": float(copying.values[layer, number]),
                "OV norm": float(norms.values[layer, number]),
            }
        )
    return pd.DataFrame(rows)


def vocabulary_heads(results: Atlas, *, top: int = 10) -> pd.DataFrame:
    """The heads whose weights map most pairs of words in a relation (Elhelo and Geva 2025).

    Parameters
    ----------
    results
        Results with circuits.
    top
        How many heads of each relation.

    Returns
    -------
    pandas.DataFrame
        One row per relation and embedding: the number of pairs, the best head, its share of the
        pairs, and the heads next to it with theirs. Empty without relations.
    """
    rows = []
    if VOCABULARY in results:
        data = results[VOCABULARY]
        values = data["mean"].transpose("relation", "embedding", *GRID)
        heads = grid_heads(data)
        for (at, label), (to, embedding) in product(
            enumerate(data["relation"].values), enumerate(data["embedding"].values)
        ):
            shares = values.values[at, to].ravel()
            (best,), *others = _largest(shares, top)
            following = ", ".join(f"{heads[place]} {shares[place]:.2f}" for (place,) in others)
            pairs, share = int(data["pairs"][at]), float(shares[best])
            rows.append((str(label), str(embedding), pairs, str(heads[best]), share, following))
    return pd.DataFrame(rows, columns=["relation", "embedding", "pairs", "head", "share", "next"])


def _kinds(kind: str) -> list[str]:
    if not kind:
        return list(KINDS)
    if kind not in KINDS:
        raise unknown("kind of composition", kind, KINDS)
    return [kind]


def _largest(values: NDArray[np.float32], top: int | None) -> list[tuple[int, ...]]:
    """The places of the largest values, largest first, without those that are not defined."""
    flat = values.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    order = known[np.argsort(-flat[known], kind="stable")][:top]
    return [tuple(int(at) for at in np.unravel_index(place, values.shape)) for place in order]


RECOVERED = 0.5
"""An answer counts as recovered if more than this share of its words was written."""
MASKING = "retrieval_masking"
"""The group with answers while heads are disabled."""
FOCUS = "query_focus"
"""The group with the attention of questions to needles."""


def retrieval_heads(results: Atlas, *, top: int | None = 10, by: str = RETRIEVAL) -> pd.DataFrame:
    """The heads with the largest retrieval scores, beside their query-focused ones.

    Parameters
    ----------
    results
        Results of :func:`headscope.retrieval`, or a survey with them.
    top
        How many heads; None for all.
    by
        The scores to sort by and to give intervals of: ``"retrieval"`` (Wu et al. 2024) or
        ``"query_focus"`` (Zhang et al. 2025).

    Returns
    -------
    pandas.DataFrame
        head, zero-based name, score, low, high, n, the number of prompts, and the same head's value
        of the other of the two, where results hold it. Empty if no head has a score.
    """
    _check(results)
    table = results.heads(by=by, top=top)
    table = table.rename(columns={table.columns[2]: "score"}).dropna(subset="score")
    other = FOCUS if by == RETRIEVAL else RETRIEVAL
    if other in results:
        values = dict(by_head(results[other], "mean"))
        table[other] = [values[head][0] for head in table["head"]]
    return table.reset_index(drop=True)


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
            "these results have no retrieval scores", hint=f"make them with hs.retrieval({name!r})"
        )


NEEDED = ("sink", "sink_places")


def sink_table(results: Atlas) -> pd.DataFrame:
    """How strongly the heads attend to the first token, and to which other token instead.

    The strongest other token is chosen by its sink rate among many, so it is also scored on texts
    that it was not chosen on: chosen on one half of the documents and scored on the other, both
    ways.

    Parameters
    ----------
    results
        Results with the measures ``sink`` and ``sink_places``.

    Returns
    -------
    pandas.DataFrame
        One row per head: ``head``; ``first``, its mean attention to the first token; ``rate``, the
        share of texts in which that is a sink, with its interval ``low`` … ``high``; ``learned``,
        its attention to a learned sink (NaN for models without one); ``other``, the number (from
        1) of the strongest other token, "" if none is ever a sink; ``other_rate``, its sink rate;
        ``held_out``, the rate on texts on which it was not chosen; and ``n`` texts.

    Raises
    ------
    ResultsError
        If a measure is missing, or no text was long enough.

    References
    ----------
    Gu et al. 2025, "When Attention Sink Emerges in Language Models", section 2.

    Examples
    --------
    >>> import headscope as hs
    >>> measures = [hs.Sink(length=16), hs.SinkPlaces(length=16)]
    >>> table = sink_table(hs.survey("demo", "demo", measures=measures, limit=8))
    >>> table.loc[0, "head"], int(table.loc[0, "n"])
    ('1-1', 8)
    """
    for name in NEEDED:
        if name not in results:
            raise ResultsError(
                f"these results have no measure {name!r}, which tables of sinks need",
                hint=f"hs.survey(model, corpus, measures={list(NEEDED)})",
            )
    sink, places = results["sink"], results["sink_places"]
    if not sink["n"].any():
        raise ResultsError(
            "no text was long enough to look for sinks",
            hint="use longer texts, or hs.Sink(length=…) and hs.SinkPlaces(length=…) with a "
            "smaller length",
        )
    means = by_head(sink["mean"].to_dataset("sink"), "first", "rate", "learned")
    ends = by_head(sink.sel(sink="rate"), "low", "high")
    others = places.stack(place=GRID).transpose("place", "bucket", "token")
    rows = []
    for at, ((head, (first, rate, learned)), (_, (low, high))) in enumerate(
        zip(means, ends, strict=True)
    ):
        row = {"head": head, "first": first, "rate": rate, "low": low, "high": high}
        rows.append(row | {"learned": learned} | _other(others.isel(place=at)))
    return pd.DataFrame(rows).assign(n=int(sink["n"].max()))


def _other(places: xr.Dataset) -> dict[str, object]:
    """The strongest other token, chosen on all texts, and the procedure scored apart."""
    means = places["mean"].values
    best = int(np.nanargmax(means))
    return {
        "other": str(places["token"].values[best]) if means[best] > 0 else "",
        "other_rate": float(means[best]),
        "held_out": cross_fit(places["sum"].values, places["count"].values).score,
    }
