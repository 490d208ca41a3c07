"""The tables of results as people read them: what each column is called, its unit and its digits.

The functions of :mod:`headscope.stats` make tables with plain names and all digits, which JSON and
CSV keep. The terminal, the page, LaTeX and HTML show the columns that are described here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headscope.numbers import MISSING, interval, percent, share

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """One column.

    Parameters
    ----------
    title
        What it is called, with its unit.
    sources
        The columns of the table that it is made of.
    form
        Makes a cell of their values; by default the value stays as it is.
    screen
        Whether a terminal, which is narrow, shows it too.
    needs
        A column without which, or without any value in which, this one says nothing.
    """

    title: str
    sources: tuple[str, ...] = ()
    form: Callable[..., object] | None = None
    screen: bool = True
    needs: str = ""


def for_people(
    frame: pd.DataFrame, columns: Sequence[Column], *, screen: bool = False
) -> pd.DataFrame:
    """A table as people read it: these columns, as far as it has what they are made of.

    Parameters
    ----------
    frame
        With plain names and all digits.
    columns
        What is shown.
    screen
        Whether it is for a terminal.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"role": ["local"], "low": [0.1], "high": [0.25], "seed": [1]})
    >>> for_people(frame, [Column("role"), ends(share)]).to_dict("records")
    [{'role': 'local', '95 % interval': '[0.100, 0.250]'}]
    """
    shown: dict[str, Any] = {}
    for column in columns:
        sources = column.sources or (column.title,)
        absent = column.needs and not (column.needs in frame and frame[column.needs].notna().any())
        if absent or not set(sources) <= set(frame.columns) or (screen and not column.screen):
            continue
        values = [frame[name] for name in sources]
        if column.form is None:
            shown[column.title] = values[0]
        else:
            shown[column.title] = [column.form(*cells) for cells in zip(*values, strict=True)]
    return type(frame)(shown, index=frame.index)


def ends(form: Callable[[object], str] | None = None) -> Column:
    """Both ends of an interval in one cell."""
    return Column(
        "95 % interval", ("low", "high"), lambda low, high: interval(low, high, form=form)
    )


def _beside(value: float, what: object) -> str:
    if what == "":
        return MISSING
    offsets = re.sub(r"(?<![-+\d])\d+", r"+\g<0>", str(what))
    return f"{share(value)} ({offsets})"


def _direction(words: str) -> str:
    return words.replace("dependent to head", "→ head").replace("head to dependent", "→ dependent")


SUMMARY = (
    *(Column("measure"), Column("label"), Column("statistic"), Column("heads")),
    Column("mean of heads", ("mean",)),
    Column("strongest head", ("strongest",)),
    *(Column("its mean", ("value",)), Column("low"), Column("high")),
    *(Column("heads over 0.5", ("over",)), Column("n")),
)
NULLS = (
    *(Column("statistic"), Column("mean"), Column("mean of null", ("null_mean",))),
    *(Column("band from", ("low",)), Column("to", ("high",)), Column("above"), Column("below")),
    Column("share beyond", ("beyond",)),
)
EMERGENCE = (
    *(Column("head"), Column("role"), Column("checkpoint"), Column("step"), Column("value")),
    Column("one before", ("before",)),
    Column("at the end", ("last",)),
    Column("main role", ("main",), lambda main: "yes" if main else ""),
)
RELATIONS = (
    *(Column("relation"), Column("words"), Column("head")),
    Column("direction", ("direction",), _direction),
    *(Column("accuracy"), ends(share), Column("held out", ("held_out",))),
    Column("held-out head", ("held_out_head",), lambda head: _direction(head) or MISSING),
    Column("offset", ("baseline", "offset"), _beside),
    Column("offset, held out", ("held_out_baseline", "held_out_offset"), _beside),
    Column("p", screen=False),
    Column("p corrected", ("p_corrected",)),
)
ROLES = (
    *(Column("role"), Column("heads"), Column("share of heads (%)", ("share",), percent)),
    *(Column("sequences"), Column("mean length (tokens)", ("length",), screen=False)),
    Column("strongest head", ("strongest",), lambda head: head or None),
    *(Column("mean (times uniform)", ("mean",)), ends()),
    Column("times position alone", ("position",), needs="position"),
    Column("heads by position", ("by position",), needs="position"),
    *(Column("effect (d)", ("effect",)), Column("p"), Column("p corrected", ("p_corrected",))),
)
SHIFTS = (
    *(Column("corpus"), Column("role")),
    Column("third of the layers", ("third", "layers"), lambda third, layers: f"{third} ({layers})"),
    *(Column("before"), Column("after"), Column("shift"), ends()),
    Column("effect (deviations)", ("effect",)),
    Column("p of no shift, corrected", ("p_corrected",)),
    Column("p of a shift of no interest, corrected", ("p_least",)),
    *(Column("verdict", ("verdict",), lambda verdict: verdict or None), Column("sequences")),
)
REGIONS = (
    *(Column("roles"), Column("number of roles", ("degree",)), Column("heads")),
    Column("which heads", ("which",)),
)
CORRELATIONS = (
    *(Column("role"), Column("other role", ("other",))),
    *(Column("ρ over heads", ("rho (heads)",)), Column("p over heads", ("p (heads)",))),
    *(Column("heads", ("n (heads)",)), Column("ρ over sequences", ("rho (sequences)",))),
    Column("p over sequences", ("p (sequences)",)),
    Column("scores", ("n (sequences)",)),
)
OVERLAPS = (
    *(Column("role"), Column("other role", ("other",)), Column("heads with the role", ("heads",))),
    *(Column("with both", ("both",)), Column("share (%)", ("share",), percent)),
    Column("which heads", ("which",), lambda heads: heads or None),
)
