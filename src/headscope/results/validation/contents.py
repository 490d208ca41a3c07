"""The contents of a results file, checked once when it is opened.

A digest finds damage, but files can also come from other programs. Everything that readers of
results rely on is checked here, so that they need not: groups, variables, dimensions, types, labels
and attributes. Numbers themselves are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import xarray as xr

from headscope.errors import ResultsError, UserError, cut, shorten
from headscope.results.schema import (
    BESIDE,
    EXAMPLES,
    GRID,
    KEPT,
    KINDS,
    NULL,
    SUMS,
    TRACK,
    Contents,
)
from headscope.results.validation.examples import HINT, examples_fault
from headscope.results.validation.labels import JSON_ATTRIBUTES, LABELS, NEEDED, SUMMED
from headscope.results.validation.provenance import is_count, parsed, provenance_fault

TEXTS = ("title", "unit", "source")
"""Attributes that are texts."""


def check_contents(tree: xr.DataTree, path: Path) -> xr.DataTree:
    """Refuse results that have not the layout of :mod:`headscope.results.schema`.

    Parameters
    ----------
    tree
        What was read, in today's version of the layout.
    path
        The file, for errors.

    Returns
    -------
    xarray.DataTree
        The same.

    Raises
    ------
    ResultsError
        If something is missing or of the wrong kind; the message says where.

    Examples
    --------
    >>> about = '{"model": {"name": "demo"}}'
    >>> tree = xr.DataTree(xr.Dataset(attrs={"headscope_schema": 3, "provenance": about}))
    >>> check_contents(tree, Path("run.nc")) is tree
    True
    >>> tree["entropy"] = xr.Dataset()
    >>> check_contents(tree, Path("run.nc"))
    Traceback (most recent call last):
    headscope.errors.ResultsError: run.nc has wrong contents: the group 'entropy' has no variable...
    """
    try:
        _check_tree(tree, "")
    except _Fault as fault:
        raise ResultsError(f"{path} has wrong contents: {fault}", hint=HINT) from None
    return tree


def unreadable(path: Path, error: Exception) -> UserError:
    """The error for contents that cannot be read at all: a version that is no number, for example.

    >>> print(unreadable(Path("run.nc"), ValueError("invalid literal for int(): 'x'")))
    run.nc has wrong contents: invalid literal for int(): 'x'
    next: run the survey again; if another program wrote the file, correct it there
    """
    if isinstance(error, UserError):
        return error
    reason = cut(str(error), 300) or type(error).__name__
    return ResultsError(f"{path} has wrong contents: {reason}", hint=HINT)


class _Fault(Exception):
    """What is wrong, and where."""


def _fail(where: str, what: str) -> NoReturn:
    raise _Fault(f"{where} {what}")


def _check_tree(tree: xr.DataTree, above: str) -> None:
    """Check some results, or those of a null model inside others."""
    found = tree.attrs.get("provenance")
    about = parsed(found)
    if not isinstance(about, dict):
        _fail(f"the attribute 'provenance'{above}", f"is not a JSON object: {shorten(found)}")
    if fault := provenance_fault(about):
        raise _Fault(f"the provenance{above} {fault}")
    for name, node in tree.children.items():
        where = f"the group {f'{above[4:]}/{name}' if above else name!r}"
        kind = node.attrs.get("kind", "mean")
        if (name in BESIDE or kind in BESIDE) and kind != name:
            _fail(where, f"has the kind {shorten(kind)}")
        if name == NULL:
            for inner, part in node.children.items():
                _check_tree(part, f" of {name}/{inner}")
        elif name == TRACK:
            _check_track(node, about)
        elif name == EXAMPLES:
            if fault := examples_fault(node.variables):
                _fail(where, fault)
        else:
            _check_measure(where, name, node, about)


def _check_measure(where: str, name: str, node: xr.DataTree, about: Mapping[str, Any]) -> None:
    kind = node.attrs.get("kind", "mean")
    if not isinstance(kind, str):
        _fail(where, f"has a 'kind' that is not a text: {shorten(kind)}")
    _check_attributes(where, node.attrs)
    if kind not in KINDS:  # of a newer version: readers of the group say so
        return
    if kind == "probe" and node.attrs.get("listed") == "no":  # controls, for one page of a paper
        return
    variables, held = node.variables, KINDS[kind]
    _check_statistics(where, variables, held)
    _check_labels(where, variables, held)
    _check_grid(where, variables, about)
    _check_sums(where, variables, held)
    own = name.removeprefix("norm_")
    if own in LABELS and kind in ("mean", "share"):
        _check_own(where, own, node, held)
        if own in SUMMED and not {"layers", "heads"} <= set(about["model"]):
            _fail("the provenance", "does not say how many layers and heads the model has")


def _check_attributes(where: str, attributes: Mapping[Any, Any]) -> None:
    for name in TEXTS:
        if not isinstance(attributes.get(name, ""), str):
            _fail(where, f"has an attribute {name!r} that is not a text")
    if str(attributes.get("listed", "yes")) not in ("yes", "no"):
        _fail(where, "has an attribute 'listed' that is neither 'yes' nor 'no'")
    for name, kinds in JSON_ATTRIBUTES.items():
        if name in attributes:
            found = parsed(attributes[name])
            if not isinstance(found, dict) or not all(_is(one, kinds) for one in found.values()):
                _fail(where, f"has an attribute {name!r} that is not the JSON object it should be")


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    """Whether a value of a JSON object is as it should be, down to its numbers."""
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(isinstance(one, int) and not isinstance(one, bool) for one in inner)


def _check_statistics(where: str, variables: Mapping[Any, xr.Variable], held: Contents) -> None:
    tested = ("p", "p_corrected") if held.tested else ()
    for name in (*held.columns, *tested):
        if name not in variables:
            _fail(where, f"has no variable {name!r}")
        one, value = variables[name], variables[held.value]
        if one.dtype.kind not in "fiu":
            _fail(where, f"has a variable {name!r} that holds {one.dtype}, not numbers")
        if not set(one.dims) <= set(value.dims):
            _fail(where, f"has a variable {name!r} with the dimensions {_words(one.dims)}")


def _words(dims: tuple[Any, ...]) -> str:
    return ", ".join(map(str, dims)) or "none"


def _check_labels(where: str, variables: Mapping[Any, xr.Variable], held: Contents) -> None:
    """Every dimension of the values has labels, each once."""
    for dim in variables[held.value].dims:
        labels = variables.get(dim)
        if labels is None or labels.dims != (dim,):
            _fail(where, f"has no labels of the dimension {str(dim)!r}")
        values = labels.values.tolist()
        if not values:
            _fail(where, f"has no label of the dimension {str(dim)!r}")
        texts = all(isinstance(value, str) for value in values)
        if not (texts or labels.dtype.kind in "iu"):
            _fail(where, f"has labels of {str(dim)!r} that are neither texts nor whole numbers")
        if len(set(values)) < len(values):
            _fail(where, f"has a label of {str(dim)!r} twice")


def _check_grid(where: str, variables: Mapping[Any, xr.Variable], about: Mapping[str, Any]) -> None:
    """Layers and heads are counted from 1, and there are no more than the model has."""
    model = about["model"]
    numbers = model.get("layer_numbers") or range(1, model.get("layers", 0) + 1)
    for dim in ("layer", "head", "from_layer", "from_head"):
        if dim not in variables:
            continue
        labels = variables[dim]
        if labels.dtype.kind not in "iu" or labels.ndim != 1:
            _fail(where, f"has labels of {dim!r} that are not whole numbers")
        values = labels.values.tolist()
        if values != sorted(set(values)) or not values or values[0] < 1:
            _fail(where, f"has labels of {dim!r} that do not count from 1: {shorten(values)}")
        if dim.endswith("layer") and numbers and values != list(numbers):
            _fail(where, f"has other layers than the model: {shorten(values)}")
        if dim.endswith("head"):
            if values != list(range(1, len(values) + 1)):
                _fail(where, f"has gaps in the labels of {dim!r}: {shorten(values)}")
            if "heads" in model and len(values) != model["heads"]:
                _fail(where, f"has {len(values)} heads, but the model has {model['heads']}")


def _check_sums(where: str, variables: Mapping[Any, xr.Variable], held: Contents) -> None:
    """Sums by bucket come together, with the dimensions of the means."""
    if not any(name in variables for name in SUMS):
        return
    wanted = {"bucket", *variables[held.value].dims}
    for name in SUMS:
        if name not in variables:
            _fail(where, f"has no variable {name!r}")
        if variables[name].dtype.kind not in "fiu":
            _fail(where, f"has a variable {name!r} that holds no numbers")
        if set(variables[name].dims) != wanted:
            dims = _words(variables[name].dims)
            _fail(where, f"has a variable {name!r} with the dimensions {dims}")


def _check_own(where: str, name: str, node: xr.DataTree, held: Contents) -> None:
    """What readers of Headscope's own measures ask for by name."""
    variables = node.variables
    for dim, wanted in {**dict.fromkeys(GRID, ()), **LABELS[name]}.items():
        if dim not in variables[held.value].dims:
            _fail(where, f"lacks the dimension {dim!r}")
        missing = set(wanted) - set(variables[dim].values.tolist())
        if missing:
            _fail(where, f"lacks the label {min(missing)!r} of {dim!r}")
    if name in SUMMED and SUMS[0] not in variables:
        _fail(where, f"has no variable {SUMS[0]!r}")
    for attribute in NEEDED.get(name, ()):
        dim = "relation" if name == "dependency" else "role"
        labels = set(variables[dim].values.tolist())
        if not labels <= set(parsed(node.attrs.get(attribute)) or ()):
            _fail(where, f"lacks labels in its attribute {attribute!r}")
    if KEPT in variables:
        for beside in ("id", "group", "tokens"):
            if beside not in variables or variables[beside].dims != ("example",):
                _fail(where, f"has the values of examples, but not their {beside!r}")
        if variables[KEPT].dims[0] != "example" or variables[KEPT].dtype.kind != "f":
            _fail(where, "has a variable 'value' that does not hold numbers by example")


def _check_track(node: xr.DataTree, about: Mapping[str, Any]) -> None:
    listed = about.get("checkpoints")
    if not isinstance(listed, list) or not listed:
        _fail("the provenance", "does not list the checkpoints of the group 'track'")
    for one in listed:
        step = one.get("step") if isinstance(one, dict) else ""
        if not (isinstance(one, dict) and isinstance(one.get("name"), str)):
            _fail("the provenance", "has a checkpoint without a name")
        if not (step is None or is_count(step)):
            _fail("the provenance", f"has a checkpoint whose step is {shorten(step)}")
    for name, part in node.children.items():
        where = f"the group 'track/{name}'"
        for variable, one in part.variables.items():
            if variable in part.dims or variable in ("role", "family", "second"):
                continue
            if one.dims[:1] != ("checkpoint",) or one.dtype.kind not in "fiub":
                _fail(where, f"has a variable {str(variable)!r} that has no numbers by checkpoint")
        if "checkpoint" not in part.variables or part.sizes["checkpoint"] != len(listed):
            _fail(where, f"is not of {len(listed)} checkpoints")
        _check_grid(where, part.variables, about)
