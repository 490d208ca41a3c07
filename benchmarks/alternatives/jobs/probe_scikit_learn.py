"""Probe one head after the other with scikit-learn's LogisticRegression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.alternatives.jobs.job import run
from benchmarks.alternatives.jobs.made_heads import HEADS, L2, TRAIN, MadeHeads, make


def work(data: MadeHeads) -> dict[str, Any]:
    """Test accuracy by head, with the L2 value that is best on the held-out rows.

    For two classes scikit-learn fits one weight vector, the difference of Headscope's two, on which
    the same penalty weighs half as much.
    """
    found = []
    for head in range(HEADS):
        train, held, test = data.parts(head)
        models = [
            LogisticRegression(C=2 / (TRAIN * l2), tol=1e-6, max_iter=1000).fit(*train) for l2 in L2
        ]
        best = int(np.argmax([model.score(*held) for model in models]))
        found.append(models[best].score(*test))
    return {"heads": np.asarray(found)}


if __name__ == "__main__":
    run("probe_scikit_learn", lambda _: make(), work, packages=("scikit-learn", "numpy"))
