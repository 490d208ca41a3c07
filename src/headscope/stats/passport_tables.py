"""The tables of a head's passport, with numbers as people read them."""

from __future__ import annotations

import pandas as pd

from headscope.numbers import count, interval, number, p_value


def _weighted(frame: pd.DataFrame, *, rank: bool = False) -> dict[str, list[str]]:
    """Columns of norm-weighted values, if there are any."""
    if "norm" not in frame:
        return {}
    values = {"norm-weighted": [number(value) for value in frame["norm"]]}
    return values | ({"its rank": [count(one) for one in frame["norm rank"]]} if rank else {})


def shown_roles(roles: pd.DataFrame) -> pd.DataFrame:
    """The roles of a head, as people read them."""
    return pd.DataFrame(
        {
            "role": roles["role"],
            "times uniform": [number(value) for value in roles["mean"]],
            "95 % interval": _intervals(roles),
            **_weighted(roles),
            **_position(roles),
            "p": [p_value(value) for value in roles["p"]],
            "has the role": [
                "by position" if positional else "yes" if has else "no"
                for has, positional in zip(roles["has"], roles["positional"], strict=True)
            ],
        }
    )


def _position(roles: pd.DataFrame) -> dict[str, list[str]]:
    """How much more dependency roles get than positions alone would give, where it is known."""
    if not roles["position"].notna().any():
        return {}
    return {"times position alone": [number(value) for value in roles["position"]]}


def shown_relations(relations: pd.DataFrame) -> pd.DataFrame:
    """The relations of a head, as people read them."""
    return pd.DataFrame(
        {
            "relation": relations["relation"],
            "direction": relations["direction"],
            "accuracy": [number(value) for value in relations["accuracy"]],
            **_weighted(relations),
            "best offset": [number(value) for value in relations["offset"]],
            "words": [count(value) for value in relations["n"]],
            "p": [p_value(value) for value in relations["p"]],
        }
    )


def shown_statistics(statistics: pd.DataFrame) -> pd.DataFrame:
    """The statistics of a head, as people read them."""
    return pd.DataFrame(
        {
            "statistic": statistics["statistic"],
            "mean": [number(value) for value in statistics["mean"]],
            "95 % interval": _intervals(statistics),
            "unit": statistics["unit"],
            "rank": [
                f"{rank} of {of}"
                for rank, of in zip(statistics["rank"], statistics["of"], strict=True)
            ],
            **_weighted(statistics, rank=True),
        }
    )


def _intervals(frame: pd.DataFrame) -> list[str]:
    return [interval(low, high) for low, high in zip(frame["low"], frame["high"], strict=True)]
