"""Fuzz the readers: ``python -m tools.fuzz --cases 1000000``.

Each target gets an equal share of the cases (slow ones fewer). With ``--engine atheris``, libFuzzer
chooses the changes by the lines of code that they reach; without, they are random, and the same
seed gives the same cases. Inputs that raise anything but an error of Headscope's own are written to
the folder of findings, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from random import Random
from types import FrameType

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests"), str(ROOT)]
os.environ.setdefault("HF_HUB_OFFLINE", "1")
PATIENCE = 20
"""Seconds that one case may take."""
INSTRUMENTED = ["headscope.corpus", "headscope.tasks", "headscope.limits", "headscope.heads"]
"""What libFuzzer looks at."""


def main() -> int:
    """Fuzz all targets, or some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000, help="how many, over all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="the name of a target; may be repeated")
    parser.add_argument("--engine", choices=("random", "atheris"), default="random")
    parser.add_argument("--findings", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return run_atheris(options.only[0], options.cases, options.seed, options.findings)
    from fuzz.targets import make_targets

    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    targets = make_targets()
    chosen = [targets[name] for name in options.only or targets]
    total = found = 0
    for target in chosen:
        cases = max(1, round(options.cases / len(chosen) / target.slow))
        began = sum(os.times()[:4])  # with child processes
        if options.engine == "atheris" and target.slow == 1:
            bad = spawn_atheris(target.name, cases, options.seed, options.findings)
            accepted = "?"
        else:
            done, bad = fuzz(target, cases, options.seed, options.findings)
            accepted = f"{done:,}"
        seconds = sum(os.times()[:4]) - began
        print(
            f"{target.name:16} {cases:9,} cases  {accepted:>9} accepted  {bad} findings  "
            f"{seconds:6.1f} s",
            flush=True,
        )
        total, found = total + cases, found + bad
    print(f"{total:,} cases, {found} findings")
    return 1 if found else 0


def fuzz(target, cases: int, seed: int, findings: Path) -> tuple[int, int]:
    """Run random cases of a target: how many were accepted, and how many kinds of findings."""
    from fuzz.mutate import mutated

    rng = Random(f"{target.name} {seed}")
    accepted, kinds = 0, set()
    signal.signal(signal.SIGALRM, _too_slow)
    with target.folder() as folder:
        for _ in range(cases):
            data = mutated(rng.choice(target.seeds), target.seeds, rng)
            signal.alarm(PATIENCE)
            try:
                accepted += target.run(folder, data)
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                kind = (type(error).__name__, last.filename, last.lineno)
                if kind not in kinds:
                    kinds.add(kind)
                    keep(findings, target.name, len(kinds), data, error)
            finally:
                signal.alarm(0)
    return accepted, len(kinds)


def keep(findings: Path, name: str, number: int, data: bytes, error: Exception) -> None:
    """Write a finding to a file, and say so."""
    findings.mkdir(parents=True, exist_ok=True)
    path = findings / f"{name.replace(' ', '_')}-{number}"
    path.write_bytes(data)
    print(f"FINDING {path}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    traceback.print_exception(error, limit=-3)


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"a case took more than {PATIENCE} seconds")


def spawn_atheris(name: str, cases: int, seed: int, findings: Path) -> int:
    """Fuzz a target in a process of its own, which ends at the first finding."""
    own = [sys.executable, "-m", "tools.fuzz", "--child", "--only", name]
    more = ["--cases", str(cases), "--seed", str(seed), "--findings", str(findings)]
    done = subprocess.run([*own, *more], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-3000:], flush=True)
    return 1 if done.returncode else 0


def run_atheris(name: str, cases: int, seed: int, findings: Path) -> int:
    """Let libFuzzer choose the cases of one target."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED, enable_loader_override=False):
        import headscope.corpus
        import headscope.tasks.senteval  # noqa: F401
    from fuzz.targets import make_targets

    target = make_targets()[name]
    findings.mkdir(parents=True, exist_ok=True)
    with target.folder() as folder, tempfile.TemporaryDirectory() as corpus:
        for number, data in enumerate(target.seeds):
            (Path(corpus) / str(number)).write_bytes(data)
        prefix = f"-artifact_prefix={findings}/{name.replace(' ', '_')}-"
        how = [f"-runs={cases}", f"-seed={seed + 1}", f"-timeout={PATIENCE}", "-max_len=20000"]
        atheris.Setup([sys.argv[0], *how, prefix, corpus], lambda data: target.run(folder, data))
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
