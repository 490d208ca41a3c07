"""Results in notebooks: the widget where it can be shown, still HTML everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.page.packs.atlas import atlas_pack
from headscope.page.packs.examples import example_packs
from headscope.page.packs.pack import pack
from headscope.page.schema import Boot, TextDocument
from headscope.progress import in_notebook

if TYPE_CHECKING:
    from headscope.page.widget import HeadscopeWidget
    from headscope.results import Atlas, TextAttention

HEIGHT = 640
TEXT_HEIGHT = 300
"""Pixels of the widgets of results, and of one text."""
OFFERED = 12
"""Heads of a text that are offered as buttons, by their strongest link."""
SENT = 2_000_000
"""Cells of maps that go with the widget of a text; the others are sent when asked for."""
FULL = 65535
"""How the page stores the weight 1."""


Bundle = tuple[dict[str, Any], dict[str, Any]]
"""What ``_repr_mimebundle_`` returns: data by type, and remarks for the front end."""


def has_anywidget() -> bool:
    """Whether the extra ``notebook`` is installed."""
    return find_spec("anywidget") is not None


def widgets_work() -> bool:
    """Whether this is a notebook, and anywidget is installed.

    >>> widgets_work()
    False
    """
    return in_notebook() and has_anywidget()


@dataclass(frozen=True)
class Inline:
    """HTML that shows itself."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


class AtlasViews:
    """The views of some results, for notebooks. The data is packed once.

    Parameters
    ----------
    atlas
        Any results.
    """

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas

    @cached_property
    def _pack(self) -> bytes:
        return atlas_pack(self.atlas)

    @cached_property
    def _examples(self) -> dict[str, bytes]:
        return example_packs(self.atlas)

    def widget(self, route: str, *, height: int = HEIGHT) -> HeadscopeWidget:
        """The widget, at one of its views.

        Parameters
        ----------
        route
            "atlas", "finder", "head/3-9" …
        height
            In pixels.
        """
        from headscope.page.widget import HeadscopeWidget

        about = self.atlas.provenance
        boot: Boot = {
            "title": str(about.get("model", {}).get("name", "")),
            "source": "notebook",
            "atlases": ["atlas"],
        }
        packs = {"atlas": self._pack}
        if route.startswith("head/"):  # its examples are there without a kernel too
            wanted = {"texts", route.partition("?")[0]}
            packs |= {name: data for name, data in self._examples.items() if name in wanted}
        return HeadscopeWidget(boot=boot, packs=packs, more=self._more, route=route, height=height)

    def bundle(self, route: str, *, html: str, text: str, height: int = HEIGHT) -> Bundle:
        """What a notebook is given: the widget, or HTML and text."""
        widget = self.widget(route, height=height) if widgets_work() else None
        return _bundle(widget, html, text)

    def shown(self, route: str, *, html: str) -> HeadscopeWidget | Inline:
        """What marimo is given to show: the widget, or HTML without anywidget."""
        return self.widget(route) if has_anywidget() else Inline(html)

    def _more(self, name: str) -> bytes:
        return self._examples[name]


class TextViews:
    """The maps of one text, for notebooks.

    Parameters
    ----------
    text
        The attention of a text.
    """

    def __init__(self, text: TextAttention) -> None:
        self.text = text

    def widget(self, *, height: int = TEXT_HEIGHT) -> HeadscopeWidget:
        """The widget with the heads that have the strongest links."""
        from headscope.page.widget import HeadscopeWidget

        about = self._document()
        sent = about["heads"][: max(1, SENT // max(len(self.text.tokens) ** 2, 1))]
        packs = {"text": pack(about, {})} | {f"text/{head}": self._map(head) for head in sent}
        boot: Boot = {"title": self.text.model, "source": "notebook", "atlases": []}
        return HeadscopeWidget(boot=boot, packs=packs, more=self._more, route="text", height=height)

    def bundle(self, *, html: str, text: str) -> Bundle:
        """What a notebook is given to choose from: the widget, HTML, text."""
        return _bundle(self.widget() if widgets_work() else None, html, text)

    def shown(self, *, html: str) -> HeadscopeWidget | Inline:
        """What marimo is given to show: the widget, or HTML without anywidget."""
        return self.widget() if has_anywidget() else Inline(html)

    def _document(self) -> TextDocument:
        strongest = {
            str(row["head"]): f"{row['from']} → {row['to']} {row['weight']:.2f}"
            for row in self.text.overview(len(self.text.heads)).to_dict("records")
        }
        names = list(strongest) or [str(head) for head in self.text.heads]
        return {
            "model": self.text.model,
            "units": self.text.units,
            "tokens": list(self.text.tokens),
            "special": np.flatnonzero(self.text.maps["special"].values).tolist(),
            "heads": names,
            "shown": names[:OFFERED],
            "strongest": strongest,
        }

    def _more(self, name: str) -> bytes:
        kind, _, head = name.partition("/")
        if kind != "text" or head not in {str(known) for known in self.text.heads}:
            raise KeyError(name)
        return self._map(head)

    def _map(self, head: str) -> bytes:
        weights = np.nan_to_num(self.text.head(head).values, nan=0.0)
        return pack({}, {"weights": np.rint(weights.clip(0, 1) * FULL).astype(np.uint16)})


def _bundle(widget: HeadscopeWidget | None, html: str, text: str) -> Bundle:
    """The widget alone, after its HTML as an output of its own, which the widget hides.

    In one output with the widget, the HTML would be lost: nbconvert takes the widget, whose scripts
    it loads from a server, so that without a network nothing is shown.
    """
    if widget is None:
        return {"text/plain": text, "text/html": html}, {}
    from IPython.display import display

    hidden = f'<div class="headscope-still-{widget.model_id}">{html}</div>'
    display({"text/plain": text, "text/html": hidden}, raw=True)  # type: ignore[no-untyped-call]
    data, about = widget._repr_mimebundle_()
    return {**data, "text/plain": ""}, about
