"""A head's passport: everything that results say about one head, with its rank among all heads."""

from __future__ import annotations

import html
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from headscope.heads import Head
from headscope.labels import label_text
from headscope.numbers import count, interval, number, p_value
from headscope.results import Atlas
from headscope.results.schema import label_dims, of_heads, statistics
from headscope.stats.relations import LEAST, relation_tests
from headscope.stats.roles import role_tests

ALPHA = 0.05
TOP = 3
"""A statistic is worth a sentence where the head is among so many."""
SHOWN = 12
HALF = 0.5


@dataclass(frozen=True)
class Passport:
    """What is known of one head. It prints itself, and shows itself in a notebook.

    Attributes
    ----------
    head
        The head.
    model, corpus
        What was surveyed.
    sentences
        What stands out, in plain words; only what the tests allow.
    statistics
        One row per statistic: words, mean, interval, n, and the head's rank (1 is the largest).
    roles
        One row per role: mean sieve bias, interval, effect, p (corrected) and whether it has the
        role.
    relations
        Dependency relations by gain over the best fixed offset, with their corrected p.
    """

    head: Head
    model: str
    corpus: str
    sentences: list[str]
    statistics: pd.DataFrame
    roles: pd.DataFrame
    relations: pd.DataFrame

    @property
    def title(self) -> str:
        """The head's names, and where it was seen."""
        return f"Head {self.head} ({self.head.zero_based}) of {self.model}, on {self.corpus}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables with numbers as people read them, by title; empty ones are left out."""
        found = {
            "Roles": _shown_roles(self.roles),
            "Dependency relations, by gain over the best fixed offset": _shown_relations(
                self.relations
            ),
            "Statistics, by rank among all heads": _shown_statistics(self.statistics),
        }
        return {title: frame for title, frame in found.items() if len(frame)}

    def __str__(self) -> str:
        parts = [self.title, *(f"* {sentence}" for sentence in self.sentences)]
        for title, frame in self.tables().items():
            parts += ["", title, frame.head(SHOWN).to_string(index=False)]
            if len(frame) > SHOWN:
                parts.append(f"… and {len(frame) - SHOWN} more")
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences)
        tables = "".join(
            f"<h4>{html.escape(title)}</h4>{frame.to_html(index=False, escape=True, border=0)}"
            for title, frame in self.tables().items()
        )
        return f"<div><h3>{html.escape(self.title)}</h3><ul>{items}</ul>{tables}</div>"


def passport(atlas: Atlas, head: Head) -> Passport:
    """Collect what results say about one head.

    Parameters
    ----------
    atlas
        The results of a survey.
    head
        A head of the model.
    """
    about = atlas.provenance
    statistics = _statistics(atlas, head)
    roles, relations = _roles(atlas, head), _relations(atlas, head)
    sentences = _role_sentences(roles)
    sentences += _relation_sentences(relations)
    sentences += _statistic_sentences(statistics)
    if not sentences:
        sentences = ["Nothing stands out: no role, no relation, no extreme statistic."]
    return Passport(
        head,
        str(about.get("model", {}).get("name", "?")),
        str(about.get("corpus", {}).get("name", "?")),
        sentences,
        statistics,
        roles,
        relations,
    )


def _at(values: xr.DataArray | xr.Dataset, head: Head) -> Any:
    return values.sel(layer=head.layer + 1, head=head.head + 1)


