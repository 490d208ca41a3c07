"""Probing classifiers on the output of every head and layer (Jo and Myaeng 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.runs.probe.probing import probe

__all__ = ["probe"]


def __getattr__(name: str) -> Any:
    """Load the run when it is needed: its options are checked without torch."""
    if name == "probe":
        from headscope.runs.probe.probing import probe

        return probe
    raise AttributeError(f"module 'headscope.runs.probe' has no attribute {name!r}")
