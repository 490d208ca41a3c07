"""What the page is given: results as packs of typed arrays, read by the front end in ``web/``."""

from headscope.page.packs.atlas import atlas_pack
from headscope.page.packs.pack import pack, to_text, unpack

__all__ = ["atlas_pack", "pack", "to_text", "unpack"]
