"""Putting results together: the shards of one run, and what was measured of one model.

Exact sums of shards add up to those of the whole run, bit for bit. Circuits and retrieval scores of
a model stand beside a survey of it. Null models and checkpoints are in groups of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headscope.errors import ResultsError, unknown
from headscope.identity import KEYS, differences, listed
from headscope.labels import first_names
from headscope.results.kept import ExampleStore
from headscope.results.moments import OLDER, carried, from_fixed
from headscope.results.schema import EXACT, EXAMPLES, KEPT, NULL, SUMS, TRACK

if TYPE_CHECKING:
    from headscope.results.atlas import Atlas


NULL_WORDS = {
    "random-weights": "random weights",
    "random-weights-keep-embeddings": "random weights, embeddings kept",
    "shuffled-words": "shuffled words",
}
"""The null models of a survey, in words: all weights drawn anew; all but the embeddings; the same
model on texts whose words are shuffled."""


def with_nulls(survey: Atlas, nulls: Mapping[str, Atlas]) -> Atlas:
    """A survey with those of its null models beside it.

    Parameters
    ----------
    survey
        Results of a survey.
    nulls
        Results of the same survey of null models, by name.
    """
    return _with_group(survey, NULL, {name: atlas.tree for name, atlas in nulls.items()})


def with_track(survey: Atlas, groups: Mapping[str, xr.Dataset]) -> Atlas:
    """A survey of the last checkpoint with the values of all checkpoints beside it."""
    return _with_group(survey, TRACK, {name: xr.DataTree(data) for name, data in groups.items()})


def _with_group(survey: Atlas, kind: str, parts: Mapping[str, xr.DataTree]) -> Atlas:
    tree = survey.tree.copy()
    tree[kind] = xr.DataTree(xr.Dataset(attrs={"kind": kind}))
    for name, part in parts.items():
        tree[f"{kind}/{name}"] = part.copy()
    return type(survey)(tree)


# --- checkpoints ---

CHECKPOINTS = "checkpoints"
"""Where the provenance of a track lists its checkpoints."""
EXCESS, ROLES = "excess", "roles"
"""Groups of a track besides its measures: the excess at every role, and main roles."""


@dataclass(frozen=True)
class Track:
    """What every head did at every checkpoint.

    Parameters
    ----------
    names
        The checkpoints, in their order.
    steps
        The steps that the names tell; None where they do not.
    groups
        By measure: ``value``, ``low``, ``high`` and ``count``, with the dimension ``checkpoint``
        before those of the measure. With main roles also ``excess`` (over even attention, at every
        role) and ``roles``.

    Examples
    --------
    >>> import headscope as hs
    >>> from headscope.models.loading import random_init
    >>> texts = ["The dog barks.", "A cat sleeps."]
    >>> models = [hs.load("demo"), random_init(hs.load("demo"), seed=0)]
    >>> track = hs.track(models, texts, measures="position").track
    >>> track.names, dict(track["position"].sizes)
    (('demo', 'demo (random, seed 0)'), {'checkpoint': 2, 'layer': 6, 'head': 12, 'offset': 3})
    """

    names: tuple[str, ...]
    steps: tuple[int, ...] | None
    groups: Mapping[str, xr.Dataset]

    def __getitem__(self, measure: str) -> xr.Dataset:
        if measure not in self.groups:
            raise unknown("measure", str(measure), self.groups, error=ResultsError)
        return self.groups[measure]

    def __contains__(self, measure: object) -> bool:
        return measure in self.groups

    @property
    def places(self) -> tuple[int, ...]:
        """Where checkpoints are on an axis: their steps, or else 1, 2, 3 …"""
        return self.steps or tuple(range(1, len(self.names) + 1))


def has_track(results: Atlas) -> bool:
    """Whether results hold the values of several checkpoints."""
    return TRACK in results.tree.children


def track_of(results: Atlas) -> Track:
    """The checkpoints of some results.

    Raises
    ------
    ResultsError
        If the results are of one model.
    """
    if not has_track(results):
        raise ResultsError(
            "these results are of one model, not of several checkpoints",
            hint="make results of checkpoints with hs.track(models, corpus)",
            command="make results of checkpoints with: headscope track FOLDER... CORPUS",
        )
    listed = results.provenance[CHECKPOINTS]
    steps = [checkpoint.get("step") for checkpoint in listed]
    return Track(
        tuple(str(checkpoint["name"]) for checkpoint in listed),
        None if None in steps else tuple(int(step) for step in steps),
        {str(name): part.to_dataset() for name, part in results.tree[TRACK].children.items()},
    )


SAME = ("model", "corpus", "settings", "measures", "details", "synthetic", "nulls", EXAMPLES)
"""What the shards of one run have in common, where they do not name it themselves."""
_ONLY = {
    "hint": "merge only shards of one run: hs.survey(..., shard='1/n'), ... shard='n/n'",
    "command": "merge only shards made by one command with --shard 1/n … n/n",
}


def merge(parts: Sequence[Atlas], *, partial: bool = False) -> Atlas:
    """Put the shards of one run together.

    Parameters
    ----------
    parts
        The shards, in any order: from the same model, corpus and settings, each once.
    partial
        Merge even if shards are missing.

    Returns
    -------
    Atlas
        Equal, bit for bit, to the results of the whole run.

    Examples
    --------
    >>> import headscope as hs
    >>> texts = ["The dog barks.", "A cat sleeps.", "It rains."] * 4
    >>> model = hs.load("demo")
    >>> shards = [
    ...     hs.survey(model, texts, measures="position", batch_size=1, shard=(number, 2))
    ...     for number in (1, 2)
    ... ]
    >>> whole = hs.survey(model, texts, measures="position", batch_size=1)
    >>> bool((hs.merge(shards).mean("position") == whole.mean("position")).all())
    True
    """
    if not parts:
        raise ResultsError(
            "there is nothing to merge",
            hint="hs.merge([first, second])",
            command="headscope merge part1.nc part2.nc -o whole.nc",
        )
    parts = sorted(parts, key=lambda part: _number(part.provenance["shards"][0]))
    first = parts[0].provenance
    check_same_intervals(parts)
    for part in parts[1:]:
        _check_same(first, part.provenance)
    shards = sorted((shard for part in parts for shard in part.provenance["shards"]), key=_number)
    missing = _missing(shards)
    if missing and not partial:
        raise ResultsError(
            f"{len(missing)} of {_number(shards[0])[0]} shards are missing: "
            f"{', '.join(missing[:8])}",
            hint="give all shards, or partial=True to merge those there are",
        )
    sums = parts[0].sums()
    for part in parts[1:]:
        other = part.sums()
        sums = {name: add(dataset, other[name]) for name, dataset in sums.items()}
    if not missing:
        sums = {name: _finished(dataset) for name, dataset in sums.items()}
    if all(EXAMPLES in part.tree.children for part in parts):
        sums[EXAMPLES] = _examples(parts)
    about = {
        "shards": shards if missing else ["1/1"],
        "counts": _counts([part.provenance for part in parts]),
        "identity": "",
    }
    merged = type(parts[0]).build(sums, first | about)
    nulls = {
        name: merge([part.nulls[name] for part in parts], partial=partial)
        for name in parts[0].nulls
    }
    return with_nulls(merged, nulls) if nulls else merged


def check_same_intervals(parts: Sequence[Atlas]) -> None:
    """Refuse to mix results whose intervals are over documents with older ones, over texts.

    Parameters
    ----------
    parts
        Results.

    Raises
    ------
    ResultsError
        If some were made by an older version of Headscope and some were not.
    """
    older = [
        any(node.attrs.get("intervals") == OLDER for node in part.tree.children.values())
        for part in parts
    ]
    if any(older) and not all(older):
        raise ResultsError(
            "some of these results were made by an older version of Headscope, whose intervals "
            "take the texts of one document as independent: they cannot be mixed with new ones",
            hint="run the older ones again with this version",
        )


def _check_same(first: dict[str, Any], other: dict[str, Any]) -> None:
    sides = ({**about, KEYS: [*SAME, *about.get(KEYS, ())]} for about in (first, other))
    if changes := differences(*sides, but=("shards", "parts"), words="{} and {}"):
        raise ResultsError(
            f"these are not shards of one run: they differ in {listed(changes)}", **_ONLY
        )


def _missing(shards: Sequence[str]) -> list[str]:
    """The shards that are not there, after a check that no two overlap."""
    twice = next((shard for shard in shards if shards.count(shard) > 1), None)
    if twice is not None:
        raise ResultsError(f"shard {twice} is given more than once", hint="give each shard once")
    total = _number(shards[0])[0]
    other = next((shard for shard in shards if _number(shard)[0] != total), None)
    if other is not None:  # 1/2 and 1/3 share some examples
        raise ResultsError(
            f"shards {shards[0]} and {other} divide the corpus differently and cannot be added",
            **_ONLY,
        )
    there = {_number(shard)[1] for shard in shards}
    return [f"{number}/{total}" for number in range(1, total + 1) if number not in there]


def _number(shard: str) -> tuple[int, int]:
    """Of how many shards it is one, and which: to sort them by."""
    number, total = shard.split("/")
    return int(total), int(number)


def add(left: xr.Dataset, right: xr.Dataset) -> xr.Dataset:
    """Add two measures' sums. A label that only one of them has counts as zero in the other.

    Exact sums are added as integers. Kept values of examples are put in the order of their numbers.
    """
    exact = [f"{name}{EXACT}" for name in SUMS if f"{name}{EXACT}" in left]
    names = [*SUMS, *exact]
    extra = ("example", "id", "group", "tokens")
    first, second = xr.align(
        left[names].drop_vars(extra, errors="ignore"),
        right[names].drop_vars(extra, errors="ignore"),
        join="outer",
        fill_value=0,
    )
    total = (first + second).assign_attrs(left.attrs)
    for name in exact:
        limbs = carried(np.array(total[name].transpose("limb", ...).values, np.int64))
        dims = ("limb", *(dim for dim in total[name].dims if dim != "limb"))
        plain = name.removesuffix(EXACT)
        total[name] = (dims, limbs)
        total[plain] = (dims[1:], from_fixed(limbs))
    if KEPT in left:
        kept = xr.concat([left[[KEPT]], right[[KEPT]]], "example").sortby("example")
        total = total.merge(kept)
    return total


def _examples(parts: Sequence[Atlas]) -> xr.Dataset:
    """The examples that the whole run would have kept."""
    size = int(parts[0].provenance[EXAMPLES]["kept"])
    store, *others = (ExampleStore.of(part.tree[EXAMPLES].to_dataset(), size) for part in parts)
    for other in others:
        store.merge(other.arrays())
    return store.dataset()


def _finished(dataset: xr.Dataset) -> xr.Dataset:
    """Without the exact sums, which only shards need."""
    return dataset.drop_vars([name for name in dataset if str(name).endswith(EXACT)])


def _counts(provenances: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The counts of the whole run: numbers add up, and of names the first few are kept."""
    counts = dict(provenances[0]["counts"])
    for other in provenances[1:]:
        for key, value in other["counts"].items():
            both = counts[key] + value
            counts[key] = first_names(both) if isinstance(both, list) else both
    return counts


