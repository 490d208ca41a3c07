"""The packs that the explorer's page asks for: results and examples, made once each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from headscope.page.packs import atlas_pack
from headscope.results import Atlas


class ResultPacks:
    """Packs of results by name, made when they are first asked for.

    Parameters
    ----------
    atlas
        The results; None if there are none.
    examples
        Makes the packs of texts and heads from results.
    """

    def __init__(
        self, atlas: Atlas | None, examples: Callable[[Atlas], Mapping[str, bytes]]
    ) -> None:
        self.atlas = atlas
        self._examples = examples
        self._made: dict[str, bytes] = {}
        self._have_examples = False
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names of the atlases."""
        return [] if self.atlas is None else ["atlas"]

    def get(self, name: str) -> bytes | None:
        """A pack, or None if there is none of that name."""
        if self.atlas is None:
            return None
        with self._lock:
            if name == "atlas" and name not in self._made:
                self._made[name] = atlas_pack(self.atlas)
            elif name not in self._made and not self._have_examples:
                self._made.update(self._examples(self.atlas))
                self._have_examples = True
            return self._made.get(name)
