"""The claims of Clark et al. 2019 on probes, decided by paired bootstraps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from headscope.page import records
from headscope.papers.claims import Claim, Finding
from headscope.papers.clark2019.language_claims import MUCH, points

Row = dict[str, Any]
BASELINES = ("words + distances", "attention + words, random encoder", "right-branching")

PROBE = Claim(
    "Attention and words together parse substantially better than the baselines",
    "Section 5, Table 3",
    "77 against 58, 30 and 26 UAS",
    "at least 10 points above every baseline",
    ours="10 points",
)
ATTENTION_ONLY = Claim(
    "Attention alone carries much syntax",
    "Section 5, Table 3",
    "61 UAS; right-branching 26",
    "at least 10 points above right-branching",
    ours="10 points",
)


def probe_findings(table: pd.DataFrame) -> list[Finding]:
    """Test the claims of Section 5.

    Parameters
    ----------
    table
        What :func:`~headscope.papers.clark2019.parse.parse_probes` returned. Its ``attrs`` hold the
        differences between probes with their intervals, which decide.

    Returns
    -------
    list of Finding
        In the order of the paper.
    """
    uas = {str(row["probe"]): 100 * float(row["uas"]) for row in records(table)}
    gains = _probe_gains(table.attrs.get("pairs", ()))
    return [
        _probe_finding(ATTENTION_ONLY, "attention", (BASELINES[-1],), uas, gains),
        _probe_finding(PROBE, "attention + words", BASELINES, uas, gains),
    ]


def _probe_gains(pairs: Iterable[Row]) -> dict[tuple[str, str], tuple[float, float, float]]:
    """The difference of each pair of probes with its interval, either way round."""
    gains = {}
    for pair in pairs:
        one, other = str(pair["probe"]), str(pair["other"])
        gain, low, high = (float(pair[key]) for key in ("difference", "low", "high"))
        gains[one, other] = gain, low, high
        gains[other, one] = -gain, -high, -low
    return gains


def _probe_finding(
    claim: Claim,
    probe: str,
    baselines: Sequence[str],
    uas: Mapping[str, float],
    gains: Mapping[tuple[str, str], tuple[float, float, float]],
) -> Finding:
    """Whether a probe is enough above each of some baselines, by the paired bootstrap."""
    if any(name not in uas for name in (probe, *baselines)):
        return claim.untested("no word vectors were given")
    if any((probe, name) not in gains for name in baselines):
        return claim.untested("the probes were not tested on the same sentences")
    least = min(baselines, key=lambda name: gains[probe, name])
    others = ", ".join(f"{uas[name]:.1f}" for name in baselines)
    text = f"{uas[probe]:.1f} against {others} UAS: {points(*gains[probe, least])}"
    text += f" over {least}" if len(baselines) > 1 else ""
    return claim.judged(text, [gains[probe, name][1:] for name in baselines], least=MUCH)
