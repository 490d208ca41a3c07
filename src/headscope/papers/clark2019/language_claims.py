"""The claims of Clark et al. 2019 on syntax and coreference, each with its rule.

Heads are chosen by their score, so the numbers here are those of heads that were chosen on other
words or mentions ("held out").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from headscope.numbers import MISSING
from headscope.page import records
from headscope.papers.claims import Claim, Finding
from headscope.papers.clark2019.claims import percent
from headscope.results import Atlas
from headscope.stats.tables.relations import ALL, LEAST

Row = dict[str, Any]
SPECIALISTS = ("dobj", "det", "pobj", "poss")
"""The relations of which the paper says that heads find them with over 75 % accuracy."""
ENOUGH, HIGH, SUBSTANTIAL, MUCH, CLOSE = 0.5, 0.75, 0.2, 0.1, 0.05
STRINGS, RULES = "same head word", "rules"
UP = "dependent to head"

NO_PARSER = Claim(
    "No single head does well at syntax overall",
    "Section 4.2, Table 1",
    "34.5 % (offset 26.3 %)",
    "the best head gets under 50 % of all words (held out)",
    ours="50 %",
)
OVER_75 = Claim(
    "Heads find direct objects, determiners, objects of prepositions and possessives",
    "Section 1, Table 1",
    "dobj 86.8, det 94.3, pobj 76.3, poss 80.5 %",
    "each of the four is over 75 % (held out)",
)
SPECIALISE = Claim(
    "Certain heads specialise in a relation and substantially outperform the offset",
    "Section 4.2, Table 1",
    "7 of 14 relations by over 20 points",
    "for at least one relation the gain is over 20 points (held out), with p < 0.05 (Holm)",
    ours="20 points, one relation",
)
DIRECTION = Claim(
    "In Table 1 the dependent attends to its head word, except for pobj",
    "Section 4.2",
    "13 of 13",
    "so it is for each relation but pobj",
)
FOOTNOTE = Claim(
    "Ignoring [SEP] and [CLS] does not significantly change the accuracies of most heads",
    "Section 4.1, footnote 3",
    MISSING,
    "for more than half of the heads, accuracy over all words changes by less than 1 point",
    ours="1 point",
)
OVER_STRINGS = Claim(
    "A head finds antecedents over 10 points better than string matching",
    "Section 4.3, Table 2",
    "65 against 52 %",
    "the gain over the same head word is over 10 points (held out)",
)
NEAR_RULES = Claim(
    "It is close to the rule-based system",
    "Section 4.3, Table 2",
    "65 against 69 %",
    "it is at most 5 points below the rules (held out)",
    ours="5 points",
)
NOMINAL = Claim(
    "It is particularly good with nominal mentions",
    "Section 4.3, Table 2",
    "18 points over the same head word; pronouns 17, proper names 6",
    "the gain over the same head word is largest for nominal mentions (held out)",
    ours="comparing gains",
)


def relation_findings(table: pd.DataFrame, labels: dict[str, str | None]) -> list[Finding]:
    """Test the claims of Section 4.2.

    Parameters
    ----------
    table
        What :func:`headscope.stats.best_heads` returned for the paper's relations.
    labels
        What the treebank calls each of the paper's relations; None if it has no such relation.

    Returns
    -------
    list of Finding
        In the order of the paper. Relations with fewer than 20 words do not count.
    """
    ours = {row["relation"]: row for row in records(table)}
    rows = {
        name: ours[label]
        for name, label in labels.items()
        if label in ours and ours[label]["words"] >= LEAST and not np.isnan(ours[label]["held_out"])
    }
    single = {name: row for name, row in rows.items() if name != ALL}
    if not single:
        reason = "no relation of the paper has 20 words"
        return [claim.untested(reason) for claim in (NO_PARSER, OVER_75, SPECIALISE, DIRECTION)]
    return [
        _parser_finding(rows.get(ALL)),
        _accuracy_finding(single),
        _gain_finding(single),
        _direction_finding(single),
    ]


def _parser_finding(row: Row | None) -> Finding:
    if row is None:
        return NO_PARSER.untested("there are too few words")
    span = _span(row["held_out_low"], row["held_out_high"])
    text = f"{percent(row['held_out'])} ({span}; offset {percent(row['held_out_baseline'])})"
    return NO_PARSER.judged(text, [(-row["held_out_high"], -row["held_out_low"])], least=-ENOUGH)


def _accuracy_finding(rows: dict[str, Row]) -> Finding:
    missing = [name for name in SPECIALISTS if name not in rows]
    if missing:
        return OVER_75.untested(f"{', '.join(missing)}: fewer than 20 words")
    ends = {
        name: (float(rows[name]["held_out_low"]), float(rows[name]["held_out_high"]))
        for name in SPECIALISTS
    }
    numbers = [
        f"{name} {100 * rows[name]['held_out']:.1f} ({_span(low, high)})"
        for name, (low, high) in ends.items()
    ]
    return OVER_75.judged(f"{', '.join(numbers)} %", list(ends.values()), least=HIGH)


def _span(low: float, high: float) -> str:
    """The ends of an interval of shares, in percent."""
    return f"{100 * low:.1f} to {100 * high:.1f}"


def _gain_finding(rows: dict[str, Row]) -> Finding:
    gains = {
        name: float(row["held_out"] - row["held_out_baseline"])
        for name, row in rows.items()
        if row["p_corrected"] < 0.05
    }
    large = [name for name, gain in gains.items() if gain > SUBSTANTIAL]
    text = f"{len(large)} of {len(rows)} relations by over 20 points"
    if gains:
        most = max(gains, key=lambda name: gains[name])
        text += f"; most for {most}, {100 * gains[most]:+.1f}"
    return SPECIALISE.tested(text, bool(large))


def _direction_finding(rows: dict[str, Row]) -> Finding:
    others = {name: row for name, row in rows.items() if name != "pobj"}
    if not others:
        return DIRECTION.untested("no relation but pobj has 20 words")
    against = [name for name, row in others.items() if row["direction"] != UP]
    text = f"{len(others) - len(against)} of {len(others)}"
    return DIRECTION.tested(text + (f", not {', '.join(against)}" if against else ""), not against)


def special_finding(without: Atlas, with_special: Atlas) -> Finding:
    """Test footnote 3: how much the accuracy of heads changes if special tokens are candidates.

    Parameters
    ----------
    without, with_special
        Surveys of the same treebank with the measure dependency, the second with
        ``special=True``.

    Returns
    -------
    Finding
        Accuracy of dependents over all words, head by head.
    """
    where = {"relation": ALL, "words": "every", "direction": UP}
    before, after = (
        found["dependency"]["mean"].sel(where).values for found in (without, with_special)
    )
    change = np.abs(after - before)
    if np.isnan(change).all():
        return FOOTNOTE.untested("there are no words")
    little = int((change < 0.01).sum())
    text = f"{little} of {change.size} heads; median change {100 * np.nanmedian(change):.1f} points"
    return FOOTNOTE.tested(text, little > change.size / 2)


def antecedent_findings(
    table: pd.DataFrame, gains: Mapping[str, pd.DataFrame], nominal: pd.DataFrame
) -> list[Finding]:
    """Test the claims of Section 4.3.

    Parameters
    ----------
    table
        What :func:`headscope.stats.antecedent_table` returned.
    gains
        What :func:`headscope.stats.antecedent_gains` returned, by baseline.
    nominal
        What :func:`headscope.stats.gain_differences` returned for nominal mentions and the same
        head word.

    Returns
    -------
    list of Finding
        In the order of the paper.
    """
    rows = {str(row["system"]): row for row in records(table)}
    chosen = next((row for name, row in rows.items() if name.startswith("held out")), None)
    if chosen is None or np.isnan(chosen["all"]):
        reason = "there are too few documents to choose a head on one half"
        return [claim.untested(reason) for claim in (OVER_STRINGS, NEAR_RULES, NOMINAL)]
    return [
        _over_finding(OVER_STRINGS, chosen, rows[STRINGS], gains[STRINGS], least=MUCH),
        _over_finding(NEAR_RULES, chosen, rows[RULES], gains[RULES], least=-CLOSE),
        _nominal_finding(gains[STRINGS], nominal),
    ]


def _over_finding(
    claim: Claim, chosen: Row, baseline: Row, gains: pd.DataFrame, *, least: float
) -> Finding:
    """Whether the head that was chosen apart gains at least so much over a baseline."""
    gain, low, high = _by_kind(gains)["all"]
    text = (
        f"{100 * chosen['all']:.1f} against {percent(baseline['all'])}: {points(gain, low, high)}"
    )
    return claim.judged(text, [(low, high)], least=least)


def _by_kind(numbers: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
    """A number of each kind of mention, with the ends of its interval."""
    rows = zip(numbers.index, numbers.to_numpy(float), strict=True)
    return {str(kind): (value, low, high) for kind, (value, low, high) in rows}


def points(gain: float, low: float, high: float) -> str:
    """A difference of shares and its interval, in points."""
    return f"{100 * gain:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"


def _nominal_finding(gains: pd.DataFrame, nominal: pd.DataFrame) -> Finding:
    kinds = ("nominal", "pronoun", "proper")
    known = {kind: number for kind, (number, _, _) in _by_kind(gains).items()}
    if any(np.isnan(known.get(kind, np.nan)) for kind in kinds):
        return NOMINAL.untested("some type of mention does not occur, or types are not known")
    text = ", ".join(f"{kind} {100 * known[kind]:+.1f}" for kind in kinds)
    others = _by_kind(nominal)
    return NOMINAL.judged(f"{text} points", [others[kind][1:] for kind in kinds[1:]], least=0.0)
