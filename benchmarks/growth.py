"""How cost grows with tokens, heads, measures and texts: ``python -m benchmarks.growth [--draw]``.

Each point is measured in a process of its own with one thread: processor time of a survey divided
by that of a bare SDPA forward pass over the same inputs, and peak memory beyond the bare pass. The
points go to ``benchmarks/growth.json``, the figure to ``docs/images/growth.png``; ``--draw`` only
draws the points that are there.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

import headscope as hs
from benchmarks.__main__ import write
from benchmarks.long_inputs import SURFACE, make
from benchmarks.memory import reset_peak, status
from benchmarks.networks import networks, offered, plain, random_batch, survey
from headscope.encode import Batch

POINTS = Path(__file__).with_name("growth.json")
PICTURE = Path(__file__).parents[1] / "docs/images/growth.png"
TOKENS = {64: 32, 128: 16, 256: 8, 512: 4, 1024: 2, 2048: 1, 4096: 1}
"""Tokens, with the size of a batch."""
VALUES: dict[str, tuple[int, ...]] = {
    "tokens": tuple(TOKENS),
    "heads": (16, 24, 48, 96, 192),
    "measures": (1, 2, 3, 4, 6, 8, 9),
    "texts": (64, 256, 1024),
}
TITLES = {
    "tokens": "tokens per text",
    "heads": "heads in 4 layers, 128 tokens",
    "measures": "measures at once, 128 tokens",
    "texts": "texts in the corpus",
}
ROUNDS = 3
Way = Callable[[], object]


def one_pass(names: Iterable[str], **config: int) -> tuple[Way, Way]:
    """Make a bare pass and a survey's pass over a batch of eight sequences of 128 tokens."""
    bare, model = networks(num_hidden_layers=4, **config)
    batch = random_batch(8)
    watched = survey(model, batch, names)
    return plain(bare, batch), lambda: watched.run(batch)


def by_tokens(value: int) -> tuple[Way, Way]:
    """Longer texts."""
    return make(value, TOKENS[value])


def by_heads(value: int) -> tuple[Way, Way]:
    """More heads; the layers are as wide as before."""
    return one_pass(SURFACE, num_attention_heads=value // 4)


def by_measures(value: int) -> tuple[Way, Way]:
    """More measures: first those that need nothing but text, then those of annotated text."""
    order = [*SURFACE, *(name for name in offered() if name not in SURFACE)]
    return one_pass(order[:value])


def by_texts(value: int) -> tuple[Way, Way]:
    """More texts, from reading to results."""
    passages = [" ".join(example.texts) for example in hs.read("demo")]
    texts = [passages[number % len(passages)] for number in range(value)]
    model, bare = hs.load("demo"), hs.load("demo").network
    bare.set_attn_implementation("sdpa")
    encoder = model.encoder(max_length=64, long="truncate", stack="encoder")
    batches: list[Batch] = list(
        hs.encode.batches(encoder.encode(hs.corpus.from_texts(texts)), size=16)
    )

    ways = [plain(bare, batch) for batch in batches]
    return lambda: [way() for way in ways], lambda: hs.survey(
        model, texts, measures=list(SURFACE), max_length=64, batch_size=16
    )


MAKERS = {"tokens": by_tokens, "heads": by_heads, "measures": by_measures, "texts": by_texts}


def point(kind: str, value: int) -> dict[str, Any]:
    """Measure one point in this process."""
    bare, survey = MAKERS[kind](value)
    peaks, best = [], [float("inf")] * 2
    for way in (bare, survey):
        reset_peak()
        way()
        peaks.append(status("VmHWM"))
    for _ in range(1 if kind == "texts" else ROUNDS):
        for index, way in enumerate((bare, survey)):
            start = time.process_time()
            way()
            best[index] = min(best[index], time.process_time() - start)
    return {
        "kind": kind,
        "value": value,
        "ratio": round(best[1] / best[0], 3),
        "bare": round(best[0], 3),
        "survey": round(best[1], 3),
        "memory": round(max(0.0, peaks[1] - peaks[0]), 1),
    }


def measure(kind: str, value: int) -> dict[str, Any]:
    """Measure one point in a process of its own, which has all imports already."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(point, (kind, value))


def draw(points: list[dict[str, Any]]) -> Any:
    """Draw time above and memory below, one column per thing that grows."""
    import altair as alt
    import pandas as pd

    from headscope.figures.style import BLUE, ORANGE, styled

    frame = pd.DataFrame(points)
    rows = []
    for field, title, colour, floor in (
        ("ratio", "time ÷ bare pass", BLUE, 1.0),
        ("memory", "memory beyond bare, MiB", ORANGE, 0.0),
    ):
        top = max(float(frame[field].max()) * 1.05, floor + 0.1)
        columns = []
        for kind in VALUES:
            values = sorted(frame.loc[frame["kind"] == kind, "value"].tolist())
            straight = {"type": "linear"} if kind == "measures" else {"type": "log", "base": 2}
            x = alt.X(
                "value:Q",
                title=TITLES[kind],
                scale=alt.Scale(domain=[values[0], values[-1]], nice=False, **straight),
                axis=alt.Axis(values=values, format="d", grid=False, labelAngle=-45),
            )
            y = alt.Y(
                f"{field}:Q",
                title=title if kind == "tokens" else None,
                scale=alt.Scale(domain=[floor, top], nice=False),
            )
            base = alt.Chart(frame[frame["kind"] == kind], width=170, height=130).encode(x=x, y=y)
            line = base.mark_line(color=colour)
            columns.append(line + base.mark_point(color=colour, filled=True, size=40))
        rows.append(alt.hconcat(*columns, spacing=18))
    return styled(
        alt.vconcat(*rows, spacing=18),
        "What a survey costs beyond a bare forward pass",
        "position, special, entropy and role; 4 layers, 768 wide; texts: the model demo",
    )


def main() -> None:
    """Measure unless told only to draw; write points and picture."""
    from headscope.figures import save_chart

    if "--draw" not in sys.argv:
        torch.set_num_threads(1)
        points = []
        for kind, values in VALUES.items():
            for value in values:
                points.append(measure(kind, value))
                print(json.dumps(points[-1]), file=sys.stderr)
                write(POINTS, points)
    points = json.loads(POINTS.read_text(encoding="utf-8"))["rows"]
    print(save_chart(draw(points), PICTURE))


if __name__ == "__main__":
    main()
