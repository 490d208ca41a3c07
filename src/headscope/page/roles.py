"""The page about roles: which heads have which, how sure that is, overlaps, layers, and shifts."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd
import xarray as xr

from headscope.figures import (
    correlation_map,
    p_histogram,
    role_layers,
    role_maps,
    score_curves,
    score_histogram,
    skill_grid,
    upset,
    venn,
)
from headscope.figures.roles.scores import telling_head
from headscope.figures.style import subject
from headscope.numbers import count, number, percent
from headscope.page.document import Document, Plot, Row, Section, Table, records
from headscope.page.role_shift import shift_section
from headscope.page.role_tables import (
    CORRELATIONS,
    REGIONS,
    fine_rows,
    role_rows,
)
from headscope.results import KEPT, Atlas
from headscope.stats import (
    COARSE,
    FINE,
    cautions,
    fine_overlaps,
    grand_mean,
    layer_shares,
    overlap_shares,
    present,
    regions,
    role_correlations,
    role_sets,
    tau_table,
    undecided,
)
from headscope.stats.inference.correction import corrected_by
from headscope.stats.tables.roles import as_in_paper, exploratory_note

FINE_SETS = ("nsubj", "next-local", "previous-local", "dobj")
"""The sets of the second Venn diagram: neighbours there are those that the paper compares."""


def roles_document(
    results: Atlas, tests: xr.Dataset, *, shift: pd.DataFrame | None = None
) -> Document:
    """Return the page about the roles of one model.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role``.
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    shift : DataFrame, optional
        The shift from other results, from :func:`headscope.stats.role_shift`.

    Returns
    -------
    Document
    """
    about = results.provenance
    sections = role_sections(results, tests)
    if shift is not None:
        sections.append(shift_section(shift))
    taus = sorted({float(value) for value in tests["tau"].values})
    return Document(
        title=f"Roles of heads: {about['model']['name']}",
        subtitle=(
            f"on {about['corpus']['name']}: "
            "the sieve bias of every head (Pande et al. 2021), tested"
        ),
        facts=[
            (f"{about['model']['layers']} × {about['model']['heads']}", "layers × heads"),
            (count(about["counts"]["seen"]), "sequences"),
            (" / ".join(f"{tau:g}" for tau in taus), "τ, the threshold"),
            (f"{tests.attrs['test']}, {tests.attrs['correction']}", "test, correction"),
        ],
        remarks=cautions(results, tests),
        sections=sections,
        provenance=json.dumps(about, indent=2, ensure_ascii=False),
    )


def role_sections(
    results: Atlas, tests: xr.Dataset, *, shares: Sequence[Row] | None = None
) -> list[Section]:
    """Return the sections that one results file is enough for: tests, overlap and layers.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role``.
    tests : Dataset
        From :func:`headscope.stats.role_tests`.
    shares : sequence of dict, optional
        A table to show instead of that of shares, e.g. one with published numbers.

    Returns
    -------
    list of Section
    """
    return [
        _test_section(results, tests),
        _overlap_section(results, tests, shares),
        _layer_section(results, tests),
    ]


def _test_section(results: Atlas, tests: xr.Dataset) -> Section:
    """Return the section on which heads have which role."""
    about = tests.attrs
    over = "documents" if about["clustered"] else "sequences"
    drawn = f" ({count(about['resamples'])} resamples)" if about["resamples"] else ""
    corrected = corrected_by(about["correction"], paper=as_in_paper(tests))
    note = (
        f"One-tailed {about['test']} test{drawn} of the mean over {over}, level "
        f"{about['alpha']:g}, {corrected}. The mean is a multiple of "
        "uniform attention, and grows with the length of the sequences; the effect is Cohen's d "
        f"against τ. Layers and heads count from 1.{exploratory_note(tests)}"
    )
    taus = tau_table(
        results,
        test=about["test"],
        correction=about["correction"],
        alpha=about["alpha"],
        resamples=about["resamples"] or None,
        clusters=bool(about["clustered"]),
        seed=about["seed"],
    )
    tables = [
        Table(role_rows(results, tests), note=note, id="role-table"),
        Table(
            records(taus.rename(columns=lambda name: name.replace("tau ", "τ = "))),
            title="Number of heads with each role, by τ",
            note="The same test and correction with τ from 1 to 5.",
            id="tau-table",
        ),
    ]
    text = (
        "The mean of all scores of the paper's four roles is "
        f"{number(grand_mean(results))} times uniform attention; "
        f"{100 * undecided(tests):.1f} % of the p-values lie between 0.05 and 0.95."
    )
    return Section(
        "roles", "Which heads have which role", text, tables, _test_plots(results, tests)
    )


def _test_plots(results: Atlas, tests: xr.Dataset) -> list[Plot]:
    """Return the figures of scores and tests; those of single scores only if these were kept."""
    about = subject(results.provenance)
    maps = role_maps(tests, subtitle=about)
    plots = [
        Plot("role-heat", "Sieve bias, head by head", "Outlined: the head has the role.", maps)
    ]
    tau = usual_tau(tests)
    chosen = telling_head(results, tests) if KEPT in results["role"] else None
    if chosen:
        caption = (
            "After Figure 2 of Pande et al. 2021. Of the heads with a mean above τ for one of the "
            "four roles, this one is the most skewed: of those that do not pass the test, like "
            "the paper's, or of all if all pass."
        )
        scores = score_histogram(results, *chosen, tests=tests)
        plots.append(Plot("role-scores", "Scores of one head over sequences", caption, scores))
        caption = "After Figure 3a: the cumulative distribution over heads and sequences."
        curves = score_curves(results, tau=tau)
        plots.append(Plot("role-cumulative", "All scores", caption, curves))
    caption = "After Figure 3b: one p-value per head and role."
    histogram = p_histogram(tests, subtitle=about)
    plots.append(Plot("role-p", "p-values", caption, histogram))
    return plots


def _overlap_section(results: Atlas, tests: xr.Dataset, shares: Sequence[Row] | None) -> Section:
    """Return the section on heads with several roles."""
    sets, about = role_sets(tests), subject(results.provenance)
    own = [
        {"of the paper's four roles": name, "share (%)": percent(value)}
        for name, value in overlap_shares(tests).items()
    ]
    tables = [
        Table(shares or own, id="share-table"),
        Table(
            records(regions(sets).rename(columns=REGIONS)),
            title="Heads by exact combination of roles",
            id="region-table",
        ),
        Table(
            records(role_correlations(results, list(sets)).rename(columns=CORRELATIONS)),
            title="Spearman's correlation of scores",
            note=(
                "Over heads: of their mean scores. Over sequences: of all scores of all heads; "
                "scores of one head or one sequence are not independent, so its p is too small."
            ),
            id="correlation-table",
        ),
    ]
    if len(fine := fine_overlaps(tests)):
        note = (
            "The paper says that nsubj heads have a high overlap with next-local heads, and dobj "
            "heads with previous-local heads."
        )
        tables.append(
            Table(fine_rows(fine), title="Fine roles as sets", note=note, id="fine-table")
        )
    roles = present(tests, tuple(dict.fromkeys((*COARSE, *FINE))))
    correlations = correlation_map(role_correlations(results, roles), subtitle=about)
    alike = "Spearman's correlation of mean scores, over heads."
    bars = "Each bar counts the heads with exactly this combination."
    plots = [
        Plot("role-venn", "Heads by role", "After Figure 4.", venn(tests, subtitle=about)),
        *_fine_venn(tests, about),
        Plot("role-upset", "Combinations of roles", bars, upset(tests, subtitle=about)),
        Plot("role-correlations", "Correlation of roles", alike, correlations),
    ]
    text = (
        "A head may have several roles. The Venn diagram is not drawn to scale; the bars of the "
        "UpSet plot are."
    )
    return Section("overlap", "Roles overlap", text, tables, plots)


def _fine_venn(tests: xr.Dataset, about: str) -> list[Plot]:
    """Return the diagram of the fine roles that the paper names together, if all were tested."""
    if present(tests, FINE_SETS) != list(FINE_SETS):
        return []
    caption = "The fine roles of which the paper says that they overlap."
    chart = venn(tests, roles=FINE_SETS, subtitle=about)
    return [Plot("role-venn-fine", "Subjects, objects and neighbours", caption, chart)]


def _layer_section(results: Atlas, tests: xr.Dataset) -> Section:
    """Return the section on the roles of each layer."""
    about = subject(results.provenance)
    skills = skill_grid(tests, subtitle=about)
    layers = role_layers(tests, subtitle=about)
    caption = "The share of each layer's heads that have the role, in percent."
    text = (
        "Each head is a square with nine parts, one for each fine role. The heads of a layer are "
        "sorted by how many roles they have."
    )
    shares = layer_shares(tests)
    roles = [str(name) for name in shares if name in tests["role"].values]
    table = Table(
        records(shares.assign(**{name: shares[name].map(percent) for name in roles})),
        title="Share of each layer's heads (%), and fine roles per head",
        id="layer-table",
    )
    plots = [
        Plot("role-skills", "Heads with several skills", "After Figure 5.", skills),
        Plot("role-layers", "Roles by layer", caption, layers),
    ]
    return Section("skills", "Skills by layer", text, [table], plots)


def usual_tau(tests: xr.Dataset) -> float:
    """Return the threshold that most roles have.

    Examples
    --------
    >>> usual_tau(xr.Dataset({"tau": ("role", [3.0, 1.5, 3.0])}))
    3.0
    """
    taus = [float(value) for value in tests["tau"].values]
    return max(taus, key=taus.count)
