"""Run a part of the tests with other versions of transformers and xarray: ``make versions``.

Each version is installed beside torch and everything else of the environment, in a folder of its
own (``.venv/versions``) that comes first on the path. Prints a table; the exit code is 1 if a
version that pyproject.toml allows fails.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".venv" / "versions"
VERSIONS = {
    "transformers": ("5.20.0", "5.23.0"),
    "xarray": ("2025.8.0", "2026.9.0"),
}
"""The lowest and the highest version of each package that is supported."""
TESTS = {
    "transformers": (
        "tests/models/test_contract.py",
        "tests/models/test_watch.py",
        "tests/models/test_load.py",
    ),
    "xarray": (
        "tests/results/test_files.py",
        "tests/results/test_merge.py",
        "tests/stats/inference/test_correction.py",
    ),
}


def main() -> int:
    """Install and try every version."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", help="e.g. transformers==5.0.0; default: all")
    options = parser.parse_args()
    wanted = options.packages or [
        f"{name}=={version}" for name, versions in VERSIONS.items() for version in versions
    ]
    failed = []
    for package in wanted:
        folder = installed(package)
        done = tried(folder, TESTS[package.partition("==")[0]])
        last = (done.stdout.strip().splitlines() or ["nothing was run"])[-1]
        print(f"{package:24} {'ok' if done.returncode == 0 else 'FAILED'}  {last}", flush=True)
        if done.returncode:
            failed.append(package)
            print(re.sub(r"(?m)^", "    ", done.stdout[-3000:] + done.stderr[-2000:]), flush=True)
    return 1 if failed else 0


def installed(package: str) -> Path:
    """A folder with a package and what it needs besides torch and NumPy."""
    folder = FOLDER / package
    if not folder.is_dir():
        pinned = [
            line
            for line in (ROOT / "requirements/constraints.txt").read_text().splitlines()
            if re.match(r"(numpy|pandas|scipy)==", line)
        ]
        limits = FOLDER / "constraints.txt"
        limits.parent.mkdir(parents=True, exist_ok=True)
        limits.write_text("\n".join(pinned) + "\n")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        where = ["--target", str(folder), "--constraint", str(limits), package]
        subprocess.run([*pip, *where], check=True)
    return folder


def tried(folder: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run tests with what is in a folder."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    return subprocess.run(
        [*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
