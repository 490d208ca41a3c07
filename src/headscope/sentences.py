"""Vectors of heads in sentence-transformers: one module that stands for a whole ``SentenceTransformer`` (needs the extra ``sentences``)."""

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
        "headscope.sentences needs sentence-transformers 6 or later: pip install 'headscope[sentences]'"
    ) from error

from headscope.encode import Batch, collate
from headscope.errors import ModelError, UserError, unknown
from headscope.models import Model, Pooling, load
from headscope.models.attention import register
from headscope.models.pooling import encode_sentences, longest, pooled
from headscope.runs.ablate.plan import parse_heads


class HeadVectors(InputModule):  # type: ignore[misc]
    """The vector of a text from chosen heads, as a module of sentence-transformers.

    ``heads`` are written as people do, counted from 1; a ``pooling`` can also be of a layer. Without either, the vectors are those of ``model.encode``:
    of what the model was tuned with, or else of its last layer.

        SentenceTransformer(modules=[HeadVectors("demo", heads=["3-9", "4-1"])])
    """

    config_file_name = "sentence_bert_config.json"
    config_keys = ["max_seq_length"]

    def __init__(
        self,
        model: Model | str | Path,
        *,
        heads: Sequence[str] = (),
        pooling: Pooling | None = None,
    ) -> None:
        super().__init__()
        if heads and pooling is not None:
            raise UserError(
                "the vectors are of heads or of a pooling, not of both", hint="give one of them"
            )
        self.model = model if isinstance(model, Model) else load(model)
        if heads:
            pooling = Pooling(
                heads=tuple(parse_heads(heads if isinstance(heads, str) else ",".join(heads)))
            )
        self.pooling = (pooling or self.model.pooling).fit(self.model)
        self.network = (
            self.model.network
        )  # known to torch as a part of this module: it is moved, trained and counted with it
        self.width = self.pooling.width(self.model)
        self.max_seq_length = longest(self.model)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(dict(state))
        register()  # the attention function, in a process that has not loaded any model itself

    def __repr__(self) -> str:
        return f"HeadVectors({self.model.name}, {self.pooling.title}, {self.pooling.position})"

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        return self.model.tokenizer

    def get_embedding_dimension(self) -> int:
        """How many numbers a vector has."""
        return self.width

    def preprocess(
        self, inputs: Sequence[str | tuple[str, str]], prompt: str | None = None, **_: Any
    ) -> dict[str, Tensor]:
        """The tokens of texts or pairs, padded on the right. A prompt is put before each (before the first of a pair)."""
        if prompt:
            inputs = [
                prompt + text if isinstance(text, str) else (prompt + text[0], text[1])
                for text in inputs
            ]
        batch = collate(
            encode_sentences(self.model, inputs, self.max_seq_length), pad=self.model.pad
        )
        return {
            "input_ids": torch.from_numpy(batch.ids),
            "attention_mask": torch.from_numpy(batch.mask).long(),
            "token_type_ids": torch.from_numpy(batch.types),
        }

    def forward(self, features: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        """Add the vectors, as ``sentence_embedding``."""
        ids, mask, types = (
            features[name].cpu().numpy()
            for name in ("input_ids", "attention_mask", "token_type_ids")
        )
        features["sentence_embedding"] = pooled(
            self.model, Batch(0, (), ids, types, mask.astype(bool)), self.pooling
        )
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write an ordinary checkpoint with its pooling; always safetensors."""
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
        """Read what :meth:`save` or ``headscope tune`` wrote. ``trust_remote_code`` is not handed on: no code of the model's runs."""
        if backend != "torch":
            raise unknown("backend", backend, ["torch"])
        place = {
            "token": token,
            "cache_folder": cache_folder,
            "revision": revision,
            "local_files_only": local_files_only,
        }
        folder = cls.load_dir_path(model_name_or_path, subfolder, **place)
        if folder is None:
            raise ModelError(
                f"{model_name_or_path} has no folder {subfolder!r}", hint="check its modules.json"
            )
        found = cls(load(folder, dtype=_dtype(model_kwargs or {})))
        found.max_seq_length = cls.load_config(folder).get("max_seq_length", found.max_seq_length)
        return found


def _dtype(model_kwargs: Mapping[str, Any]) -> str:
    """The only thing that ``model_kwargs`` can ask for; attention is ours."""
    for name in model_kwargs:
        if name not in {"dtype", "torch_dtype"}:
            raise unknown("model_kwargs", name, ["dtype"])
    return str(next(iter(model_kwargs.values()), "float32")).removeprefix("torch.")
