"""Pages: the report of a survey, and documents of sections, tables and charts."""

from headscope.report.document import Document, Plot, Section, Table, render_document, write_document
from headscope.report.page import render, survey_document, write_report

__all__ = ["Document", "Plot", "Section", "Table", "render", "render_document", "survey_document", "write_document", "write_report"]
