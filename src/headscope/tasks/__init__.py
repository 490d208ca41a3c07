"""Data with labels (probing tasks, GLUE, your own tables), and the metrics that score them.

Names are imported when first used, so that :mod:`headscope.tasks.metrics` can be imported without
the readers of corpora.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
