"""Coreference (Clark et al. 2019, §4.3, Table 2): does a mention's head word attend most to the
head word of an antecedent?
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.corpus import Mention
from headscope.encode import Batch, Encoded
from headscope.measures.antecedent import BASELINES
from headscope.measures.words import NO_WORD, ByRow, WordMeasure, WordRows

KINDS = ("all", "pronoun", "proper", "nominal")
CANDIDATES = ("mentions", "words")
MENTIONS = ("every", *(f"{name} right" for name in BASELINES))


@dataclass(frozen=True)
class MentionTask:
    """A mention with an antecedent: the row of its head word, the columns of the candidates and of
    the right answers, and which groups it counts in.
    """

    row: int
    candidates: list[int]
    answers: list[int]
    kind: str
    baselines: tuple[bool, ...]


@dataclass
class Tasks:
    """The tasks of a batch in the order of their rows, and what a layer's heads answer."""

    places: ByRow  # (example, row, number of the task)
    candidates: Tensor  # (task, token)
    answers: Tensor  # (task, token)
    groups: Tensor  # (task, kind · mentions)
    totals: Tensor  # (batch, kind · mentions)
    right: list[Tensor] = field(default_factory=list)  # (task, candidates, head), block by block


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

    def prepare_words(self, batch: Batch, words: WordRows, device: Any) -> Tasks:
        """Find the tasks of each example. Mentions whose head word was cut off are not counted."""
        found = sorted(
            (
                (example, task)
                for example, item in enumerate(batch.items)
                for task in tasks_of(item, words.row[example], words.column[example])
            ),
            key=lambda one: one[1].row,
        )
        places = [(example, task.row, number) for number, (example, task) in enumerate(found)]
        candidates, answers = np.zeros((2, len(found), batch.width), np.bool_)
        groups = np.zeros((len(found), len(KINDS), len(MENTIONS)), np.float32)
        totals = np.zeros((len(batch), len(KINDS) * len(MENTIONS)), np.float32)
        for number, (example, task) in enumerate(found):
            candidates[number, task.candidates] = True
            answers[number, task.answers] = True
            for kind in {"all", task.kind} & set(KINDS):
                groups[number, KINDS.index(kind)] = (1.0, *task.baselines)
            totals[example] += groups[number].ravel()
        table = np.array(places, np.int64).reshape(-1, 3)
        flat = groups.reshape(len(found), totals.shape[1])
        return Tasks(
            ByRow(table, device),
            torch.from_numpy(candidates).to(device),
            torch.from_numpy(answers).to(device),
            torch.from_numpy(flat).to(device),
            torch.from_numpy(totals).to(device),
        )

    def word_rows(self, scores: Tensor, first_row: int, prepared: Tasks) -> None:
        """Answer the tasks whose row is in the block."""
        example, row, number = prepared.places.within(first_row, scores.shape[2])
        asked = scores[example, :, row]  # (task, head, token)
        candidates = prepared.candidates[number][:, None, : scores.shape[3]]
        answers = prepared.answers[number][:, None].expand(-1, scores.shape[1], -1)
        right = [
            answers.gather(2, allowed.argmax(-1, keepdim=True))[..., 0]
            for allowed in (asked.masked_fill(~candidates, NO_WORD), asked)
        ]
        prepared.right.append(torch.stack(right, 1))

    def right(self, prepared: Tasks) -> Tensor:
        """(batch, head, candidates · kind · mentions)."""
        right = torch.cat(prepared.right).float().transpose(1, 2)  # (task, head, candidates)
        prepared.right = []
        counted = right[..., None] * prepared.groups[:, None, None]
        found = counted.new_zeros(len(prepared.totals), *counted.shape[1:])
        return found.index_add_(0, prepared.places.table[0], counted).flatten(2)

    def totals(self, prepared: Tasks) -> Tensor:
        """How many mentions with an antecedent there are of each kind."""
        return prepared.totals.repeat(1, len(CANDIDATES))


def tasks_of(item: Encoded, row: dict[int, int], column: dict[int, int]) -> list[MentionTask]:
    """The mentions of an example that have an antecedent, with their candidates.

    ``row`` and ``column`` say where each word is; see :class:`~headscope.measures.words.WordRows`.
    """
    words = item.example.words
    kept = sorted(
        (mention for mention in item.example.mentions if mention.head in row),
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
                    row[mention.head],
                    _columns(earlier, column),
                    _columns(right, column),
                    mention.kind,
                    tuple(one is not None and one.entity == mention.entity for one in chosen),
                )
            )
    return tasks


def _columns(mentions: list[Mention], column: dict[int, int]) -> list[int]:
    return sorted({column[mention.head] for mention in mentions})
