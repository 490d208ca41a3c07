"""Show that numbers have not moved between a tagged commit and the present tree.

``run TREE OUT`` runs surveys, table commands and the papers' recipes at small sizes through the
command line of a source tree and keeps what they write. ``compare OLD NEW`` compares two such
folders number by number, without importing Headscope. ``all --base TAG`` does both: it runs TAG in
a git worktree of its own, then the present tree, then compares.

The jobs are written in the words of the base commit. When a command or an option is renamed, add it
to ``COMMANDS`` here; when a file, a measure, a dimension or a label is, add it to the tables in
``number_diff.py``.

    python tools/freeze.py all --base 4ad51ef
    python tools/freeze.py run . /tmp/freeze/new --only 'demo-*'
    python tools/freeze.py compare /tmp/freeze/base /tmp/freeze/new
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from number_diff import compare

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

COMMANDS: dict[str, str] = {}
"""Commands (``"paper clark2019"``) and options (``"survey --keep"``) renamed since the base commit:
old words to new words."""


@dataclass(frozen=True)
class Job:
    """One call of the command line. What it prints is kept if ``table`` is set."""

    name: str
    words: tuple[str, ...]
    table: bool = False


def jobs(shared: Path, out: Path) -> Iterator[Job]:
    """All jobs, in the words of the base commit. Later ones may read the files of earlier ones."""
    data, models = shared / "data", shared / "models"
    treebank = str(data / "treebank" / "en_ewt-ud-dev.conllu.gz")
    coref = str(data / "coref" / "ontogum_free.jsonl.gz")
    frames = str(data / "framenet" / "kovaleva_473.jsonl.gz")
    mlm = str(models / "minilm-l6-mlm")
    asked = ("--measure", "distance", "--measure", "pattern")
    gradient = ("--measure", "gradient")
    for model in ("demo", "electra-mini", "gpt2-mini", "minilm-l6-mlm"):
        path = model if model == "demo" else str(models / model)
        lm = gradient if model in ("gpt2-mini", "minilm-l6-mlm") else ()
        surveys = {
            "treebank": (treebank, "--limit", "40"),
            "coref": (coref, "--limit", "6", "--long", "split"),
            "frames": (frames, "--limit", "60"),
            "builtin": ("demo", "--limit", "24"),
            "asked": ("demo", "--limit", "24", *asked, *lm),
        }
        for corpus, words in surveys.items():
            name = f"{model}-{corpus}"
            yield Job(name, ("survey", path, *words, "-o", f"{name}.nc", "-q"))
        for table, corpus in (
            ("roles", "treebank"),
            ("dependencies", "treebank"),
            ("coreference", "coref"),
            ("frames", "frames"),
        ):
            words = (table, f"{model}-{corpus}.nc", "--json")
            yield Job(f"{model}-{corpus}-{table}", words, table=True)
    options = ("--features", "--limit", "30", "-o", "compare.nc", "-q")
    yield Job("compare", ("compare", "demo", mlm, treebank, *options))
    for way in ("uniform", "zero", "mean"):
        options = ("--way", way, "--limit", "8", "-o", f"ablate-{way}.nc", "--json")
        yield Job(f"ablate-{way}", ("ablate", str(models / "gpt2-mini"), *options), table=True)
    yield from recipes(treebank, coref, frames, mlm, out / "glue")


def recipes(treebank: str, coref: str, frames: str, mlm: str, glue: Path) -> Iterator[Job]:
    """The four papers, at sizes that take about a minute each."""
    few = ("--limit", "24", "-q")
    clark = ("--model", mlm, "--treebank", treebank, "--coref", coref, "--epochs", "2")
    yield Job("clark2019", ("paper", "clark2019", *clark, *few, "-o", "clark2019"))
    pande = ("--corpus", treebank, "--corpus", "demo", "--tuned", mlm)
    yield Job("pande2021", ("paper", "pande2021", *pande, *few, "-o", "pande2021"))
    tuning = ("--data", str(glue), "--epochs", "1")
    kovaleva = ("--task", "rte", "--frames", frames, *tuning)
    yield Job("kovaleva2019", ("paper", "kovaleva2019", *kovaleva, *few, "-o", "kovaleva2019"))
    probing = ("--task", "Length", "--task", "Depth", "--task", "Tense", "--limit", "60")
    jo = (*probing, "--downstream", "rte", *tuning, "--seeds", "1", "-q")
    yield Job("jo2020", ("paper", "jo2020", *jo, "-o", "jo2020"))


def translate(words: tuple[str, ...], commands: Mapping[str, str]) -> list[str]:
    """A command line of the base commit in present words.

    >>> translate(("paper", "x", "--way", "zero"), {"paper x": "repeat x", "paper --way": "--by"})
    ['repeat', 'x', '--by', 'zero']
    """
    command = words[0]
    renamed = [
        commands.get(f"{command} {word}", word) if word.startswith("-") else word for word in words
    ]
    for length in (2, 1):
        head = " ".join(words[:length])
        if head in commands:
            return [*commands[head].split(), *renamed[length:]]
    return renamed


def run(tree: Path, out: Path, *, base: str, only: str = "*", shared: Path = SHARED) -> bool:
    """Run all jobs with the sources of a tree. Jobs that have run already are not run again."""
    out.mkdir(parents=True, exist_ok=True)
    write_glue(shared, out / "glue")
    commit = revision(tree, "HEAD")
    commands = {} if commit == revision(ROOT, base) else COMMANDS
    environment = os.environ | {
        "PYTHONPATH": str(tree.resolve() / "src"),
        "HEADSCOPE_CACHE": str(out.resolve() / "cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    record_path = out / "run.json"
    record = json.loads(record_path.read_text()) if record_path.exists() else {"jobs": {}}
    record["commit"] = commit
    for job in jobs(shared, out.resolve()):
        done = record["jobs"].get(job.name, {})
        if not fnmatch.fnmatch(job.name, only) or done.get("status") == 0:
            continue
        words = translate(job.words, commands)
        start = time.perf_counter()
        status = call(words, out, job, environment)
        seconds = round(time.perf_counter() - start, 1)
        record["jobs"][job.name] = {"words": words, "status": status, "seconds": seconds}
        record_path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"{job.name:32} {seconds:7.1f} s{'' if status == 0 else '  FAILED'}", flush=True)
    failed = [name for name, done in record["jobs"].items() if done["status"]]
    minutes = sum(done["seconds"] for done in record["jobs"].values()) / 60
    print(f"{out}: {len(record['jobs'])} jobs, {len(failed)} failed, {minutes:.1f} minutes")
    return not failed


def call(words: list[str], out: Path, job: Job, environment: Mapping[str, str]) -> int:
    """Run one command, with its output in files beside its results."""
    printed = out / (f"{job.name}.json" if job.table else f"{job.name}.out")
    with printed.open("w") as stdout, (out / f"{job.name}.log").open("w") as stderr:
        line = [sys.executable, "-m", "headscope", *words]
        return subprocess.run(
            line, cwd=out, env=environment, stdout=stdout, stderr=stderr
        ).returncode


def write_glue(shared: Path, folder: Path, sizes: Mapping[str, int] | None = None) -> None:
    """Write the first rows of RTE as a small GLUE folder."""
    for split, rows in (sizes or {"train": 96, "dev": 48}).items():
        target = folder / "RTE" / f"{split}.tsv"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with gzip.open(shared / "data" / "glue" / "RTE" / f"{split}.tsv.gz", "rt") as file:
                target.write_text("".join(next(file) for _ in range(rows + 1)))


def revision(tree: Path, name: str) -> str:
    """The commit that a name stands for."""
    line = ["git", "-C", str(tree), "rev-parse", "--verify", f"{name}^{{commit}}"]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def run_base(base: str, out: Path, only: str) -> bool:
    """Run the base commit in a worktree that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), base], check=True)
        try:
            return run(tree, out, base=base, only=only)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="4ad51ef", help="the commit to compare with")
    parser.add_argument("--only", default="*", help="only jobs whose name matches this pattern")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="run all jobs with the sources of a tree")
    one.add_argument("tree", type=Path)
    one.add_argument("out", type=Path)
    two = commands.add_parser("compare", help="compare the output of two runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.add_argument("--tolerance", type=float, default=1e-9, help="largest relative difference")
    both = commands.add_parser("all", help="run both sides, then compare")
    both.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "freeze")
    for child in (one, both):
        child.add_argument("--base", default=argparse.SUPPRESS, help="the commit to compare with")
        child.add_argument("--only", default=argparse.SUPPRESS, help="a pattern of job names")
    given = parser.parse_args()
    if given.command == "run":
        return not run(given.tree, given.out, base=given.base, only=given.only)
    if given.command == "compare":
        return not compare(given.old, given.new, tolerance=given.tolerance)
    base, new = given.out / "base", given.out / "new"
    ran = run_base(given.base, base, given.only) and run(
        ROOT, new, base=given.base, only=given.only
    )
    return not (compare(base, new) and ran)


if __name__ == "__main__":
    sys.exit(main())
