"""What commands that run a survey share: checks before torch is loaded, and the summary after."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.console import Console

if TYPE_CHECKING:
    from headscope.results import Atlas

LOST = {
    "truncated": "cut to the maximum length",
    "split": "split into parts",
    "too_long": "dropped as too long",
    "empty": "dropped because they have no tokens",
    "nonfinite": "dropped because their attention was not finite",
    "words_lost": "words without a token",
    "words_unknown": "words that the tokenizer does not know",
}
"""What can happen to examples, for the line after a run."""
COLUMNS = {
    "mean": "mean of heads",
    "strongest": "strongest head",
    "value": "its mean",
    "over": "heads over 0.5",
}


def run_survey(
    console: Console,
    model: str,
    corpus: str,
    output: Path,
    *,
    measures: list[str] | None = None,
    files: Any = (),
    sieves: Any = (),
    maps: Any = "attention",
    shard: str = "1/1",
    examples: int = 32,
    synthetic: bool | None = None,
    null: Sequence[str] = (),
    overwrite: bool = False,
    load: dict[str, Any],
    read: dict[str, Any],
    run: dict[str, Any],
    roles: dict[str, Any] | None = None,
    engine: dict[str, Any] | None = None,
) -> Atlas:
    """Check what can be checked without torch, then load, read and survey."""
    from headscope.corpus import read as read_corpus
    from headscope.files import check_writable
    from headscope.measures.maps import check_maps
    from headscope.measures.registry import cross_measures, needs_of, offered_measures
    from headscope.models.load_options import check_load_options, checked_early
    from headscope.models.names import check_model_name
    from headscope.results.nested import check_nulls
    from headscope.runs.engines import check_engine
    from headscope.runs.settings import check_examples, check_shard, make_settings

    check_examples(examples)
    check_nulls(null)
    check_maps(maps)
    check_writable(output)
    part = check_shard(shard)
    check_model_name(model)
    check_load_options(**checked_early(load))
    make_settings(**run)
    check_engine(**(engine or {}))
    check_measures(measures, files=files, sieves=sieves, cross=run.get("stack") == "cross")
    texts = read_corpus(corpus, **read)
    console.say(texts.first(run["limit"]).preview())
    for note in texts.notes:
        console.say(f"note: {note}")
    with console.status("loading libraries and model"):
        import headscope as hs

        lm = any("lm" in needs_of(name) for name in measures or ())
        loaded = hs.load(model, head="lm" if lm else None, **load)
        annotated = texts.annotations | loaded.capabilities
        cross = run.get("stack") == "cross"
        offered = cross_measures() if cross else offered_measures(annotated)
        chosen = chosen_measures(console, measures, files, sieves, offered, roles)
    for note in loaded.notes:
        console.say(f"note: {note}")
    return hs.survey(
        loaded,
        texts,
        measures=chosen,
        maps=maps,
        shard=part,
        examples=examples,
        synthetic=_sequences(console, synthetic, loaded, run, offered=measures is None),
        null=null,
        output=output,
        overwrite=overwrite,
        progress=console,
        **run,
        **(engine or {}),
    )


def _sequences(
    console: Console, synthetic: bool | None, model: Any, run: dict[str, Any], *, offered: bool
) -> bool:
    """Whether random tokens written twice are run, too; says why not, where that is a surprise."""
    from headscope.runs.synthetic import chosen_sequences

    stack = run.get("stack") or model.main_stack()
    found, why = chosen_sequences(synthetic, model, stack, offered=offered, seed=run["seed"])
    if why:
        console.say(f"note: {why}")
    return found is not None


def check_measures(
    measures: list[str] | None, *, files: Any = (), sieves: Any = (), cross: bool = False
) -> None:
    """Check the names of measures, and that files with measures can be read."""
    from headscope.measures.registry import (
        MEASURES,
        check_python_file,
        cross_measures,
        not_for_cross,
    )

    for file in (*files, *sieves):
        check_python_file(file)
    for name in measures or ():
        if not files:  # a file may define it
            MEASURES.entry(name)
            if cross and name not in cross_measures():
                raise not_for_cross(name)


def chosen_measures(
    console: Console,
    names: list[str] | None,
    files: Any,
    sieves: Any,
    offered: list[str],
    roles: dict[str, Any] | None,
) -> list[Any]:
    """The measures: names, configured roles, and those of the user's files."""
    import headscope as hs
    from headscope.measures import load_measure_file, load_sieves

    for file in sieves:
        console.say(f"sieves of {file}: {', '.join(load_sieves(file))}")
    own = [measure for file in files for measure in load_measure_file(file)]
    given: list[Any] = list(names or offered)
    chosen = roles or {}
    configured = {
        "role": hs.Role(**chosen),
        "dependency": hs.Dependency(subtypes=chosen.get("subtypes", "keep")),
    }
    made = [configured.get(name, name) for name in given]
    if names is None or not own:
        return [*made, *own]
    mine = {measure.name for measure in own}
    return [*(name for name in made if name not in mine), *own]


