"""Drafts of a task's examples: labelled, before classes are balanced and splits are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from headscope.tasks.make.sentences import Sentence


@dataclass(frozen=True)
class Draft:
    """A labelled sentence.

    Parameters
    ----------
    sentence : Sentence
        The sentence of the treebank.
    label : str
        Its label.
    text : str
        The text of the example: the sentence, or the sentence after a change.
    target : str, default ""
        The word that the label is about; no two splits share it.
    """

    sentence: Sentence
    label: str
    text: str
    target: str = ""


@dataclass
class Drafts:
    """The drafts of one task.

    Parameters
    ----------
    how : str
        How the labels were found, in words.
    items : list of Draft
        The drafts.
    skipped : Counter of str
        How many sentences were skipped, by reason.
    lacking : str, default ""
        What the treebank lacks, so that the task cannot be made from it at all.
    """

    how: str
    items: list[Draft] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    lacking: str = ""

    def label(
        self, sentences: Iterable[Sentence], find: Callable[[Sentence], tuple[str, str] | str]
    ) -> Drafts:
        """Label sentences and return the drafts themselves.

        ``find`` returns the label and the target word, or the reason why there is none.
        """
        for sentence in sentences:
            found = find(sentence)
            if isinstance(found, str):
                self.skipped[found] += 1
            else:
                self.items.append(Draft(sentence, found[0], sentence.text, found[1]))
        return self
