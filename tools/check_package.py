"""Check the built packages: what they contain, and that the wheel works outside the source tree.

    python -m build --no-isolation --outdir dist . && python tools/check_package.py dist

The wheel is installed into a throwaway environment that borrows the dependencies of the environment
that runs this script, so that the check takes seconds and needs no network.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMOKE = """
import sys
from importlib.metadata import version
from pathlib import Path

import headscope as hs

assert Path(hs.__file__).is_relative_to(sys.prefix), f"imported from {hs.__file__}"
assert hs.__version__ == version("headscope")
"""
COMMANDS = (
    ("--version",),
    ("survey", "demo", "demo", "--limit", "2", "--output", "demo.nc", "--quiet"),
    ("survey", "demo", "demo", "--measure", "pattern", "--limit", "2", "-o", "pattern.nc", "-q"),
    ("report", "demo.nc"),
)
"""They need the templates, the built-in corpus and the weights of the pattern network."""


def contents(source: Path) -> set[str]:
    """Files that the wheel must contain: all that git tracks in the package."""
    # Containers often run as another user than the owner of the checkout.
    git = ["git", "-c", "safe.directory=*", "-C", str(source)]
    line = [*git, "ls-files", "src/headscope"]
    tracked = subprocess.run(line, check=True, capture_output=True, text=True).stdout
    return {name.removeprefix("src/") for name in tracked.splitlines()}


def wheel_problems(names: Collection[str], wanted: Collection[str]) -> list[str]:
    """What is wrong with the contents of a wheel.

    >>> wheel_problems(["headscope/a.py", "tests/x.py"], ["headscope/a.py", "headscope/py.typed"])
    ['missing: headscope/py.typed', 'does not belong: tests/x.py']
    """
    files = {name for name in names if ".dist-info/" not in name}
    missing = [f"missing: {name}" for name in sorted(set(wanted) - files)]
    return missing + [f"does not belong: {name}" for name in sorted(files - set(wanted))]


def check_contents(dist: Path) -> Path:
    """Check both packages and return the wheel."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    wanted = contents(ROOT)
    problems = [f"{wheel.name}: {text}" for text in wheel_problems(_names(wheel), wanted)]
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    needed = {f"src/{name}" for name in wanted} | {"tests/conftest.py", "README.md", "LICENSE"}
    problems += [f"{sdist.name}: missing: {name}" for name in sorted(needed - packed)]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{wheel.name}: {len(wanted)} files; {sdist.name}: {len(packed)} entries")
    return wheel


def _names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel into a new environment in a folder and run a few commands there."""
    place = folder / "venv"
    venv.create(place, symlinks=True)
    python, own = place / "bin" / "python", _packages(place)
    install = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", str(wheel)]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install"]
    subprocess.run([*pip, *install], check=True)
    # A path in a .pth file comes after the environment's own packages, and the .pth files found
    # there (such as that of an editable install) are not read.
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment |= {"HF_HUB_OFFLINE": "1", "HEADSCOPE_CACHE": str(folder / "cache")}
    lines = [[str(place / "bin" / "headscope"), *words] for words in COMMANDS]
    for line in [[str(python), "-c", SMOKE], *lines]:
        subprocess.run(line, cwd=folder, env=environment, check=True)


def _packages(place: Path) -> Path:
    """The site-packages folder of an environment."""
    names = {"base": str(place), "platbase": str(place)}
    return Path(sysconfig.get_path("purelib", "venv", names))


def main() -> None:
    """Check the packages in a folder."""
    wheel = check_contents(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel.resolve(), Path(folder))
    print("the wheel works")


if __name__ == "__main__":
    main()
