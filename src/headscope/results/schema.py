"""What a results file holds: the tables that readers read, and by which files are checked.

A group's attributes say what it is (``title``, ``unit``, ``source``), whether tables of all heads
list it (``listed``), and what it holds (``kind``, one of :data:`KINDS`). Readers ask
:func:`contents` which variables have the values, their intervals and numbers of examples; they
never guess from the names of variables.

A group of a survey holds ``sum``, ``square`` and ``count`` by ``bucket`` (a fixed number of groups
of documents), and what follows from them: ``mean`` with its interval ``low`` … ``high``,
``deviation`` and ``n``.

The group ``examples``, whose kind is "examples", is not a measure: it holds texts, and maps of
every head on some of them (:mod:`headscope.results.kept`). Nor are ``null`` and ``track``: they
hold the same survey of null models, and the values of all checkpoints
(:mod:`headscope.results.merge`).

A digest finds damage, but files can also come from other programs. :func:`check_contents` checks
everything that readers rely on, so that they need not: groups, variables, dimensions, types,
labels, attributes and the provenance, all from the tables below. Of numbers it checks only what
no results can have, such as negative counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.errors import ResultsError, UserError, cut, shorten
from headscope.identity import KEYS
from headscope.registry import MEASURES

SCHEMA = 4
"""The version of this layout."""
SUMS = ("sum", "square", "count")
EXACT = "_exact"
"""Ends the names of the exact sums that shards carry until they are merged."""
KEPT = "value"
"""The values of single examples, where a measure keeps them."""
COMPOSITION = "composition"
"""The kind of a group with a value for every pair of heads; see :func:`headscope.circuits`."""
VOCABULARY = "vocabulary"
"""The group with relations between words in the weights; see :func:`headscope.circuits`."""
EXAMPLES = "examples"
"""The group that holds examples of every head, and its kind: it is not a measure."""
NULL, TRACK = "null", "track"
"""The groups with the same survey of null models, and with the values of all checkpoints of a
training; both hold groups of their own (:mod:`headscope.results.merge`) and are not measures."""
BESIDE = (EXAMPLES, NULL, TRACK)
"""Groups that are not measures, which is also their kind."""
GRID = ("layer", "head")

Spread = Literal["examples", "error", ""]


# --- the tables ---


@dataclass(frozen=True)
class Contents:
    """What a group holds, and in which variables.

    Parameters
    ----------
    value
        The variable with the values.
    count
        The variable with the numbers of examples (of heads, for a correlation).
    spread
        What ``deviation`` is: the standard deviation of ``"examples"``, or already the standard
        ``"error"`` of the value. Empty where there is none.
    tested
        Whether it has ``p`` and ``p_corrected``.
    sampled
        Whether it was found on examples. Numbers of weights are exact: their intervals are NaN.
    """

    value: str = "mean"
    count: str = "n"
    spread: Spread = "examples"
    tested: bool = False
    sampled: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The variables that a table shows: value, interval, deviation and number."""
        if not self.sampled:
            return (self.value,)
        return (self.value, "low", "high", *(["deviation"] if self.spread else []), self.count)


KINDS: Mapping[str, Contents] = {
    "mean": Contents(),
    "share": Contents(),
    "change": Contents(tested=True),
    "score": Contents(spread="error", tested=True),
    "curve": Contents(spread="error"),
    "correlation": Contents(spread=""),
    "probe": Contents("test", "test_size", spread=""),
    "weights": Contents(spread="", sampled=False),
    "choice": Contents(spread="", sampled=False),
    COMPOSITION: Contents("excess", spread="", sampled=False),
}
"""What a group can hold: means over examples; shares of right answers; changes of means, tested
without pairs; scores with heads disabled; a pruning curve's scores; correlations over heads; test
scores of probes; numbers that follow from weights alone, of heads and of pairs of heads; and which
heads were chosen (1), and which were not (0)."""


