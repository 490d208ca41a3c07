"""Show that numbers have not moved between an earlier commit and the present tree.

``run TREE OUT`` runs surveys, table commands and the papers' recipes at small sizes through the
command line of a source tree and keeps what they write. ``compare OLD NEW`` compares two such
folders number by number, without importing Headscope. ``all`` does both: it runs the base commit in
a git worktree of its own, then the present tree, then compares. The base commit is run once and
kept; the present tree is run anew each time, with whatever is not committed.

The jobs are written in the words of commit 8f8387f. When a command or an option is renamed, add it
to ``COMMANDS`` here; when a file, a measure, a dimension or a label is, add it to the tables in
``names.py``.

    python tools/freeze all                                       # everything: two quarter hours
    python tools/freeze all --base HEAD --only 'demo-treebank*'   # one survey: half a minute
    python tools/freeze list                                      # the names of the jobs
    python tools/freeze compare /tmp/freeze/8f8387f /tmp/freeze/present --only jo2020 --texts
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freeze.comparing import compare

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"

WORDS = "8f8387f"
"""The commit in whose words the jobs are written."""
COMMANDS: dict[str, str] = {}
"""Commands (``"paper clark2019"``) and options (``"survey --keep"``) that were renamed since: old
words to new words, with ``{}`` for the first argument where it moves."""


@dataclass(frozen=True)
class Job:
    """One call of the command line. What it prints is kept if ``table`` is set."""

    name: str
    words: tuple[str, ...]
    table: bool = False
    needs: str = ""
    """The job whose results file it reads."""


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
        if model in ("demo", "gpt2-mini"):
            yield long_survey(f"{model}-long", path, coref)
        for table, corpus in (
            ("roles", "treebank"),
            ("relations", "treebank"),
            ("coreference", "coref"),
            ("frames", "frames"),
        ):
            words = ("table", f"{model}-{corpus}.nc", table, "--json")
            survey = f"{model}-{corpus}"
            yield Job(f"{survey}-{table}", words, table=True, needs=survey)
    yield from readers()
    options = (
        "--measure",
        "feature",
        "--measure",
        "link",
        "--limit",
        "30",
        "-o",
        "compare.nc",
        "-q",
    )
    yield Job("compare", ("compare", "demo", mlm, treebank, *options))
    for way in ("uniform", "zero", "mean"):
        options = ("--way", way, "--limit", "8", "-o", f"ablate-{way}.nc", "--json")
        yield Job(f"ablate-{way}", ("ablate", str(models / "gpt2-mini"), *options), table=True)
    yield from recipes(treebank, coref, frames, mlm, out / "glue")


def long_survey(name: str, model: str, corpus: str) -> Job:
    """Texts of 512 tokens, with all measures that need nothing but attention."""
    every = ("position", "special", "entropy", "role", "coreference", "distance", "pattern")
    measures = [word for measure in every for word in ("--measure", measure)]
    length = ("--max-length", "512", "--long", "split", "--limit", "3")
    return Job(name, ("survey", model, corpus, *length, *measures, "-o", f"{name}.nc", "-q"))


def readers() -> Iterator[Job]:
    """Pages and tables of results files."""
    for survey in ("demo-builtin", "gpt2-mini-builtin"):
        name = f"{survey}-report"
        words = ("report", f"{survey}.nc", "-o", f"{name}.html", "-q")
        yield Job(name, words, needs=survey)
    words = ("export", "demo-builtin.nc", "-o", "demo-builtin-export.csv", "-q")
    yield Job("demo-builtin-export", words, needs="demo-builtin")
    words = ("table", "demo-asked.nc", "patterns", "--json")
    yield Job("demo-asked-patterns", words, table=True, needs="demo-asked")


def recipes(treebank: str, coref: str, frames: str, mlm: str, glue: Path) -> Iterator[Job]:
    """The four papers, at sizes that take about a minute each."""
    few = ("--limit", "24", "-q")
    clark = ("--model", mlm, "--treebank", treebank, "--coref", coref, "--epochs", "2")
    yield Job("clark2019", ("paper", "clark2019", *clark, *few, "-o", "clark2019"))
    pande = ("--sample", "first", "--corpus", treebank, "--corpus", "demo", "--tuned", mlm)
    yield Job("pande2021", ("paper", "pande2021", *pande, *few, "-o", "pande2021"))
    tuning = ("--data", str(glue), "--epochs", "1")
    kovaleva = ("--task", "rte", "--frames", frames, *tuning)
    yield Job("kovaleva2019", ("paper", "kovaleva2019", *kovaleva, *few, "-o", "kovaleva2019"))
    probing = ("--tasks", "demo", "--limit", "60")
    names = ("--task", "Length", "--task", "Depth", "--task", "Tense")
    jo = (*probing, *names, "--downstream", "rte", *tuning, "--seeds", "1", "-q")
    yield Job("jo2020", ("paper", "jo2020", *jo, "-o", "jo2020"))


def translate(words: tuple[str, ...], commands: Mapping[str, str]) -> list[str]:
    """A command line of the base commit in present words.

    >>> translate(("paper", "x", "--way", "zero"), {"paper x": "repeat x", "paper --way": "--by"})
    ['repeat', 'x', '--by', 'zero']
    """
    renamed: list[str] = []
    for word in words:
        present = commands.get(f"{words[0]} {word}") if word.startswith("-") else None
        renamed += [word] if present is None else present.split()
    for length in (2, 1):
        head = " ".join(words[:length])
        if "{}" in commands.get(head, ""):
            first, *rest = renamed[length:]
            return [*commands[head].format(first).split(), *rest]
        if head in commands:
            return [*commands[head].split(), *renamed[length:]]
    return renamed


def chosen(only: str, shared: Path, out: Path) -> list[Job]:
    """The jobs whose names match a pattern, and those that they need."""
    every = list(jobs(shared, out))
    names = {job.name for job in every if fnmatch.fnmatch(job.name, only)}
    names |= {job.needs for job in every if job.name in names}
    return [job for job in every if job.name in names]


def run(
    tree: Path, out: Path, *, only: str = "*", again: bool = False, shared: Path = SHARED
) -> bool:
    """Run the jobs that match a pattern with the sources of a tree.

    Jobs are not run again that have run already with the same commit, unless ``again`` is set or
    something in the tree is not committed.
    """
    out.mkdir(parents=True, exist_ok=True)
    write_glue(shared, out / "glue")
    commit, clean = revision(tree, "HEAD"), is_clean(tree)
    path = out / "run.json"
    record = json.loads(path.read_text()) if path.exists() else {"jobs": {}}
    selected = chosen(only, shared, out.resolve())
    for job in selected:
        done = record["jobs"].get(job.name, {})
        same = clean and done.get("commit", record.get("commit")) == commit
        if same and done.get("status") == 0 and not again:
            continue
        done = run_job(job, tree, out, {} if commit.startswith(WORDS) else COMMANDS)
        record["jobs"][job.name] = done | {"commit": commit if clean else f"{commit}, changed"}
        record["commit"] = commit
        path.write_text(json.dumps(record, indent=1) + "\n")
        failure = "" if done["status"] == 0 else "  FAILED"
        print(f"{job.name:32} {done['seconds']:7.1f} s{failure}", flush=True)
    finished = [record["jobs"][job.name] for job in selected]
    failed = sum(done["status"] != 0 for done in finished)
    minutes = sum(done["seconds"] for done in finished) / 60
    print(f"{out}: {len(finished)} jobs, {failed} failed, {minutes:.1f} minutes")
    return not failed


def run_job(job: Job, tree: Path, out: Path, commands: Mapping[str, str]) -> dict[str, Any]:
    """Run one job and tell how it went."""
    environment = os.environ | {
        "PYTHONPATH": str(tree.resolve() / "src"),
        "HEADSCOPE_CACHE": str(out.resolve() / "cache"),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    remove_outputs(out, job)
    words = translate(job.words, commands)
    start = time.perf_counter()
    status = call(words, out, job, environment)
    seconds = round(time.perf_counter() - start, 1)
    return {"words": words, "status": status, "seconds": seconds}


def remove_outputs(out: Path, job: Job) -> None:
    """Remove what an earlier run of a job wrote, so that none of it is resumed or compared."""
    for path in [*out.glob(f"{job.name}.*"), out / job.name, out / f"{job.name}-figures"]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


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


def is_clean(tree: Path) -> bool:
    """Whether the sources of a tree are as committed."""
    line = ["git", "-C", str(tree), "status", "--porcelain", "--", "src"]
    return not subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()


def run_base(base: str, out: Path, only: str) -> bool:
    """Run the base commit in a worktree that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), base], check=True)
        try:
            return run(tree, out, only=only)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="list the jobs")
    one = commands.add_parser("run", help="run the jobs with the sources of a tree")
    one.add_argument("tree", type=Path)
    one.add_argument("out", type=Path)
    one.add_argument("--again", action="store_true", help="run what has run already, too")
    two = commands.add_parser("compare", help="compare the output of two runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    both = commands.add_parser("all", help="run both sides, then compare")
    both.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "freeze")
    both.add_argument("--base", default=WORDS, help="the commit to compare with")
    for child in (listing, one, two, both):
        child.add_argument("--only", default="*", help="a pattern of job names: 'demo-*'")
    for child in (two, both):
        child.add_argument("--texts", action="store_true", help="list texts that changed, too")
        child.add_argument("--tolerance", type=float, help="largest relative difference")
    given = parser.parse_args()
    if given.command == "list":
        print("\n".join(job.name for job in chosen(given.only, SHARED, Path())))
        return 0
    if given.command == "run":
        return not run(given.tree, given.out, only=given.only, again=given.again)
    if given.command == "compare":
        return not compare_runs(given.old, given.new, given)
    old, new = given.out / revision(ROOT, given.base)[:7], given.out / "present"
    ran = run_base(given.base, old, given.only)
    ran &= run(ROOT, new, only=given.only, again=True)
    return not (compare_runs(old, new, given) and ran)


def compare_runs(old: Path, new: Path, given: argparse.Namespace) -> bool:
    """Compare two folders with the options of the command line."""
    return compare(old, new, tolerance=given.tolerance, only=given.only, texts=given.texts)
