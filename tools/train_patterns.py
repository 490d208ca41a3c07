"""Train the network of pattern classes that comes with Headscope (K1), on the built-in labelled maps.

    python tools/train_patterns.py                 train on the training split, write src/headscope/data/patterns/network.safetensors, report on the held-out maps
    python tools/train_patterns.py --folds 4       cross-validation within the training split only, heads kept apart: how choices were made

The held-out maps have no part in any choice: run the first form once, when everything is settled.
"""

from __future__ import annotations

import argparse
import time

import torch
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import StratifiedGroupKFold

from headscope.measures.patterns.labels import Labelled, read_labelled
from headscope.measures.patterns.network import CLASSES, SHIPPED, load_network, save_network
from headscope.measures.patterns.training import EPOCHS, Report, evaluate, predict, train


def head_of(row: dict[str, str]) -> str:
    """Models made from the embedded one share its heads: what looks alike stays on one side of a fold."""
    family = "minilm" if row["model"].startswith(("demo", "minilm")) else row["model"]
    return f"{family} {row['layer']}-{row['head']}"


def cross_validate(labelled: Labelled, folds: int, seed: int, epochs: int) -> None:
    groups = [head_of(dict(row)) for row in labelled.known]
    gold: list[str] = []
    found: list[str] = []
    for inside, outside in StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(
        groups, labelled.labels, groups
    ):
        network = train(labelled.take(inside.tolist()), seed=seed, epochs=epochs)
        held = labelled.take(outside.tolist())
        gold += held.labels
        found += predict(network, held.maps)
        print(
            f"fold: macro-F1 {f1_score(held.labels, found[-len(held) :], average='macro'):.3f}",
            flush=True,
        )
    each = f1_score(gold, found, average=None, labels=list(CLASSES))
    print(
        f"all folds: macro-F1 {f1_score(gold, found, average='macro'):.3f}",
        dict(zip(CLASSES, each.round(3).tolist(), strict=True)),
    )
    print(confusion_matrix(gold, found, labels=list(CLASSES)))


def show(name: str, report: Report) -> None:
    print(
        f"\n{name}: macro-F1 {report.f1:.3f}, accuracy {report.accuracy:.3f}\n{report.classes.round(3).to_string()}\n{report.confusion.to_string()}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folds", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    labelled = read_labelled()
    inside = labelled.part(split="train")
    start = time.monotonic()
    if chosen.folds:
        cross_validate(inside, chosen.folds, chosen.seed, chosen.epochs)
    else:
        save_network(SHIPPED, train(inside, seed=chosen.seed, epochs=chosen.epochs))
        network, held = load_network(), labelled.part(split="test")
        show("held-out maps", evaluate(network, held))
        for model in sorted({row["model"] for row in held.known}):
            report = evaluate(network, held.part(model=model))
            print(
                f"{model}: {int(report.classes['count'].sum())} maps, accuracy {report.accuracy:.3f}"
            )
    print(f"{chosen.epochs} epochs, seed {chosen.seed}, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
