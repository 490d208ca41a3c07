"""A text as the explorer shows it: its tokens, its words, and what a model predicts in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpus import Example, surface_words
from headscope.encode import Encoded
from headscope.encode.template import TEXT
from headscope.errors import UserError
from headscope.models import Model
from headscope.runs.text_maps import token_names

UNLIMITED = 10**7
MOST = 8192
"""The most tokens of a text, whatever the model takes: more cannot be looked at."""


class LiveText(NamedTuple):
    """What a user typed.

    Parameters
    ----------
    text, second
        The text, and the second text of a pair.
    more
        Ids of tokens that were generated after the text.
    """

    text: str
    second: str | None = None
    more: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reading:
    """The tokens of a text.

    Attributes
    ----------
    encoded
        What the model reads.
    tokens
        The tokens as they are shown; special tokens by their names.
    words
        The words that have tokens.
    unit
        The word of each token, -1 for special tokens.
    special, stop
        Which tokens are special, and which are "." or ",".
    masks
        Where the mask token stands.
    """

    encoded: Encoded
    tokens: list[str]
    words: list[str]
    unit: NDArray[np.int64]
    special: NDArray[np.bool_]
    stop: NDArray[np.bool_]
    masks: list[int]

    def __len__(self) -> int:
        return len(self.encoded)


def longest(model: Model) -> int:
    """The most tokens that a text may have."""
    return min(model.longest or MOST, MOST)


def read_text(model: Model, given: LiveText, stack: str) -> Reading:
    """Encode a text.

    Parameters
    ----------
    model
        The model that is to read it.
    given
        The text, its pair, and generated tokens.
    stack
        The stack of layers that reads it.

    Raises
    ------
    UserError
        If the text is empty, has something that is not a character, or is longer than the model
        takes.
    """
    texts = (given.text,) if given.second is None else (given.text, given.second)
    if not all(text.strip() for text in texts):
        raise UserError("the text is empty", hint="type at least one word")
    encoder = model.encoder(max_length=longest(model), long="truncate", stack=stack)
    encoder.max_length = UNLIMITED  # so that the error can say how long the text is
    encoded = next(iter(encoder.encode([Example("text", texts)])), None)
    if encoded is None:
        raise UserError("the text has no tokens", hint="type at least one word")
    if given.more:
        encoded = with_more(model, encoded, given.more)
    if len(encoded) > longest(model):
        raise UserError(
            f"the text has {len(encoded):,} tokens, and at most {longest(model):,} can be read by "
            f"{model.label} here",
            hint="shorten the text",
        )
    return _reading(model, encoded)


def with_more(model: Model, encoded: Encoded, ids: Sequence[int]) -> Encoded:
    """The tokens of a text with generated ones after them.

    Generated tokens are kept as they are: the tokenizer might cut their text in another way.
    """
    size = len(model.tokenizer)
    if any(not 0 <= token < size for token in ids):
        raise UserError(f"generated tokens must be numbers from 0 to {size - 1}")
    written = [model.tokenizer.decode(list(ids[:count])) for count in range(len(ids) + 1)]
    pieces = [after[len(before) :] for before, after in pairwise(written)]
    units, last = [], int(encoded.unit.max(initial=-1))
    end = encoded.text[-1][-1:] if encoded.text else ""
    for piece in pieces:
        continues = end.isalnum() and piece[:1].isalnum() and last >= 0
        last += not continues
        units.append(last)
        end = piece[-1:]
    count = len(ids)
    return replace(
        encoded,
        ids=np.concatenate([encoded.ids, np.array(ids, np.int64)]),
        types=np.concatenate([encoded.types, np.full(count, encoded.types[-1])]),
        kind=np.concatenate([encoded.kind, np.full(count, TEXT, np.int8)]),
        segment=np.concatenate([encoded.segment, np.full(count, encoded.segment.max(), np.int8)]),
        word=np.concatenate([encoded.word, np.full(count, -1)]),
        stop=np.concatenate([encoded.stop, np.array([piece.strip() in ".," for piece in pieces])]),
        text=(*encoded.text, *pieces),
        unit=np.concatenate([encoded.unit, np.array(units, np.int64)]),
        unknown=np.concatenate([encoded.unknown, np.zeros(count, np.bool_)]),
    )


def _reading(model: Model, encoded: Encoded) -> Reading:
    """What is shown of the tokens. Words are numbered anew: those without tokens are left out."""
    tokens = token_names(model, encoded)
    names = surface_words(encoded.example)
    special = encoded.kind != TEXT
    mask = model.tokenizer.mask_token_id
    masks = [] if mask is None else np.flatnonzero(encoded.ids == mask).tolist()
    words: list[str] = []
    unit = np.full(len(encoded), -1, np.int64)
    last: int | None = None
    for place in np.flatnonzero(~special).tolist():
        own = int(encoded.unit[place])
        alone = own < 0 or place in masks
        if alone or own != last:
            known = 0 <= own < len(names) and not alone
            words.append(names[own] if known else tokens[place])
        elif own >= len(names):  # a generated word has the characters of its pieces
            words[-1] += encoded.text[place]
        unit[place] = len(words) - 1
        last = None if alone else own
    return Reading(encoded, tokens, words, unit, special, encoded.stop, masks)


# --- predictions ---

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
    shown = (lambda values: values) if score else torch.exp
    scores_before, scores_after = shown(before).cpu().numpy(), shown(after).cpu().numpy()
    if kind == "class":
        order = np.argsort(-scores_before, kind="stable").tolist()
        names: Any = [str(model.config.id2label.get(place, place)) for place in order]
    else:
        order = _likely(scores_before, scores_after)
        names = [_token(model, place) for place in order]
    choices = [
        Choice(place, name, float(scores_before[place]), float(scores_after[place]))
        for place, name in zip(order, names, strict=True)
    ]
    return Prediction(at, choices, float(divergences(before, after)), score)


def _likely(before: Any, after: Any) -> list[int]:
    """The tokens that are likely before; half as many, and those likely after, if they differ."""
    count = TOP if np.array_equal(before, after) else TOP // 2
    first: list[int] = np.argsort(-before, kind="stable")[:count].tolist()
    risen = [id_ for id_ in np.argsort(-after, kind="stable")[:TOP].tolist() if id_ not in first]
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
    return {token for token in {*tokens, model.tokenizer.eos_token_id} if token is not None}
