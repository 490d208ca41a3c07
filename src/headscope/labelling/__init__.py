"""Live work with maps: looking at one example, and labelling maps in a browser or a terminal."""

from headscope.labelling.maps import Corner, Maps, Seen, look
from headscope.labelling.retrain import Retrained, retrain
from headscope.labelling.session import Session
from headscope.labelling.store import Store

__all__ = ["Corner", "Maps", "Retrained", "Seen", "Session", "Store", "look", "retrain"]
