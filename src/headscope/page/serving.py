"""Serving a page on this machine: the port, and the web server. Needs the extra ``explorer``."""

from __future__ import annotations

import atexit
import importlib.util
import os
import secrets
import socket
import tempfile
from pathlib import Path
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
LEADING_ON = """<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={address}">
<title>Headscope</title>
<p><a href="{address}">Open the page</a></p>
"""
PACKAGES = ("starlette", "uvicorn")


def check_server(page: str) -> None:
    """Check that the web server is installed.

    Parameters
    ----------
    page
        What needs it: "the explorer".

    Raises
    ------
    UserError
        If it is not.
    """
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(
            f"{page} needs a package that is not installed: {missing[0]}",
            hint="pip install 'headscope[explorer]'",
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


def open_browser(address: str) -> Path:
    """Open a page in the default browser, if there is one.

    The browser is given a file that only this user can read and that leads on to the page: its
    command line, which every user of the machine can read, does not hold the secret.

    Returns
    -------
    Path
        The file. It is removed when this process ends; remove it when the page is no longer served.
    """
    import webbrowser

    handle, name = tempfile.mkstemp(prefix="headscope-", suffix=".html")  # with mode 0600
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(LEADING_ON.format(address=address))
    path = Path(name)
    atexit.register(path.unlink, missing_ok=True)
    webbrowser.open(path.as_uri())
    return path


def make_server(app: ASGIApp) -> uvicorn.Server:
    """A web server for an application; ``server.run(sockets=[…])`` runs it."""
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_level="warning",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