EXAMPLE_ARRAYS: dict[str, tuple[tuple[str, ...], type[np.generic]]] = {
    "texts": (("byte",), np.uint8),
    "text_bytes": (("text",), np.int64),
    "text_rows": (("text",), np.int32),
    "text_key": (("text",), np.int64),
    "strongest_text": ((*GRID, "rank"), np.int32),
    "strongest_score": ((*GRID, "rank"), np.float32),
    "sample_text": (("sample",), np.int32),
    "sample_digest": (("sample", "digest_byte"), np.uint8),
    "sample_rows": (("sample",), np.int32),
    "sample_score": (("sample", *GRID), np.float32),
    "sample_share": (("sample", *GRID, "offset"), np.float32),
    "sample_uniform": (("sample", *GRID, "offset"), np.float32),
    "counts": (("row",), np.uint8),
    "keys": (("link",), np.uint16),
    "weights": (("link",), np.uint16),
}
"""The arrays of the group of examples: their dimensions, and the types in which they are written.
Maps are in ``counts``, ``keys`` and ``weights``, one after the other: first the strongest of each
head, then those of the sample."""
MOST = 100_000
"""No model has as many layers, nor as many heads in a layer."""


Form = Callable[[Any], Any]
_SHARD = re.compile(r"[1-9]\d{0,8}/[1-9]\d{0,8}")


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _whole(value: object, least: int = 0, most: float = float("inf")) -> bool:
    return _integer(value) and least <= value <= most


def _integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _all(outer: type[list[Any]] | type[dict[str, Any]], fits: Form) -> Form:
    """A list or an object, all of whose members fit."""
    return lambda value: (
        isinstance(value, outer)
        and all(fits(item) for item in (value.values() if isinstance(value, dict) else value))
    )


FORMS: Mapping[str, Form] = {
    "a text": _text,
    "'yes' or 'no'": lambda value: _text(value) and value in ("yes", "no"),
    "a number from 0": _whole,
    "a number from 0, or null": lambda value: value is None or _whole(value),
    "a number from 0, or a list": lambda value: isinstance(value, list) or _whole(value),
    "a number from 1": lambda value: _whole(value, 1, MOST),
    "a list of texts": _all(list, _text),
    "a list of texts like '1/4'": _all(list, lambda text: _text(text) and _SHARD.fullmatch(text)),
    "a list of rising numbers from 1": lambda value: (
        _all(list, lambda number: _whole(number, 1))(value) and value == sorted(set(value))
    ),
    "an object": lambda value: isinstance(value, dict),
    "an object of texts": _all(dict, _text),
    "an object of a sentence and words": lambda value: (
        isinstance(value, dict)
        and _text(value.get("says"))
        and _all(dict, _all(dict, _text))(value.get("labels"))
    ),
    "an object of whole numbers": _all(dict, _integer),
    "an object of lists of whole numbers": _all(dict, _all(list, _integer)),
    "an object of objects of whole numbers": _all(dict, _all(dict, _integer)),
}
"""What a value of JSON, or an attribute, can be, in words."""


PROVENANCE: Mapping[str, str] = {
    **dict.fromkeys(("model", "corpus", "counts", "settings", "versions", "details"), "an object"),
    **dict.fromkeys(("examples", "nulls", "synthetic", "circuits"), "an object"),
    **dict.fromkeys(("notes", "measures", KEYS), "a list of texts"),
    "shards": "a list of texts like '1/4'",
    **dict.fromkeys(("kind", "created", "identity", "maps"), "a text"),
    **dict.fromkeys(("model.layers", "model.heads", "model.kv_heads"), "a number from 1"),
    "model.layer_numbers": "a list of rising numbers from 1",
    "model.tokens": "an object of texts",
    **dict.fromkeys((f"model.{name}" for name in ("name", "type", "stack", "dtype")), "a text"),
    **dict.fromkeys(("model.revision", "model.weights", "corpus.name"), "a text"),
    "counts.seen": "a number from 0",
    "counts.*": "a number from 0, or a list",
    **dict.fromkeys(
        ("settings.seed", "settings.max_length", "settings.batch_size"), "a number from 0, or null"
    ),
}
"""The parts of a provenance, and what they are where they are there."""
NEEDED = ("model", "model.name", "corpus.name", "counts.seen")
"""Those that must be there, wherever the part is that they belong to."""
ATTRIBUTES: Mapping[str, str] = {
    "title": "a text",
    "unit": "a text",
    "source": "a text",
    "listed": "'yes' or 'no'",
    "titles": "an object of texts",
    "words": "an object of a sentence and words",
    "absent": "an object of texts",
    "offsets": "an object of whole numbers",
    "half_offsets": "an object of lists of whole numbers",
    "offset_counts": "an object of objects of whole numbers",
}
"""The attributes of groups; objects are JSON."""


