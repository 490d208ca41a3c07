"""Scores, intervals and tests added to the outputs of an ablation."""

from __future__ import annotations

import json
from dataclasses import asdict

import xarray as xr

from headscope.results import Atlas
from headscope.runs.ablate.settings import ScoreSettings
from headscope.stats.ablation import scored, with_nodes
from headscope.stats.importance import agreement


def with_scores(atlas: Atlas, settings: ScoreSettings) -> Atlas:
    """Add scores, intervals and tests; with gradient importance, its agreement with disabling.

    Parameters
    ----------
    atlas
        The outputs of an ablation, scored or not.
    settings
        How scores are computed. They are written to the provenance.
    """
    done = scored(
        atlas,
        correction=settings.correction,
        resamples=settings.resamples,
        confidence=settings.confidence,
    )
    if "importance" in done.measures and "head_off" in done.measures:
        done = with_nodes(
            done, {"importance_agreement": agreement_dataset(done, settings.confidence)}
        )
    tree = done.tree.copy()
    provenance = done.provenance | {"scores": asdict(settings)}
    tree.attrs["provenance"] = json.dumps(provenance, sort_keys=True)
    return Atlas(tree)


def agreement_dataset(atlas: Atlas, confidence: float) -> xr.Dataset:
    """The rank agreement of gradient importance with what disabling each head does."""
    table = agreement(atlas, confidence=confidence)
    columns = {"mean": "Spearman", "low": "low", "high": "high", "n": "heads"}
    return xr.Dataset(
        {name: ("against", table[column].to_numpy()) for name, column in columns.items()},
        {"against": table["importance against"].to_numpy(object)},
        {
            "title": "Gradient importance and the effect of disabling heads",
            "unit": "Spearman's ρ over all heads",
            "source": "Michel et al. 2019, §4.1",
            "listed": "no",
            "kind": "correlation",
        },
    )
