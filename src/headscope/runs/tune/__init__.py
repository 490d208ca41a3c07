"""Fine-tuning: models trained on a task with labels, from pretrained or random weights.

Kovaleva et al. 2019 (§3, Table 1) train a classifier on top of a model; Jo and Myaeng 2020 (§5.2)
train one on a layer or on chosen heads. Names are imported when first used, so that settings and
poolings can be checked without importing torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