# --- circuits and retrieval scores beside a survey ---

CIRCUITS, RETRIEVAL = "circuits", "retrieval"
"""What their provenance calls them, and where joined results keep their notes. Functions and
commands that make them have the same names."""
WORDS = {CIRCUITS: "circuits", RETRIEVAL: "retrieval scores"}
SHAPE = ("stack", "layers", "heads")


def kind_of(results: Atlas) -> str:
    """``"circuits"`` or ``"retrieval"`` for results that can be joined to a survey, else ""."""
    kind = str(results.provenance.get("kind", ""))
    return kind if kind in WORDS else ""


def is_circuits(results: Atlas) -> bool:
    """Whether results are circuits alone, made from weights without a corpus."""
    return kind_of(results) == CIRCUITS


def same_weights(survey: Atlas, added: Atlas) -> bool:
    """Whether circuits or retrieval scores are of the very weights and stack of a survey."""
    one, two = (atlas.provenance.get("model", {}) for atlas in (survey, added))
    known = [*two.get("same_weights", []), two.get("weights")]
    return one.get("weights") in known and all(one.get(part) == two.get(part) for part in SHAPE)


def join(survey: Atlas, added: Atlas, kind: str = CIRCUITS) -> Atlas:
    """A survey with the groups of circuits, or of retrieval scores, of the same model.

    Parameters
    ----------
    survey
        The results to add to.
    added
        The circuits or retrieval scores.
    kind
        Which of them: ``"circuits"`` or ``"retrieval"``.

    Raises
    ------
    ResultsError
        If the second results are something else, or are of other weights.
    """
    name = survey.provenance.get("model", {}).get("name", "?")
    words = WORDS[kind]
    if kind_of(added) != kind:
        raise ResultsError(
            f"these results are not {words}",
            hint=f"make them with hs.{kind}({name!r})",
            command=f"make them with: headscope {kind} {name} -o {kind}.nc",
        )
    if not same_weights(survey, added):
        other = added.provenance.get("model", {}).get("name", "?")
        raise ResultsError(
            f"the {words} of {other} are not of the weights that were surveyed ({name})",
            hint=f"make them from the same model and options: hs.{kind}({name!r})",
            command=f"make them with the same options: headscope {kind} {name} -o {kind}.nc",
        )
    about: dict[str, Any] = survey.provenance
    theirs = added.provenance
    about[kind] = {key: theirs.get(key) for key in ("settings", "notes", "identity")}
    tree = survey.tree.copy()
    for group in added:
        tree[group] = added.tree[group].copy()
    return type(survey)(tree).described(about)


