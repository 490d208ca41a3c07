"""Serving a page on this machine: the port, and the web server. Needs the extra ``explorer``."""

from __future__ import annotations

import importlib.util
import secrets
import socket
from typing import TYPE_CHECKING

from headscope.errors import UserError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

LOCAL = "127.0.0.1"
ANY_PORT = {
    "hint": "give port 0 to use any free port",
    "command": "omit --port to use any free one",
}
PACKAGES = ("starlette", "uvicorn")
CONNECTIONS = 200
"""Connections that are answered at a time. A page has a few."""


def check_server(page: str, otherwise: str = "") -> None:
    """Check that the web server is installed.

    Parameters
    ----------
    page
        What needs it: "the explorer".
    otherwise
        What else can be done, for the command line.

    Raises
    ------
    UserError
        If it is not.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        install = "pip install 'headscope[explorer]'"
        raise UserError(
            f"{page} needs a package that is not installed: {missing[0]}",
            hint=install,
            command=install + otherwise,
        )


def open_port(port: int) -> socket.socket:
    """Open a socket that only this machine can reach.

    Parameters
    ----------
    port
        0 uses any free port.

    Raises
    ------
    UserError
        If the port is out of range or in use.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"the port must be between 0 and 65535, got {port} instead", **ANY_PORT)
    # With the protocol named, asyncio sends every answer at once; else each would wait 40 ms for an
    # acknowledgement of its head.
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((LOCAL, port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise UserError(
            f"port {port} cannot be used: {error.strerror or error}", **ANY_PORT
        ) from None
    return opened


def new_token() -> str:
    """Make the secret part of the address, which other pages and users cannot guess."""
    return secrets.token_urlsafe(24)


def address_of(opened: socket.socket, token: str) -> str:
    """The address of the page that is served on a socket."""
    return f"http://{LOCAL}:{opened.getsockname()[1]}/{token}/"


def make_server(app: ASGIApp) -> uvicorn.Server:
    """A web server for an application; ``server.run(sockets=[…])`` runs it.

    More than :data:`CONNECTIONS` at a time are refused with code 503, and those that do not send
    the whole head of a request in :data:`headscope.page.protocol.PATIENCE` seconds are closed, so
    that slow clients cannot keep others out.
    """
    import uvicorn

    from headscope.page.protocol import PatientProtocol

    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        log_level="warning",
        lifespan="off",
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
