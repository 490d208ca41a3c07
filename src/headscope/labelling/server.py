"""Serve the labelling page on this machine until the user finishes."""

from __future__ import annotations

import socket
from collections.abc import Callable

from headscope.labelling.session import LabelSession
from headscope.page.serving import address_of, check_server, make_server, new_token


def serve(session: LabelSession, opened: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve the page until the user presses Finish or Ctrl-C.

    Parameters
    ----------
    session
        The session that the page works on.
    opened
        A socket from :func:`~headscope.page.serving.open_port`.
    ready
        Called with the address of the page once it is known.

    Raises
    ------
    UserError
        If the web server is not installed.
    """
    check_server("the labelling page")
    from headscope.labelling.app import make_app

    port, token = opened.getsockname()[1], new_token()

    def stop() -> None:
        server.should_exit = True

    server = make_server(make_app(session, token=token, port=port, stop=stop))
    ready(address_of(opened, token))
    server.run(sockets=[opened])
