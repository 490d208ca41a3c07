"""Disabling groups of heads: what a language model loses on text, and on text that it has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Corpus
from headscope.encode import START, TEXT, Batch, Encoded, collate
from headscope.errors import UserError
from headscope.heads import Head, HeadsLike, all_heads, head_names, parse_heads
from headscope.models import Model, Replacement
from headscope.models.replace import FittedReplacement
from headscope.progress import Update
from headscope.results import Atlas
from headscope.runs.ablate import Doubling, GroupOptions
from headscope.runs.preparing import check_predicts
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.synthetic import encoded_tokens
from headscope.stats.tables.ablation import COPIES, NAME, group_dataset

SIZE = 8
"""Passages per forward pass."""


class GroupRun(Run[Atlas]):
    """The run behind :func:`headscope.group_losses`. A block is one set of disabled heads."""

    def __init__(
        self, model: Model, corpus: Corpus, groups: Mapping[str, HeadsLike], options: GroupOptions
    ) -> None:
        super().__init__(options, "disabling groups")
        check_predicts(model)
        self.model, self.corpus, self.options = model, corpus, options
        self.stack = model.main_stack()
        self.items = doubled(model, corpus, options, self.stack)
        shape = model.shape(self.stack)
        self.groups = {
            name: parse_heads(heads, layers=shape.numbers, heads=shape.heads)
            for name, heads in groups.items()
        }
        if not self.groups:
            raise UserError("no group of heads was given", hint='e.g. {"mine": "3-9,4-1"}')
        every = all_heads(shape.numbers, shape.heads)
        self.sets: list[tuple[Head, ...]] = [()]
        for number, heads in enumerate(self.groups.values()):
            self.sets.append(heads)
            for draw in range(options.draws):
                generator = np.random.default_rng([options.seed, number, draw])
                self.sets.append(matched_heads(heads, every, generator))
        self.losses = np.full((len(self.sets), len(self.items), len(COPIES)), np.nan)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, groups and settings."""
        return {
            "kind": NAME,
            "model": describe(self.model, self.stack),
            "corpus": self.corpus.about,
            "settings": self.options.subset(Doubling),
            "groups": {name: head_names(heads) for name, heads in self.groups.items()},
        }

    def blocks(self) -> Iterator[Block]:
        """Nothing disabled, then every group with its draws."""
        for number, heads in enumerate(self.sets):
            yield Block(number, heads)

    def progress(self) -> tuple[int, int]:
        """Sets of heads."""
        return self.next_block, len(self.sets)

    def do(self, block: Block, update: Update) -> None:
        """The loss on every passage with some heads disabled."""
        off = Replacement(block.work, way=self.options.way, stack=self.stack).fit(self.model)
        losses = [
            copy_losses(
                self.model, collate(self.items[start : start + SIZE], pad=self.model.pad), off
            )
            for start in range(0, len(self.items), SIZE)
        ]
        self.whole = False
        self.losses[block.index] = np.concatenate(losses)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """The losses so far."""
        return {}, {"losses": self.losses}

    def restore(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Take them up."""
        self.losses = arrays["losses"].copy()

    def result(self) -> Atlas:
        """Increases of the loss with intervals and draws."""
        names = {name: head_names(heads) for name, heads in self.groups.items()}
        documents = [item.example.group for item in self.items]
        data = group_dataset(self.losses, names, draws=self.options.draws, documents=documents)
        return Atlas.build({NAME: data}, self.provenance() | {"notes": list(self.model.notes)})


def doubled(model: Model, corpus: Corpus, options: Doubling, stack: str) -> list[Encoded]:
    """The beginnings of the first texts that are long enough, each written twice."""
    length, longest = options.length, model.longest
    if longest is not None and 2 * length + 1 > longest:
        raise UserError(
            f"two copies of {length} tokens with a start token are {2 * length + 1}, and "
            f"{model.name} takes at most {longest} tokens",
            hint=f"give length={(longest - 1) // 2}",
        )
    encoder = model.encoder(
        max_length=min(longest or 2 * length + 1, 2 * length + 1), long="truncate", stack=stack
    )
    passages: list[Encoded] = []
    for item in encoder.encode(corpus):
        words = item.ids[item.kind == TEXT]
        if len(words) < length:
            continue
        start = int(item.ids[0]) if item.kind[0] == START else None
        about, twice = item.example, np.tile(words[:length], 2)
        passages.append(encoded_tokens(about.id, twice, start, group=about.group))
        if len(passages) == options.passages:
            break
    if len(passages) < 2:
        raise UserError(
            f"{corpus.name} has {len(passages)} texts of {length} tokens or more, and at least 2 "
            "are needed",
            hint="use longer texts, or a smaller length",
        )
    return passages


def copy_losses(model: Model, batch: Batch, replacement: FittedReplacement) -> NDArray[np.float64]:
    """The mean loss of the next token in each copy, (passage, copy).

    The first token of a copy does not count: nothing in the second copy foretells where it begins.
    """
    with torch.inference_mode():
        logits = model.forward(batch, replacement=replacement).logits
        ids = torch.from_numpy(batch.ids).to(logits.device)
        losses = torch.nn.functional.cross_entropy(
            logits[:, :-1].transpose(1, 2).float(), ids[:, 1:], reduction="none"
        )
    means = np.empty((len(batch), len(COPIES)))
    for row, item in enumerate(batch.items):
        size = int((item.kind == TEXT).sum()) // 2
        end = len(item) - 1  # the loss of token i + 1 stands at i
        of_row = losses[row].double().cpu().numpy()
        means[row] = (
            of_row[end - 2 * size + 1 : end - size].mean(),
            of_row[end - size + 1 : end].mean(),
        )
    return means


def matched_heads(
    heads: Sequence[Head], every: Sequence[Head], generator: np.random.Generator
) -> tuple[Head, ...]:
    """As many other heads, from the same layers as far as these have any left.

    >>> every = all_heads(2, 3)
    >>> drawn = matched_heads([Head(0, 1)], every, np.random.default_rng(0))
    >>> [(head.layer, head.head != 1) for head in drawn]
    [(0, True)]
    """
    left = [head for head in every if head not in set(heads)]
    if len(left) < len(heads):
        raise UserError(
            f"a group of {len(heads)} heads leaves {len(left)} others, too few to draw as many",
            hint="give a smaller group",
        )
    drawn: list[Head] = []
    for layer in dict.fromkeys(head.layer for head in heads):
        own = [head for head in left if head.layer == layer]
        wanted = min(sum(head.layer == layer for head in heads), len(own))
        drawn += [own[place] for place in generator.permutation(len(own))[:wanted]]
    others = [head for head in left if head not in set(drawn)]
    short = len(heads) - len(drawn)
    drawn += [others[place] for place in generator.permutation(len(others))[:short]]
    return tuple(drawn)
