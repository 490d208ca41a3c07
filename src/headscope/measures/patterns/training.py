"""Training the network of pattern classes on labelled maps (Kovaleva et al. 2019, §4.1), and how
well it does on others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch.nn import functional

from headscope.errors import UserError
from headscope.measures.patterns.labels import Labelled, unpack
from headscope.measures.patterns.network import CLASSES, PatternNet, pictures

EPOCHS = 40
BATCH = 32
RATE = 3e-3
DECAY = 1e-2
SMOOTHING = 0.05
RECAST = 0.3
"""How often a map of another class is made from one, where that can be done."""
DRAWN = 0.08
"""How often a plain drawing of its class takes the place of a map."""
EVEN = 0.25
"""The largest share of attention that is spread evenly."""
LOST = 0.1
"""The largest share of tokens that a varied map may lose."""


@dataclass(frozen=True)
class Report:
    """How well predicted classes agree with labels.

    Parameters
    ----------
    f1
        F1 averaged over classes.
    accuracy
        The share of maps whose class is predicted.
    classes
        Precision, recall, F1 and count of each class.
    confusion
        Labels (rows) against predictions (columns).
    predicted
        The predicted class of each map.
    """

    f1: float
    accuracy: float
    classes: pd.DataFrame
    confusion: pd.DataFrame
    predicted: tuple[str, ...]


def train(
    labelled: Labelled,
    *,
    seed: int,
    epochs: int = EPOCHS,
    progress: Callable[[int, int], None] | None = None,
) -> PatternNet:
    """Train a network on labelled maps, each seen once an epoch in a varied form. Classes count
    alike, whatever their number.

    ``progress`` is called with (epochs done, epochs in all). To add maps of one's own:
    ``train(read_labelled().part(split="train") + read_labelled("mine"), seed=0)``.
    """
    missing = [name for name in CLASSES if name not in labelled.labels]
    if missing:
        raise UserError(
            "every class must have at least one map to train on; there is none of "
            f"{', '.join(missing)}",
            hint="add the built-in maps: headscope.measures.patterns.labels.read_labelled()",
        )
    random = np.random.default_rng(seed)
    gold = torch.tensor([CLASSES.index(label) for label in labelled.labels])
    weights = class_weights(labelled.labels)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = PatternNet()
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY)
        steps = -(-len(gold) // BATCH) * epochs
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
        network.train()
        for epoch in range(epochs):
            for indices in _batches(len(gold), random):
                varied = [
                    recast(unpack(labelled.maps[index]), labelled.labels[index], random)
                    for index in indices
                ]
                seen = torch.cat(
                    [
                        pictures(torch.from_numpy(vary(attention, random))[None])
                        for attention, _ in varied
                    ]
                )
                wanted = torch.tensor([CLASSES.index(label) for _, label in varied])
                loss = functional.cross_entropy(
                    network(seen), wanted, weights, label_smoothing=SMOOTHING
                )
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
            if progress:
                progress(epoch + 1, epochs)
    return network.eval()


def class_weights(labels: Sequence[str]) -> torch.Tensor:
    """Weights that make classes count alike: those that are rare among the maps as they are seen,
    after some were recast, weigh more.

    >>> names = ["vertical"] * 2 + ["diagonal", "vertical+diagonal", "block", "heterogeneous"]
    >>> [round(weight, 2) for weight in class_weights(names).tolist()]
    [0.6, 1.2, 1.2, 1.2, 1.2]
    """
    count = Counter(labels)
    moved = RECAST * (count["diagonal"] - count["vertical+diagonal"])
    seen: dict[str, float] = dict(count)
    seen["diagonal"] -= moved
    seen["vertical+diagonal"] += moved
    return torch.tensor([len(labels) / (len(CLASSES) * seen[name]) for name in CLASSES])


def _batches(count: int, random: np.random.Generator) -> list[list[int]]:
    """All numbers in random order; one left over would be a batch without a variance, and joins the
    batch before.
    """
    order = random.permutation(count).tolist()
    cut = [order[start : start + BATCH] for start in range(0, count, BATCH)]
    return [*cut[:-2], cut[-2] + cut[-1]] if len(cut) > 1 and len(cut[-1]) == 1 else cut


def recast(
    attention: NDArray[np.float32], label: str, random: np.random.Generator
) -> tuple[NDArray[np.float32], str]:
    """Now and then a map of another class made from this one.

    A column is added to a diagonal, or the columns beside a diagonal are taken away: few heads are
    purely diagonal, and a network that knows only those takes any other for vertical+diagonal. And
    now and then a plain drawing, which few real maps are, takes its place.
    """
    if label != "heterogeneous" and random.random() < DRAWN:
        return draw_plain(label, random), label
    if random.random() > RECAST:
        return attention, label
    if label == "diagonal":
        return add_column(attention, 0, random), "vertical+diagonal"
    if label == "vertical+diagonal":
        return take_columns(attention), "diagonal"
    return attention, label


def draw_plain(label: str, random: np.random.Generator) -> NDArray[np.float32]:
    """Draw a map of one class with nothing else in it: any length up to 128, sometimes causal."""
    length = int(random.integers(10, 129))
    causal = label != "block" and random.random() < 0.25
    weights = 0.2 * np.exp(random.normal(0.0, random.uniform(0.0, 0.5), (length, length)))
    if "vertical" in label:
        column = 0 if causal else int(random.choice([0, length // 2, int(random.integers(length))]))
        weights[:, column] += length * random.uniform(0.1, 1.0)
    if "diagonal" in label:
        offset = int(random.integers(-1, 1 if causal else 2))
        line = np.arange(max(-offset, 0), min(length, length - offset))
        weights[line, line + offset] += length * random.uniform(0.1, 1.0)
    if label == "block":
        second = np.arange(length) >= int(random.uniform(0.3, 0.7) * length)
        weights[second[:, None] == second[None]] *= random.uniform(6.0, 30.0)
    if causal:
        weights = np.tril(weights)
    return np.asarray(weights / weights.sum(1, keepdims=True), np.float32)


def add_column(
    attention: NDArray[np.float32], column: int, random: np.random.Generator
) -> NDArray[np.float32]:
    """Move a share of every row's attention to one column; in a causal map, of rows that see it."""
    share = random.uniform(0.3, 0.7) * random.uniform(0.6, 1.0, (len(attention), 1))
    if not np.triu(attention, 1).any():
        share = share * (np.arange(len(attention)) >= column)[:, None]
    mixed = (1 - share) * attention
    mixed[:, column] += share[:, 0]
    return np.asarray(mixed, np.float32)


