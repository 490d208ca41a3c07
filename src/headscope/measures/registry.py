"""Every measure by name, without importing torch; and the choice of measures for a run.

Another package adds measures through the entry point group ``headscope.measures``; a user gives a
class or an object to :func:`headscope.survey`, or a file with classes to ``--measure-file``.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from headscope.errors import UserError, cut
from headscope.labels import NORM
from headscope.measures.base import Measure
from headscope.registry import MEASURES as MEASURES

Maps = Literal["attention", "norm", "both"]
"""What measures are computed on: attention maps; maps weighted by the length of what attention
carries; or each measure on either."""
_TREEBANK = {"hint": "use a treebank (.conllu), or parse plain text with parse=True"}
HOW: dict[str, dict[str, str]] = {
    "tree": _TREEBANK,
    "words": _TREEBANK,
    "tags": _TREEBANK,
    "pair": {"hint": "use paragraphs, or a table with two texts per line"},
    "mentions": {"hint": "use a corpus with coreference"},
    "frames": {"hint": "use a corpus with frame links"},
    "lm": {
        "hint": "load the model with its language-model head: hs.load(name, head='lm')",
        "command": "choose a checkpoint that has its language-model head",
    },
}
"""What to do about an annotation or a part of the model that is missing."""


def offered_measures(offered: Collection[str]) -> list[str]:
    """The names of the measures that a survey computes unless others are asked for.

    Parameters
    ----------
    offered
        The annotations of the corpus and the capabilities of the model.

    Examples
    --------
    >>> offered_measures(["words"])[:7]
    ['position', 'special', 'entropy', 'role', 'activity', 'work', 'spread']
    """
    known = ((name, MEASURES[name]) for name in MEASURES)
    return [name for name, kind in known if kind.offered and kind.needs <= set(offered)]


def needs_of(name: str) -> frozenset[str]:
    """What a registered measure needs of corpus and model; nothing, if there is no such measure.

    Examples
    --------
    >>> sorted(needs_of("gradient")), sorted(needs_of("mine"))
    (['lm'], [])
    """
    return MEASURES[name].needs if name in MEASURES else frozenset()


def cross_measures() -> list[str]:
    """The names of the measures that are defined for cross attention: a survey computes them all.

    Examples
    --------
    >>> cross_measures()
    ['special', 'entropy', 'peak', 'alignment']
    """
    return [name for name in MEASURES if MEASURES[name].cross]


def choose(
    measures: Iterable[str | Measure | type[Measure]] | str | Measure | type[Measure] | None,
    offered: Collection[str],
    *,
    corpus: str,
    cross: bool = False,
    beside: bool = True,
) -> list[Measure]:
    """The measures of a run.

    Parameters
    ----------
    measures
        Names, objects or classes; None for all that corpus and model allow.
    offered
        The annotations of the corpus and the capabilities of the model.
    corpus
        The name of the corpus, for messages.
    cross
        Whether cross attention is measured. Then all measures that are defined for it are
        computed unless others are asked for.
    beside
        Whether to add the measures that are always computed with those asked for
        (:meth:`Measure.beside`).

    Raises
    ------
    UserError
        For an unknown name, something that is not a measure, two measures of one name, or a measure
        that needs what corpus or model do not have, or is not defined for cross attention.
    """
    if measures is None:
        names = cross_measures() if cross else offered_measures(offered)
        return _with_those_beside([MEASURES[name]() for name in names], offered)
    wanted: list[Any] = [measures] if _is_one(measures) else list(measures)  # type: ignore[arg-type]
    chosen = [_as_measure(item) for item in dict.fromkeys(wanted)]
    if not chosen:
        raise UserError("no measure was asked for", hint=f"choose from {', '.join(MEASURES)}")
    names = [measure.name for measure in chosen]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(
            f"two measures are called {twice!r}, and results are kept by name",
            hint="give one of the classes another name, or survey twice",
        )
    for measure in chosen:
        _check_needs(measure, set(offered), corpus)
        if cross and not measure.cross:
            own = not type(measure).__module__.startswith("headscope.")
            raise not_for_cross(measure.name, own=own)
    return _with_those_beside(chosen, offered) if beside else chosen


def _with_those_beside(chosen: list[Measure], offered: Collection[str]) -> list[Measure]:
    """Measures, and those that are always computed with them (:meth:`Measure.beside`)."""
    by_name = {measure.name: measure for measure in chosen}
    for measure in chosen:
        for name in measure.beside():
            if name not in by_name and needs_of(name) <= set(offered):
                by_name[name] = MEASURES[name]()
    more = list(by_name.values())
    return more if len(more) == len(chosen) else _with_those_beside(more, offered)


def not_for_cross(name: str, *, own: bool = False) -> UserError:
    """The error for a measure that is not defined for cross attention; ``own``: a user's."""
    known = ", ".join(cross_measures())
    also = "; if yours is defined for it, set cross = True in its class" if own else ""
    return UserError(
        f"the measure {name!r} is about the tokens of one text; in cross attention rows "
        "are tokens of the decoder and columns tokens of the encoder",
        hint=f"choose from {known}, or give stack='encoder' or stack='decoder'{also}",
    )


