"""How every figure looks: colours for colour-blind readers, plain axes, words for its subject."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from headscope.figures.later import alt

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, RED, PURPLE, SKY, YELLOW, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#F0E442",
    "#000000",
)
COLOURS = [BLUE, ORANGE, GREEN, RED, PURPLE, SKY]
GREY = "#dddddd"
FONT = "Helvetica Neue, Helvetica, Arial, DejaVu Sans, sans-serif"

# A title is cut after so many pixels, so that a long model name does not widen the figure.
TITLE_WIDTH = 460
SPLITS = frozenset({"train", "dev", "test", "dev_matched"})
"""File names that many tasks share: they are shown with their folder."""
BUILTIN = "demo"
"""What results call the built-in corpus."""


def styled(chart: Any, title: str, *lines: str) -> Any:
    """Give a finished chart its title and the common look.

    Parameters
    ----------
    chart : altair chart
        Any chart, layered or concatenated.
    title : str
        The title.
    *lines : str
        Lines under the title; empty ones are dropped.

    Returns
    -------
    altair chart
        The chart with title and configuration. It draws itself in a notebook without a network.

    Examples
    --------
    >>> chart = styled(alt.Chart(pd.DataFrame({"x": [1]})).mark_point(), "Points", "one", "")
    >>> chart.title.text, chart.title.subtitle
    ('Points', ['one'])
    """
    text = alt.TitleParams(
        title,
        subtitle=[line for line in lines if line],
        anchor="start",
        offset=8,
        limit=TITLE_WIDTH,
        fontSize=14,
        subtitleFontSize=11,
        subtitleColor="#555",
    )
    from headscope.figures.offline import offline

    # One copy: each properties() or configure() would copy the chart, all its parts included.
    chart = chart.copy(deep=False)
    chart.title = text
    chart.config = alt.Config(
        font=FONT,
        view=alt.ViewConfig(stroke="#ddd"),
        axis=alt.AxisConfig(
            labelFontSize=11, titleFontSize=12, titleFontWeight="normal", gridColor="#eee"
        ),
        legend=alt.LegendConfig(labelFontSize=11, titleFontSize=11, titleFontWeight="normal"),
    )
    return offline(chart)


def either_colour(test: str, then: str, otherwise: str) -> Any:
    """Choose one of two colours for each row of the data.

    It draws what ``alt.condition`` draws, at a fraction of its cost: that makes a dictionary, which
    Altair compares with its whole schema.

    Parameters
    ----------
    test : str
        A Vega expression on ``datum``.
    then, otherwise : str
        The colours where it is true and where it is not.

    Returns
    -------
    altair.ColorValue
        The value of the channel ``color``.

    Examples
    --------
    >>> either_colour("datum.x > 1", "white", "black").to_dict()
    {'condition': {'test': 'datum.x > 1', 'value': 'white'}, 'value': 'black'}
    """
    return alt.ColorValue(otherwise, condition={"test": test, "value": then})


def note(text: str, title: str, *lines: str) -> Any:
    """Draw a figure that says why there is nothing to draw.

    Examples
    --------
    >>> note("no role could be tested", "Roles").title.text
    'Roles'
    """
    words = (
        alt.Chart(pd.DataFrame({"what": [text]}), width=440, height=80)
        .mark_text(color="#555", limit=430)
        .encode(text="what:N")
    )
    return styled(words, title, *lines)


def legend_title(text: str, width: int = 16) -> list[str]:
    """Break a legend's title into short lines.

    Examples
    --------
    >>> legend_title("share of attention, 0–1")
    ['share of', 'attention, 0–1']
    """
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def legend_ticks(low: float, high: float) -> dict[str, Any]:
    """Choose round numbers for the legend of a colour scale.

    Left to itself, Vega writes the ends of a short legend rounded to the step: 4.6 becomes 5.

    Parameters
    ----------
    low, high : float
        The ends of the colour scale.

    Returns
    -------
    dict
        ``values`` and ``format``, for ``alt.Legend``.

    Examples
    --------
    >>> legend_ticks(0.01, 4.55)
    {'values': [2.0, 4.0], 'format': '.0f'}
    >>> legend_ticks(-0.06, 0.06)
    {'values': [-0.05, 0.0, 0.05], 'format': '.2f'}
    """
    if not high > low:
        return {"values": [low], "format": ".3~g"}
    half = (high - low) / 2
    power = math.floor(math.log10(half))
    step = max(size for size in (1, 2, 5) if size * 10.0**power <= half * (1 + 1e-9)) * 10.0**power
    digits = max(0, -power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [round(number * step, digits) + 0.0 for number in range(first, last + 1)]
    return {"values": values, "format": f".{digits}f"}


def subject(provenance: Mapping[str, Any]) -> str:
    """Say which model and corpus a figure is about, and how many examples were used.

    Parameters
    ----------
    provenance : mapping
        The provenance of the results.

    Returns
    -------
    str
        One line, to be put under a title.

    Examples
    --------
    >>> subject({"model": {"name": "bert"}, "corpus": {"name": "en.txt"}, "counts": {"seen": 6}})
    'bert on en.txt, 6 examples'
    >>> subject({"model": {"name": "bert"}})
    'bert, from its weights'
    """
    model = short_model(provenance["model"]["name"])
    if "corpus" not in provenance:
        return f"{model}, from its weights"
    about = f"{model} on {short_corpus(provenance['corpus']['name'])}"
    if "counts" not in provenance:  # long texts made of it, for example
        return about
    seen = provenance["counts"]["seen"]
    return f"{about}, {seen} example{'' if seen == 1 else 's'}"


def subjects(provenances: Sequence[Mapping[str, Any]]) -> str:
    """Say which model and corpora a figure is about, and how many examples were used in all.

    Parameters
    ----------
    provenances : sequence of mapping
        The provenances of results of one model, or of its fine-tuned versions.

    Returns
    -------
    str
        One line, to be put under a title.

    Examples
    --------
    >>> one = {"model": {"name": "bert"}, "corpus": {"name": "a.txt"}, "counts": {"seen": 6}}
    >>> subjects([one]), subjects([one, one | {"corpus": {"name": "b.txt"}}])
    ('bert on a.txt, 6 examples', 'bert on 2 corpora, 12 examples')
    """
    if len(provenances) == 1:
        return subject(provenances[0])
    models = {short_model(about["model"]["name"]) for about in provenances}
    seen = sum(about["counts"]["seen"] for about in provenances)
    who = models.pop() if len(models) == 1 else f"{len(models)} models"
    return f"{who} on {len(provenances)} corpora, {seen:,} examples"


def short_model(name: str) -> str:
    """Shorten a model's name: a folder to its last part; hub names stay whole.

    Examples
    --------
    >>> short_model("google/bert"), short_model("/home/me/models/bert/")
    ('google/bert', 'bert')
    """
    name = name.rstrip("/")
    return name if name.count("/") < 2 else name.rsplit("/", 1)[-1]


def short_corpus(name: str) -> str:
    """Name a corpus: by its file or, where every task has such a file (dev.tsv), by its folder.

    Examples
    --------
    >>> short_corpus("data/ewt.conllu.gz"), short_corpus("glue/MRPC/dev.tsv.gz")
    ('ewt.conllu.gz', 'MRPC (dev)')
    >>> short_corpus("demo")
    'the built-in corpus'
    """
    if name == BUILTIN:
        return "the built-in corpus"
    *folders, file = name.split("/")
    split = file.split(".")[0]
    return f"{folders[-1]} ({split})" if split in SPLITS and folders else file


# --- Labelled arrays as frames, ready to draw -----------------------------------------------------

SHARES = (0.0, 1.0)
"""The ends of a scale of shares."""


def tidy(values: xr.DataArray | xr.Dataset) -> pd.DataFrame:
    """Turn an array by layer and head into a data frame with one row per head.

    Parameters
    ----------
    values : DataArray or Dataset
        With dims layer and head (counted from 1), and others if need be. An array becomes the
        column ``value``.

    Returns
    -------
    DataFrame
        The dims, the values, and ``name``: the head as people write it.

    Examples
    --------
    >>> grid = xr.DataArray([[0.5, 0.25]], {"layer": [1], "head": [1, 2]}, ("layer", "head"))
    >>> tidy(grid)[["name", "value"]].values.tolist()
    [['1-1', 0.5], ['1-2', 0.25]]
    """
    plain = values.reset_coords(drop=True)
    whole = plain.to_dataframe(name="value") if isinstance(plain, xr.DataArray) else None
    frame = (plain.to_dataframe() if whole is None else whole).reset_index()
    return frame.assign(name=frame["layer"].astype(str) + "-" + frame["head"].astype(str))


def is_share(unit: str) -> bool:
    """Tell whether values with this unit are shares, between 0 and 1.

    Examples
    --------
    >>> is_share("share of attention"), is_share("change in share of attention"), is_share("nats")
    (True, False, False)
    """
    return unit.startswith("share")


def unit_text(unit: str) -> str:
    """Write a unit for an axis; shares with their range.

    Examples
    --------
    >>> unit_text("share of attention"), unit_text("nats")
    ('share of attention, 0–1', 'nats')
    """
    return f"{unit}, 0–1" if is_share(unit) else unit


def interval(data: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Return a dataset's interval, kept between 0 and 1 where its unit is a share.

    Examples
    --------
    >>> data = xr.Dataset({"low": ((), -0.1), "high": ((), 0.3)}, attrs={"unit": "share of words"})
    >>> [float(bound) for bound in interval(data)]
    [0.0, 0.3]
    """
    low, high = data["low"], data["high"]
    if is_share(str(data.attrs.get("unit", ""))):
        return low.clip(*SHARES), high.clip(*SHARES)
    return low, high
