"""A survey of long inputs against a bare SDPA forward pass: time and memory.

The model has 4 layers, 12 heads and 768 dimensions and random weights; the text is the built-in
corpus, over and over, so that words repeat as they do in English.
"""

from __future__ import annotations

from collections.abc import Callable

import headscope as hs
from benchmarks.memory import peak_of, print_peak
from benchmarks.networks import networks, plain, survey
from benchmarks.timing import Row, best_times, row, times_row
from headscope.encode import collate

SURFACE = ("position", "special", "entropy", "role")
SIZES = {128: (16, 1.1), 512: (4, 1.2), 1024: (2, 1.35), 2048: (1, 1.5), 4096: (1, 1.8)}
"""Tokens, with the size of a batch and the bar."""
MEMORY_LENGTH, MEMORY_BAR = 4096, 300


def make(length: int, size: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """A bare pass and a survey's pass over a batch of texts of one length."""
    tokenizer = hs.load("demo").tokenizer
    tokenizer.model_max_length = length
    positions = max(length, 512)
    bare, model = networks(tokenizer, num_hidden_layers=4, max_position_embeddings=positions)
    passages = [" ".join(example.texts) for example in hs.read("demo")]
    texts = [" ".join(passages[first:] + passages) for first in range(size)]
    encoder = model.encoder(max_length=length, long="truncate", stack="encoder")
    items = list(encoder.encode(hs.corpus.from_texts(texts)))
    assert {len(item) for item in items} == {length}
    batch = collate(items)
    watched = survey(model, batch, SURFACE)
    return plain(bare, batch), lambda: watched.run(batch)


def time_row(length: int) -> Row:
    """Time a survey of texts of one length."""
    size, bar = SIZES[length]
    base, ours = best_times(*make(length, size), rounds=3 if length > 1024 else 5)
    name = f"survey ({', '.join(SURFACE)}) ÷ bare SDPA, {length} tokens"
    return times_row(name, base, ours, bar)


def child(what: str) -> None:
    """Run one pass and print the peak memory of this process in MiB."""
    bare, watched = make(MEMORY_LENGTH, 1)
    (bare if what == "bare" else watched)()
    print_peak()


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    bare, ours = peak_of("long_inputs", "bare"), peak_of("long_inputs", "survey")
    memory = row(
        f"memory of a survey beyond the bare pass, {MEMORY_LENGTH} tokens, MiB",
        ours - bare,
        f"≤ {MEMORY_BAR}",
        base=f"{bare:.0f} MiB",
        ours=f"{ours:.0f} MiB",
        digits=0,
    )
    return [*(time_row(length) for length in SIZES), memory]
