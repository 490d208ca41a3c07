"""One run that cuts the cache of KV heads: rankings and random choices, at several shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Corpus, Example, from_examples
from headscope.encode import collate
from headscope.errors import CorpusError, UserError
from headscope.files import digest_of
from headscope.models import Model, Replacement
from headscope.models.replace import FittedReplacement
from headscope.progress import Update
from headscope.results import Atlas
from headscope.results.query import split_value
from headscope.runs.ablate.cache import CacheOptions, Cutting
from headscope.runs.ablate.objectives import LanguageModelObjective
from headscope.runs.ablate.prune import check_ranking
from headscope.runs.retrieval.asking import over_needles, unigram_recall
from headscope.runs.retrieval.prompts import (
    Decoder,
    Prompts,
    Sentence,
    documents,
    joined,
    split_sentences,
)
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.survey import survey
from headscope.stats.heads.query import values_by
from headscope.stats.tables.cache import KEPT, NAME, RANDOM, best_choice

SOURCE = "Xiao et al. 2024"
SPARE = 1.02
"""Sentences take fewer tokens together than alone: so many times as many are taken, then cut."""


class CacheRun(Run[Atlas]):
    """The run behind :func:`headscope.cache`. A block is a choice on a text, or a prompt answered
    with several choices at once: a token then reads the weights once for all.

    Parameters
    ----------
    model, corpus
        The model, and the text.
    rankings
        Values of results files, (layer, head), or names of statistics to survey.
    options
        What is cut, and how it is judged.
    """

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        rankings: Sequence[xr.DataArray | str],
        options: CacheOptions,
    ) -> None:
        super().__init__(options, "cutting the cache")
        self.decoder = Decoder(model, options.why)
        self.model, self.corpus, self.rankings = model, corpus, rankings
        self.stack, self.shape = self.decoder.stack, self.decoder.shape
        files = [rank for rank in rankings if not isinstance(rank, str)]
        for rank in files:
            check_ranking(rank, model.name, self.shape)
        self.names = [rank if isinstance(rank, str) else rank.attrs["value"] for rank in rankings]
        if len(set(self.names)) < len(self.names):
            raise UserError(
                f"a ranking is given twice: {', '.join(self.names)}",
                hint="give each once; those of two files need values of different names",
            )
        self.notes: list[str] = []
        self.options = replace(options, needles=self._unused(files, options))
        self.prompts = Prompts(model, corpus, self.options)
        self.objective = LanguageModelObjective(model)
        self.length = min(options.tokens, model.longest or options.tokens)
        if self.length < options.tokens:
            self.notes.append(f"texts have {self.length} tokens: the model takes no more")
        if sum(options.window) >= self.length:
            raise UserError(
                f"texts of {self.length} tokens are no longer than what is left of a cut cache, "
                f"{options.first} + {options.recent} tokens",
                hint=f"give tokens={4 * sum(options.window)}, or a smaller recent=",
            )
        self.texts = list(self._texts())
        self.sizes = [len(group) for group in self.shape.kv_groups]
        groups = len(self.sizes)
        self.counts = sorted({round(share * groups) for share in options.keep} - {groups})[::-1]
        self.orders = np.zeros((0, groups), np.int64)
        # All KV heads and none are the same choice for every order.
        self.plan = [(0, groups)]
        for count in self.counts:
            every = range(len(rankings) + options.draws) if count else (0,)
            self.plan += [(order, count) for order in every]
        self.scores = np.full((len(self.plan), len(self.texts) + len(self.prompts.places)), np.nan)

    def _unused(self, files: Sequence[xr.DataArray], options: CacheOptions) -> Sequence[Any]:
        """The needles that made no ranking: those would flatter it."""
        used = {text for ranking in files for text in ranking.attrs["needles"]}
        left = tuple(needle for needle in options.hidden if needle.text not in used)
        if not left:
            self.notes.append("all needles also made a ranking, which flatters it")
        elif len(left) < len(options.hidden):
            known = len(options.hidden) - len(left)
            self.notes.append(f"needles that made a ranking are not asked for: {known}")
        return left or options.hidden

    def _texts(self) -> Iterator[Example]:
        """Long texts, which share no sentence: documents one after the other."""
        held: list[Sentence] = []
        count = 0
        for parts in documents(self.corpus):
            for place, piece in enumerate(split_sentences(" ".join(parts))):
                held.append(Sentence(piece, self.prompts.count(" " + piece), not place))
                if sum(sentence.tokens for sentence in held) >= SPARE * self.length:
                    count += 1
                    yield Example(f"text {count}", (joined(held),))
                    held = []
                    if count == self.options.passages:
                        return
        if count < 2:
            raise CorpusError(
                f"{self.corpus.name} has no two texts of {self.length} tokens",
                hint=f"give more text, or shorter texts: tokens={self.length // 4}",
            )
        self.notes.append(f"{self.corpus.name} has {count} texts of {self.length} tokens")

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, text and settings."""
        settings = self.options.subset(Cutting)
        del settings["text"]
        ranks = [
            rank if isinstance(rank, str) else [str(rank.name), digest_of(rank.values.tobytes())]
            for rank in self.rankings
        ]
        return {
            "kind": NAME,
            "model": describe(self.model, self.stack),
            "corpus": self.corpus.about,
            "settings": settings
            | {"by": ranks, "needles": len(self.options.hidden), "chat": self.prompts.chat}
            | {"tokens": self.length, "passages": len(self.texts)}
            | {"keep": [float(share) for share in self.options.keep]},
            "needles": [asdict(needle) for needle in self.options.hidden],
        }

    # --- what is cut ---

    def begin(self) -> None:
        """Order KV heads by each ranking and at random, the first to keep first."""
        if len(self.orders):
            return
        orders = []
        for at, ranking in enumerate(self.rankings):
            values = self._surveyed(ranking) if isinstance(ranking, str) else ranking.values
            # The query heads of a KV head are neighbours; it is needed if one of them needs it.
            worth = np.maximum.reduceat(values.ravel(), np.cumsum([0, *self.sizes[:-1]]))
            ties = np.random.default_rng([self.options.seed, at]).random(len(worth))
            orders.append(np.lexsort((ties, -worth)))
        for draw in range(self.options.draws):
            generator = np.random.default_rng([self.options.seed, len(orders), draw])
            orders.append(generator.permutation(len(self.sizes)))
        self.orders = np.array(orders)

    def _surveyed(self, by: str) -> NDArray[np.float64]:
        """A statistic of every head on the texts whose loss is computed."""
        atlas = survey(
            self.model,
            from_examples(self.texts),
            measures=split_value(by)[0],
            max_length=self.length,
            batch_size=1,
            stack=self.stack,
        )
        values = values_by(atlas, by)
        if not np.isfinite(values).all():
            raise UserError(
                f"{by} is not defined for every head",
                hint="give longer texts, or rank by another value",
            )
        return values

    def choice(self, order: int, count: int) -> int:
        """The place in the plan of so many KV heads of an order."""
        same = (0, count)
        return self.plan.index(same if count in (0, len(self.sizes)) else (order, count))

    def cut(self, choice: int) -> FittedReplacement:
        """What happens to the heads that do not keep their cache."""
        (order, count), groups = self.plan[choice], self.shape.kv_groups
        heads = [head for place in self.orders[order][count:] for head in groups[place]]
        off = Replacement(heads, "window", self.stack, window=self.options.window)
        return off.fit(self.model)

    # --- what it costs ---

    @cached_property
    def work_list(self) -> list[tuple[int, list[int]]]:
        """Texts and prompts, each with choices: the whole cache first."""
        choices, texts = list(range(len(self.plan))), len(self.texts)
        work = [(text, [choice]) for choice in choices for text in range(texts)]
        for prompt, place in enumerate(self.prompts.places, texts):
            most = self.decoder.together(place.length)
            work += [(prompt, choices[first : first + most]) for first in choices[::most]]
        return work

    def blocks(self) -> Iterator[Block]:
        """Every choice on every text, then every prompt."""
        return (Block(number, work) for number, work in enumerate(self.work_list))

    def progress(self) -> tuple[int, int]:
        """Blocks."""
        return self.next_block, len(self.work_list)

    def do(self, block: Block, update: Update) -> None:
        """The loss of one text, or the recall of the answers to one prompt."""
        item, choices = block.work
        offs, prompt = [self.cut(choice) for choice in choices], item - len(self.texts)
        scores = [self.loss(item, *offs)] if prompt < 0 else self.recalls(prompt, offs)
        self.scores[choices, item] = scores

    def loss(self, number: int, off: FittedReplacement) -> float:
        """The mean loss of the next token in one text."""
        encoder = self.model.encoder(max_length=self.length, long="truncate", stack=self.stack)
        batch = collate(encoder.encode([self.texts[number]]), pad=self.model.pad)
        question = self.objective.ask(batch)
        with torch.inference_mode(), self.objective.asking(question):
            output = self.model.forward(question.batch, replacement=off)
            return float(self.objective.read(output, question))

    def recalls(self, number: int, offs: Sequence[FittedReplacement]) -> list[float]:
        """The share of the answer's words that are written after one prompt, with each choice."""
        prompt = self.prompts.make(number)
        answer = self.options.hidden[prompt.place.needle].answer
        texts = map(self.decoder.text, self.decoder.write_cut(prompt.ids, offs))
        return [unigram_recall(answer, text) for text in texts]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Orders and scores so far."""
        return {}, {"orders": self.orders, "scores": self.scores}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take them up."""
        self.orders, self.scores = arrays["orders"].copy(), arrays["scores"].copy()

    # --- the result ---

    def result(self) -> Atlas:
        """Losses and recalls by ranking and share, and which heads keep their cache."""
        texts = len(self.texts)
        needles = np.array([place.needle for place in self.prompts.places])
        judged = {
            "loss": self._part(slice(texts), np.arange(texts), "positive"),
            "recall": self._part(slice(texts, None), needles, "share"),
        }
        data = xr.concat(judged.values(), dim="judged").assign_coords(judged=list(judged))
        data = data.assign(share=data["kept"] / len(self.sizes)).assign_attrs(
            title="Loss and recall with the cache of KV heads cut",
            unit="nats; share of the answer's words",
            source=SOURCE,
            kind="curve",
            listed="no",
            window=self.options.window_title,
            tolerance=self.options.tolerance,
        )
        notes = [*self.notes, *self.prompts.notes, *self.model.notes]
        provenance = self.provenance() | {"notes": notes}
        groups = {NAME: data} | ({KEPT: self._kept(data)} if any(self.counts) else {})
        return Atlas.build(groups, provenance)

    def _part(self, items: slice, units: NDArray[np.int64], values: Any) -> xr.Dataset:
        """The scores of some items, (by, kept), with intervals over units."""
        rankings, counts = len(self.rankings), [len(self.sizes), *self.counts]
        every = np.array(
            [
                [self.scores[self.choice(order, count), items] for count in counts]
                for order in range(len(self.orders))
            ]
        )
        own = np.concatenate([every[:rankings], every[rankings:].mean(0, keepdims=True)])
        labels: dict[str, Any] = {"by": np.array([*self.names, RANDOM], object), "kept": counts}
        cells = xr.DataArray(own, labels, ("by", "kept", "prompt"))
        draws = xr.DataArray(every[rankings:].mean(2), {"kept": counts}, ("draw", "kept"))
        mean, low, high, error = over_needles(cells, units, values)
        parts = {"mean": mean, "low": low, "high": high, "deviation": error, "draw": draws}
        for name, reference in (("change", cells[:, :1]), ("over", cells[-1:])):
            differences = over_needles(cells - reference.values, units)
            parts |= dict(zip((name, f"{name}_low", f"{name}_high"), differences, strict=False))
        return xr.Dataset(parts | {"n": xr.full_like(mean, own.shape[2], np.int64)})

    def _kept(self, data: xr.Dataset) -> xr.Dataset:
        """1 for every head that keeps its cache, (layer, head, by, kept)."""
        shape, counts = self.shape, [count for count in self.counts if count]
        grid = np.zeros((len(self.sizes), len(self.names), len(counts)))
        for by, at in np.ndindex(grid.shape[1:]):
            grid[self.orders[by][: counts[at]], by, at] = 1
        heads = np.repeat(grid, self.sizes, 0).reshape(shape.layers, shape.heads, *grid.shape[1:])
        labels: dict[str, Any] = {
            **{"layer": list(shape.labels), "head": range(1, shape.heads + 1)},
            **{"by": np.array(self.names, object), "kept": counts},
        }
        kept, best = xr.DataArray(heads, labels, [*labels]), best_choice(data)
        unknown = xr.full_like(kept, np.nan)
        return xr.Dataset(
            {"mean": kept, "low": unknown, "high": unknown, "n": xr.ones_like(kept, np.int64)},
            attrs={
                "title": "heads that keep the whole cache",
                "unit": "1: whole, 0: cut",
                "source": SOURCE,
                "kind": "choice",
                "listed": "no",
                "chosen": f'{KEPT}:"{best[0]}":{best[1]}' if best else "",
                "first": self.options.first,
                "recent": self.options.recent,
            },
        )
