"""Pages: the report of a run, and documents of sections, tables and charts."""

from headscope.page.document import (
    Document,
    Plot,
    Section,
    Table,
    records,
    render_document,
    write_document,
)
from headscope.page.report import render, write_folder, write_report
from headscope.page.role_shift import shift_section
from headscope.page.roles import role_sections, roles_document

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
    "shift_section",
    "write_document",
    "write_folder",
    "write_report",
]
