"""What the page shows of all heads, as columns: statistics, roles, relations, checkpoints."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from headscope.labels import family_of, label_text, label_words, map_measure
from headscope.page.schema import (
    Appearance,
    Composition,
    NullBand,
    Relation,
    Statistic,
    TestedRole,
    WorkRole,
)
from headscope.page.schema import Track as TrackDocument
from headscope.results import Atlas
from headscope.results.merge import CIRCUITS, EXCESS, NULL_WORDS, ROLES, Track, has_track
from headscope.results.query import split_value
from headscope.results.schema import GRID, label_dims, of_heads, statistics
from headscope.results.summary import says_the_same
from headscope.stats.heads.excess import FAMILIES, ORDER, Excess
from headscope.stats.heads.findings import Analysis
from headscope.stats.heads.query import DEFAULTS, chosen_labels, measure_of
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.tables.alike import band
from headscope.stats.tables.circuits import KINDS
from headscope.stats.tables.relations import LEAST
from headscope.stats.tables.track import emergence
from headscope.stats.words.formatter import relation_words, role_name

# --- Main roles, tested roles and relations -------------------------------------------------------

Array = NDArray[Any]
NONE = 255
"""No second role."""
UP = "dependent to head"


GROUPS = {
    "position": "Neighbouring tokens",
    "special": "Special tokens and punctuation",
    "role": "Roles, times uniform attention",
    "frame": "Semantic frames",
    "feature": "Largest attention to a kind of word",
    "link": "Largest attention between two kinds",
    "activity": "Active and idle attention",
    **dict.fromkeys(
        ("copying", "ov_norm", "qk_norm", "vocabulary"), "Circuits, from weights alone"
    ),
}
"""Under what a measure's statistics stand in menus; others stand under their own names."""


class MainRoles(TypedDict):
    """What the document says of main roles."""

    families: list[str]
    work: list[WorkRole]
    activity: list[str]
    rests: list[str]


def role_columns(analysis: Analysis) -> tuple[MainRoles, dict[str, Array]]:
    """The main role of every head, and its excess at every role."""
    atlas, excess = analysis.results, analysis.excess
    if excess is None:
        return {"families": [], "work": [], "activity": [], "rests": []}, {}
    table, shape = analysis.roles, atlas.shape
    arrays: dict[str, Array] = {
        "roles/family": _family(table["family"], shape),
        "roles/second": _family(table["second"].map(lambda role: FAMILIES.get(role, role)), shape),
        "roles/borderline": table["borderline"].to_numpy(bool).reshape(shape),
    }
    for name in ("excess", "low", "high", "p_corrected", "activity", "spread"):
        key = name.removesuffix("_corrected")
        arrays[f"roles/{key}"] = table[name].to_numpy(float).reshape(shape)
    activity = atlas["activity"]["mean"].transpose("where", *GRID)
    arrays |= _work(excess, shape) | {"activity": activity.values}
    arrays["work/position"] = _positions(analysis, shape)
    titles = label_words("work", atlas["work"].attrs, "role")
    document: MainRoles = {
        "families": list(ORDER),
        "work": [
            {"id": name, "title": titles.get(name, role_name(name)), "family": FAMILIES[name]}
            for name in excess.names
        ],
        "activity": [str(kind) for kind in activity["where"].values],
        "rests": _rest_names(activity, atlas.provenance.get("model", {}).get("tokens", {})),
    }
    return document, arrays


def _rest_names(activity: xr.DataArray, tokens: Mapping[str, str]) -> list[str]:
    """Where attention rests, as the model writes its tokens."""
    kinds = [str(kind) for kind in activity["where"].values]
    started = "start" in kinds and bool((activity.sel(where="start") > 0).any())
    names = {
        "at work": "active",
        "stops": "“.” and “,”",
        "separator": tokens.get("separator", "separators"),
        "start": tokens.get("start", "start token"),
        "other": "other special tokens" if started else "first token",
    }
    return [names.get(kind, kind) for kind in kinds]


def _family(names: pd.Series, shape: tuple[int, int]) -> Array:
    numbers = [ORDER.index(name) if name in ORDER else NONE for name in names.astype(str)]
    return np.array(numbers, np.uint8).reshape(shape)


