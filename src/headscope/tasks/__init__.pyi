from .files import task_examples as task_examples
from .labels import custom_task as custom_task, label_ids as label_ids
from .metrics import score as score
from .task import GLUE as GLUE, Task as Task, find_task as find_task
