"""The labelling page as a web application for one user on this machine.

The address has a secret part, only requests to this machine's own name are answered, nothing is
loaded from elsewhere, and nothing is cached.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

import headscope.page as page_package
from headscope.errors import UserError
from headscope.labelling.session import CurrentMap, LabelSession
from headscope.measures.patterns.labels import pack
from headscope.page.local_app import make_local_app, read_object

STATIC = Path(__file__).parent / "static"
FILES = {
    "": (STATIC / "label.html", "text/html"),
    "label.js": (STATIC / "label.js", "text/javascript"),
    "label.css": (STATIC / "label.css", "text/css"),
    "page.css": (Path(page_package.__file__).parent / "static" / "page.css", "text/css"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LONGEST_BODY = 1000
"""Bytes that a request may send."""
HINTS = {
    "vertical": "one to about four dark columns through nearly all rows",
    "diagonal": "a dark line or narrow band along the diagonal, no dark column",
    "vertical+diagonal": "a dark column and a diagonal line",
    "block": "dark squares along the diagonal, one per text",
    "heterogeneous": "anything else: spots, many stripes, even grey",
}


def make_app(session: LabelSession, *, token: str, port: int, stop: Callable[[], None]) -> ASGIApp:
    """Make the application that answers at ``/TOKEN/``.

    Parameters
    ----------
    session
        The session that the page works on.
    token
        The secret part of the address.
    port
        The port it is served on; requests of pages from elsewhere are refused.
    stop
        Called when the user presses Finish.
    """
    page = _Page(session, stop)
    routes = [Route(f"/{token}/{name}", page.file, methods=["GET"]) for name in FILES]
    routes += [
        Route(f"/{token}/state", page.state, methods=["GET"]),
        Route(f"/{token}/{{action}}", page.act, methods=["POST"]),
    ]
    return make_local_app(routes, port=port, policy=POLICY, handlers={UserError: _show_error})


class _Page:
    """What the page asks for. Requests are answered one after the other, so no lock is needed."""

    def __init__(self, session: LabelSession, stop: Callable[[], None]) -> None:
        self.session = session
        self.stop = stop

    async def file(self, request: Request) -> Response:
        path, kind = FILES[request.url.path.rpartition("/")[2]]
        return Response(path.read_bytes(), media_type=kind)

    async def state(self, request: Request) -> Response:
        return JSONResponse(describe(self.session))

    async def act(self, request: Request) -> Response:
        """Apply a key or button to the map with the given number.

        If another map is shown by now (a key pressed twice, a second window), nothing changes.
        """
        sent = await read_object(request, LONGEST_BODY)
        if sent is None:
            return PlainTextResponse("the request must be a small JSON object", 400)
        action, current = request.path_params["action"], self.session.current()
        if action == "stop":
            self.stop()
        elif action == "undo":
            self.session.undo()
        elif action not in {"label", "skip", "guess"}:
            return PlainTextResponse("not found", 404)
        elif current is None or sent.get("number") != current.number:
            return JSONResponse(describe(self.session), 409)
        elif action == "guess":
            return JSONResponse(describe(self.session) | {"guess": self.session.prediction()})
        elif action == "skip":
            self.session.skip()
        else:
            self.session.label(str(sent.get("label")))
        return JSONResponse(describe(self.session))


async def _show_error(_request: Request, error: Exception) -> Response:
    """Send what is wrong (an unknown label, a map that is not finite) for the page to show."""
    if isinstance(error, UserError) and (error.command or error.hint):
        return PlainTextResponse(f"{error.message}\nnext: {error.command or error.hint}", 400)
    return PlainTextResponse(str(error), 400)


def describe(session: LabelSession) -> dict[str, Any]:
    """Describe all that the page shows.

    The head is named only for the last map: a label should come from the picture alone.
    """
    current, last = session.current(), session.last
    counts = session.counts.items()
    return {
        "classes": [{"name": name, "hint": HINTS[name], "count": count} for name, count in counts],
        "folder": str(session.store.folder),
        "labelled": len(session.store.labelled),
        "skipped": len(session.store.skipped),
        "left": len(session.remaining),
        "undo": bool(session.history),
        "map": _drawn(current) if current else None,
        "last": {
            "head": str(last.map_id.head),
            "model": last.map_id.model,
            "label": last.label,
            "guess": last.prediction,
        }
        if last
        else None,
    }


def _drawn(current: CurrentMap) -> dict[str, Any]:
    """Describe a map as numbers: the square roots of its weights in 256 steps, row by row."""
    return {
        "number": current.number,
        "tokens": list(current.example.tokens),
        "second": current.example.second,
        "cells": pack(current.attention).ravel().tolist(),
    }
