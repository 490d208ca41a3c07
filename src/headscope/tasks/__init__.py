"""Data with labels (probing tasks, GLUE, your own tables), and the metrics that score them."""

from headscope.tasks.files import task_examples
from headscope.tasks.labels import custom_task, label_ids
from headscope.tasks.metrics import score
from headscope.tasks.task import GLUE, Task, find_task

__all__ = ["GLUE", "Task", "custom_task", "find_task", "label_ids", "score", "task_examples"]
