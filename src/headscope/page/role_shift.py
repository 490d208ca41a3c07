"""The section about what fine-tuning does to roles."""

from __future__ import annotations

import pandas as pd

from headscope.figures import shift_dots
from headscope.page.document import Plot, Section, Table
from headscope.page.role_tables import shift_rows
from headscope.stats import COARSE
from headscope.stats.inference.correction import ALPHA, corrected_by
from headscope.stats.tables.role_tables import LEAST
from headscope.stats.tables.roles import CORRECTION


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
    corrected = corrected_by(shift.attrs.get("correction", CORRECTION))
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
    table = Table(shift_rows(shift), title="Shift of the mean score", id="shift-table")
    return Section("shift", "Shift by fine-tuning", text, [table], plots)
