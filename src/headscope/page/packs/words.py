"""Sentences for the page: one description per head, and the summary of the model."""

from __future__ import annotations

from headscope.heads import Head
from headscope.page.schema import HeadText, Part, SummaryLine
from headscope.results import Atlas
from headscope.stats.description import descriptions
from headscope.stats.model_summary import model_summary


def head_texts(atlas: Atlas) -> list[HeadText]:
    """What every head does, in the order of the model."""
    found = descriptions(atlas)
    texts: list[HeadText] = []
    for layer in atlas.layers:
        for number in range(atlas.shape[1]):
            one = found.get(str(Head(layer - 1, number)))
            lead, evidence = ("", "") if one is None else (one.lead, one.evidence)
            texts.append({"lead": lead, "evidence": evidence})
    return texts


def summary_lines(atlas: Atlas) -> list[SummaryLine]:
    """What the heads do, each sentence with the heads it speaks of."""
    lines: list[SummaryLine] = []
    for line in model_summary(atlas):
        parts: list[Part] = []
        for one in line.parts:
            part: Part = {"text": one.text}
            if one.heads:
                part["heads"] = list(one.heads)
            if one.strong:
                part["strong"] = True
            parts.append(part)
        lines.append({"family": line.family, "parts": parts})
    return lines
