"""Serving the labelling page on this machine, until the person at it is done."""

from __future__ import annotations

import socket
from collections.abc import Callable

from headscope.errors import UserError
from headscope.labelling.session import Session

HERE = "127.0.0.1"


def open_port(port: int) -> socket.socket:
    """A socket of this machine alone; 0 takes any free port."""
    if not 0 <= port <= 65535:
        raise UserError(
            f"the port must be between 0 and 65535, got {port} instead",
            hint="leave --port out to take any free one",
        )
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HERE, port))
        opened.listen()
    except OSError as error:
        opened.close()
        raise UserError(
            f"the port {port} cannot be used: {error.strerror or error}",
            hint="leave --port out to take any free one",
        ) from None
    return opened


def serve(session: Session, opened: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve the page until its stop button or Ctrl-C; ``ready`` is called with the address."""
    try:
        import uvicorn

        from headscope.labelling.app import make_app, new_token
    except ImportError as error:
        raise UserError(
            f"the page needs a package that is not installed: {error.name}",
            hint="pip install 'headscope[explorer]', or label with --terminal",
        ) from None
    port, token = opened.getsockname()[1], new_token()

    def stop() -> None:
        server.should_exit = True

    server = uvicorn.Server(
        uvicorn.Config(
            make_app(session, token=token, port=port, stop=stop),
            log_level="warning",
            lifespan="off",
            server_header=False,
        )
    )
    ready(f"http://{HERE}:{port}/{token}/")
    server.run(sockets=[opened])
