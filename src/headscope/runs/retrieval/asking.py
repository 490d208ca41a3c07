"""The run: every prompt answered with all heads, then again with some heads disabled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headscope.corpus import Corpus
from headscope.errors import ModelError
from headscope.models import Model, ModelLike, Replacement, as_model, using_model
from headscope.models.projections import base_digests
from headscope.options import Loading
from headscope.progress import Update
from headscope.results import Atlas
from headscope.results.merge import RETRIEVAL
from headscope.runs.retrieval.decoding import Decoder, not_a_decoder
from headscope.runs.retrieval.prompts import ANSWER, Prompts
from headscope.runs.retrieval.scores import (
    choose_heads,
    half_of,
    head_counts,
    layer_note,
    over_needles,
    retrieval_scores,
    unigram_recall,
    variants_of,
)
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.stats.tables.circuits import MASKING, RECOVERED

if TYPE_CHECKING:
    from headscope.runs.retrieval import RetrievalOptions


SOURCE = "Wu et al. 2024"


@contextmanager
def language_model(model: ModelLike, options: RetrievalOptions) -> Iterator[Model]:
    """A model with its language-model head, closed at the end if it was loaded here.

    Raises
    ------
    ModelError
        If it cannot be loaded. An encoder without a head is refused as an encoder.
    """
    # Whether its prompts are chats is no matter of loading here.
    loading = Loading(**options.subset(Loading) | {"chat": False})
    try:
        used = as_model(model, loading, head="lm")
    except ModelError as error:
        raise _explained(error, model, loading) from None
    try:
        yield used
    finally:
        if used is not model:
            used.close()


def _explained(error: ModelError, model: ModelLike, loading: Loading) -> ModelError:
    """Why a model was not loaded with a language-model head: perhaps it is an encoder."""
    try:
        with using_model(model, loading) as bare:
            return not_a_decoder(bare) or error
    except ModelError:
        return error


class RetrievalRun(Run[Atlas]):
    """A resumable run of retrieval. Its blocks are prompts: once to score heads, once to check.

    Parameters
    ----------
    model
        A causal language model with its head.
    corpus
        The text around the needles.
    options
        Needles, lengths, depths, what the check disables, and where results go.
    """

    def __init__(self, model: Model, corpus: Corpus, options: RetrievalOptions) -> None:
        super().__init__(options, "retrieval")
        self.model, self.corpus, self.options = model, corpus, options
        self.decoder = Decoder(model)
        self.shape = self.decoder.shape
        heads = self.shape.layers * self.shape.heads
        self.counts = head_counts(options.masked, heads)
        self.variants = variants_of(self.counts, options.draws)
        self.prompts = Prompts(model, corpus, options)
        places = self.prompts.places
        self.needles = np.array([place.needle for place in places], np.int64)
        self.scores = np.zeros((len(places), self.shape.layers, self.shape.heads), np.float32)
        self.recall = np.full(len(places), np.nan)
        self.tokens = np.zeros(len(places), np.int64)
        self.masked = np.full((len(places), len(self.variants)), np.nan)
        self.written = [""] * len(places)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, text and settings."""
        return {
            "kind": RETRIEVAL,
            "model": describe(self.model, self.decoder.stack)
            | {"same_weights": base_digests(self.model)},
            "corpus": self.corpus.about,
            "settings": self.options.about()
            | {
                "lengths": list(self.prompts.lengths),
                "chat": self.prompts.chat,
                "answer": ANSWER,
                "random_heads": "of the layers of the top heads",
            },
            "needles": [asdict(needle) for needle in self.options.hidden],
        }

    def blocks(self) -> Iterator[Block]:
        """Every prompt, then every prompt again with heads disabled."""
        count = len(self.prompts.places)
        for number in range(count * (2 if self.counts else 1)):
            yield Block(number, (number % count, number >= count))

    def progress(self) -> tuple[int, int]:
        """Prompts that were answered, with all heads and with some disabled."""
        return self.next_block, len(self.prompts.places) * (2 if self.counts else 1)

    def do(self, block: Block, update: Update) -> None:
        """Answer one prompt."""
        number, disabled = block.work
        if disabled:
            self._mask(number)
            return
        prompt = self.prompts.make(number)
        answer = self.decoder.write(self.decoder.read(prompt.ids), prompt.ids)
        text = self.decoder.text(answer)
        scores = retrieval_scores(
            np.stack(answer.top_keys), np.array(answer.tokens), prompt.ids, prompt.span
        )
        self.whole = False
        needle = self.options.hidden[prompt.place.needle]
        self.scores[number], self.tokens[number] = scores, len(prompt.ids)
        self.recall[number] = unigram_recall(needle.answer, text)
        self.written[number] = text

    def _mask(self, number: int) -> None:
        """Answer one prompt again with each set of heads disabled, if it was recovered."""
        heads = self.disabled[half_of(int(self.needles[number]))]
        if heads is None or not self.recovered[number]:
            return
        stack, way = self.decoder.stack, self.options.way
        offs = [Replacement(one, way=way, stack=stack).fit(self.model) for one in heads]
        prompt = self.prompts.make(number)
        answers = self.decoder.write_each(self.decoder.read(prompt.ids), prompt.ids, offs)
        needle = self.options.hidden[prompt.place.needle]
        texts = map(self.decoder.text, answers)
        self.masked[number] = [unigram_recall(needle.answer, text) for text in texts]

    @property
    def recovered(self) -> Any:
        """Whether each answer was recovered, (prompt,)."""
        return self.recall > RECOVERED

    @cached_property
    def disabled(self) -> list[Any]:
        """What is disabled for each half of the needles; used when all prompts are scored."""
        return [
            choose_heads(
                self.scores,
                self.needles,
                self.recovered,
                half,
                shape=self.shape,
                counts=self.counts,
                draws=self.options.draws,
                seed=self.options.seed,
            )
            for half in range(2)
        ]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Scores and answers so far."""
        names = ("scores", "recall", "tokens", "masked")
        return {"written": self.written}, {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take up scores and answers."""
        self.written = list(state["written"])
        for name, array in arrays.items():
            setattr(self, name, array.copy())

    def result(self) -> Atlas:
        """Scores over recovered answers, and the check."""
        groups = {RETRIEVAL: self._score_dataset()}
        used = ~np.isnan(self.masked[:, 0])
        if self.counts and used.any():
            groups[MASKING] = self._masking_dataset(used)
        more = {"notes": self._notes(used), "masking": self._masking() if self.counts else []}
        return Atlas.build(groups, self.provenance() | more)

    def _score_dataset(self) -> xr.Dataset:
        """The retrieval score of every head, with its interval over needles, and all answers."""
        recovered, shape = self.recovered, self.shape
        cells = xr.DataArray(self.scores.astype(np.float64), dims=("prompt", "layer", "head"))
        mean, low, high, error = over_needles(cells[recovered], self.needles[recovered], "share")
        grid = ("layer", "head")
        count = int(recovered.sum())
        spread = cells[recovered].std("prompt", ddof=1) if count > 1 else mean * np.nan
        places = self.prompts.places
        return xr.Dataset(
            {
                "mean": (grid, mean.values),
                "low": (grid, low.values),
                "high": (grid, high.values),
                "error": (grid, error.values),
                "deviation": (grid, spread.values),
                "n": (grid, np.full(mean.shape, count, np.int64)),
                "score": (("prompt", *grid), self.scores),
                "recall": ("prompt", self.recall),
                "tokens": ("prompt", self.tokens),
                "needle": ("prompt", self.needles + 1),
                "length": ("prompt", np.array([place.length for place in places], np.int64)),
                "depth": ("prompt", np.array([place.depth for place in places], np.float64)),
                "written": ("prompt", np.array(self.written, dtype=object)),
            },
            {"layer": list(shape.labels), "head": list(range(1, shape.heads + 1))},
            {
                "title": "retrieval score",
                "unit": "share of the answer's tokens",
                "source": SOURCE,
                "kind": "mean",
                "listed": "yes",
            },
        )

    def _masking_dataset(self, used: Any) -> xr.Dataset:
        """How much of the answers is written with heads disabled, with intervals over needles."""
        recall, variants = self.masked[used], self.variants
        groups = list(dict.fromkeys(variant.group for variant in variants))
        merged = np.empty((len(groups), len(recall)))
        by_draw = np.full((len(groups), self.options.draws), np.nan)
        for at, group in enumerate(groups):
            own = [place for place, variant in enumerate(variants) if variant.group == group]
            merged[at] = recall[:, own].mean(1)
            by_draw[at, : len(own)] = recall[:, own].mean(0)
        against = [groups.index(group.replace("top", "random")) for group in groups]
        cells = xr.DataArray(merged, dims=("disabled", "prompt"))
        mean, low, high, error = over_needles(cells, self.needles[used], "share")
        differences = over_needles(cells - cells[against].values, self.needles[used])
        compared = np.array([one != at for at, one in enumerate(against)])
        names = ("difference", "difference_low", "difference_high")
        return xr.Dataset(
            {
                "mean": ("disabled", mean.values),
                "low": ("disabled", low.values),
                "high": ("disabled", high.values),
                "deviation": ("disabled", error.values),
                "n": ("disabled", np.full(len(groups), len(recall), np.int64)),
                "draw_mean": (("disabled", "draw"), by_draw),
                **{
                    name: ("disabled", np.where(compared, part.values, np.nan))
                    for name, part in zip(names, differences, strict=False)
                },
            },
            {"disabled": np.array(groups, dtype=object)},
            {
                "title": "recall of answers with heads disabled",
                "unit": "share of the answer's words",
                "source": SOURCE,
                "kind": "curve",
                "listed": "no",
            },
        )

    def _masking(self) -> list[dict[str, Any]]:
        """Which heads were disabled, for provenance."""
        return [
            {
                "needles": ("odd numbers", "even numbers")[half],
                "disabled": variant.group,
                "heads": [str(head) for head in heads],
            }
            for half, chosen in enumerate(self.disabled)
            for variant, heads in zip(self.variants, chosen or [], strict=False)
            if variant.count
        ]

    def _notes(self, used: Any) -> list[str]:
        notes = [
            note  # a chat template begins a text as it should
            for note in self.model.notes
            if not (self.prompts.chat and "beginning-of-sequence" in note)
        ]
        notes += self.prompts.notes
        recovered = int(self.recovered.sum())
        if not recovered:
            notes.append("no answer was recovered, so that no head has a score")
        if self.options.masked == () or not recovered:
            return notes
        if self.counts != (self.options.masked or self.counts):
            notes.append(
                "of the numbers of heads to disable, those over half of all heads were skipped"
            )
        if not self.counts:
            return notes
        if int(used.sum()) < recovered:
            notes.append(
                f"heads were disabled for {int(used.sum())} of {recovered} recovered answers: "
                "those of one half of the needles choose the heads for the other half"
            )
        note = layer_note([chosen for chosen in self.disabled if chosen], self.variants)
        return [*notes, note] if note else notes
