"""One pass with all attention statistics against a bare SDPA forward pass.

The model has 12 layers, 12 heads and 768 dimensions; the batch has 16 examples of 128 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.networks import bound, networks, offered, plain, random_batch
from benchmarks.timing import Row, best_times, times_row
from headscope.measures import MEASURES, Context, Measure, Role
from headscope.measures.sieves import PAPER
from headscope.runs.forward import Pass

BATCH = 16
BESIDE = ("arc", "profile", "arc_offset")
"""What dependency roles are compared with: computed wherever they are."""
SURFACE = ("position", "special", "entropy", "role", *BESIDE)
PAPERS = (*SURFACE, "dependency", "coreference", "frame", "feature", "link")
"""The measures of the papers. Everything that is offered has the same bar as all of these: main
roles and what is asked of language models today have to fit in."""
BARS = (1.10, 1.18, 1.18)


def names(measures: Sequence[Measure]) -> str:
    """Name measures in one string."""
    return ", ".join(measure.name for measure in measures)


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    bare, model = networks(vocab_size=1000)
    batch = random_batch(BATCH)
    context, wanted = Context(model.shape("encoder")), {*offered(), *BESIDE}
    measures = bound(model, batch, [name for name in MEASURES if name in wanted])
    surface, papers = (
        [measure for measure in measures if measure.name in chosen] for chosen in (SURFACE, PAPERS)
    )
    rest = [measure for measure in measures if measure.name != "role"]
    paper = Role(roles=PAPER).bind(context, [item.example for item in batch.items])
    few, many, all_of_them, without, with_roles = (
        Pass(model, chosen, "encoder", context)
        for chosen in (surface, papers, measures, rest, [*rest, paper])
    )
    base, *seen, less, more = best_times(
        plain(bare, batch),
        lambda: few.run(batch),
        lambda: many.run(batch),
        lambda: all_of_them.run(batch),
        lambda: without.run(batch),
        lambda: with_roles.run(batch),
    )
    name = f"survey with the {paper.width} roles of Pande et al. ÷ without"
    return [
        times_row(name, less, more, 1.1),
        *(
            times_row(f"survey ({names(chosen)}) ÷ bare SDPA forward", base, ours, bar)
            for chosen, ours, bar in zip((surface, papers, measures), seen, BARS, strict=True)
        ),
    ]
