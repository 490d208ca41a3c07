"""The explorer's server: what it answers and refuses, its queue, and a model that fails."""

from __future__ import annotations

import gc
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import numpy as np
import pytest

import headscope as hs
from headscope.errors import ResultsError, UserError
from headscope.page import serving
from headscope.page.explorer.start import Explorer, check_results
from headscope.page.explorer.worker import Busy, Job, Superseded, Worker
from headscope.page.packs.pack import unpack
from tiny import tiny_network, tiny_tokenizer

WAIT = 60


class FakeModel:
    """Answers at once, waits for the test, or fails."""

    actions = ("read", "slow", "fail")

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun: list[str] = []
        self.error: Exception = RuntimeError("the weights\nhave melted")

    def describe(self) -> dict[str, Any]:
        return {"name": "fake </script>", "type": "bert", "layers": 6, "heads": 12, "numbers": []}

    def answer(
        self, action: str, request: Mapping[str, Any], check: Callable[[], None]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        self.begun.append(str(request.get("text"))[:20])
        if action == "fail":
            raise self.error
        while action == "slow" and not self.go.wait(0.01):
            check()
        return {"said": request.get("text")}, {"numbers": np.arange(3, dtype=np.uint16)}


@pytest.fixture
def model():
    return FakeModel()


@pytest.fixture(scope="module")
def tiny_bert_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tiny_network("bert").save_pretrained(folder)
    tiny_tokenizer("bert").save_pretrained(folder)
    return folder


@pytest.fixture
def explorer(model):
    with Explorer(model) as explorer:
        yield explorer
        model.go.set()


@pytest.fixture
def client(explorer):
    with httpx.Client(base_url=explorer.address, timeout=WAIT) as client:
        yield client


def until(condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < WAIT
        time.sleep(0.005)


def test_the_page_is_served_with_the_model_and_nothing_from_elsewhere(client):
    answer = client.get("")
    assert answer.status_code == 200
    assert '"name": "fake \\u003c/script>"' in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http://" not in policy
    assert "https://" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"  # the address is the secret
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_nothing_is_answered_without_the_token(explorer):
    base, _, token = explorer.address.rstrip("/").rpartition("/")
    assert len(token) >= 32
    with httpx.Client(timeout=WAIT) as client:
        for path in ("", "queue", "wrong/", "wrong/queue", f"{token.swapcase()}/", token[:-1]):
            assert client.get(f"{base}/{path}").status_code == 404
        assert client.post(f"{base}/wrong/live/read", json={}).status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::1]", "x"]
)
def test_another_host_name_is_refused(client, host):
    assert client.get("", headers={"host": host}).status_code == 400
    assert client.post("live/read", json={}, headers={"host": host}).status_code == 400


def test_another_sites_page_cannot_ask(client, explorer, model):
    port = explorer.address.split(":")[2].split("/")[0]
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{int(port) + 1}", "https://x"):
        answer = client.post("live/read", json={"text": "a"}, headers={"origin": origin})
        assert answer.status_code == 403
    assert model.begun == []
    own = {"origin": f"http://127.0.0.1:{port}"}
    assert client.post("live/read", json={"text": "a"}, headers=own).status_code == 200


def test_an_answer_is_a_pack(client):
    answer = client.post("live/read", json={"text": "a dog", "page": "p", "slot": "s"})
    document, arrays = unpack(answer.content)
    assert document == {"said": "a dog"}
    assert arrays["numbers"].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/json"),
        (b"no json", "application/json"),
        (b"[1]", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'{"text": "' + b"x" * 1_000_001 + b'"}', "application/json"),
        (b'{"text": "a"}', "text/plain"),
        (b'{"text": "a"}', "application/x-www-form-urlencoded"),
    ],
)
def test_a_body_that_is_not_a_json_object_of_a_megabyte_is_refused(client, model, body, kind):
    answer = client.post("live/read", content=body, headers={"content-type": kind})
    assert answer.status_code == 400
    assert answer.json()["error"] == "the request must be a JSON object of at most 1 MB"
    assert model.begun == []


