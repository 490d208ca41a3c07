"""The numbers that Jo and Myaeng released, as results of probing like ours."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import UserError
from headscope.limits import parse_json
from headscope.papers.jo2020 import facts
from headscope.papers.jo2020.release_files import TABLE, release_files
from headscope.results import Atlas
from headscope.results.moments import wilson
from headscope.tasks.task import TITLES, task_group

NAMES = {
    "openai-gpt": "GPT",
    "gpt2": "GPT2",
    "bert-base-uncased": "BERT base",
    "bert-large-uncased": "BERT large",
    "electra-small-discriminator": "ELECTRA small",
    "electra-base-discriminator": "ELECTRA base",
    "electra-large-discriminator": "ELECTRA large",
}
"""The released models, by their names in the files, as the paper calls them."""
PROBING = {
    "Length": "sentence_length",
    "WordContent": "word_content",
    "Depth": "tree_depth",
    "TopConstituents": "top_constituents",
    "BigramShift": "bigram_shift",
    "Tense": "past_present",
    "SubjNumber": "subj_number",
    "ObjNumber": "obj_number",
    "OddManOut": "odd_man_out",
    "CoordinationInversion": "coordination_inversion",
}
DOWNSTREAM = {"MRPC": "mrpc", "STSBenchmark": "sts-b", "SST2": "sst-2"}
"""The tasks, by their names in the files."""
TASKS = PROBING | DOWNSTREAM
DOWNSTREAM_TITLES = {"mrpc": "MRPC", "sts-b": "STS-B", "sst-2": "SST-2"}
TEST_SIZE = 10_000
"""Test sentences of a probing task (Table 2)."""
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Release:
    """What the authors released.

    Parameters
    ----------
    encoders
        Scores of heads by encoder, as :func:`headscope.probe` writes them: ``probe``, and
        ``probe_layer`` for the downstream tasks that have layers.
    table
        By encoder and task: test accuracy in percent of the last layer, the best layer and the
        top heads, from their table; empty if it is missing.
    ignored
        Files of encoders or tasks that the paper does not have.
    """

    encoders: Mapping[str, Atlas]
    table: Mapping[str, Mapping[str, tuple[float, float, float]]]
    ignored: tuple[str, ...] = ()


def read_release(source: str | Path) -> Release:
    """Read the authors' own numbers.

    Parameters
    ----------
    source
        Their repository, a folder with its results, or a tar archive of one.

    Returns
    -------
    Release
        Scores by encoder, in the order of Table 1, and their table.

    Raises
    ------
    UserError
        The source has none of the files, is not safe to read, or a file is damaged.

    Notes
    -----
    Layers and heads are counted from 0 in the files and from 1 here. Scores of heads that a file
    lacks are NaN.
    """
    files = release_files(source)
    found: dict[str, dict[str, _Grid]] = {}
    ignored = []
    for name in sorted(set(files) - {TABLE}):
        model, _, task = Path(name).stem.rpartition("_")
        if model not in NAMES or task not in TASKS:
            ignored.append(name)
            continue
        encoder = NAMES[model]
        grids = found.setdefault(encoder, {})
        grids[TASKS[task]] = _Grid.read(name, files[name], _shape(encoder), TASKS[task])
    if not found:
        raise UserError(
            f"{source} has results of none of the paper's encoders and tasks",
            hint="give the authors' own files, such as bert-base-uncased_Depth.json",
        )
    atlases = {
        row.name: _atlas(row.name, found[row.name], str(source))
        for row in facts.TABLE_1
        if row.name in found
    }
    return Release(atlases, _table(files.get(TABLE, b"")), tuple(ignored))


def _shape(encoder: str) -> tuple[int, int]:
    return next((row.layers, row.heads) for row in facts.TABLE_1 if row.name == encoder)


@dataclass(frozen=True)
class _Grid:
    """Scores of one encoder and task as shares: (layer, head), and (layer,) where known."""

    validation: Array
    test: Array
    layer_validation: Array
    layer_test: Array

    @classmethod
    def read(cls, name: str, data: bytes, shape: tuple[int, int], task: str) -> _Grid:
        arrays = [np.full(size, np.nan) for size in (shape, shape, shape[:1], shape[:1])]
        valid, score, scale = (
            ("devpearson", "pearson", 1.0) if task == "sts-b" else ("devacc", "acc", 0.01)
        )
        try:
            for entry in parse_json(data.decode(), name).values():
                layer, head = int(entry["layer"]), int(entry["head"])
                values = scale * float(entry[valid]), scale * float(entry[score])
                if max(map(abs, values)) > 1 or not 0 <= layer < shape[0] or head >= shape[1]:
                    raise ValueError(f"layer {layer}, head {head}: {values}")
                if entry["location"] == "head":
                    arrays[0][layer, head], arrays[1][layer, head] = values
                elif head == -1:  # a whole layer; GPT on MRPC has another, partial set with head 0
                    arrays[2][layer], arrays[3][layer] = values
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise UserError(
                f"{name} is not one of the published results: {error}",
                hint="download the authors' files again",
            ) from None
        return cls(*arrays)


def _atlas(encoder: str, grids: Mapping[str, _Grid], source: str) -> Atlas:
    """The scores of an encoder's tasks, in the order of the paper."""
    names = [task for task in TASKS.values() if task in grids]
    layers, heads = _shape(encoder)
    places = {"task": names, "layer": np.arange(1, layers + 1), "head": np.arange(1, heads + 1)}
    about = _about(names)
    of_heads = _scores(
        np.stack([grids[name].validation for name in names]),
        np.stack([grids[name].test for name in names]),
        names,
    )
    of_layers = _scores(
        np.stack([grids[name].layer_validation for name in names]),
        np.stack([grids[name].layer_test for name in names]),
        names,
    )
    attributes = {"source": "Jo and Myaeng 2020", "listed": "no", "kind": "probe"}
    dims = ("task", "layer", "head")
    probe = {name: (dims, values) for name, values in of_heads.items()}
    layer = {name: (dims[:2], values) for name, values in of_layers.items()}
    groups = {
        "probe": xr.Dataset({**probe, **about}, places, attributes),
        "probe_layer": xr.Dataset(
            {**layer, **about}, {dim: places[dim] for dim in dims[:2]}, attributes
        ),
    }
    return Atlas.build(
        groups,
        {
            "model": {"name": f"{encoder} (published)", "layers": layers, "heads": heads},
            "corpus": {"name": source, "format": "published results"},
            "position": "last" if encoder.startswith("GPT") else "cls",
        },
    )


