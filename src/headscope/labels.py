"""Labels in plain words: what a value of a measure is about, as a person reads it. No torch.

A results file names its values briefly: measure ``special``, token ``cls``, row ``sep``. Tables and
pages say "attention to [CLS] from [SEP]" instead. Whoever adds a measure gives its labels words in
the attribute ``titles`` (JSON, from label to words); without any, the labels stand as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

Labels = Mapping[str, str]
"""The labels of a value by dimension, e.g. ``{"token": "cls", "row": "sep"}``."""
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

_STOPS = "full stops and commas"
_OFFSETS = {
    "previous": "attention to the previous token",
    "current": "attention to the token itself",
    "next": "attention to the next token",
}
_DIRECTIONS = {
    "dependent to head": "dependent → head word",
    "head to dependent": "head word → dependent",
    "head to dependent by column": "head word → dependent, by column",
}
_RELATIONS = {
    "all": "all relations",
    "all but root and punctuation": "all relations except root and punctuation",
}
_MENTIONS = {
    "all": "all mentions",
    "pronoun": "pronouns",
    "proper": "proper names",
    "nominal": "common nouns",
}
_CANDIDATES = {"mentions": "earlier mentions", "words": "all words"}
_BASELINES = {
    "every": "",
    "nearest right": "where the nearest mention is right",
    "same head word right": "where the same head word is right",
    "rules right": "where the rules are right",
}
_FRAMES = {
    "both": "between a frame's target and its elements",
    "target to element": "from a frame's target to its elements",
    "element to target": "from a frame's elements to its target",
}
_FEATURES = {
    "noun": "a noun",
    "verb": "a verb",
    "pronoun": "a pronoun",
    "subject": "a subject",
    "object": "an object of the main predicate",
    "negation": "a negation",
    "punctuation": "punctuation",
}
_LINKS = {
    "verb to subject": "from a verb to its subject",
    "subject to verb": "from a subject to its verb",
    "noun to pronoun": "from a noun to a pronoun of its sentence",
    "pronoun to noun": "from a pronoun to a noun of its sentence",
}
_PATTERNS = {
    "vertical": "vertical pattern",
    "diagonal": "diagonal pattern",
    "vertical+diagonal": "vertical and diagonal pattern",
    "block": "block pattern",
    "heterogeneous": "heterogeneous pattern",
}
_EQUAL = {"this word": "the token's own", "next word": "the next word"}
_PEAKS = {
    "position": "place of the strongest key, 0 (first) to 1 (last)",
    "distance": "distance of the strongest key from the token's own place, 0 to 1",
    "weight": "attention to the strongest key",
}
_REPEATS = {
    "induction": "attention to what followed the same token before",
    "duplicate": "attention to earlier occurrences of the same token",
}
_REPEATED = {
    "induction": "attention to what followed the token in the first copy",
    "duplicate": "attention to the token in the first copy",
    "previous": "attention to the previous token",
}
_MOMENTS = {
    "distance": "distance of attention",
    "square": "squared distance of attention (tokens²)",
    "variance": "variance of the distance within a token's attention (tokens²)",
}
_WAYS = {
    "top": "the top {n} heads",
    "greedy": "{n} greedily chosen heads",
}
_ORDERS = {
    "importance": "by importance",
    "greedy": "greedily",
    "random": "at random",
}


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
        The attributes of the measure's dataset. ``titles`` (JSON) gives labels words of their own,
        ``metric`` names the score of an ablation, ``title`` a measure that is not Headscope's.
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
    names = {dim: str(label) for dim, label in labels.items()}
    if measure.endswith(CHANGE):
        inner = find_words(measure.removesuffix(CHANGE), labels, attributes, tokens=tokens)
        return None if inner is None else f"change in {inner}"
    if measure.startswith(NORM):
        inner = find_words(measure.removeprefix(NORM), labels, attributes, tokens=tokens)
        return None if inner is None else f"{inner}{WEIGHTED}"
    try:
        if measure in _WORDS:
            return _WORDS[measure](names, attributes, {**TOKENS, **tokens})
        titles = _titles(attributes)
        return ", ".join(titles[label] for label in names.values()) if titles and names else None
    except KeyError:  # a label that is not in the tables above
        return None


def _titles(attributes: Mapping[str, str]) -> dict[str, str]:
    return dict(json.loads(attributes.get("titles", "{}")))


def _position(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return _OFFSETS[labels["offset"]]


def _token(name: str, tokens: Labels) -> str:
    return _STOPS if name == "punctuation" else tokens[name]


def _special(labels: Labels, _attributes: Labels, tokens: Labels) -> str:
    rows = {"all": "", "sep": f" from {tokens['sep']}"}
    rows["other"] = f" from tokens other than {tokens['sep']}"
    return f"attention to {_token(labels['token'], tokens)}{rows[labels['row']]}"


def _entropy(labels: Labels, _attributes: Labels, tokens: Labels) -> str:
    rows = {"all": "attention from all tokens", "cls": f"attention from {tokens['cls']}"}
    return f"entropy of {(rows | {'uniform': 'uniform attention'})[labels['row']]}"


def _alignment(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"attention to words equal to {_EQUAL[labels['word']]}"


def _peak(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return _PEAKS[labels["peak"]]


def _repetition(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return _REPEATS[labels["repeat"]]


def _synthetic(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"{_REPEATED[labels['score']]}, in random tokens written twice"


def _reach(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return _MOMENTS[labels["moment"]]


def _confidence(_labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return "largest attention weight of a token"


def _sink_places(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"sink rate of token {int(labels['token'])}"


def _role(labels: Labels, attributes: Labels, _tokens: Labels) -> str:
    role = labels["role"]
    title = _titles(attributes).get(role, role)
    return title if title == role or title.startswith(f"{role}:") else f"{role}: {title}"


def _dependency(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    relation, direction = labels["relation"], labels["direction"]
    where = {
        "every": "",
        "offset right": ", where the best fixed offset is right",
        "held-out offset right": ", where the offset chosen on the other half is right",
    }
    text = f"{_RELATIONS.get(relation, relation)}: {_DIRECTIONS[direction]}"
    return text + where[labels.get("words", "every")]


def _offset(offset: str) -> str:
    if offset in ("earlier", "later"):
        return f"further away, {offset}"
    away = int(offset)
    return f"{abs(away)} {'before' if away < 0 else 'after'}" if away else "itself"


def _profile(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"attention by offset: the token {_offset(labels['offset'])}"


def _arc(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"attention along {labels['relation']}: {_DIRECTIONS[labels['direction']]}"


def _arc_offset(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"arcs of {labels['relation']}: head word {_offset(labels['offset'])}"


def _coreference(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    mentions = _MENTIONS[labels.get("kind", "all")]
    candidates = _CANDIDATES[labels.get("candidates", "mentions")]
    where = _BASELINES[labels.get("mentions", "every")]
    text = f"antecedents of {mentions} among {candidates}"
    return f"{text}, {where}" if where else text


def _frame(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return f"largest attention {_FRAMES[labels['direction']]}"


def _feature_name(feature: str, tokens: Labels) -> str:
    return _FEATURES[feature] if feature in _FEATURES else tokens[feature]


def _feature(labels: Labels, _attributes: Labels, tokens: Labels) -> str:
    return f"largest attention to {_feature_name(labels['feature'], tokens)}"


def _link(labels: Labels, attributes: Labels, tokens: Labels) -> str:
    link = labels["link"]
    if link in _LINKS:
        return f"largest attention {_LINKS[link]}"
    start, _, feature = link.partition(" to ")
    if "start" in attributes:  # a causal model: another token stands for [CLS]
        return f"largest attention from {attributes['start']} to {_feature_name(feature, tokens)}"
    what = "itself" if feature == start else _feature_name(feature, tokens)
    return f"largest attention from {tokens[start]} to {what}"


def _distance(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    if not labels:
        return "distance between heads"
    return f"distance between heads {labels['one']} and {labels['other']}"


def _gradient(labels: Labels, _attributes: Labels, tokens: Labels) -> str:
    token = labels["token"]
    what = "other tokens" if token == "other" else _token(token, tokens)
    return f"gradient importance of attention to {what}"


def _logit_attribution(_labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return "direct part in the logit of the next token"


def _pattern(labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return _PATTERNS[labels["pattern"]]


def _change(_labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return "cosine between the maps of the two models"


def _probe(labels: Labels, attributes: Labels, _tokens: Labels) -> str:
    task = labels["task"]
    text = f"probe for {_titles(attributes).get(task, task.replace('_', ' '))}"
    if "way" not in labels:
        return text
    return f"{text} on {_WAYS[labels['way']].format(n=labels['n'])}"


def _layer_probe(labels: Labels, attributes: Labels, tokens: Labels) -> str:
    return f"{_probe(labels, attributes, tokens)} on the whole layer"


def _embedding_probe(labels: Labels, attributes: Labels, tokens: Labels) -> str:
    return f"{_probe(labels, attributes, tokens)} on the embeddings alone"


def _split_probe(labels: Labels, attributes: Labels, tokens: Labels) -> str:
    text = _probe({"task": labels["task"]}, attributes, tokens)
    ways = {"last": "last layer", "best": "best layer", "top": "top heads"}
    where = f" on the {ways[labels['way']]}" if "way" in labels else ""
    return f"{text}{where}, mean over random splits"


def _off(what: str) -> Callable[[Labels, Labels, Labels], str]:
    def words(labels: Labels, attributes: Labels, _tokens: Labels) -> str:
        metric = attributes.get("metric", "score")
        return f"{metric} with {what.format_map(labels)} off"

    return words


def _run(labels: Labels, attributes: Labels, _tokens: Labels) -> str:
    run = labels["run"]
    unit = attributes.get("unit", "loss")
    if run == "none":
        return f"{unit} with no head off"
    what = run if run.startswith("layer ") else f"head{'s' if ',' in run else ''} {run}"
    return f"{unit} with {what} off"


def _pruning(labels: Labels, attributes: Labels, _tokens: Labels) -> str:
    unit = attributes.get("unit", "loss")
    order, _, left = labels["run"].partition(", ")
    if order == "none":
        return f"{unit} with no head off"
    return f"{unit} with {left.removesuffix(' left')} heads left, removed {_ORDERS[order]}"


def _importance(_labels: Labels, _attributes: Labels, _tokens: Labels) -> str:
    return "gradient importance of the head's output"


_WORDS: dict[str, Callable[[Labels, Labels, Labels], str]] = {
    "position": _position,
    "profile": _profile,
    "arc": _arc,
    "arc_offset": _arc_offset,
    "special": _special,
    "entropy": _entropy,
    "peak": _peak,
    "alignment": _alignment,
    "repetition": _repetition,
    "synthetic": _synthetic,
    "reach": _reach,
    "confidence": _confidence,
    "sink_places": _sink_places,
    "role": _role,
    "dependency": _dependency,
    "coreference": _coreference,
    "frame": _frame,
    "feature": _feature,
    "link": _link,
    "distance": _distance,
    "gradient": _gradient,
    "logit_attribution": _logit_attribution,
    "pattern": _pattern,
    "change": _change,
    "probe": _probe,
    "probe_layer": _layer_probe,
    "probe_top": _probe,
    "probe_embeddings": _embedding_probe,
    "probe_splits": _split_probe,
    "probe_splits_top": _split_probe,
    "ablation": _run,
    "head_off": _off("the head"),
    "layer_off": _off("the layer"),
    "set_off": _off("heads {set}"),
    "importance": _importance,
    "pruning": _pruning,
}
"""By measure: the function of labels, attributes and token texts that finds the words."""


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
    other = (
        "long='split' (--long split on the command line) reads all"
        if split
        else "a larger max_length (--max-length on the command line) reads more"
    )
    return f"{used}{examples}{more} {'was' if long == 1 else 'were'} {what}; {other}."


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
