"""Reading a prompt into a cache of keys and values, and writing an answer token by token."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import ModelError
from headscope.models import LayerView, Model, Shape
from headscope.models.replace import FittedReplacement, StackedReplacement
from headscope.runs.live.text import end_tokens
from headscope.runs.preparing import check_predicts
from headscope.runs.retrieval.prompts import ANSWER

TOGETHER = 2**30
"""Answers are written several at once if their caches take at most so many bytes together."""


COPYING = ": retrieval heads copy an answer while a model writes it, and an encoder writes nothing"


@dataclass
class Answer:
    """What a model wrote: the tokens, and the token that each head looked at most in each step.

    ``top_keys`` is (step, layer, head), as far as it was observed.
    """

    tokens: list[int] = field(default_factory=list)
    top_keys: list[NDArray[np.int64]] = field(default_factory=list)


class TopKeys:
    """Listens to one row of attention of the first example: which key has the largest weight.

    Layers with a sliding window cache only the last keys. The last key is always the present token,
    so places are counted from there.
    """

    whole_maps = False

    def __init__(self, stack: str, shape: Shape) -> None:
        self.stack, self.shape = stack, shape
        self.places = np.zeros((shape.layers, shape.heads), np.int64)
        self.total = 0
        """How many tokens there are, with the present one."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Note the largest weight of each head."""
        if view.stack != self.stack:
            return
        row = block[0, :, -1].float()
        if not bool(torch.isfinite(row).all()):
            raise ModelError(
                "the attention of the model is not finite on this text",
                hint="load the model in float32: dtype='float32'",
            )
        keys = row.argmax(-1).cpu().numpy()
        self.places[self.shape.place(view.layer)] = keys + (self.total - row.shape[-1])

    def end(self, view: LayerView) -> None:
        """Nothing is needed of a whole layer."""


class Decoder:
    """Answers prompts greedily, with a cache.

    Parameters
    ----------
    model
        A causal language model with its head.

    Raises
    ------
    ModelError
        If the model is an encoder or an encoder-decoder, has no language-model head, or keeps no
        cache.
    """

    def __init__(self, model: Model) -> None:
        check_predicts(model, COPYING)
        accepted = inspect.signature(model.network.forward).parameters
        if "past_key_values" not in accepted:
            raise ModelError(
                f"{model.name} keeps no cache of keys and values, which retrieval needs to write "
                "answers",
                hint="choose a model of another architecture",
            )
        self.model, self.stack = model, model.main_stack()
        self.shape = model.shape(self.stack)
        self.ends = end_tokens(model)
        self._last: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}

    def read(self, ids: NDArray[np.int64]) -> Any:
        """Read all tokens but the last, which the first step reads; return the cache.

        No attention map is looked at, and none is held whole.
        """
        return self._pass(ids[None, :-1], len(ids) - 1).past_key_values

    def write(self, cache: Any, ids: NDArray[np.int64]) -> Answer:
        """Write an answer with all heads on, and note where each head looks. Uses up the cache."""
        top_keys = TopKeys(self.stack, self.shape)
        [answer] = self._steps(cache, ids, 1, None, top_keys)
        return answer

    def write_each(
        self, cache: Any, ids: NDArray[np.int64], offs: Sequence[FittedReplacement]
    ) -> list[Answer]:
        """Write an answer with each replacement of heads, several at once. Keeps the cache."""
        found: list[Answer] = []
        # The states of recurrent layers in hybrid models cannot be repeated.
        repeats = all(hasattr(layer, "batch_repeat_interleave") for layer in cache.layers)
        most = max(TOGETHER // max(_size(cache), 1), 1) if repeats else 1
        for start in range(0, len(offs), most):
            group = tuple(offs[start : start + most])
            copied = copy.deepcopy(cache)
            if len(group) > 1:
                copied.batch_repeat_interleave(len(group))
            found += self._steps(copied, ids, len(group), StackedReplacement(group))
        return found

    def text(self, answer: Answer) -> str:
        """What was written, as text."""
        return str(self.model.tokenizer.decode(answer.tokens, skip_special_tokens=True)).strip()

    def _steps(
        self,
        cache: Any,
        ids: NDArray[np.int64],
        rows: int,
        replacement: StackedReplacement | None,
        top_keys: TopKeys | None = None,
    ) -> list[Answer]:
        """Write until all rows have ended; those that have are not computed any more."""
        answers = [Answer() for _ in range(rows)]
        open_rows = np.arange(rows)
        current = np.full((rows, 1), ids[-1], np.int64)
        for step in range(ANSWER):
            total = len(ids) + step
            if top_keys is not None:
                top_keys.total = total
            output = self._pass(
                current, total, cache=cache, replacement=replacement, top_keys=top_keys
            )
            cache = output.past_key_values
            current = output.logits[:, -1:].argmax(-1).cpu().numpy()
            for row, token in zip(open_rows, current[:, 0], strict=True):
                answers[row].tokens.append(int(token))
                if top_keys is not None:
                    answers[row].top_keys.append(top_keys.places.copy())
            going = [at for at, token in enumerate(current[:, 0]) if not self._is_end(int(token))]
            if not going:
                break
            if len(going) < len(open_rows):
                cache.batch_select_indices(torch.tensor(going))
                open_rows, current = open_rows[going], current[going]
                if replacement is not None:
                    replacement = StackedReplacement(tuple(replacement.parts[at] for at in going))
        return answers

    def _pass(
        self,
        ids: NDArray[np.int64],
        total: int,
        *,
        cache: Any = None,
        replacement: StackedReplacement | None = None,
        top_keys: TopKeys | None = None,
    ) -> Any:
        """Read some tokens after those in the cache; ``total`` counts both."""
        mask = np.ones((len(ids), total), np.bool_)
        before = {} if cache is None else {"past_key_values": cache}
        with torch.inference_mode():
            return self.model.forward(
                Batch(0, (), ids, np.zeros_like(ids), mask),
                listeners=[] if top_keys is None else [top_keys],
                replacement=replacement,
                use_cache=True,
                **before,
                **self._last,
            )

    def _is_end(self, token: int) -> bool:
        return token in self.ends or "\n" in str(self.model.tokenizer.decode([token]))


def _size(cache: Any) -> int:
    """How many bytes the keys and values in a cache take."""
    parts = [getattr(layer, name, None) for layer in cache.layers for name in ("keys", "values")]
    return sum(part.numel() * part.element_size() for part in parts if isinstance(part, Tensor))
