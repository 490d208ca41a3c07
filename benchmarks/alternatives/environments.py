"""One virtual environment per tool, made when it is first needed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = ROOT / "requirements/constraints.txt"
TORCH = "torch==2.13.0"
"""Any other version brings gigabytes of CUDA packages."""
PATIENCE = 1800
"""Seconds after which an installation is given up."""


@dataclass(frozen=True)
class Environment:
    """A Python with some packages, or why there is none.

    Parameters
    ----------
    python
        The interpreter; None where something could not be installed.
    reason
        Why something could not be installed.
    """

    python: Path | None
    reason: str = ""


HERE = Environment(Path(sys.executable))
"""Where Headscope itself is installed."""


def make_environment(folder: Path, packages: tuple[str, ...]) -> Environment:
    """Make a virtual environment with some packages, or find the one made before.

    Parameters
    ----------
    folder
        Where it is made.
    packages
        What pip installs, in this order, with Headscope's constraints. "--no-deps NAME" installs a
        package without what it asks for.

    Returns
    -------
    Environment
        Without a Python if a package could not be installed; the folder is then removed.
    """
    python, stamp = folder / "bin/python", folder / "installed.txt"
    wanted = "\n".join(packages)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return Environment(python)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    for package in packages:
        reason = _install(python, package)
        if reason:
            shutil.rmtree(folder, ignore_errors=True)
            return Environment(None, f"{package} cannot be installed: {reason}")
    stamp.write_text(wanted, encoding="utf-8")
    return Environment(python)


def _install(python: Path, package: str) -> str:
    """Install one package; return why it failed, or nothing."""
    line = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        done = subprocess.run(
            [*line, "--constraint", str(CONSTRAINTS), *package.split()],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"pip took more than {PATIENCE} s"
    if done.returncode == 0:
        return ""
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    return " ".join(errors or done.stderr.splitlines()[-1:] or ["pip says nothing"])
