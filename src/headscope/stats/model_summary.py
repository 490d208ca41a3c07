"""What the heads of a model do, in plain sentences, each of which names its heads.

The sentences are made from tested roles and findings only: main roles by family, relations and
antecedents that a head finds, what disabling heads does, what probes find. Warnings come last.
"""

from __future__ import annotations

from collections.abc import Sequence

from headscope.measures.roles import BROADLY, RESTS, UNCLEAR
from headscope.results import Atlas
from headscope.stats.analysis import Analysis
from headscope.stats.evidence import AT_WORK
from headscope.stats.excess import FAMILIES
from headscope.stats.phrases import heads_in_words, in_layers, in_percent, in_words, listed
from headscope.stats.role_words import FAMILY_WORDS, ORDER
from headscope.stats.summary_findings import finding_lines
from headscope.stats.summary_parts import LEAD, Part, SummaryLine, head_parts
from headscope.stats.summary_warnings import warning_lines
from headscope.stats.thresholds import DEFAULT

SOME = 0.1
"""Sinks with less of the attention at rest are not named."""
MOST = 2
"""How many heads with the least attention at work are named."""
NAMED = 4
"""Up to so many heads of a family are all named."""
CLEAREST = 3
"""Of more, so many are."""


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
    roles = [] if analysis.main is None else [*_lead(analysis), *_families(analysis)]
    return [*roles, *finding_lines(analysis), *warning_lines(analysis)]


def _lead(analysis: Analysis) -> list[SummaryLine]:
    """How many heads have a clear role, and how many rest."""
    table = analysis.roles
    clear = tuple(table.index[table["role"].isin(list(FAMILIES))].astype(str))
    verb = "has" if len(clear) == 1 else "have"
    parts = [
        Part(f"{len(clear)} of {len(table)} heads", clear, strong=True),
        Part(f" {verb} a clear role."),
    ]
    if analysis.excess is not None and not analysis.excess.tested:
        parts = [Part("There are too few documents to test roles.")]
    return [SummaryLine(LEAD, [*parts, *_stability(analysis), *_resting(analysis)])]


def _stability(analysis: Analysis) -> list[Part]:
    """How many heads with a role keep it when documents are drawn anew."""
    table = analysis.roles[analysis.roles["role"].isin(list(FAMILIES))]
    if table["stability"].isna().all():
        return []
    border = tuple(table.index[table["borderline"]].astype(str))
    start, kept = " When documents are drawn anew, ", len(table) - len(border)
    if not border:
        keep = "it keeps its role" if kept == 1 else "all of these keep their role"
        return [Part(f"{start}{keep}.")]
    if not kept:
        alone = len(table) == 1
        others = "it often has another: it is" if alone else "these often have others: all are"
    else:
        keep = "keeps its" if kept == 1 else "keep their"
        others = f"{kept} of these {len(table)} {keep} role; the "
        others += "other is" if len(border) == 1 else "others are"
    return [Part(f"{start}{others} "), Part("borderline", border), Part(".")]


def _resting(analysis: Analysis) -> list[Part]:
    """How many heads spend more than half of their attention at rest, and on what."""
    table = analysis.roles.sort_values("activity", kind="stable")
    resting = tuple(table.index[table["activity"] < DEFAULT.half].astype(str))
    if not resting:
        return []
    spend = "spends" if len(resting) == 1 else "spend"
    their = "its" if len(resting) == 1 else "their"
    parts = [
        Part(" "),
        Part(f"{len(resting)}", resting, strong=True),
        Part(
            f" {spend} more than half of {their} attention at rest, on {_sinks(analysis, resting)}"
        ),
    ]
    most = resting[:MOST]
    if len(resting) > MOST:
        rest = [in_percent(1 - float(table.loc[head, "activity"])) for head in most]
        shares = f"{rest[0]} each" if len(set(rest)) == 1 else listed(rest)
        parts += [Part("; "), *head_parts(most), Part(f" most ({shares})")]
    return [*parts, Part(".")]


def _sinks(analysis: Analysis, heads: Sequence[str]) -> str:
    """The kinds of sinks on which some heads rest, those with the most attention first."""
    totals: dict[str, float] = {}
    for head in heads:
        for name, share in analysis.resting[head].items():
            if name != AT_WORK and share == share:
                totals[name] = totals.get(name, 0.0) + share
    whole = sum(totals.values())
    ranked = sorted(totals, key=lambda name: -totals[name])
    return listed([name for name in ranked if totals[name] >= SOME * whole] or ["sinks"], "or")


def _families(analysis: Analysis) -> list[SummaryLine]:
    """One line per family that occurs."""
    table = analysis.roles.sort_values("excess", ascending=False, kind="stable")
    mine, also = dict[str, list[str]](), dict[str, list[str]]()
    for head, family in table["family"].items():
        mine.setdefault(str(family), []).append(str(head))
    seconds = analysis.roles["second"].map(FAMILIES)
    for head, family, second in zip(seconds.index, analysis.roles["family"], seconds, strict=True):
        if second != family:
            also.setdefault(str(second), []).append(str(head))
    return [
        _family(analysis, family, tuple(mine[family]), tuple(also.get(family, ())))
        for family in ORDER
        if family in mine
    ]


def _family(
    analysis: Analysis, family: str, heads: tuple[str, ...], also: tuple[str, ...]
) -> SummaryLine:
    """A sentence about the heads of a family."""
    one, many, words = FAMILY_WORDS[family]
    alone = len(heads) == 1
    parts = [Part(heads_in_words(len(heads)), heads)]
    if family == RESTS:
        parts += [Part(" "), Part("rests" if alone else "rest", strong=True)]
        whose = "its" if alone else "their"
        parts.append(
            Part(f" (under {in_percent(DEFAULT.resting)} of {whose} attention is at work)")
        )
    else:
        parts += [Part(one if alone else many), Part(words, strong=True)]
    if family == BROADLY:
        parts.append(Part(", nearly evenly over the words"))
    parts.append(Part(f", {in_layers(heads)}"))
    if family in (BROADLY, UNCLEAR):
        parts.append(Part(_mostly(analysis, heads)))
    else:
        parts += _named(heads)
    if also:
        do = "does" if len(also) == 1 else "do"
        parts += [
            Part("; "),
            Part(f"{in_words(len(also))} more", also),
            Part(f" {do} so as a second role"),
        ]
    return SummaryLine(family, [*parts, Part(".")])


def _named(heads: tuple[str, ...]) -> list[Part]:
    """The heads of a family, or the clearest ones."""
    if len(heads) <= NAMED:
        return [Part(": "), *head_parts(heads)]
    return [Part(", most clearly "), *head_parts(heads[:CLEAREST])]


def _mostly(analysis: Analysis, heads: tuple[str, ...]) -> str:
    """The layers most of whose heads are of a family."""
    size = analysis.results.shape[1]
    layers = [
        layer
        for layer in analysis.results.layers
        if 2 * sum(head.startswith(f"{layer}-") for head in heads) > size
    ]
    if not layers or len(layers) > NAMED or len(heads) < 2:
        return ""
    word = "layer" if len(layers) == 1 else "layers"
    return f", among them most of {word} {listed(list(map(str, layers)))}"
