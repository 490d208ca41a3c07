"""Papers: one recipe per paper, with the published numbers beside ours.

A recipe is loaded when it is first used, so that listing papers and parts needs no torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
