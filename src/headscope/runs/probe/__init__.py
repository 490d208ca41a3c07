"""Probing classifiers on the output of every head and layer (Jo and Myaeng 2020)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
