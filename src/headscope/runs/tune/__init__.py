"""Fine-tuning: models trained on a task with labels, from pretrained or random weights.

Kovaleva et al. 2019 (§3, Table 1) train a classifier on top of a model; Jo and Myaeng 2020 (§5.2)
train one on a layer or on chosen heads.
"""

from headscope.runs.tune.classifier import load_classifier, task_for
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.pooled.files import load_pooled
from headscope.runs.tune.pooled.names import parse_pooling, pooling_slug
from headscope.runs.tune.predict import predict
from headscope.runs.tune.record import Tuned, read_record
from headscope.runs.tune.settings import STARTS, Precision, Start, TuneSettings
from headscope.runs.tune.tune import tune

__all__ = [
    "STARTS",
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
    "task_for",
    "tune",
]
