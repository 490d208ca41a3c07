"""Probe 144 heads with five L2 values: all heads at once against one nn.Linear at a time.

The exact solver and batched RMSProp take all heads at once; the rival trains one classifier at a
time with RMSProp. Both processor times and accuracies are compared.
"""

from __future__ import annotations

import copy
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from benchmarks.memory import reset_peak, status
from benchmarks.timing import Row, best_times, row
from headscope.runs.probe import L2
from headscope.runs.probe.classify import solve_rmsprop
from headscope.runs.probe.linear import Fitted, Problems, solve

HEADS, WIDTH, CLASSES = 144, 64, 2
TRAIN, HELD, TEST = 8000, 1000, 1000
LATENT = 24
SAMPLE = range(0, HEADS, 24)
"""Six heads that are trained one at a time, from no signal to the strongest. Their time is scaled
up to all heads."""
MIDDLE = 2
"""The index of the L2 value at which scikit-learn is compared."""
RATE, BATCH, EPOCHS, SEED = 0.1, 256, 200, 0
THEIR_RATE = 0.01
"""The learning rate of the authors' code; the paper says 0.1."""
SIGNAL = 0.3
"""The distance between the two classes in each dimension of the strongest head."""


@dataclass(frozen=True)
class Data:
    """Features (head, row, width) and classes of training, held-out and test rows."""

    x: Tensor
    y: Tensor

    @property
    def problems(self) -> Problems:
        """The classifiers to train, one per head and L2 value."""
        return Problems(self.x, self.y, CLASSES, (torch.arange(len(self.y)) < TRAIN)[None], L2)

    @property
    def held(self) -> Tensor:
        """Which rows are held out for choosing the L2 value."""
        row = torch.arange(len(self.y))
        return ((row >= TRAIN) & (row < TRAIN + HELD))[None]

    def accuracy(self, fitted: Fitted) -> Tensor:
        """Test accuracy by head, with the L2 value that is best on the held-out rows."""
        right = (fitted.logits(self.x[:, TRAIN:]).argmax(-1) == self.y[TRAIN:])[:, 0].float()
        best = right[..., :HELD].mean(-1).argmax(1)
        return right[..., HELD:].mean(-1)[torch.arange(len(right)), best]


def make() -> Data:
    """Make heads that mix the same latent variables, with a falling spectrum and noise.

    A quarter of the heads carry no information about the class; the others carry more and more.
    """
    generator = torch.Generator().manual_seed(SEED)
    rows = TRAIN + HELD + TEST
    y = torch.randint(CLASSES, (rows,), generator=generator)
    latent = torch.randn(rows, LATENT, generator=generator)
    spectrum = torch.arange(1, LATENT + 1) ** -0.5
    x = torch.empty(HEADS, rows, WIDTH)
    for head in range(HEADS):
        signal = SIGNAL * max(0.0, head / HEADS - 0.25) / 0.75
        mixture = torch.randn(LATENT, WIDTH, generator=generator) * spectrum[:, None]
        direction = torch.randn(WIDTH, generator=generator)
        x[head] = latent @ mixture + 0.5 * torch.randn(rows, WIDTH, generator=generator)
        x[head] += signal * (y - 0.5)[:, None] * direction
        x[head] -= x[head, :TRAIN].mean(0)
        x[head] /= x[head, :TRAIN].std(0)
    return Data(x, y)


@dataclass(frozen=True)
class Stopping:
    """When training stops.

    Parameters
    ----------
    passes
        Passes over the training rows between two evaluations on the held-out rows.
    failures
        Evaluations without improvement that end the training.
    anew
        Whether an improvement resets the count of failures.
    again
        Whether the classifier is trained once more with the chosen L2 value.
    """

    passes: int
    failures: int
    anew: bool
    again: bool


PAPER = Stopping(passes=1, failures=3, anew=True, again=False)
"""What the paper describes (Appendix A.2) and solve_rmsprop does."""
SENTEVAL = Stopping(passes=2, failures=4, anew=False, again=True)
"""What SentEval does with the authors' settings (epoch_size 2, tenacity 3): the fourth failure ends
the training, and the best L2 value is trained once more."""


