"""The labelling page as a web application for one person at this machine: a secret address, this machine's name only, nothing from outside, nothing cached."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headscope.errors import UserError
from headscope.labelling.session import Session, Shown
from headscope.measures.patterns.labels import pack

STATIC = Path(__file__).parent / "static"
FILES = {
    "": ("label.html", "text/html"),
    "label.js": ("label.js", "text/javascript"),
    "label.css": ("label.css", "text/css"),
}
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
LONGEST = 1000
"""Bytes of a request's body."""
HINTS = {
    "vertical": "one to about four dark columns through nearly all rows",
    "diagonal": "a dark line or narrow band along the diagonal, no dark column",
    "vertical+diagonal": "a dark column and a diagonal line",
    "block": "dark squares along the diagonal, one a text",
    "heterogeneous": "anything else: spots, many stripes, even grey",
}


def new_token() -> str:
    """A secret part of the address, which other pages and other users cannot guess."""
    return secrets.token_urlsafe(24)


def make_app(session: Session, *, token: str, port: int, stop: Callable[[], None]) -> ASGIApp:
    """The application at ``/TOKEN/``. ``stop`` is called when the person at the page is done."""
    page = _Page(session, stop)
    routes = [Route(f"/{token}/{name}", page.file, methods=["GET"]) for name in FILES]
    routes += [
        Route(f"/{token}/state", page.state, methods=["GET"]),
        Route(f"/{token}/{{action}}", page.act, methods=["POST"]),
    ]
    return _Guard(
        Starlette(routes=routes, exception_handlers={UserError: _told}),
        frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost")),
    )


class _Page:
    """What the page asks for. One request is answered after the other: a session needs no lock."""

    def __init__(self, session: Session, stop: Callable[[], None]) -> None:
        self.session = session
        self.stop = stop

    async def file(self, request: Request) -> Response:
        name, kind = FILES[request.url.path.rpartition("/")[2]]
        return Response((STATIC / name).read_bytes(), media_type=kind)

    async def state(self, request: Request) -> Response:
        return JSONResponse(describe(self.session))

    async def act(self, request: Request) -> Response:
        """Do what a key or button says to the map of the given number; nothing if another one is shown by now (a key pressed twice, a second window)."""
        given = await _body(request)
        if given is None:
            return PlainTextResponse("a small JSON object is expected", 400)
        action, shown = request.path_params["action"], self.session.current()
        if action == "stop":
            self.stop()
        elif action == "undo":
            self.session.undo()
        elif action not in {"label", "skip", "guess"}:
            return PlainTextResponse("not found", 404)
        elif shown is None or given.get("number") != shown.number:
            return JSONResponse(describe(self.session), 409)
        elif action == "guess":
            return JSONResponse(describe(self.session) | {"guess": self.session.guess()})
        elif action == "skip":
            self.session.skip()
        else:
            self.session.label(str(given.get("label")))
        return JSONResponse(describe(self.session))


async def _told(_request: Request, error: Exception) -> Response:
    """What is wrong (an unknown label, a map that is not finite), for the page to show."""
    return PlainTextResponse(str(error), 400)


async def _body(request: Request) -> dict[str, Any] | None:
    """The JSON object that was sent. A page elsewhere cannot send this content type without being asked first."""
    length = request.headers.get("content-length", "")
    if (
        request.headers.get("content-type") != "application/json"
        or not length.isascii()
        or not length.isdigit()
        or int(length) > LONGEST
    ):
        return None
    try:
        given = json.loads(await request.body())
    except ValueError:
        return None
    return given if isinstance(given, dict) else None


def describe(session: Session) -> dict[str, Any]:
    """All that the page shows. Layer and head are told only of the last map: a label should come from the picture alone."""
    shown, last = session.current(), session.last
    return {
        "classes": [
            {"name": name, "hint": HINTS[name], "count": count}
            for name, count in session.counts.items()
        ],
        "folder": str(session.store.folder),
        "labelled": len(session.store.labelled),
        "skipped": len(session.store.skipped),
        "left": len(session.left),
        "undo": bool(session.history),
        "map": _drawn(shown) if shown else None,
        "last": {
            "head": f"{last.corner.layer}-{last.corner.head}",
            "model": last.corner.model,
            "label": last.label,
            "guess": last.guess,
        }
        if last
        else None,
    }


def _drawn(shown: Shown) -> dict[str, Any]:
    """A map as numbers: the roots of its weights in 256 steps, row by row."""
    return {
        "number": shown.number,
        "tokens": list(shown.seen.tokens),
        "second": shown.seen.second,
        "cells": pack(shown.attention).ravel().tolist(),
    }


class _Guard:
    """Only requests to this machine's own name are answered (another name means that a page elsewhere was pointed here), and every answer has the safe headers."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] == "http" and not self._known(Headers(scope=scope)):
            await PlainTextResponse("this page is only for this machine", 403)(scope, receive, safe)
        else:
            await self.app(scope, receive, safe)

    def _known(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        return headers.get("host") in self.hosts and (
            origin is None or origin.removeprefix("http://") in self.hosts
        )
