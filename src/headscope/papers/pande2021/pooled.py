"""All corpora together: the scores and p-values of Figure 3 of Pande et al. 2021."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import xarray as xr

from headscope.figures import p_histogram, score_curves
from headscope.figures.style import subjects
from headscope.page import Plot
from headscope.page.roles import usual_tau
from headscope.papers.pande2021 import facts
from headscope.results import Atlas
from headscope.stats import pooled_mean, undecided


def pooled_text(results: Sequence[Atlas], tests: Sequence[xr.Dataset]) -> str:
    """Say what the scores of all corpora give, beside the paper's numbers.

    Parameters
    ----------
    results, tests
        Role scores and their tests, one for each corpus.
    """
    mean = pooled_mean(results)
    return (
        f"All corpora together, as in the paper. The mean of all scores is {mean:.2f} times "
        f"uniform attention (paper: about {facts.MEAN_SCORE}), so that τ from the data is "
        f"{floor(mean) + 1} (paper: {facts.TAU}); {100 * undecided(tests):.1f} % of the p-values "
        f"lie between 0.05 and 0.95 (paper: {100 * facts.UNDECIDED:.1f} %)."
    )


def pooled_plots(results: Sequence[Atlas], tests: Sequence[xr.Dataset]) -> list[Plot]:
    """Draw Figure 3.

    Parameters
    ----------
    results, tests
        Role scores and their tests, one for each corpus.
    """
    about = subjects([one.provenance for one in results])
    return [
        Plot(
            "role-cumulative",
            "All scores",
            "After Figure 3a: the cumulative distribution over heads, sequences and corpora.",
            score_curves(results, tau=usual_tau(tests[0])),
        ),
        Plot(
            "role-p",
            "p-values",
            "After Figure 3b: one p-value per head, role and corpus.",
            p_histogram(tests, subtitle=about),
        ),
    ]