def train_alone(data: Data, head: int, l2: float, stopping: Stopping) -> torch.nn.Linear:
    """Train one classifier with RMSProp and return the weights that were best on held-out rows."""
    torch.manual_seed(SEED)
    random = np.random.default_rng(SEED)
    x, y = data.x[head], data.y
    layer = torch.nn.Linear(WIDTH, CLASSES)
    optimizer = torch.optim.RMSprop(layer.parameters(), lr=RATE, weight_decay=l2)
    best, kept, failures = -1.0, layer, 0
    for _ in range(EPOCHS // stopping.passes):
        for _ in range(stopping.passes):
            for indices in torch.from_numpy(random.permutation(TRAIN)).split(BATCH):
                loss = functional.cross_entropy(layer(x[indices]), y[indices])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        right = share_right(layer, x[TRAIN : TRAIN + HELD], y[TRAIN : TRAIN + HELD])
        if right > best:
            best, kept, failures = right, copy.deepcopy(layer), 0 if stopping.anew else failures
        else:
            failures += 1
        if failures == stopping.failures:
            break
    return kept


def share_right(layer: torch.nn.Linear, x: Tensor, y: Tensor) -> float:
    """Compute the accuracy of a classifier."""
    with torch.no_grad():
        return float((layer(x).argmax(1) == y).float().mean())


def one_at_a_time(data: Data, stopping: Stopping) -> Tensor:
    """Test accuracy of the sampled heads, with the L2 value that is best on the held-out rows."""
    held, test = slice(TRAIN, TRAIN + HELD), slice(TRAIN + HELD, None)
    found = []
    for head in SAMPLE:
        layers = [train_alone(data, head, l2, stopping) for l2 in L2]
        scores = [share_right(layer, data.x[head, held], data.y[held]) for layer in layers]
        place = int(np.argmax(scores))
        best = train_alone(data, head, L2[place], stopping) if stopping.again else layers[place]
        found.append(share_right(best, data.x[head, test], data.y[test]))
    return torch.tensor(found)


def scikit(data: Data) -> Tensor:
    """Test accuracy of the sampled heads with scikit-learn, at one L2 value.

    For two classes scikit-learn fits one weight vector, the difference of our two, on which the
    same penalty weighs half as much.
    """
    found = []
    for head in SAMPLE:
        model = LogisticRegression(C=2 / (TRAIN * L2[MIDDLE]), tol=1e-6, max_iter=1000).fit(
            data.x[head, :TRAIN].numpy(), data.y[:TRAIN].numpy()
        )
        found.append(
            float(model.score(data.x[head, TRAIN + HELD :].numpy(), data.y[TRAIN + HELD :].numpy()))
        )
    return torch.tensor(found)


def child() -> None:
    """Print the memory of this process with the features, and its peak while probing, in MiB."""
    data = make()
    reset_peak()
    before = status("VmRSS")
    data.accuracy(solve(data.problems))
    print(before, status("VmHWM"))


def points(
    benchmark: str, ours: Tensor, theirs: Tensor, *, bar: float = 0, both: bool = False
) -> Row:
    """Make a row that compares accuracies, in percentage points.

    The mean difference must not be below -bar; with ``both`` it must not be above bar either. A
    positive difference means that ours is higher.
    """
    difference = 100 * (ours - theirs)
    mean = float(difference.mean())
    largest = float(difference[difference.abs().argmax()])
    shown = row(
        f"{benchmark}: mean difference in points (largest {largest:+.1f})",
        mean,
        f"≥ -{bar:g}" if bar else "none",
        base=f"{100 * float(theirs.mean()):.1f} %",
        ours=f"{100 * float(ours.mean()):.1f} %",
        digits=2,
    )
    return shown | {"bar": f"within {bar:g}", "ok": abs(mean) <= bar} if both else shown


def run() -> list[Row]:
    """Return the rows of the benchmark table."""
    data = make()
    sample = list(SAMPLE)
    senteval, paper, exact, batched = best_times(
        lambda: one_at_a_time(data, SENTEVAL),
        lambda: one_at_a_time(data, PAPER),
        lambda: data.accuracy(solve(data.problems)),
        lambda: data.accuracy(solve_rmsprop(data.problems, data.held, seed=SEED)),
        rounds=2,
        clock=time.process_time,
    )
    line = [sys.executable, "-c", "from benchmarks.probe_speed import child; child()"]
    printed = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    before, peak = map(float, printed.split())
    fitted = solve(data.problems)
    ours = data.accuracy(fitted)
    middle = Fitted(
        fitted.weight[:, :, MIDDLE : MIDDLE + 1],
        fitted.bias[:, :, MIDDLE : MIDDLE + 1],
        fitted.steps,
    )
    alone, same = (
        one_at_a_time(data, PAPER),
        data.accuracy(solve_rmsprop(data.problems, data.held, seed=SEED)),
    )
    slow = data.accuracy(solve_rmsprop(data.problems, data.held, rate=THEIR_RATE, seed=SEED))
    name = f"{HEADS} heads probed, {TRAIN} rows, {len(L2)} L2 values"
    scaled = f"({len(sample)} heads, scaled)"
    few = f"test accuracy of {len(sample)} heads, exact solver"
    return [
        times(
            f"{name}: one at a time as SentEval {scaled} ÷ exact solver",
            senteval,
            exact,
            bar=100,
        ),
        times(
            f"{name}: one at a time as the paper {scaled} ÷ exact solver",
            paper,
            exact,
        ),
        times(f"{name}: the same {scaled} ÷ batched RMSProp", paper, batched),
        points(f"{few} against SentEval", ours[sample], one_at_a_time(data, SENTEVAL), bar=0.5),
        points(f"{few} against the paper's training", ours[sample], alone),
        points(
            f"test accuracy of {len(sample)} heads, batched RMSProp against one at a time",
            same[sample],
            alone,
            bar=0.5,
            both=True,
        ),
        points(
            f"test accuracy, exact solver against batched RMSProp, rate {THEIR_RATE:g}",
            ours,
            slow,
        ),
        points(
            f"{few} against scikit-learn, L2 {L2[MIDDLE]:g}",
            data.accuracy(middle)[sample],
            scikit(data),
            bar=0.5,
            both=True,
        ),
        row(
            f"{name}: peak memory of the exact solver ÷ with the features alone",
            peak / before,
            base=f"{before:.0f} MiB",
            ours=f"{peak:.0f} MiB",
            digits=2,
        ),
    ]


def times(benchmark: str, sample: float, ours: float, *, bar: float = 0) -> Row:
    """Make a row on speed: how many times faster ours is than one head at a time.

    The time of one head at a time is scaled up from that of the sampled heads.
    """
    base = sample * HEADS / len(SAMPLE)
    seconds = {"base": f"{base:.1f} s", "ours": f"{ours:.2f} s"}
    return row(benchmark, base / ours, f"≥ {bar:g}" if bar else "none", digits=1, **seconds)
