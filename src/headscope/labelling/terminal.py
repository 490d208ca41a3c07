"""Labelling in a terminal: maps in block characters, one key a label."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text
from torch.nn.functional import adaptive_avg_pool2d

from headscope.figures.patterns.grid import shades
from headscope.labelling.session import Said, Session
from headscope.measures.patterns.network import CLASSES

SHADES = " ░▒▓█"
BELOW = 6
"""Lines that stand under a map."""
KEYS = (
    "  ".join(f"{number} {name}" for number, name in enumerate(CLASSES, 1))
    + "   s skip  u undo  g guess  q stop"
)


def label_here(session: Session, read: Callable[[], str], console: Console | None = None) -> None:
    """Show maps and read keys until none is left, or the person stops. ``read`` gives one key, "" at the end of the input."""
    console = console or Console(file=sys.stdout, highlight=False)
    while shown := session.current():
        console.print(Text(" ".join(shown.seen.tokens), style="dim"))
        console.print(_fitted(shown.attention, console))
        while True:
            console.print(
                Text(f"{len(session.store.labelled)} labelled, {len(session.left)} left   {KEYS}")
            )
            key = read()
            if key in {"q", "", "\x03", "\x04"}:
                return
            if key == "g":
                console.print(Text(f"the network says {session.guess()}"))
            elif key == "u":
                console.print(
                    Text("taken back" if session.undo() else "there is nothing to take back")
                )
                break
            elif key == "s":
                session.skip()
                break
            elif key in "12345":
                session.label(CLASSES[int(key) - 1])
                break
            else:
                console.print(Text(f"{key!r} is not one of the keys"))
        if session.last:
            console.print(Text(told(session.last)))
    console.print(Text("no maps are left: give another corpus, or a higher --limit"))


def told(last: Said) -> str:
    """One line on the last map."""
    return f"{last.label or 'skipped'}; the network says {last.guess} (layer {last.corner.layer}, head {last.corner.head})"


def _fitted(attention: NDArray[np.float32], console: Console) -> Text:
    """A map drawn no larger than the terminal."""
    colours = console.color_system is not None
    return draw(
        attention,
        colours=colours,
        most=min(console.width, 2 * max(console.height - BELOW, 8))
        if colours
        else console.width // 2,
    )


def draw(attention: NDArray[np.float32], *, colours: bool, most: int) -> Text:
    """A map of at most ``most`` rows: two rows a line in shades of grey, or, without colours, a row a line in block characters; dark (or full) is high."""
    values = shades(attention)
    if len(values) > most:
        values = adaptive_avg_pool2d(torch.from_numpy(values)[None], most)[0].numpy()
    if not colours:
        return Text(
            "\n".join(
                "".join(2 * SHADES[round(value * (len(SHADES) - 1))] for value in row)
                for row in values.tolist()
            ),
            no_wrap=True,
        )
    grey = np.round(255 * (1 - values)).astype(int)
    if len(grey) % 2:
        grey = np.vstack([grey, np.full(len(grey), 255)])
    text = Text(no_wrap=True)
    for upper, lower in zip(grey[::2], grey[1::2], strict=True):
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            text.append("▀", f"rgb({above},{above},{above}) on rgb({below},{below},{below})")
        text.append("\n")
    return text
