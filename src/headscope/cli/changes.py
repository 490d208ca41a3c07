"""What an ablation prints: the baseline, and what disabling heads changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headscope.cli.console import Console

if TYPE_CHECKING:
    import pandas as pd

    from headscope.results import Atlas

SHOWN = 5
"""How many of the largest gains and of the largest losses are printed."""


def show_changes(console: Console, atlas: Atlas) -> None:
    """Print the baseline, the largest gains and losses, layers and sets; as JSON every row."""
    from headscope.labels import lost_tokens
    from headscope.stats.ablation import KINDS, change_table

    kinds = [kind for kind, name in KINDS.items() if name in atlas.measures]
    tables = {kind: change_table(atlas, kind) for kind in kinds}
    about = atlas[KINDS[kinds[0]]].attrs
    _show_baseline(console, about, atlas.provenance["counts"])
    if lost := lost_tokens(atlas.provenance, split=False):
        console.say(f"* {lost}")
    if console.as_json:
        rows = [
            _record(kind, about, row)
            for kind, table in tables.items()
            for row in table.to_dict("records")
        ]
        console.table(rows)
        return
    if console.quiet:
        return
    for kind, table in tables.items():
        _show_kind(console, kind, table)
    if "importance_agreement" in atlas.measures:
        table = atlas["importance_agreement"].to_dataframe().reset_index()
        names = {"against": "importance against", "mean": "Spearman", "n": "heads"}
        console.frame(table.rename(columns=names), title="gradient importance and disabling")


def _show_baseline(console: Console, about: dict[str, Any], counts: dict[str, Any]) -> None:
    from headscope.numbers import MISSING, interval
    from headscope.stats.ablation import few_documents
    from headscope.stats.tests import corrected_by

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
    if kind != "head" or len(table) <= 2 * SHOWN:
        console.frame(_formatted(table), title=f"{kind}s disabled")
        return
    console.frame(_formatted(table.head(SHOWN)), title="largest gains")
    console.frame(_formatted(table.tail(SHOWN)[::-1]), title="largest losses")
    sure = table[table["p corrected"] < 0.05]
    gains, losses = int((sure["gain"] > 0).sum()), int((sure["gain"] < 0).sum())
    console.say(
        f"{len(sure)} of {len(table)} heads differ from the baseline (p corrected < 0.05): "
        f"{gains} gain, {losses} lose"
    )


def _formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Scores with four digits, gains with their sign, and p-values as text."""
    from headscope.numbers import p_value

    shown = table.copy()
    for name in shown.columns[1:5]:
        sign = "+" if name in ("gain", "low", "high") else ""
        shown[name] = [_four_digits(value, sign) for value in shown[name]]
    for name in ("p", "p corrected"):
        shown[name] = [p_value(value) for value in shown[name]]
    return shown


def _record(kind: str, about: dict[str, Any], row: dict[Any, Any]) -> dict[str, Any]:
    record = {
        "kind": kind,
        "off": row[f"{kind} off"],
        "metric": about["metric"],
        "baseline": about["baseline"],
        "score": row[about["metric"]],
    }
    names = ("gain", "low", "high", "p", "p corrected")
    return record | {name.replace(" ", "_"): row[name] for name in names}
