"""Results files of older versions, brought up to date one version at a time.

Whoever changes the layout (:mod:`headscope.results.schema`) raises ``SCHEMA`` by one, writes a
function here that turns a tree of the version before into one of the new version, and keeps a small
file of the version before in ``tests/data``, so that the step is tested on a real file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import xarray as xr

from headscope.results.moments import OLDER

Step = Callable[[xr.DataTree], xr.DataTree]
"""Turns results of one version of the layout into results of the next."""


def older_intervals(tree: xr.DataTree) -> xr.DataTree:
    """Version 3 took the texts of a document as independent: say so beside its intervals."""
    for node in tree.subtree:
        if "sum" in node.data_vars:
            node.attrs["intervals"] = OLDER
    return tree


STEPS: dict[int, Step] = {3: older_intervals}
"""The steps, by the version that they start from."""


def oldest(schema: int, steps: Mapping[int, Step] | None = None) -> int:
    """The oldest version from which there is a way to a version.

    Parameters
    ----------
    schema
        The version to arrive at.
    steps
        The steps that there are. Default: :data:`STEPS`.

    Examples
    --------
    >>> oldest(3, {}), oldest(5, {3: xr.DataTree.copy, 4: xr.DataTree.copy})
    (3, 3)
    """
    known = STEPS if steps is None else steps
    while schema - 1 in known:
        schema -= 1
    return schema


def migrate(tree: xr.DataTree, schema: int, steps: Mapping[int, Step] | None = None) -> xr.DataTree:
    """Bring results up to a version of the layout.

    Parameters
    ----------
    tree
        Results of this version or an older one.
    schema
        The version to arrive at.
    steps
        The steps that there are. Default: :data:`STEPS`.

    Returns
    -------
    xarray.DataTree
        The results, with that version in their attributes. The file is not changed.

    Examples
    --------
    >>> tree = xr.DataTree(xr.Dataset(attrs={"headscope_schema": 3}))
    >>> migrate(tree, 3) is tree
    True
    """
    known = STEPS if steps is None else steps
    while (found := int(tree.attrs["headscope_schema"])) < schema:
        tree = known[found](tree)
        tree.attrs = {**tree.attrs, "headscope_schema": found + 1}
    return tree
