"""Drafts of a task's examples: each with its label, before classes are balanced and splits are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headscope.tasks.make.sentences import Sentence


@dataclass(frozen=True)
class Draft:
    """A sentence, or what became of it, with a label. ``target`` is the word that the label is about: splits do not share it."""

    sentence: Sentence
    label: str
    text: str
    target: str = ""


@dataclass
class Drafts:
    """What a maker found: the drafts, how they were labelled, and how many sentences were passed over for what."""

    how: str
    items: list[Draft] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)

    def label(
        self, sentences: Iterable[Sentence], find: Callable[[Sentence], tuple[str, str] | str]
    ) -> Drafts:
        """Label sentences: ``find`` tells the label and the target word, or a reason why there is none."""
        for sentence in sentences:
            found = find(sentence)
            if isinstance(found, str):
                self.passed[found] += 1
            else:
                self.items.append(Draft(sentence, found[0], sentence.text, found[1]))
        return self
