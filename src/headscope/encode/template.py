"""What a tokenizer writes around texts: its special tokens, or its chat template.

The template (``[CLS] a [SEP] b [SEP]``, ``<s> a </s></s> b </s>``, nothing at all for GPT-2) is
learned from the tokenizer itself. Knowing it lets us truncate texts ourselves, piece by piece and
together with their words, in the same way for every tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

from headscope.errors import ModelError, unknown

# --- special tokens ---

TEXT, START, SEPARATOR, OTHER = 0, 1, 2, 3
"""Kinds of tokens: of the text; ``[CLS]`` or BOS; ``[SEP]`` or EOS; other special tokens."""

Bos = Literal["add", "keep", "none"]
BOS = ("add", "keep", "none")
"""What to do about the beginning-of-sequence token."""


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """One part of a template: a special token, or a whole text.

    Parameters
    ----------
    token : int or None
        The special token.
    text : int or None
        0 for the first text, 1 for the second.
    type : int
        The token type.
    """

    token: int | None
    text: int | None
    type: int


@dataclass(frozen=True, slots=True)
class Template:
    """The template of a tokenizer for one text, and for a pair."""

    one: tuple[TemplatePart, ...]
    two: tuple[TemplatePart, ...]

    def parts(self, texts: int) -> tuple[TemplatePart, ...]:
        """The template for one or two texts."""
        return self.one if texts == 1 else self.two

    def specials(self, texts: int) -> int:
        """How many special tokens are added to one or two texts."""
        return sum(part.token is not None for part in self.parts(texts))

    def separates(self) -> bool:
        """Whether there is anything between the two texts of a pair."""
        texts = [index for index, part in enumerate(self.two) if part.text is not None]
        return texts[1] - texts[0] > 1


def check_bos(bos: str, token: int | None, *, chat: bool) -> None:
    """Check what is to be done about the beginning-of-sequence token.

    Raises
    ------
    UserError
        If there is no such way.
    ModelError
        If the token is to be added and the model has none, or if it is to be removed from a chat.
    """
    if bos not in BOS:
        raise unknown("treatment of the beginning-of-sequence token", str(bos), BOS)
    if bos == "add" and token is None:
        raise ModelError(
            "the model has no beginning-of-sequence token that could be added",
            hint="leave bos='add' out",
        )
    if bos == "none" and chat:
        raise ModelError(
            "a chat template writes its own special tokens, which cannot be removed",
            hint="leave bos='none' or chat=True out",
        )


def with_bos(
    parts: tuple[TemplatePart, ...], bos: str, token: int | None
) -> tuple[TemplatePart, ...]:
    """A template with or without the beginning-of-sequence token.

    Parameters
    ----------
    parts
        The template.
    bos
        ``"keep"`` changes nothing; ``"add"`` puts the token first, if it is not there; ``"none"``
        removes it from before the texts.
    token
        The token, or None if the model has none.

    Examples
    --------
    >>> text = TemplatePart(None, 0, 0)
    >>> [part.token for part in with_bos((text,), "add", 1)]
    [1, None]
    >>> with_bos((TemplatePart(1, None, 0), text), "none", 1) == (text,)
    True
    """
    if bos == "add" and token is not None and (not parts or parts[0].token != token):
        return (TemplatePart(token, None, 0), *parts)
    if bos == "none" and token is not None:
        return tuple(
            part
            for part, later in zip(parts, (*parts[1:], None), strict=True)
            if part.token != token or later is None or later.text is None
        )
    return parts


def find_template(tokenizer: Any) -> Template:
    """Encode two short texts and see what is around them.

    Raises
    ------
    ModelError
        If the tokenizer gives no character offsets, or makes no tokens of any text.

    Examples
    --------
    >>> import headscope as hs
    >>> template = find_template(hs.load("demo").tokenizer)
    >>> template.specials(1), template.specials(2), template.separates()
    (2, 3, True)
    """
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{type(tokenizer).__name__} gives no character offsets, which are needed to align "
            "words and pieces",
            hint="save a fast tokenizer (tokenizer.json) beside the model",
        )
    text = probe(tokenizer)
    return Template(_parts(tokenizer, text), _parts(tokenizer, text, text))


def probe(tokenizer: Any) -> str:
    """Find a text that the tokenizer does not drop.

    It is a letter, or else (proteins, chemistry, one script only) the first of its own tokens that
    the tokenizer keeps.

    >>> import headscope as hs
    >>> probe(hs.load("demo").tokenizer)
    'a'
    """
    for text in _candidates(tokenizer):
        if tokenizer(text, add_special_tokens=False)["input_ids"]:
            return text
    raise ModelError(
        f"{type(tokenizer).__name__} makes no tokens of any text",
        hint="check the tokenizer.json beside the model",
    )


def _candidates(tokenizer: Any) -> Iterator[str]:
    """A letter, then every token in order: to sort them takes long, and is rarely needed."""
    yield "a"
    yield from sorted(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens))


def marks_words(tokenizer: Any) -> bool:
    """Whether a word has the same pieces at the start of a text as after a space.

    It has with ``▁a ▁a``, but not with GPT-2's ``a Ġa``.
    """
    word = probe(tokenizer)
    once, twice = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in (word, f"{word} {word}")
    )
    return bool(twice == once + once)


def _parts(tokenizer: Any, *texts: str) -> tuple[TemplatePart, ...]:
    encoded = tokenizer(*texts, return_token_type_ids=True)
    types = encoded.get("token_type_ids") or [0] * len(encoded["input_ids"])
    parts: list[TemplatePart] = []
    tokens = zip(encoded["input_ids"], encoded.sequence_ids(0), types, strict=True)
    for token, sequence, kind in tokens:
        if sequence is None:
            parts.append(TemplatePart(token, None, kind))
        elif not parts or parts[-1].text != sequence:
            parts.append(TemplatePart(None, sequence, kind))
    return tuple(parts)


def special_kind(tokenizer: Any, token: int) -> int:
    """The kind of a special token: START, SEPARATOR or OTHER.

    ``[CLS]`` and BOS are START, ``[SEP]`` and EOS are SEPARATOR. A token that is both, as in GPT-2,
    is START.
    """
    if token in {tokenizer.cls_token_id, tokenizer.bos_token_id}:
        return START
    return SEPARATOR if token in {tokenizer.sep_token_id, tokenizer.eos_token_id} else OTHER


# --- turns of a chat ---

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
        before, marker, parts = parts.partition(mark)
        if not marker:
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
    starts, end = [], 0
    for before, text in zip(frames, shown, strict=True):
        starts.append(end + len(before))
        end = starts[-1] + len(text)
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
