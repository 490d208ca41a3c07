"""The claims of Clark et al. 2019 on surface patterns and clusters, each with its rule.

Claims on syntax and coreference are in :mod:`headscope.papers.clark2019.language_claims`.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.stats import spearmanr

from headscope.figures.distances import BehaviourThresholds
from headscope.heads import Head
from headscope.numbers import MISSING, p_value
from headscope.papers.claims import Claim, Finding
from headscope.papers.sections import counted
from headscope.results import Atlas
from headscope.stats.grid import heads_over
from headscope.stats.tables.alike import layer_closeness

HALF, LITTLE, ALMOST_ALL = 0.5, 0.1, 0.9
BROAD = BehaviourThresholds().broad
"""Broad heads have more than this share of the entropy of uniform attention."""
VERY_BROAD = 3.89 / np.log(128)
"""The paper's entropy from [CLS] in the last layer, as a share of that of uniform attention."""
SHOWN = 8
"""So many heads are named; of more, their number is given."""

POSITION = {
    offset: Claim(
        f"Some heads put over half of their attention on the {offset} token",
        "Section 3.1",
        published,
        "at least one head does",
        ours="one head is enough",
    )
    for offset, published in (
        ("previous", "4 heads (layers 2, 4, 7, 8)"),
        ("next", "5 heads (layers 1, 2, 2, 3, 6)"),
    )
}
EARLY = Claim(
    "Heads on the previous or next token are mostly in earlier layers",
    "Section 3.1",
    "7 of 9 in layers 1–6",
    "more than half of them are in the lower half of the layers",
    ours="where earlier layers end",
)
CURRENT = Claim(
    "Most heads put little attention on the current token",
    "Section 3.1",
    MISSING,
    "more than half of the heads put under 10 % on it",
    ours="10 %",
)
SEPARATOR = Claim(
    "Over half of the attention in layers 6–10 is on [SEP]",
    "Section 3.2, Figure 2",
    "over 50 %; 1.6 % (1/64) if uniform",
    "in some layer, the mean over heads is over 50 %",
    ours="any layer",
)
ORDER = Claim(
    "Early heads attend to [CLS], middle heads to [SEP], deep heads to full stops and commas",
    "Figure 2",
    MISSING,
    "the layers with the most attention to each come in this order",
    ours="one layer stands for each",
)
FROM_SEPARATOR = Claim(
    "[SEP] attends almost entirely to [SEP]",
    "Section 3.2, Figure 2",
    "over 90 %",
    "in the layer with the most attention to [SEP], [SEP] itself puts over 90 % on [SEP]",
    ours="this layer",
)
NO_OP = Claim(
    "Gradients for attention to [SEP] become small where attention to [SEP] becomes high",
    "Section 3.2, Figure 3",
    "from layer 5 on",
    "over layers, the two correlate negatively (Spearman, one-sided p < 0.05)",
    ours="this test",
)
SOME_BROAD = Claim(
    "Some heads in lower layers attend very broadly",
    "Section 3.3, Figure 4",
    "layer 1",
    "a head in the lower half of the layers has over 90 % of uniform entropy",
    ours="90 %",
)
AT_MOST = Claim(
    "Such heads put at most 10 % of their attention on any single word",
    "Section 3.3",
    "10 %",
    "their largest weight is at most 10 %, averaged over tokens and heads",
    ours="the average",
)
LAST_CLS = Claim(
    "In the last layer, [CLS] attends very broadly",
    "Section 3.3",
    "3.89 nats, 80 % of uniform (ln 128)",
    "its entropy is at least 80 % of uniform",
    ours="a share of uniform instead of nats",
)
LAYERS = Claim(
    "Heads of one layer are close to each other",
    "Section 6, Figure 6",
    MISSING,
    "the mean distance within layers is smaller than between layers (permutation test, p < 0.05)",
    ours="this test",
)


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.0312)
    '3.1 %'
    """
    return f"{100 * share:.1f} %"


def named(heads: list[Head]) -> str:
    """Count heads, and name them if they are few.

    Examples
    --------
    >>> named([Head(0, 2)]), named([]), named([Head(0, n) for n in range(9)])
    ('1 head (1-3)', 'no head', '9 heads')
    """
    if not heads:
        return "no head"
    names = f" ({', '.join(map(str, heads))})" if len(heads) <= SHOWN else ""
    return f"{counted(len(heads), 'head')}{names}"


def surface_findings(
    results: Atlas, *, uniform: float | None = None, gradient: Finding | None = None
) -> list[Finding]:
    """Test the claims of Sections 3.1 to 3.3.

    Parameters
    ----------
    results
        A survey with the measures position, special, entropy and peak.
    uniform
        The share that [SEP] would get if attention were uniform.
    gradient
        What was found on gradients, which has its place among the others.

    Returns
    -------
    list of Finding
        In the order of the paper.
    """
    return [
        *_position_findings(results),
        *_special_findings(results, uniform),
        *([gradient] if gradient else []),
        *_entropy_findings(results),
    ]


def _position_findings(results: Atlas) -> list[Finding]:
    means = results.mean("position")
    findings: list[Finding] = []
    found: set[Head] = set()
    for offset, claim in POSITION.items():
        values = means.sel(offset=offset)
        if not bool(values.notnull().any()):
            findings.append(claim.untested(f"the model does not see the {offset} token"))
            continue
        heads = heads_over(values, HALF)
        found |= set(heads)
        largest = f"largest share {percent(float(values.max()))}"
        findings.append(claim.tested(f"{named(heads)}; {largest}", bool(heads)))
    low = [head for head in sorted(found) if _is_low(head, results)]
    if found:
        text = f"{len(low)} of {len(found)} in the lower half"
        findings.append(EARLY.tested(text, len(low) > len(found) / 2))
    else:
        findings.append(EARLY.untested("there are no such heads"))
    current = means.sel(offset="current").values.ravel()
    little = int((current < LITTLE).sum())
    text = f"{little} of {current.size} heads under 10 %"
    findings.append(CURRENT.tested(text, little > current.size / 2))
    return findings


def _is_low(head: Head, results: Atlas) -> bool:
    """Whether a head is in the lower half of the layers."""
    layers = sorted(results.layers)
    return layers.index(head.layer + 1) < len(layers) / 2


def _special_findings(results: Atlas, uniform: float | None) -> list[Finding]:
    special = results.mean("special").mean("head")
    to_sep = special.sel(token="sep", row="all")
    if not bool(to_sep.notnull().any()):
        reason = "the model has no [SEP]"
        return [claim.untested(reason) for claim in (SEPARATOR, ORDER, FROM_SEPARATOR)]
    layer = int(to_sep.idxmax("layer"))
    chance = "" if uniform is None else f"; {percent(uniform)} if uniform"
    most = float(to_sep.max())
    itself = float(special.sel(token="sep", row="sep", layer=layer))
    return [
        SEPARATOR.tested(f"{percent(most)} in layer {layer}{chance}", most > HALF),
        _order_finding(special.sel(row="all")),
        FROM_SEPARATOR.tested(f"{percent(itself)} in layer {layer}", itself > ALMOST_ALL),
    ]


def _order_finding(special: xr.DataArray) -> Finding:
    if not bool(special.notnull().any("layer").all()):
        return ORDER.untested("the model has no [CLS], or the text no full stops and commas")
    layers = [int(special.sel(token=token).idxmax("layer")) for token in special["token"].values]
    text = f"layers {', '.join(map(str, layers))}"
    return ORDER.tested(text, layers[0] < layers[1] < layers[2])


def _entropy_findings(results: Atlas) -> list[Finding]:
    entropy = results.mean("entropy")
    uniform = entropy.sel(row="uniform")
    ratio = entropy.sel(row="all") / uniform
    heads = heads_over(ratio, BROAD)
    low = sorted(head for head in heads if _is_low(head, results))
    text = f"{named(low)} in the lower half"
    text += f", {len(heads)} in all" if len(heads) > len(low) else ""
    findings = [SOME_BROAD.tested(text, bool(low)), _largest_finding(results, ratio)]
    last = int(entropy["layer"].max())
    from_cls = float(entropy.sel(row="cls", layer=last).mean("head"))
    if np.isnan(from_cls):
        return [*findings, LAST_CLS.untested("the model has no [CLS]")]
    share = from_cls / float(uniform.sel(layer=last).mean("head"))
    text = f"{from_cls:.2f} nats, {percent(share)} of uniform"
    return [*findings, LAST_CLS.tested(text, share >= VERY_BROAD)]


def _largest_finding(results: Atlas, ratio: xr.DataArray) -> Finding:
    if "peak" not in results.measures:
        return AT_MOST.untested("the measure peak was not asked for")
    weights = results.mean("peak").sel(peak="weight").where(ratio > BROAD)
    if not bool(weights.notnull().any()):
        return AT_MOST.untested("there are no such heads")
    mean = float(weights.mean())
    text = f"{percent(mean)} (single heads: at most {percent(float(weights.max()))})"
    return AT_MOST.tested(text, mean <= LITTLE)


def gradient_finding(surface: Atlas, gradient: Atlas) -> Finding:
    """Test whether gradients for [SEP] fall where attention to it rises (Figure 3).

    Parameters
    ----------
    surface
        A survey with the measure special.
    gradient
        A survey of the same model with the measure gradient.

    Returns
    -------
    Finding
        Spearman's correlation over layers.
    """
    to_sep = surface.mean("special").sel(token="sep", row="all").mean("head")
    size = gradient.mean("gradient").sel(token="sep").mean("head")
    if to_sep.size < 3 or not bool((to_sep.notnull() & size.notnull()).all()):
        return NO_OP.untested("the model has no [SEP], or fewer than three layers")
    rho, p = spearmanr(to_sep.values, size.values, alternative="less")
    text = f"Spearman {rho:+.2f} over {to_sep.size} layers, p {p_value(p)}"
    return NO_OP.tested(text, bool(rho < 0 and p < 0.05))


def layer_finding(distance: Atlas, *, seed: int) -> Finding:
    """Test whether heads of one layer are closer to each other than to other heads (Figure 6).

    Parameters
    ----------
    distance
        A survey with the measure distance.
    seed
        Of the permutation test.

    Returns
    -------
    Finding
        Mean Jensen–Shannon divergences within and between layers.
    """
    found = layer_closeness(distance.mean("distance"), seed=seed)
    if np.isnan(found.p):
        return LAYERS.untested("one layer, or one head per layer, has nothing to compare")
    text = (
        f"{found.within:.3f} nats within, {found.between:.3f} between, p {p_value(found.p)} "
        f"({found.permutations:,} permutations)"
    )
    return LAYERS.tested(text, found.within < found.between and found.p < 0.05)
