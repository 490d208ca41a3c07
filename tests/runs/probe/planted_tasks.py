"""Small probing tasks, and models whose heads encode them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from headscope.corpus import Example
from headscope.models import Model
from headscope.tasks.task import ProbingTask
from planted import FIRST, VOCABULARY, WIDTH, planted_bert

FILL = ("the", "a", "sat", "on", "mat", "who", "saw", "old", "it")
QUICK: dict[str, Any] = {"l2": (1e-2,), "control": False}
ONE: dict[str, Any] = {"counts": (1,), "greedy": False, "max_length": 24}


def reading(*heads: tuple[int, Sequence[str]]) -> Model:
    """The planted model, with heads of its second layer whose values tell the given words apart.

    Heads count from 0. Nothing else at [CLS] depends on the words.
    """
    model = planted_bert()
    value = model.network.get_submodule("encoder.layer.1.attention.self.value")
    with torch.no_grad():
        for head, words in heads:
            for place, word in enumerate(words):
                value.weight[head * WIDTH + place, FIRST["word"] + VOCABULARY.index(word)] = 1.0
    return model


UNIFORM, SEGMENT = 4, 1
"""Heads that attend equally to all tokens of a single text."""


def sentences(
    count: int, seed: int, put: Callable[[np.random.Generator, list[str]], None]
) -> list[str]:
    """Distinct sentences of 12 words, each changed by ``put``."""
    random = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        words = random.choice(FILL, 12).tolist()
        put(random, words)
        found[" ".join(words)] = None
    return list(found)


def task(
    name: str,
    parts: dict[str, Sequence[tuple[tuple[str, ...], str]]],
    labels: tuple[str, ...],
    group: str = "",
) -> ProbingTask:
    splits = {
        split: tuple(
            Example(f"{split}{place}", texts, label=label)
            for place, (texts, label) in enumerate(rows)
        )
        for split, rows in parts.items()
    }
    return ProbingTask(name, name.title(), labels, splits, group)


def maybe_dog(random: np.random.Generator, words: list[str]) -> None:
    if random.random() < 0.5:
        words[random.integers(12)] = "dog"


def dogs(
    name: str = "dogs", seed: int = 0, sizes: tuple[int, int, int] = (100, 40, 60)
) -> ProbingTask:
    """Is there a dog?"""
    rows = [
        ((text,), "yes" if "dog" in text else "no")
        for text in sentences(sum(sizes), seed, maybe_dog)
    ]
    train, dev, _ = sizes
    return task(
        name,
        {"train": rows[:train], "dev": rows[train : train + dev], "test": rows[train + dev :]},
        ("no", "yes"),
    )


TINY = ("cat", "dog", "bird", "tree", "roof", "rain", "river", "home")


def words_task(sizes: tuple[int, int, int] = (150, 0, 200)) -> ProbingTask:
    """Three classes that the heads of a random model can partly tell apart."""
    random = np.random.default_rng(3)
    texts = list(
        dict.fromkeys(
            " ".join(random.choice(TINY, random.integers(3, 8))) for _ in range(3 * sum(sizes))
        )
    )[: sum(sizes)]
    rows = [((text,), "c" if "cat" in text else "d" if "dog" in text else "n") for text in texts]
    train, dev, _ = sizes
    return task(
        "words",
        {"train": rows[:train], "dev": rows[train : train + dev], "test": rows[train + dev :]},
        ("c", "d", "n"),
    )


def pairs_task() -> ProbingTask:
    texts = [example.texts[0] for example in words_task((40, 0, 20)).splits["train"]]
    rows = [
        ((one, two), str(place % 2))
        for place, (one, two) in enumerate(zip(texts, [*texts[3:], *texts[:3]], strict=True))
    ]
    return task("pairs", {"train": rows[:25], "test": rows[25:]}, ("0", "1"))
