"""Head vectors in sentence-transformers. Needs ``pip install 'headscope[sentences]'``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

try:
    from sentence_transformers.base.modules import InputModule
except ImportError as error:
    raise ImportError(
        "headscope.sentences needs sentence-transformers 6 or later: "
        "pip install 'headscope[sentences]'"
    ) from error

from headscope.encode import Batch, collate
from headscope.errors import ModelError, UserError, unknown
from headscope.heads import HeadsLike
from headscope.models import Model, Pooling, as_model, load
from headscope.models.attach import register
from headscope.models.vectors import encode_sentences, longest, pooled

FEATURES = ("input_ids", "attention_mask", "token_type_ids")


class HeadVectors(InputModule):  # type: ignore[misc]
    """A module that makes the vector of a text from chosen heads or a layer.

    It stands for a whole model: tokenizer, transformer and pooling. Other modules may follow it in
    a ``SentenceTransformer``.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, or a loaded :class:`~headscope.models.Model`.
    heads
        The heads whose outputs make the vector: ``"3-9,4-1"``, ``"4-*"``, a
        :class:`~headscope.heads.Head`, or a list of these.
    pooling
        Instead of ``heads``: heads or a layer, with a position. Without either, the vectors are
        those of :meth:`Model.encode <headscope.models.Model.encode>`: of what the model was tuned
        with, or else of its last layer.

    Raises
    ------
    UserError
        If both heads and a pooling are given, or if the model has no such head.

    Examples
    --------
    >>> from sentence_transformers import SentenceTransformer
    >>> encoder = SentenceTransformer(modules=[HeadVectors("demo", heads="3-9,4-1")], device="cpu")
    >>> encoder.encode(["A dog barked.", "A cat slept."]).shape
    (2, 64)
    """

    config_file_name = "sentence_bert_config.json"
    config_keys = ["max_seq_length"]

    def __init__(
        self,
        model: Model | str | Path,
        *,
        heads: HeadsLike | None = None,
        pooling: Pooling | None = None,
    ) -> None:
        super().__init__()
        if heads is not None and pooling is not None:
            raise UserError(
                "a vector is made of heads or of a pooling, not of both",
                hint="give either heads= or pooling=",
            )
        self.model = as_model(model)
        chosen = pooling if heads is None else Pooling(heads=heads)
        self.pooling = (chosen or self.model.pooling).fit(self.model)
        # As a submodule, torch moves, trains and counts the network together with this module.
        self.network = self.model.network
        self.width = self.pooling.width(self.model)
        self.max_seq_length = longest(self.model)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(dict(state))
        register()  # in a new process, transformers does not know our attention function yet

    def __repr__(self) -> str:
        return f"HeadVectors({self.model.name}, {self.pooling.title}, {self.pooling.position})"

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.model.tokenizer

    def get_embedding_dimension(self) -> int:
        """The length of a vector."""
        return self.width

    def preprocess(
        self, inputs: Sequence[str | tuple[str, str]], prompt: str | None = None, **_: Any
    ) -> dict[str, Tensor]:
        """The tokens of texts or pairs, padded on the right.

        Parameters
        ----------
        inputs
            Texts, or pairs of texts.
        prompt
            Put before each text, or before the first text of each pair.
        """
        if prompt:
            inputs = [
                prompt + text if isinstance(text, str) else (prompt + text[0], text[1])
                for text in inputs
            ]
        encoded = encode_sentences(self.model, inputs, self.max_seq_length)
        batch = collate(encoded, pad=self.model.pad)
        return {
            "input_ids": torch.from_numpy(batch.ids),
            "attention_mask": torch.from_numpy(batch.mask).long(),
            "token_type_ids": torch.from_numpy(batch.types),
        }

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Add the vectors to the features, as ``sentence_embedding``."""
        ids, mask, types = (features[name].cpu().numpy() for name in FEATURES)
        batch = Batch(0, (), ids, types, mask.astype(bool))
        features["sentence_embedding"] = pooled(self.model, batch, self.pooling)
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write an ordinary checkpoint with its pooling. Weights are always safetensors."""
        self.network.save_pretrained(output_path)
        self.tokenizer.save_pretrained(output_path)
        self.pooling.write(Path(output_path))
        self.save_config(output_path)

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        model_kwargs: Mapping[str, Any] | None = None,
        backend: str = "torch",
        **_: Any,
    ) -> HeadVectors:
        """Read what :meth:`save` or ``headscope tune`` wrote.

        The parameters are those of sentence-transformers. Of ``model_kwargs`` only ``dtype`` is
        known. ``trust_remote_code`` is not passed on, so no code that comes with the model runs.
        """
        if backend != "torch":
            raise unknown("backend", backend, ["torch"])
        hub = {
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        folder = cls.load_dir_path(model_name_or_path, subfolder, **hub)
        if folder is None:
            raise ModelError(
                f"{model_name_or_path} has no folder {subfolder!r}", hint="check its modules.json"
            )
        model = cls(load(Path(folder), dtype=_dtype(model_kwargs or {})))
        model.max_seq_length = cls.load_config(folder).get("max_seq_length", model.max_seq_length)
        return model


def _dtype(model_kwargs: Mapping[str, Any]) -> Any:
    """The dtype in ``model_kwargs``; anything else in it is an error."""
    for name in model_kwargs:
        if name not in {"dtype", "torch_dtype"}:
            raise unknown("model_kwargs", name, ["dtype"])
    return str(next(iter(model_kwargs.values()), "float32")).removeprefix("torch.")
