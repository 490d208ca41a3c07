"""Balanced splits: as many of each class in each split, and no target word in two splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from headscope.errors import UserError
from headscope.tasks.make.drafts import Draft, Drafts
from headscope.tasks.make.labels import LEAST
from headscope.tasks.probing import SPLITS

SHARES = (0.8, 0.1, 0.1)
SMALLEST = 40
"""The smallest number of examples of a task, all splits together."""


@dataclass(frozen=True)
class Sizes:
    """How large a task may be.

    Parameters
    ----------
    most : int, optional
        The largest number of examples, all splits together.
    shares : tuple of float
        The shares of train, dev and test.

    Examples
    --------
    >>> Sizes(1000).shares
    (0.8, 0.1, 0.1)
    """

    most: int | None = None
    shares: tuple[float, float, float] = SHARES

    def quotas(self, available: int, classes: int) -> dict[str, int]:
        """How many examples of each class each split gets if every class has ``available``.

        >>> Sizes(100).quotas(400, 2)
        {'train': 40, 'dev': 5, 'test': 5}
        """
        each = available if self.most is None else min(available, self.most // classes)
        dev, test = (max(1, int(each * share + 1e-9)) for share in self.shares[1:])
        return dict(zip(SPLITS, (each - dev - test, dev, test), strict=True))


def make_sizes(size: int | Sequence[int] | None) -> Sizes:
    """Check a size that a user gave: one number for all splits, or three for train, dev and test.

    >>> make_sizes((600, 200, 200))
    Sizes(most=1000, shares=(0.6, 0.2, 0.2))
    """
    if size is None:
        return Sizes()
    parts = (size,) if isinstance(size, int) else tuple(size)
    if len(parts) not in {1, 3} or min(parts) < 1:
        raise UserError(
            "the size must be one number, or three for train, dev and test, each over 0; "
            f"got {', '.join(map(str, parts))} instead",
            hint="give e.g. size=1000 or size=(800, 100, 100)",
        )
    total = sum(parts)
    if total < SMALLEST:
        raise UserError(
            f"the size must be {SMALLEST} or more in all, got {total} instead",
            hint="leave it out to use all sentences",
        )
    return Sizes(
        total, SHARES if len(parts) == 1 else (parts[0] / total, parts[1] / total, parts[2] / total)
    )


def divide(drafts: Drafts, sizes: Sizes, rng: Random) -> dict[str, list[Draft]] | str:
    """Split drafts into train, dev and test with balanced classes, or say why it fails."""
    classes: dict[str, list[Draft]] = defaultdict(list)
    for draft in rng.sample(drafts.items, len(drafts.items)):
        classes[draft.label].append(draft)
    small = sorted((len(found), label) for label, found in classes.items() if len(found) < LEAST)
    classes = {label: found for label, found in sorted(classes.items()) if len(found) >= LEAST}
    if small:
        drafts.skipped[f"in classes with fewer than {LEAST}"] += sum(count for count, _ in small)
    if len(classes) < 2:
        why = ""
        if drafts.skipped:
            why = f" (skipped: mostly sentences {drafts.skipped.most_common(1)[0][0]})"
        return (
            f"{len(drafts.items)} sentences fit{why}, in {len(classes)} classes with {LEAST} or "
            "more; two such classes are needed"
        )
    if sizes.most is not None and sizes.most // len(classes) < LEAST:
        return (
            f"a size of {sizes.most} leaves fewer than {LEAST} for each of {len(classes)} classes: "
            f"give at least {LEAST * len(classes)}"
        )
    quotas = sizes.quotas(min(map(len, classes.values())), len(classes))
    apart = any(draft.target for draft in drafts.items)
    splits = _apart(classes, quotas, rng) if apart else _cut(classes, quotas)
    made = sum(map(len, splits.values()))
    if made < SMALLEST or not all(splits.values()):
        words = " and no target word in two splits" if apart else ""
        return f"{made} sentences are left with balanced classes{words}; {SMALLEST} are needed"
    drafts.skipped["to balance the classes and sizes"] += sum(map(len, classes.values())) - made
    return {split: rng.sample(found, len(found)) for split, found in splits.items()}


def _cut(classes: Mapping[str, list[Draft]], quotas: Mapping[str, int]) -> dict[str, list[Draft]]:
    """Put the first of each class into train, the next into dev, the next into test."""
    splits: dict[str, list[Draft]] = {}
    start = 0
    for split in SPLITS:
        end = start + quotas[split]
        splits[split] = [draft for found in classes.values() for draft in found[start:end]]
        start = end
    return splits


def _apart(
    classes: Mapping[str, list[Draft]], quotas: Mapping[str, int], rng: Random
) -> dict[str, list[Draft]]:
    """Make splits that share no target word.

    Test and dev take words at random until they are full, but no word that would fill most of a
    class alone. Train gets the others.
    """
    words: dict[str, dict[str, list[Draft]]] = defaultdict(lambda: defaultdict(list))
    for label, found in classes.items():
        for draft in found:
            words[draft.target][label].append(draft)
    waiting = rng.sample(sorted(words), len(words))
    splits: dict[str, list[Draft]] = {}
    for split in ("test", "dev", "train"):
        taken: dict[str, list[Draft]] = {label: [] for label in classes}
        for word in list(waiting):
            wanted = any(len(taken[label]) < quotas[split] for label in words[word])
            large = split != "train" and max(map(len, words[word].values())) > max(
                1, quotas[split] // 4
            )
            if wanted and not large:
                waiting.remove(word)
                for label, found in words[word].items():
                    taken[label] += found
        even = min(quotas[split], *(len(found) for found in taken.values()))
        splits[split] = [draft for found in taken.values() for draft in rng.sample(found, even)]
    return {split: splits[split] for split in SPLITS}