def _work(excess: Excess, shape: tuple[int, int]) -> dict[str, Array]:
    """The excess over even attention at every role of the working attention."""
    parts = {"value": excess.value, "half": excess.half, "p": excess.p, "has": excess.counts}
    return {f"work/{name}": part.T.reshape(-1, *shape) for name, part in parts.items()}


def _positions(analysis: Analysis, shape: tuple[int, int]) -> Array:
    """Times what positions alone would give, of main roles along arcs; NaN for others."""
    assert analysis.excess is not None
    names, positions = analysis.excess.names, analysis.positions
    if positions is None:
        return np.full((len(names), *shape), np.nan)
    values: Array = positions["times"].reindex(role=names).transpose("role", *GRID).values
    return values


def test_columns(analysis: Analysis) -> tuple[list[TestedRole], dict[str, Array]]:
    """The tested roles of Pande et al. 2021."""
    tests = analysis.sieves
    if tests is None:
        return [], {}
    titles = json.loads(str(analysis.results["role"].attrs.get("titles", "{}")))
    about: list[TestedRole] = [
        {"id": str(role), "title": titles.get(str(role), str(role))}
        for role in tests["role"].values
    ]
    order = ("role", *GRID)
    sources = {"p": "p_corrected"}
    arrays = {
        f"tests/{name}": tests[sources.get(name, name)].transpose(*order).values
        for name in ("mean", "low", "high", "p", "effect", "has", "position", "positional")
    }
    # what a query's is:ROLE and is:positional-ROLE ask for
    alone = tests["positional"]
    for name, holds in {"plain": tests["has"] & ~alone, "alone": alone}.items():
        arrays[f"tests/{name}"] = holds.transpose(*order).values
    return about, arrays


def relation_columns(analysis: Analysis) -> tuple[list[Relation], dict[str, Array]]:
    """The accuracy of every head at dependency relations with enough words, both directions."""
    tests = analysis.relation_tests
    if tests is None:
        return [], {}
    dependency = analysis.results["dependency"]
    data = dependency[["low", "high"]].sel(words="every", direction=tests["direction"].values)
    offsets: dict[str, int] = json.loads(str(dependency.attrs.get("offsets", "{}")))
    order = ("relation", "direction", *GRID)
    sources = (tests["accuracy"], data["low"], data["high"], tests["p_corrected"])
    columns = np.stack([source.transpose(*order).values for source in sources])
    counts, baselines = (tests[name].transpose(*order).values for name in ("n", "baseline"))
    about, kept = list[Relation](), list[Array]()
    for row, relation in enumerate(map(str, tests["relation"].values)):
        for column, direction in enumerate(map(str, tests["direction"].values)):
            n = int(counts[row, column, 0, 0])
            if n < LEAST or relation.startswith("all"):
                continue
            baseline = float(baselines[row, column, 0, 0])
            about.append(_relation(relation, direction, offsets, n, baseline))
            kept.append(columns[:, row, column])
    if not kept:
        return [], {}
    names = ("accuracy", "low", "high", "p")
    stacked = np.stack(kept, 1)
    return about, {f"relations/{name}": part for name, part in zip(names, stacked, strict=True)}


def _relation(
    relation: str, direction: str, offsets: dict[str, int], n: int, baseline: float
) -> Relation:
    up, offset = direction == UP, offsets.get(relation, 0)
    return {
        "id": f"{relation}:{direction}",
        "title": f"{relation}: {'dependent → head' if up else 'head → dependent'}",
        "words": relation_words(relation, direction),
        "relation": relation,
        "direction": direction,
        "offset": offset if up else -offset,
        "family": family_of(relation),
        "n": n,
        "baseline": baseline,
    }


# --- Bands of null models: where the middle 95 % of their heads are -------------------------------

Values = dict[str, xr.DataArray]
"""The values of a measure by null model."""


def null_values(atlas: Atlas, name: str) -> Values:
    """The values of a measure in the null models that have it, by the null model in words."""
    return {
        NULL_WORDS.get(null, null): statistics(other[name])["value"]
        for null, other in atlas.nulls.items()
        if name in other
    }


