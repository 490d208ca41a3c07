"""The web application of the labelling page: what it answers and what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from headscope.errors import UserError
from headscope.labelling.app import HINTS, STATIC, make_app
from headscope.measures.patterns.labels import LABELS, read_labelled
from headscope.measures.patterns.network import CLASSES
from headscope.page.serving import new_token
from labelling.conftest import SIZE

TOKEN, PORT = "secret", 8123


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def call(
    app: Any,
    method: str,
    path: str,
    *,
    given: Any = None,
    body: bytes | None = None,
    **headers: str,
) -> Answer:
    """Send one request as a server would; headers are spelled with _ for -."""
    sent = body if body is not None else b"" if given is None else json.dumps(given).encode()
    named = {"host": f"127.0.0.1:{PORT}"}
    if method == "POST":
        named |= {"content-type": "application/json", "content-length": str(len(sent))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", PORT),
    }
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": sent, "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    # In a thread of its own: Playwright keeps a loop running in the main thread.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(app(scope, receive, send))).result()
    return Answer(
        messages[0]["status"],
        {name.decode(): value.decode() for name, value in messages[0]["headers"]},
        b"".join(message.get("body", b"") for message in messages[1:]),
    )


def post(app: Any, action: str, **given: Any) -> Answer:
    return call(app, "POST", f"/{TOKEN}/{action}", given=given)


@pytest.fixture
def session(start):
    return start()


@pytest.fixture
def stopped():
    return []


@pytest.fixture
def app(session, stopped):
    return make_app(session, token=TOKEN, port=PORT, stop=lambda: stopped.append(True))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("", "text/html"), ("label.js", "text/javascript")),
        *((name, "text/css") for name in ("label.css", "page.css")),
    ],
)
def test_the_page_and_its_parts_are_served(app, name, kind):
    answer = call(app, "GET", f"/{TOKEN}/{name}")
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(kind)


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/state", "/wrong/", "/wrong/state", "/SECRET/"),
        *(f"/{TOKEN}/../pyproject.toml", f"/{TOKEN}/session.py"),
    ],
)
def test_only_the_page_is_served_and_only_with_the_token(app, path):
    assert call(app, "GET", path).status in (404, 405)


def test_every_answer_forbids_loading_from_elsewhere(app):
    for answer in (
        call(app, "GET", f"/{TOKEN}/"),
        call(app, "GET", f"/{TOKEN}/state"),
        call(app, "GET", "/nowhere"),
        call(app, "GET", f"/{TOKEN}/", host="evil.example"),
    ):
        assert answer.headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self';"
        )
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["referrer-policy"] == "no-referrer"  # the address is the secret
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", ""),
        *(f"evil.example:{PORT}", f"127.0.0.1.evil.example:{PORT}"),
    ],
)
def test_another_host_name_is_refused(app, host):
    answer = call(app, "GET", f"/{TOKEN}/state", host=host)
    assert (answer.status, answer.body) == (400, b"Invalid host header")


def test_localhost_is_this_machine_too(app):
    assert call(app, "GET", f"/{TOKEN}/state", host=f"localhost:{PORT}").status == 200


def test_a_request_from_another_page_is_refused(app, session):
    given = {"number": session.current().number, "label": "block"}
    line = (app, "POST", f"/{TOKEN}/label")
    answer = call(*line, given=given, origin="http://evil.example")
    assert (answer.status, answer.body) == (403, b"this page is only for this machine")
    assert len(session.remaining) == SIZE
    assert call(*line, given=given, origin=f"http://127.0.0.1:{PORT}").status == 200


def test_the_state_has_the_map_but_neither_the_prediction_nor_the_head(app, session):
    state = call(app, "GET", f"/{TOKEN}/state").json
    shown = session.current()
    side = len(shown.attention)
    assert state["map"]["tokens"] == list(shown.example.tokens)
    found = np.array(state["map"]["cells"]).reshape(side, side) / 255
    np.testing.assert_allclose(found, np.sqrt(shown.attention), atol=0.5 / 255 + 1e-6)
    assert set(state["map"]) == {"number", "tokens", "second", "cells"}
    assert state["last"] is None
    assert "guess" not in state
    assert [one["name"] for one in state["classes"]] == list(CLASSES) == list(HINTS)


def test_labelling_saves_the_label_and_reveals_prediction_and_head(app, session, tmp_path):
    shown, guess = session.current(), session.prediction()
    state = post(app, "label", number=shown.number, label="diagonal").json
    assert read_labelled(tmp_path / "labels").labels == ("diagonal",)
    origin = {"head": str(shown.map_id.head), "model": shown.map_id.model}
    assert state["last"] == {**origin, "label": "diagonal", "guess": guess}
    assert (state["labelled"], state["left"]) == (1, SIZE - 1)
    assert {one["name"]: one["count"] for one in state["classes"]}["diagonal"] == 1
    assert state["map"]["number"] == session.current().number != shown.number


def test_a_key_pressed_twice_labels_once(app, session):
    given = {"number": session.current().number, "label": "block"}
    assert post(app, "label", **given).status == 200
    again = post(app, "label", **given)
    assert again.status == 409
    assert again.json["labelled"] == 1


def test_skip_undo_guess_and_stop(app, session, stopped):
    number = session.current().number
    assert post(app, "guess", number=number).json["guess"] == session.prediction()
    assert post(app, "skip", number=number).json["skipped"] == 1
    assert post(app, "undo").json["map"]["number"] == number
    assert post(app, "undo").json["undo"] is False
    assert stopped == []
    assert post(app, "stop").status == 200
    assert stopped == [True]


def test_the_state_says_when_no_map_remains(app, session):
    while session.current():
        session.skip()
    state = call(app, "GET", f"/{TOKEN}/state").json
    assert (state["map"], state["left"]) == (None, 0)
    assert post(app, "label", number=0, label="block").status == 409


@pytest.mark.parametrize("label", ["round", "", None, 3, ["block"]])
def test_an_unknown_label_is_refused(app, session, tmp_path, label):
    answer = post(app, "label", number=session.current().number, label=label)
    assert answer.status == 400
    assert b"the pattern must be one of block, diagonal" in answer.body
    assert not (tmp_path / "labels" / LABELS).exists()


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[1]", b"\xff\xfe", b'{"number": "' + b"x" * 2000 + b'"}']
)
def test_a_body_that_is_not_a_small_object_is_refused(app, body):
    assert call(app, "POST", f"/{TOKEN}/label", body=body).status == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_length": "many"},
    ],
)
def test_what_a_form_on_another_site_could_send_is_refused(app, session, headers):
    given = {"number": session.current().number}
    assert call(app, "POST", f"/{TOKEN}/skip", given=given, **headers).status == 400
    assert len(session.remaining) == SIZE


def test_unknown_actions_are_not_found_and_get_requests_change_nothing(app, session):
    assert post(app, "erase").status == 404
    for action in ("label", "skip", "undo", "stop"):
        assert call(app, "GET", f"/{TOKEN}/{action}").status in (404, 405)
    assert len(session.remaining) == SIZE


def test_a_map_that_cannot_be_shown_is_reported(app, session, monkeypatch):
    def broken(_number):
        raise UserError(
            "the attention of tiny is not finite in layer 2 on the example 7",
            hint='load the model with dtype="float32"',
            command="load the model with --dtype float32",
        )

    monkeypatch.setattr(session.maps, "map", broken)
    for answer in (call(app, "GET", f"/{TOKEN}/state"), post(app, "skip", number=0)):
        assert (answer.status, answer.body.decode()) == (
            400,
            "the attention of tiny is not finite in layer 2 on the example 7\n"
            "next: load the model with --dtype float32",
        )


def test_tokens_cannot_be_guessed():
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert all(len(token) >= 32 for token in tokens)


def test_the_page_loads_nothing_from_elsewhere_and_never_writes_html():
    for name in ("label.html", "label.js", "label.css"):
        text = (STATIC / name).read_text(encoding="utf-8")
        assert "http" not in text
        assert "//" not in text.replace("// ", "")
        words = "innerHTML|outerHTML|insertAdjacent|document.write|eval\\(|onclick|<style| style="
        assert not re.search(words, text)
