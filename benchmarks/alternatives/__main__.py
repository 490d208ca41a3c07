"""Compare Headscope with other tools: ``python -m benchmarks.alternatives [name …]``.

Each job is done by Headscope and by another tool, each in a process and an environment of its own,
with one thread. The table shows time, memory and how far the numbers differ; it is also written to
``out/alternatives.json``. A tool that cannot be installed or fails has a row that says why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import headscope as hs
from benchmarks.__main__ import write
from benchmarks.alternatives.environments import (
    HERE,
    ROOT,
    TORCH,
    Environment,
    make_environment,
)
from headscope.cli.console import Console

FOLDER = Path("out/alternatives")
OUTPUT = Path("out/alternatives.json")
TEXTS, VIEWS, DECODER_TEXTS, DECODER_LENGTH = 96, 8, 24, 128
PATIENCE = 900


@dataclass(frozen=True)
class Pair:
    """A job that two tools do.

    Parameters
    ----------
    job
        What is done, in a few words.
    tool
        The other tool, as people know it.
    theirs, ours
        Modules of :mod:`benchmarks.alternatives.jobs`.
    packages
        What the other tool's environment needs; none if Headscope's has it all.
    unit
        What the numbers are whose largest difference is shown.
    """

    job: str
    tool: str
    theirs: str
    ours: str
    packages: tuple[str, ...] = ()
    unit: str = "share of attention, nats"


PROBE = "36 heads probed, 2 classes, 1000 rows, 5 L2 values"
PAIRS = {
    "maps": Pair(
        f"4 statistics of 72 heads, {TEXTS} texts",
        "output_attentions, numpy loops",
        "maps_numpy",
        "maps_headscope",
    ),
    "transformer-lens": Pair(
        f"previous-token score of 270 heads, {DECODER_TEXTS} texts of {DECODER_LENGTH} tokens",
        "TransformerLens: cache, head detector",
        "detector_transformer_lens",
        "detector_headscope",
        (TORCH, "transformer-lens"),
        "share of attention",
    ),
    "bertviz": Pair(
        f"maps of 72 heads of {VIEWS} texts, ready to be looked at",
        "BertViz: head view and model view",
        "views_bertviz",
        "views_headscope",
        # Its views need none of the other packages it asks for; boto3 takes pip many minutes.
        (TORCH, "transformers", "ipython", "--no-deps bertviz"),
        "share of attention",
    ),
    "senteval": Pair(
        PROBE,
        "SentEval's way, one head at a time",
        "probe_senteval",
        "probe_headscope",
        unit="test accuracy",
    ),
    "scikit-learn": Pair(
        PROBE,
        "scikit-learn, one head at a time",
        "probe_scikit_learn",
        "probe_headscope",
        ("scikit-learn",),
        "test accuracy",
    ),
}


def prepare(folder: Path, names: Sequence[str]) -> None:
    """Write the models and texts of some jobs, once."""
    folder.mkdir(parents=True, exist_ok=True)
    passages = [" ".join(example.texts) for example in hs.read("demo")]
    if {"maps", "bertviz"} & set(names):
        save_model("demo", folder / "encoder")
        write_texts(folder / "texts.json", passages[:TEXTS])
        write_texts(folder / "texts_views.json", passages[:VIEWS])
    if "transformer-lens" in names:
        save_model("demo-llm", folder / "decoder", head="lm")
        tokenizer = hs.load(folder / "decoder").tokenizer
        texts = exact_texts(tokenizer, passages, DECODER_LENGTH - 1)
        write_texts(folder / "texts_decoder.json", texts[:DECODER_TEXTS])


def save_model(name: str, folder: Path, **options: Any) -> None:
    """Save an embedded model as an ordinary folder that every tool can read."""
    if (folder / "config.json").exists():
        return
    model = hs.load(name, **options)
    model.network.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)


def write_texts(path: Path, texts: list[str]) -> None:
    """Write texts as JSON."""
    path.write_text(json.dumps(texts, ensure_ascii=False), encoding="utf-8")


def exact_texts(tokenizer: Any, passages: Sequence[str], length: int) -> list[str]:
    """Cut passages so that each has exactly so many tokens, BOS not counted."""
    found = []
    for first in range(len(passages)):
        ids = tokenizer(" ".join([*passages[first:], *passages]), add_special_tokens=False)
        text = tokenizer.decode(ids["input_ids"][:length])
        if len(tokenizer(text, add_special_tokens=False)["input_ids"]) == length:
            found.append(text)
    return found


def do(job: str, environment: Environment, folder: Path) -> dict[str, Any]:
    """Do one job in a process of its own; the report it prints, or ``reason`` if it failed."""
    if environment.python is None:
        return {"reason": environment.reason}
    line = [str(environment.python), "-m", f"benchmarks.alternatives.jobs.{job}", str(folder)]
    single = {
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]),
    }
    try:
        done = subprocess.run(
            line, capture_output=True, text=True, timeout=PATIENCE, env=os.environ | single
        )
    except subprocess.TimeoutExpired:
        return {"reason": f"stopped after {PATIENCE} s"}
    if done.returncode:
        return {"reason": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    report: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return report


def difference(folder: Path, one: str, other: str) -> float:
    """Return the largest difference between the numbers that two jobs found."""
    with np.load(folder / f"{one}.npz") as left, np.load(folder / f"{other}.npz") as right:
        assert sorted(left) == sorted(right)
        return max(float(np.abs(left[name] - right[name]).max()) for name in left)


def compare(pair: Pair, folder: Path) -> dict[str, Any]:
    """Do a job with both tools; a row of the table."""
    row: dict[str, Any] = {"job": pair.job, "against": pair.tool}
    if pair.packages:
        environment = make_environment(folder / "environments" / pair.theirs, pair.packages)
    else:
        environment = HERE
    theirs, ours = do(pair.theirs, environment, folder), do(pair.ours, HERE, folder)
    for name, report in ((pair.theirs, theirs), (pair.ours, ours)):
        if "reason" in report:
            return row | {"failed": f"{name}: {report['reason']}"}
    return row | {
        "theirs, s": round(theirs["processor"], 2),
        "ours, s": round(ours["processor"], 2),
        "times as fast": round(theirs["processor"] / ours["processor"], 2),
        "wall, s": f"{theirs['seconds']:.1f} / {ours['seconds']:.1f}",
        "peak memory, MiB": f"{theirs['memory']:.0f} / {ours['memory']:.0f}",
        "beyond the model, MiB": f"{theirs['beyond_model']:.0f} / {ours['beyond_model']:.0f}",
        "largest difference": f"{difference(folder, pair.theirs, pair.ours):.1e} ({pair.unit})",
        "versions": theirs["versions"],
        "failed": "",
    }


def main() -> int:
    """Compare with the tools named, or all; 1 if a tool could not be run."""
    names = sys.argv[1:] or list(PAIRS)
    folder = FOLDER.absolute()
    prepare(folder, names)
    rows = [compare(PAIRS[name], folder) for name in names]
    shown = [{key: value for key, value in row.items() if key != "versions"} for row in rows]
    done = [row for row in shown if not row["failed"]]
    Console().table([{k: v for k, v in row.items() if k != "failed"} for row in done])
    for row in shown:
        if row["failed"]:
            print(f"{row['against']}: failed. {row['failed']}")
    write(OUTPUT, rows)
    return 0 if len(done) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