# --- what a group holds ---


def is_measure(data: xr.Dataset | xr.DataTree) -> bool:
    """Whether a group holds a measure, and not examples, null models or checkpoints.

    >>> is_measure(xr.Dataset(attrs={"kind": "examples"}))
    False
    """
    return data.attrs.get("kind") not in BESIDE


def contents(data: xr.Dataset) -> Contents:
    """What a group holds, by its attribute ``kind``; means over examples, if it has none.

    Parameters
    ----------
    data
        One group of some results.

    Raises
    ------
    ResultsError
        If the kind is unknown.

    Examples
    --------
    >>> contents(xr.Dataset(attrs={"kind": "probe"})).columns
    ('test', 'low', 'high', 'test_size')
    """
    kind = str(data.attrs.get("kind", "mean"))
    if kind not in KINDS:
        raise ResultsError(
            f"these results hold {kind!r}, which this version of Headscope does not know; "
            f"it knows {', '.join(KINDS)}",
            hint="open them with the version of Headscope that wrote them",
        )
    return KINDS[kind]


def values_of(data: xr.Dataset) -> xr.DataArray:
    """The values of a group, whatever its variable is called.

    Examples
    --------
    >>> probe = xr.Dataset({"test": ("task", [0.9])}, attrs={"kind": "probe"})
    >>> values_of(probe).values.tolist()
    [0.9]
    """
    return data[contents(data).value]


def label_dims(data: xr.Dataset) -> list[str]:
    """The dimensions of a group's values besides layer and head.

    Examples
    --------
    >>> cells = (("layer", "head", "offset"), [[[0.1, 0.2]]])
    >>> label_dims(xr.Dataset({"mean": cells}))
    ['offset']
    """
    return [str(dim) for dim in values_of(data).dims if dim not in GRID]


def of_heads(data: xr.Dataset) -> bool:
    """Whether a group has values of single heads."""
    return data.attrs.get("kind") != COMPOSITION and set(GRID) <= set(values_of(data).dims)


def statistics(data: xr.Dataset) -> xr.Dataset:
    """The statistics of a group under the names that readers of any group can use.

    Parameters
    ----------
    data
        One group of some results.

    Returns
    -------
    xarray.Dataset
        ``value``, ``low``, ``high`` and ``count``, all with the dimensions of the values.

    Examples
    --------
    >>> cells = {name: ("task", [0.9]) for name in ("test", "low", "high")}
    >>> probe = xr.Dataset(cells | {"test_size": 50}, attrs={"kind": "probe"})
    >>> statistics(probe)["count"].values.tolist()
    [50]
    """
    held = contents(data)
    value = data[held.value]
    names = {"value": held.value, "low": "low", "high": "high", "count": held.count}

    def laid_out(variable: str) -> NDArray[Any]:
        array = data[variable]
        if array.dims != value.dims:  # rare, and slow
            array = array.broadcast_like(value).transpose(*value.dims)
        return np.asarray(array.values)

    arrays = {name: (value.dims, laid_out(variable)) for name, variable in names.items()}
    return xr.Dataset(arrays, {dim: data[dim].values for dim in value.dims}, data.attrs)


def map_places(data: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.int64], ...]:
    """Where the maps of the examples are, which are stored one after the other.

    Returns
    -------
    tuple of three arrays
        The text of every map; where its rows begin in ``counts``, and where the last ones end; and
        where the keys of every row begin in ``keys``, likewise.
    """
    strongest = data["strongest_text"]
    heads = strongest.shape[0] * strongest.shape[1]
    of = np.concatenate([strongest[strongest >= 0], np.repeat(data["sample_text"], heads)])
    of = of.astype(np.int64)
    sizes = data["text_rows"].astype(np.int64)[of], data["counts"].astype(np.int64)
    rows, links = (np.concatenate([[0], np.cumsum(size)]) for size in sizes)
    return of, rows, links