def _statistics(atlas: Atlas, head: Head) -> pd.DataFrame:
    rows: list[dict[str, object]] = []
    for name in atlas:
        dataset = atlas[name]
        if name in ("role", "dependency", "work", "spread") or not of_heads(dataset):
            continue
        own, found = label_dims(dataset), statistics(dataset)
        attributes = {str(key): str(text) for key, text in dataset.attrs.items()}
        for labels in itertools.product(*(dataset[dim].values for dim in own)):
            chosen = dict(zip(own, labels, strict=True))
            if dataset.attrs.get("kind") == "share" and not set(labels) & {"every"}:
                continue  # counts of a baseline's right answers, kept for a paired test
            part = found.sel(chosen)
            mine, values = float(_at(part["value"], head)), part["value"].values
            known = values[~np.isnan(values)]
            if np.isnan(mine) or np.ptp(known) == 0:  # the same for all heads: a reference line
                continue
            rows.append(
                {
                    "measure": name,
                    "statistic": label_text(
                        name, {dim: str(label) for dim, label in chosen.items()}, attributes
                    ),
                    "unit": attributes.get("unit", ""),
                    "mean": mine,
                    "low": float(_at(part["low"], head)),
                    "high": float(_at(part["high"], head)),
                    "n": int(_at(part["count"], head)),
                    "rank": int((known > mine).sum()) + 1,
                    "of": len(known),
                }
            )
    columns = ["measure", "statistic", "unit", "mean", "low", "high", "n", "rank", "of"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.sort_values("rank", kind="stable").reset_index(drop=True)


def _roles(atlas: Atlas, head: Head) -> pd.DataFrame:
    columns = ["role", "mean", "low", "high", "effect", "p", "has"]
    if "role" not in atlas:
        return pd.DataFrame(columns=columns)
    mine = _at(role_tests(atlas, correction="holm"), head)
    rows = [
        {
            "role": str(role),
            "mean": float(mine["mean"].sel(role=role)),
            "low": float(mine["low"].sel(role=role)),
            "high": float(mine["high"].sel(role=role)),
            "effect": float(mine["effect"].sel(role=role)),
            "p": float(mine["p_corrected"].sel(role=role)),
            "has": bool(mine["has"].sel(role=role)),
        }
        for role in mine["role"].values
    ]
    frame = pd.DataFrame(rows, columns=columns).dropna(subset="mean")
    order = frame.sort_values(["has", "mean"], ascending=False, kind="stable")
    return order.reset_index(drop=True)


def _relations(atlas: Atlas, head: Head) -> pd.DataFrame:
    columns = ["relation", "direction", "accuracy", "offset", "n", "p", "best head"]
    if "dependency" not in atlas:
        return pd.DataFrame(columns=columns)
    tests = relation_tests(atlas)
    enough = tests["n"].isel(layer=0, head=0, direction=0) >= LEAST
    rows = []
    for relation in tests["relation"].values[enough.values]:
        if str(relation).startswith("all"):
            continue
        part = tests.sel(relation=relation)
        mine = _at(part, head)
        direction = int(mine["accuracy"].values.argmax())
        one = mine.isel(direction=direction)
        rows.append(
            {
                "relation": str(relation),
                "direction": str(mine["direction"].values[direction]),
                "accuracy": float(one["accuracy"]),
                "offset": float(one["baseline"]),
                "n": int(one["n"]),
                "p": float(one["p_corrected"]),
                "best head": bool(one["accuracy"] >= part["accuracy"].max()),
            }
        )
    frame = pd.DataFrame(rows, columns=columns)
    gain = (frame["accuracy"] - frame["offset"]).astype(float)
    return frame.loc[gain.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _role_sentences(roles: pd.DataFrame) -> list[str]:
    having = [str(name) for name in roles[roles["has"].astype(bool)]["role"]]
    if not having:
        return []
    word = "role" if len(having) == 1 else "roles"
    return [f"Has the {word} {', '.join(having)} (mean sieve bias over 3, Holm-corrected z test)."]


def _relation_sentences(relations: pd.DataFrame) -> list[str]:
    found = []
    for row in relations[relations["p"] < ALPHA].to_dict("records"):
        best = "the best of all heads; " if row["best head"] else ""
        found.append(
            f"Finds {row['relation']} ({row['direction']}) in {row['accuracy']:.2f} of "
            f"{count(row['n'])} cases; {best}the best fixed offset finds {row['offset']:.2f} "
            f"(p {_sign(row['p'])}, corrected over all heads and relations)."
        )
    return found[:TOP]


def _statistic_sentences(statistics: pd.DataFrame) -> list[str]:
    """Shares of attention over one half, and statistics in which the head leads."""
    found = []
    for row in statistics.to_dict("records"):
        share = str(row["unit"]).startswith("share")
        if not (share and row["mean"] > HALF) and row["rank"] > 1:
            continue
        place = "the largest" if row["rank"] == 1 else f"rank {row['rank']}"
        words, unit = str(row["statistic"]), "" if share else f" {row['unit']}"
        found.append(
            f"{words[:1].upper()}{words[1:]}: {number(row['mean'])}{unit} (95 % interval "
            f"{number(row['low'])} to {number(row['high'])}), {place} of {row['of']} heads."
        )
    return found[: 2 * TOP]


def _sign(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith("<") else f"= {shown}"


def _shown_roles(roles: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "role": roles["role"],
            "times uniform": [number(value) for value in roles["mean"]],
            "95 % interval": _intervals(roles),
            "p": [p_value(value) for value in roles["p"]],
            "has the role": ["yes" if has else "no" for has in roles["has"]],
        }
    )


def _shown_relations(relations: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "relation": relations["relation"],
            "direction": relations["direction"],
            "accuracy": [number(value) for value in relations["accuracy"]],
            "best offset": [number(value) for value in relations["offset"]],
            "words": [count(value) for value in relations["n"]],
            "p": [p_value(value) for value in relations["p"]],
        }
    )


def _shown_statistics(statistics: pd.DataFrame) -> pd.DataFrame:
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
        }
    )


def _intervals(frame: pd.DataFrame) -> list[str]:
    return [interval(low, high) for low, high in zip(frame["low"], frame["high"], strict=True)]
