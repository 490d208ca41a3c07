"""The report of results: one page to explore, as one file or as a folder for large models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from headscope.errors import ResultsError, UserError
from headscope.files import check_writable, write_bytes, write_text
from headscope.page.card import Cards, save_card
from headscope.page.html import page_html
from headscope.page.packs.atlas import atlas_pack
from headscope.page.packs.examples import example_packs
from headscope.page.schema import Boot
from headscope.results import Atlas
from headscope.results.merge import is_circuits, join_all
from headscope.stats.words.summary import model_summary

MOST, FEWEST, TOGETHER = 10, 4, 1700
"""Examples of each head in a report of one file: at most, at least, and of all heads together, so
that a page of 24 × 16 heads stays under 6 MB."""

PICTURE = "card.png"
"""What previews of a link to a folder show: the card of its clearest head."""


def write_report(
    results: Atlas, path: Path, *, others: Sequence[Atlas] = (), figures: bool = False
) -> Path:
    """Write the report of a run as one self-contained page, whole or not at all.

    Parameters
    ----------
    results
        Results of a survey, a comparison, an ablation or a probe.
    path
        The HTML file.
    others
        Further results to compare with. Circuits of a model among them
        (:func:`headscope.circuits`), or its retrieval scores (:func:`headscope.retrieval`), are
        shown with its results.
    figures
        Also draw the figures of the gallery (Altair) into the page. This takes some seconds.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ResultsError
        If it cannot be written.
    """
    check_writable(path, error=ResultsError)
    return _written(path, render(results, others=others, figures=figures))


def render(results: Atlas, *, others: Sequence[Atlas] = (), figures: bool = False) -> str:
    """Return the report as HTML."""
    results, *others = join_all([results, *others])
    layers, heads = results.shape
    packs = report_packs(results, others, figures=figures, most=per_head(layers * heads))
    return page_html(_boot(results, others, "embedded"), packs, about=_said(results))


def per_head(heads: int) -> int:
    """How many examples of each head a report of one file holds.

    Examples
    --------
    >>> per_head(72), per_head(270), per_head(384), per_head(1024)
    (10, 6, 4, 4)
    """
    return max(FEWEST, min(MOST, TOGETHER // max(heads, 1)))


def write_folder(
    results: Atlas, folder: Path, *, others: Sequence[Atlas] = (), figures: bool = False
) -> Path:
    """Write the report as a folder: a page, and one file per head that is loaded when asked for.

    Any static web server can serve it. Browsers do not let a page that was opened from the disk
    load other files, so a local copy needs a server too: ``python -m http.server``.

    Parameters
    ----------
    results, others, figures
        As in :func:`write_report`.
    folder
        The folder; it is made if it does not exist.

    Returns
    -------
    Path
        The page, ``index.html``.
    """
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder} is a file, not a folder", hint="give another folder")
    page = folder / "index.html"
    check_writable(page, error=ResultsError)
    results, *others = join_all([results, *others])
    for name, data in report_packs(results, others, figures=figures, most=None).items():
        target = folder / "data" / f"{name}.pack"
        check_writable(target, error=ResultsError)
        try:
            write_bytes(target, data)
        except UserError as error:
            raise ResultsError(error.message, hint=error.hint, command=error.command) from None
    boot = _boot(results, others, "folder")
    save_card(results, Cards(results).clearest, folder / PICTURE)
    return _written(
        page, page_html(boot, {}, connect="'self'", about=_said(results), picture=PICTURE)
    )


def report_packs(
    results: Atlas,
    others: Sequence[Atlas] = (),
    *,
    figures: bool = False,
    most: int | None = MOST,
) -> dict[str, bytes]:
    """Everything that the page is given, by name.

    Parameters
    ----------
    results, others, figures
        As in :func:`write_report`.
    most
        How many examples of each head; None for all that were kept.
    """
    names = [one.provenance.get("model", {}).get("name", "") for one in (results, *others)]
    packs: dict[str, bytes] = {}
    for number, atlas in enumerate((results, *others)):
        doubled = names.count(names[number]) > 1
        name = f"{names[number]} ({_told_apart(atlas, number)})" if doubled else ""
        packs[_pack_name(number)] = atlas_pack(atlas, name=name, figures=figures and not number)
    return packs | example_packs(results, most=most)


def _said(results: Atlas) -> str:
    """What previews of a link to the report say: the first lines of the summary."""
    lines = model_summary(results)[:2]
    return " ".join("".join(part.text for part in line.parts) for line in lines)


def _told_apart(atlas: Atlas, number: int) -> str:
    """What tells two results of one model apart: their corpus."""
    corpus = atlas.provenance.get("corpus", {}).get("name", "")
    return f"{corpus}, {number + 1}" if corpus else str(number + 1)


def _pack_name(number: int) -> str:
    return "atlas" if number == 0 else f"atlas-{number + 1}"


def _boot(results: Atlas, others: Sequence[Atlas], source: Literal["embedded", "folder"]) -> Boot:
    about = results.provenance
    model, corpus = about.get("model", {}), about.get("corpus", {})
    where = "" if is_circuits(results) else f" on {corpus.get('name', 'corpus')}"
    return {
        "title": f"{model.get('name', 'model')}{where} – Headscope",
        "source": source,
        "atlases": [_pack_name(number) for number in range(1 + len(others))],
    }


def _written(path: Path, text: str) -> Path:
    try:
        return write_text(path, text)
    except UserError as error:
        raise ResultsError(error.message, hint=error.hint, command=error.command) from None