def test_a_body_of_unknown_length_is_refused(client, model):
    answer = client.post(
        "live/read", content=iter([b'{"text": "a"}']), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400
    assert model.begun == []


def test_only_known_questions_and_methods_are_answered(client, model):
    assert client.get("live/read").status_code == 405
    assert client.put("live/read", json={}).status_code == 405
    assert client.post("", json={}).status_code == 405
    assert client.post("live/erase", json={}).status_code == 404
    for path in (
        "data/../start.py",
        "data/%2e%2e/%2e%2e/app.pack",
        "data/atlas.pack",
        "etc/passwd",
    ):
        assert client.get(path).status_code == 404
    assert model.begun == []


def test_a_model_that_fails_is_reported_and_the_server_lives_on(client, model):
    answer = client.post("live/fail", json={"text": "a"})
    assert answer.status_code == 500
    assert answer.json() == {"error": "the model failed: RuntimeError: the weights", "hint": ""}
    assert client.post("live/read", json={"text": "a"}).status_code == 200
    model.error = UserError("the text is empty", hint="hs.x()", command="type at least one word")
    answer = client.post("live/fail", json={"text": ""})
    assert answer.status_code == 200
    assert answer.json() == {"error": "the text is empty", "hint": "type at least one word"}
    model.error = MemoryError()
    assert "not enough memory" in client.post("live/fail", json={"text": ""}).json()["error"]
    assert client.post("live/read", json={"text": "a"}).status_code == 200


def test_a_slow_request_blocks_neither_the_page_nor_the_queues_state(client, model):
    def ask(page: str, slot: str) -> httpx.Response:
        return client.post("live/slow", json={"text": f"{page}{slot}", "page": page, "slot": slot})

    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(ask, "one", "a")
        until(lambda: model.begun == ["onea"])
        second = threads.submit(ask, "one", "b")
        until(lambda: client.get("queue", params={"page": "one"}).json() == {"ahead": 1})
        third = threads.submit(ask, "two", "a")
        until(lambda: client.get("queue", params={"page": "two"}).json() == {"ahead": 2})
        assert client.get("").status_code == 200
        assert not first.done()
        model.go.set()
        assert [one.result(WAIT).status_code for one in (first, second, third)] == [200] * 3
    assert client.get("queue", params={"page": "two"}).json() == {"ahead": 0}


def test_a_newer_request_of_the_same_page_replaces_the_older_one(client, model):
    def ask(text: str) -> httpx.Response:
        body = {"text": text, "page": "one", "slot": "maps"}
        return client.post("live/slow", json=body)

    with ThreadPoolExecutor(3) as threads:
        running = threads.submit(ask, "1")
        until(lambda: model.begun == ["1"])
        newer = threads.submit(ask, "2")
        assert running.result(WAIT).status_code == 409  # stopped in the middle
        until(lambda: model.begun == ["1", "2"])
        newest = threads.submit(ask, "3")
        assert newer.result(WAIT).status_code == 409
        model.go.set()
        assert unpack(newest.result(WAIT).content)[0] == {"said": "3"}


def test_what_nobody_waits_for_is_given_up(client, model):
    with pytest.raises(httpx.ReadTimeout):
        client.post("live/slow", json={"text": "gone", "page": "one", "slot": "a"}, timeout=0.3)
    assert client.post("live/read", json={"text": "next"}).status_code == 200  # though never set


def test_a_full_queue_is_refused_and_dropped_jobs_are_never_run():
    worker, go, ran = Worker(), threading.Event(), []
    worker.submit(Job("p", "", lambda check: go.wait(WAIT)))
    until(lambda: worker._running is not None)
    waiting = [Job("p", f"slot {number}", lambda check: ran.append(1)) for number in range(64)]
    for job in waiting:
        worker.submit(job)
    with pytest.raises(Busy):
        worker.submit(Job("p", "one more", lambda check: None))
    for job in waiting[1:]:
        worker.drop(job)
    go.set()
    assert waiting[0].future.result(WAIT) is None
    for job in waiting[1:]:
        with pytest.raises(Superseded):
            job.future.result(WAIT)
    worker.close()
    assert ran == [1]


@pytest.mark.slow
def test_memory_stays_flat_over_hundreds_of_requests(client):
    text = "x" * 10_000

    def ask(count: int) -> int:
        for number in range(count):
            body = {"text": text, "page": str(number), "slot": "read"}
            assert client.post("live/read", json=body).status_code == 200
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = ask(50)
        assert ask(200) - before < 200 * len(text) / 10
    finally:
        tracemalloc.stop()


def test_results_are_served_as_packs(demo_results, model):
    with Explorer(model, demo_results) as explorer, httpx.Client(timeout=WAIT) as client:
        boot = client.get(explorer.address).text
        about = json.loads(boot.partition('id="headscope-boot">')[2].partition("</script>")[0])
        assert (about["source"], about["atlases"]) == ("server", ["atlas"])
        document, arrays = unpack(client.get(explorer.address + "data/atlas.pack").content)
        assert document["model"]["name"] == "demo"
        assert arrays["value"].shape[1:] == (6, 12)
        assert client.get(explorer.address + "data/head/9-99.pack").status_code == 404
        head = client.get(explorer.address + "data/head/3-9.pack")
        if document["examples"]["kept"]:
            assert unpack(head.content)[0]["examples"]


def test_results_of_a_model_of_another_shape_are_an_error(demo_results):
    class Other(FakeModel):
        def describe(self) -> dict[str, Any]:
            return super().describe() | {"name": "other", "layers": 2, "heads": 4}

    with pytest.raises(ResultsError) as caught:
        Explorer(Other(), demo_results)
    assert caught.value.message == (
        "the results are those of demo, with 6 layers × 12 heads; other has 2 × 4"
    )


def test_results_of_another_name_are_a_warning(demo_results, model):
    assert check_results(model, demo_results) == [
        "the results are those of demo, and the model is fake </script>"
    ]


def test_a_port_in_use_is_an_error(model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"port {port} cannot be used: Address already in use"):
            Explorer(model, port=port)


def test_a_missing_web_server_is_an_error(monkeypatch, model):
    monkeypatch.setattr(serving, "PACKAGES", ("starlette", "no_such_package"))
    with pytest.raises(UserError) as caught:
        hs.explore("demo")
    assert caught.value.message == (
        "the explorer needs a package that is not installed: no_such_package"
    )
    assert caught.value.hint == "pip install 'headscope[explorer]'"


def test_a_closed_explorer_does_not_answer_any_more(model):
    explorer = Explorer(model)
    assert httpx.get(explorer.address, timeout=WAIT).status_code == 200
    explorer.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(explorer.address, timeout=WAIT)


def test_the_browser_s_command_line_does_not_hold_the_secret(monkeypatch, tiny_bert_folder):
    given: list[str] = []
    monkeypatch.setattr("webbrowser.open", given.append)
    with hs.explore(tiny_bert_folder, wait=False, say=lambda _: None) as explorer:
        file = Path(url2pathname(urlsplit(given[0]).path))
        assert urlsplit(given[0]).scheme == "file"
        assert explorer.address.rstrip("/").rpartition("/")[2] not in given[0]
        assert explorer.address in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
    assert not file.exists()


def test_only_this_machine_is_listened_to(explorer):
    assert explorer.address.startswith("http://127.0.0.1:")
