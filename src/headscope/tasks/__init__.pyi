from .glue import task_examples as task_examples
from .metrics import score as score
from .task import GLUE as GLUE, Task as Task, custom_task as custom_task, find_task as find_task
from .task import label_ids as label_ids
