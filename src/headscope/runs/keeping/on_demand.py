"""Examples of one head from a whole corpus, where results hold none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from headscope.corpus import Corpus
from headscope.encode import TEXT, Batch, Counts, work_units
from headscope.errors import UserError
from headscope.heads import Head, HeadLike
from headscope.measures.base import Context
from headscope.measures.roles import sinks
from headscope.models import LayerView, Model
from headscope.options import Pass
from headscope.progress import Reporter
from headscope.results.kept import SCALE, KeptMap
from headscope.runs.keeping import ExampleOptions
from headscope.runs.keeping.texts import kept_text
from headscope.runs.keeping.windows import WINDOW, away, largest, sparse_map, working
from headscope.runs.survey.work import SurveyWork
from headscope.stats.example_table import example_table


def find_examples(
    model: Model, corpus: Corpus, head: HeadLike, options: ExampleOptions
) -> pd.DataFrame:
    """The examples of :func:`headscope.examples`."""
    chosen = model.shape(options.stack or model.main_stack()).parse(Head.parse(head))[0]
    maps = head_maps(model, corpus, chosen, Pass.of(options), options.reporter)
    return example_table(list(maps), str(chosen), relation=options.relation, k=options.top)


def head_maps(
    model: Model, corpus: Corpus, head: Head, settings: Pass, reporter: Reporter
) -> Iterator[KeptMap]:
    """What one head attends to in every example of a corpus whose attention is finite.

    Parameters
    ----------
    model, corpus
        The model, and what it is run on.
    head
        The head.
    settings
        How the corpus is run through the model.
    reporter
        Shows how far it is.
    """
    stack = settings.stack or model.main_stack()
    if stack == "cross":
        raise UserError(
            "the rows and keys of cross attention are different texts, so it has no examples",
            hint="give stack='encoder' or stack='decoder'",
        )
    context = Context(model.shape(stack), model.causal(stack))
    work = SurveyWork(model, [], stack, context, settings, examples=1)
    counts, size = Counts(), corpus.size()
    with reporter.progress("looking for examples") as update:
        for unit in work_units(corpus, size=settings.batch_size):
            for batch in work.batches(unit, counts):
                yield from _batch_maps(model, batch, head, stack, work.keys)
            update(min(counts.read, size), size)


def _batch_maps(
    model: Model, batch: Batch, head: Head, stack: str, keys: dict[int, int]
) -> Iterator[KeptMap]:
    window = HeadWindow(head, stack, batch, model)
    with torch.inference_mode():
        model.forward(batch, listeners=[window], stack=stack)
    scores, codes = window.found()
    for item, score, code in zip(batch.items, scores.tolist(), codes.numpy(), strict=True):
        if np.isfinite(score):
            text = kept_text(model, item, keys[id(item)], WINDOW)
            sparse = sparse_map(code, len(text.tokens))
            weights = sparse.weights.astype(np.float32) / np.float32(SCALE)
            yield KeptMap(text, score, sparse.counts, sparse.keys, weights)


class HeadWindow:
    """Listens to one head: its scores, and the first rows of its maps.

    Parameters
    ----------
    head, stack
        Which head.
    batch, model
        What it is run on.
    """

    whole_maps = False

    def __init__(self, head: Head, stack: str, batch: Batch, model: Model) -> None:
        self.head, self.stack = head, stack
        self.window = min(batch.width, WINDOW)
        asked = np.zeros((len(batch), self.window), np.float32)
        open_keys = np.zeros((len(batch), batch.width), np.float32)
        for row, item in enumerate(batch.items):
            asked[row, : len(item)] = (item.kind == TEXT)[: self.window]
            open_keys[row, : len(item)] = ~sinks(item)
        self.asked, self.open_keys = torch.from_numpy(asked), torch.from_numpy(open_keys)
        self.blocks: list[Tensor] = []
        self.scores: list[Tensor] = []

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Keep the rows of the window."""
        rows = min(block.shape[2], self.window - first_row)
        if view.stack != self.stack or view.layer != self.head.layer or rows <= 0:
            return
        one = block[:, self.head.head : self.head.head + 1, :rows].float().contiguous()
        open_keys = self.open_keys.to(one.device)
        asked = self.asked[:, first_row : first_row + rows].to(one.device)
        found = away(one, open_keys, first_row, working(one, open_keys))[:, 0]
        # Padded rows may hold NaN.
        self.scores.append(torch.where(asked > 0, found, 0.0).sum(1))
        self.blocks.append(one[:, 0, :, : self.window].clone())

    def end(self, view: LayerView) -> None:
        """Nothing is left to do."""

    def found(self) -> tuple[Tensor, Tensor]:
        """The score of each example (NaN without words), and its map as numbers."""
        scores = torch.stack(self.scores).sum(0).cpu() / self.asked.sum(1)
        return scores, largest(torch.cat(self.blocks, 1)).cpu()
