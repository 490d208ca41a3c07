"""A gallery: a static site of several models, one grid each, and the papers' claims across them.

Every model has a folder with its report. The front page holds all it shows, so that the site works
from any web server, and from the disk as long as the models are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from headscope.errors import ResultsError, UserError
from headscope.files import check_folder, check_writable, slug, write_bytes
from headscope.page.card import Cards, save_card
from headscope.page.html import about_page, pack_of, page_html
from headscope.page.packs.atlas import atlas_content
from headscope.page.packs.pack import pack
from headscope.page.report import PICTURE, for_one_file, weights_of, write_folder, write_report
from headscope.page.schema import AtlasDocument, Boot, Claims, Gallery, GalleryModel
from headscope.results import Atlas
from headscope.results.export import citations
from headscope.results.merge import join_all

INDEX = "index.html"
SHOWN = frozenset({"roles/family", "roles/second", "roles/excess", "roles/borderline"})
"""The arrays of an atlas that the front page shows."""


@dataclass(frozen=True)
class Paper:
    """The page of a paper, or a portrait, about one of the models."""

    path: Path
    title: str
    weights: str
    claims: tuple[tuple[str, str], ...]
    """What the paper says, and whether it holds."""


def write_gallery(
    models: Sequence[Atlas],
    folder: str | Path,
    *,
    papers: Sequence[str | Path] = (),
    figures: bool = False,
) -> Path:
    """Write a static site of several models: a front page, and a folder with the report of each.

    Parameters
    ----------
    models
        Results, in the order of the page. Circuits and retrieval scores are joined to the results
        of the same model.
    folder
        The folder; it is made if it does not exist.
    papers
        Pages made by ``headscope paper`` or ``headscope portrait`` about these models. They are
        copied into the site, and their claims are compared.
    figures
        Also draw all figures into the reports.

    Returns
    -------
    Path
        The front page.

    Raises
    ------
    ResultsError
        If a page is about none of the models, or something cannot be written.
    """
    folder, index = Path(folder), Path(folder) / INDEX
    if not models:
        raise UserError(
            "a site needs the results of one model or more; got none",
            hint="give results, such as [hs.open('a.nc'), hs.open('b.nc')]",
        )
    check_folder(folder, error=ResultsError)
    atlases = join_all(models)
    pages = [read_paper(Path(path)) for path in papers]
    check_papers(pages, atlases)
    check_writable(index, error=ResultsError)
    names = _names(atlases)
    shown: list[GalleryModel] = []
    packs: dict[str, bytes] = {}
    for number, (atlas, name) in enumerate(zip(atlases, names, strict=True)):
        others = [other for other in atlases if other is not atlas and other.shape == atlas.shape]
        own = folder / name
        mine = _file_names([paper for paper in pages if paper.weights == weights_of(atlas)])
        for file, paper in mine.items():
            write_bytes(own / file, paper.path.read_bytes())
        save_card(atlas, Cards(atlas).clearest, own / PICTURE)
        if not for_one_file(atlas.shape[0] * atlas.shape[1])["compact"]:
            write_report(atlas, own / INDEX, others=others, figures=figures, picture=PICTURE)
        else:
            write_folder(atlas, own, others=others, figures=figures)
        shown.append(
            {
                "folder": name,
                "papers": [
                    {
                        "title": paper.title,
                        "href": quote(f"{name}/{file}"),
                        "verdicts": [verdict for _, verdict in paper.claims],
                    }
                    for file, paper in mine.items()
                ],
            }
        )
        document, arrays = atlas_content(atlas)
        kept = {key: values for key, values in arrays.items() if key in SHOWN}
        packs[f"atlas-{number + 1}"] = pack(_light(document), kept)
    content: Gallery = {
        "models": shown,
        "claims": claims_across(pages, [weights_of(atlas) for atlas in atlases]),
        "citation": _cited(atlases),
    }
    boot: Boot = {
        "title": f"{len(atlases)} models – Headscope",
        "source": "embedded",
        "atlases": list(packs),
        "gallery": True,
    }
    heads = sum(layers * heads for layers, heads in (atlas.shape for atlas in atlases))
    says = f"What all {heads} attention heads of {len(atlases)} models do: {', '.join(names)}."
    packs["gallery"] = pack(content, {})
    picture = f"{names[0]}/{PICTURE}"
    text = page_html(boot, packs, about={"title": "Gallery"}, says=says, picture=picture)
    return write_bytes(index, text.encode("utf-8"))


def read_paper(path: str | Path) -> Paper:
    """What a page says of its claims.

    Parameters
    ----------
    path
        A page made by ``headscope paper`` or ``headscope portrait``.

    Raises
    ------
    ResultsError
        If the file is not a page of a paper.
    """
    path = Path(path)
    about = about_page(path)
    try:
        document = pack_of(path, "document")
        verdicts = [str(part) for part in document["verdicts"]]
        tables = [part for part in document["sections"] if part["id"] == "claims"]
        rows = tables[0]["tables"][0]["rows"] if tables else []
        claims = tuple(zip((str(row[0]) for row in rows), verdicts, strict=True))
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        missing = "no such file" if isinstance(error, FileNotFoundError) else "not such a page"
        raise ResultsError(
            f"{path} must be a page made by 'headscope paper' or 'headscope portrait': {missing}",
            hint="give the .html file in the folder that the command wrote",
        ) from None
    return Paper(path, about.get("title", path.stem), about.get("weights", ""), claims)


def check_papers(pages: Sequence[Paper], atlases: Sequence[Atlas]) -> None:
    """Refuse pages about other models."""
    known = {weights_of(atlas) for atlas in atlases}
    for page in pages:
        if page.weights not in known:
            raise ResultsError(
                f"{page.path} is about none of these models",
                hint="give the results of its model, too",
            )


def claims_across(pages: Sequence[Paper], weights: Sequence[str]) -> list[Claims]:
    """For each paper and claim the verdict in every model; "" where the paper was not run."""
    papers: dict[str, dict[str, list[str]]] = {}
    for page in pages:
        table = papers.setdefault(page.title, {})
        for claim, verdict in page.claims:
            row = table.setdefault(claim, [""] * len(weights))
            for place, digest in enumerate(weights):
                if digest == page.weights:
                    row[place] = verdict
    return [
        {"paper": title, "claims": [{"text": text, "verdicts": row} for text, row in table.items()]}
        for title, table in papers.items()
        if table
    ]


def _file_names(pages: Sequence[Paper]) -> dict[str, Paper]:
    """The pages by the name of their file in the site: none takes the place of another."""
    named: dict[str, Paper] = {}
    for page in pages:
        name = page.path.name
        named[f"{len(named) + 1}-{name}" if name in named or name == INDEX else name] = page
    return named


def _names(atlases: Sequence[Atlas]) -> list[str]:
    """A folder's name for each model, no two alike."""
    names: list[str] = []
    for atlas in atlases:
        name = slug(str(atlas.provenance.get("model", {}).get("name", "")))
        names.append(name if name not in names else f"{name}-{len(names) + 1}")
    return names


def _light(document: AtlasDocument) -> AtlasDocument:
    """What the front page needs of a model: no statistics, no papers, no provenance."""
    return document | {
        "statistics": [],
        "labels": {},
        "tests": [],
        "work": [],
        "relations": [],
        "papers": [],
        "figures": [],
        "composition": None,
        "track": None,
        "distance": False,
        "provenance": {},
    }


def _cited(atlases: Sequence[Atlas]) -> str:
    """BibTeX entries for all measures, each once."""
    entries = [entry for atlas in atlases for entry in citations(atlas).split("\n\n")]
    return "\n\n".join(dict.fromkeys(entries))
