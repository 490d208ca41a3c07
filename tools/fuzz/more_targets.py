"""Targets that need results or a model: files of results, queries, requests, configs, measures."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.targets import Target
from headscope.measures.registry import load_measure_file
from headscope.results import Atlas
from page.samples import made_results
from tiny import tiny_model, tiny_network, tiny_tokenizer

MEASURE = b'''import headscope as hs


class First(hs.Measure):
    """Attention to the first token."""

    name = "first"

    def update(self, batch):
        return batch
'''
QUERIES = (
    b"position:previous > 0.5 and layer 1-2",
    b"not (entropy < 1.5) or special:sep >= 0.1",
    b"head 1-1 or (layer = 2 and entropy != 1.5)",
)
REQUESTS = (
    {"action": "read", "request": {"text": "The dog barks.", "second": None, "more": [1]}},
    {
        "action": "maps",
        "request": {
            "text": "The dog barks.",
            "heads": ["1-1", "2-3"],
            "off": ["1-2"],
            "how": "zero",
            "rows": [0, 3],
            "keys": [0, 2],
        },
    },
    {"action": "effects", "request": {"text": "A [MASK].", "layer": 1, "at": 2}},
    {"action": "predictions", "request": {"text": "A [MASK].", "at": 1, "off": ["2-*"]}},
    {"action": "thumbnails", "request": {"text": "A dog."}},
    {"action": "changes", "request": {"text": "A dog.", "off": ["1-1"]}},
    {"action": "generate", "request": {"text": "A dog."}},
)


@cache
def _answers() -> Any:
    from transformers import AutoModelForMaskedLM

    from headscope.runs.live import LiveModel

    return LiveModel(tiny_model("bert", auto=AutoModelForMaskedLM))


@cache
def _atlas() -> Atlas:
    return made_results()


def _ask(path: Path) -> object:
    """Answer a request as the explorer does, once it is known to be a JSON object."""
    try:
        sent = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    if not isinstance(sent, dict) or not isinstance(sent.get("request"), dict):
        return None
    return _answers().answer(str(sent.get("action")), sent["request"])


def _query(path: Path) -> object:
    return _atlas().find(path.read_bytes().decode("utf-8", "surrogateescape"))


def _results() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        return made_results().save(f"{name}/a.nc").read_bytes()


def _load(path: Path) -> object:
    from headscope.models import load

    return load(path.parent)


def _model_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        tiny_network("bert").save_pretrained(name)
        tiny_tokenizer("bert").save_pretrained(name)
        return {file.name: file.read_bytes() for file in Path(name).iterdir()}


def make_more() -> list[Target]:
    """Results files, queries, requests of the explorer, configs of models and measure files."""
    model = _model_files()
    requests = tuple(json.dumps(request).encode() for request in REQUESTS)
    return [
        Target("results", (_results(),), "a.nc", Atlas.open, slow=40),
        Target("query", QUERIES, "query", _query),
        Target("requests", requests, "request.json", _ask, slow=20),
        Target("measure file", (MEASURE,), "mine.py", load_measure_file, slow=2),
        Target("model config", (model["config.json"],), "config.json", _load, model, slow=500),
        Target("tokenizer", (model["tokenizer.json"],), "tokenizer.json", _load, model, slow=500),
    ]
