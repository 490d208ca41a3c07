"""Measures: statistics of every head whose sums add up over a corpus.

Names are loaded when first used, so that the registry can be read without torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
