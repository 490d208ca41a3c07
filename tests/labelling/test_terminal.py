"""Labelling in a terminal: keys, what is told, and how a map is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from rich.console import Console

from headscope.labelling import Session
from headscope.labelling.terminal import draw, label_here
from labelling.conftest import SIZE


def play(session: Session, keys: str) -> str:
    """Press keys, then end the input; what was printed."""
    pressed = iter(keys)
    out = io.StringIO()
    label_here(session, lambda: next(pressed, ""), Console(file=out, width=120, color_system=None))
    return out.getvalue()


def test_keys_label_skip_and_take_back(start: Callable[..., Session]) -> None:
    session = start()
    told = play(session, "1s5u4q2")
    assert session.store.labelled.labels == (
        "vertical",
        "block",
    )  # 5 is taken back, q ends before 2
    assert len(session.store.skipped) == 1
    assert "taken back" in told


def test_the_guess_is_told_only_when_asked_for_or_after_the_label(
    start: Callable[..., Session],
) -> None:
    session = start()
    assert "the network says" not in play(session, "")
    guess = session.guess()
    assert f"the network says {guess}\n" in play(session, "g")
    shown = session.current()
    assert shown is not None
    assert (
        f"block; the network says {guess} (layer {shown.corner.layer}, head {shown.corner.head})"
        in play(session, "4")
    )


def test_another_key_changes_nothing(start: Callable[..., Session]) -> None:
    session = start()
    told = play(session, "x6u")
    assert "'x' is not one of the keys" in told
    assert "there is nothing to take back" in told
    assert len(session.left) == SIZE


def test_after_the_last_map_it_ends_by_itself(start: Callable[..., Session]) -> None:
    session = start()
    assert "no maps are left" in play(session, "3" * SIZE)
    assert session.counts["vertical+diagonal"] == SIZE


def test_a_map_in_block_characters_is_full_where_attention_is() -> None:
    lines = draw(np.eye(4), colours=False, most=10).plain.splitlines()
    assert lines == ["██      ", "  ██    ", "    ██  ", "      ██"]


def test_a_map_in_colours_has_two_rows_a_line_and_black_is_high() -> None:
    text = draw(np.eye(3), colours=True, most=10)
    assert text.plain.splitlines() == ["▀▀▀", "▀▀▀"]
    assert (
        str(text.spans[0].style) == "rgb(0,0,0) on rgb(255,255,255)"
    )  # first column: row 1 black, row 2 white
    assert str(text.spans[1].style) == "rgb(255,255,255) on rgb(0,0,0)"
    assert (
        str(text.spans[5].style) == "rgb(0,0,0) on rgb(255,255,255)"
    )  # last column: row 3 black, nothing below it


@pytest.mark.parametrize("colours", [True, False])
def test_a_map_larger_than_the_terminal_is_shrunk_to_it(colours: bool) -> None:
    lines = draw(np.eye(64), colours=colours, most=20).plain.splitlines()
    assert len(lines) == (10 if colours else 20)
    assert {len(line) for line in lines} == {20 if colours else 40}