# --- whether a file holds it ---

HINT = "run the survey again; if another program wrote the file, correct it there"
Variables = Mapping[Any, xr.Variable]
Dims = tuple[Any, ...]


class _Fault(Exception):
    """What is wrong, and where."""


def check_contents(tree: xr.DataTree, path: Path) -> xr.DataTree:
    """Refuse results that do not hold what the tables of this module say.

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
        raise unreadable(path, fault) from None
    return tree


def unreadable(path: Path, error: Exception) -> UserError:
    """The error for contents that cannot be read: a version that is no number, for example.

    >>> print(unreadable(Path("run.nc"), ValueError("invalid literal for int(): 'x'")))
    run.nc has wrong contents: invalid literal for int(): 'x'
    next: run the survey again; if another program wrote the file, correct it there
    """
    if isinstance(error, UserError):
        return error
    reason = str(error) if isinstance(error, _Fault) else cut(str(error), 300)
    return ResultsError(f"{path} has wrong contents: {reason or type(error).__name__}", hint=HINT)


def parsed(text: object) -> Any:
    """A JSON value; None for anything else.

    >>> parsed('{"a": 1}'), parsed("{"), parsed(3)
    ({'a': 1}, None, None)
    """
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _need(holds: object, *what: object) -> None:
    """Raise what is wrong, in words, unless something holds."""
    if not holds:
        raise _Fault(" ".join(map(str, what)))


def _check_tree(tree: xr.DataTree, inside: str) -> None:
    """Check some results; ``inside`` names those of a null model inside others."""
    of = f" of {inside}" if inside else ""
    text = tree.attrs.get("provenance")
    about = parsed(text)
    if not isinstance(about, dict):
        raise _Fault(f"the attribute 'provenance'{of} is not a JSON object: {shorten(text)}")
    _check_provenance(about, f"the provenance{of}")
    for name, node in tree.children.items():
        where = f"the group {f'{inside}/{name}' if inside else name!r}"
        kind = node.attrs.get("kind", "mean")
        _need(isinstance(kind, str), where, "has a 'kind' that is not a text:", shorten(kind))
        beside = name in BESIDE or kind in BESIDE
        _need(kind == name or not beside, where, "has the kind", shorten(kind))
        if name == NULL:
            for inner, part in node.children.items():
                _check_tree(part, f"{name}/{inner}")
        elif name == TRACK:
            _check_track(node, about)
        elif name == EXAMPLES:
            _check_examples(where, node.variables)
        else:
            _check_measure(where, name, node, about)


def _check_provenance(about: Mapping[str, Any], where: str) -> None:
    for path, form in PROVENANCE.items():
        part, _, name = path.rpartition(".")
        values = about.get(part, {}) if part else about
        needed = path in NEEDED and (part in about or not part)
        _need(name in values or not needed, where, f"lacks {path}, {form}")
        for key in values if name == "*" else values.keys() & {name}:
            if not FORMS[form](values[key]):
                shown = path.replace("*", key)
                raise _Fault(f"{where} has {shown} {shorten(values[key])}, which is not {form}")
    numbers, layers = (about["model"].get(name) for name in ("layer_numbers", "layers"))
    fit = numbers is None or len(numbers) == layers
    _need(fit, where, "has model.layer_numbers that do not number the layers")


def _check_measure(where: str, name: str, node: xr.DataTree, about: Mapping[str, Any]) -> None:
    kind, attributes, variables = node.attrs.get("kind", "mean"), node.attrs, node.variables
    for attribute in filter(attributes.__contains__, ATTRIBUTES):
        form, value = ATTRIBUTES[attribute], attributes[attribute]
        fits = FORMS[form](parsed(value) if form.startswith("an object") else value)
        _need(fits, where, f"has an attribute {attribute!r} that is not {form}")
    if kind not in KINDS:  # of a newer version: readers of the group say so
        return
    if kind == "probe" and attributes.get("listed") == "no":  # controls, for one page of a paper
        return
    held = KINDS[kind]
    for column in (*held.columns, *(("p", "p_corrected") if held.tested else ())):
        dims = _dims(where, variables, column)
        wanted = variables[held.value].dims
        _need({*dims} <= {*wanted}, where, _strange(column, dims, wanted))
    for dim in wanted:
        _check_labels(where, variables.get(dim), dim)
    _check_grid(where, variables, about)
    for part in SUMS if any(name in variables for name in SUMS) else ():
        dims = _dims(where, variables, part)
        _need({*dims} == {"bucket", *wanted}, where, _strange(part, dims, ("bucket", *wanted)))
        least = variables[part].values.min(initial=0) if part != "sum" else 0
        _need(not least < 0, where, f"has a variable {part!r} with negative numbers")
    name = name.removeprefix("norm_")
    if kind in ("mean", "share") and name in MEASURES and not MEASURES.entry(name).own:
        _check_own(where, MEASURES[name], node, wanted, about)


def _dims(where: str, variables: Variables, name: Any, kinds: str = "fiu") -> Dims:
    """The dimensions of a variable that must be there, and hold such numbers."""
    _need(name in variables, where, f"has no variable {name!r}")
    dtype = variables[name].dtype
    _need(dtype.kind in kinds, where, f"has a variable {name!r} that holds {dtype}, not numbers")
    return variables[name].dims


def _strange(name: Any, dims: Dims, wanted: Dims) -> str:
    there, right = (", ".join(map(str, each)) or "none" for each in (dims, wanted))
    return f"has a variable {name!r} with the dimensions {there}, not {right}"


def _check_labels(where: str, labels: xr.Variable | None, dim: Any) -> None:
    """A dimension of the values has labels, each once."""
    if labels is None or labels.dims != (dim,):
        raise _Fault(f"{where} has no labels of the dimension {str(dim)!r}")
    values = labels.values.tolist()
    _need(values, where, f"has no label of the dimension {str(dim)!r}")
    known = labels.dtype.kind in "iu" or all(isinstance(value, str) for value in values)
    _need(known, where, f"has labels of {str(dim)!r} that are neither texts nor whole numbers")
    _need(len(set(values)) == len(values), where, f"has a label of {str(dim)!r} twice")


def _check_grid(where: str, variables: Variables, about: Mapping[str, Any]) -> None:
    """Layers and heads are counted from 1, and there are no more than the model has."""
    model = about["model"]
    layers = list(model.get("layer_numbers") or range(1, model.get("layers", 0) + 1))
    for dim in filter(variables.__contains__, ("layer", "head", "from_layer", "from_head")):
        labels = variables[dim]
        whole = labels.dtype.kind in "iu" and labels.ndim == 1
        _need(whole, where, f"has labels of {dim!r} that are not whole numbers")
        values = labels.values.tolist()
        rising = values and FORMS["a list of rising numbers from 1"](values)
        _need(rising, where, f"has labels of {dim!r} that do not count from 1:", shorten(values))
        if dim.endswith("layer"):
            fit = values == layers or not layers
            _need(fit, where, "has other layers than the model:", shorten(values))
            continue
        gaps = values != list(range(1, len(values) + 1))
        _need(not gaps, where, f"has gaps in the labels of {dim!r}:", shorten(values))
        heads = model.get("heads", len(values))
        _need(len(values) == heads, where, f"has {len(values)} heads, but the model has {heads}")


def _check_own(
    where: str, own: Any, node: xr.DataTree, dims: Dims, about: Mapping[str, Any]
) -> None:
    """What readers of one of Headscope's own measures ask for by name, as its class says."""
    variables = node.variables
    labels = own.dims if own.read is None else own.read
    for dim, wanted in {**(dict.fromkeys(GRID, ()) if own.grid else {}), **labels}.items():
        _need(dim in dims, where, f"lacks the dimension {dim!r}")
        missing = set(wanted) - set(variables[dim].values.tolist())
        _need(not missing, where, f"lacks the label {min(missing, default='')!r} of {dim!r}")
    for dim in own.closed:
        others = set(variables[dim].values.tolist()) - set(own.dims[dim])
        _need(not others, where, f"has an unknown label of {dim!r}:", min(others, default=""))
    if own.summed:
        _need(SUMS[0] in variables, where, f"has no variable {SUMS[0]!r}")
        sized = {"layers", "heads"} <= about["model"].keys()
        _need(sized, "the provenance does not say how many layers and heads the model has")
    for attribute in own.keyed:
        known = set(parsed(node.attrs.get(attribute)) or ())
        names = set(variables[next(iter(labels))].values.tolist())
        _need(names <= known, where, f"lacks labels in its attribute {attribute!r}")
    if KEPT in variables:
        for name in ("id", "group", "tokens"):
            there = name in variables and variables[name].dims == ("example",)
            _need(there, where, f"has the values of examples, but not their {name!r}")
        kept_dims = _dims(where, variables, KEPT, "f")
        _need(kept_dims[:1] == ("example",), where, _strange(KEPT, kept_dims, ("example", *dims)))


