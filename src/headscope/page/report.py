"""Pages as files: the report of results, as one file or as a folder for large models; documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Literal, TypedDict
from urllib.parse import quote

from headscope.errors import ResultsError, UserError
from headscope.files import check_folder, check_writable, write_bytes, write_text
from headscope.page.card import Cards, save_card
from headscope.page.document import Document
from headscope.page.html import about_page, page_html
from headscope.page.packs.atlas import atlas_pack
from headscope.page.packs.examples import example_packs
from headscope.page.packs.pack import pack
from headscope.page.packs.sections import document_content
from headscope.page.schema import Beside, Boot
from headscope.results import Atlas
from headscope.results.merge import is_circuits, join_all
from headscope.stats.words.summary import model_summary

MOST, FEWEST, TOGETHER = 10, 4, 1700
"""Examples of each head in a report of one file: at most, at least, and of all heads together, so
that a page of 24 × 16 heads stays under 6 MB."""

PICTURE = "card.png"
"""What previews of a link to a folder show: the card of its clearest head."""


def write_report(
    results: Atlas,
    path: Path,
    *,
    others: Sequence[Atlas] = (),
    figures: bool = False,
    picture: str = "",
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
    picture
        The address of a picture for previews of links to the page.

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
    text = render(results, others=others, figures=figures, path=path, picture=picture)
    return _written(path, text)


def render(
    results: Atlas,
    *,
    others: Sequence[Atlas] = (),
    figures: bool = False,
    path: Path | None = None,
    picture: str = "",
) -> str:
    """Return the report as HTML. With the path of its file, it links to pages beside that."""
    results, *others = join_all([results, *others])
    layers, heads = results.shape
    packs = report_packs(results, others, figures=figures, **for_one_file(layers * heads))
    boot = _boot(results, others, "embedded", path)
    about, says = _about("Report", results), _said(results)
    return page_html(boot, packs, about=about, says=says, picture=picture)


def render_document(document: Document, *, path: Path | None = None) -> str:
    """Return a document as HTML: its sections below the grid of its first atlas.

    Every text is escaped, and nothing is loaded. With the path of its file, it links to pages
    beside that.
    """
    results = join_all(document.atlases) if document.atlases else []
    shape = results[0].shape if results else (0, 0)
    boot: Boot = {
        "title": f"{document.label}: {document.title}",
        "source": "embedded",
        "atlases": [_pack_name(number) for number in range(len(results))],
        "document": document.label,
    }
    packs = {"document": pack(*document_content(document, shape))}
    about, says = {"title": document.label}, document.subtitle
    if results:
        first, *others = results
        packs |= report_packs(first, others, **for_one_file(shape[0] * shape[1]))
        about = _about(document.label, first)
        boot["beside"] = pages_beside(path, about["weights"], document=True)
    return page_html(boot, packs, about=about, says=says)


def write_document(document: Document, path: Path) -> Path:
    """Write a document, whole or not at all.

    Parameters
    ----------
    document : Document
        The page.
    path : Path
        The file. Folders on the way are made.

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
    return _written(path, render_document(document, path=path))


class Kept(TypedDict):
    """What a page holds of the examples of each head: how many, and whether only the largest links."""  # noqa: E501

    most: int | None
    compact: bool


def for_one_file(heads: int) -> Kept:
    """What a page of one file holds of the examples of each head, so that it stays small.

    Examples
    --------
    >>> for_one_file(72), for_one_file(384)
    ({'most': 10, 'compact': False}, {'most': 4, 'compact': False})
    >>> for_one_file(1920)
    {'most': 4, 'compact': True}
    """
    most = max(FEWEST, min(MOST, TOGETHER // max(heads, 1)))
    return {"most": most, "compact": most * heads > TOGETHER}


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
    check_folder(folder, error=ResultsError)
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
    boot = _boot(results, others, "folder", page)
    save_card(results, Cards(results).clearest, folder / PICTURE)
    about, says = _about("Report", results), _said(results)
    text = page_html(boot, {}, connect="'self'", about=about, says=says, picture=PICTURE)
    return _written(page, text)


def report_packs(
    results: Atlas,
    others: Sequence[Atlas] = (),
    *,
    figures: bool = False,
    most: int | None = MOST,
    compact: bool = False,
) -> dict[str, bytes]:
    """Everything that the page is given, by name.

    Parameters
    ----------
    results, others, figures
        As in :func:`write_report`.
    most, compact
        What is there of the examples of each head; see :func:`example_packs`.
    """
    names = [atlas.provenance.get("model", {}).get("name", "") for atlas in (results, *others)]
    packs: dict[str, bytes] = {}
    for number, atlas in enumerate((results, *others)):
        doubled = names.count(names[number]) > 1
        name = f"{names[number]} ({_told_apart(atlas, number)})" if doubled else ""
        packs[_pack_name(number)] = atlas_pack(
            atlas, name=name, figures=figures and not number, compact=compact
        )
    return packs | example_packs(results, most=most, compact=compact)


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


def _boot(
    results: Atlas,
    others: Sequence[Atlas],
    source: Literal["embedded", "folder"],
    path: Path | None,
) -> Boot:
    about = results.provenance
    model, corpus = about.get("model", {}), about.get("corpus", {})
    where = "" if is_circuits(results) else f" on {corpus.get('name', 'corpus')}"
    return {
        "title": f"{model.get('name', 'model')}{where} – Headscope",
        "source": source,
        "atlases": [_pack_name(number) for number in range(1 + len(others))],
        "beside": pages_beside(path, weights_of(results)),
    }


# --- Pages that link to each other ---

MANY = 200
"""Files that are looked at in each place."""


def pages_beside(path: Path | None, weights: str, *, document: bool = False) -> list[Beside]:
    """Other pages about the same weights near a file, as links from it.

    Beside a report, and in folders there; a document has a folder of its own, and the report of
    its model is beside or above it.
    """
    if path is None or not weights:
        return []
    here = path.resolve()
    folder = here.parent
    further = folder.parent.glob("*.html") if document else folder.glob("*/*.html")
    pages = sorted(
        {page.resolve() for some in (folder.glob("*.html"), further) for page in islice(some, MANY)}
        - {here}
    )
    said = [(page, about_page(page)) for page in pages]
    return [
        {
            "title": about.get("title", page.stem),
            "href": quote(os.path.relpath(page, here.parent).replace(os.sep, "/")),
        }
        for page, about in said
        if about.get("weights") == weights
    ]


def _about(title: str, results: Atlas) -> dict[str, str]:
    return {"title": title, "weights": weights_of(results)}


def weights_of(results: Atlas) -> str:
    """The digest of the weights that some results are of."""
    return str(results.provenance.get("model", {}).get("weights", ""))


def _written(path: Path, text: str) -> Path:
    try:
        return write_text(path, text)
    except UserError as error:
        raise ResultsError(error.message, hint=error.hint, command=error.command) from None
