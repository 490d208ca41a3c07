"""What two results have in common, and what only one of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import xarray as xr

from headscope.errors import ResultsError
from headscope.results import Atlas
from headscope.results.merge import check_same_intervals
from headscope.results.schema import GRID, contents, of_heads


@dataclass
class Only:
    """What one of two results has and the other has not.

    Parameters
    ----------
    measures
        Whole measures.
    layers, heads
        Layers, and heads within a layer, counted from 1.
    labels
        Labels of shared measures, by measure and dimension.
    """

    measures: list[str] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    labels: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def add(self, measure: str, dim: str, labels: Sequence[Any]) -> None:
        """Note that the other one lacks some labels of a measure it has."""
        if not labels:
            return
        if dim in GRID:
            numbers = self.layers if dim == "layer" else self.heads
            numbers += [int(label) for label in labels if int(label) not in numbers]
        else:
            self.labels.setdefault(measure, {})[dim] = [str(label) for label in labels]

    def sentences(self, name: str) -> list[str]:
        """Say in plain words what only this one has; ``name`` is what it is called.

        >>> Only(["frame"], [3, 4, 5], labels={"dependency": {"relation": ["det"]}}).sentences("A")
        ['Only A has the measure frame.', 'Only A has layers 3–5.', \
'Only A has the relation det (measure dependency).']
        """
        said = []
        if self.measures:
            said.append(f"Only {name} has the {_plural('measure', self.measures)}.")
        for what, numbers in (("layer", self.layers), ("head", self.heads)):
            if numbers:
                where = " of each layer" if what == "head" else ""
                said.append(f"Only {name} has {_plural(what, ranges(numbers))}{where}.")
        for measure, dims in self.labels.items():
            for dim, labels in dims.items():
                said.append(f"Only {name} has the {_plural(dim, labels)} (measure {measure}).")
        return said


@dataclass(frozen=True)
class Shared:
    """Two results, cut down to what both have.

    Parameters
    ----------
    pairs
        By measure: the datasets of the first and the second, with the same labels in one order.
    only_first, only_second
        What only one of them has.
    skipped
        Measures that both have but that cannot be compared head by head, and why.
    """

    pairs: Mapping[str, tuple[xr.Dataset, xr.Dataset]]
    only_first: Only
    only_second: Only
    skipped: Mapping[str, str]

    def sentences(self, first: str = "the first", second: str = "the second") -> list[str]:
        """Say in plain sentences what the two do not share.

        Parameters
        ----------
        first, second
            What the two results are called, e.g. the names of their files.
        """
        said = [*self.only_first.sentences(first), *self.only_second.sentences(second)]
        return said + [
            f"The measure {name} was not compared: {why}." for name, why in self.skipped.items()
        ]


def share_labels(first: Atlas, second: Atlas) -> Shared:
    """Cut two results down to the measures, layers, heads and labels that both have.

    Parameters
    ----------
    first, second
        Results of any two runs; the models may differ in shape and the corpora in labels.

    Raises
    ------
    ResultsError
        If nothing can be compared. The message says what each of the two has.
    """
    check_same_intervals([first, second])
    only_first = Only([name for name in first if name not in second.measures])
    only_second = Only([name for name in second if name not in first.measures])
    pairs, skipped = {}, {}
    for name in (name for name in first if name in second.measures):
        one, other = first[name], second[name]
        why = _not_comparable(one, other)
        if why:
            skipped[name] = why
            continue
        common = {}
        for dim in (str(dim) for dim in one["mean"].dims):
            mine, theirs = one[dim].values.tolist(), other[dim].values.tolist()
            common[dim] = [label for label in mine if label in set(theirs)]
            only_first.add(name, dim, [label for label in mine if label not in set(theirs)])
            only_second.add(name, dim, [label for label in theirs if label not in set(mine)])
        if all(common.values()):
            pairs[name] = (one.sel(common), other.sel(common))
        else:
            empty = ", ".join(dim for dim, labels in common.items() if not labels)
            skipped[name] = f"the two have no {empty} in common"
    if not pairs:
        raise _nothing_shared(first, second, skipped)
    return Shared(pairs, only_first, only_second, skipped)


def not_compared(
    attributes: Mapping[Any, Any], *, first: str = "the first", second: str = "the second"
) -> list[str]:
    """Say in plain sentences what a comparison of two results does not cover.

    Parameters
    ----------
    attributes
        The attributes of a table by :func:`~headscope.stats.differences.difference_table`.
    first, second
        What the two results are called, e.g. the names of their files.

    Returns
    -------
    list of str
        Sentences; none if the two have the same measures, layers, heads and labels.

    Examples
    --------
    >>> about = {"only_first": {"measures": ["frame"]}, "skipped": {"distance": "it has no heads"}}
    >>> not_compared(about, first="a.nc")
    ['Only a.nc has the measure frame.', 'The measure distance was not compared: it has no heads.']
    """
    mine, theirs = (Only(**attributes.get(key, {})) for key in ("only_first", "only_second"))
    return Shared({}, mine, theirs, attributes.get("skipped", {})).sentences(first, second)


def ranges(numbers: Sequence[int]) -> list[str]:
    """Numbers in order, neighbours as a range.

    >>> ranges([7, 8, 9, 12, 3])
    ['3', '7–9', '12']
    """
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found]


def _not_comparable(one: xr.Dataset, other: xr.Dataset) -> str:
    """Why a measure that both results have cannot be compared head by head, if it cannot."""
    if not (contents(one).spread and contents(other).spread):
        return "it has no means with deviations"
    if not of_heads(one):
        return "it has no value for each head"
    if set(one["mean"].dims) != set(other["mean"].dims):
        return "its labels have different dimensions in the two"
    units = [data.attrs.get("unit", "") for data in (one, other)]
    return "" if units[0] == units[1] else f"its units differ ({units[0]} and {units[1]})"


def _nothing_shared(first: Atlas, second: Atlas, skipped: Mapping[str, str]) -> ResultsError:
    if skipped:
        reasons = "; ".join(f"{name}: {why}" for name, why in skipped.items())
        return ResultsError(
            f"the two results share no value of a head that can be compared ({reasons})",
            hint="survey both models with the same measures, on corpora with the same labels",
        )
    have = [", ".join(results.measures) or "none" for results in (first, second)]
    return ResultsError(
        f"the two results have no measure in common: the first has {have[0]}, the second {have[1]}",
        hint="survey both models with the same measures",
    )


def _plural(what: str, names: Sequence[str]) -> str:
    """A noun with the names it stands for, e.g. "layers 3 and 5"."""
    several = len(names) > 1 or (bool(names) and "–" in names[0])
    shown = list(names)
    text = f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
    return f"{what}{'s' if several else ''} {text}"
