"""The servers under load, in short; ``make load`` (tools/load_test.py) does it at length."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any
from urllib.parse import urlsplit

import httpx
import load_test
import pytest

from headscope.page import local_app
from headscope.page.explorer.start import Explorer
from headscope.page.explorer.worker import Job, Worker

WAIT = 60


class DyingModel:
    """Answers, or dies in the middle of a request in one of several ways."""

    actions = ("maps", "die")

    def __init__(self) -> None:
        self.death: BaseException = SystemExit(3)

    def describe(self) -> dict[str, Any]:
        return {"name": "fake", "type": "bert", "layers": 2, "heads": 2, "numbers": []}

    def answer(
        self, action: str, request: Mapping[str, Any], check: Callable[[], None]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if action == "die":
            raise self.death
        return {"said": request.get("text")}, {}


@pytest.fixture
def model():
    return DyingModel()


@pytest.fixture
def address(model):
    with Explorer(model) as explorer:
        yield explorer.address


def test_fifty_clients_at_once_are_all_answered(address):
    codes, _ = load_test.many_clients(address, load_test.ask_explorer, 50, 2)
    assert set(codes) <= {200, 503}
    assert codes[200] >= 75


def test_slow_clients_do_not_keep_others_waiting(address):
    with load_test.slow_clients(address, 100), httpx.Client(base_url=address) as client:
        assert load_test.ask_explorer(client, 1) == 200


def test_a_body_that_never_ends_is_refused(address, monkeypatch):
    monkeypatch.setattr(local_app, "PATIENCE", 0.3)
    parts = urlsplit(address)
    start = f"POST {parts.path}live/maps HTTP/1.1\r\nHost: {parts.netloc}\r\n"
    more = "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    assert load_test.raw(parts.hostname, parts.port, (start + more).encode()) == 400


def test_huge_requests_are_refused(address):
    body, head, length = load_test.huge(address)
    assert body == 400
    assert head in {400, 431, 0}
    assert length == 400
    assert httpx.get(address, timeout=WAIT).status_code == 200


@pytest.mark.parametrize(
    "death", [SystemExit(3), KeyboardInterrupt(), MemoryError(), RecursionError("deep"), OSError(5)]
)
def test_a_model_that_dies_in_the_middle_leaves_the_server_alive(address, model, death):
    model.death = death
    with httpx.Client(base_url=address, timeout=WAIT) as client:
        answer = client.post("live/die", json={"text": "a"})
        assert answer.status_code == 500
        assert answer.json()["error"].startswith(("the model failed: ", "there is not enough"))
        assert load_test.ask_explorer(client, 1) == 200


def test_an_answer_that_nobody_waits_for_any_more_does_not_end_the_worker():
    worker, gone = Worker(), threading.Event()
    future: Future[Any] = worker.submit(Job("p", "", lambda check: gone.wait(WAIT)))
    future.cancel()
    gone.set()
    assert worker.submit(Job("p", "", lambda check: 7)).result(WAIT) == 7
    worker.close()


def test_the_labelling_page_answers_many_clients_at_once():
    with load_test.labelling() as address:
        codes, _ = load_test.many_clients(address, load_test.ask_labelling, 50, 1)
        assert codes == {200: 50}
        assert load_test.huge(address)[0] in {400, 404}


@pytest.mark.slow
def test_memory_stays_flat_over_hundreds_of_requests(address):
    assert load_test.memory(address, load_test.ask_explorer, 400) < 10_000_000