def statistic_bands(values: Values, labels: Mapping[str, object]) -> list[NullBand]:
    """The bands of a statistic, one for each null model that has it.

    Parameters
    ----------
    values
        Of its measure; see :func:`null_values`.
    labels
        The labels of the statistic by dimension.
    """
    bands: list[NullBand] = []
    for null, own in values.items():
        known = all(label in own[dim].values for dim, label in labels.items())
        if known:  # in older results, shuffled words have no annotations
            bands += _band(null, own.sel(labels).values)
    return bands


def add_role_bands(atlas: Atlas, work: Sequence[WorkRole], relations: Sequence[Relation]) -> None:
    """Add the bands of null models to the descriptions of roles and of relations.

    Parameters
    ----------
    atlas
        Results of a survey.
    work, relations
        What :func:`role_columns` and :func:`relation_columns` say of its roles and relations.
    """
    for null, other in atlas.nulls.items():
        words = NULL_WORDS.get(null, null)
        roles, arrays = role_columns(other.analysis)
        _add(work, roles["work"], arrays.get("work/value"), words)
        about, arrays = relation_columns(other.analysis)
        _add(relations, about, arrays.get("relations/accuracy"), words)


def _add(
    mine: Sequence[WorkRole] | Sequence[Relation],
    theirs: Sequence[WorkRole] | Sequence[Relation],
    values: Array | None,
    null: str,
) -> None:
    rows = {} if values is None else dict(zip((row["id"] for row in theirs), values, strict=True))
    for row in mine:
        if row["id"] in rows and (bands := _band(null, rows[row["id"]])):
            row.setdefault("nulls", []).extend(bands)


def _band(null: str, values: Array) -> list[NullBand]:
    """The band as the page has it; none where the null model has no values."""
    low, high = band(values)
    return [{"null": null, "low": low, "high": high}] if low <= high else []


# --- The statistics of all heads: what the grid, the finder and the head page show ----------------

HIDDEN = ("dependency", "work", "spread", "sink_places", "arc", "profile")
"""Measures that the page shows in a way of their own, or not at all."""
PARTS = ("value", "low", "high")


def statistic_columns(atlas: Atlas) -> tuple[list[Statistic], dict[str, Array]]:
    """Every statistic that differs between heads.

    Returns
    -------
    about : list of dict
        One entry per statistic: id, measure, title, unit, kind, source, n, listed, reference; and
        nulls, the bands of null models, where there are any.
    arrays : dict
        ``value``, ``low`` and ``high``, (statistic, layer, head).
    """
    about: list[Statistic] = []
    columns: list[Array] = []
    for name in atlas:
        data = atlas[name]
        if map_measure(name) in HIDDEN or not of_heads(data):
            continue
        own = label_dims(data)
        ordered = statistics(data).transpose(*own, *GRID)
        parts = [ordered[part].values.astype(np.float32) for part in PARTS]
        counts, nulls = ordered["count"].values, null_values(atlas, name)
        for place in itertools.product(*(range(ordered.sizes[dim]) for dim in own)):
            named = {dim: data[dim].values[at] for dim, at in zip(own, place, strict=True)}
            labels = {dim: str(label) for dim, label in named.items()}
            values = np.stack([part[place] for part in parts])
            same = says_the_same(name, ordered["value"], labels)
            if same or not _is_statistic(data, labels, values[0]):
                continue
            described = _described(name, data, labels, int(np.nanmax(counts[place])))
            if bands := statistic_bands(nulls, named):
                described["nulls"] = bands
            about.append(described)
            columns.append(values)
    order = _beside([entry["id"] for entry in about])
    about, columns = [about[place] for place in order], [columns[place] for place in order]
    stacked = np.stack(columns, 1) if columns else np.zeros((3, 0, *atlas.shape), np.float32)
    return about, dict(zip(PARTS, stacked, strict=True))


