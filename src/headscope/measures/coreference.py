"""Coreference (Clark et al. 2019, §4.3, Table 2): does a mention's head word attend most to the
head word of an antecedent?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headscope.corpus import Mention, Word
from headscope.measures.kernels import to_device
from headscope.measures.lazy import torch
from headscope.measures.words import NO_WORD, ByRow, WordMeasure, WordRows

if TYPE_CHECKING:
    from torch import Tensor

    from headscope.encode import Batch, Encoded

# --- baselines: the nearest mention, the same head word, four sieves ---

# number, gender, person of English pronouns; "" is unknown or either.
_KNOWN = {
    "i me my mine myself": ("one", "", "1"),
    "we us our ours ourselves": ("many", "", "1"),
    "you your yours yourself yourselves": ("", "", "2"),
    "he him his himself": ("one", "male", "3"),
    "she her hers herself": ("one", "female", "3"),
    "it its itself this that": ("one", "thing", "3"),
    "they them their theirs themselves these those": ("many", "", "3"),
}
_PRONOUNS = {word: known for words, known in _KNOWN.items() for word in words.split()}
_MEN = "mr. mr sir man boy father son brother husband king uncle grandfather gentleman"
_WOMEN = "mrs. mrs ms. ms miss woman girl mother daughter sister wife queen aunt grandmother lady"
_GENDER = dict.fromkeys(_MEN.split(), "male") | dict.fromkeys(_WOMEN.split(), "female")


def agreement(words: Sequence[Word], mention: Mention) -> tuple[str, str, str]:
    """Number, gender and person of a mention; "" where it cannot be told.

    >>> agreement([Word("The"), Word("dogs", xpos="NNS")], Mention(0, 1, 1, "1"))
    ('many', '', '3')
    """
    head = words[mention.head]
    if head.text.lower() in _PRONOUNS:
        return _PRONOUNS[head.text.lower()]
    plural = head.xpos in {"NNS", "NNPS"} or any(
        word.text.lower() == "and" for word in words[mention.start : mention.end + 1]
    )
    gender = next(
        (
            _GENDER[word.text.lower()]
            for word in words[mention.start : mention.end + 1]
            if word.text.lower() in _GENDER
        ),
        "",
    )
    return "many" if plural else "one" if head.xpos or head.upos else "", gender, "3"


def agree(one: tuple[str, str, str], two: tuple[str, str, str]) -> bool:
    """Nothing that is known of both differs."""
    return all(not left or not right or left == right for left, right in zip(one, two, strict=True))


def nearest(words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]) -> Mention | None:
    """The last mention before this one; ``earlier`` is in order of head words."""
    return earlier[-1] if earlier else None


def same_head(
    words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]
) -> Mention | None:
    """The nearest mention with the same head word."""
    return _last(
        earlier, lambda other: words[other.head].text.lower() == words[mention.head].text.lower()
    )


def sieves(words: Sequence[Word], mention: Mention, earlier: Sequence[Mention]) -> Mention | None:
    """The nearest mention within the first sieve that has any: same string, same head word,
    agreement, any.
    """

    def text(one: Mention) -> str:
        return " ".join(word.text.lower() for word in words[one.start : one.end + 1])

    mine, features = text(mention), agreement(words, mention)
    return (
        _last(earlier, lambda other: text(other) == mine)
        or same_head(words, mention, earlier)
        or _last(earlier, lambda other: agree(features, agreement(words, other)))
        or nearest(words, mention, earlier)
    )


def _last(earlier: Sequence[Mention], fits: Callable[[Mention], bool]) -> Mention | None:
    return next((other for other in reversed(earlier) if fits(other)), None)


BASELINES = {"nearest": nearest, "same head word": same_head, "rules": sieves}


# --- the measure ---


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
    says = "antecedents of {kind} among {candidates}{mentions}"
    labels = {
        "candidates": {"mentions": "earlier mentions", "words": "all words"},
        "kind": {
            "all": "all mentions",
            "pronoun": "pronouns",
            "proper": "proper names",
            "nominal": "common nouns",
        },
        "mentions": {
            "every": "",
            "nearest right": ", where the nearest mention is right",
            "same head word right": ", where the same head word is right",
            "rules right": ", where the rules are right",
        },
    }
    read = {
        "candidates": ("mentions", "words"),
        "kind": ("all",),
        "mentions": ("every", "nearest right"),
    }
    needs = frozenset({"words", "mentions"})

    def prepare_words(self, batch: Batch, words: WordRows, device: Any) -> Tasks:
        """Find the tasks of each example. Mentions whose head word was cut off are not counted."""
        kinds, mentions = self.dims["kind"], self.dims["mentions"]
        tasks = sorted(
            (
                (example, task)
                for example, item in enumerate(batch.items)
                for task in tasks_of(item, words.row[example], words.column[example])
            ),
            key=lambda pair: pair[1].row,
        )
        places = [(example, task.row, number) for number, (example, task) in enumerate(tasks)]
        candidates, answers = np.zeros((2, len(tasks), batch.width), np.bool_)
        groups = np.zeros((len(tasks), len(kinds), len(mentions)), np.float32)
        totals = np.zeros((len(batch), len(kinds) * len(mentions)), np.float32)
        for number, (example, task) in enumerate(tasks):
            candidates[number, task.candidates] = True
            answers[number, task.answers] = True
            for kind in {"all", task.kind} & set(kinds):
                groups[number, kinds.index(kind)] = (1.0, *task.baselines)
            totals[example] += groups[number].ravel()
        return Tasks(
            ByRow(np.array(places, np.int64).reshape(-1, 3), device),
            to_device(candidates, device),
            to_device(answers, device),
            to_device(groups.reshape(len(tasks), totals.shape[1]), device),
            to_device(totals, device),
        )

    def word_rows(self, scores: Tensor, first_row: int, prepared: Tasks) -> None:
        """Answer the tasks whose row is in the block."""
        example, row, number = prepared.places.within(first_row, scores.shape[2])
        of_tasks = scores[example, :, row]  # (task, head, token)
        candidates = prepared.candidates[number][:, None, : scores.shape[3]]
        answers = prepared.answers[number][:, None].expand(-1, scores.shape[1], -1)
        right = [
            answers.gather(2, allowed.argmax(-1, keepdim=True))[..., 0]
            for allowed in (of_tasks.masked_fill(~candidates, NO_WORD), of_tasks)
        ]
        prepared.right.append(torch.stack(right, 1))

    def right(self, prepared: Tasks) -> Tensor:
        """(batch, head, candidates · kind · mentions)."""
        right = torch.cat(prepared.right).float().transpose(1, 2)  # (task, head, candidates)
        prepared.right = []
        counted = right[..., None] * prepared.groups[:, None, None]
        totals = counted.new_zeros(len(prepared.totals), *counted.shape[1:])
        return totals.index_add_(0, prepared.places.table[0], counted).flatten(2)

    def totals(self, prepared: Tasks) -> Tensor:
        """How many mentions with an antecedent there are of each kind."""
        return prepared.totals.repeat(1, len(self.dims["candidates"]))


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
                    tuple(pick is not None and pick.entity == mention.entity for pick in chosen),
                )
            )
    return tasks


def _columns(mentions: list[Mention], column: dict[int, int]) -> list[int]:
    return sorted({column[mention.head] for mention in mentions})
