"""The labelling page in a browser, served as the command serves it."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from headscope.corpus import from_texts
from headscope.errors import UserError
from headscope.figures.patterns import shades
from headscope.labelling import CorpusMaps, LabelSession, LabelStore
from headscope.labelling.server import serve
from headscope.measures.patterns.labels import read_labelled
from headscope.measures.patterns.network import CLASSES
from headscope.page.serving import open_port
from labelling.conftest import SIZE, network, planted

SHADE = """([row, column, count]) => {
  const map = document.getElementById("map"), pixel = window.devicePixelRatio || 1;
  const at = place => Math.round((layout.margin + (place + 0.5) * layout.size) * pixel);
  return map.getContext("2d").getImageData(at(column), at(row), 1, 1).data[0]; }"""


WAIT = 120
"""Seconds that nothing takes, not even on a busy machine."""


@dataclass
class Opened:
    """A page on a running session, with its requests and its console messages."""

    page: Any
    address: str
    session: LabelSession
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@pytest.fixture
def serving():
    """Serve a session in the background; the test must press Finish."""
    threads: list[threading.Thread] = []

    def serving(session):
        ready = threading.Event()
        found: list[str] = []
        opened = open_port(0)
        thread = threading.Thread(
            target=serve,
            args=(session, opened, lambda address: (found.append(address), ready.set())),
            daemon=True,
        )
        thread.start()
        threads.append(thread)
        assert ready.wait(WAIT)
        return found[0], thread

    yield serving
    assert not any(thread.is_alive() for thread in threads)


@pytest.fixture
def opened(window, serving, start):
    session = start()
    address, thread = serving(session)
    page = window(1200)
    found = Opened(page, address, session)
    page.on("request", lambda request: found.requests.append(request.url))

    def note(message):
        if message.type in ("error", "warning"):
            found.problems.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: found.problems.append(str(error)))
    page.goto(address)
    page.wait_for_selector(".class")
    yield found
    page.click("#stop")
    wait(page, "#message", "Finished. You can close this page.")
    thread.join(WAIT)


def wait(page: Any, place: str, text: str) -> None:
    from playwright.sync_api import expect

    expect(page.locator(place)).to_have_text(text, timeout=1000 * WAIT)


@pytest.mark.page
def test_keys_and_buttons_label_skip_and_undo(opened, tmp_path):
    page = opened.page
    wait(page, "#left", str(SIZE))
    page.keyboard.press("2")
    wait(page, "#labelled", "1")
    page.locator(".class", has_text="block").click()
    wait(page, "#labelled", "2")
    page.keyboard.press("s")
    wait(page, "#skipped", "1")
    page.click("#undo")
    wait(page, "#skipped", "0")
    assert read_labelled(tmp_path / "labels").labels == ("diagonal", "block")
    assert page.locator(".class output").all_text_contents() == ["0", "1", "0", "1", "0"]
    assert page.locator(".class b").all_text_contents() == list(CLASSES)


@pytest.mark.page
def test_the_prediction_is_hidden_until_asked_for_or_the_map_is_labelled(opened):
    page, prediction = opened.page, opened.session.prediction()
    wait(page, "#message", "")
    page.keyboard.press("g")
    wait(page, "#message", f"The network predicts: {prediction}Look again before you agree.")
    map_id = opened.session.current().map_id
    page.keyboard.press("4")
    told = f"You: block. The network: {prediction}.That was head {map_id.head} of {map_id.model}."
    wait(page, "#message", told)


@pytest.mark.page
def test_the_canvas_shows_each_cell_and_pointing_at_one_shows_its_weight(opened):
    shown = opened.session.current()
    values = shades(shown.attention)
    count = len(values)
    drawn = [opened.page.evaluate(SHADE, [*cell, count]) for cell in np.ndindex(count, count)]
    np.testing.assert_allclose(np.reshape(drawn, values.shape), 255 * (1 - values), atol=2.5)
    row, column = np.unravel_index(int(shown.attention.argmax()), shown.attention.shape)
    margin, size = opened.page.evaluate("() => [layout.margin, layout.size]")
    x, y = (margin + (int(at) + 0.5) * size for at in (column, row))
    opened.page.locator("#map").hover(position={"x": x, "y": y})
    tokens = shown.example.tokens
    wait(opened.page, "#cell", f"{tokens[row]} → {tokens[column]}: {shown.attention.max():.3f}")


@pytest.mark.page
def test_the_page_requests_only_its_own_address_and_logs_no_problem(opened):
    opened.page.keyboard.press("1")
    wait(opened.page, "#labelled", "1")
    opened.page.set_viewport_size({"width": 390, "height": 800})
    assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert all(url.startswith(opened.address) or url == "data:," for url in opened.requests)
    assert opened.problems == []


@pytest.mark.page
def test_the_page_says_when_no_map_remains_and_the_last_label_can_be_undone(opened):
    page = opened.page
    while len(opened.session.remaining) > 2:
        opened.session.skip()
    page.reload()
    wait(page, "#left", "2")
    for left in (1, 0):
        page.keyboard.press("5")
        wait(page, "#left", str(left))
    assert page.locator("#done").is_visible()
    assert page.locator(".class").first.is_disabled()
    page.keyboard.press("u")
    wait(page, "#left", "1")
    assert page.locator("#map").is_visible()


@pytest.mark.page
def test_names_that_contain_markup_are_shown_as_text(window, serving, tmp_path):
    hostile = "<img src=x onerror=alert(1)>"
    model = replace(planted(), name=hostile)
    session = LabelSession(
        CorpusMaps(model, from_texts(["the dog"]), limit=1, seed=0, max_length=24),
        LabelStore(tmp_path / "<b>labels"),
        network(),
    )
    address, thread = serving(session)
    page = window()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(address)
    page.wait_for_selector(".class")
    wait(page, "#folder", str(tmp_path / "<b>labels"))
    page.keyboard.press("1")
    wait(page, "#labelled", "1")
    assert f"of {hostile}." in page.locator("#message").inner_text()
    assert page.locator("img, #folder b").count() == 0
    assert dialogs == []
    page.click("#stop")
    wait(page, "#message", "Finished. You can close this page.")
    thread.join(WAIT)
    page.close()


def test_a_port_in_use_is_an_error():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError) as caught:
            open_port(port)
    assert caught.value.message == f"port {port} cannot be used: Address already in use"
    assert caught.value.command == "omit --port to use any free one"


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_an_error(port):
    with pytest.raises(UserError, match=f"between 0 and 65535, got {port} instead"):
        open_port(port)


def test_answers_are_sent_at_once():
    sent: list[int] = []

    def made(transport):
        connection = transport.get_extra_info("socket")
        sent.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    class Protocol(asyncio.Protocol):
        connection_made = staticmethod(made)

    async def connect() -> None:
        with open_port(0) as opened:
            server = await asyncio.get_running_loop().create_server(Protocol, sock=opened)
            _, writer = await asyncio.open_connection(*opened.getsockname())
            while not sent:
                await asyncio.sleep(0)
            writer.close()
            server.close()

    with ThreadPoolExecutor(1) as pool:  # this thread has Playwright's event loop
        pool.submit(asyncio.run, connect()).result()
    assert sent == [1]


def test_only_this_machine_can_reach_the_page():
    with open_port(0) as opened:
        assert opened.getsockname()[0] == "127.0.0.1"
