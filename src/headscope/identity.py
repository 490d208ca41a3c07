"""What makes a run the same run: everything that can change its numbers, and how two runs differ.

A run states what it is made of as one nested dictionary, ``about``: model, corpus, settings,
measures. Its digest is the run's identity, results keep it as provenance, and what two runs differ
in is found by comparing the two dictionaries. No part of the comparison knows any single option.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import PathFinder
from os.path import commonprefix
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from headscope.errors import AnotherRunError, cut
from headscope.files import digest_of

# What things are called changes no number: the same file by another path is the same corpus, and
# a copied folder the same model. Their contents are compared instead.
NAMES = frozenset(
    {("model", name) for name in ("name", "revision", "adapter", "first", "second")}
    | {(part, "name") for part in ("corpus", "train", "dev")}
)
KEYS = "identified_by"
"""Where provenance lists which of its parts are the run's identity."""
PARTS = "parts."
"""Begins the names of the parts of joined results, which are given by their digests."""
SECTIONS = (
    ("corpus", "read"),
    ("model", "tokenizer", "options"),
    ("settings",),
    ("ablation",),
    ("model",),
)
"""Where options stand that a message calls by their own names."""
LONG, MANY = 200, 100
"""Values with more characters, and tables with more rows, are kept as digests."""
SHOWN, NAMED = 48, 5
"""Characters of a value, and differences, that a message shows."""
LACKING = ("not recorded", "not given")
"""What a message says of a value that is not there."""
_NONE = object()


def plain(value: Any) -> Any:
    """A value as a JSON file gives it back: keys are texts, tuples are lists, sets are sorted.

    >>> plain({1: ("a", {"c", "b"})})
    {'1': ['a', ['b', 'c']]}
    """
    return json.loads(json.dumps(value, default=_simple))


