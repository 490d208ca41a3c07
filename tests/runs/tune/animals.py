"""A task that tiny models can learn: does a text mention a cat or a dog?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from headscope.corpus import Corpus, Example, from_examples
from headscope.runs.tune import Tuned, tune
from headscope.tasks import Task
from tiny import tiny_network, tiny_tokenizer

ANIMALS = Task("animals", "animals", "classification", ("cat", "dog"), ("accuracy",))
QUICK: dict[str, Any] = {"max_length": 32, "batch_size": 8, "learning_rate": 2e-3}
FILLER = ("the", "a", "sat", "on", "mat", "by", "door", "rain", "fell", "we", "home", "again")


def sentences(count: int, seed: int, *, pair: bool = False) -> Corpus:
    """Random words of the tiny vocabulary, one of them an animal: the label."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        label = ANIMALS.labels[int(random.integers(2))]
        words = list(random.choice(FILLER, int(random.integers(2, 9))))
        words.insert(int(random.integers(len(words) + 1)), label)
        texts = (
            (" ".join(words), " ".join(random.choice(FILLER, 3))) if pair else (" ".join(words),)
        )
        made.append(Example(str(number), texts, label=label))
    return from_examples(made, name=f"animals {seed}")


def tune_animals(model: Any, output: Path, **changes: Any) -> Tuned:
    """Tune for one epoch on eight sentences, unless told otherwise."""
    given = {"task": ANIMALS, "train": sentences(8, 0), "dev": sentences(8, 1), "epochs": 1}
    return tune(model, output=output, **(given | QUICK | changes))


def saved(kind: str, folder: Path, **changes: Any) -> Path:
    """A tiny model saved to a folder."""
    tiny_network(kind, **changes).save_pretrained(folder)
    tiny_tokenizer(kind).save_pretrained(folder)
    return folder


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return dict(load_file(folder / "model.safetensors"))


def plain_adamw(named: Iterable[tuple[str, torch.Tensor]]) -> torch.optim.Optimizer:
    """AdamW of torch, with decay on matrices only."""
    groups: dict[float, list[torch.Tensor]] = {0.0: [], 0.01: []}
    for name, value in named:
        groups[0.0 if name.endswith("bias") or "LayerNorm" in name else 0.01].append(value)
    return torch.optim.AdamW(
        [{"params": values, "weight_decay": decay} for decay, values in groups.items()], lr=1e-3
    )


def same(one: Path, two: Path) -> bool:
    """Whether two checkpoints have the same weights, bit for bit."""
    first, second = weights(one), weights(two)
    return first.keys() == second.keys() and all(
        torch.equal(value, second[name]) for name, value in first.items()
    )
