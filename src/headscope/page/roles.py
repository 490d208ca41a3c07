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
    shift_dots,
    skill_grid,
    upset,
    venn,
)
from headscope.figures.roles import telling_head
from headscope.figures.style import subject
from headscope.numbers import count, number
from headscope.page.document import Document, Plot, Row, Section, Table, records
from headscope.results import KEPT, Atlas
from headscope.results.columns import (
    CORRELATIONS,
    LAYERS,
    OVERLAPS,
    REGIONS,
    ROLES,
    SHARES,
    SHIFTS,
    TAUS,
    for_people,
)
from headscope.stats import (
    COARSE,
    FINE,
    cautions,
    fine_overlaps,
    grand_mean,
    layer_shares,
    present,
    regions,
    role_correlations,
    role_sets,
    role_table,
    share_table,
    tau_table,
    undecided,
)
from headscope.stats.inference.correction import ALPHA, corrected_by
from headscope.stats.tables.role_tables import LEAST
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
        title=about["model"]["name"],
        subtitle=(
            f"Roles of heads on {about['corpus']['name']}: "
            "the sieve bias of every head (Pande et al. 2021), tested"
        ),
        label="Roles",
        atlases=[results],
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
    how = {name: about[name] for name in ("test", "correction", "alpha", "seed")}
    taus = tau_table(
        results, resamples=about["resamples"] or None, clusters=bool(about["clustered"]), **how
    )
    tables = [
        Table(role_rows(results, tests), note=note, id="role-table"),
        Table(
            records(for_people(taus, TAUS)),
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
    plots.append(Plot("role-p", "p-values", caption, p_histogram(tests, subtitle=about)))
    return plots


def _overlap_section(results: Atlas, tests: xr.Dataset, shares: Sequence[Row] | None) -> Section:
    """Return the section on heads with several roles."""
    sets, about = role_sets(tests), subject(results.provenance)
    tables = [
        Table(shares or records(for_people(share_table(tests), SHARES)), id="share-table"),
        Table(
            records(for_people(regions(sets), REGIONS)),
            title="Heads by exact combination of roles",
            id="region-table",
        ),
        Table(
            records(for_people(role_correlations(results, list(sets)), CORRELATIONS)),
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
            Table(
                records(for_people(fine, OVERLAPS)),
                title="Fine roles as sets",
                note=note,
                id="fine-table",
            )
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
    table = Table(
        records(for_people(layer_shares(tests), LAYERS)),
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


# --- Rows of tables -------------------------------------------------------------------------------


def role_rows(results: Atlas, tests: xr.Dataset) -> list[Row]:
    """Return one row per role: how many heads have it, and the strongest head.

    Parameters
    ----------
    results : Atlas
        Results of the measure ``role``.
    tests : Dataset
        From :func:`headscope.stats.role_tests`.

    Returns
    -------
    list of dict
        Without a correction there is no column of corrected p-values. What dependency roles have
        beyond positions is shown where it was measured.
    """
    table = role_table(results, tests)
    if tests.attrs["correction"] == "none":
        table = table.drop(columns="p_corrected")
    return records(for_people(table, ROLES))


# --- What fine-tuning does to roles ---------------------------------------------------------------


def shift_section(shift: pd.DataFrame) -> Section:
    """Return the section on what fine-tuning does to roles.

    Parameters
    ----------
    shift : DataFrame
        From :func:`headscope.stats.role_shift`.

    Returns
    -------
    Section
    """
    alpha = shift.attrs.get("alpha", ALPHA)
    corrected = corrected_by(shift.attrs.get("correction", "holm"))
    text = (
        "The mean score after minus before, over the heads of the first, middle and last third of "
        "the layers. Scores are paired by sequence; the 95 % intervals are over sequences, or "
        "over documents where the corpus names them. The effect is the shift in deviations of the "
        "scores before. With many sequences even a tiny shift is certain, so the verdict is about "
        f"shifts of more than {shift.attrs.get('least', LEAST):g}, a limit of ours: higher or "
        f"lower (p < {alpha:g}, paired t test, {corrected} over all rows of a corpus), same (the "
        f"{100 - 200 * alpha:g} % interval lies within ± that limit), or unclear."
    )
    four = shift["role"].isin(COARSE)
    plots = [
        Plot(name, title, caption, shift_dots(part, alpha=alpha))
        for name, title, caption, part in (
            ("role-shift", "Shift of the four roles", "After Figure 6.", shift[four]),
            ("role-shift-others", "Shift of all other roles", "Beyond the paper.", shift[~four]),
        )
        if len(part)
    ]
    table = Table(
        records(for_people(shift, SHIFTS)), title="Shift of the mean score", id="shift-table"
    )
    return Section("shift", "Shift by fine-tuning", text, [table], plots)
