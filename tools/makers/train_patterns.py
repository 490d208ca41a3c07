"""Train the pattern network that ships with Headscope (Kovaleva et al. 2019, §4.1).

    train_patterns.py              train on the training split of the built-in maps,
                                   write the network, report on the test split
    train_patterns.py --folds 4    cross-validate within the training split

Cross-validation keeps the maps of a head in one fold; all choices were made with it. The test split
must not influence any choice, so run the first form once, when everything is decided.
"""

from __future__ import annotations

import argparse
import time

import torch
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import StratifiedGroupKFold

from headscope.labelling.retrain import check_tables
from headscope.measures.patterns.labels import Labelled, read_labelled
from headscope.measures.patterns.network import CLASSES, SHIPPED, load_network, save_network
from headscope.measures.patterns.training import EPOCHS, Report, evaluate, predict, train


def head_of(row: dict[str, str]) -> str:
    """Name a head for the folds. Variants of the embedded model share its heads."""
    made = row["model"].startswith(("demo", "minilm")) and row["model"] != "demo-llm"
    family = "minilm" if made else row["model"]
    return f"{family} {row['layer']}-{row['head']}"


def cross_validate(labelled: Labelled, folds: int, seed: int, epochs: int) -> None:
    """Train and test on each fold in turn, and print scores over all of them."""
    groups = [head_of(dict(row)) for row in labelled.known]
    gold: list[str] = []
    predicted: list[str] = []
    for inside, outside in StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(
        groups, labelled.labels, groups
    ):
        network = train(labelled.take(inside.tolist()), seed=seed, epochs=epochs)
        test = labelled.take(outside.tolist())
        predictions = predict(network, test.maps)
        gold += test.labels
        predicted += predictions
        score = f1_score(test.labels, predictions, average="macro")
        print(f"fold: macro-F1 {score:.3f}", flush=True)
    scores = f1_score(gold, predicted, average=None, labels=list(CLASSES))
    print(
        f"all folds: macro-F1 {f1_score(gold, predicted, average='macro'):.3f}",
        dict(zip(CLASSES, scores.round(3).tolist(), strict=True)),
    )
    print(confusion_matrix(gold, predicted, labels=list(CLASSES)))


def show(labelled: Labelled, report: Report) -> None:
    """Print the scores of a network on the test maps."""
    print(f"\ntest maps: macro-F1 {report.f1:.3f}, accuracy {report.accuracy:.3f}")
    print(report.classes.round(3).to_string())
    print(report.confusion.to_string())
    for name, table in check_tables(labelled, report.predicted).items():
        print(f"\nby {name}\n{table.round(3).to_string(index=False)}")


def main() -> None:
    """Read the command line."""
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
    start = time.process_time()
    if chosen.folds:
        cross_validate(inside, chosen.folds, chosen.seed, chosen.epochs)
    else:
        save_network(SHIPPED, train(inside, seed=chosen.seed, epochs=chosen.epochs))
    print(
        f"{chosen.epochs} epochs, seed {chosen.seed}, "
        f"{time.process_time() - start:.0f} s of one core"
    )
    if not chosen.folds:
        show(labelled, evaluate(load_network(), labelled.part(split="test")))


if __name__ == "__main__":
    main()
