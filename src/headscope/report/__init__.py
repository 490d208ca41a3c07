"""The HTML report."""

from headscope.report.page import render, write_report

__all__ = ["render", "write_report"]
