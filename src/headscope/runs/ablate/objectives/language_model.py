"""The loss of a masked or causal language model as an objective."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.encode import Batch
from headscope.errors import ModelError, UserError
from headscope.measures.gradient import masked_positions
from headscope.models import Model
from headscope.runs.ablate.objectives.base import Objective, Question


class LanguageModelObjective(Objective):
    """A masked or causal language model, judged by its own loss.

    The loss of an example is the mean cross-entropy of its masked pieces (the same ones for the
    same seed), or of all its next tokens.

    Parameters
    ----------
    model
        A model with its language-model head: ``headscope.load(name, head="lm")``.
    seed
        Chooses the masked pieces.

    Raises
    ------
    ModelError
        If the model has no language-model head, is an encoder-decoder, or has no mask token.
    """

    by_example = True
    metric = "loss"

    def __init__(self, model: Model, seed: int = 0) -> None:
        if "lm" not in model.capabilities or model.encoder_decoder:
            why = (
                "is an encoder-decoder, whose loss is not supported"
                if model.encoder_decoder
                else "has no language-model head"
            )
            raise ModelError(
                f"{model.name} {why}; and no task was given",
                hint="load a masked or causal language model with head='lm', or give a task and "
                "its data for a classifier",
                command="give --task and --data for a tuned classifier, or choose a masked or "
                "causal language model",
            )
        self.model, self.seed = model, seed
        self.causal = model.causal(model.main_stack())
        self.name = "causal language model" if self.causal else "masked language model"
        if not self.causal and model.tokenizer.mask_token_id is None:
            raise ModelError(
                f"the tokenizer of {model.name} has no mask token",
                hint="choose a masked language model, or give its tokenizer a mask token",
            )

    def ask(self, batch: Batch) -> Question:
        """Mask some pieces, or ask for every next token."""
        ids = torch.from_numpy(batch.ids).to(self.model.device)
        asked = torch.zeros_like(ids, dtype=torch.bool)
        none = torch.zeros(len(batch), device=ids.device)
        if self.causal:
            asked[:, :-1] = torch.from_numpy(batch.mask[:, 1:]).to(ids.device)
            return Question(batch, none, asked, ids.roll(-1, 1))
        for row, item in enumerate(batch.items):
            positions = torch.from_numpy(masked_positions(item, self.seed))
            asked[row, : len(item)] = positions.to(ids.device)
        masked = np.where(asked.cpu().numpy(), self.model.tokenizer.mask_token_id, batch.ids)
        return Question(replace(batch, ids=masked), none, asked, ids)

    def read(self, output: Any, question: Question) -> Tensor:
        """The mean loss of each example; NaN if nothing is predicted."""
        asked, targets = _asked(question)
        logits = output.logits.flatten(0, 1)
        if len(logits) == asked.numel():  # a head that got all positions, see asking
            logits = logits[asked.flatten()]
        losses = torch.nn.functional.cross_entropy(logits.float(), targets[asked], reduction="none")
        rows = asked.nonzero()[:, 0]
        total = torch.zeros(len(asked), device=losses.device).index_add(0, rows, losses)
        return (total / asked.sum(1))[:, None]

    @contextmanager
    def asking(self, question: Question) -> Iterator[None]:
        """Let the head see only the positions that are predicted.

        The head is the most expensive layer of a small model.
        """
        asked, _ = _asked(question)

        def choose(_module: torch.nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
            hidden = arguments[0]
            if hidden.shape[:2] != asked.shape:
                return None
            return (hidden[asked][None], *arguments[1:])

        head = self.model.network.get_output_embeddings()
        hook = head.register_forward_pre_hook(choose) if head is not None else None
        try:
            yield
        finally:
            if hook is not None:
                hook.remove()


def _asked(question: Question) -> tuple[Tensor, Tensor]:
    if question.asked is None or question.targets is None:
        raise UserError(
            "the question predicts no positions", hint="make it with LanguageModelObjective.ask"
        )
    return question.asked, question.targets
