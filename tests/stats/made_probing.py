"""Hand-made results of probes: scores of heads, layers and chosen heads, as a run writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.results import Atlas

TITLES = {
    "sentence_length": ("Length", "surface", 6),
    "word_content": ("WordContent", "surface", 1000),
    "tree_depth": ("Depth", "syntactic", 8),
    "top_constituents": ("TopConst", "syntactic", 20),
    "bigram_shift": ("BigramShift", "syntactic", 2),
    "past_present": ("Tense", "semantic", 2),
    "subj_number": ("SubjNum", "semantic", 2),
    "obj_number": ("ObjNum", "semantic", 2),
    "odd_man_out": ("OddManOut", "semantic", 2),
    "coordination_inversion": ("CoordInv", "semantic", 2),
    "mrpc": ("MRPC", "downstream", 2),
    "sts-b": ("STS-B", "downstream", 0),
}
TEN = tuple(TITLES)[:10]
COUNTS = (1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 72)
HALF = 0.01
"""Every score's interval reaches so far below and above it."""


def made_probing(
    layers: int = 6,
    heads: int = 12,
    tasks: Sequence[str] = TEN,
    *,
    control: bool = True,
    parts: Sequence[str] = ("probe", "probe_layer", "probe_top"),
    model: str = "made",
    seed: int = 0,
) -> Atlas:
    """Scores that rise and fall over layers, each task with good heads of its own.

    All values are in ``results[…]``, ready to be compared or changed.
    """
    random = np.random.default_rng(seed)
    skill = random.normal(0, 0.6, (layers, heads))
    height = np.linspace(0, 1, layers)
    head, layer, top = (
        np.zeros((len(tasks), *shape))
        for shape in ((layers, heads), (layers,), (2, len(_sizes(layers, heads))))
    )
    floors = [1 / max(TITLES[task][2], 2) for task in tasks]
    for place, (task, floor) in enumerate(zip(tasks, floors, strict=True)):
        peak = random.uniform(0.1, 0.9)
        rise = np.exp(-(((height - peak) / 0.4) ** 2))
        head[place] = floor + (0.95 - floor) / (
            1 + np.exp(-(2 * rise[:, None] - 2 + skill + random.normal(0, 0.5, (layers, heads))))
        )
        layer[place] = floor + (0.9 - floor) * rise * random.uniform(0.8, 1.0, layers)
        reach = 1 - np.exp(-np.sqrt(_sizes(layers, heads)) / 2)
        best = float(head[place].max())
        top[place] = best + (0.98 - best) * np.stack([reach * 0.8, reach])
        assert task in TITLES
    names = {
        "task": np.array(tasks, object),
        "layer": np.arange(1, layers + 1),
        "head": np.arange(1, heads + 1),
    }
    about = {
        "majority": (
            "task",
            np.array(
                [
                    np.nan if TITLES[task][2] == 0 else floor
                    for task, floor in zip(tasks, floors, strict=True)
                ]
            ),
        ),
        "classes": ("task", np.array([TITLES[task][2] for task in tasks], np.float64)),
        "train": ("task", np.full(len(tasks), 8000.0)),
        "dev": ("task", np.full(len(tasks), 1000.0)),
        "test_size": ("task", np.full(len(tasks), 1000.0)),
        "title": ("task", np.array([TITLES[task][0] for task in tasks], object)),
        "group": ("task", np.array([TITLES[task][1] for task in tasks], object)),
        "metric": (
            "task",
            np.array(["pearson" if TITLES[task][2] == 0 else "accuracy" for task in tasks], object),
        ),
    }
    guessed = np.broadcast_to(np.array(floors)[:, None, None], head.shape) + random.uniform(
        0, 0.02, head.shape
    )
    whole = (
        _scores(head, ("task", "layer", "head"), random)
        | {
            "control": (
                ("task", "layer", "head"),
                guessed if control else np.full(head.shape, np.nan),
            )
        }
        | about
    )
    states = _scores(layer, ("task", "layer"), random) | {
        "control": (("task", "layer"), np.full(layer.shape, np.nan)),
        "test_size": about["test_size"],
    }
    sizes = _sizes(layers, heads)
    chosen = _scores(top, ("task", "way", "n"), random) | {
        "rank": (("task", "way", "place"), _ranks(head, sizes[-1])),
        "test_size": about["test_size"],
    }
    nodes = {
        "probe": xr.Dataset(whole, names, {"listed": "no", "kind": "probe"}),
        "probe_layer": xr.Dataset(
            states,
            {key: names[key] for key in ("task", "layer")},
            {"listed": "no", "kind": "probe"},
        ),
        "probe_top": xr.Dataset(
            chosen,
            {
                "task": names["task"],
                "way": np.array(["top", "greedy"], object),
                "n": list(sizes),
                "place": np.arange(1, sizes[-1] + 1),
            },
            {"listed": "no", "kind": "probe"},
        ),
    }
    provenance = {
        "model": {"name": model, "layers": layers, "heads": heads},
        "settings": {"n": heads, "seed": 0},
    }
    return Atlas.build({name: nodes[name] for name in parts}, provenance)


def changed(results: Atlas, group: str, **values: Any) -> Atlas:
    """The same results with other variables in one group, given as values or as a function.

    A function takes the old values and returns the new ones.
    """
    old = results[group]
    new = old.assign(
        {
            name: old[name].copy(data=value(old[name].values.copy())) if callable(value) else value
            for name, value in values.items()
        }
    )
    groups = {name: new if name == group else results[name] for name in results}
    return Atlas.build(groups, results.provenance)


def _sizes(layers: int, heads: int) -> tuple[int, ...]:
    return tuple(sorted({size for size in COUNTS if size <= layers * heads} | {heads}))


def _scores(test: Any, dims: tuple[str, ...], random: np.random.Generator) -> dict[str, Any]:
    validation = np.clip(test + random.normal(0, 0.01, test.shape), 0, 1)
    return {
        "test": (dims, test),
        "validation": (dims, validation),
        "low": (dims, test - HALF),
        "high": (dims, test + HALF),
        "l2": (dims, random.choice([1e-5, 1e-3, 1e-1], test.shape)),
    }


def _ranks(head: Any, longest: int) -> Any:
    """The heads by test score, the same for both ways."""
    names = np.full((len(head), 2, longest), "", object)
    for task, scores in enumerate(head):
        order = np.argsort(-scores, axis=None)[:longest]
        names[task, :, : len(order)] = [
            f"{place // scores.shape[1] + 1}-{place % scores.shape[1] + 1}" for place in order
        ]
    return names
