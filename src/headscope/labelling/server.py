"""Serve the labelling page on this machine until the user finishes."""

from __future__ import annotations

import socket
from collections.abc import Callable

from headscope.errors import UserError
from headscope.labelling.session import LabelSession

LOCAL = "127.0.0.1"
ANY_PORT = {
    "hint": "give port 0 to use any free port",
    "command": "omit --port to use any free one",
}


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
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
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


def serve(session: LabelSession, opened: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve the page until the user presses Finish or Ctrl-C.

    Parameters
    ----------
    session
        The session that the page works on.
    opened
        A socket from :func:`open_port`.
    ready
        Called with the address of the page once it is known.

    Raises
    ------
    UserError
        If the web server is not installed.
    """
    try:
        import uvicorn

        from headscope.labelling.app import make_app, new_token
    except ImportError as error:
        raise UserError(
            f"the labelling page needs a package that is not installed: {error.name}",
            hint="pip install 'headscope[explorer]'",
            command="pip install 'headscope[explorer]', or label with --terminal",
        ) from None
    port, token = opened.getsockname()[1], new_token()

    def stop() -> None:
        server.should_exit = True

    app = make_app(session, token=token, port=port, stop=stop)
    config = uvicorn.Config(app, log_level="warning", lifespan="off", server_header=False)
    server = uvicorn.Server(config)
    ready(f"http://{LOCAL}:{port}/{token}/")
    server.run(sockets=[opened])
