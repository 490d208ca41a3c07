"""Fine-tuning: models trained on a task with labels, from pretrained or random weights.

Kovaleva et al. 2019 (§3, Table 1) train a classifier on top of a model; Jo and Myaeng 2020 (§5.2)
train one on a layer or on chosen heads. Names are imported when first used, so that settings and
poolings can be checked without importing torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.runs.tune.checkpoint import CheckpointScores, score_checkpoint
    from headscope.runs.tune.classifier import load_classifier, task_for
    from headscope.runs.tune.pooled.classifier import PooledClassifier
    from headscope.runs.tune.pooled.files import load_pooled
    from headscope.runs.tune.pooled.names import parse_pooling, pooling_slug
    from headscope.runs.tune.predictions import predict
    from headscope.runs.tune.record import Tuned, read_record
    from headscope.runs.tune.settings import STARTS, Precision, Start, TuneSettings
    from headscope.runs.tune.several import tune_several
    from headscope.runs.tune.tuning import tune

_WHERE = {
    "CheckpointScores": "checkpoint",
    "score_checkpoint": "checkpoint",
    "load_classifier": "classifier",
    "task_for": "classifier",
    "PooledClassifier": "pooled.classifier",
    "load_pooled": "pooled.files",
    "parse_pooling": "pooled.names",
    "pooling_slug": "pooled.names",
    "predict": "predictions",
    "Tuned": "record",
    "read_record": "record",
    "STARTS": "settings",
    "Precision": "settings",
    "Start": "settings",
    "TuneSettings": "settings",
    "tune": "tuning",
    "tune_several": "several",
}

__all__ = [
    "STARTS",
    "CheckpointScores",
    "PooledClassifier",
    "Precision",
    "Start",
    "TuneSettings",
    "Tuned",
    "load_classifier",
    "load_pooled",
    "parse_pooling",
    "pooling_slug",
    "predict",
    "read_record",
    "score_checkpoint",
    "task_for",
    "tune",
    "tune_several",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
