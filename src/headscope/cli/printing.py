"""What commands print of a run: what could not be used, remarks, and the tables that matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.console import Console

if TYPE_CHECKING:
    import pandas as pd

    from headscope.cli.shown import TrackShown
    from headscope.measures.patterns.training import Report
    from headscope.results import Atlas
    from headscope.runs.ablate.prune import Pruned
    from headscope.runs.tune import Tuned

# What can happen to examples, for the line after a run.
LOST = {
    "truncated": "cut to the maximum length",
    "split": "split into parts",
    "too_long": "dropped as too long",
    "empty": "dropped because they have no tokens",
    "nonfinite": "dropped because their attention was not finite",
    "words_lost": "words without a token",
    "words_unknown": "words that the tokenizer does not know",
}
SHOWN_CHANGES = 5  # gains, and losses
SHOWN_HEADS = 3
SHOWN_ROWS = 10


# --- surveys ---


def show_remarks(console: Console, atlas: Atlas) -> None:
    """What results say, in sentences: the last thing that is printed of a run."""
    for remark in atlas.remarks():
        console.paragraph(remark, mark="* ")


def show_summary(console: Console, atlas: Atlas, *, table: bool = True) -> None:
    """The clearest heads, what could not be used, and what the heads do in sentences.

    What matters comes last, where a terminal shows it. With JSON, all statistics.
    """
    from headscope.results.columns import SUMMARY, for_people

    if console.as_json:
        console.frame(for_people(atlas.summary(), SUMMARY))
    elif table and not console.quiet:  # quiet: the path alone
        _show_clearest(console, atlas)
        _show_agreement(console, atlas)
    counts = atlas.provenance["counts"]
    lost = ", ".join(f"{counts[key]} {words}" for key, words in LOST.items() if counts.get(key))
    used = f"{counts['seen']} example{'s' * (counts['seen'] != 1)} used"
    console.say(f"{used}; {lost or 'nothing cut or dropped'}")
    for name in [*counts["dropped"], *counts["nonfinite_examples"]][:5]:
        console.say(f"  skipped: {name}")
    show_remarks(console, atlas)


def _show_clearest(console: Console, atlas: Atlas) -> None:
    """The heads whose role is clearest, with what they do; without roles, a few statistics."""
    from headscope.results.columns import SUMMARY, for_people
    from headscope.stats.heads.main_roles import has_main_roles, main_roles
    from headscope.stats.words.describe import descriptions

    table = main_roles(atlas) if has_main_roles(atlas) else None
    if table is None or not (table["excess"] > 0).any():
        shown = for_people(atlas.summary(), SUMMARY).drop(columns=["label"], errors="ignore")
        beside = len(shown) - SHOWN_ROWS
        title = "statistics" if beside <= 0 else f"the first statistics ({beside} more in the file)"
        console.frame(shown.head(SHOWN_ROWS), title=title)
        return
    said = descriptions(atlas)
    clearest = table[table["excess"].notna()].sort_values("excess", ascending=False)
    rows = [
        {
            "head": row["head"],
            "above chance": row["excess"],
            "what it does": said[str(row["head"])].lead,
        }
        for row in clearest.head(SHOWN_ROWS).to_dict("records")
    ]
    console.table(rows, title="clearest heads, by the share of active attention above chance")


def _show_agreement(console: Console, atlas: Atlas) -> None:
    """How far attention and norm-weighted maps agree, where results have both."""
    from headscope.stats.tables.alike import both_maps, map_agreement

    if both_maps(atlas):
        agreement = map_agreement(atlas)
        listed = agreement["measure"].isin(atlas.listed)
        names = {"attention": "mean, attention", "norm": "mean, norm-weighted"}
        console.frame(
            agreement[listed]
            .drop(columns=["label", "heads"])
            .rename(columns=names | {"strongest norm": "strongest, norm-weighted"}),
            title="Attention and norm-weighted maps: rank correlation over heads",
        )


def show_nulls(console: Console, atlas: Atlas, output: str | Path, *, top: int | None = 12) -> None:
    """The statistics in which most heads are beyond the null models' bands; with JSON, nothing.

    Parameters
    ----------
    console
        Where to print.
    atlas
        The results; without null models nothing is printed.
    output
        The results file, for the command that prints all rows.
    top
        How many rows per null model; None for all, with JSON too.
    """
    if not atlas.nulls or console.quiet or (console.as_json and top is not None):
        return
    from headscope.results.columns import NULLS, for_people
    from headscope.results.merge import NULL_WORDS
    from headscope.stats.tables.alike import null_table

    table = null_table(atlas)
    if console.as_json:
        console.frame(table)
        return
    for null, rows in table.groupby("null", sort=False):
        shown = rows.sort_values("beyond", ascending=False, kind="stable").head(top or len(rows))
        title = f"beside {NULL_WORDS[str(null)]}: heads beyond the middle 95 % of the null's heads"
        console.frame(for_people(shown, NULLS), title=title)
    if top is not None and len(table):
        console.say(f"all statistics beside their null models: headscope heads {output} --nulls")


def show_emergence(console: Console, atlas: Atlas, options: TrackShown) -> None:
    """When each head got what it has at the last checkpoint."""
    from headscope.labels import lost_tokens
    from headscope.results.columns import EMERGENCE, for_people
    from headscope.results.merge import EXCESS
    from headscope.stats.tables.track import emergence

    for note in atlas.provenance.get("notes", ()):
        console.say(f"note: {note}")
    if lost := lost_tokens(atlas.provenance, split=True):
        console.say(f"* {lost}")
    by = options.by
    if not by and EXCESS not in atlas.track:
        console.say("no main roles: they need the measures activity, work and spread; see --by")
        return
    table = emergence(atlas, by=by, threshold=options.threshold)
    if not by and not (atlas.track[EXCESS]["passes"].values > 0).any():
        console.say("note: the corpus has too few documents to test roles; see --by and --lines")
    if console.as_json:
        console.frame(table)
        return
    if console.quiet:
        return
    if not len(table):
        console.say("no head is past the threshold at the last checkpoint")
        return
    shown = for_people(table.head(options.top), EMERGENCE)
    if atlas.track.steps is None:
        shown = shown.drop(columns="step")
    console.frame(shown, title="the first checkpoint from which each head stays past the threshold")
    if len(table) > options.top:
        console.say(f"{len(table) - options.top} more rows: --top {len(table)}")


# --- comparisons ---


def show_differences(console: Console, first: Path, second: Path) -> None:
    """The differences of two results, by measure."""
    import headscope as hs
    from headscope.results import Atlas
    from headscope.stats import difference_table, not_compared, same_examples

    one, other = Atlas.open(first), Atlas.open(second)
    table = difference_table(one, other)
    for sentence in not_compared(table.attrs, first=str(first), second=str(second)):
        console.paragraph(sentence)
    console.paragraph(
        "Both runs saw the same examples, but results keep only sums, so the test is not paired "
        "and misses small changes. Comparing the two models directly pairs them."
        if same_examples(one, other)
        else "The two runs saw different examples: differences may come from these as well as from "
        "the models."
    )
    if not console.as_json:  # a screen has room for what both files know, and surveys list
        listed = {*one.listed, *other.listed}
        table = table[(table["heads"] > 0) & table["measure"].isin(listed)]
    console.frame(table)
    show_remarks(console, hs.compare(one, other, progress=False))


def show_comparison(console: Console, atlas: Atlas, *, split: bool) -> None:
    """How alike the maps of two models are, and the paired differences that were asked for."""
    from headscope.labels import lost_tokens
    from headscope.measures.distance import Change
    from headscope.stats import cosine_table, paired_table

    paired = [name for name in atlas.measures if name != Change.name]
    tables = [cosine_table(atlas), *([paired_table(atlas)] if paired else [])]
    if console.as_json:
        rows = [row for table in tables for row in table.to_dict("records")]
        console.table([{str(key): value for key, value in row.items()} for row in rows])
    elif not console.quiet:
        for table in tables:
            console.frame(table)
    if lost := lost_tokens(atlas.provenance, split=split):
        console.paragraph(lost, mark="* ")
    show_remarks(console, atlas)


# --- disabled heads ---


def show_changes(console: Console, atlas: Atlas) -> None:
    """The baseline, the largest gains and losses, layers and sets; as JSON every row."""
    from headscope.labels import lost_tokens
    from headscope.stats.tables.ablation import KINDS, change_table

    kinds = [kind for kind, name in KINDS.items() if name in atlas.measures]
    if not kinds:
        _show_importance(console, atlas)
        return
    tables = {kind: change_table(atlas, kind) for kind in kinds}
    about = atlas[KINDS[kinds[0]]].attrs
    _show_baseline(console, about, atlas.provenance["counts"])
    if lost := lost_tokens(atlas.provenance, split=False):
        console.paragraph(lost, mark="* ")
    if console.as_json:
        rows = ((kind, row) for kind in kinds for row in tables[kind].to_dict("records"))
        console.table([_change_record(kind, about, row) for kind, row in rows])
        return
    if console.quiet:
        return
    for kind, table in tables.items():
        _show_kind(console, kind, table)
    if "importance_agreement" in atlas.measures:
        table = atlas["importance_agreement"].to_dataframe().reset_index()
        names = {"against": "importance against", "mean": "Spearman", "n": "heads"}
        console.frame(table.rename(columns=names), title="gradient importance and disabling")
    show_remarks(console, atlas)


def _show_importance(console: Console, atlas: Atlas) -> None:
    """Gradient importance alone: the heads with the most and the least; as JSON all."""
    table = atlas.heads(by="importance")
    if console.as_json or len(table) <= 2 * SHOWN_CHANGES:
        console.frame(table, title="gradient importance")
    elif not console.quiet:
        console.frame(table.head(SHOWN_CHANGES), title="most important heads")
        console.frame(table.tail(SHOWN_CHANGES)[::-1], title="least important heads")


def show_pruned(console: Console, pruned: Pruned) -> None:
    """The score after each step beside random choices, then what was removed and what it cost."""
    from headscope.numbers import percent
    from headscope.stats.tables.ablation import few_documents

    names = {pruned.metric: "mean", "low": "low", "high": "high", "change": "difference"}
    names |= {"random": "random", "random lowest": "random_low", "random highest": "random_high"}
    rows = [
        {
            "heads removed": step["removed"],
            "share": f"{percent(step['removed'] / pruned.of)} %",
            **{key: _four_digits(step[name]) for key, name in names.items()},
            "model": "saved" if step == pruned.last else "",
        }
        for step in pruned.curve
    ]
    console.table(pruned.curve if console.as_json else rows, title="pruning")
    if few := few_documents(pruned.documents, pruned.documents):
        console.say(f"warning: {few}")
    console.paragraph(pruned.sentence)


def _show_baseline(console: Console, about: dict[str, Any], counts: dict[str, Any]) -> None:
    from headscope.numbers import MISSING, interval
    from headscope.stats.inference.correction import corrected_by
    from headscope.stats.tables.ablation import few_documents

    more = "more" if about["better"] == "higher" else "less"
    ends = interval(about["baseline_low"], about["baseline_high"], form=_four_digits)
    undefined = " (not defined on these examples)" if ends == MISSING else ""
    console.say(
        f"baseline: {about['metric']} {_four_digits(about['baseline'])} {ends}{undefined}, "
        f"{counts['seen']} examples"
        + (f", {counts['nonfinite']} skipped" if counts["nonfinite"] else "")
        + f"; a gain is {more} {about['metric']}; "
        f"p from {about['resamples']} resamples, {corrected_by(about['correction'])}"
    )
    few = few_documents(about.get("documents", counts["seen"]), counts["seen"])
    if few:
        console.say(f"warning: {few}")


def _four_digits(value: Any, sign: str = "") -> str:
    """Four digits; a dash where a value is not defined."""
    from headscope.numbers import MISSING

    return MISSING if value is None or value != value else f"{value:{sign}.4f}"


def _show_kind(console: Console, kind: str, table: pd.DataFrame) -> None:
    if kind != "head" or len(table) <= 2 * SHOWN_CHANGES:
        console.frame(_formatted_changes(table), title=f"{kind}s disabled")
        return
    console.frame(_formatted_changes(table.head(SHOWN_CHANGES)), title="largest gains")
    console.frame(_formatted_changes(table.tail(SHOWN_CHANGES)[::-1]), title="largest losses")


def _formatted_changes(table: pd.DataFrame) -> pd.DataFrame:
    """Scores with four digits, gains with their sign, and p-values as text."""
    from headscope.numbers import p_value

    shown = table.copy()
    for name in shown.columns[1:5]:
        sign = "+" if name in ("gain", "low", "high") else ""
        shown[name] = [_four_digits(value, sign) for value in shown[name]]
    for name in ("p", "p corrected"):
        shown[name] = [p_value(value) for value in shown[name]]
    return shown


def _change_record(kind: str, about: dict[str, Any], row: dict[Any, Any]) -> dict[str, Any]:
    record = {
        "kind": kind,
        "off": row[f"{kind} off"],
        "metric": about["metric"],
        "baseline": about["baseline"],
        "score": row[about["metric"]],
    }
    names = ("gain", "low", "high", "p", "p corrected")
    return record | {name.replace(" ", "_"): row[name] for name in names}


# --- probes ---


def show_probes(console: Console, atlas: Atlas, n: int | None) -> None:
    """Test scores by task, with the best heads; the means over repeated splits; remarks."""
    from headscope.stats.tables.probing import (
        probing_remarks,
        small_test_text,
        small_tests,
        top_table,
    )

    if console.as_json:
        console.frame(top_table(atlas, n=n))
    elif not console.quiet:
        title = (
            f"Test scores in percent of {atlas.provenance['model']['name']}; layers and heads are "
            "chosen by validation scores"
        )
        console.table(_probe_rows(atlas, n), title=title)
        _show_splits(console, atlas)
    small = small_test_text(small_tests(atlas))
    for remark in [*probing_remarks(atlas), *([small] if small else [])]:
        console.paragraph(remark, mark="* ")
    show_remarks(console, atlas)


def _probe_rows(atlas: Atlas, n: int | None) -> list[dict[str, object]]:
    """Scores in percent, and the best heads by name."""
    from headscope.stats.tables.probing import head_table, top_table

    table = top_table(atlas, n=n).to_dict("records")
    rows: list[dict[str, object]] = []
    for name, row in zip(atlas["probe"]["task"].values, table, strict=True):
        best = head_table(atlas, str(name), count=SHOWN_HEADS).to_dict("records")
        rows.append(
            {
                "task": row["task"],
                "majority": _percent(row["majority"]),
                **({"embeddings": _percent(row["embeddings"])} if "embeddings" in row else {}),
                "last layer": _percent(row["last"]),
                "best layer": f"{_percent(row['best'])} ({row['best layer']})",
                f"top {row['n']} heads": _percent(row["top"]),
                f"greedy {row['n']}": _percent(row["greedy"]),
                "best heads": ", ".join(f"{one['head']} {100 * one['test']:.1f}" for one in best),
            }
        )
    return rows


def _show_splits(console: Console, atlas: Atlas) -> None:
    """Print the means over repeated splits, if there are any."""
    from headscope.page.probing import split_rows
    from headscope.stats.tables.probing import TOP, split_table, split_text

    if TOP in atlas.measures:
        table = split_table(atlas)
        title = f"Means over {table['splits'][0]} random splits, with 95 % intervals"
        console.table(split_rows(table), title=title)
        console.paragraph(split_text(atlas), mark="* ")


def _percent(value: object) -> str:
    return "–" if not isinstance(value, float) or value != value else f"{value:.1f}"


# --- tuned models ---


def show_tuned(console: Console, several: Sequence[Tuned], *, seeds: int) -> None:
    """Dev scores of tuned models: as JSON one row per run, else one per task."""
    median = f", median of {seeds} seeds" if seeds > 1 else ""
    rows = map(_tuned_record, several) if console.as_json else _tuned_rows(several)
    console.table([*rows], title=f"Dev scores in percent{median}")


def _tuned_rows(several: Sequence[Tuned]) -> list[dict[str, Any]]:
    """Table 1 of Kovaleva et al.; with a pooling, without the published scores."""
    from headscope.papers.kovaleva2019_tuned import table_rows

    rows, pooling = table_rows(several), several[0].pooling
    if pooling is None:
        return rows
    seen = {"pooling": pooling.title, "position": pooling.position}
    shown = []
    for row in rows:
        ours = {key: value for key, value in row.items() if not key.endswith(": paper")}
        ours = {key.removesuffix(": here"): value for key, value in ours.items()}
        shown.append({"task": ours.pop("task"), **seen, **ours})
    return shown


def _tuned_record(tuned: Tuned) -> dict[str, Any]:
    """One run as a flat record, scores from 0 to 1."""
    settings = tuned.settings
    record = {
        "task": tuned.task.name,
        "start": settings.start,
        "seed": settings.seed,
        "epochs": settings.epochs,
        **tuned.examples,
        **tuned.scores,
    }
    record |= {f"majority {name}": value for name, value in tuned.majority.items()}
    if tuned.pooling:
        record |= {"pooling": tuned.pooling.title, "position": tuned.pooling.position}
    return record | {"minutes": round(tuned.minutes, 2), "folder": str(tuned.folder)}


# --- the network of pattern classes ---


def show_report(console: Console, report: Report, *, title: str = "") -> None:
    """Scores by class, and unless a machine reads it the confusion matrix."""
    console.frame(
        report.classes.reset_index(),
        title=f"{title}: scores by class" if title else "Scores by class",
    )
    if not console.as_json:
        console.frame(
            report.confusion.reset_index(), title="Labels (rows) and what the network says"
        )


def show_network_check(console: Console, network: Path | None, picture: Path | None) -> None:
    """How well a network does on the built-in labelled maps that it was not trained on."""
    from headscope.labelling.retrain import check_tables
    from headscope.measures.patterns.labels import read_labelled
    from headscope.measures.patterns.network import SHIPPED, load_network
    from headscope.measures.patterns.training import evaluate

    labelled = read_labelled()
    held = labelled.part(split="test")
    report = evaluate(load_network(network or SHIPPED), held)
    tables = check_tables(labelled, report.predicted)
    mean = tables["class"].iloc[-1]
    scores = (
        f"macro-F1 {report.f1:.3f} ({mean['low']:.3f}–{mean['high']:.3f}), accuracy "
        f"{report.accuracy:.3f}"
    )
    console.say(
        f"{scores} on {len(held)} held-out maps of {len(labelled)} (published: F1 0.86 on about "
        "400 maps)"
    )
    show_report(console, report)
    if not console.as_json:
        for name, table in tables.items():
            console.frame(table, title=f"F1 by {name}, with 95 % intervals (bootstrap over heads)")
        console.say("a mean F1 is over the classes that occur among the labels")
    if picture is not None:
        from headscope.figures import confusion_map, save_chart

        chart = confusion_map(
            report.confusion,
            title="Labels against the network",
            subtitle=f"{len(held)} held-out maps, {scores}",
        )
        console.result(str(save_chart(chart, picture)))
