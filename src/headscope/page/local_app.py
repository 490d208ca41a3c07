"""A web application for one user on this machine. Needs the extra ``explorer``.

Only requests to this machine's own name are answered, those of other sites' pages are refused,
nothing is cached, and every answer says what its page may load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headscope.limits import parse_json

PATIENCE = 30.0
"""Seconds in which a client must send the body of a request."""
NAMES = ("127.0.0.1", "localhost")
"""The names of this machine. Another one means that another site's page was pointed at it."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


def make_local_app(
    routes: Sequence[BaseRoute],
    *,
    port: int,
    policy: str,
    handlers: Mapping[Any, Callable[..., Any]] | None = None,
) -> Starlette:
    """An application that answers only this machine.

    Parameters
    ----------
    routes
        What it answers.
    port
        The port it is served on: pages of other ports and sites may not ask.
    policy
        The content-security policy of every answer.
    handlers
        What is done with exceptions, by class.
    """
    middleware = [
        Middleware(SafeHeaders, headers={**HEADERS, "content-security-policy": policy}),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(NAMES), www_redirect=False),
        Middleware(OwnOrigin, origins=frozenset(f"http://{name}:{port}" for name in NAMES)),
    ]
    return Starlette(
        routes=list(routes), middleware=middleware, exception_handlers=dict(handlers or {})
    )


class SafeHeaders:
    """Adds headers to every answer, errors included."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the headers."""

        async def safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, safe)


class OwnOrigin:
    """Refuses what other sites' pages send: browsers say where a request comes from."""

    def __init__(self, app: ASGIApp, origins: frozenset[str]) -> None:
        self.app = app
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, or refuse."""
        origin = Headers(scope=scope).get("origin") if scope["type"] == "http" else None
        if origin is None or origin in self.origins:
            await self.app(scope, receive, send)
        else:
            refused = PlainTextResponse("this page is only for this machine", 403)
            await refused(scope, receive, send)


async def read_object(request: Request, most: int) -> dict[str, Any] | None:
    """Read the JSON object that was sent; None if it is something else, too large or too slow.

    Another site's page cannot send this content type without the browser asking us first.

    Parameters
    ----------
    request
        The request.
    most
        Bytes that it may send.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return None
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 10 and int(length) <= most):
        return None
    try:
        async with asyncio.timeout(PATIENCE):
            body = await _body(request, most)
        sent = parse_json(body.decode(), "the request")
    except (ValueError, TimeoutError, ClientDisconnect):
        return None
    return sent if isinstance(sent, dict) else None


async def _body(request: Request, most: int) -> bytes:
    """What was sent; nothing if it is more than it may be."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return b""
    return bytes(body)
