"""A head's passport: everything that results say about one head, with its rank among all heads."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.heads import Head
from headscope.labels import NORM, WEIGHTED, map_measure
from headscope.numbers import number
from headscope.results import Atlas
from headscope.results.columns import HEAD_RELATIONS, HEAD_ROLES, HEAD_STATISTICS, for_people
from headscope.results.merge import is_circuits
from headscope.results.schema import GRID
from headscope.stats.tables.relations import ALL, LEAST
from headscope.stats.tables.roles import describe_test
from headscope.stats.words.describe import Description

Array = NDArray[np.float64]
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
    description
        What it does, in one sentence, and the evidence for it.
    sentences
        What else stands out, in plain words; only what the tests allow.
    statistics
        One row per statistic: words, mean, interval, n, and the head's rank (1 is the largest);
        where results have both kinds of maps, also its mean on norm-weighted ones (``norm``) and
        its rank there.
    roles
        One row per role: mean sieve bias, interval, effect, p (corrected) and whether it has the
        role; ``norm`` is the mean on norm-weighted maps.
    relations
        Dependency relations by gain over the best fixed offset, with their corrected p; ``norm`` is
        the accuracy on norm-weighted maps.
    atlas
        The results it comes from, for the view in a notebook.
    """

    head: Head
    model: str
    corpus: str
    description: Description
    sentences: list[str]
    statistics: pd.DataFrame
    roles: pd.DataFrame
    relations: pd.DataFrame
    atlas: Atlas | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The head's names, and where it was seen."""
        where = f", on {self.corpus}" if self.corpus else ""  # circuits read no corpus
        return f"Head {self.head} ({self.head.zero_based}) of {self.model}{where}"

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables with numbers as people read them, by title; empty ones are left out."""
        tables = {
            "Roles": for_people(self.roles, HEAD_ROLES),
            "Dependency relations, by gain over the best fixed offset": for_people(
                self.relations, HEAD_RELATIONS
            ),
            "Statistics, by rank among all heads": for_people(self.statistics, HEAD_STATISTICS),
        }
        return {title: frame for title, frame in tables.items() if len(frame)}

    def __str__(self) -> str:
        parts = [self.title, str(self.description)]
        parts += [f"* {sentence}" for sentence in self.sentences]
        for title, frame in self.tables().items():
            parts += ["", title, frame.head(SHOWN).to_string(index=False)]
            if len(frame) > SHOWN:
                parts.append(f"… and {len(frame) - SHOWN} more")
        return "\n".join(parts)

    __repr__ = __str__

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        html, text = self._repr_html_(), str(self)
        if self.atlas is None:
            return {"text/html": html, "text/plain": text}, {}
        return self.atlas._views.bundle(f"head/{self.head}", html=html, text=text)

    def _display_(self) -> object:
        """What marimo shows."""
        if self.atlas is None:
            return str(self)
        return self.atlas._views.shown(f"head/{self.head}", html=self._repr_html_())

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences)
        tables = "".join(
            f"<h4>{html.escape(title)}</h4>{frame.to_html(index=False, escape=True, border=0)}"
            for title, frame in self.tables().items()
        )
        said = f"<p><b>{html.escape(self.description.lead)}</b></p>"
        if self.description.evidence:
            said += f"<p>{html.escape(self.description.evidence)}</p>"
        more = f"<ul>{items}</ul>" if items else ""
        return f"<div><h3>{html.escape(self.title)}</h3>{said}{more}{tables}</div>"


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
    return Passport(
        head,
        str(about.get("model", {}).get("name", "?")),
        "" if is_circuits(atlas) else str(about.get("corpus", {}).get("name", "?")),
        atlas.analysis.descriptions[str(head)],
        [*_role_sentences(roles, atlas.analysis.sieves), *_statistic_sentences(statistics)],
        statistics,
        roles,
        relations,
        atlas,
    )


def _at(values: xr.DataArray | xr.Dataset, head: Head) -> Any:
    return values.sel(layer=head.layer + 1, head=head.head + 1)


def _statistics(atlas: Atlas, head: Head) -> pd.DataFrame:
    index = atlas.analysis.heads.index(str(head))
    rows = [
        column.row(index) for column in atlas.analysis.columns if not np.isnan(column.value[index])
    ]
    columns = ["measure", "statistic", "unit", "mean", "low", "high", "n", "rank", "of"]
    frame = _beside(pd.DataFrame(rows, columns=columns))
    return frame.sort_values("rank", kind="stable").reset_index(drop=True)


def _beside(frame: pd.DataFrame) -> pd.DataFrame:
    """Put statistics of norm-weighted maps beside those of attention, where there are both."""
    weighted = frame["measure"].astype(str).str.startswith(NORM)
    if not weighted.any():
        return frame
    norm = frame[weighted]
    places = {
        (map_measure(measure), str(statistic).removesuffix(WEIGHTED)): (place, mean, rank)
        for place, measure, statistic, mean, rank in zip(
            norm.index, norm["measure"], norm["statistic"], norm["mean"], norm["rank"], strict=True
        )
    }
    none = (-1, float("nan"), float("nan"))
    keys = zip(frame["measure"], frame["statistic"], strict=True)
    beside = [places.get((str(measure), str(statistic)), none) for measure, statistic in keys]
    frame = frame.assign(
        **{"norm": [mean for _, mean, _ in beside], "norm rank": [rank for *_, rank in beside]}
    )
    return frame.drop(index=[place for place, *_ in beside if place >= 0])


def _roles(atlas: Atlas, head: Head) -> pd.DataFrame:
    columns = ["role", "mean", "low", "high", "position", "effect", "p", "has", "positional"]
    tests = atlas.analysis.sieves
    if tests is None:
        return pd.DataFrame(columns=columns)
    mine = _at(tests, head)
    frame = pd.DataFrame(
        {"role": mine["role"].values.astype(str)}
        | {name: mine["p_corrected" if name == "p" else name].values for name in columns[1:]}
    )
    if f"{NORM}role" in atlas:
        norm = _at(atlas[f"{NORM}role"]["mean"], head)
        frame["norm"] = norm.reindex(role=mine["role"].values).values
    frame = frame.dropna(subset="mean")
    order = frame.sort_values(["has", "mean"], ascending=False, kind="stable")
    return order.reset_index(drop=True)


def _relations(atlas: Atlas, head: Head) -> pd.DataFrame:
    """Relations with enough words, each in the direction in which the head finds it more often."""
    columns = ["relation", "direction", "accuracy", "offset", "n", "p", "best head"]
    tests = atlas.analysis.relation_tests
    if tests is None:
        return pd.DataFrame(columns=columns)
    names = [str(name) for name in tests["relation"].values]
    enough = tests["n"].max(GRID).isel(direction=0).values >= LEAST
    chosen = enough & np.array([not name.startswith(ALL) for name in names])
    mine = _at(tests, head).isel(relation=chosen).transpose("relation", "direction")
    if not mine.sizes["relation"]:
        return pd.DataFrame(columns=columns)
    best = mine.isel(direction=mine["accuracy"].argmax("direction"))
    most = tests["accuracy"].max((*GRID, "direction")).values[chosen]
    leads, numbers = best["accuracy"] >= most, ("accuracy", "baseline", "n", "p_corrected")
    values = [best["relation"], best["direction"], *(best[name] for name in numbers), leads]
    frame = pd.DataFrame({name: part.values for name, part in zip(columns, values, strict=True)})
    if f"{NORM}dependency" in atlas:
        norm = _at(atlas[f"{NORM}dependency"]["mean"], head)
        norm = norm.sel(words="every") if "words" in norm.dims else norm
        frame["norm"] = norm.sel(relation=best["relation"], direction=best["direction"]).values
    gain = (frame["accuracy"] - frame["offset"]).sort_values(ascending=False, kind="stable")
    return frame.loc[gain.index].reset_index(drop=True)


def _role_sentences(roles: pd.DataFrame, tests: xr.Dataset | None) -> list[str]:
    having = [
        f"{row['role']} (by position alone)" if row["positional"] else str(row["role"])
        for row in roles[roles["has"].astype(bool)].to_dict("records")
    ]
    if not having or tests is None:
        return []
    word = "role" if len(having) == 1 else "roles"
    return [f"Has the {word} {', '.join(having)} (mean sieve bias over {describe_test(tests)})."]


def _statistic_sentences(statistics: pd.DataFrame) -> list[str]:
    """Shares of attention over one half, and statistics in which the head leads."""
    sentences = []
    for row in statistics.to_dict("records"):
        share = str(row["unit"]).startswith("share")
        if not (share and row["mean"] > HALF) and row["rank"] > 1:
            continue
        standing = "the largest" if row["rank"] == 1 else f"rank {row['rank']}"
        words, unit = str(row["statistic"]), "" if share else f" {row['unit']}"
        ends = f" (95 % interval {number(row['low'])} to {number(row['high'])})"
        sampled = not math.isnan(float(row["low"]))  # numbers of weights have no interval
        sentences.append(
            f"{words[:1].upper()}{words[1:]}: {number(row['mean'])}{unit}"
            f"{ends if sampled else ''}, {standing} of {row['of']} heads."
        )
    return sentences[: 2 * TOP]
