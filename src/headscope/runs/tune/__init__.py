"""Fine-tuning: tasks with labels, their scores, and models trained on them."""

from headscope.runs.tune.classifier import load_classifier, task_for
from headscope.runs.tune.pooled.classifier import PooledClassifier
from headscope.runs.tune.pooled.files import load_pooled
from headscope.runs.tune.pooled.names import parse_pooling, pooling_slug
from headscope.runs.tune.predict import predict
from headscope.runs.tune.record import Tuned, read_record
from headscope.runs.tune.settings import STARTS, Settings
from headscope.runs.tune.train import tune

__all__ = [
    "STARTS",
    "PooledClassifier",
    "Settings",
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
