"""Disabling heads (Kovaleva et al. 2019, §4.6)."""

from headscope.runs.ablate.ablate import ablate

__all__ = ["ablate"]
