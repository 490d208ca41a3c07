"""Requirements with hashes: complete, of the pinned versions, and nothing is installed without."""

from __future__ import annotations

import re
from pathlib import Path

import hashes
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REQUIREMENTS = Path(hashes.FOLDER)
ENTRY = re.compile(r"^(\S+)==(\S+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def entries(name: str) -> dict[str, str]:
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    found = {canonicalize_name(one): version for one, version, _ in ENTRY.findall(text)}
    body = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    assert len(body) == len(found), "an entry without a hash"
    return found


def test_every_pin_but_torch_and_the_demo_data_has_hashes():
    run, dev = entries("run"), entries("dev")
    assert not set(run) & set(dev)
    pinned = hashes.pins()
    expected = {name: version for name, version in pinned.items() if name not in hashes.LEFT_OUT}
    assert run | dev == expected
    assert pinned["torch"]


@pytest.mark.parametrize(("files", "wanted"), [(("run",), "spacy,gguf"), (("run", "dev"), "dev")])
def test_the_files_hold_everything_that_is_needed(files, wanted):
    needed = hashes.closure([f"headscope[{wanted}]"]) - hashes.LEFT_OUT
    held = set().union(*(entries(name) for name in files))
    assert needed - held == set()


def test_the_versions_are_those_that_the_project_allows():
    import tomllib

    project = tomllib.loads((REQUIREMENTS.parent / "pyproject.toml").read_text())["project"]
    texts = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = hashes.pins()
    for requirement in map(Requirement, texts):
        name = canonicalize_name(requirement.name)
        if name != "headscope":
            assert requirement.specifier.contains(pinned[name], prereleases=True), requirement


def test_only_wheels_for_this_python_count_and_sources_only_where_there_are_none(monkeypatch):
    files = {f"a-1.0-cp31{n}-cp31{n}-win_amd64.whl": str(n) for n in (1, 2)}
    files |= {"a-1.1-py3-none-any.whl": "3", "a-1.0.tar.gz": "4"}

    class Answer:
        text = "".join(f'<a href="x#sha256={d * 64}">{file}</a>' for file, d in files.items())

        def raise_for_status(self) -> None:
            pass

    monkeypatch.setattr(hashes.httpx, "get", lambda *_, **__: Answer())
    assert hashes.hashes("a", "1.0", "") == ["1" * 64]
    del files["a-1.0-cp311-cp311-win_amd64.whl"]
    Answer.text = "".join(f'<a href="x#sha256={d * 64}">{file}</a>' for file, d in files.items())
    assert hashes.hashes("a", "1.0", "") == ["4" * 64]


def test_the_makefile_installs_nothing_else_without_a_hash():
    text = (REQUIREMENTS.parent / "Makefile").read_text()
    stamps = text[text.index("$(VENV)/run.stamp:") : text.index("# Known vulnerabilities")]
    commands = [line.strip() for line in stamps.splitlines() if line.startswith("\t$(")]
    loose = [line for line in commands if not line.startswith("$(HASHED)")]
    expected = ["$(PINNED) torch==2.13.0", "$(PIP) --no-deps --no-build-isolation --editable ."]
    assert loose == expected
