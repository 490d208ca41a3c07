"""Tables for LaTeX documents."""

from __future__ import annotations

import pandas as pd


def to_latex(frame: pd.DataFrame, *, caption: str = "", label: str = "") -> str:
    """A data frame as a booktabs table."""
    return str(
        frame.to_latex(index=False, escape=True, caption=caption or None, label=label or None)
    )
