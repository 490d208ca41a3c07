"""The web server's side of a connection, which does not wait for ever. Needs ``explorer``."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 10.0
"""Seconds in which a client must send the head of a request."""


class PatientProtocol(H11Protocol):
    """Closes a connection whose client sends the head of a request too slowly, or none.

    uvicorn itself waits for ever for the end of a head, so that a few hundred connections that send
    one byte now and then would keep everybody else out.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait on, from the first byte of a head to its end."""
        super().data_received(data)
        cycle: Any = self.cycle  # None before the first request
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()
        elif self._deadline is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Answer the next request, if it has come already."""
        super().on_response_complete()
        self._stop_waiting()

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(PATIENCE, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
