"""Sections of a recipe's page: figures of the gallery, and names that differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headscope.figures import find_figure
from headscope.page import Plot, Section
from headscope.results import Atlas


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
