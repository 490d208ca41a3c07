"""Live work with maps: looking at one example, and labelling maps in a browser or a terminal."""

from headscope.explorer.maps import Corner, Maps, Seen, look
from headscope.explorer.retrain import Retrained, retrain
from headscope.explorer.session import Session
from headscope.explorer.store import Store

__all__ = ["Corner", "Maps", "Retrained", "Seen", "Session", "Store", "look", "retrain"]
