"""Figures: Altair charts drawn from results alone.

The gallery of named figures is at hand at once; everything else is imported when it is first used,
so that names can be checked without loading altair.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
