"""Disabling heads: what it does to a task's score or a language model's loss.

Kovaleva et al. 2019 (§4.6) disable each head and each layer; Michel et al. 2019 prune heads by
gradient importance or greedily. Names are imported when first used, so that settings can be checked
without importing torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
