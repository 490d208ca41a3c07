"""Sections of a recipe's page: figures of the gallery, and names that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.figures import find_figure
from headscope.page import Plot, Section
from headscope.results import Atlas

SIDE_BY_SIDE = 8
"""Two charts with so many layers fit beside each other on a page."""


def with_suffix(section: Section, suffix: str, *, title: str = "") -> Section:
    """Tell one of several sections of a kind from the others.

    Parameters
    ----------
    section
        The section.
    suffix
        Ends the section's anchor and the names of its plots and tables.
    title
        A new title.

    Returns
    -------
    Section
        The section with other names and the same contents.

    Examples
    --------
    >>> with_suffix(Section("change", "Change"), "rte", title="RTE: change").id
    'change-rte'
    """
    return replace(
        section,
        id=f"{section.id}-{suffix}",
        title=title or section.title,
        plots=[replace(plot, name=f"{plot.name}-{suffix}") for plot in section.plots],
        tables=[
            replace(table, id=f"{table.id}-{suffix}" if table.id else "")
            for table in section.tables
        ],
    )


def gallery_plots(results: Atlas, *names: str) -> list[Plot]:
    """Draw figures of the gallery.

    Parameters
    ----------
    results
        What to draw.
    names
        The figures' names, as ``headscope figures`` knows them.

    Returns
    -------
    list of Plot
        The charts with their captions.
    """
    figures = [find_figure(name, results) for name in names]
    return [Plot(item.name, item.title, item.caption, item.draw(results)) for item in figures]


def readable(plots: Sequence[Plot], *, layers: int) -> list[Plot]:
    """Give charts of many layers the whole width of the page, so that their text is not shrunk.

    Parameters
    ----------
    plots
        Charts with the layers side by side.
    layers
        How many there are.

    Returns
    -------
    list of Plot
        The same charts; those of few layers still stand two in a row.

    Examples
    --------
    >>> plot = Plot("entropy", "Entropy", "", None)
    >>> [readable([plot], layers=layers)[0].wide for layers in (6, 12)]
    [False, True]
    """
    return [replace(plot, wide=plot.wide or layers > SIDE_BY_SIDE) for plot in plots]


def run_rows(about: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """List what was run on what, one row per run.

    Parameters
    ----------
    about
        The provenance of every run, by name.

    Returns
    -------
    list of dict
        The model and the corpus with the beginning of their digests, how many examples were used
        and cut, the seed, and when it was run. What a run does not say is missing.

    Examples
    --------
    >>> run = {"corpus": {"name": "data/ewt.conllu", "sha256": "0123456789abcdef"}}
    >>> run_rows({"dependency": run | {"counts": {"seen": 12}}})[0]["corpus"]
    'ewt.conllu (0123456789)'
    """
    rows = []
    for name, run in about.items():
        model, corpus, counts = (run.get(key, {}) for key in ("model", "corpus", "counts"))
        rows.append(
            {
                "run": name,
                "model": _digested(model.get("name"), model.get("weights")),
                "corpus": _digested(corpus.get("name"), corpus.get("sha256")),
                "examples": counts.get("seen"),
                "cut": counts.get("truncated"),
                "seed": run.get("settings", {}).get("seed"),
                "made": run.get("created"),
            }
        )
    return rows


def _digested(name: str | None, digest: str | None) -> str | None:
    """A name with the beginning of a digest; paths without their folders."""
    if name is None:
        return None
    short = Path(name).name if len(Path(name).parts) > 2 or Path(name).suffix else name
    return f"{short} ({digest[:10]})" if digest else short


def short_name(name: str) -> str:
    """Shorten a path to its last part; a hub id stays whole.

    Parameters
    ----------
    name
        A hub id, or the path of a folder or file.

    Returns
    -------
    str
        What readers call it.

    Examples
    --------
    >>> short_name("google/electra-small-discriminator")
    'google/electra-small-discriminator'
    """
    return Path(name).resolve().name if Path(name).exists() else name


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    Parameters
    ----------
    number
        How many.
    noun
        The noun in the singular.

    Returns
    -------
    str
        The noun is in the plural unless there is one.

    Examples
    --------
    >>> counted(1, "epoch"), counted(0, "loss"), counted(1204, "seed")
    ('1 epoch', '0 losses', '1,204 seeds')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def as_sentence(note: str) -> str:
    """Write a note as a sentence: a capital letter at the start, a full stop at the end.

    Parameters
    ----------
    note
        A note without them.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> as_sentence("all tasks: at most 60 examples")
    'All tasks: at most 60 examples.'
    """
    return f"{note[:1].upper()}{note[1:].removesuffix('.')}."
