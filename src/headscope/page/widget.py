"""The widget of notebooks: the page's views below a cell. It needs the extra ``notebook``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from headscope.errors import UserError
from headscope.page.html import bundle

HEIGHT = 640
"""Pixels of a widget."""


def widget_style(style: str) -> str:
    """The page's style sheet for a widget, whose own width decides the layout, not the window's.

    >>> widget_style("@media (width<=900px){.a{margin:0}}@media print{.b{color:red}}")
    '@container (width<=900px){.a{margin:0}}@media print{.b{color:red}}'
    """
    return re.sub(r"@media\s*(?=\((?:min-|max-)?width)", "@container ", style)


class HeadscopeWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """The page in a notebook.

    Parameters
    ----------
    boot
        What the page reads first; ``Boot`` in ``web/src/data/types.ts``.
    packs
        Data that goes with the widget, by name. It is there without a kernel too.
    more
        Makes a pack when the reader first opens a view that needs it; raises ``UserError`` or
        ``KeyError`` where there is none.
    route
        The view: "atlas", "head/3-9", "text". It follows the reader, and may be set.
    height
        In pixels; what does not fit scrolls.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.page.notebook import AtlasViews
    >>> atlas = hs.survey("demo", ["The dog barks."], measures="position")
    >>> widget = AtlasViews(atlas).widget("head/1-3", height=400)
    >>> widget.route, widget.height, sorted(widget.packs)
    ('head/1-3', 400, ['atlas', 'head/1-3', 'texts'])
    """

    _esm = bundle("widget.js")
    _css = widget_style(bundle("page.css"))
    boot = traitlets.Unicode("{}").tag(sync=True)
    packs = traitlets.Dict().tag(sync=True)
    route = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(HEIGHT).tag(sync=True)
    still = traitlets.Unicode("").tag(sync=True)
    """The class of the HTML that is shown where the widget is not."""

    def __init__(
        self,
        *,
        boot: Mapping[str, Any],
        packs: Mapping[str, bytes],
        more: Callable[[str], bytes],
        route: str = "",
        height: int = HEIGHT,
    ) -> None:
        super().__init__(boot=json.dumps(dict(boot)), packs=dict(packs), route=route, height=height)
        self.still = f"headscope-still-{self.model_id}"
        self._more = more
        self.on_msg(self._answer)

    def _answer(self, widget: Any, content: Any, buffers: Any) -> None:
        """Send the pack that the page asks for; where there is none, a sentence."""
        if not isinstance(content, dict) or content.get("kind") != "pack":
            return
        name = str(content.get("name", ""))
        try:
            self.send({"kind": "pack", "name": name}, [self._more(name)])
        except UserError as error:
            self.send({"kind": "pack", "name": name, "error": error.message})
        except KeyError:
            self.send({"kind": "pack", "name": name, "error": f"there is nothing called {name}"})