def show_summary(console: Console, atlas: Atlas, *, table: bool = True) -> None:
    """What could not be used, what the heads do, and a table of all statistics."""
    from headscope.labels import NORM
    from headscope.stats.map_agreement import both_maps

    counts = atlas.provenance["counts"]
    lost = ", ".join(f"{counts[key]} {words}" for key, words in LOST.items() if counts.get(key))
    used = f"{counts['seen']} example{'s' * (counts['seen'] != 1)} used"
    console.say(f"{used}; {lost or 'nothing cut or dropped'}")
    for name in [*counts["dropped"], *counts["nonfinite_examples"]][:5]:
        console.say(f"  skipped: {name}")
    for remark in atlas.remarks():
        console.say(f"* {remark}")
    if console.as_json:
        console.frame(atlas.summary().rename(columns=COLUMNS))
    elif table and not console.quiet:  # quiet: the path alone
        shown = atlas.summary().rename(columns=COLUMNS)
        beside = [f"{NORM}{name}" for name in both_maps(atlas)]  # shown in a table of their own
        if beside:
            shown = shown[~shown["measure"].isin(beside)]
        console.frame(shown.drop(columns=["label", "heads"], errors="ignore"))
        _show_agreement(console, atlas)


def _show_agreement(console: Console, atlas: Atlas) -> None:
    """How far attention and norm-weighted maps agree, where results have both."""
    from headscope.stats.map_agreement import both_maps, map_agreement

    if both_maps(atlas):
        found = map_agreement(atlas)
        table = found[found["measure"].isin(atlas.listed)].drop(columns=["label", "heads"])
        names = {"attention": "mean, attention", "norm": "mean, norm-weighted"}
        console.frame(
            table.rename(columns=names | {"strongest norm": "strongest, norm-weighted"}),
            title="Attention and norm-weighted maps: rank correlation over heads",
        )


NULL_COLUMNS = {
    "null_mean": "mean of null",
    "low": "band from",
    "high": "to",
    "beyond": "share beyond",
}


def show_nulls(console: Console, atlas: Atlas, output: Path, *, top: int | None = 12) -> None:
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
    from headscope.results.nested import NULL_WORDS
    from headscope.stats.nulls import null_table

    table = null_table(atlas)
    if console.as_json:
        console.frame(table)
        return
    for null, rows in table.groupby("null", sort=False):
        shown = rows.sort_values("beyond", ascending=False, kind="stable").head(top or len(rows))
        columns = ["statistic", "mean", "null_mean", "low", "high", "above", "below", "beyond"]
        title = f"beside {NULL_WORDS[str(null)]}: heads beyond the middle 95 % of the null's heads"
        console.frame(shown[columns].rename(columns=NULL_COLUMNS), title=title)
    if top is not None and len(table):
        console.say(f"all statistics beside their null models: headscope heads {output} --nulls")
