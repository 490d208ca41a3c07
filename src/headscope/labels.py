"""Labels in plain words: what a value of a measure is about, as a person reads it. No torch.

A results file names its values briefly: measure ``special``, token ``cls``, row ``sep``. Tables and
pages say "attention to [CLS] from [SEP]" instead. A measure's class gives its labels their words,
and its results carry them in the attribute ``words``; without any, the labels stand as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from headscope.registry import MEASURES

Labels = Mapping[str, str]
"""The labels of a value by dimension, e.g. ``{"token": "cls", "row": "sep"}``."""
Words = Mapping[str, Mapping[str, str]]
"""By dimension, the words of each label."""
TOKENS: Labels = MappingProxyType({"cls": "[CLS]", "sep": "[SEP]"})
"""What a model's start and end tokens are called unless the caller knows better."""
NAMED = 20
"""How many examples that could not be used the provenance names."""
STANFORD = " (SD)"
"""Ends the names of relations that were made from UD to be like those of Stanford Dependencies."""
CHANGE = "-change"
"""How the names of measures end that are differences between two models."""
NORM = "norm_"
"""How the names of measures begin that are computed on norm-weighted maps."""
WEIGHTED = ", norm-weighted"
"""How their statistics end in words."""

_PROBE = {"top": " on the top {n} heads", "greedy": " on {n} greedily chosen heads"}
_SPLITS = {"last": " on the last layer", "best": " on the best layer", "top": " on the top heads"}
RUNS: Mapping[str, tuple[str, Words]] = {
    "probe": ("probe for {task}", {}),
    "probe_layer": ("probe for {task} on the whole layer", {}),
    "probe_top": ("probe for {task}{way}", {"way": _PROBE}),
    "probe_embeddings": ("probe for {task} on the embeddings alone", {}),
    "probe_splits": ("probe for {task}, mean over random splits", {}),
    "probe_splits_top": ("probe for {task}{way}, mean over random splits", {"way": _SPLITS}),
    "ablation": ("{unit} with {run} off", {}),
    "head_off": ("{metric} with the head off", {}),
    "layer_off": ("{metric} with the layer off", {}),
    "set_off": ("{metric} with heads {set} off", {}),
    "importance": ("gradient importance of the head's output", {}),
    "pruning": ("{unit} with {run}", {}),
}
"""What runs find that measure nothing in a pass: a sentence, and the words of labels. ``{unit}``
and ``{metric}`` are attributes of the results."""
_ORDERS = {"importance": "by importance", "greedy": "greedily", "random": "at random"}


