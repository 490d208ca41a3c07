"""Coreference (Clark et al. 2019, §4.3, Table 2): does a mention's head word attend most to the
head word of an antecedent?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import Mention
from headscope.encode import Batch, Encoded
from headscope.measures.antecedent import BASELINES
from headscope.measures.words import WordMap, WordMeasure

KINDS = ("all", "pronoun", "proper", "nominal")
CANDIDATES = ("mentions", "words")
MENTIONS = ("every", *(f"{name} right" for name in BASELINES))


@dataclass(frozen=True)
class MentionTask:
    """A mention with an antecedent: the rows of its head word, of the candidates and of the right
    answers, and which groups it counts in.
    """

    row: int
    candidates: list[int]
    answers: list[int]
    kind: str
    baselines: tuple[bool, ...]


@dataclass(frozen=True)
class Tasks:
    """The tasks of a batch as tensors."""

    rows: Tensor  # (batch, task)
    candidates: Tensor  # (batch, task, word)
    answers: Tensor  # (batch, task, word)
    groups: Tensor  # (batch, task, kind · mentions)
    real: Tensor  # (batch, word)


class Coreference(WordMeasure):
    """Antecedent accuracy of every head, by mention type (Clark et al. 2019, section 4.3 and Table
    2).

    Candidates are the head words of all earlier mentions (an earlier mention is one whose head word
    stands before), or all other words. Beside it, how often a head is right where each baseline is:
    the baselines' accuracy and paired tests follow from these.
    """

    name = "coreference"
    title = "Accuracy at antecedents"
    unit = "share of mentions right"
    source = "Clark et al. 2019, §4.3, Table 2"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "mentions"})
    dims = {"candidates": CANDIDATES, "kind": KINDS, "mentions": MENTIONS}

    def prepare_words(self, batch: Batch, words: WordMap, device: Any) -> Tasks:
        """Find the tasks of each example. Mentions whose head word was cut off are left out."""
        found = [tasks_of(item, words.places(row)) for row, item in enumerate(batch.items)]
        most = max((len(tasks) for tasks in found), default=0)
        shape = (len(batch), max(most, 1))
        rows = np.zeros(shape, np.int64)
        candidates, answers = (
            np.zeros((*shape, words.most), bool),
            np.zeros((*shape, words.most), bool),
        )
        groups = np.zeros((*shape, len(KINDS), len(MENTIONS)), np.float32)
        real = np.zeros((len(batch), words.most), bool)
        for index, tasks in enumerate(found):
            real[index, : len(words.words[index])] = True
            for column, task in enumerate(tasks):
                rows[index, column] = task.row
                candidates[index, column, task.candidates] = True
                answers[index, column, task.answers] = True
                for kind in {"all", task.kind} & set(KINDS):
                    groups[index, column, KINDS.index(kind)] = (1.0, *task.baselines)
        return Tasks(
            *(
                torch.from_numpy(array).to(device)
                for array in (rows, candidates, answers, groups.reshape(*shape, -1), real)
            )
        )

    def words(self, maps: Tensor, prepared: Tasks) -> Tensor:
        """(batch, head, candidates · kind · mentions)."""
        heads = maps.shape[1]
        size = prepared.real.shape[1]
        rows = prepared.rows[:, None, :, None].expand(-1, heads, -1, size)
        others = prepared.real[:, None] & (
            torch.arange(size, device=maps.device) != prepared.rows[:, :, None]
        )
        asked = maps[..., :size].gather(2, rows).masked_fill(~others[:, None], -1.0)
        answers = prepared.answers[:, None].expand(-1, heads, -1, -1)
        right = []
        for allowed in (asked.masked_fill(~prepared.candidates[:, None], -1.0), asked):
            choice = allowed.argmax(-1, keepdim=True)
            right.append(answers.gather(-1, choice)[..., 0])
        counted = torch.stack(right, 2).float().flatten(1, 2) @ prepared.groups
        return counted.view(maps.shape[0], heads, -1)

    def totals(self, prepared: Tasks) -> Tensor:
        """How many mentions with an antecedent there are of each kind."""
        return prepared.groups.sum(1).repeat(1, len(CANDIDATES))


def tasks_of(item: Encoded, places: dict[int, int]) -> list[MentionTask]:
    """The mentions of an example that have an antecedent, with their candidates."""
    words = item.example.words
    kept = sorted(
        (mention for mention in item.example.mentions if mention.head in places),
        key=lambda mention: (mention.head, mention.start, mention.end),
    )
    tasks = []
    for mention in kept:
        earlier = [other for other in kept if other.head < mention.head]
        right = [other for other in earlier if other.entity == mention.entity]
        if right:
            chosen = [baseline(words, mention, earlier) for baseline in BASELINES.values()]
            tasks.append(
                MentionTask(
                    places[mention.head],
                    _places(earlier, places),
                    _places(right, places),
                    mention.kind,
                    tuple(one is not None and one.entity == mention.entity for one in chosen),
                )
            )
    return tasks


def _places(mentions: list[Mention], places: dict[int, int]) -> list[int]:
    return sorted({places[mention.head] for mention in mentions})
