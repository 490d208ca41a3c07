"""What the heads of a model do, in plain sentences, each of which names its heads.

The sentences are made from tested roles and findings only: main roles by family, relations and
antecedents that a head finds, what disabling heads does, what probes find. Warnings come last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headscope.labels import CHANGE, lost_tokens
from headscope.measures.roles import BROADLY, UNCLEAR
from headscope.registry import MEASURES
from headscope.results import Atlas
from headscope.stats.grid import heads_over
from headscope.stats.heads.excess import FAMILIES, ORDER
from headscope.stats.heads.findings import AT_WORK, MOVES, Analysis, retrieving_heads, token_names
from headscope.stats.heads.thresholds import DEFAULT
from headscope.stats.inference.correction import flip_note
from headscope.stats.inference.documents import interval_note
from headscope.stats.tables.relations import DEFAULT_DIRECTIONS
from headscope.stats.words.describe import (
    against_rivals,
    antecedents_found,
    disabling_does,
    held_out,
)
from headscope.stats.words.formatter import (
    Part,
    SummaryLine,
    capital,
    in_layers,
    in_percent,
    in_words,
    listed,
    parts,
    relation_words,
    say,
)

SOME = 0.1
"""Sinks with less of the attention at rest are not named."""
MOST = 2
"""How many heads with the least active attention are named."""
NAMED = 4
"""Up to so many heads of a family, relations and probes are all named."""
CLEAREST = 3
"""Of more heads of a family, so many are."""
ALIKE = 0.999
"""From this cosine on, two maps are alike."""
MANY = 3
"""If one head in so many has collapsed, it is a warning about the model."""
SURVEYED = ("activity", "position", "special", "entropy", "role", "dependency")
"""Measures of a survey, whose sums are kept by document."""
Line = tuple[str, list[Part]]


def model_summary(atlas: Atlas) -> list[SummaryLine]:
    """Sum up what the heads do.

    Parameters
    ----------
    atlas
        Any results.

    Returns
    -------
    list of SummaryLine
        First the lead (family "lead"), then one line for each family of roles that occurs, then
        findings ("finding") and warnings ("warning"). Without main roles, what can be said instead
        ("fact").

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.survey("demo", "demo", limit=20)
    >>> lines = model_summary(atlas)
    >>> lines[0].family, lines[1].family, lines[1].heads[0]
    ('lead', 'noun phrase', '3-9')
    """
    analysis = atlas.analysis
    if analysis.main is None:
        lines = [("fact", line) for line in _facts(atlas)]
    else:
        lines = [("lead", _lead(analysis)), *_families(analysis)]
    lines += [("finding", line) for line in _findings(analysis)]
    lines += [("warning", line) for line in _warnings(atlas)]
    return [SummaryLine(family, line) for family, line in lines]


def _lead(analysis: Analysis) -> list[Part]:
    """How many heads have a clear role, how many keep it, and how many rest."""
    table = analysis.roles
    clear = table[table["role"].isin(list(FAMILIES))]
    if analysis.excess is not None and not analysis.excess.tested:
        line = parts("model.untested")
    else:
        line = parts("model.clear", heads=_names(clear), of=len(table))
    if clear["stability"].notna().any():
        border = _names(clear[clear["borderline"]])
        kept = len(clear) - len(border)
        how = ("some kept" if kept else "none kept") if border else "kept"
        number = len(border) if border else kept
        line += parts(f"model.{how}", heads=border, n=number, kept=kept, of=len(clear))
    ranked = table.sort_values("activity", kind="stable")
    if resting := _names(ranked[ranked["activity"] < DEFAULT.half]):
        line += parts("model.resting", heads=resting, sinks=_sinks(analysis, resting))
        if len(resting) > MOST:
            rest = [in_percent(1 - share) for share in ranked["activity"][:MOST]]
            shares = f"{rest[0]} each" if len(set(rest)) == 1 else listed(rest)
            line += parts("model.most", heads=resting[:MOST], shares=shares)
        line.append(Part("."))
    return line


def _names(table: Any) -> list[str]:
    """The heads of some rows."""
    return [str(head) for head in table.index]


def _sinks(analysis: Analysis, heads: Sequence[str]) -> list[str]:
    """The kinds of sinks on which some heads rest, those with the most attention first."""
    totals: dict[str, float] = {}
    for head in heads:
        for name, share in analysis.resting[head].items():
            if name != AT_WORK and share == share:
                totals[name] = totals.get(name, 0.0) + share
    whole = sum(totals.values())
    ranked = sorted(totals, key=lambda name: -totals[name])
    return [name for name in ranked if totals[name] >= SOME * whole] or ["sinks"]


def _families(analysis: Analysis) -> Iterator[Line]:
    """One line per family that occurs."""
    table = analysis.roles.sort_values("excess", ascending=False, kind="stable")
    seconds = analysis.roles["second"].map(FAMILIES)
    for family in ORDER:
        heads = _names(table[table["family"] == family])
        if not heads:
            continue
        count = f"{in_words(len(heads))} {'head' if len(heads) == 1 else 'heads'}"
        line = [Part(capital(count), tuple(heads)), Part(" ")]
        line += parts(f"family.{family}", heads=heads, resting=DEFAULT.resting)
        where = [Part(in_layers(heads))]
        if family in (BROADLY, UNCLEAR):
            if most := _mostly(analysis, heads):
                where += [Part(", "), *most]
        elif len(heads) <= NAMED:
            line += parts("model.all", heads=heads)
        else:
            line += parts("model.clearest", heads=heads[:CLEAREST])
        line += [Part(" ("), *where, Part(")")]
        also = [str(head) for head, second in seconds.items() if second == family]
        if also := [head for head in also if head not in heads]:
            line += parts("model.second", heads=also)
        yield family, [*line, Part(".")]


def _mostly(analysis: Analysis, heads: Sequence[str]) -> list[Part]:
    """The layers most of whose heads are of a family."""
    size = analysis.results.shape[1]
    layers = [
        str(layer)
        for layer in analysis.results.layers
        if 2 * sum(head.startswith(f"{layer}-") for head in heads) > size
    ]
    if not layers or len(layers) > NAMED or len(heads) < 2:
        return []
    return parts("model.layers", n=len(layers), layers=layers)


def _facts(results: Atlas) -> Iterator[list[Part]]:
    """What can be said without main roles: heads on one kind of token, and even attention."""
    if "position" in results:
        for offset in ("previous", "next"):
            heads = heads_over(results.mean("position").sel(offset=offset), DEFAULT.half)
            yield from _fact("offset", heads, offset=offset)
    for token, collapsed, many in _collapsed(results):
        if not many:  # many are a warning
            yield from _fact("token", collapsed, token=token, share=DEFAULT.collapse)
    if "entropy" in results:
        means = results.mean("entropy")
        ratio = means.sel(row="all") / means.sel(row="uniform")
        yield from _fact("even", heads_over(ratio, DEFAULT.nearly))


def _fact(name: str, named: Sequence[object], **places: Any) -> Iterator[list[Part]]:
    if heads := [str(head) for head in named]:
        fact = say(f"model.{name}", n=len(heads), **places)
        yield parts(f"model.{'one' if len(heads) == 1 else 'many'}", heads=heads, fact=fact)


def _collapsed(results: Atlas) -> Iterator[tuple[str, list[str], bool]]:
    """By kind of token: the heads with nearly all of their attention on it, and whether these are
    many of all.
    """
    if "special" not in results:
        return
    tokens = token_names(results)
    names = {
        "cls": tokens.get("start", "the start token"),
        "sep": tokens.get("separator", "the separator"),
        "punctuation": "full stops and commas",
    }
    for token, name in names.items():
        values = results.mean("special").sel(row="all", token=token)
        heads = [str(head) for head in heads_over(values, DEFAULT.collapse)]
        yield name, heads, bool(heads) and len(heads) * MANY >= int(values.notnull().sum())


def _findings(analysis: Analysis) -> Iterator[list[Part]]:
    """What was found, each with its test."""
    results = analysis.results
    if "sink" in results and results.provenance.get("model", {}).get("causal"):
        sink = results["sink"]
        mean, of = float(sink["mean"].sel(sink="first").mean()), sink.sizes["layer"]
        if heads := _surely(sink["low"].sel(sink="rate")):
            yield parts("model.sink", heads=heads, of=of * sink.sizes["head"], mean=mean)
    random = results["synthetic"]["low"].sel(score="induction") if "synthetic" in results else None
    if random is not None and (heads := _surely(random)):
        yield parts("model.induction", heads=heads)
    if heads := retrieving_heads(results):
        yield parts("model.retrieval", heads=heads, least=DEFAULT.retrieves)
    if silent := sorted(analysis.silent, key=lambda head: analysis.silent[head]):
        yield parts("model.silent", heads=silent, of=len(analysis.heads), least=DEFAULT.writes)
    for fact in [fact for fact in analysis.relations if fact.leads][:NAMED]:
        words = relation_words(fact.relation, fact.direction)
        own = {"held_out": held_out(fact.held_out), "rivals": against_rivals(fact), "what": words}
        yield parts("model.relation", heads=[fact.head], **vars(fact) | own)
    if (best := analysis.antecedents) is not None:
        own = {"antecedents": antecedents_found(best), "held_out": held_out(best.held_out)}
        yield parts("model.antecedents", heads=[best.head], **own)
    yield from _disabling(analysis)
    yield from _changes(analysis)
    if "probe" in results and not analysis.probes:
        yield parts("model.no probe", alpha=DEFAULT.alpha)
    for probe in analysis.probes[:NAMED]:
        text = say("finding.probe", **vars(probe))
        yield parts("model.probe", heads=[probe.head], probe=text)


def _surely(low: xr.DataArray) -> list[str]:
    """The heads whose whole interval is over one half, the largest first."""
    return [str(head) for head in heads_over(low, DEFAULT.half)]


def _disabling(analysis: Analysis) -> Iterator[list[Part]]:
    """The head whose removal costs most, how many matter, and the one whose removal helps most."""
    of = len(analysis.disabling)
    sure = [finding for finding in analysis.disabling if finding.p < DEFAULT.alpha]
    if of and not sure:
        yield parts("model.none matters", of=of)
    helps = [finding for finding in sure[-1:] if finding.gain > 0]
    for finding in dict.fromkeys([*sure[:1], *helps]):
        line = parts("model.disabling", heads=[finding.head], does=disabling_does(finding))
        if finding is sure[0]:
            worse, better = (sum(sign * item.gain > 0 for item in sure) for sign in (-1, 1))
            places = {"of": of, "worse": worse, "better": better}
            line += parts("model.matter", heads=[item.head for item in sure], **places)
        yield [*line, Part(".")]


def _changes(analysis: Analysis) -> Iterator[list[Part]]:
    """Where two models differ: whose maps changed, and the heads that look elsewhere."""
    results = analysis.results
    if "change" in results:
        cosines = results.mean("change")
        lowest, layers = heads_over(-cosines, -1.0)[:1], cosines.mean("head")
        least = float(cosines.min())
        if least > ALIKE:
            yield parts("model.alike", cosine=ALIKE)
        elif lowest:
            at = int(np.nanargmin(layers.values))
            places = {"layer": int(layers["layer"][at]), "mean": float(layers[at])}
            yield parts("model.maps", heads=[str(lowest[0])], cosine=least, **places)
    moved = analysis.changes
    if moved:
        heads = [change.head for change in moved]
        yield parts("model.moved", heads=heads, of=len(analysis.heads), least=DEFAULT.moved)
    elif any(f"{measure}{CHANGE}" in results for measure in MOVES):
        yield parts("model.unmoved", least=DEFAULT.moved)
    for change in moved[:NAMED]:
        at_what = "on" if "rests" in change.how else "at"
        yield parts("model.change", heads=[change.head], at=at_what, **vars(change))


def _warnings(results: Atlas) -> Iterator[list[Part]]:
    """What a reader should know before using the numbers: learned sinks, collapsed heads, texts
    that were cut, few documents.
    """
    about = results.provenance
    model = about.get("model", {})
    if model.get("sink"):
        yield parts("warning.learned sink")
    for token, heads, many in _collapsed(results):
        if many:
            of = int(results.mean("special").sel(row="all").isel(token=0).notnull().sum())
            places = {"of": of, "share": DEFAULT.collapse, "token": token}
            yield parts("warning.collapsed", heads=heads, **places)
    notes = [lost_tokens(about, split=model.get("stack") != "cross")]
    measured = [name for name in SURVEYED if name in results and "count" in results[name]]
    notes += [interval_note(results[name]) for name in measured[:1]]
    if "dependency" in results:
        counts = results["dependency"]["count"].sel(words="every")
        note = flip_note(counts.sel(direction=list(DEFAULT_DIRECTIONS)))
        notes.append(note and say("warning.no relation", note=note))
    unoffered = [name for name in results if name in MEASURES and not MEASURES[name].offered]
    if empty := [name for name in unoffered if not results[name].get("n", np.ones(1)).any()]:
        notes.append(say("warning.nothing counted", names=empty))
    counts = about.get("counts", {})
    examples, number = counts.get("nonfinite_examples"), counts.get("nonfinite")
    if number and isinstance(examples, list):
        notes.append(say("warning.not finite", n=number, example=examples[0]))
    yield from ([Part(note)] for note in notes if note)
