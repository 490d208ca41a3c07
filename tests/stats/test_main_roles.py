"""Main roles from made-up sums, where it is known which role a head has."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.stats.main_roles import main_role_sentence, main_roles

BUCKETS = 32
ROLES = ("previous", "next", "near", "itself", "same", "modifier to noun")


def atlas_of(
    heads: list[dict[str, Any]], *, noise: float = 0.01, seed: int = 1, relations: Any = None
) -> Atlas:
    """Results of one layer. Of each head the excess of some roles is given, of half the corpus each
    if it is a pair; also its activity and its spread.
    """
    random = np.random.default_rng(seed)
    shape = (BUCKETS, 1, len(heads), len(ROLES))
    left = random.uniform(50, 150, shape)
    uniform = left * random.uniform(0.1, 0.2, shape)
    excess = np.zeros(shape)
    for at, head in enumerate(heads):
        for name, value in head.items():
            if name in ROLES:
                both = value if isinstance(value, tuple) else (value, value)
                for half in (0, 1):
                    excess[half::2, 0, at, ROLES.index(name)] = both[half]
    attention = uniform + left * (excess + random.normal(0, noise, shape))
    work = np.stack([attention, uniform, left], -1)
    coordinates = {"bucket": range(1, BUCKETS + 1), "layer": [1], "head": range(1, len(heads) + 1)}

    def group(values: Any, **labels: Any) -> xr.Dataset:
        dims = {**coordinates, **labels}
        arrays = {"sum": values, "square": values**2, "count": np.full(values.shape, 10)}
        made = {name: (tuple(dims), array) for name, array in arrays.items()}
        return xr.Dataset(made, {dim: list(names) for dim, names in dims.items()})

    activity = np.array([[[[10 * head.get("activity", 0.5)] for head in heads]]] * BUCKETS)
    spread = np.array([[[[head.get("spread", 0.5), 1.0] for head in heads]]] * BUCKETS)
    groups = {
        "work": group(work, role=ROLES, part=("attention", "uniform", "left")),
        "activity": group(activity, where=("at work",)),
        "spread": group(spread, part=("entropy", "left")),
    }
    if relations is not None:
        groups["dependency"] = relations
    groups["work"].attrs["titles"] = json.dumps({name: name for name in ROLES})
    return Atlas.build(groups, {"model": {"name": "made"}, "corpus": {"name": "up"}})


def roles_of(*heads: dict[str, Any], **options: Any) -> list[tuple[str, str]]:
    table = main_roles(atlas_of(list(heads), **options))
    return list(zip(table["role"], table["second"], strict=True))


def test_the_largest_excess_is_the_main_role_if_it_is_a_tenth_or_more() -> None:
    assert roles_of(
        {"itself": 0.5, "same": 0.3},
        {"itself": 0.08},
        {"same": 0.13},
        {"same": -0.5},
    ) == [("itself", ""), ("no clear role", ""), ("same", ""), ("no clear role", "")]


def test_a_specific_role_replaces_the_general_one_from_four_fifths_on() -> None:
    assert roles_of(
        {"near": 0.5, "previous": 0.45},
        {"near": 0.5, "previous": 0.35},
        {"near": 0.5, "next": 0.45, "previous": 0.1},
        noise=0.001,
    ) == [("previous", ""), ("near", ""), ("next", "")]


def test_a_second_role_is_named_within_a_tenth() -> None:
    assert roles_of({"itself": 0.5, "same": 0.47}, {"itself": 0.5, "same": 0.42}, noise=0.001) == [
        ("itself", "same"),
        ("itself", ""),
    ]


def test_without_a_role_spread_and_activity_decide() -> None:
    assert roles_of(
        {"spread": 0.9},
        {"spread": 0.8},
        {"spread": 0.9, "activity": 0.04},
        {"same": 0.4, "activity": 0.04},
    ) == [("broad", ""), ("no clear role", ""), ("rests", ""), ("rests", "")]


def test_noise_is_no_role() -> None:
    """An excess of 0.15 on average that comes from a few documents only."""
    assert roles_of({"same": 0.15}, noise=3.0) == [("no clear role", "")]


def test_halves_that_disagree_are_borderline() -> None:
    table = main_roles(
        atlas_of([{"itself": (0.5, 0.1), "same": (0.1, 0.4)}, {"itself": (0.3, 0.5)}], noise=0.001)
    )
    assert table["borderline"].tolist() == [True, False]


def test_excess_and_interval_are_those_of_a_jackknife_written_out() -> None:
    results = atlas_of([{"same": 0.4}], noise=0.1)
    row = main_roles(results).iloc[0]
    sums = results["work"]["sum"].sel(role="same").isel(layer=0, head=0)
    more = (sums.sel(part="attention") - sums.sel(part="uniform")).values
    left = sums.sel(part="left").values
    whole, terms = more.sum() / left.sum(), []
    for out in range(BUCKETS):
        kept = np.arange(BUCKETS) != out
        share = left.sum() / left[out]
        pseudo = share * whole - (share - 1) * more[kept].sum() / left[kept].sum()
        terms.append((pseudo - whole) ** 2 / (share - 1))
    error = np.sqrt(np.mean(terms))
    assert row["excess"] == pytest.approx(whole)
    assert row["high"] - row["excess"] == pytest.approx(stats.t.ppf(0.975, BUCKETS - 1) * error)
    assert row["p_corrected"] >= stats.t.sf(whole / error, BUCKETS - 1)


def relations_of(right: list[int]) -> xr.Dataset:
    """Each head's right answers at ``det``, of 320, where the best offset has 160."""
    words = ("every", "offset right")
    sums = np.zeros((BUCKETS, 1, len(right), 2, 1, 2))
    counts = np.zeros_like(sums)
    counts[..., 0], counts[..., 1] = 10, 5
    for head, number in enumerate(right):
        sums[:, 0, head, :, 0, 0] = number / BUCKETS
        sums[:, 0, head, :, 0, 1] = number / BUCKETS / 2
    dims = ("bucket", "layer", "head", "direction", "relation", "words")
    labels: dict[str, Any] = {
        "bucket": list(range(1, BUCKETS + 1)),
        "layer": [1],
        "head": list(range(1, len(right) + 1)),
        "direction": ["dependent to head", "head to dependent"],
        "relation": ["det"],
        "words": list(words),
    }
    arrays = {"sum": (dims, sums), "square": (dims, sums), "count": (dims, counts.astype(int))}
    return xr.Dataset(arrays, labels, {"kind": "share"})


