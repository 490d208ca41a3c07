"""The panels that help puts options in."""

from __future__ import annotations

LOADING = "How the model is loaded and texts are encoded"
WORKERS = "Workers"
RARE = "Rarely needed"
