"""The page about roles: who has which, how sure that is, overlaps, layers, and the shift between two results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from headscope.figures import (
    correlation_map,
    p_histogram,
    role_layers,
    role_maps,
    score_curves,
    score_histogram,
    shift_dots,
    skill_grid,
    upset,
    venn,
)
from headscope.figures.roles.scores import telling_head
from headscope.figures.style import subject
from headscope.page.document import Document, Plot, Row, Section, Table, records
from headscope.results import KEPT, Atlas
from headscope.stats import (
    COARSE,
    FINE,
    cautions,
    grand_mean,
    layer_shares,
    overlap_shares,
    present,
    regions,
    role_correlations,
    role_sets,
    role_table,
    tau_table,
    undecided,
)


def roles_document(
    results: Atlas,
    tests: xr.Dataset,
    *,
    shift: pd.DataFrame | None = None,
    how: Mapping[str, Any] | None = None,
) -> Document:
    """The page of one results file, with the shift from another if there is one."""
    about = results.provenance
    sections = role_sections(results, tests, how=how)
    if shift is not None:
        sections.append(shift_section(shift))
    taus = sorted({float(value) for value in tests["tau"].values})
    return Document(
        title=f"Roles of heads: {about['model']['name']}",
        subtitle=f"on {about['corpus']['name']}: the sieve bias of every head (Pande et al. 2021), tested",
        facts=[
            (f"{about['model']['layers']} × {about['model']['heads']}", "layers × heads"),
            (str(about["counts"]["seen"]), "sequences"),
            (" / ".join(f"{tau:g}" for tau in taus), "tau"),
            (f"{tests.attrs['test']}, {tests.attrs['correction']}", "test, correction"),
        ],
        remarks=cautions(results, tests),
        sections=sections,
        provenance=json.dumps(about, indent=2, ensure_ascii=False),
    )


def role_sections(
    results: Atlas,
    tests: xr.Dataset,
    *,
    how: Mapping[str, Any] | None = None,
    shares: Sequence[Row] | None = None,
) -> list[Section]:
    """Test, overlap and skills: the sections that stand on one results file. ``shares`` replaces the table of shares (by one with published numbers)."""
    return [
        _test_section(results, tests, how or {}),
        _overlap_section(results, tests, shares),
        _layer_section(results, tests),
    ]


def _test_section(results: Atlas, tests: xr.Dataset, how: Mapping[str, Any]) -> Section:
    note = f"One-tailed {tests.attrs['test']} test of the mean over sequences, level {tests.attrs['alpha']:g}, correction {tests.attrs['correction']}. Mean: times uniform attention; effect: Cohen's d against tau. Layers and heads count from 1."
    tables = [
        Table(records(role_table(results, tests)), note=note, id="role-table"),
        Table(
            records(tau_table(results, **how)),
            title="How many heads get each role, by tau",
            note="The same test and correction with tau from 1 to 5.",
            id="tau-table",
        ),
    ]
    plots = [
        Plot(
            "role-heat",
            "Sieve bias, head by head",
            "Outlined: the head has the role.",
            role_maps(tests, subtitle=subject(results.provenance)),
        )
    ]
    tau = usual_tau(tests)
    chosen = telling_head(results, tau=tau) if KEPT in results["role"] else None
    if chosen:
        told = "As Figure 2: of all heads with a mean over tau for one of the four roles, the one whose scores are the most skewed."
        plots += [
            Plot(
                "role-scores",
                "Scores of one head over sequences",
                told,
                score_histogram(results, *chosen, tau=tau),
            ),
            Plot(
                "role-cumulative",
                "All scores",
                "As Figure 3a: cumulative distribution over heads and sequences.",
                score_curves(results, tau=tau),
            ),
        ]
    plots.append(
        Plot(
            "role-p",
            "p-values",
            "As Figure 3b: one for each head and role.",
            p_histogram(tests, subtitle=subject(results.provenance)),
        )
    )
    text = f"The mean of all scores of the paper's four roles is {grand_mean(results):.2f}; {100 * undecided(tests):.1f} % of the p-values lie between 0.05 and 0.95."
    return Section("roles", "Which heads have which role", text, tables, plots)


def _overlap_section(results: Atlas, tests: xr.Dataset, shares: Sequence[Row] | None) -> Section:
    sets, about = role_sets(tests), subject(results.provenance)
    correlations = role_correlations(results, list(sets))
    tables = [
        Table(
            shares
            or [
                {"of the paper's four roles": name, "share": value}
                for name, value in overlap_shares(tests).items()
            ],
            id="share-table",
        ),
        Table(
            records(regions(sets)), title="Heads by exact combination of roles", id="region-table"
        ),
        Table(
            records(correlations),
            title="Spearman's correlation of scores",
            note="Over heads (means), and over heads and sequences.",
            id="correlation-table",
        ),
    ]
    plots = [
        Plot("role-venn", "Heads by role", "As Figure 4.", venn(tests, subtitle=about)),
        Plot(
            "role-upset",
            "Combinations of roles",
            "Bars: heads with exactly this combination.",
            upset(tests, subtitle=about),
        ),
        Plot(
            "role-correlations",
            "Correlation of roles",
            "Spearman's, over heads.",
            correlation_map(
                role_correlations(results, present(tests, (*COARSE, *FINE))), subtitle=about
            ),
        ),
    ]
    return Section(
        "overlap",
        "Roles overlap",
        "A head may have several roles. The Venn diagram is not drawn to scale; the UpSet plot beside it is.",
        tables,
        plots,
    )


def _layer_section(results: Atlas, tests: xr.Dataset) -> Section:
    about = subject(results.provenance)
    plots = [
        Plot(
            "role-skills", "Multi-skilled heads", "As Figure 5.", skill_grid(tests, subtitle=about)
        ),
        Plot(
            "role-layers",
            "Roles by layer",
            "Share of the layer's heads that have the role.",
            role_layers(tests, subtitle=about),
        ),
    ]
    text = "Nine fine roles a head, always at the same place of its square; heads of a layer are sorted by how many they have."
    return Section(
        "skills",
        "Skills by layer",
        text,
        [
            Table(
                records(layer_shares(tests)), title="Share of each layer's heads", id="layer-table"
            )
        ],
        plots,
    )


def usual_tau(tests: xr.Dataset) -> float:
    """The threshold that most roles have."""
    taus = [float(value) for value in tests["tau"].values]
    return max(taus, key=taus.count)


def shift_section(shift: pd.DataFrame) -> Section:
    """Figure 6 with its numbers."""
    text = "Mean score after minus before, over the heads of the first, middle and last third of the layers; paired by sequence, 95 % intervals over sequences, p of no change by a paired t test, corrected (Holm) over the rows."
    return Section(
        "shift",
        "Shift by fine-tuning",
        text,
        [Table(records(shift), id="shift-table")],
        [Plot("role-shift", "Shift of roles", "As Figure 6.", shift_dots(shift))],
    )
