"""Labelling in a terminal: keys, messages, and how a map is drawn."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from rich.console import Console

from headscope.labelling import LabelSession
from headscope.labelling.terminal import draw, label_here
from labelling.conftest import SIZE


def play(session: LabelSession, keys: str) -> str:
    """Press keys, end the input, and return what was printed."""
    pressed = iter(keys)
    out = io.StringIO()
    label_here(session, lambda: next(pressed, ""), Console(file=out, width=120, color_system=None))
    return out.getvalue()


def test_keys_label_skip_and_undo(start: Callable[..., LabelSession]) -> None:
    session = start()
    printed = play(session, "1s5u4q2")
    assert session.store.labelled.labels == ("vertical", "block"), "5 is undone, q ends before 2"
    assert len(session.store.skipped) == 1
    assert "undone" in printed


def test_the_prediction_is_shown_only_when_asked_for_or_after_the_label(
    start: Callable[..., LabelSession],
) -> None:
    session = start()
    assert "the network predicts" not in play(session, "")
    prediction = session.prediction()
    assert f"the network predicts {prediction}\n" in play(session, "g")
    shown = session.current()
    assert shown is not None
    line = f"block; the network predicts {prediction} (head {shown.map_id.head})"
    assert line in play(session, "4")


def test_another_key_changes_nothing(start: Callable[..., LabelSession]) -> None:
    session = start()
    printed = play(session, "x6u")
    assert "'x' is not one of the keys" in printed
    assert "nothing to undo" in printed
    assert len(session.remaining) == SIZE


def test_it_ends_after_the_last_map(start: Callable[..., LabelSession]) -> None:
    session = start()
    assert "no maps remain" in play(session, "3" * SIZE)
    assert session.counts["vertical+diagonal"] == SIZE


def test_a_map_in_block_characters_is_full_where_attention_is() -> None:
    lines = draw(np.eye(4), colours=False, most=10).plain.splitlines()
    assert lines == ["██      ", "  ██    ", "    ██  ", "      ██"]


def test_a_map_in_colours_has_two_rows_per_line_and_black_is_high() -> None:
    text = draw(np.eye(3), colours=True, most=10)
    assert text.plain.splitlines() == ["▀▀▀", "▀▀▀"]
    # First column: row 1 is black, row 2 is white.
    assert str(text.spans[0].style) == "rgb(0,0,0) on rgb(255,255,255)"
    assert str(text.spans[1].style) == "rgb(255,255,255) on rgb(0,0,0)"
    # Last column: row 3 is black, and nothing is below it.
    assert str(text.spans[5].style) == "rgb(0,0,0) on rgb(255,255,255)"


@pytest.mark.parametrize("colours", [True, False])
def test_a_map_larger_than_the_terminal_is_shrunk_to_it(colours: bool) -> None:
    lines = draw(np.eye(64), colours=colours, most=20).plain.splitlines()
    assert len(lines) == (10 if colours else 20)
    assert {len(line) for line in lines} == {20 if colours else 40}
