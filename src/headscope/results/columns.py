"""The one specification of every table that people read: titles with units, and digits.

The functions of :mod:`headscope.stats` make tables with plain names and all digits, which JSON and
CSV keep. The terminal, pages, LaTeX and HTML show the columns that are described here; the tables
of a paper have theirs beside its published numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from headscope.labels import fill
from headscope.numbers import (
    MISSING,
    cell,
    count,
    decimals,
    interval,
    number,
    p_value,
    percent,
    share,
)
from headscope.results.merge import NULL_WORDS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Column:
    """One column. A title alone may stand for it, where the table calls it so, too.

    Parameters
    ----------
    title
        What it is called, with its unit. A name in braces is filled in from the table's attributes
        or its first row; a ``*`` by what it stands for among the sources.
    sources
        The columns of the table that it is made of; by default the one of its title. One that ends
        in ``?`` may be absent and is then None. One with a ``*`` makes a column of every such one
        that no other column is made of.
    form
        Makes a cell of their values; by default the value stays as it is.
    screen
        Whether a terminal, which is narrow, shows it too.
    needs
        A column without which, or without any value in which, this one says nothing.
    paper
        Whether the table of a paper, which is narrow, too, shows it.
    rivals
        Which of its cells a paper sets in bold if it is the largest: of the column (of the rows
        that have an interval), or of those of the row that compete.
    of
        Of an interval: the title of the column that it belongs to. Default: the one before.
    """

    title: str
    sources: tuple[str, ...] = ()
    form: Callable[..., object] | None = None
    screen: bool = True
    needs: str = ""
    paper: bool = True
    rivals: Literal["", "row", "column"] = ""
    of: str = ""


Columns = Sequence[Column | str]


def for_people(frame: pd.DataFrame, columns: Columns, *, screen: bool = False) -> pd.DataFrame:
    """A table as people read it: these columns, as far as it has what they are made of.

    Parameters
    ----------
    frame
        With plain names and all digits.
    columns
        What is shown; nothing leaves the table as it is.
    screen
        Whether it is for a terminal.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"role": ["local"], "low": [0.1], "high": [0.25], "p over x": [0.5]})
    >>> for_people(frame, ["role", ends(share), "p over *"]).to_dict("records")
    [{'role': 'local', '95 % interval': '[0.100, 0.250]', 'p over x': 0.5}]
    """
    if not columns:
        return frame
    chosen = [pair for pair in _with_titles(frame, columns) if pair[1].screen or not screen]
    return type(frame)(
        {title: _cells(frame, column) for title, column in chosen}, index=frame.index
    )


class Best(str):
    """A cell that beats its rivals, in a table for a paper."""


def for_paper(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """A table as a paper prints it: few columns, intervals as ±, the best cells marked.

    An interval that is not symmetric, to the digits shown, has both its sides.

    Examples
    --------
    >>> import pandas as pd
    >>> row = {"accuracy": 0.9, "low": 0.85, "high": 0.95, "p": 0.01}
    >>> frame = pd.DataFrame([row, row | {"accuracy": 0.5, "low": 0.2, "high": 0.6}])
    >>> wanted = [Column("accuracy", rivals="column"), ends(share), Column("p", paper=False)]
    >>> for_paper(frame, wanted)["accuracy"].tolist()
    ['0.900 ± 0.050', '0.500 (+0.100, −0.300)']
    >>> isinstance(for_paper(frame, wanted)["accuracy"][0], Best)
    True
    """
    table: dict[str, list[Any]] = {}
    titled = _with_titles(frame, columns or list(map(str, frame)))
    chosen = [(title, column) for title, column in titled if column.paper]
    for title, column in chosen:
        if title == INTERVAL and table:
            of = column.of if column.of in table else list(table)[-1]
            sources = (_number_of(frame, dict(chosen)[of]), *column.sources)
            values = zip(table[of], *(frame[name] for name in sources), strict=True)
            table[of] = [_with_error(*row) for row in values]
        else:
            table[title] = [cell(value, title) for value in _cells(frame, column)]
    for title, row in _winners(frame, chosen):
        table[title][row] = Best(table[title][row])
    return type(frame)(table, index=frame.index, dtype=object)  # as text it would lose Best


def _with_error(text: str, value: float, low: float, high: float) -> str:
    """A value with its interval, to as many decimals as it has itself."""
    places = len(text.partition(".")[2])
    if text == MISSING or not math.isfinite(low + high):
        return text
    up, down = (decimals(side, places) for side in (high - value, value - low))
    return f"{text} ± {up}" if up == down else f"{text} (+{up}, −{down})"


def _winners(
    frame: pd.DataFrame, columns: Sequence[tuple[str, Column]]
) -> Iterator[tuple[str, int]]:
    """The title and the row of each cell that beats its rivals; none where all are equal."""
    rivals = {title: frame[_number_of(frame, own)] for title, own in columns if own.rivals == "row"}
    for row in range(len(frame)):
        values = {title: float(column.iloc[row]) for title, column in rivals.items()}
        yield from ((title, row) for title in _largest(values))
    for title, own in columns:
        if own.rivals == "column":
            numbers = frame[_number_of(frame, own)]
            numbers = numbers.where(frame["low" if "low" in frame else numbers.name].notna())
            yield from ((title, row) for row in _largest(dict(enumerate(numbers))))


def _number_of(frame: pd.DataFrame, column: Column) -> str:
    """That of its sources which holds its numbers."""
    return next(name for name in column.sources if frame[name].dtype.kind in "fiu")


def _largest(values: Mapping[Any, float]) -> list[Any]:
    known = {key: value for key, value in values.items() if not math.isnan(value)}
    most = max(known.values(), default=0.0)
    best = [key for key, value in known.items() if value == most]
    return best if len(best) < len(known) else []


def _with_titles(frame: pd.DataFrame, columns: Columns) -> Iterator[tuple[str, Column]]:
    """The columns for which the table has what they are made of, with their titles."""
    facts: dict[Any, Any] = {**(frame.iloc[0] if len(frame) else {}), **frame.attrs}
    for column in _spelled_out(frame, columns):
        needed = {source for source in column.sources if not source.endswith("?")}
        absent = column.needs and not (column.needs in frame and frame[column.needs].notna().any())
        if not absent and needed <= set(frame.columns):
            yield fill(column.title, facts), column


def _cells(frame: pd.DataFrame, column: Column) -> Any:
    """The values of a column, formatted."""
    sources = [source.rstrip("?") for source in column.sources]
    if column.form is None:
        return frame[sources[0]]
    values = [frame[name] if name in frame else [None] * len(frame) for name in sources]
    return [column.form(*row) for row in zip(*values, strict=True)]


def _spelled_out(frame: pd.DataFrame, columns: Columns) -> Iterator[Column]:
    """The columns with their sources, those with a ``*`` once for each that they stand for."""
    whole = [Column(column) if isinstance(column, str) else column for column in columns]
    whole = [replace(column, sources=column.sources or (column.title,)) for column in whole]
    sources = {source.rstrip("?") for column in whole for source in column.sources}
    patterns = sorted((source for source in sources if "*" in source), key=len, reverse=True)
    matches = {  # the longest pattern is the most specific one
        name: next((pattern for pattern in patterns if fnmatchcase(name, pattern)), "")
        for name in map(str, frame.columns)
        if name not in sources
    }
    for column in whole:
        pattern = next((source for source in column.sources if "*" in source), None)
        if pattern is None:
            yield column
            continue
        start, end = map(len, pattern.split("*"))
        for name in (name for name, match in matches.items() if match == pattern):
            title = column.title.replace("*", name[start : len(name) - end])
            made_of = (name if source == pattern else source for source in column.sources)
            yield replace(column, title=title, sources=tuple(made_of))


INTERVAL = "95 % interval"


def ends(form: Callable[[object], str] | None = None, of: str = "") -> Column:
    """Both ends of an interval in one cell; in a paper they follow the value that they are of."""
    return Column(INTERVAL, ("low", "high"), partial(interval, form=form), of=of)


def _beside(value: float, what: object) -> str:
    if what == "":
        return MISSING
    offsets = re.sub(r"(?<![-+\d])\d+", r"+\g<0>", str(what))
    return f"{share(value)} ({offsets})"


def _direction(words: str) -> str:
    return words.replace("dependent to head", "→ head").replace("head to dependent", "→ dependent")


def _right(system: str, value: float) -> str:
    """A share of right answers; the last row of the table counts mentions."""
    return count(value) if system == "mentions" else share(value)


def yes(value: object, otherwise: str = "") -> str:
    """A truth value in a table."""
    return "yes" if value else otherwise


four, tenth = partial(decimals, places=4), partial(decimals, places=1)
signed = partial(decimals, places=4, sign="+")
three, gain = partial(decimals, places=3), partial(decimals, places=3, sign="+")
hundred = partial(decimals, places=1, times=100)
"""A share in percent, also one below 0."""


def _score(
    value: object, low: object, high: object, ranked: object, gain: object, layer: object = None
) -> str:
    """A score in percent: the best layer's number, the interval, the rank correlation beside it,
    and the gain over the last layer.
    """
    if tenth(value) == MISSING:
        return MISSING
    best = f" [{layer}]" if layer is not None else ""
    beside = f", ρ {tenth(ranked)}" if tenth(ranked) != MISSING else ""
    gained = f" {tenth(gain, sign='+')} %" if tenth(gain) != MISSING else ""
    return f"{tenth(value)}{best} ({decimals(low)}–{decimals(high)}){beside}{gained}"


def _scored(what: str, title: str, *more: str) -> tuple[Column, Column]:
    """The scores of one way to probe, and the published ones beside them, if the table has any."""
    parts = (what, f"{what} low", f"{what} high", f"{what} spearman?", f"{what} gain?", *more)
    beside = Column(f"{title}: paper", (f"paper: {what}",))
    return Column(title, parts, _score, rivals="row"), beside


def _mean(value: object, low: object, high: object) -> str:
    return f"{tenth(value)} ({decimals(low)}–{decimals(high)})"


def _gain(value: object, low: object, high: object) -> str:
    return f"{tenth(value, sign='+')} ({tenth(low, sign='+')} to {tenth(high, sign='+')})"


def _with_ends(what: str, title: str, form: Callable[..., str]) -> Column:
    return Column(title, (what, f"{what} low", f"{what} high"), form)


SUMMARY = (
    *("measure", Column("label", screen=False), "statistic", "heads"),
    Column("mean of heads", ("mean",), number),
    Column("strongest head", ("strongest",)),
    *(Column("its mean", ("value",), number), ends()),
    *(Column("heads over 0.5", ("over",)), "n"),
)
AGREEMENT = (
    *("measure", "statistic", "spearman"),
    *(Column("mean, attention", ("attention",)), Column("mean, norm-weighted", ("norm",))),
    *("strongest", Column("strongest, norm-weighted", ("strongest norm",))),
)
NULLS = (
    Column("beside", ("null",), lambda null: NULL_WORDS.get(null, null)),
    *("statistic", Column("mean", form=number), Column("mean of null", ("null_mean",), number)),
    *(Column("band from", ("low",), number), Column("to", ("high",), number), "above", "below"),
    Column("share beyond", ("beyond",), share),
)
EMERGENCE = (
    *("head", "role", "checkpoint", Column("step", needs="step"), "value"),
    Column("one before", ("before",)),
    Column("at the end", ("last",)),
    Column("main role", ("main",), yes),
)
RELATIONS = (
    *("relation", "words", "head", "zero-based"),
    Column("direction", ("direction",), _direction),
    *(Column("accuracy", rivals="row"), ends(share), Column("held out", ("held_out",))),
    Column(
        "held-out head", ("held_out_head",), lambda head: _direction(head) or MISSING, paper=False
    ),
    Column("offset", ("baseline", "offset"), _beside, rivals="row"),
    Column("offset, held out", ("held_out_baseline", "held_out_offset"), _beside, paper=False),
    *(Column("p", screen=False, paper=False), Column("p corrected", ("p_corrected",))),
)
ANTECEDENTS = (
    *("system", "kind", "mentions", "accuracy"),
    Column("*", ("system", "*"), _right, rivals="column"),
    *(ends(share, of="all"), Column("p over *", paper=False)),
)
ROLES = (
    *("role", "heads", Column("share of heads (%)", ("share",), percent)),
    Column("sequences", paper=False),
    Column("mean length (tokens)", ("length",), screen=False, paper=False),
    Column("strongest head", ("strongest",), lambda head: head or None),
    *(Column("mean (times uniform)", ("mean",)), ends()),
    Column("times position alone", ("position",), needs="position"),
    Column("heads by position", ("by position",), needs="position", paper=False),
    *(Column("effect (d)", ("effect",), paper=False), Column("p", paper=False)),
    Column("p corrected", ("p_corrected",)),
)
HEAD_ROLES = (
    *("role", Column("times uniform", ("mean",), number), ends()),
    Column("norm-weighted", ("norm",), number),
    Column("times position alone", ("position",), number, needs="position"),
    Column("p", form=p_value),
    Column(
        "has the role",
        ("has", "positional"),
        lambda has, positional: "by position" if positional else yes(has, "no"),
    ),
)
HEAD_RELATIONS = (
    *("relation", Column("direction", ("direction",), _direction)),
    *(Column("accuracy", form=number), Column("norm-weighted", ("norm",), number)),
    *(Column("best offset", ("offset",), number), Column("words", ("n",), count)),
    Column("p", form=p_value),
)
HEAD_STATISTICS = (
    *("statistic", Column("mean", form=number), ends(), "unit"),
    Column("rank", ("rank", "of"), lambda rank, of: f"{rank} of {of}"),
    *(Column("norm-weighted", ("norm",), number), Column("its rank", ("norm rank",), count)),
)
"""What is known of one head: see :class:`headscope.stats.heads.passport.Passport`."""
SHIFTS = (
    *("corpus", "role"),
    Column("third of the layers", ("third", "layers"), lambda third, layers: f"{third} ({layers})"),
    *("before", "after", "shift", ends(), Column("effect (deviations)", ("effect",))),
    Column("p of no shift, corrected", ("p_corrected",)),
    Column("p of a shift of no interest, corrected", ("p_least",)),
    *(Column("verdict", ("verdict",), lambda verdict: verdict or None), "sequences"),
)
TAUS = ("role", Column("τ = *", ("tau *",)))
SHARES = ("of the paper's four roles", Column("share (%)", ("share",), percent))
LAYERS = ("layer", Column("*", form=percent), "fine roles per head")
REGIONS = (
    *("roles", Column("number of roles", ("degree",)), "heads"),
    Column("which heads", ("which",)),
)
CORRELATIONS = (
    *("role", Column("other role", ("other",)), Column("ρ over heads", ("rho (heads)",))),
    *(Column("p over heads", ("p (heads)",)), Column("heads", ("n (heads)",))),
    Column("ρ over sequences", ("rho (sequences)",)),
    *(Column("p over sequences", ("p (sequences)",)), Column("scores", ("n (sequences)",))),
)
OVERLAPS = (
    *("role", Column("other role", ("other",)), Column("heads with the role", ("heads",))),
    *(Column("with both", ("both",)), Column("share (%)", ("share",), percent)),
    Column("which heads", ("which",), lambda heads: heads or None),
)
FRAMES = (
    *("head", Column("largest attention", ("mean",)), ends()),
    Column("larger of both directions", ("both",)),
    Column("target → element", ("target to element",)),
    Column("element → target", ("element to target",)),
    Column("{percent}th percentile of all heads", ("percentile",)),
    *(Column("above it", ("over",), partial(yes, otherwise="no")), "sentences"),
)
PATTERNS = ("file", "pattern", "share", ends(share), "examples")
SINKS = (
    *("head", "zero-based", Column("first token", ("first",), share)),
    *(
        Column("sink rate", ("rate",), share),
        ends(share),
        Column("learned sink", ("learned",), share, needs="learned"),
    ),
    Column("strongest other token", ("other",)),
    Column("its rate", ("other_rate",), share),
    *(Column("its rate, held out", ("held_out",), share), "n"),
)
PROBES = (
    *("task", Column("majority", ("majority",), tenth)),
    *_scored("embeddings", "embeddings only"),
    *_scored("last", "last layer"),
    *_scored("best", "best layer", "best layer"),
    *_scored("top", "top-{n} heads"),
    *_scored("greedy", "greedy {n}"),
)
SPLITS = (
    *("task", Column("test sentences", ("test size",))),
    *(_with_ends("last", "last layer", _mean), _with_ends("best", "best layer", _mean)),
    _with_ends("top", "top-{n} heads", _mean),
    _with_ends("top - last", "top − last, points", _gain),
    _with_ends("top - best", "top − best, points", _gain),
)
PROBED_HEADS = (
    *("task", "head"),
    Column(
        "test",
        ("test", "low", "high"),
        lambda test, low, high: f"{hundred(test)} ({hundred(low)}–{hundred(high)})",
    ),
    Column("shuffled labels", ("control",), hundred),
    Column("difference", ("selectivity",), hundred),
    Column("validation", ("validation",), hundred),
)
ABLATION = (
    *(Column("{kind} off", ("off",)), Column("{metric}", ("score",), four)),
    *(Column("gain", ("gain",), signed), ends(signed)),
    *("p", Column("p corrected", ("p_corrected",))),
)
PRUNED = (
    *(Column("heads removed", ("removed",)), Column("%", ("share",), percent)),
    *(Column("{metric}", ("mean",), four), ends(four), Column("change", ("difference",), signed)),
    Column(
        "95 % interval of the change",
        ("difference_low", "difference_high"),
        partial(interval, form=signed),
    ),
    Column(
        "random heads (range)",
        ("random", "random_low", "random_high"),
        lambda mean, low, high: f"{four(mean)} ({four(low)}–{four(high)})",
    ),
    Column("model", ("model",)),
)
IMPORTANCE = (
    *(Column("importance against", ("against",)), Column("Spearman", ("mean",)), ends()),
    Column("heads", ("n",)),
)
SIMILARITY = ("layer", "cosine", "changed most", Column("its cosine"), ends(), "examples")
MATCHES = (
    "head",
    "partner",
    Column("cosine", form=share),
    ends(share),
    Column("same place", form=share),
)
VOCABULARY = ("relation", "embedding", "pairs", "head", Column("share", form=share), "next")
RECOVERED = ("length", "prompts", "recovered", Column("share", form=share), "recall")
RETRIEVED = (
    *("head", "zero-based", "score", ends(share), "n"),
    Column("query-focused", ("query_focus",), share),
    Column("retrieval score", ("retrieval",), share),
)
CACHE = (
    *(Column("ranking", ("by",)), Column("KV heads kept", ("kept",))),
    *(Column("%", ("share",), percent), Column("judged by", ("judged",))),
    *(Column("value", ("mean",), three), Column("change", ("change",), gain)),
    Column(INTERVAL, ("low", "high"), interval, screen=False, of="value"),
    Column("95 % interval of the change", ("change_low", "change_high"), interval),
    Column(
        "random (range)",
        ("random", "random_low", "random_high"),
        lambda mean, low, high: f"{three(mean)} ({three(low)}–{three(high)})",
    ),
    Column("over random", ("over",), gain, screen=False),
    Column("95 % interval over random", ("over_low", "over_high"), interval, screen=False),
    Column("n", screen=False),
)
MASKED = (
    *("disabled", "recall", ends(share), "n", "top − random"),
    Column("95 % interval of the difference", ("difference low", "difference high"), interval),
)
