"""Pages: the report of a run, and documents of sections, tables and charts.

Names are imported when they are first used: writing a report loads no Altair.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
