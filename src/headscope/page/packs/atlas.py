"""An atlas as one pack: everything the page shows of a model without asking for a single head."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.figures.gallery import FIGURES, gallery
from headscope.heads import Head
from headscope.page.document import Plot
from headscope.page.packs.columns import (
    add_role_bands,
    composition_columns,
    relation_columns,
    role_columns,
    statistic_columns,
    test_columns,
    track_columns,
)
from headscope.page.packs.examples import FEW, FIRST, LEAST
from headscope.page.packs.pack import pack
from headscope.page.packs.papers import paper_sections
from headscope.page.packs.sections import picture
from headscope.page.schema import AtlasDocument, Figure, HeadText, Kept, Model, Part, SummaryLine
from headscope.results import Atlas
from headscope.stats.heads.query import value_labels
from headscope.stats.words.describe import descriptions
from headscope.stats.words.summary import model_summary

CUT = (
    f"In a single file of so many heads, examples are the first {FIRST} tokens of a text with the "
    f"{FEW} largest links of each row, from {LEAST:.0%} on. headscope report --folder writes all."
).replace("%", " %")
SHOWN = 12
"""Bits of numbers in a page of many heads: more than three digits."""


def atlas_pack(
    atlas: Atlas, *, name: str = "", figures: bool = False, compact: bool = False
) -> bytes:
    """Everything about a model's heads but their examples.

    Parameters
    ----------
    atlas
        Results of a survey, a comparison, an ablation or a probe.
    name
        What to call the model, where the results' own name would be ambiguous.
    figures
        Also draw all figures of the gallery. A user's own figures are always drawn.
    compact
        Whether numbers have only as many digits as are shown.
    """
    document, arrays = atlas_content(atlas)
    document["figures"] = drawn_figures(atlas, everything=figures)
    document["examples"]["cut"] = CUT if compact else ""
    if name:
        document["model"]["name"] = name
    return pack(document, arrays, level=9, bits=SHOWN) if compact else pack(document, arrays)


def atlas_content(atlas: Atlas) -> tuple[AtlasDocument, dict[str, NDArray[Any]]]:
    """The document and the arrays of :func:`atlas_pack`."""
    about, analysis = atlas.provenance, atlas.analysis
    statistics, arrays = statistic_columns(atlas)
    roles, more = role_columns(analysis)
    tests, tested = test_columns(analysis)
    relations, accuracy = relation_columns(analysis)
    add_role_bands(atlas, roles["work"], relations)
    distance = _distance(atlas)
    composition, composed = composition_columns(atlas)
    track, tracked = track_columns(atlas, statistics)
    document: AtlasDocument = {
        "format": 1,  # the version of the layout, which page/schema.py describes
        "version": version("headscope"),
        "model": _model(atlas),
        "corpus": {
            "name": str(about.get("corpus", {}).get("name", "")),
            "examples": int(about.get("counts", {}).get("seen", 0)),
        },
        "notes": [str(note) for note in about.get("notes", [])],
        "statistics": statistics,
        "labels": value_labels(atlas),
        "families": roles["families"],
        "work": roles["work"],
        "activity": roles["activity"],
        "rests": roles["rests"],
        "tests": tests,
        "relations": relations,
        "heads": head_texts(atlas),
        "summary": summary_lines(atlas),
        "papers": paper_sections(atlas, statistics),
        "examples": _examples(about),
        "distance": bool(distance),
        "composition": composition,
        "track": track,
        "provenance": about,
        "figures": [],
    }
    return document, {**arrays, **more, **tested, **accuracy, **distance, **composed, **tracked}


def _model(atlas: Atlas) -> Model:
    model = atlas.provenance.get("model", {})
    return {
        "name": str(model.get("name", "")),
        "type": str(model.get("type", "")),
        "stack": str(model.get("stack", "")),
        "layers": atlas.shape[0],
        "heads": atlas.shape[1],
        "numbers": list(atlas.layers),
        "causal": bool(model.get("causal", False)),
    }


def _examples(about: dict[str, Any]) -> Kept:
    kept = about.get("examples", {})
    return {
        "kept": int(kept.get("kept", 0)),
        "strongest": int(kept.get("strongest", 0)),
        "why": str(kept.get("why", "")) or ("" if kept else "these results keep none"),
        "cut": "",
    }


def _distance(atlas: Atlas) -> dict[str, NDArray[Any]]:
    """Distances between all heads, (place, place), where they were measured."""
    if "distance" not in atlas:
        return {}
    values = np.asarray(atlas["distance"]["mean"].values)
    size = atlas.shape[0] * atlas.shape[1]
    return {"distance": values} if values.shape == (size, size) else {}


# --- Sentences: one description per head, and the summary of the model ----------------------------


def head_texts(atlas: Atlas) -> list[HeadText]:
    """What every head does, in the order of the model."""
    described = descriptions(atlas)
    texts: list[HeadText] = []
    for layer in atlas.layers:
        for number in range(atlas.shape[1]):
            about = described.get(str(Head(layer - 1, number)))
            lead, evidence = ("", "") if about is None else (about.lead, about.evidence)
            texts.append({"lead": lead, "evidence": evidence})
    return texts


def summary_lines(atlas: Atlas) -> list[SummaryLine]:
    """What the heads do, each sentence with the heads it speaks of."""
    lines: list[SummaryLine] = []
    for line in model_summary(atlas):
        parts: list[Part] = []
        for piece in line.parts:
            part: Part = {"text": piece.text}
            if piece.heads:
                part["heads"] = list(piece.heads)
            if piece.strong:
                part["strong"] = True
            parts.append(part)
        lines.append({"family": line.family, "parts": parts})
    return lines


# --- Figures of the gallery as SVG, for a page that draws most charts itself ----------------------

DRAWN_BY_PAGE = frozenset(
    {
        "activity", "alignment", "change", "coreference", "dependency", "distance", "entropy",
        "feature", "frame", "gradient", "head_off", "importance", "link", "pattern", "peak",
        "position", "probe", "role", "special", "spread", "work",
    }
)  # fmt: skip
"""Measures whose numbers the page shows in charts or tables of its own."""


def drawn_figures(atlas: Atlas, *, everything: bool) -> list[Figure]:
    """The figures that can be drawn from some results.

    Parameters
    ----------
    atlas
        The results.
    everything
        All figures; otherwise only those that the page cannot draw itself: a user's own, and those
        of measures that have no value for every head, such as a pruning curve.
    """
    own = {entry.name for entry in FIGURES.entries() if entry.own}
    chosen = [
        item
        for item in gallery(atlas)
        if everything or item.name in own or not set(item.needs) <= DRAWN_BY_PAGE
    ]
    return [picture(Plot(item.name, item.title, item.caption, item.draw(atlas))) for item in chosen]