def _scores(validation: Array, test: Array, names: list[str]) -> dict[str, Array]:
    """Scores with 95 % intervals for the probing tasks, whose test size the paper gives."""
    low, high = np.full_like(test, np.nan), np.full_like(test, np.nan)
    for place, name in enumerate(names):
        known = np.isfinite(test[place])
        if name in TITLES and known.any():
            right = np.round(np.where(known, test[place], 0) * TEST_SIZE)
            ends = wilson(right, np.full(right.shape, TEST_SIZE))
            low[place], high[place] = (np.where(known, end, np.nan) for end in ends)
    unknown = np.full_like(test, np.nan)
    return {
        "test": test,
        "validation": validation,
        "low": low,
        "high": high,
        "control": unknown,
        "l2": unknown,
    }


def _about(names: list[str]) -> dict[str, Any]:
    """What is known of the tasks.

    SentEval's two classes have equal sizes. Tasks of more classes are balanced only roughly, and
    the share of their largest class is not published.
    """
    classes = {row.name: row.classes for row in facts.TABLE_2} | {"mrpc": 2, "sst-2": 2}
    probing = [name in TITLES for name in names]
    rows = {
        "title": [TITLES.get(name) or DOWNSTREAM_TITLES[name] for name in names],
        "group": [task_group(TITLES.get(name, "")) or "downstream" for name in names],
        "metric": ["pearson" if name == "sts-b" else "accuracy" for name in names],
        "classes": [float(classes.get(name, 0)) for name in names],
        "majority": [
            0.5 if known and classes[name] == 2 else np.nan
            for name, known in zip(names, probing, strict=True)
        ],
        "test_size": [float(TEST_SIZE) if known else np.nan for known in probing],
    }
    return {
        name: ("task", np.array(values, object if name in ("title", "group", "metric") else float))
        for name, values in rows.items()
    }


def _table(data: bytes) -> dict[str, dict[str, tuple[float, float, float]]]:
    """Their table; a cell of the top heads has its gain over the best layer in brackets."""
    found: dict[str, dict[str, tuple[float, float, float]]] = {}
    try:
        for row in csv.DictReader(io.StringIO(data.decode("utf-8"))):
            encoder, task = NAMES.get(row["model_name"]), PROBING.get(row["task"])
            if encoder and task:
                top = re.split(r"[ (]", row["top_n_head"].strip())[0]
                scores = row["last_linear_layer"], row["best_linear_layer"], top
                last, best, chosen = map(float, scores)
                found.setdefault(encoder, {})[task] = (last, best, chosen)
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise UserError(
            f"{TABLE} is not the published table: {error}",
            hint="download the authors' files again",
        ) from None
    return found
