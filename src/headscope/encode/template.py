"""Where a tokenizer puts its special tokens, learned from the tokenizer itself.

Knowing the frame (``[CLS] a [SEP] b [SEP]``, ``<s> a </s></s> b </s>``, nothing at all for GPT-2) lets us cut texts to
length ourselves, piece by piece and with the words they belong to, for every tokenizer alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headscope.errors import ModelError

TEXT, START, SEPARATOR, OTHER = 0, 1, 2, 3
"""Kinds of token: of the text; ``[CLS]`` or BOS; ``[SEP]`` or EOS; any other special token."""


@dataclass(frozen=True, slots=True)
class Part:
    """A run in the frame: one special token (``token``), or a whole text (``text`` 0 or 1)."""

    token: int | None
    text: int | None
    type: int


@dataclass(frozen=True, slots=True)
class Template:
    """The frame for one text, and for a pair."""

    one: tuple[Part, ...]
    two: tuple[Part, ...]

    def parts(self, texts: int) -> tuple[Part, ...]:
        """The frame for one or two texts."""
        return self.one if texts == 1 else self.two

    def specials(self, texts: int) -> int:
        """How many special tokens the frame adds."""
        return sum(part.token is not None for part in self.parts(texts))

    def separates(self) -> bool:
        """Whether anything stands between the two texts of a pair."""
        texts = [index for index, part in enumerate(self.two) if part.text is not None]
        return texts[1] - texts[0] > 1


def find_template(tokenizer: Any) -> Template:
    """Encode two probe texts and read off what stands around them."""
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{type(tokenizer).__name__} gives no character offsets, which aligning words and pieces needs",
            hint="save a fast tokenizer (tokenizer.json) beside the model",
        )
    text = probe(tokenizer)
    return Template(_parts(tokenizer, text), _parts(tokenizer, text, text))


def probe(tokenizer: Any) -> str:
    """A text that the tokenizer does not drop: a letter, or else (proteins, chemistry, one script only) the first of its own tokens that will do."""
    texts: list[str] = sorted(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens))
    for text in ["a", *texts]:
        if tokenizer(text, add_special_tokens=False)["input_ids"]:
            return text
    raise ModelError(
        f"{type(tokenizer).__name__} makes no tokens of any text",
        hint="check the tokenizer.json beside the model",
    )


def marks_words(tokenizer: Any) -> bool:
    """Whether a word has the same pieces at the start of a text as after a space (``▁a ▁a``; not GPT-2's ``a Ġa``)."""
    word = probe(tokenizer)
    once, twice = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in (word, f"{word} {word}")
    )
    return bool(twice == once + once)


def _parts(tokenizer: Any, *texts: str) -> tuple[Part, ...]:
    encoded = tokenizer(*texts, return_token_type_ids=True)
    types = encoded.get("token_type_ids") or [0] * len(encoded["input_ids"])
    parts: list[Part] = []
    for token, sequence, kind in zip(
        encoded["input_ids"], encoded.sequence_ids(0), types, strict=True
    ):
        if sequence is None:
            parts.append(Part(token, None, kind))
        elif not parts or parts[-1].text != sequence:
            parts.append(Part(None, sequence, kind))
    return tuple(parts)


def special_kind(tokenizer: Any, token: int) -> int:
    """START for ``[CLS]``/BOS, SEPARATOR for ``[SEP]``/EOS, OTHER for the rest. A token that is both (GPT-2's) counts as what it stands for first."""
    if token in {tokenizer.cls_token_id, tokenizer.bos_token_id}:
        return START
    return SEPARATOR if token in {tokenizer.sep_token_id, tokenizer.eos_token_id} else OTHER
