"""Fine-tuning: tasks with labels, their scores, and models trained on them."""

from headscope.tuning.classifier import load_classifier, task_for
from headscope.tuning.metrics import score
from headscope.tuning.pooled import PooledClassifier
from headscope.tuning.pooled_files import load_pooled
from headscope.tuning.pooled_names import parse_pooling, pooling_slug
from headscope.tuning.predict import predict
from headscope.tuning.record import Tuned, read_record
from headscope.tuning.settings import STARTS, Settings
from headscope.tuning.tasks import GLUE, Task, custom_task, find_task, label_ids, task_examples
from headscope.tuning.train import tune

__all__ = [
    "GLUE",
    "STARTS",
    "PooledClassifier",
    "Settings",
    "Task",
    "Tuned",
    "custom_task",
    "find_task",
    "label_ids",
    "load_classifier",
    "load_pooled",
    "parse_pooling",
    "pooling_slug",
    "predict",
    "read_record",
    "score",
    "task_examples",
    "task_for",
    "tune",
]
