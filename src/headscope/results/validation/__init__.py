"""Whether the contents of a results file are what readers rely on."""

from headscope.results.validation.contents import check_contents, unreadable

__all__ = ["check_contents", "unreadable"]
