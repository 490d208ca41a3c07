"""One pass that keeps examples for every head against the same pass without.

The model has 12 layers, 12 heads and 768 dimensions; batches have 16 examples of 128 tokens. Fewer
and fewer examples displace those that are kept, so keeping costs most at the beginning. A run of
1000 examples has 63 batches. A batch is timed in each of four states of such a run, and their
weighted mean counts. A state is made from scores drawn as those of the first batch are distributed,
because a real run would take too long. With random weights, attention is spread so evenly that
every row of a map has eight keys to keep: trained models have fewer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.networks import bound, networks, offered, random_batch
from benchmarks.timing import Row, best_times, times_row
from headscope.encode import Batch, collate
from headscope.measures import Context
from headscope.results.kept import PARTS, ExampleStore, Standing
from headscope.runs.forward import Pass
from headscope.runs.keeping import Keeper

BATCH, KEPT, STRONGEST, UNIT = 16, 32, 8, 128
STATES = {64: 8, 192: 8, 384: 16, 768: 31}
"""How many examples were seen before, and for how many batches of a run that stands."""
BAR = 1.05


def seen(count: int, scores: NDArray[np.float32], seed: int) -> Standing:
    """Who is kept after so many examples, with scores (layer, example, head) like these."""
    generator = np.random.default_rng(seed)
    means, spreads = scores.mean(1).ravel(), scores.std(1).ravel()
    drawn = generator.normal(means[:, None], spreads[:, None], (len(means), count))
    best = np.sort(-drawn.astype(np.float32), 1)[:, :STRONGEST]
    digests = sorted(generator.bytes(32) for _ in range(count))[:KEPT]
    return Standing(
        [[(float(score), PARTS * rank) for rank, score in enumerate(row)] for row in best],
        [(digest, PARTS) for digest in digests],
    )


def keeping(
    watched: Pass, keeper: Keeper, batch: Batch, count: int, scores: NDArray[np.float32]
) -> Callable[[], None]:
    """A batch after so many examples; room is made by what a batch needed one unit before."""
    shape = keeper.context.shape

    def run(standing: Standing) -> None:
        store = ExampleStore(shape.labels, shape.heads, KEPT, STRONGEST)
        store.floor = standing
        keeper.store = store
        examples = watched.run(batch).examples
        assert examples is not None
        examples.into(store, np.ones(len(batch), np.bool_))

    needed: dict[int, int] = {}
    if count > UNIT:
        keeper.needed = {}
        run(seen(count - UNIT, scores, 1))
        needed = dict(keeper.needed)
    now = seen(count, scores, 2)

    def again() -> None:
        keeper.needed, keeper.last = dict(needed), needed.get(batch.index, 0)
        run(now)

    return again


def run() -> list[Row]:
    """Return the row of the benchmark table."""
    _, model = networks(vocab_size=1000)
    items = [
        replace(item, example=replace(item.example, id=str(number)))
        for number, item in enumerate(random_batch(BATCH).items)
    ]
    batch = collate(items)
    context = Context(model.shape("encoder"))
    measures = bound(model, batch, offered())
    keeper = Keeper(model, context)
    keeper.keys = {id(item): PARTS * number for number, item in enumerate(items, 10**6)}
    without = Pass(model, measures, "encoder", context)
    watched = Pass(model, measures, "encoder", context, keeper)
    shape = context.shape
    keeper.store = ExampleStore(shape.labels, shape.heads, KEPT, STRONGEST)
    first = watched.run(batch).examples
    assert first is not None
    ways = [keeping(watched, keeper, batch, count, first.scores) for count in STATES]
    base, *times = best_times(lambda: without.run(batch), *ways, rounds=3, clock=time.process_time)
    ours = float(np.average(times, weights=list(STATES.values())))
    name = f"survey of 1000 examples that keeps {KEPT} for every head ÷ without"
    return [times_row(name, base, ours, BAR)]
