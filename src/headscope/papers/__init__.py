"""Papers: one recipe per paper, with the published numbers beside ours.

A recipe is loaded when it is first used, so that listing papers and parts needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headscope.papers.catalogue import PAPERS, Paper, Part, find_paper

if TYPE_CHECKING:
    from headscope.papers.clark2019.recipe import Clark2019
    from headscope.papers.jo2020.recipe import Jo2020
    from headscope.papers.kovaleva2019.recipe import Kovaleva2019
    from headscope.papers.pande2021.recipe import Pande2021
    from headscope.papers.portrait.recipe import Portrait
    from headscope.papers.recipe import Recipe
    from headscope.papers.report import PaperReport

__all__ = [
    "PAPERS",
    "Clark2019",
    "Jo2020",
    "Kovaleva2019",
    "Pande2021",
    "Paper",
    "PaperReport",
    "Part",
    "Portrait",
    "Recipe",
    "find_paper",
]

_WHERE = {
    "Clark2019": "clark2019.recipe",
    "Jo2020": "jo2020.recipe",
    "Kovaleva2019": "kovaleva2019.recipe",
    "Pande2021": "pande2021.recipe",
    "PaperReport": "report",
    "Portrait": "portrait.recipe",
    "Recipe": "recipe",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
