"""Statistics on results: tests, intervals, roles, tables, and what heads do in sentences.

``inference`` has the arithmetic of tests, ``heads`` what they say of single heads, ``words`` the
same in sentences, ``tables`` everything else by kind of result. Nothing here needs torch.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
