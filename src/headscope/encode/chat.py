"""Texts as turns of a chat: what a tokenizer's chat template writes around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from headscope.errors import ModelError

ROLES = ("user", "assistant")
_MARKS = ("QXZTEXTONE", "QXZTEXTTWO")
_WAYS: tuple[Callable[[str], str], ...] = (str, str.strip, str.lstrip, str.rstrip)
"""What templates do with a text: some remove the spaces around it."""


@dataclass(frozen=True, slots=True)
class ChatText:
    """A chat as one string, and where the texts are in it.

    Parameters
    ----------
    text
        The whole chat, with the template's own words and special tokens.
    starts
        Where each text begins in it.
    stops
        Where each text ends.
    cut
        How many characters the template removed at the beginning of each text.
    """

    text: str
    starts: tuple[int, ...]
    stops: tuple[int, ...]
    cut: tuple[int, ...]


def check_chat(tokenizer: Any) -> None:
    """Check that a tokenizer has a chat template.

    Raises
    ------
    ModelError
        If it has none.
    """
    if not getattr(tokenizer, "chat_template", None):
        raise ModelError(
            "the tokenizer has no chat template, so that texts cannot be made turns of a chat",
            hint="leave chat=True out, or choose a model that was tuned for chats",
        )


def render_chat(tokenizer: Any, texts: Sequence[str]) -> ChatText:
    """Write one text as the user's turn, or a pair as the user's and the assistant's.

    Parameters
    ----------
    tokenizer
        A tokenizer with a chat template.
    texts
        One text or two.

    Raises
    ------
    ModelError
        If the template fails, or changes the text itself.
    """
    parts = _render(tokenizer, _MARKS[: len(texts)])
    frames = []
    for mark in _MARKS[: len(texts)]:
        before, found, parts = parts.partition(mark)
        if not found:
            raise _changed()
        frames.append(before)
    rendered = _render(tokenizer, texts)
    for ways in product(_WAYS, repeat=len(texts)):
        shown = [way(text) for way, text in zip(ways, texts, strict=True)]
        pieces = [part for pair in zip(frames, shown, strict=True) for part in pair]
        if "".join((*pieces, parts)) == rendered:
            break
    else:
        raise _changed()
    starts, place = [], 0
    for before, text in zip(frames, shown, strict=True):
        starts.append(place + len(before))
        place = starts[-1] + len(text)
    stops = [start + len(text) for start, text in zip(starts, shown, strict=True)]
    cut = [text.find(kept) for text, kept in zip(texts, shown, strict=True)]
    return ChatText(rendered, tuple(starts), tuple(stops), tuple(cut))


def ask_chat(tokenizer: Any, text: str) -> tuple[str, int]:
    """Write a text as the user's turn, up to where the assistant's begins.

    Parameters
    ----------
    tokenizer
        A tokenizer with a chat template.
    text
        The text, without spaces around it.

    Returns
    -------
    tuple of str and int
        The chat, and where the text begins in it.

    Raises
    ------
    ModelError
        If the template fails, or changes the text itself.
    """
    rendered = _render(tokenizer, [text], answer=True)
    start = rendered.find(text)
    if start < 0:
        raise _changed()
    return rendered, start


def _render(tokenizer: Any, texts: Sequence[str], *, answer: bool = False) -> str:
    turns = [{"role": role, "content": text} for role, text in zip(ROLES, texts, strict=False)]
    ask = {"add_generation_prompt": True} if answer else {}
    try:
        return str(tokenizer.apply_chat_template(turns, tokenize=False, **ask))
    except Exception as error:  # a template is a program: it fails in its own ways
        raise ModelError(
            f"the tokenizer's chat template failed: {type(error).__name__}: {error}",
            hint="leave chat=True out",
        ) from error


def _changed() -> ModelError:
    return ModelError(
        "the tokenizer's chat template changes the text itself, so that words cannot be aligned "
        "with tokens",
        hint="leave chat=True out",
    )