def _beside(ids: list[str]) -> list[int]:
    """The order in which a statistic of norm-weighted maps comes right after that of attention."""
    first = {name: place for place, name in reversed(list(enumerate(map(map_measure, ids))))}
    return sorted(range(len(ids)), key=lambda place: (first[map_measure(ids[place])], place))


def _is_statistic(data: xr.Dataset, labels: dict[str, str], values: Array) -> bool:
    """Whether heads differ in it. Reference lines and counts kept for paired tests are left out."""
    if data.attrs.get("kind") == "share" and "every" not in labels.values():
        return False
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(np.ptp(known) > 0)


def _described(name: str, data: xr.Dataset, labels: dict[str, str], n: int) -> Statistic:
    """What a statistic is called."""
    attributes = {str(key): str(text) for key, text in data.attrs.items()}
    unit = attributes.get("unit", "")
    return {
        "id": _query_name(name, data, labels),
        "measure": name,
        "group": GROUPS.get(name, name[:1].upper() + name[1:].replace("_", " ")),
        "title": label_text(name, labels, attributes),
        "unit": unit,
        "kind": "share" if unit.startswith("share") else "times" if "times" in unit else "number",
        "source": attributes.get("source", ""),
        "listed": attributes.get("listed", "yes") == "yes",
        "reference": _reference(name, data, labels),
        "n": n,
    }


def _query_name(name: str, data: xr.Dataset, labels: dict[str, str]) -> str:
    """As the query language names it: labels that are understood anyway are left out."""
    said = []
    for dim, label in labels.items():
        names = [str(name) for name in data[dim].values]
        usual = next((default for default in DEFAULTS if default in names), None)
        if usual is None and len(names) == 1:
            usual = names[0]
        if label != usual:
            said.append(f'"{label}"' if not label.replace("-", "").isalnum() else label)
    return ":".join([name, *said])


def _reference(name: str, data: xr.Dataset, labels: dict[str, str]) -> float | None:
    """Where even attention would be, or a score with all heads on, if that is one number."""
    if map_measure(name) == "role":
        return 1.0
    if name == "head_off" and "difference" in data:
        return float((data["mean"] - data["difference"]).mean())
    if map_measure(name) == "entropy" and labels.get("row") in ("all", "cls"):
        return float(data["mean"].sel(row="uniform").isel(layer=0, head=0))
    return None


# --- The heads that every head composes with most -------------------------------------------------

TOP = 6
"""Heads in each direction and kind. All pairs of a large model would be too much for a page."""


def composition_columns(atlas: Atlas) -> tuple[Composition | None, dict[str, NDArray[Any]]]:
    """The strongest compositions of every head; None where the results have no circuits.

    Returns
    -------
    about : dict or None
        The kinds, and the baseline of each with its deviation; notes on what is left out.
    arrays : dict
        ``composition/earlier`` and ``composition/later``, places of the other heads (-1: none), and
        ``…/excess``, all (kind, place, rank).
    """
    if "composition" not in atlas:
        return None, {}
    data = atlas["composition"]
    size = atlas.shape[0] * atlas.shape[1]
    excess = data["excess"].transpose("kind", "layer", "head", "from_layer", "from_head").values
    square = excess.reshape(len(KINDS), size, size)
    arrays: dict[str, NDArray[Any]] = {}
    for name, values in (("earlier", square), ("later", square.transpose(0, 2, 1))):
        places, strengths = _strongest(values)
        arrays[f"composition/{name}"] = places
        arrays[f"composition/{name}/excess"] = strengths
    about = atlas.provenance
    return {
        "kinds": list(KINDS),
        "baseline": data["baseline"].values.tolist(),
        "deviation": data["baseline_deviation"].values.tolist(),
        "notes": [str(note) for note in about.get(CIRCUITS, about).get("notes", [])],
    }, arrays


