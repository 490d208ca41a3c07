"""The live explorer: a local server with a model behind the page. Needs the extra ``explorer``."""

from headscope.page.explorer.start import ExploreOptions, Explorer, explore

__all__ = ["ExploreOptions", "Explorer", "explore"]
