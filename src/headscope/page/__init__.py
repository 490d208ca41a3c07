"""Pages: the report of a run, and documents of sections, tables and charts.

Names are imported when they are first used: writing a report loads no Altair.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.page.cache_scores import scaling_note, write_duoattention, write_headkv
    from headscope.page.document import (
        Document,
        Plot,
        Section,
        Table,
        records,
        render_document,
        write_document,
    )
    from headscope.page.headvis import write_headvis
    from headscope.page.report import render, write_folder, write_report
    from headscope.page.role_shift import shift_section
    from headscope.page.roles import role_sections, roles_document

_WHERE = {
    "cache_scores": ("scaling_note", "write_duoattention", "write_headkv"),
    "document": (
        "Document",
        "Plot",
        "Section",
        "Table",
        "records",
        "render_document",
        "write_document",
    ),
    "headvis": ("write_headvis",),
    "report": ("render", "write_folder", "write_report"),
    "role_shift": ("shift_section",),
    "roles": ("role_sections", "roles_document"),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "Document",
    "Plot",
    "Section",
    "Table",
    "records",
    "render",
    "render_document",
    "role_sections",
    "roles_document",
    "scaling_note",
    "shift_section",
    "write_document",
    "write_duoattention",
    "write_folder",
    "write_headkv",
    "write_headvis",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'headscope.page' has no attribute {name!r}")
    return getattr(import_module(f"headscope.page.{_MODULES[name]}"), name)