def gather(results: Sequence[Atlas]) -> list[Atlas]:
    """One atlas per network: what several runs measured of its heads, side by side.

    The network whose results come first stands first; of its results, those with the most measures
    say on which corpus.

    Parameters
    ----------
    results
        Results of one or more networks.
    """
    networks: list[list[Atlas]] = []
    for atlas in filter(_of_heads, results):
        for network in networks:
            if same_weights(network[0], atlas):
                network.append(atlas)
                break
        else:
            networks.append([atlas])
    return [_gathered(network) for network in networks]


def _of_heads(results: Atlas) -> bool:
    model = results.provenance.get("model", {})
    return bool(model.get("weights")) and all(model.get(part) for part in SHAPE)


def _gathered(network: list[Atlas]) -> Atlas:
    first, *others = sorted(network, key=lambda atlas: -len(atlas.measures))
    tree = first.tree.copy()
    for atlas in others:
        for group in atlas:
            if group not in tree.children:
                tree[group] = atlas.tree[group].copy()
    return type(first)(tree)


def join_all(results: Sequence[Atlas]) -> list[Atlas]:
    """Surveys and other results, each with its circuits and retrieval scores.

    What is joined is taken out of the list; what stands first, or alone, stays as it is.

    Raises
    ------
    ResultsError
        If circuits or retrieval scores belong to none of the other results.
    """
    joined = [atlas for at, atlas in enumerate(results) if not (at and kind_of(atlas))]
    for added in results[1:]:
        kind = kind_of(added)
        if not kind:
            continue
        places = [at for at, atlas in enumerate(joined) if same_weights(atlas, added)]
        for at in places:
            joined[at] = join(joined[at], added, kind)
        if not places:
            join(joined[0], added, kind)  # raises, and says why
    return joined
