"""An atlas as one pack: everything the page shows of a model without asking for a single head."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.page.packs.composition import composition_columns
from headscope.page.packs.figures import drawn_figures
from headscope.page.packs.nulls import add_role_bands
from headscope.page.packs.pack import pack
from headscope.page.packs.papers import paper_sections
from headscope.page.packs.roles import relation_columns, role_columns, test_columns
from headscope.page.packs.statistics import statistic_columns
from headscope.page.packs.track import track_columns
from headscope.page.packs.words import head_texts, summary_lines
from headscope.results import Atlas
from headscope.stats.heads.query import value_labels

FORMAT = 1
"""The version of the pack's layout; ``web/src/data/types.ts`` describes it."""


def atlas_pack(atlas: Atlas, *, name: str = "", figures: bool = False) -> bytes:
    """Everything about a model's heads but their examples.

    Parameters
    ----------
    atlas
        Results of a survey, a comparison, an ablation or a probe.
    name
        What to call the model, where the results' own name would be ambiguous.
    figures
        Also draw all figures of the gallery. A user's own figures are always drawn.
    """
    document, arrays = atlas_content(atlas)
    document["figures"] = drawn_figures(atlas, everything=figures)
    if name:
        document["model"]["name"] = name
    return pack(document, arrays)


def atlas_content(atlas: Atlas) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
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
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": version("headscope"),
        "model": _model(atlas),
        "corpus": {
            "name": str(about.get("corpus", {}).get("name", "")),
            "examples": int(about.get("counts", {}).get("seen", 0)),
        },
        "notes": [str(note) for note in about.get("notes", [])],
        "statistics": statistics,
        "labels": value_labels(atlas),
        **roles,
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
    }
    return document, {**arrays, **more, **tested, **accuracy, **distance, **composed, **tracked}


def _model(atlas: Atlas) -> dict[str, Any]:
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


def _examples(about: dict[str, Any]) -> dict[str, Any]:
    kept = about.get("examples", {})
    return {
        "kept": int(kept.get("kept", 0)),
        "strongest": int(kept.get("strongest", 0)),
        "why": str(kept.get("why", "")) or ("" if kept else "these results keep none"),
    }


def _distance(atlas: Atlas) -> dict[str, NDArray[Any]]:
    """Distances between all heads, (place, place), where they were measured."""
    if "distance" not in atlas:
        return {}
    values = np.asarray(atlas["distance"]["mean"].values)
    size = atlas.shape[0] * atlas.shape[1]
    return {"distance": values} if values.shape == (size, size) else {}
