"""Label attention maps by eye in a browser, and train the pattern network on them.

:class:`CorpusMaps` gives the maps of a corpus in random order, :class:`LabelSession` walks through
them, :class:`LabelStore` keeps every label on disk, and :func:`retrain` trains on these labels.
"""

from headscope.labelling.maps import CorpusMaps, ExampleMaps, MapId, example_maps
from headscope.labelling.retrain import Retrained, retrain
from headscope.labelling.session import LabelSession
from headscope.labelling.store import LabelStore

__all__ = [
    "CorpusMaps",
    "ExampleMaps",
    "LabelSession",
    "LabelStore",
    "MapId",
    "Retrained",
    "example_maps",
    "retrain",
]