def take_columns(attention: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make the columns of a map with a diagonal as light as what is beside them."""
    places = np.arange(len(attention))
    away = np.abs(places[:, None] - places[None]) > 2
    means = (attention * away).sum(0) / np.maximum((away & (attention > 0)).sum(0), 1)
    heavy = means > 2 * np.median(means)
    even = np.median(attention[:, ~heavy], axis=1, keepdims=True)
    return np.where(heavy[None] & away & (attention > 0), even, attention).astype(np.float32)


def vary(attention: NDArray[np.float32], random: np.random.Generator) -> NDArray[np.float32]:
    """A map of the same class: some tokens left out (never one of its two heaviest columns), turned
    end to end, sharper or flatter, mixed with even attention, noisy.
    """
    length = len(attention)
    lost = random.random(length) < random.uniform(0.0, LOST)
    lost[np.argsort(attention.sum(0))[-2:]] = False
    if (~lost).sum() >= min(length, 8):
        attention = attention[~lost][:, ~lost]
    if random.random() < 0.3:
        attention = attention[::-1, ::-1]
    attention = attention ** random.uniform(0.85, 1.2)
    share = EVEN * random.random() ** 2
    visible = attention > 0
    attention = (1 - share) * attention + share * visible / np.maximum(
        visible.sum(1, keepdims=True), 1
    )
    return np.ascontiguousarray(
        attention * np.exp(random.normal(0.0, random.uniform(0.0, 0.2), attention.shape)),
        np.float32,
    )


def predict(network: PatternNet, maps: Sequence[NDArray[np.uint8]]) -> list[str]:
    """The class of each packed map."""
    with torch.inference_mode():
        return [
            CLASSES[int(network(pictures(torch.from_numpy(unpack(map_))[None])).argmax(1))]
            for map_ in maps
        ]


def evaluate(network: PatternNet, labelled: Labelled) -> Report:
    """Compare a network's classes with the labels of maps that it was not trained on."""
    from sklearn.metrics import (
        accuracy_score,
        confusion_matrix,
        f1_score,
        precision_recall_fscore_support,
    )

    if not len(labelled):
        raise UserError("there are no labelled maps to compare with")
    predicted = predict(network, labelled.maps)
    gold, names = list(labelled.labels), list(CLASSES)
    scores = precision_recall_fscore_support(gold, predicted, labels=names, zero_division=0.0)
    classes = pd.DataFrame(
        dict(zip(("precision", "recall", "f1", "count"), scores, strict=True)),
        index=pd.Index(names, name="class"),
    )
    confusion = pd.DataFrame(
        confusion_matrix(gold, predicted, labels=names),
        index=pd.Index(names, name="label"),
        columns=pd.Index(names, name="predicted"),
    )
    return Report(
        float(f1_score(gold, predicted, labels=names, average="macro", zero_division=0.0)),
        float(accuracy_score(gold, predicted)),
        classes,
        confusion,
        tuple(predicted),
    )