def _strongest(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Places and values of the largest entries of each row, (kind, place, rank)."""
    filled = np.where(np.isnan(values), -np.inf, values)
    order = np.argsort(-filled, axis=2, kind="stable")[:, :, :TOP]
    strengths = np.take_along_axis(values, order, 2).astype(np.float32)
    return np.where(np.isnan(strengths), -1, order).astype(np.int32), strengths


# --- Checkpoints: what every head did at each of them, for the slider -----------------------------

CELLS = 2_000_000
"""So many numbers of statistics at most: what is left out is shown for the last checkpoint only."""


def track_columns(
    atlas: Atlas, statistics: Sequence[Statistic]
) -> tuple[TrackDocument | None, dict[str, Array]]:
    """The checkpoints of some results; None where they are of one model.

    Parameters
    ----------
    atlas
        The results.
    statistics
        Those of the page; see :func:`headscope.page.packs.statistics.statistic_columns`.

    Returns
    -------
    about : dict or None
        Names and steps of checkpoints; the ids of the statistics that are there for all of them;
        and when each head got its roles.
    arrays : dict
        ``track/value`` (checkpoint, statistic, layer, head); with main roles ``track/family``,
        ``second``, ``borderline``, ``excess``, ``activity`` and ``main``, the excess at the role
        that is the head's main one at the end (checkpoint, layer, head).
    """
    if not has_track(atlas):
        return None, {}
    track = atlas.track
    arrays: dict[str, Array] = {}
    most = CELLS // max(len(track.names) * atlas.shape[0] * atlas.shape[1], 1)
    ids: list[str] = []
    values: list[Array] = []
    for statistic in statistics:
        track_values = _values(atlas, track, statistic["id"]) if len(ids) < most else None
        if track_values is not None:
            ids.append(statistic["id"])
            values.append(track_values)
    if values:
        arrays["track/value"] = np.stack(values, 1).astype(np.float32)
    if ROLES in track:
        roles = track[ROLES].transpose("checkpoint", *GRID)
        arrays["track/family"] = _families(roles["family"].values)
        seconds = np.vectorize(lambda role: FAMILIES.get(role, role), otypes=[object])
        arrays["track/second"] = _families(seconds(roles["second"].values))
        arrays["track/borderline"] = roles["borderline"].values > 0
        for name in ("excess", "activity"):
            arrays[f"track/{name}"] = roles[name].values.astype(np.float32)
        arrays["track/main"] = _main(track)
    about: TrackDocument = {
        "names": list(track.names),
        "steps": None if track.steps is None else list(track.steps),
        "statistics": ids,
        "least": DEFAULT.least,
        "appear": _appear(atlas, track),
    }
    return about, arrays


def _values(atlas: Atlas, track: Track, value: str) -> Array | None:
    """A statistic at all checkpoints, (checkpoint, layer, head); None if some lack it."""
    measure, labels = measure_of(atlas, split_value(value))
    if measure not in track:
        return None
    data, group = atlas[measure], track[measure]
    chosen = chosen_labels(measure, data, labels)
    picked = {dim: data[dim].dtype.type(label) for dim, label in chosen.items()}
    return np.asarray(group["value"].sel(picked).transpose("checkpoint", *GRID).values)


def _families(names: Array) -> Array:
    """Families as numbers of the page's list."""
    numbers = [ORDER.index(name) if name in ORDER else NONE for name in names.ravel()]
    return np.array(numbers, np.uint8).reshape(names.shape)


def _main(track: Track) -> Array:
    """The excess of every head at its main role of the last checkpoint; NaN without one."""
    values = track[EXCESS]["value"].transpose("checkpoint", *GRID, "role")
    names = [str(role) for role in values["role"].values]
    last = track[ROLES]["role"].transpose("checkpoint", *GRID).values[-1]
    excess = np.full(values.shape[:-1], np.nan, np.float32)
    for place, role in np.ndenumerate(last):
        if str(role) in names:
            excess[:, *place] = values.values[:, *place, names.index(str(role))]
    return excess


def _appear(atlas: Atlas, track: Track) -> list[Appearance]:
    """When each head got the roles that it has at the end, earliest first."""
    if EXCESS not in track:
        return []
    return [
        {
            "head": row["head"],
            "role": row["role"],
            "family": FAMILIES[str(row["role"])],
            "checkpoint": track.names.index(str(row["checkpoint"])),
            "value": row["value"],
            "last": row["last"],
            "main": bool(row["main"]),
        }
        for row in emergence(atlas).to_dict("records")
    ]
