"""What commands print of a run: what could not be used, remarks, and the tables that matter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.console import Console, PrintedTable

if TYPE_CHECKING:
    from headscope.cli.shown import TrackShown
    from headscope.measures.patterns.training import Report
    from headscope.results import Atlas
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
    if console.as_json:
        console.frame(atlas.summary())
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
    from headscope.stats.heads.main_roles import has_main_roles, main_roles
    from headscope.stats.words.describe import descriptions

    table = main_roles(atlas) if has_main_roles(atlas) else None
    if table is None or not (table["excess"] > 0).any():
        statistics = atlas.summary()
        beside = len(statistics) - SHOWN_ROWS
        title = "statistics" if beside <= 0 else f"the first statistics ({beside} more in the file)"
        console.tables([PrintedTable(title, statistics.head(SHOWN_ROWS), "SUMMARY")])
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
        title = "Attention and norm-weighted maps: rank correlation over heads"
        listed = agreement[agreement["measure"].isin(atlas.listed)]
        console.tables([PrintedTable(title, listed, "AGREEMENT")])


def show_emergence(console: Console, atlas: Atlas, options: TrackShown) -> None:
    """When each head got what it has at the last checkpoint."""
    from headscope.cli.tables import EmergenceTable
    from headscope.labels import lost_tokens
    from headscope.results.merge import EXCESS

    for note in atlas.provenance.get("notes", ()):
        console.say(f"note: {note}")
    if lost := lost_tokens(atlas.provenance, split=True):
        console.say(f"* {lost}")
    if not options.by and EXCESS not in atlas.track:
        console.say("no main roles: they need the measures activity, work and spread; see --by")
        return
    if not options.by and not (atlas.track[EXCESS]["passes"].values > 0).any():
        console.say("note: the corpus has too few documents to test roles; see --by and --lines")
    (shown,) = EmergenceTable(by=options.by, threshold=options.threshold).frames(atlas)
    if console.as_json:
        console.frame(shown.frame)
    elif not len(shown.frame):
        console.say("no head is past the threshold at the last checkpoint")
    elif not console.quiet:
        console.tables([shown._replace(frame=shown.frame[: options.top])])
        if (more := len(shown.frame[options.top :])) and options.top:
            console.say(f"{more} more rows: --top {len(shown.frame)}")


# --- comparisons ---


def show_differences(console: Console, first: Path, second: Path) -> None:
    """The differences of two results, by measure."""
    import headscope as hs
    from headscope.results import Atlas
    from headscope.stats import difference_table, not_compared, same_examples

    left, right = Atlas.open(first), Atlas.open(second)
    table = difference_table(left, right)
    for sentence in not_compared(table.attrs, first=str(first), second=str(second)):
        console.paragraph(sentence)
    console.paragraph(
        "Both runs saw the same examples, but results keep only sums, so the test is not paired "
        "and misses small changes. Comparing the two models directly pairs them."
        if same_examples(left, right)
        else "The two runs saw different examples: differences may come from these as well as from "
        "the models."
    )
    if not console.as_json:  # a screen has room for what both files know, and surveys list
        listed = {*left.listed, *right.listed}
        table = table[(table["heads"] > 0) & table["measure"].isin(listed)]
    console.frame(table)
    show_remarks(console, hs.compare(left, right, progress=False))


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
