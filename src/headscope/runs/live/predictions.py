"""What a model predicts at one place of a text, and how two predictions differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from headscope.errors import UserError
from headscope.models import Model
from headscope.runs.live.text import Reading

Kind = Literal["next", "masked", "class", ""]
TOP = 10
"""Tokens that are listed."""


class Token(NamedTuple):
    """A token that a model writes: its characters, its probability, and whether it ends a text."""

    id: int
    name: str
    probability: float
    ends: bool


@dataclass(frozen=True)
class Choice:
    """One token or class, with its probability before and after heads were switched off."""

    id: int
    name: str
    before: float
    after: float


@dataclass(frozen=True)
class Prediction:
    """What is predicted, all heads on and with some heads off.

    Attributes
    ----------
    at
        The token at which, or after which, is predicted; -1 for a class of the whole text.
    choices
        The most likely tokens, or all classes.
    divergence
        Kullback–Leibler divergence of the prediction with heads off from that with all heads on, in
        nats. For a single score: how far it moves.
    score
        Whether a single score is predicted, not probabilities.
    """

    at: int
    choices: list[Choice]
    divergence: float
    score: bool


def what_it_predicts(model: Model) -> Kind:
    """Next or masked tokens, a class, or nothing."""
    name = type(model.network).__name__
    if "lm" in model.capabilities and not model.encoder_decoder:
        if model.causal(model.main_stack()):
            return "next"
        return "masked" if model.tokenizer.mask_token_id is not None else ""
    return "class" if name.endswith("ForSequenceClassification") else ""


def place_of_prediction(kind: Kind, reading: Reading, at: int | None) -> int:
    """Where to predict: the place that was asked for, else the last token or the first mask.

    Raises
    ------
    UserError
        If the model predicts nothing, no token is masked, or the place is not one.
    """
    if kind == "":
        raise UserError(
            "this model has no language-model head and no classifier, so it predicts nothing"
        )
    if kind == "class":
        return -1
    if kind == "masked":
        if not reading.masks:
            raise UserError("no word is masked", hint="choose a word and mask it")
        return reading.masks[0] if at is None or at not in reading.masks else at
    if at is None:
        return len(reading) - 1
    if not 0 <= at < len(reading):
        raise UserError(f"the text has tokens 0 to {len(reading) - 1}; got {at} instead")
    return at


def log_probabilities(model: Model, scores: Tensor) -> Tensor:
    """Log-probabilities of tokens or classes from the model's scores, (…, class).

    A single score stays as it is. Labels that do not exclude each other (``multi_label``) have no
    common distribution and are refused.
    """
    if scores.shape[-1] == 1:
        return scores.double()
    if getattr(model.config, "problem_type", None) == "multi_label_classification":
        raise UserError("classifiers with several labels per text are not supported here")
    return torch.log_softmax(scores.double(), -1)


def divergences(before: Tensor, after: Tensor) -> Tensor:
    """Kullback–Leibler divergence of log-probabilities, (…, class), in nats.

    >>> divergences(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log())
    tensor(0.1438)
    """
    if before.shape[-1] == 1:
        return (after - before).abs()[..., 0]
    gain = torch.where(before > -torch.inf, before.exp() * (before - after), 0.0)
    return gain.sum(-1).clamp_min(0.0)


def compare(model: Model, kind: Kind, at: int, before: Tensor, after: Tensor) -> Prediction:
    """List what is likely before or after.

    Parameters
    ----------
    model
        The model, whose tokens or classes are named.
    kind
        What it predicts.
    at
        Where.
    before, after
        Log-probabilities with all heads on, and with some off.
    """
    score = before.shape[-1] == 1
    shown = (lambda one: one) if score else torch.exp
    one, other = shown(before).cpu().numpy(), shown(after).cpu().numpy()
    if kind == "class":
        order = np.argsort(-one, kind="stable").tolist()
        names: Any = [str(model.config.id2label.get(place, place)) for place in order]
    else:
        order = _likely(one, other)
        names = [_token(model, place) for place in order]
    choices = [
        Choice(place, name, float(one[place]), float(other[place]))
        for place, name in zip(order, names, strict=True)
    ]
    return Prediction(at, choices, float(divergences(before, after)), score)


def _likely(before: Any, after: Any) -> list[int]:
    """The tokens that are likely before; half as many, and those likely after, if they differ."""
    count = TOP if np.array_equal(before, after) else TOP // 2
    first: list[int] = np.argsort(-before, kind="stable")[:count].tolist()
    risen = [one for one in np.argsort(-after, kind="stable")[:TOP].tolist() if one not in first]
    return (first + risen)[:TOP]


def _token(model: Model, number: int) -> str:
    """A token as it is read; one of white space by its name."""
    text = str(model.tokenizer.decode([number]))
    return text.strip() or str(model.tokenizer.convert_ids_to_tokens(number) or text)


def end_tokens(model: Model) -> set[int]:
    """The tokens with which a model ends a text."""
    tokens: set[int | None] = set()
    for where in (model.config, getattr(model.network, "generation_config", None)):
        token = getattr(where, "eos_token_id", None)
        tokens |= set(token) if isinstance(token, list | tuple) else {token}
    return {one for one in {*tokens, model.tokenizer.eos_token_id} if one is not None}
