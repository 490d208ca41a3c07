"""The explorer as a web application: the page, packs of results, and questions to the model."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from headscope.errors import UserError
from headscope.page.explorer.worker import Busy, Job, Superseded, Worker
from headscope.page.html import page_html, page_policy
from headscope.page.local_app import make_local_app, read_object
from headscope.page.packs import atlas_pack
from headscope.page.packs.pack import pack
from headscope.page.schema import Boot, LiveModel
from headscope.results import Atlas

LONGEST_BODY = 1_000_000
"""Bytes that a request may send."""
STEP = 0.25
"""Seconds between two looks at whether the page still waits."""
LIGHT = 1
"""How hard answers are compressed: they only travel within this machine."""

log = logging.getLogger("headscope.explorer")


class LiveAnswers(Protocol):
    """What the explorer needs of a model; :class:`headscope.runs.live.LiveModel` is one."""

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of what can be asked."""

    def describe(self) -> dict[str, Any]:
        """A :class:`headscope.page.schema.LiveModel`."""

    def answer(
        self, action: str, request: Mapping[str, Any], check: Callable[[], None]
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """A document and arrays."""


def make_explorer(
    live: LiveAnswers, results: ResultPacks, worker: Worker, *, token: str, port: int
) -> Starlette:
    """Make the application that answers at ``/TOKEN/``.

    Parameters
    ----------
    live
        The model.
    results
        The packs of results.
    worker
        The thread that the model runs in.
    token
        The secret part of the address.
    port
        The port it is served on.
    """
    page = _Page(live, results, worker)
    routes = [
        Route(f"/{token}/", page.html, methods=["GET"]),
        Route(f"/{token}/data/{{name:path}}.pack", page.data, methods=["GET"]),
        Route(f"/{token}/queue", page.queue, methods=["GET"]),
        Route(f"/{token}/live/{{action}}", page.ask, methods=["POST"]),
    ]
    policy = page_policy(connect="'self'") + "; frame-ancestors 'none'"
    return make_local_app(routes, port=port, policy=policy)


class _Page:
    """What the page asks for. Only the worker's thread touches the model."""

    def __init__(self, live: LiveAnswers, results: ResultPacks, worker: Worker) -> None:
        self.live, self.results, self.worker = live, results, worker
        about = live.describe()
        self.boot: Boot = {
            "title": f"{about['name']} · Headscope",
            "source": "server",
            "atlases": results.names,
            "live": cast("LiveModel", about),
        }

    async def html(self, _request: Request) -> Response:
        return Response(page_html(self.boot, {}, connect="'self'"), media_type="text/html")

    async def data(self, request: Request) -> Response:
        content = await run_in_threadpool(self.results.get, request.path_params["name"])
        if content is None:
            return PlainTextResponse("there is no such data", 404)
        return Response(content, media_type="application/octet-stream")

    async def queue(self, request: Request) -> Response:
        """How many requests are before those of a page."""
        return JSONResponse({"ahead": self.worker.ahead(request.query_params.get("page", ""))})

    async def ask(self, request: Request) -> Response:
        """Ask the model; the answer is a pack."""
        action = request.path_params["action"]
        if action not in self.live.actions:
            return _wrong("there is no such question", 404)
        sent = await read_object(request, LONGEST_BODY)
        if sent is None:
            return _wrong("the request must be a JSON object of at most 1 MB", 400)
        page, slot = str(sent.pop("page", "")), str(sent.pop("slot", ""))

        def work(check: Callable[[], None]) -> bytes:
            document, arrays = self.live.answer(action, sent, check)
            return pack(document, arrays, level=LIGHT)

        job = Job(page, slot, work)
        try:
            packed = await self._wait(request, job)
        except Superseded:
            return _wrong("a newer request has taken its place", 409)
        except Busy:
            return _wrong("too many requests are waiting: try again in a moment", 503)
        except UserError as error:
            # An answer about the text, such as that it is too long: not a failure of the request.
            return _wrong(error.message, 200, hint=error.command or error.hint)
        except MemoryError:
            return _wrong("there is not enough memory for this text: shorten it", 500)
        except Exception as error:
            log.warning("the model failed", exc_info=error)
            return _wrong(f"the model failed: {type(error).__name__}: {_first_line(error)}", 500)
        return Response(packed, media_type="application/octet-stream")

    async def _wait(self, request: Request, job: Job) -> bytes:
        """The answer, given up as soon as the page is gone."""
        future = asyncio.wrap_future(self.worker.submit(job))
        while True:
            done, _ = await asyncio.wait({future}, timeout=STEP)
            if done:
                answer: bytes = future.result()
                return answer
            if await request.is_disconnected():
                self.worker.drop(job)


def _wrong(message: str, status: int, *, hint: str = "") -> Response:
    return JSONResponse({"error": message, "hint": hint}, status)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else "no message"


# --- The packs that the page asks for: results and examples, made once each -----------------------


class ResultPacks:
    """Packs of results by name, made when they are first asked for.

    Parameters
    ----------
    atlas
        The results; None if there are none.
    examples
        Makes the packs of texts and heads from results.
    """

    def __init__(
        self, atlas: Atlas | None, examples: Callable[[Atlas], Mapping[str, bytes]]
    ) -> None:
        self.atlas = atlas
        self._examples = examples
        self._made: dict[str, bytes] = {}
        self._have_examples = False
        self._lock = threading.Lock()

    @property
    def names(self) -> list[str]:
        """The names of the atlases."""
        return [] if self.atlas is None else ["atlas"]

    def get(self, name: str) -> bytes | None:
        """A pack, or None if there is none of that name."""
        if self.atlas is None:
            return None
        with self._lock:
            if name == "atlas" and name not in self._made:
                self._made[name] = atlas_pack(self.atlas)
            elif name not in self._made and not self._have_examples:
                self._made.update(self._examples(self.atlas))
                self._have_examples = True
            return self._made.get(name)
