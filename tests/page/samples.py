"""Results for the tests of command line, figures and report.

Some are made by hand, with known numbers; one is a survey of the embedded model.
"""

from __future__ import annotations

import base64
import fcntl
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.page.packs.pack import unpack
from headscope.results import Atlas

DIMS: dict[str, dict[str, tuple[str, ...]]] = {
    "position": {"offset": ("previous", "current", "next")},
    "special": {"token": ("cls", "sep", "punctuation"), "row": ("all", "sep", "other")},
    "entropy": {"row": ("all", "cls", "uniform")},
}
RANGES = {"entropy": {"range": "positive"}}
UNITS = {"position": "share of attention", "special": "share of attention", "entropy": "nats"}
APART = 0.01
"""Each mean is that of examples this much below and above it, by turns."""
EXAMPLES = 8
"""How many, each a document in a bucket of its own."""


def made_values(layers: int, heads: int, *, causal: bool = False) -> dict[str, NDArray[np.float64]]:
    """Return the means of hand-made results: shares between 0.02 and 0.9, all different.

    A causal model has no next token and no separator.
    """
    random = np.random.default_rng(0)
    values = {
        name: random.uniform(0.02, 0.9, (layers, heads, *(len(labels) for labels in dims.values())))
        for name, dims in DIMS.items()
    }
    values["entropy"][..., 2] = math.log(20)
    if causal:
        values["position"][..., 2] = np.nan
        values["special"][:, :, 1] = np.nan
        values["special"][:, :, :, 1] = np.nan
    return values


def made_results(
    layers: int = 2,
    heads: int = 3,
    *,
    causal: bool = False,
    values: dict[str, NDArray[np.float64]] | None = None,
    model: str = "made",
    corpus: str = "some/texts.txt",
    **changes: Any,
) -> Atlas:
    """Make results with the means of ``made_values`` (or those given), each from a few examples.

    ``changes`` replaces parts of the provenance.
    """
    values = values if values is not None else made_values(layers, heads, causal=causal)
    return Atlas.build(
        {name: _sums(name, means) for name, means in values.items()},
        _provenance(layers, heads, model, corpus, list(values)) | changes,
    )


def _sums(name: str, means: NDArray[np.float64]) -> xr.Dataset:
    values = np.stack([means - APART, means + APART] * (EXAMPLES // 2))
    known = ~np.isnan(values)
    dims = ("bucket", "layer", "head", *DIMS[name])
    variables = {
        "sum": (dims, np.where(known, values, 0.0)),
        "square": (dims, np.where(known, values**2, 0.0)),
        "count": (dims, known.astype(np.int64)),
    }
    labels = {dim: np.array(labels, dtype=object) for dim, labels in DIMS[name].items()}
    coordinates = {
        "bucket": np.arange(1, EXAMPLES + 1),
        "layer": np.arange(1, means.shape[0] + 1),
        "head": np.arange(1, means.shape[1] + 1),
        **labels,
    }
    return xr.Dataset(
        variables,
        coordinates,
        {"title": f"Title of {name}", "unit": UNITS[name], "source": f"Source of {name}"}
        | RANGES.get(name, {}),
    )


def _provenance(
    layers: int, heads: int, model: str, corpus: str, measures: list[str]
) -> dict[str, Any]:
    zero = dict.fromkeys(
        ("truncated", "split", "too_long", "empty", "words", "words_lost", "nonfinite"), 0
    )
    return {
        "model": {"name": model, "type": "bert", "layers": layers, "heads": heads}
        | {"revision": "r1", "dtype": "float32", "weights": "0" * 16, "stack": "encoder"},
        "corpus": {"name": corpus, "format": "text", "sha256": "0" * 64},
        "settings": {"max_length": 128, "long": "truncate", "batch_size": 16, "stack": "encoder"}
        | {"limit": None, "seed": 0},
        "measures": measures,
        "shards": ["1/1"],
        "counts": zero
        | dict.fromkeys(("read", "used", "seen"), EXAMPLES)
        | {"dropped": [], "nonfinite_examples": []},
        "versions": {"python": "3.11", "headscope": "0.1.0"},
        "created": "2024-01-01T00:00:00Z",
    }


def demo_file(base: Path) -> Path:
    """Return what ``headscope survey demo demo --limit 6`` writes, run once per session.

    It is in a folder under ``base`` (that of all processes, where pytest-xdist has several), and
    what the command printed is beside it. Tests read it and never write there.
    """
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "demo-survey"
    path = folder / "demo.nc"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be making it: wait
        if not path.exists():
            _survey_demo(path)
    return path


def _survey_demo(path: Path) -> None:
    command = [sys.executable, "-m", "headscope", "survey", "demo", "demo", "--limit", "6"]
    done = subprocess.run(
        [*command, "-o", str(path), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    path.with_name("out.json").write_text(done.stdout, encoding="utf-8")
    path.with_name("err.txt").write_text(done.stderr, encoding="utf-8")


def document_of(page: Path | str) -> dict[str, Any]:
    """What a page of sections was given, of its file or its text."""
    html = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
    data = re.search(r'data-pack="document">([^<]*)<', html)
    assert data, "the page is no document"
    return unpack(base64.b64decode(data[1]))[0]


def rows_of(page: Path | str) -> list[list[str]]:
    """The cells of every row of every table of a document, with their heads."""
    document = document_of(page)
    tables = [table for section in document["sections"] for table in section["tables"]]
    tables += [document["runs"]] if document["runs"] else []
    return [
        row
        for table in tables
        for row in ([column["title"] for column in table["columns"]], *table["rows"])
    ]


def section_ids(page: Path | str) -> list[str]:
    """The sections of a document, in their order."""
    return [section["id"] for section in document_of(page)["sections"]]


def plot_ids(page: Path | str) -> list[str]:
    """The charts of a document, in their order."""
    return [plot["id"] for one in document_of(page)["sections"] for plot in one["plots"]]


def said(page: Path | str) -> str:
    """Everything that a document says, as one text."""
    return str(document_of(page))