def _simple(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


def compact(value: Any) -> Any:
    """A value for provenance: what is long is replaced by its digest.

    >>> compact({"rope_theta": 1e4, "chat": "x" * 1000})
    {'rope_theta': 10000.0, 'chat': 'sha256:d25f4072797c'}
    """
    if isinstance(value, Mapping) and len(value) <= MANY:
        return {str(key): compact(item) for key, item in value.items()}
    text = json.dumps(value, sort_keys=True, default=_simple)
    return json.loads(text) if len(text) <= LONG else f"sha256:{digest_of(text)[:12]}"


def identity_of(about: Mapping[str, Any]) -> str:
    """The digest of what a run is made of, whatever its parts are called.

    >>> one = {"corpus": {"name": "a.txt", "sha256": "12"}}
    >>> identity_of(one) == identity_of({"corpus": {"name": "copy/a.txt", "sha256": "12"}})
    True
    """
    return digest_of(json.dumps(_nameless(plain(about)), sort_keys=True))


def _nameless(about: Any, path: tuple[str, ...] = ()) -> Any:
    if not isinstance(about, dict):
        return about
    rest = ((key, (*path, key)) for key in about)
    return {key: _nameless(about[key], inner) for key, inner in rest if inner not in NAMES}


def differences(
    there: Mapping[str, Any],
    here: Mapping[str, Any],
    *,
    but: Iterable[str] = (),
    words: str = "{} there, {} here",
) -> list[str]:
    """What two runs differ in, each difference as "what: value there, value here".

    Parameters
    ----------
    there
        The provenance of results, or what another run is made of.
    here
        What this run is made of.
    but
        Parts that are not compared.
    words
        How the two values are put.

    Examples
    --------
    >>> there = {"corpus": {"read": {"columns": ["a"]}}, "settings": {"seed": 0}}
    >>> differences(there, {"corpus": {"read": {"columns": ["b"]}}, "settings": {"seed": 1}})
    ["columns: 'a' there, 'b' here", 'seed: 0 there, 1 here']
    """
    keys = dict.fromkeys([*here.get(KEYS, here), *there.get(KEYS, ())])
    theirs, ours = ({key: side[key] for key in keys if key in side} for side in (there, here))
    for key in (*but, KEYS):
        theirs.pop(key, None), ours.pop(key, None)
    changes = list(_differing((), plain(theirs), plain(ours)))
    said = [change for change in changes if not change[0].startswith(PARTS)]
    changes = said or changes  # where a part differs, so does the whole: only the cause is named
    # One option may stand in two sections (limit: of the corpus and of the settings): named once.
    changes = list({change[0]: change for change in changes}.values())
    if "identity" in there and KEYS not in there:  # older results, which recorded less
        lacking = [name for name, value, _ in changes if value in LACKING]
        changes = [change for change in changes if change[0] not in lacking]
        older = [f"{', '.join(lacking)}: not recorded by the earlier version that made it"]
    else:
        older, lacking = [], []
    return [f"{name}: {words.format(*pair)}" for name, *pair in changes] + older * bool(lacking)


def _differing(path: tuple[str, ...], theirs: Any, ours: Any) -> Iterator[tuple[str, str, str]]:
    if path in NAMES or _same(theirs, ours):
        return
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in dict.fromkeys([*ours, *theirs]):
            yield from _differing((*path, key), theirs.get(key, _NONE), ours.get(key, _NONE))
        return
    start = next((len(part) for part in SECTIONS if path[: len(part)] == part != path), 0)
    whole = isinstance(theirs, dict) or isinstance(ours, dict)  # a part that older results lack
    name = ".".join(path[start:])
    yield name, _shown(theirs, ours, whole=whole), _shown(ours, theirs, whole=whole)


def _same(theirs: Any, ours: Any) -> bool:
    """Whether two values are the same in a file: there, 1 and true are not."""
    if _NONE in (theirs, ours):
        return False
    return json.dumps(theirs, sort_keys=True) == json.dumps(ours, sort_keys=True)


def _shown(value: Any, other: Any, *, whole: bool) -> str:
    """A value in a message: long texts from where they begin to differ."""
    if value is _NONE:
        return LACKING[0] if whole else LACKING[1]
    if isinstance(value, dict):
        return cut(", ".join(value), SHOWN)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return cut(", ".join(map(repr, value)), SHOWN)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and isinstance(other, str) and len(text) > SHOWN:
        same = len(commonprefix([text, other]))  # noqa: RUF071 (of characters, not of folders)
        text = f"…{text[same - 12 :]}" if same > 12 else text
    return repr(cut(text, SHOWN)) if isinstance(value, str) else cut(text, SHOWN)


def listed(changes: list[str]) -> str:
    """Differences in one line.

    >>> listed(["seed: 0 there, 1 here"])
    'seed: 0 there, 1 here'
    """
    more = f"; and {len(changes) - NAMED} more" if len(changes) > NAMED else ""
    return "; ".join(changes[:NAMED]) + more


def another_run(what: str, changes: list[str], *, or_else: str = "") -> AnotherRunError:
    """The error for an output that holds another run.

    Parameters
    ----------
    what
        What holds it, such as ``"a.nc holds the results of another run"``.
    changes
        What differs.
    or_else
        What else there is to do.
    """
    return AnotherRunError(
        f"{what}: {listed(changes)}",
        hint=f"give another output, or overwrite=True to replace it{or_else}",
        command=f"give another place with -o, or --overwrite to replace it{or_else}",
    )


def check_same_run(there: Mapping[str, Any], here: Mapping[str, Any], what: str) -> None:
    """Raise an error, unless two runs are the same.

    Raises
    ------
    AnotherRunError
        It says what differs.
    """
    if changes := differences(there, here):
        raise another_run(what, changes)


def same_corpus(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the provenance of two results names the same texts, read in the same way.

    Older results do not say how texts were read; then what both say decides.
    """
    first, second = (plain(about.get("corpus", {})) for about in (one, other))
    both = (first.keys() & second.keys()) - {"name"}
    return "sha256" in both and all(first[key] == second[key] for key in both)


# --- code of users ---


def code_digest(target: Callable[..., Any] | type) -> str:
    """A short digest of a function's or class' code, and of all modules of the user's it imports.

    Modules of Python itself, of Headscope and of installed packages are known by their versions,
    and are left out; so are files that code opens by itself.
    """
    source, names = _source(target)
    digest = hashlib.sha256(source)
    modules = _imported(source, target.__module__.rpartition(".")[0]) if names is None else names
    top = target.__module__.partition(".")[0]
    seen: dict[str, bytes] = {}
    left = list(modules)
    while left:
        name = left.pop()
        if name in seen or name in {target.__module__, "__main__"}:
            continue
        file = _own_file(name, top)
        seen[name] = file.read_bytes() if file else b""
        if file and file.suffix == ".py":
            package = name if file.name == "__init__.py" else name.rpartition(".")[0]
            left += _imported(seen[name], package)
    for name in sorted(name for name in seen if seen[name]):
        digest.update(name.encode() + hashlib.sha256(seen[name]).digest())
    return digest.hexdigest()[:12]


def _source(target: Callable[..., Any] | type) -> tuple[bytes, list[str] | None]:
    """The file that something stands in, because it may use what stands beside it.

    Of a script or notebook only its own lines, with the modules that the script or notebook has
    imported; and what was compiled where there is no text.
    """
    own = vars(target).values() if isinstance(target, type) else [inspect.unwrap(target)]
    codes = [function.__code__ for function in own if hasattr(function, "__code__")]
    try:
        if target.__module__ == "__main__":
            return inspect.getsource(target).encode(), _of_namespace(sys.modules["__main__"])
        # A file given with --measure-file is no module of sys.modules, but its code knows it.
        file = codes[0].co_filename if codes else inspect.getfile(target)
        return Path(file).read_bytes(), None
    except (OSError, TypeError):
        if not codes and not isinstance(target, type):  # an object that can be called
            return _source(type(target))
        return repr([_compiled(code) for code in codes]).encode(), []


def _of_namespace(module: ModuleType) -> list[str]:
    """The modules that a module's names come from, and those that its file imports."""
    file = getattr(module, "__file__", None)
    if file and Path(file).is_file():
        return list(_imported(Path(file).read_bytes(), ""))
    values = vars(module).values()
    names = (
        one.__name__ if inspect.ismodule(one) else getattr(one, "__module__", 0) for one in values
    )
    return [name for name in names if isinstance(name, str)]


def _imported(source: bytes, package: str) -> Iterator[str]:
    """The names of all modules that a file may import, from anywhere within it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            bases = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            try:
                dots = "." * node.level + (node.module or "")
                base = importlib.util.resolve_name(dots, package) if node.level else dots
            except ImportError:
                continue
            bases = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for base in bases:
            parts = base.split(".")
            yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def _own_file(name: str, top: str) -> Path | None:
    """The file of a user's module; None for modules of Python, Headscope and installed packages."""
    first = name.partition(".")[0]
    if first == "headscope" or first in sys.stdlib_module_names:
        return None
    path = getattr(sys.modules.get(name), "__file__", None) or _looked_up(name)
    file = Path(path) if path else None
    if file is None or not file.is_file():
        return None
    return file if first == top or not _installed(file) else None


def _looked_up(name: str) -> str | None:
    """Where a module that is not imported yet would come from; nothing is run."""
    places: Any = None
    full = ""
    spec = None
    for part in name.split("."):
        full = f"{full}.{part}" if full else part
        spec = PathFinder.find_spec(full, places)
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return spec.origin if spec else None


def _installed(file: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(file.parts):
        return True
    places = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return any(file.is_relative_to(place) for place in places if place)


def _compiled(code: CodeType) -> tuple[object, ...]:
    constants: list[object] = []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            constants.append(_compiled(constant))
        elif isinstance(constant, frozenset):
            constants.append(sorted(map(repr, constant)))
        else:
            constants.append(repr(constant))
    return code.co_code, code.co_names, constants
