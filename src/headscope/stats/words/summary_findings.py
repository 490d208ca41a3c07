"""The findings of a summary: relations, antecedents, disabling, probes; and plain facts."""

from __future__ import annotations

from headscope.numbers import count
from headscope.results import Atlas
from headscope.stats.grid import heads_over
from headscope.stats.heads.findings import ALPHA, Analysis, RelationFinding
from headscope.stats.words.beyond_text import RETRIEVES, retrieving_heads
from headscope.stats.words.finding_words import (
    against_rivals,
    antecedents_found,
    disabling_does,
    held_out,
    probe_score,
)
from headscope.stats.words.phrases import in_percent, in_words, p_words
from headscope.stats.words.relation_words import relation_words
from headscope.stats.words.summary_parts import FACT, FINDING, Part, SummaryLine, head_parts
from headscope.stats.words.summary_warnings import SINK, collapsed_heads, token_words

RELATIONS, PROBES, HEADS = 4, 4, 8
"""How many relations, tasks and heads are named."""
HALF, NEARLY = 0.5, 0.9


def finding_lines(analysis: Analysis) -> list[SummaryLine]:
    """What was found, each with its test.

    Parameters
    ----------
    analysis
        The tests of all heads.
    """
    facts = [] if analysis.main is not None else _facts(analysis.results)
    best = [one for one in analysis.relations if one.leads][:RELATIONS]
    found = [*facts, *_first_token(analysis.results), *_repeated(analysis.results)]
    found += _retrieving(analysis.results)
    found += map(_relation, best)
    if analysis.antecedents is not None:
        one = analysis.antecedents
        text = f" {antecedents_found(one)}{held_out(one.held_out)}."
        found.append(SummaryLine(FINDING, [Part(one.head, (one.head,)), Part(text)]))
    return [*found, *_disabling(analysis), *_probes(analysis)]


def _first_token(results: Atlas) -> list[SummaryLine]:
    """How many heads of a causal model have a sink on the first token, for sure in most texts."""
    if "sink" not in results or not results.provenance.get("model", {}).get("causal"):
        return []
    sink = results["sink"]
    heads = tuple(map(str, heads_over(sink["low"].sel(sink="rate"), HALF)))
    if not heads:
        return []
    mean = float(sink["mean"].sel(sink="first").mean())
    text = (
        f" of {sink.sizes['layer'] * sink.sizes['head']} heads (sink rate over 0.5); the mean "
        f"over all heads is {in_percent(mean)} of attention."
    )
    parts = [Part("The first token is a sink for "), Part(str(len(heads)), heads), Part(text)]
    return [SummaryLine(FINDING, parts)]


def _repeated(results: Atlas) -> list[SummaryLine]:
    """Which heads find the first copy of random tokens, for sure with most of their attention."""
    if "synthetic" not in results:
        return []
    low = results["synthetic"]["low"].sel(score="induction")
    heads = [str(head) for head in heads_over(low, HALF)]
    if not heads:
        return []
    put, their = ("puts", "its") if len(heads) == 1 else ("put", "their")
    count = Part(f"{len(heads)} head{'s' if len(heads) > 1 else ''}", tuple(heads))
    text = (
        f" {put} more than half of {their} attention on what followed the same token before "
        "(induction)."
    )
    start = Part("On random tokens written twice, ")
    return [SummaryLine(FINDING, [start, count, *_few(heads), Part(text)])]


def _retrieving(results: Atlas) -> list[SummaryLine]:
    """Which heads copy answers out of long texts."""
    heads = retrieving_heads(results)
    if not heads:
        return []
    count = Part(f"{len(heads)} head{'s' if len(heads) > 1 else ''}", tuple(heads))
    does = "copies" if len(heads) == 1 else "copy"
    text = f" {does} answers out of long texts (retrieval score of {RETRIEVES} or more)."
    return [SummaryLine(FINDING, [count, *_few(heads), Part(text)])]


def _relation(one: RelationFinding) -> SummaryLine:
    text = (
        f" ({one.relation}): {one.accuracy:.2f} of {count(one.words)} words, best fixed offset "
        f"{one.offset:.2f} ({p_words(one.p)}{against_rivals(one)}){held_out(one.held_out)}."
    )
    what = Part(relation_words(one.relation, one.direction), strong=True)
    return SummaryLine(FINDING, [Part(one.head, (one.head,)), Part(" finds "), what, Part(text)])


def _disabling(analysis: Analysis) -> list[SummaryLine]:
    """The head whose removal costs most, the one whose removal helps most, and how many matter."""
    every = analysis.disabling
    if not every:
        return []
    sure = [one for one in every if one.p < ALPHA]
    if not sure:
        text = f"No single head of {len(every)} changes the score by more than chance if disabled."
        return [SummaryLine(FINDING, [Part(text)])]
    found = []
    for one in dict.fromkeys((sure[0], sure[-1])):
        parts = [Part("Disabling "), Part(one.head, (one.head,)), Part(f" {disabling_does(one)}")]
        if one is sure[0]:
            several = tuple(item.head for item in sure)
            change = "changes" if len(several) == 1 else "change"
            parts += [Part("; "), Part(f"{in_words(len(several))} of {len(every)} heads", several)]
            parts.append(Part(f" {change} the score by more than chance"))
        found.append(SummaryLine(FINDING, [*parts, Part(".")]))
    return found


def _probes(analysis: Analysis) -> list[SummaryLine]:
    """The best head of a few tasks."""
    return [
        SummaryLine(
            FINDING,
            [Part(one.head, (one.head,)), Part(f" has the best probe for {probe_score(one)}.")],
        )
        for one in analysis.probes[:PROBES]
    ]


def _facts(results: Atlas) -> list[SummaryLine]:
    """What can be said without main roles: heads on one kind of token, and even attention."""
    found = []
    if "position" in results:
        means = results.mean("position")
        for offset in ("previous", "next"):
            heads = [str(head) for head in heads_over(means.sel(offset=offset), HALF)]
            text = f"more than half of the attention on the {offset} token"
            found += _fact(heads, f"puts {text}", f"put {text}")
    if "special" in results:
        means = results.mean("special").sel(row="all")
        for token, words in token_words(results).items():
            named, many = collapsed_heads(means.sel(token=token))
            if not many:  # many are a warning
                text = f"more than {in_percent(SINK)} of the attention on {words}"
                found += _fact(list(named), f"puts {text}", f"put {text}")
    if "entropy" in results:
        means = results.mean("entropy")
        ratio = means.sel(row="all") / means.sel(row="uniform")
        heads = [str(head) for head in heads_over(ratio, NEARLY)]
        text = "almost uniformly (entropy over 90 % of the uniform line)"
        found += _fact(heads, f"attends {text}", f"attend {text}")
    return found


def _fact(heads: list[str], one: str, many: str) -> list[SummaryLine]:
    if not heads:
        return []
    if len(heads) == 1:
        return [SummaryLine(FACT, [Part("Head "), *head_parts(heads), Part(f" {one}.")])]
    return [
        SummaryLine(
            FACT, [Part(f"{len(heads)} heads", tuple(heads)), *_few(heads), Part(f" {many}.")]
        )
    ]


def _few(heads: list[str]) -> list[Part]:
    """The first few of many heads, in brackets."""
    parts = [Part(" (")]
    for at, head in enumerate(heads[:HEADS]):
        parts += [Part(", " if at else ""), Part(head, (head,))]
    more = f" and {len(heads) - HEADS} more" if len(heads) > HEADS else ""
    return [*parts, Part(f"{more})")]
