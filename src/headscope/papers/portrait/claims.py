"""What the field says about the heads of language models, and what a portrait finds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from headscope.papers.claims import Claim, Finding
from headscope.papers.portrait.found import Found, feeding, permuted_p
from headscope.results import Atlas
from headscope.stats import best_heads, sink_table
from headscope.stats.grid import grid_heads
from headscope.stats.tables.ablation import group_table, repeated_more
from headscope.stats.tables.circuits import MASKING

NOT_RUN = "the part was not run"
TOO_FEW = "there are too few heads to compare with"
RETRIEVES, RARE = 0.1, 0.05
"""From which score a head retrieves, and below which share of heads (Wu et al. 2024)."""

SINK = Claim(
    "heads attend to the first token whatever it is",
    "Gu et al. 2025, section 2",
    "",
    "the mean sink rate over heads is larger for the first token than for any other",
)
INDUCTION = Claim(
    "some heads attend to what followed the same token before",
    "Olsson et al. 2022",
    "",
    "a head has more than half of its attention there on random tokens written twice (interval)",
    ours="one half",
)
FED = Claim(
    "previous-token heads feed induction heads by K-composition",
    "Elhage et al. 2021",
    "",
    "their K-composition is larger than that of other earlier heads (2000 draws, p < 0.05)",
)
COPIES = Claim(
    "induction heads copy the token that they attend to",
    "Elhage et al. 2021",
    "",
    "their copying score is larger than that of other heads (2000 draws, p < 0.05)",
)
NEEDED = Claim(
    "induction heads carry what a model gains from having read a text",
    "Olsson et al. 2022",
    "",
    "disabling them raises the loss on repeated text by more than on new text (interval above 0), "
    "and by more than any draw of other heads of the same layers",
)
SYNTAX = Claim(
    "some heads find a syntactic relation",
    "Clark et al. 2019, section 4.2",
    "",
    "a head beats the best fixed offset at a relation (corrected p < 0.05)",
)
SPARSE = Claim(
    "retrieval heads are rare",
    "Wu et al. 2024",
    "less than 5 % of heads",
    "less than 5 % of heads have a score of 0.1 or more",
)
CAUSAL = Claim(
    "without its retrieval heads a model loses answers that it had found",
    "Wu et al. 2024",
    "",
    "recall is lower than without as many other heads of the same layers (interval below 0, "
    "largest number of heads)",
)


def portrait_claims(found: Found, *, top: int, seed: int) -> Iterator[Finding]:
    """Test what the field says.

    Parameters
    ----------
    found
        The results of the parts.
    top
        How many heads stand for a role.
    seed
        Of draws of other heads.

    Yields
    ------
    Finding
    """
    atlas = found.survey
    yield SINK.untested(NOT_RUN) if atlas is None else _sink(atlas)
    yield _induction(atlas) if atlas is not None else INDUCTION.untested(NOT_RUN)
    yield from _circuits(found, top, seed)
    yield _needed(found)
    yield SYNTAX.untested(NOT_RUN) if atlas is None else _syntax(atlas)
    yield from _retrieval(found)


def _sink(atlas: Atlas) -> Finding:
    if not int(atlas["sink"]["n"].max()):
        return SINK.untested("no text was long enough")
    table = sink_table(atlas)
    first, other = table["rate"].mean(), atlas["sink_places"]["mean"].mean(("layer", "head"))
    place = str(other["token"].values[int(other.values.argmax())])
    here = f"first token {first:.2f}; of the others, token {place} most ({float(other.max()):.2f})"
    return SINK.tested(here, first > float(other.max()))


def _induction(atlas: Atlas) -> Finding:
    if "synthetic" not in atlas:
        return INDUCTION.untested("no random tokens were read")
    best = atlas.heads(by="synthetic:induction", top=1).iloc[0]
    here = f"{best['head']}: {best.iloc[2]:.2f} ({best['low']:.2f} to {best['high']:.2f})"
    return INDUCTION.judged(here, [(best["low"], best["high"])], least=0.5)


def _circuits(found: Found, top: int, seed: int) -> Iterator[Finding]:
    induction, previous = found.ranked("induction", top), found.ranked("previous token", top)
    why = found.why.get("circuits", NOT_RUN)
    if found.circuits is None or not induction:
        yield FED.untested(why)
        yield COPIES.untested(why)
        return
    table = feeding(found.circuits, induction)
    chosen = np.flatnonzero(table["head"].isin([str(head) for head in previous]))
    mean, others, p = permuted_p(table["excess"].to_numpy(float), chosen, seed)
    if np.isnan(p):
        yield FED.untested(TOO_FEW)
    else:
        yield FED.tested(
            f"excess {mean:.3f} against {others:.3f} on average, p = {p:.3g}", p < 0.05
        )
    yield _copies(found.circuits, [str(head) for head in induction], seed)


def _copies(circuits: Atlas, induction: list[str], seed: int) -> Finding:
    if "copying" not in circuits:
        return COPIES.untested("the model has no unembedding to copy to")
    values = circuits["copying"]["mean"].transpose("layer", "head")
    names = pd.Series([str(head) for head in grid_heads(values)])
    chosen = np.flatnonzero(names.isin(induction))
    mean, others, p = permuted_p(values.values.ravel().astype(float), chosen, seed)
    if np.isnan(p):
        return COPIES.untested(TOO_FEW)
    return COPIES.tested(f"{mean:.2f} against {others:.2f} on average, p = {p:.3g}", p < 0.05)


def _needed(found: Found) -> Finding:
    if found.losses is None or "induction" not in found.losses["group_loss"]["disabled"].values:
        return NEEDED.untested(found.why.get("disabling", NOT_RUN))
    table = group_table(found.losses)
    own = table[table["group"] == "induction"].set_index("text")
    rise, most = own["rise"].to_dict(), float(own["most"].to_dict()["repeated"])
    more = repeated_more(found.losses).set_index("group").loc[["induction"]].iloc[0]
    here = (
        f"repeated {rise['repeated']:+.2f} nats, new {rise['new']:+.2f}; difference "
        f"{more['low']:.2f} to {more['high']:.2f}; other heads at most {most:+.2f}"
    )
    return NEEDED.tested(here, more["low"] > 0 and rise["repeated"] > most)


def _syntax(atlas: Atlas) -> Finding:
    if "dependency" not in atlas:
        return SYNTAX.untested("the corpus has no trees")
    table = best_heads(atlas)
    good = table[table["p_corrected"] < 0.05]
    if not len(good):
        return SYNTAX.tested("no head does", False)
    gain = good.assign(gain=good["accuracy"] - good["baseline"]).nlargest(1, "gain").iloc[0]
    here = (
        f"{len(good)} of {len(table)} relations; {gain['head']} at {gain['relation']}: "
        f"{gain['accuracy']:.2f} against {gain['baseline']:.2f}"
    )
    return SYNTAX.tested(here, True)


def _retrieval(found: Found) -> Iterator[Finding]:
    results = found.retrieval
    why = found.why.get("retrieval", NOT_RUN)
    if results is not None and not int(results["retrieval"]["n"].max()):
        results, why = None, "no answer was recovered"
    if results is None:
        yield SPARSE.untested(why)
        yield CAUSAL.untested(why)
        return
    scores = results["retrieval"]["mean"].values.ravel()
    many = int((scores >= RETRIEVES).sum())
    share = many / scores.size
    yield SPARSE.tested(f"{many} of {scores.size} heads ({100 * share:.1f} %)", share < RARE)
    if MASKING not in results:
        yield CAUSAL.untested("no heads were disabled")
        return
    data = results[MASKING]
    tops = [str(name) for name in data["disabled"].values if str(name).startswith("top ")]
    largest = data.sel(disabled=max(tops, key=lambda name: int(name.split()[1])))
    low, high = float(largest["difference_low"]), float(largest["difference_high"])
    difference, count = float(largest["difference"]), int(largest["n"])
    here = f"{difference:+.2f} ({low:+.2f} to {high:+.2f}), n = {count}"
    yield CAUSAL.judged(here, [(-high, -low)], least=0.0)