def _check_track(node: xr.DataTree, about: Mapping[str, Any]) -> None:
    listed = about.get("checkpoints")
    if not isinstance(listed, list) or not listed:
        raise _Fault("the provenance does not list the checkpoints of the group 'track'")
    for checkpoint in listed:
        named = isinstance(checkpoint, dict) and isinstance(checkpoint.get("name"), str)
        _need(named, "the provenance has a checkpoint without a name")
        step = checkpoint.get("step")
        known = FORMS["a number from 0, or null"](step)
        _need(known, "the provenance has a checkpoint whose step is", shorten(step))
    for name, part in node.children.items():
        where = f"the group 'track/{name}'"
        for variable in part.variables:
            if variable not in {*part.dims, "role", "family", "second"}:
                dims = _dims(where, part.variables, variable, "fiub")
                wanted = ("checkpoint", "…")
                _need(dims[:1] == ("checkpoint",), where, _strange(variable, dims, wanted))
        fits = "checkpoint" in part.variables and part.sizes["checkpoint"] == len(listed)
        _need(fits, where, f"is not of {len(listed)} checkpoints")
        _check_grid(where, part.variables, about)


def _check_examples(where: str, variables: Variables) -> None:
    """The arrays are as the table says, and every place points into what it is a place of."""
    labels: dict[str, tuple[tuple[str, ...], type[np.generic]]] = {
        dim: ((dim,), np.int64) for dim in (*GRID, "offset")
    }
    for name, (dims, kind) in (EXAMPLE_ARRAYS | labels).items():
        wanted = np.dtype(kind).kind  # where signed numbers are, those without a sign do, too
        own = _dims(where, variables, name, "iu" if wanted == "i" else wanted)
        _need(own == dims, where, _strange(name, own, dims))
    data = {name: variables[name].values for name in EXAMPLE_ARRAYS}
    rows, sizes = data["text_rows"], data["text_bytes"]
    fit = not (sizes < 0).any() and sizes.sum() == len(data["texts"])
    _need(fit, where, "has 'text_bytes' that do not fit 'texts'")
    for name, least in (("strongest_text", -1), ("sample_text", 0)):
        inside = ((data[name] >= least) & (data[name] < len(rows))).all()
        _need(inside, where, f"has {name!r} that name texts it does not hold")
    negative = (rows < 0).any() or (data["sample_rows"] < 0).any()
    _need(not negative, where, "has negative numbers of rows")
    of, ends, links = map_places(data)
    fit = ends[-1] == len(data["counts"])
    _need(fit, where, "has 'counts' of other rows than those of its maps")
    _need(links[-1] == len(data["keys"]), where, "has 'keys' that do not fit 'counts'")
    first, last, tokens = links[ends[:-1]], links[ends[1:]], rows[of]
    some = first < last  # maps with any key
    keys = np.maximum.reduceat(data["keys"], first[some]) if some.any() else tokens[some]
    _need((keys < tokens[some]).all(), where, "has 'keys' beyond the tokens of its texts")