def first_names(*lists: Iterable[str]) -> list[str]:
    """The first few of many names, whatever order they come in; "2" is before "10".

    >>> first_names(["10: too long", "9: empty"], ["2: empty"])
    ['2: empty', '9: empty', '10: too long']
    """

    def key(name: str) -> list[tuple[bool, int, str]]:
        parts = re.findall(r"\d+|\D+", name)
        return [
            (not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts
        ]

    return sorted((name for names in lists for name in names), key=key)[:NAMED]


def map_measure(name: str) -> str:
    """The name of a measure on attention maps, given its name on these or on norm-weighted ones.

    >>> map_measure("norm_entropy"), map_measure("entropy")
    ('entropy', 'entropy')
    """
    return name.removeprefix(NORM)


def fill(text: str, words: Mapping[str, Any]) -> str:
    """Put words in the places of a text; places without words stay as they are.

    >>> fill("attention to the first {length} tokens from {cls}", {"length": 64})
    'attention to the first 64 tokens from {cls}'
    """
    return re.sub(r"\{(\w*)\}", lambda place: str(words.get(place[1], place[0])), text)


def label_text(
    measure: str,
    labels: Labels,
    attributes: Mapping[str, str] = MappingProxyType({}),
    *,
    tokens: Labels = TOKENS,
) -> str:
    """Say in plain words what a value of a measure is about.

    Parameters
    ----------
    measure
        The measure's name, e.g. ``special``.
    labels
        The value's labels by dimension, layer and head excepted.
    attributes
        The attributes of the measure's dataset. ``words`` (JSON) has its sentence and the words of
        its labels, ``titles`` those of tasks; ``metric`` names the score of an ablation, ``title``
        a measure without words.
    tokens
        What the model's own start (``cls``) and end (``sep``) tokens are called.

    Returns
    -------
    str
        Words; for a label that has none, the measure's title or name followed by the labels.

    Examples
    --------
    >>> label_text("special", {"token": "cls", "row": "sep"})
    'attention to [CLS] from [SEP]'
    >>> label_text("special", {"token": "cls", "row": "all"}, tokens={"cls": "<s>", "sep": "</s>"})
    'attention to <s>'
    >>> label_text("dependency", {"direction": "dependent to head", "relation": "det"})
    'det: dependent → head word'
    >>> label_text("entropy-change", {"row": "all"})
    'change in entropy of attention from all tokens'
    >>> label_text("norm_position", {"offset": "previous"})
    'attention to the previous token, norm-weighted'
    >>> label_text("mine", {"kind": "long"}, {"title": "My measure"})
    'My measure: long'
    """
    words = find_words(measure, labels, attributes, tokens=tokens)
    if words is not None:
        return words
    name = attributes.get("title") or measure
    return ": ".join(part for part in (name, ", ".join(map(str, labels.values()))) if part)


def find_words(
    measure: str,
    labels: Labels,
    attributes: Mapping[str, str] = MappingProxyType({}),
    *,
    tokens: Labels = TOKENS,
) -> str | None:
    """Find the words for a value of a measure; None if there are none.

    Parameters
    ----------
    measure, labels, attributes, tokens
        As in :func:`label_text`.

    Examples
    --------
    >>> find_words("position", {"offset": "previous"})
    'attention to the previous token'
    >>> find_words("position", {"offset": "sideways"}) is None
    True
    """
    if measure.endswith(CHANGE):
        inner = find_words(measure.removesuffix(CHANGE), labels, attributes, tokens=tokens)
        return None if inner is None else f"change in {inner}"
    if measure.startswith(NORM):
        inner = find_words(measure.removeprefix(NORM), labels, attributes, tokens=tokens)
        return None if inner is None else f"{inner}{WEIGHTED}"
    names = {dim: str(label) for dim, label in labels.items()}
    if measure in RUNS:
        return _said(*RUNS[measure], _run_labels(measure, names, attributes))
    says, words = spoken(measure, attributes)
    text = _said(says, words, names)
    return None if text is None else fill(text, {**TOKENS, **tokens})


def spoken(measure: str, attributes: Mapping[str, str]) -> tuple[str, Words]:
    """The sentence of a measure and the words of its labels: as its results say or, where they do
    not, its class.

    >>> spoken("confidence", {})
    ('largest attention weight of a token', {})
    """
    if "words" in attributes:
        known = json.loads(attributes["words"])
        return known["says"] or _listed(known["labels"]), known["labels"]
    if "titles" in attributes:  # of a measure that writes them itself, whatever the dimension
        return "", {"": json.loads(attributes["titles"])}
    if measure in MEASURES:
        kind = MEASURES[measure]
        return kind.says or _listed(kind.labels), kind.labels
    return "", {}


def label_words(measure: str, attributes: Mapping[str, str], dim: str) -> Mapping[str, str]:
    """The words of the labels of one dimension, as far as they have any.

    >>> label_words("position", {}, "offset")["previous"]
    'the previous token'
    """
    words = spoken(measure, attributes)[1]
    return words.get(dim, words.get("", {}))


def _listed(dims: Iterable[str]) -> str:
    return ", ".join(f"{{{dim}}}" for dim in dims)


def _said(says: str, words: Words, names: Labels) -> str | None:
    """A sentence with the words of some labels; None if a label has no words.

    A dimension that is not asked for has the words of its first label.
    """
    if "" in words:  # labels of whatever dimension
        known = [words[""].get(label) for label in names.values()]
        return ", ".join(map(str, known)) if known and None not in known else None
    if not says:
        return None
    filled = dict(names)
    for dim, of_dim in words.items():
        label = names.get(dim, next(iter(of_dim), ""))
        if label not in of_dim and "" not in of_dim:
            return None
        filled[dim] = fill(of_dim.get(label, of_dim.get("", "")), {"": label}) if label else ""
    return fill(fill(says, filled), names)


def _run_labels(measure: str, names: dict[str, str], attributes: Mapping[str, str]) -> Labels:
    """The labels of what a run found, ready for its sentence."""
    about = {"unit": attributes.get("unit", "loss"), "metric": attributes.get("metric", "score")}
    if "task" in names:
        titles = json.loads(attributes.get("titles", "{}"))
        about["task"] = titles.get(names["task"], names["task"].replace("_", " "))
    run = names.get("run", "")
    if measure == "ablation" and not run.startswith("layer "):
        about["run"] = "no head" if run == "none" else f"head{'s' if ',' in run else ''} {run}"
    if measure == "pruning":
        order, _, left = run.partition(", ")
        heads = f"{left.removesuffix(' left')} heads left, removed {_ORDERS.get(order, order)}"
        about["run"] = "no head off" if order == "none" else heads
    return {**names, **about}


def lost_tokens(provenance: Mapping[str, Any], *, split: bool) -> str:
    """How much of the texts was thrown away for its length, as a sentence; empty if nothing was.

    Parameters
    ----------
    provenance
        Of results, with the counts of an encoder. Counts without tokens, as probes have, say only
        how many examples were cut.
    split
        Whether the run can split long texts instead.

    Examples
    --------
    >>> counts = {"tokens": 4012, "tokens_lost": 3886, "truncated": 1}
    >>> about = {"counts": counts, "settings": {"max_length": 128}}
    >>> lost_tokens(about, split=True)  # doctest: +NORMALIZE_WHITESPACE
    "Used 126 of 4,012 tokens: 1 example of more than 128 tokens was cut; long='split'
    (--long split on the command line) reads all."
    """
    counts = provenance.get("counts", {})
    long = counts.get("truncated", 0) + counts.get("too_long", 0)
    if not long:
        return ""
    tokens = counts.get("tokens", 0)
    used = f"Used {tokens - counts['tokens_lost']:,} of {tokens:,} tokens: " if tokens else ""
    what = "cut" if counts.get("truncated") else "dropped"
    examples = "1 example" if long == 1 else f"{long:,} examples"
    most = provenance.get("settings", {}).get("max_length")
    more = f" of more than {most} tokens" if most else ""
    advice = (
        "long='split' (--long split on the command line) reads all"
        if split
        else "a larger max_length (--max-length on the command line) reads more"
    )
    return f"{used}{examples}{more} {'was' if long == 1 else 'were'} {what}; {advice}."


NOUN_PHRASE, CLAUSE = "noun phrase", "clause"
_FAMILIES = {
    NOUN_PHRASE: "det amod nmod nummod num compound nn poss possessive case appos",
    CLAUSE: "nsubj nsubjpass csubj csubjpass obj dobj iobj obl expl aux auxpass cop advmod neg "
    "xcomp ccomp mark prt",
}
"""Relations between a noun and what belongs to its phrase, and between a verb (or another
predicate) and its dependents, in Universal Dependencies and Stanford's scheme."""
_FAMILY = {label: family for family, labels in _FAMILIES.items() for label in labels.split()}


def family_of(relation: str) -> str:
    """The family of a dependency relation: noun phrase, clause, or "".

    Subtypes go with their kind, except particles.

    >>> family_of("nmod:poss"), family_of("nsubj:pass"), family_of("punct")
    ('noun phrase', 'clause', '')
    >>> family_of("compound:prt")
    'clause'
    """
    kind = "prt" if relation == "compound:prt" else relation.split(":")[0]
    return _FAMILY.get(kind, "")