def test_a_role_along_arcs_must_beat_the_best_offset() -> None:
    heads = [{"modifier to noun": 0.5, "near": 0.2}] * 2
    assert roles_of(*heads) == [("near", ""), ("near", "")]  # not tested: no such role
    found = roles_of(*heads, relations=relations_of([288, 160]))
    assert found == [("modifier to noun", ""), ("near", "")]


def test_a_missing_measure_is_an_error_that_says_what_to_do() -> None:
    results = atlas_of([{}])
    poor = Atlas.build({"work": results["work"]}, results.provenance)
    with pytest.raises(ResultsError, match="no measure 'activity'") as error:
        main_roles(poor)
    assert "measures=['activity', 'work', 'spread', 'dependency']" in str(error.value.hint)


def test_sentences_say_no_more_than_the_numbers() -> None:
    table = main_roles(
        atlas_of([{"same": (0.5, 0.45)}, {"activity": 0.03}, {"spread": 0.9}, {}], noise=0.01)
    )
    said = [main_role_sentence(row, {"same": "the same word"}) for _, row in table.iterrows()]
    assert said[0].startswith("Main role: the same word, 0.4")
    assert "50 %" in said[0]
    assert said[1:] == [
        "Rests: only 3 % of its attention is on other tokens than sinks.",
        "Broad: it looks at most words alike (spread 0.90 of 1).",
        "No clear role; 50 % of its attention is at work.",
    ]
