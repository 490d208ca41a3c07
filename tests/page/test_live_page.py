"""The Live view in a browser, with a tiny language model behind it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

import pytest
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from headscope.models import wrap
from headscope.page.explorer.start import Explorer
from headscope.page.serving import open_browser
from headscope.runs.live import LiveModel
from headscope.runs.live.text import LiveText
from tiny import tiny_network, tiny_tokenizer

pytestmark = pytest.mark.page
WAIT = 120_000
"""Milliseconds that nothing takes, not even on a busy machine."""
TEXT = "the cat sat on the [MASK] by the door"
AUTO = {"bert": AutoModelForMaskedLM, "gpt2": AutoModelForCausalLM}


def make(kind: str) -> LiveModel:
    network = tiny_network(kind, auto=AUTO[kind])
    return LiveModel(wrap(network, tiny_tokenizer(kind), name=f"tiny-{kind}"))


@cache
def live(kind: str) -> LiveModel:
    """The same model once more, for what is expected: two threads cannot share one."""
    return make(kind)


@dataclass
class Opened:
    """A page with an explorer behind it, its foreign requests and its complaints."""

    page: Any
    explorer: Explorer
    foreign: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, **options: str) -> None:
        """Open the Live view with options in its address."""
        query = "&".join(f"{name}={quote(value)}" for name, value in options.items())
        self.page.goto("about:blank")
        self.page.goto(f"{self.explorer.address}#/live?{query}")


@pytest.fixture
def opened(window):
    explorers: list[Explorer] = []

    def opened(kind: str = "bert", *, width: int = 1440, dark: bool = False) -> Opened:
        explorer = Explorer(make(kind))
        explorers.append(explorer)
        found = Opened(window(width, dark=dark), explorer)
        own = (explorer.address, "about:", "data:", "blob:")
        found.page.on(
            "request",
            lambda one: None if one.url.startswith(own) else found.foreign.append(one.url),
        )
        found.page.on(
            "console",
            lambda one: (
                found.complaints.append(one.text) if one.type in ("error", "warning") else None
            ),
        )
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("dialog", lambda one: (found.complaints.append("dialog"), one.dismiss()))
        return found

    yield opened
    for explorer in explorers:
        explorer.close()


def test_the_file_that_the_browser_is_given_leads_on_to_the_page(opened, monkeypatch):
    found = opened()
    given: list[str] = []
    monkeypatch.setattr("webbrowser.open", given.append)
    file = open_browser(found.explorer.address)
    found.page.goto(given[0])
    found.page.wait_for_url(f"{found.explorer.address}**")
    file.unlink()
    assert not found.complaints


def shown(page: Any, place: str, text: str) -> None:
    from playwright.sync_api import expect

    expect(page.locator(place).first).to_contain_text(text, timeout=WAIT)


def rows(page: Any) -> list[list[str]]:
    """The table of predictions: names, and numbers."""
    return [
        row.locator("th, .hs-num").all_inner_texts()
        for row in page.locator(".hs-live-table tbody tr").all()
    ]


def quoted(token: str) -> str:
    return token if any(map(str.isalnum, token)) else f"“{token}”"


def percent(value: float) -> str:
    return "< 0.1 %" if value < 0.001 else f"{100 * value:.1f} %"


def test_typing_a_text_draws_it_and_keeps_it_in_the_address(opened):
    one = opened()
    one.go(text="the cat sat", heads="1-2")
    shown(one.page, ".hs-arcs", "sat")
    one.page.get_by_label("Text", exact=True).fill(TEXT)
    shown(one.page, ".hs-arcs", "door")
    shown(one.page, ".hs-live-length", "of 64 pieces")
    shown(one.page, ".hs-live-prediction h2", "Prediction at [MASK]")
    assert quote("[MASK]") in one.page.url
    one.page.wait_for_selector(".hs-map-canvas")
    assert one.page.locator(".hs-arcs path").count() > 0
    assert one.complaints == []
    assert one.foreign == []


def test_predictions_are_those_of_the_model(opened):
    one = opened()
    one.go(text=TEXT)
    shown(one.page, ".hs-live-table", "%")
    expected = live("bert").predictions(LiveText(TEXT)).choices
    assert rows(one.page) == [[quoted(choice.name), percent(choice.before)] for choice in expected]


def test_a_click_draws_a_head_and_a_shift_click_switches_it_off(opened):
    one = opened()
    one.go(text=TEXT, heads="1-2")
    shown(one.page, ".hs-live-table", "%")
    one.page.locator('[data-head="2-3"]').click()
    shown(one.page, ".hs-live-map h2", "Map of 2-3")
    shown(one.page, ".hs-live-chips", "2-3")
    one.page.locator('[data-head="1-4"]').click(modifiers=["Shift"])
    shown(one.page, ".hs-live-table thead", "1-4 off")
    found = live("bert").predictions(LiveText(TEXT), off="1-4")
    shown(one.page, ".hs-live-table tbody tr:last-child", found.choices[-1].name)
    assert [[row[0], row[1], row[2]] for row in rows(one.page)] == [
        [quoted(choice.name), percent(choice.before), percent(choice.after)]
        for choice in found.choices
    ]
    assert [row[1] for row in rows(one.page)] != [row[2] for row in rows(one.page)]
    shown(one.page, ".hs-live-prediction", "KL ")
    shown(one.page, ".hs-live-moves", "looks more at")
    moved = live("bert").changes(LiveText(TEXT), "1-4").moves[0]
    shown(one.page, ".hs-live-moves tr", str(moved.head))
    one.page.get_by_label("Switch 1-4 on again").click()
    shown(one.page, ".hs-live-offs", "none")
    assert "off=" not in one.page.url
    assert one.complaints == []


def test_a_deep_link_holds_the_whole_state(opened):
    one = opened()
    one.go(text=TEXT, heads="1-2,2-4", off="2-1", how="mean", unit="pieces", map="1-2", over="5")
    shown(one.page, ".hs-live-table thead", "2-1 off")
    for _ in range(2):
        shown(one.page, ".hs-live-map h2", "Map of 1-2, all heads on")
        shown(one.page, ".hs-live-chips", "2-4")
        pressed = one.page.locator('.hs-live button[aria-pressed="true"]').all_inner_texts()
        assert {"Pieces", "mean"} <= set(pressed)
        shown(one.page, ".hs-live-over", "5 %")
        one.page.reload()
    shown(one.page, ".hs-live-table thead", "2-1 off")
    assert one.complaints == []


def test_the_page_begins_by_itself_with_each_head_off_in_turn(opened):
    one = opened()
    one.go(text=TEXT)
    shown(one.page, ".hs-live-table", "%")
    one.page.get_by_role("button", name="Replay").wait_for()
    grid = one.page.locator(".hs-live-effects .hs-cover")
    grid.focus()
    titles = []
    for key in ("ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight"):
        grid.press(key)
        titles.append((grid.get_attribute("aria-label") or "").split(". Arrow")[0])
    second = live("bert").effects(LiveText(TEXT), 2)
    assert titles == [f"2-{head + 1}: {value:.3f} nats" for head, value in enumerate(second)]
    grid.press("Home")
    grid.press("Enter")
    shown(one.page, ".hs-live-table thead", "2-1 off")


def test_a_word_is_masked_by_two_clicks(opened):
    one = opened()
    one.go(text="the cat sat on the mat")
    shown(one.page, ".hs-live-hints", "Click a word below to mask it")
    one.page.locator(".hs-arc-word", has_text="cat").click()
    one.page.get_by_role("button", name="Mask “cat”").click()
    shown(one.page, ".hs-live-prediction h2", "Prediction at [MASK]")
    assert one.page.get_by_label("Text", exact=True).input_value() == "the [MASK] sat on the mat"


def test_a_causal_model_writes_on(opened):
    one = opened("gpt2")
    text = "the cat sat on the mat"
    one.go(text=text, heads="1-1")
    shown(one.page, ".hs-live-prediction h2", "Next token after")
    one.page.get_by_role("button", name="Next token", exact=True).click()
    shown(one.page, ".hs-live-write", "Take one back")
    expected = live("gpt2").generate(LiveText(text))[0]
    assert one.page.url.endswith(f"more={expected}")
    one.page.get_by_role("button", name="Take one back").click()
    one.page.wait_for_url(lambda url: "more=" not in url)
    assert one.complaints == []


def test_a_text_that_is_too_long_says_the_limit_and_the_page_lives_on(opened):
    one = opened()
    one.go(text="cat " * 100, heads="1-1")
    shown(one.page, ".hs-live-error", "The text has 102 tokens, and at most 64 can be read")
    one.page.get_by_label("Text", exact=True).fill("the cat")
    shown(one.page, ".hs-live-length", "of 64 pieces")
    one.page.wait_for_selector(".hs-live-error", state="detached")
    shown(one.page, ".hs-arcs", "cat")


def test_hostile_text_is_shown_as_text(opened):
    one = opened()
    hostile = "</script><img src=x onerror=alert(1)> ‮ 'a' [MASK]"
    one.go(text=hostile, unit="words")
    shown(one.page, ".hs-live-prediction h2", "Prediction at [MASK]")
    assert one.page.locator("img").count() == 0
    assert one.page.get_by_label("Text", exact=True).input_value() == hostile
    assert one.complaints == []


def test_a_stopped_server_is_a_sentence(opened):
    one = opened()
    one.go(text="the cat", heads="1-1")
    shown(one.page, ".hs-arcs", "cat")
    one.explorer.close()
    one.page.get_by_label("Text", exact=True).fill("the dog")
    shown(one.page, ".hs-live-error", "The explorer has stopped.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1024])
def test_nothing_overflows(opened, width, scheme):
    one = opened(width=width, dark=scheme == "dark")
    one.go(text=TEXT, heads="1-2,2-3", off="1-1")
    shown(one.page, ".hs-live-moves", "looks more at")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width


def test_two_texts_are_compared(opened):
    one = opened()
    one.go(text="the cat sat", heads="1-2", other="the dog sat")
    shown(one.page, ".hs-live-pair", "Difference")
    assert one.page.locator(".hs-live-difference").count() == 1
    one.page.get_by_label("Another text", exact=True).fill("the dog sat on the mat")
    shown(one.page, ".hs-live-pair", "a difference needs equally many")


def test_the_keyboard_reaches_heads_and_words(opened):
    one = opened()
    one.go(text=TEXT, heads="1-2")
    shown(one.page, ".hs-live-table", "%")
    one.page.locator('[data-head="1-2"]').focus()
    one.page.keyboard.press("ArrowUp")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Enter")
    shown(one.page, ".hs-live-map h2", "Map of 2-3")
    one.page.locator(".hs-arc-word").first.focus()
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Enter")
    one.page.wait_for_url(lambda url: "token=1" in url)
