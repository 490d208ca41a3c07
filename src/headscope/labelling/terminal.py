"""Label maps in a terminal: each map in block characters, one key per label."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text
from torch.nn.functional import adaptive_avg_pool2d

from headscope.figures import shades
from headscope.labelling.session import LabelSession, LastLabel
from headscope.measures.patterns.network import CLASSES

SHADES = " ░▒▓█"
LINES_BELOW = 6
"""Lines of text under a map."""
KEYS = (
    "  ".join(f"{number} {name}" for number, name in enumerate(CLASSES, 1))
    + "   s skip  u undo  g guess  q stop"
)
STOP = {"q", "", "\x03", "\x04"}


def label_here(
    session: LabelSession, read: Callable[[], str], console: Console | None = None
) -> None:
    """Show maps and read keys until no map remains or the user stops.

    Parameters
    ----------
    session
        The session to go through.
    read
        Returns the next key, or "" at the end of the input.
    console
        Where to print; standard output by default.
    """
    console = console or Console(file=sys.stdout, highlight=False)
    while current := session.current():
        console.print(Text(" ".join(current.example.tokens), style="dim"))
        console.print(_fitted(current.attention, console))
        if not _decide(session, read, console):
            return
        if session.last:
            console.print(Text(describe_last(session.last)))
    console.print(Text("no maps remain: give another corpus or a higher --limit"))


def _decide(session: LabelSession, read: Callable[[], str], console: Console) -> bool:
    """Read keys until the current map is dealt with. False if the user stops."""
    labelled, remaining = len(session.store.labelled), len(session.remaining)
    while True:
        console.print(Text(f"{labelled} labelled, {remaining} remaining   {KEYS}"))
        key = read()
        if key in STOP:
            return False
        if key == "g":
            console.print(Text(f"the network predicts {session.prediction()}"))
        elif key == "u":
            console.print(Text("undone" if session.undo() else "nothing to undo"))
            return True
        elif key == "s":
            session.skip()
            return True
        elif key in "12345":
            session.label(CLASSES[int(key) - 1])
            return True
        else:
            console.print(Text(f"{key!r} is not one of the keys"))


def describe_last(last: LastLabel) -> str:
    """Describe the last decision in one line."""
    label = last.label or "skipped"
    return f"{label}; the network predicts {last.prediction} (head {last.map_id.head})"


def _fitted(attention: NDArray[np.float32], console: Console) -> Text:
    """Draw a map no larger than the terminal."""
    colours = console.color_system is not None
    rows = 2 * max(console.height - LINES_BELOW, 8)
    most = min(console.width, rows) if colours else console.width // 2
    return draw(attention, colours=colours, most=most)


def draw(attention: NDArray[np.float32], *, colours: bool, most: int) -> Text:
    """Draw a map in block characters; dark (with colours) or full (without) means high.

    Parameters
    ----------
    attention
        Weights, (query, key).
    colours
        Draw in shades of grey, two rows of the map per line; otherwise one row per line.
    most
        Larger maps are shrunk to this many rows.
    """
    values = shades(attention)
    if len(values) > most:
        values = adaptive_avg_pool2d(torch.from_numpy(values)[None], most)[0].numpy()
    return _in_grey(values) if colours else _in_blocks(values)


def _in_blocks(values: NDArray[np.float64]) -> Text:
    """One row per line; each cell two characters wide, so that it looks square."""
    top = len(SHADES) - 1
    lines = ("".join(2 * SHADES[round(value * top)] for value in row) for row in values.tolist())
    return Text("\n".join(lines), no_wrap=True)


def _in_grey(values: NDArray[np.float64]) -> Text:
    """Two rows per line: the upper half of a character has one colour, the lower half another."""
    grey = np.round(255 * (1 - values)).astype(int)
    if len(grey) % 2:
        grey = np.vstack([grey, np.full(len(grey), 255)])
    text = Text(no_wrap=True)
    for upper, lower in zip(grey[::2], grey[1::2], strict=True):
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            text.append("▀", f"rgb({above},{above},{above}) on rgb({below},{below},{below})")
        text.append("\n")
    return text
