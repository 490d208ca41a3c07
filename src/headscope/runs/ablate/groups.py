"""Disabling groups of heads: what a language model loses on text, and on text that it has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Corpus, CorpusLike, read
from headscope.encode import START, TEXT, Batch, Encoded, collate
from headscope.errors import ModelError, UserError, unknown
from headscope.heads import Head, HeadsLike, all_heads, head_names, parse_heads
from headscope.measures.options import at_least
from headscope.models import Model, Replacement
from headscope.models.like import ModelLike, using_model
from headscope.models.replacement import FittedReplacement
from headscope.options import Saving
from headscope.progress import ProgressLike, Update
from headscope.results import Atlas
from headscope.runs.run import Arrays, Block, Run, describe
from headscope.runs.synthetic import encoded_tokens
from headscope.stats.group_losses import COPIES, NAME, group_dataset

SIZE = 8
"""Passages per forward pass."""


def group_losses(
    model: ModelLike,
    corpus: CorpusLike,
    groups: Mapping[str, HeadsLike],
    *,
    passages: int = 16,
    length: int = 48,
    draws: int = 10,
    way: str = "zero",
    seed: int = 0,
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: ProgressLike = False,
) -> Atlas:
    """Disable groups of heads, and see what a language model loses on new and on repeated text.

    Each passage is given to the model twice, one copy after the other. The loss on the first copy
    is that on any text; on the second copy it is low, because the model has read the passage. For
    every group as many other heads are drawn from the same layers, several times.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo-llm"``, a :class:`~headscope.Model`, or a network with its
        tokenizer. It must be a causal language model.
    corpus
        Passages; see :func:`headscope.read`. The first ones that are long enough are used.
    groups
        Heads by the name of their group: ``{"induction": "18-4,18-5"}``.
    passages
        How many passages.
    length
        Tokens of a passage: the beginning of each text.
    draws
        How often other heads are drawn for every group.
    way
        How heads are disabled: ``"zero"`` (their output is 0) or ``"uniform"`` attention.
    seed
        Of the draws.
    output
        Save the results there. If the file already holds this very run, it is opened instead.
    overwrite
        As in :func:`headscope.survey`.
    progress
        True shows a progress bar.

    Returns
    -------
    Atlas
        With the group ``group_loss``; see :func:`headscope.stats.group_table`.

    Raises
    ------
    UserError
        If a group is empty, has heads that the model does not have, or leaves no others to draw.
    ModelError
        If the model is no causal language model, or takes too short texts.

    Examples
    --------
    >>> import headscope as hs
    >>> groups = {"induction": "18-4,18-5,19-7"}
    >>> atlas = hs.group_losses("demo-llm", "demo", groups)  # doctest: +SKIP
    """
    settings = GroupSettings(passages, length, draws, way, seed)
    with using_model(model, head="lm") as loaded:
        saving = Saving(output=output, overwrite=overwrite, progress=progress)
        return GroupRun(loaded, read(corpus), groups, settings, saving).execute()


@dataclass(frozen=True)
class GroupSettings:
    """Options of :func:`group_losses`."""

    passages: int = 16
    length: int = 48
    draws: int = 10
    way: str = "zero"
    seed: int = 0

    def __post_init__(self) -> None:
        at_least("number of passages", self.passages, 2)
        at_least("length of passages", self.length, 4)
        at_least("number of draws", self.draws, 1)
        if self.way not in ("zero", "uniform"):
            raise unknown("way to disable heads", self.way, ("zero", "uniform"))


class GroupRun(Run[Atlas]):
    """The run behind :func:`group_losses`. A block is one set of heads that is disabled."""

    def __init__(
        self,
        model: Model,
        corpus: Corpus,
        groups: Mapping[str, HeadsLike],
        settings: GroupSettings,
        options: Saving,
    ) -> None:
        super().__init__(options, "disabling groups")
        check_predicts(model)
        self.model, self.corpus, self.settings = model, corpus, settings
        self.stack = model.main_stack()
        self.items = doubled(model, corpus, settings, self.stack)
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
            for draw in range(settings.draws):
                generator = np.random.default_rng([settings.seed, number, draw])
                self.sets.append(matched_heads(heads, every, generator))
        self.losses = np.full((len(self.sets), len(self.items), len(COPIES)), np.nan)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, corpus, groups and settings."""
        return {
            "kind": NAME,
            "model": describe(self.model, self.stack),
            "corpus": self.corpus.about,
            "settings": asdict(self.settings),
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
        off = Replacement(block.work, way=self.settings.way, stack=self.stack).fit(self.model)
        found = [
            copy_losses(self.model, collate(part, pad=self.model.pad), off)
            for part in batched(self.items, SIZE)
        ]
        self.whole = False
        self.losses[block.index] = np.concatenate(found)

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
        data = group_dataset(self.losses, names, draws=self.settings.draws, documents=documents)
        return Atlas.build({NAME: data}, self.provenance() | {"notes": list(self.model.notes)})


def check_predicts(model: Model) -> None:
    """Refuse models that do not predict the next token."""
    if model.encoder_decoder or not model.causal(model.main_stack()):
        raise ModelError(
            f"{model.name} is not a decoder-only language model, so it predicts no next token",
            hint="choose a causal language model, such as demo-llm",
        )
    if "lm" not in model.capabilities:
        raise ModelError(
            f"{model.name} was loaded without a language-model head, so it predicts no next token",
            hint="load it with headscope.load(name, head='lm')",
        )


def doubled(model: Model, corpus: Corpus, settings: GroupSettings, stack: str) -> list[Encoded]:
    """The beginnings of the first texts that are long enough, each written twice."""
    length, longest = settings.length, model.longest
    if longest is not None and 2 * length + 1 > longest:
        raise UserError(
            f"two copies of {length} tokens with a start token are {2 * length + 1}, and "
            f"{model.name} takes at most {longest} tokens",
            hint=f"give length={(longest - 1) // 2}",
        )
    encoder = model.encoder(
        max_length=min(longest or 2 * length + 1, 2 * length + 1), long="truncate", stack=stack
    )
    found: list[Encoded] = []
    for item in encoder.encode(corpus):
        words = item.ids[item.kind == TEXT]
        if len(words) < length:
            continue
        start = int(item.ids[0]) if item.kind[0] == START else None
        about, twice = item.example, np.tile(words[:length], 2)
        found.append(encoded_tokens(about.id, twice, start, group=about.group))
        if len(found) == settings.passages:
            return found
    if len(found) < 2:
        raise UserError(
            f"{corpus.name} has {len(found)} texts of {length} tokens or more, and at least 2 are "
            "needed",
            hint="use longer texts, or a smaller length",
        )
    return found


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
    found = np.empty((len(batch), len(COPIES)))
    for row, item in enumerate(batch.items):
        size = int((item.kind == TEXT).sum()) // 2
        end = len(item) - 1  # the loss of token i + 1 stands at i
        of_row = losses[row].double().cpu().numpy()
        found[row] = (
            of_row[end - 2 * size + 1 : end - size].mean(),
            of_row[end - size + 1 : end].mean(),
        )
    return found


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


def batched(items: Sequence[Encoded], size: int) -> Iterator[Sequence[Encoded]]:
    """The items in batches."""
    for first in range(0, len(items), size):
        yield items[first : first + size]
