"""The sections of a portrait: text, tables and figures from results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import scipy  # its parts are loaded when they are used
import xarray as xr

from headscope.errors import UserError
from headscope.figures.ablation import group_losses_chart
from headscope.figures.builders import heat_map, layer_scatter
from headscope.figures.style import subject
from headscope.heads import Head
from headscope.page import Plot, Table
from headscope.papers.portrait.found import Found, feeding
from headscope.results import Atlas
from headscope.stats import best_heads, role_stability, sink_table
from headscope.stats.tables.ablation import group_table, repeated_more
from headscope.stats.tables.circuits import MASKING, retrieval_heads, retrieval_recovery
from headscope.stats.words.formatter import family_name, in_percent

TOP = 10
"""Heads in a table."""
NO_RANDOM = "no random tokens were read"
SHARE = "share of attention, 0–1"


@dataclass(frozen=True)
class Content:
    """What stands in a section."""

    text: str
    tables: Sequence[Table] = ()
    plots: Sequence[Plot] = ()


def roles(atlas: Atlas) -> Content:
    """How many heads have each role."""
    table = atlas.analysis.roles
    rows = [
        {
            "role": family_name(str(family)),
            "heads": int(count),
            "share (%)": f"{100 * count / len(table):.1f}",
        }
        for family, count in table["family"].value_counts().items()
    ]
    stable, total = role_stability(atlas)
    text = (
        "The main role of a head is what it does most with the attention that does not rest on "
        "sinks, against even attention, tested by documents and corrected over heads and roles."
    )
    if total:
        text += f" When documents are drawn anew, {stable} of {total} heads with a role keep it."
    return Content(text, [Table(rows, title="Heads by main role")])


def sinks(atlas: Atlas) -> Content:
    """Attention to the first token."""
    if not int(atlas["sink"]["n"].max()):
        raise UserError(
            "Sinks: no text has 64 tokens or more", hint="use longer texts, or a larger max_length"
        )
    table = sink_table(atlas)
    strong = int((table["low"] > 0.5).sum())
    first = in_percent(table["first"].mean())
    text = (
        f"On average over heads, {first} of the attention in the first 64 "
        f"tokens goes to the first one. For {strong} of {len(table)} heads the sink rate, the "
        "share of texts in which that is more than 0.3, is over one half with its whole interval."
    )
    names = {"first": "first token", "rate": "sink rate", "held_out": "its rate, held out"}
    names |= {"other": "strongest other token", "other_rate": "its rate"}
    shown = table.nlargest(TOP, "first").rename(columns=names).drop(columns=["learned"])
    values = atlas["sink"]["mean"].sel(sink="first", drop=True)
    return Content(
        text,
        [_table(shown, "Heads with the strongest sinks")],
        [_heat("sinks", "Attention to the first token", values, atlas, SHARE, (0.0, 1.0))],
    )


def local(atlas: Atlas) -> Content:
    """Attention to the previous token, on text and on random tokens."""
    series = _two_kinds(atlas, "position", {"offset": "previous"}, "previous")
    plot = _layers("previous", "Attention to the previous token", series, atlas)
    table = _ranked(atlas, "position:previous", "Heads that attend to the previous token most")
    return Content(_agreement(series), [table], [plot])


def induction(atlas: Atlas, circuits: Atlas | None, found: Found, top: int) -> Content:
    """Induction on text and on random tokens, and what feeds the heads that do it."""
    series = _two_kinds(atlas, "repetition", {"repeat": "induction"}, "induction")
    plot = _layers("induction", "Induction: attention to what followed before", series, atlas)
    tables = [_of_repeats(atlas, "induction", "Induction heads")]
    text = _agreement(series)
    heads = found.ranked("induction", top)
    if circuits is not None and heads:
        feeders = feeding(circuits, heads)
        previous = atlas.heads(by=_kind(atlas, "synthetic:previous", "position:previous"))
        scores = dict(zip(previous["head"], previous[previous.columns[2]], strict=True))
        feeders["previous token"] = [scores.get(name) for name in feeders["head"]]
        shown = feeders.head(TOP).rename(
            columns={"excess": "K-composition", "strongest": "feeds most"}
        )
        note = (
            f"Excess of K-composition over random heads, mean over the {len(heads)} strongest "
            "induction heads that come later. Read from the weights, without any text. The last "
            "column is the head's attention to the previous token."
        )
        tables.append(_table(shown, "Heads that feed induction heads", note=note))
    return Content(text, tables, [plot])


def duplicate(atlas: Atlas) -> Content:
    """Attention to earlier occurrences of the same token."""
    series = _two_kinds(atlas, "repetition", {"repeat": "duplicate"}, "duplicate")
    plot = _layers("duplicate", "Attention to the same token before", series, atlas)
    table = _of_repeats(atlas, "duplicate", "Duplicate-token heads")
    return Content(_agreement(series), [table], [plot])


def copying(circuits: Atlas) -> Content:
    """Copying scores."""
    if "copying" not in circuits:
        raise UserError("Copying: the model has no unembedding to copy to")
    values = circuits["copying"]["mean"]
    positive = int((values > 0).sum())
    text = (
        "A head copies if what it writes raises the logit of the very token that it attends to: "
        "the sum of the eigenvalues of its circuit from embedding to unembedding, over the sum of "
        f"their sizes, from -1 to 1. {positive} of {values.size} heads are above 0. The last norm "
        "is not part of the circuit."
    )
    plot = _heat("copying", "Copying score", values, circuits, "-1 to 1", (-1.0, 1.0))
    return Content(text, [_ranked(circuits, "copying", "Heads that copy most")], [plot])


def syntax(atlas: Atlas) -> Content:
    """The best head of every relation."""
    if "dependency" not in atlas:
        raise UserError("Syntax: the corpus has no trees", hint="give a treebank, or parse='spacy'")
    table = best_heads(atlas)
    good = table[table["p_corrected"] < 0.05]
    shown = good.assign(gain=good["accuracy"] - good["baseline"]).nlargest(TOP, "gain")
    columns = ["relation", "direction", "n", "baseline", "head", "accuracy", "low", "high"]
    names = {"baseline": "best fixed offset", "p_corrected": "p corrected", "n": "words"}
    text = (
        f"For {len(good)} of {len(table)} relations, some head is right more often than the best "
        "fixed offset (p < 0.05, by documents, corrected). A causal head sees only earlier words, "
        "so that a word can find its head word only where that comes first."
    )
    shown = shown[[name for name in [*columns, "p_corrected"] if name in shown]]
    note = "The ten with the largest gain." if len(good) > TOP else ""
    return Content(text, [_table(shown.rename(columns=names), "Best heads", note=note)])


def attribution(atlas: Atlas) -> Content:
    """Direct logit attribution."""
    values = atlas["logit_attribution"]["mean"].squeeze("token", drop=True)
    text = (
        "What each head adds to the logit of the token that does follow, less the mean over the "
        "vocabulary, on average over tokens. Only the direct path counts: what later layers make "
        f"of a head's output is theirs. All heads together add {float(values.sum()):.2f} logits."
    )
    most = float(abs(values).max())
    plot = _heat("attribution", "Direct logit attribution", values, atlas, "logits", (-most, most))
    low = _ranked(atlas, "logit_attribution", "Heads that lower it most", ascending=True)
    return Content(
        text, [_ranked(atlas, "logit_attribution", "Heads that raise the logit most"), low], [plot]
    )


def retrieval(results: Atlas) -> Content:
    """Retrieval scores, and the check."""
    recovery = retrieval_recovery(results)
    last = recovery.iloc[-1]
    text = (
        "Invented facts are hidden in long texts, and the model is asked for them. A head scores "
        "for each token of the answer to which it attends most in the very step in which the model "
        f"writes it. {int(last['recovered'])} of {int(last['prompts'])} answers were recovered."
    )
    tables = [Table(_records(recovery), title="Answers")]
    heads = retrieval_heads(results, top=TOP)
    if not len(heads):
        return Content(f"{text} So no head has a score.", tables)
    tables.append(_table(heads, "Retrieval heads"))
    if MASKING in results:
        data = results[MASKING]
        columns = {"mean": "recall", "low": "low", "high": "high"}
        columns |= {"difference": "less that of random heads"}
        columns |= {"difference_low": "from", "difference_high": "to"}
        rows = [
            {"disabled": str(name)}
            | {title: float(data[key].sel(disabled=name)) for key, title in columns.items()}
            for name in data["disabled"].values
        ]
        note = (
            "Recall of the answers with heads disabled, with intervals over needles. Heads were "
            "chosen on one half of the needles and disabled on the other. Random heads are of the "
            "same layers."
        )
        tables.append(Table(rows, title="Without retrieval heads", note=note))
    values = results["retrieval"]["mean"]
    plot = _heat("retrieval", "Retrieval score", values, results, "0 to 1", (0.0, 1.0))
    return Content(text, tables, [plot])


def disabling(results: Atlas) -> Content:
    """The loss with groups of heads disabled."""
    table = group_table(results)
    table["heads"] = table["heads"].str.replace(",", ", ")
    settings = results.provenance["settings"]
    names = {"rise": "rise (nats)", "others": "other heads, mean", "most": "other heads, most"}
    text = (
        f"Each of {settings['passages']} passages of {settings['length']} tokens is given to the "
        "model twice, one copy after the other. The first copy is new text; the second, the model "
        "has read. The heads at the top of each role are disabled by setting their output to zero; "
        f"then, for comparison, as many other heads of the same layers, drawn {settings['draws']} "
        "times. The groups overlap; the table lists them."
    )
    note = (
        "The rise of the loss with its 95 % interval over passages. p is the share of draws, the "
        "group among them, with at least such a rise."
    )
    more = repeated_more(results).rename(columns={"more": "more on repeated text (nats)"})
    return Content(
        text,
        [
            _table(table.rename(columns=names), "Loss without heads", note=note),
            _table(more, "Repeated against new text"),
        ],
        [
            Plot(
                "disabling",
                "Loss with heads disabled",
                "Dots are groups of heads with 95 % intervals over passages; grey ticks are draws "
                "of as many other heads of the same layers.",
                group_losses_chart(results),
                wide=True,
            )
        ],
    )


def _two_kinds(
    atlas: Atlas, measure: str, labels: Mapping[str, str], score: str
) -> dict[str, xr.DataArray]:
    """A statistic on text, and its counterpart on random tokens."""
    series = {"on text": atlas[measure]["mean"].sel(labels, drop=True)}
    if "synthetic" in atlas:
        series["on random tokens"] = atlas["synthetic"]["mean"].sel(score=score, drop=True)
    return series


def _kind(atlas: Atlas, on_random: str, on_text: str) -> str:
    return on_random if "synthetic" in atlas else on_text


def _of_repeats(atlas: Atlas, score: str, title: str) -> Table:
    """Ranked by random tokens, or by text where there are none."""
    by = _kind(atlas, f"synthetic:{score}", f"repetition:{score}")
    where = "random tokens" if "synthetic" in atlas else "text"
    return _ranked(atlas, by, f"{title}, by {where}")


def _agreement(series: Mapping[str, xr.DataArray]) -> str:
    if len(series) < 2:
        return f"On text alone: {NO_RANDOM}."
    one, other = (values.transpose("layer", "head").values.ravel() for values in series.values())
    rho = float(scipy.stats.spearmanr(one, other, nan_policy="omit")[0])
    return (
        "On text, and in the second of two copies of 64 random tokens, where only repetition "
        f"helps. The ranks of heads in the two agree with Spearman's ρ = {rho:.2f}."
    )


def _layers(name: str, title: str, series: Mapping[str, xr.DataArray], atlas: Atlas) -> Plot:
    chart = layer_scatter(
        series, title=title, subtitle=subject(atlas.provenance), unit=SHARE, top=1.0
    )
    return Plot(name, title, "One point per head; lines are the means of layers.", chart, wide=True)


def _heat(
    name: str,
    title: str,
    values: xr.DataArray,
    atlas: Atlas,
    unit: str,
    domain: tuple[float, float],
) -> Plot:
    chart = heat_map(
        values, title=title, subtitle=subject(atlas.provenance), unit=unit, domain=domain
    )
    return Plot(name, title, "One square per head.", chart)


def _ranked(atlas: Atlas, by: str, title: str, *, ascending: bool = False) -> Table:
    """The heads at the top of a statistic."""
    frame = atlas.heads(by=by, top=TOP, ascending=ascending)
    frame = frame.rename(columns={frame.columns[2]: "value"})
    return _table(frame, title)


def _table(frame: pd.DataFrame, title: str, *, note: str = "") -> Table:
    if "head" in frame and "zero-based" not in frame and frame["head"].str.match(r"\d+-\d+$").all():
        frame = frame.copy()
        names = [Head.parse(name).zero_based for name in frame["head"]]
        frame.insert(list(frame.columns).index("head") + 1, "zero-based", names)
    return Table(_records(frame), title=title, note=note)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
