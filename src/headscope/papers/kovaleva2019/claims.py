"""The claims of Kovaleva et al. 2019 on patterns, frames and fine-tuning, each with its rule.

Claims on disabling heads are in :mod:`headscope.papers.kovaleva2019.disabling_claims`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from headscope.numbers import number
from headscope.papers.claims import Claim, Finding
from headscope.papers.kovaleva2019 import facts
from headscope.papers.kovaleva2019.change import from_cls_means, link_rows
from headscope.papers.kovaleva2019.glue_table import Scored, mean_gain
from headscope.results import Atlas
from headscope.runs.tune import Start
from headscope.stats import frame_table
from headscope.stats.tables.patterns import pattern_shares

SIMPLE = ("vertical", "diagonal", "vertical+diagonal")
WORDS = ("noun", "verb", "pronoun", "subject", "object", "negation")
"""Linguistic features, without punctuation and special tokens."""
ELSEWHERE = ("STS-B", "RTE", "QNLI")
"""Tasks on which [CLS] of the last layer attends most to punctuation, not to [SEP]."""
HALF = 0.5

HETEROGENEOUS = Claim(
    "Heterogeneous maps are a third to well over half of all maps, depending on the task",
    "Section 4.1, Figure 2",
    "32 % (MRPC) to 61 % (QQP)",
    "32 to 61 % of the tuned model's maps are, on every task",
)
REPEATED = Claim(
    "A large part of the maps are vertical, diagonal or both",
    "Section 4.1, Figure 2",
    "–",
    "these three classes have more than a third of the maps, on every task",
)
FRAMES = Claim(
    "Two heads attend to core frame elements",
    "Section 4.2, Figure 3",
    "0.201 and 0.209",
    "the two strongest heads have 0.201 or more",
)
GAIN = Claim(
    "Fine-tuning beats an untrained classifier by a wide margin on all tasks",
    "Section 4.3, Table 1",
    f"{facts.MEAN_GAIN} points on average",
    "it does on every task",
)
RANDOM = Claim(
    "Fine-tuning from random weights gives lower scores than from pretrained ones",
    "Section 4.3, Table 1",
    "on all tasks",
    "it does on every task",
)
WORSE = Claim(
    "On STS-B and QNLI, tuned random weights are worse than pretrained ones without tuning",
    "Section 4.3, Table 1",
    "2.9 against 33.1; 49.5 against 52.8",
    "they are on both tasks, or on the one that was run",
)
LAST = Claim(
    "The last two layers change most by fine-tuning, except on QQP",
    "Section 4.3, Figure 5",
    "all tasks but QQP",
    "their mean cosines are the two lowest on every task but QQP",
)
STRIPES = Claim(
    "Attention to linguistic features is negligible beside [CLS] and [SEP]",
    "Section 4.4",
    "–",
    "[CLS] and [SEP] together get more than twice what any feature gets (mean over heads), on "
    "every task",
)
ONE_SEP = Claim(
    "[SEP] gets more on SST-2 than on other tasks, because its inputs have only one",
    "Section 4.4, Figure 6",
    "–",
    "the mean over heads is largest on SST-2",
)
EARLY = Claim(
    "Earlier layers attend to [CLS], later layers to [SEP], on all tasks",
    "Section 4.4, Figure 6",
    "–",
    "[CLS] gets more in the lower half of the layers and [SEP] in the upper half, on every task",
)
FROM_CLS = Claim(
    "[CLS] of the last layer attends most to [SEP], except on STS-B, RTE and QNLI (punctuation)",
    "Section 4.5, Figure 7",
    "–",
    "it does on every task; on those three, most to punctuation",
)
DIAGONAL = Claim(
    "Heads for verb–subject and noun–pronoun links are those with diagonal maps",
    "Section 4.5",
    "–",
    "more than half of the strongest heads put over half of their attention on the previous, the "
    "same or the next token",
)


def pattern_findings(tuned: Mapping[str, Atlas]) -> list[Finding]:
    """Test the claims on pattern classes.

    Parameters
    ----------
    tuned
        Surveys of tuned models with the measure pattern, by task; empty without tasks.
    """
    if not tuned:
        reason = "no fine-tuned model was looked at"
        return [HETEROGENEOUS.untested(reason), REPEATED.untested(reason)]
    shares = {
        task: pattern_shares(one).set_index("pattern")["share"] for task, one in tuned.items()
    }
    mixed = {task: float(one["heterogeneous"]) for task, one in shares.items()}
    simple = {task: float(one[list(SIMPLE)].sum()) for task, one in shares.items()}
    least, most = (value / 100 for value in facts.HETEROGENEOUS.values())
    return [
        HETEROGENEOUS.tested(
            _percents(mixed), all(least <= value <= most for value in mixed.values())
        ),
        REPEATED.tested(_percents(simple), all(value > 1 / 3 for value in simple.values())),
    ]


def frame_finding(results: Atlas) -> Finding:
    """Test the claim on frame heads."""
    rows = frame_table(results, top=2)
    here = ", ".join(
        f"{name}: {number(value)}" for name, value in zip(rows["head"], rows["mean"], strict=True)
    )
    return FRAMES.tested(here, bool((rows["mean"] >= min(facts.FRAME_HEADS)).all()))


def tuning_findings(done: Sequence[Scored]) -> list[Finding]:
    """Test the claims on Table 1, by the median over seeds."""
    scores = {
        (one.task.title, one.start): _main([other for other in done if _same(other, one)])
        for one in done
    }
    tasks = list(dict.fromkeys(one.task.title for one in done))

    def both(first: Start, second: Start, among: Sequence[str]) -> dict[str, float]:
        return {
            task: 100 * (scores[task, second] - scores[task, first])
            for task in among
            if (task, first) in scores and (task, second) in scores
        }

    gains = both("untrained", "pretrained", tasks)
    random = both("random", "pretrained", tasks)
    worse = both("random", "untrained", [task for task in tasks if task in ("STS-B", "QNLI")])
    average, _ = mean_gain(done)
    found = []
    for claim, points, missing in (
        (GAIN, gains, "the column untrained or pretrained was not run"),
        (RANDOM, random, "the column random was not run"),
        (WORSE, worse, "neither STS-B nor QNLI was run with random weights"),
    ):
        if not points:
            found.append(claim.untested(missing))
            continue
        mean = f"; {average:+.1f} on average" if claim is GAIN else ""
        found.append(claim.tested(_points(points) + mean, all(v > 0 for v in points.values())))
    return found


def change_findings(
    layers: Mapping[str, xr.DataArray], after: Mapping[str, Atlas]
) -> list[Finding]:
    """Test the claims on what fine-tuning changes, and on what the tuned models attend to.

    Parameters
    ----------
    layers
        The mean cosine of each layer's maps before and after, by task.
    after
        Surveys of the tuned models with the measures feature, link and position, by task.
    """
    return [
        _last_layers(layers),
        _stripes(after),
        _one_separator(after),
        _early_cls(after),
        _from_cls(after),
        _diagonal(after),
    ]


def _last_layers(layers: Mapping[str, xr.DataArray]) -> Finding:
    lowest = {
        task: sorted(int(one["layer"].values[place]) for place in np.argsort(one.values)[:2])
        for task, one in layers.items()
        if task != "QQP"
    }
    if not lowest:
        return LAST.untested("only QQP was run")
    last = {
        task: [int(number) for number in one["layer"].values[-2:]] for task, one in layers.items()
    }
    here = "; ".join(f"{task}: layers {one[0]} and {one[1]}" for task, one in lowest.items())
    return LAST.tested(here, all(lowest[task] == last[task] for task in lowest))


def _stripes(after: Mapping[str, Atlas]) -> Finding:
    texts, holds = [], []
    for task, results in after.items():
        means = results.mean("feature").mean(["layer", "head"])
        special = float(means.sel(feature="cls") + means.sel(feature="sep"))
        words = {name: float(means.sel(feature=name)) for name in WORDS}
        known = {name: value for name, value in words.items() if np.isfinite(value)}
        most = max(known, key=lambda name: known[name])
        texts.append(f"{task}: {number(special)} against {number(known[most])} ({most})")
        holds.append(special > 2 * known[most])
    return STRIPES.tested("; ".join(texts), all(holds))


def _one_separator(after: Mapping[str, Atlas]) -> Finding:
    means = {
        task: float(one.mean("feature").sel(feature="sep").mean()) for task, one in after.items()
    }
    if "SST-2" not in means or len(means) < 2:
        return ONE_SEP.untested("SST-2 and another task are needed")
    return ONE_SEP.tested(_numbers(means), max(means, key=lambda task: means[task]) == "SST-2")


def _early_cls(after: Mapping[str, Atlas]) -> Finding:
    texts, holds = [], []
    for task, results in after.items():
        means = results.mean("feature").mean("head")
        half = means.sizes["layer"] // 2
        halves = {
            token: [
                float(means.sel(feature=token).isel(layer=part).mean())
                for part in (slice(0, half), slice(half, None))
            ]
            for token in ("cls", "sep")
        }
        (one, two), (three, four) = halves["cls"], halves["sep"]
        texts.append(
            f"{task}: [CLS] {number(one)} below, {number(two)} above; "
            f"[SEP] {number(three)}, {number(four)}"
        )
        holds.append(one > two and four > three)
    return EARLY.tested("; ".join(texts), all(holds))


def _from_cls(after: Mapping[str, Atlas]) -> Finding:
    most, holds = {}, []
    for task, results in after.items():
        means = {
            name: value
            for name, value in from_cls_means(results).items()
            if np.isfinite(value) and name != "cls"
        }
        most[task] = max(means, key=lambda name: means[name])
        holds.append(most[task] == ("punctuation" if task in ELSEWHERE else "sep"))
    here = "; ".join(f"{task}: {name}" for task, name in most.items())
    return FROM_CLS.tested(f"{here} ([CLS] itself not counted)", all(holds))


def _diagonal(after: Mapping[str, Atlas]) -> Finding:
    rows = link_rows(after)
    if not rows:
        return DIAGONAL.untested("no example has such a link")
    near = [float(row["to a neighbour"]) for row in rows]
    heads = sum(value > HALF for value in near)
    here = f"{heads} of {len(rows)} (mean {number(float(np.mean(near)))})"
    return DIAGONAL.tested(here, heads > len(rows) / 2)


def _main(runs: Sequence[Scored]) -> float:
    """The median over seeds of the task's main metric; accuracy where there is one."""
    task = runs[0].task
    metric = "accuracy" if "accuracy" in task.metrics else task.metrics[0]
    return float(np.median([one.scores[metric] for one in runs]))


def _same(one: Scored, other: Scored) -> bool:
    return one.task.name == other.task.name and one.start == other.start


def _percents(values: Mapping[str, float]) -> str:
    return "; ".join(f"{task}: {100 * value:.0f} %" for task, value in values.items())


def _points(values: Mapping[str, float]) -> str:
    return "; ".join(f"{task}: {value:+.1f}" for task, value in values.items())


def _numbers(values: Mapping[str, float]) -> str:
    return "; ".join(f"{task}: {number(value)}" for task, value in values.items())
