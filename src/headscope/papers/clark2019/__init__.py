"""Clark et al. 2019, "What Does BERT Look At?": the recipe, and its parsing probes beside it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