def _is_one(measures: Any) -> bool:
    return isinstance(measures, str | type) or hasattr(measures, "bind")


def _as_measure(measure: Any) -> Measure:
    if isinstance(measure, str):
        named: Measure = MEASURES[measure]()
        return named
    if isinstance(measure, type) and issubclass(measure, Measure):
        try:
            return measure()
        except TypeError as error:
            raise UserError(
                f"the measure {measure.__name__} cannot be made without options: {error}",
                hint=f"give an object: {measure.__name__}(...)",
            ) from None
    if not isinstance(measure, Measure):
        raise UserError(
            f"a measure must be a name, an object or a subclass of hs.Measure; got {measure!r} "
            "instead",
            hint="e.g. measures=['entropy', hs.Role(direction='both'), MyMeasure]",
        )
    return measure


def _check_needs(measure: Measure, offered: set[str], corpus: str) -> None:
    missing = sorted(measure.needs - offered)
    if missing == ["lm"]:
        raise UserError(
            f"the measure {measure.name!r} needs a language-model head, which this model lacks",
            **HOW["lm"],
        )
    if missing:
        has = ", ".join(sorted(offered - {"lm"})) or "plain text only"
        raise UserError(
            f"the measure {measure.name!r} needs {', '.join(missing)}, which {corpus} does not "
            f"have (it has {has})",
            **HOW.get(missing[0], {"hint": f"use a corpus with {missing[0]}"}),
        )


def check_maps(maps: str) -> None:
    """Refuse an unknown kind of maps.

    >>> check_maps("norms")
    Traceback (most recent call last):
    headscope.errors.UserError: maps must be 'attention', 'norm' or 'both', got 'norms' instead
    """
    if maps not in get_args(Maps):
        raise UserError(f"maps must be 'attention', 'norm' or 'both', got {maps!r} instead")


def on_maps(measures: Sequence[Measure], maps: Maps) -> tuple[list[Measure], list[str]]:
    """The measures of a run, on the maps that were asked for; and notes on what is left out.

    Parameters
    ----------
    measures
        Bound to the run.
    maps
        With "both", each measure is computed on attention and, under a name that begins with
        ``norm_``, on norm-weighted maps.

    Raises
    ------
    UserError
        If a measure makes no sense on norm-weighted maps, and only these were asked for; or if its
        own name begins with ``norm_``.
    """
    if maps == "attention":
        return list(measures), []
    named = next((measure.name for measure in measures if measure.name.startswith(NORM)), None)
    if named is not None:
        raise UserError(
            f"the name of the measure {named!r} begins with {NORM!r}, which stands for measures on "
            "norm-weighted maps",
            hint="give the class another name, or survey attention maps alone",
        )
    without = [measure.name for measure in measures if not measure.weightable]
    weighted = [measure.norm_weighted() for measure in measures if measure.weightable]
    if maps == "both":
        notes = [f"{name} is not computed on norm-weighted maps" for name in without]
        return [*measures, *weighted], notes
    if without:
        raise UserError(
            f"the measure {without[0]!r} cannot be computed on norm-weighted maps: it reads "
            "something other than maps, or was trained on attention",
            hint="leave it out, or give maps='both'",
        )
    return weighted, []


def load_measure_file(path: str | Path) -> list[type[Measure]]:
    """Run a Python file and return the measures that it defines.

    The file's code runs: it must be the user's own.
    """
    module = run_file(path, what="file of measures")
    defined = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Measure)
        and value.__module__ == module.__name__
        and hasattr(value, "name")
    ]
    if not defined:
        raise UserError(
            f"{path} defines no measure", hint="write a subclass of hs.Measure with a name in it"
        )
    return defined


def check_python_file(path: str | Path, *, what: str = "file of measures") -> Path:
    """Check that a user's file is there, before anything is loaded for it."""
    file = Path(path)
    if not file.is_file() or file.suffix != ".py":
        reason = "does not exist" if not file.exists() else "is not one"
        raise UserError(
            f"a {what} must be a Python file (.py); {str(path)!r} {reason}", hint="check the path"
        )
    return file


def run_file(path: str | Path, *, what: str) -> Any:
    """Run a user's Python file and return it as a module.

    It may import files beside it. Their folder comes last in the search path, and stays there for
    workers and for what is imported later: no file there hides a library.
    """
    file = check_python_file(path, what=what)
    if (folder := str(file.resolve().parent)) not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(f"headscope_file_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except Exception as error:  # a user's file may fail in any way
        raise UserError(
            f"the {what} {file} cannot be run: {type(error).__name__}: {cut(str(error), 300)}",
            hint="run it with python to see where it fails",
        ) from error
    return module
