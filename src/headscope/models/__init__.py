"""Models: loading them, and observing and changing their attention as it is computed.

Names are imported when first used, so that :mod:`headscope.models.names` can check a model's name
without importing torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
