"""The table, the best choice and the figure of a cut cache, from numbers written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from headscope.errors import ResultsError
from headscope.figures import find_figure
from headscope.results import Atlas
from headscope.stats import cache_table
from headscope.stats.tables.cache import best_choice, cache_sentences

BY, COUNTS, JUDGED = ["low:high", "worse", "random"], [4, 2, 1, 0], ["loss", "recall"]
LOSS = [[3.0, 3.05, 3.2, 4.0], [3.0, 3.02, 3.09, 4.0], [3.0, 3.5, 3.6, 4.0]]
RECALL = [[0.9, 0.9, 0.85, 0.1], [0.9, 0.6, 0.5, 0.1], [0.9, 0.5, 0.2, 0.1]]


def made(tolerance: float) -> Atlas:
    """Three rankings of four KV heads; draws lie 0.1 to both sides of their mean."""
    mean = np.stack([LOSS, RECALL])
    change, over = mean - mean[:, :, :1], mean - mean[:, -1:]
    values: dict[str, Any] = {"mean": mean, "low": mean - 0.3, "high": mean + 0.3}
    for name, array in (("change", change), ("over", over)):
        values |= {name: array, f"{name}_low": array - 0.02, f"{name}_high": array + 0.02}
    cells = {name: (("judged", "by", "kept"), array) for name, array in values.items()}
    draws = mean[:, -1] + np.array([-0.1, 0.1])[:, None, None]
    counts = {"n": (("judged", "by", "kept"), np.full(mean.shape, 5))}
    data = xr.Dataset(
        {**cells, **counts, "deviation": cells["mean"], "share": ("kept", np.array(COUNTS) / 4)}
        | {"draw": (("draw", "judged", "kept"), draws)},
        {"judged": JUDGED, "by": BY, "kept": COUNTS},
        {"kind": "curve", "tolerance": tolerance, "window": "cut to the first 4 and the last 64"},
    )
    about = {
        "model": {"name": "made"},
        "corpus": {"name": "c.txt"},
        "counts": {"seen": 5},
        "settings": {"tokens": 4096, "seed": 0},
    }
    return Atlas.build({"cache": data}, about)


def test_the_table_has_a_row_for_each_ranking_number_of_heads_and_judge():
    table = cache_table(made(0.1))
    assert len(table) == len(BY) * len(COUNTS) * len(JUDGED)
    row = table.set_index(["by", "kept", "judged"]).loc[("worse", 2, "recall")]
    expected = {"share": 0.5, "mean": 0.6, "change": -0.3, "change_low": -0.32, "over": 0.1}
    expected |= {"random": 0.5, "random_low": 0.4, "random_high": 0.6, "n": 5}
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    with pytest.raises(ResultsError, match="no cut cache"):
        cache_table(Atlas.build({}, {"model": {"name": "made"}}))


@pytest.mark.parametrize(
    ("tolerance", "best"),
    [(0.0, None), (0.04, None), (0.1, ("low:high", 2)), (0.3, ("low:high", 1)), (5, ("worse", 1))],
)
def test_the_best_choice_is_the_smallest_that_loses_neither_loss_nor_recall(tolerance, best):
    results = made(tolerance)
    assert best_choice(results["cache"]) == best
    *_, said, _how = cache_sentences(results)
    assert said.startswith("the smallest cache within" if best else "no choice that keeps some")


def test_bands_are_intervals_of_the_change_and_grey_is_the_range_of_draws():
    spec = find_figure("cache").draw(made(0.1)).to_dict()
    rows = pd.concat([pd.DataFrame(rows) for rows in spec["datasets"].values()])
    rows = rows.drop_duplicates().set_index(["by", "kept", "judged"])
    assert len(rows) == len(BY) * len(COUNTS) * len(JUDGED)
    ends = ["low", "high"]
    assert rows.loc[("low:high", 1, "loss"), ends].tolist() == pytest.approx([3.18, 3.22])
    assert rows.loc[("random", 1, "loss"), ends].tolist() == pytest.approx([3.5, 3.7])
    assert rows.loc[("random", 4, "recall"), ends].tolist() == pytest.approx([0.8, 1.0])
    assert rows.loc[("worse", 0, "recall"), ends].tolist() == pytest.approx([0.08, 0.12])
    found = [one["layer"][0]["encoding"]["x"]["scale"]["reverse"] for one in spec["hconcat"]]
    assert found == [True, True]
