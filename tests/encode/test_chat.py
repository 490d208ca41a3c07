"""Texts as turns of a chat: the tokens are those of transformers, and words find their pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.corpus import Example
from headscope.corpus.example import surface_words
from headscope.encode import OTHER, SEPARATOR, START, TEXT, Encoded, Encoder
from headscope.errors import ModelError
from tiny import tiny_tokenizer

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
)
TRIMMED = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }}"
    "{{ eos_token }}{% endfor %}"
)
TEMPLATES = {"chatml": ("qwen", CHATML), "trimmed": ("llama", TRIMMED)}
TEXTS: list[tuple[str, ...]] = [
    ("the cat sat on the mat.",),
    ("We walked, then we didn't walk.", "the dog sat by the door"),
    ("  a small  bird ",),
    ("Why?", "  rain fell "),
]


def tokenizer_of(kind: str) -> Any:
    """A tiny tokenizer with a chat template."""
    name, template = TEMPLATES[kind]
    tokenizer = tiny_tokenizer(name)
    if name == "qwen":
        tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
        tokenizer.bos_token = "<|im_start|>"
    tokenizer.chat_template = template
    return tokenizer


def encode(tokenizer: Any, texts: tuple[str, ...], **options: Any) -> Encoded:
    (encoded,) = Encoder(tokenizer, chat=True, **options).encode([Example("1", texts)])
    return encoded


def theirs(tokenizer: Any, texts: tuple[str, ...]) -> list[int]:
    """The tokens that transformers makes of the same chat."""
    roles = ("user", "assistant")
    turns = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return list(tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False))


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_chat_has_the_tokens_of_transformers(kind: str, texts: tuple[str, ...]) -> None:
    tokenizer = tokenizer_of(kind)
    assert encode(tokenizer, texts).ids.tolist() == theirs(tokenizer, texts)


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_the_pieces_of_each_word_spell_it(kind: str, texts: tuple[str, ...]) -> None:
    encoded = encode(tokenizer_of(kind), texts)
    words = surface_words(Example("1", texts))
    spelt = ["" for _ in words]
    for piece, unit in zip(encoded.text, encoded.unit.tolist(), strict=True):
        if unit >= 0:
            spelt[unit] += piece
    assert [word.strip() for word in spelt] == words
    assert {segment for segment in encoded.segment.tolist() if segment >= 0} == set(
        range(len(texts))
    )


def test_marks_of_turns_are_neither_text_nor_beginnings() -> None:
    tokenizer = tokenizer_of("chatml")
    encoded = encode(tokenizer, ("the cat", "the dog"))
    start, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert np.flatnonzero(encoded.kind == START).tolist() == [0]
    assert (encoded.ids == start).sum() == 2
    assert np.array_equal(encoded.kind == SEPARATOR, encoded.ids == end)
    template = (encoded.kind == OTHER) | (encoded.kind == START) | (encoded.kind == SEPARATOR)
    assert np.array_equal(template, encoded.segment < 0)
    assert all(not piece for piece, kind in zip(encoded.text, encoded.kind, strict=True) if kind)
    assert (
        "".join(
            piece for piece, kind in zip(encoded.text, encoded.kind, strict=True) if kind == TEXT
        )
        == "the catthe dog"
    )


def test_a_long_chat_loses_text_and_keeps_its_template() -> None:
    tokenizer = tokenizer_of("chatml")
    whole = encode(tokenizer, ("the cat sat on the mat, and the dog sat by the door.",))
    cut = encode(
        tokenizer, ("the cat sat on the mat, and the dog sat by the door.",), max_length=20
    )
    template = whole.ids[whole.kind != TEXT].tolist()
    assert len(cut) == 20 < len(whole)
    assert cut.ids[cut.kind != TEXT].tolist() == template


def test_annotated_words_are_aligned_in_a_chat() -> None:
    from headscope.corpus import Word

    words = tuple(Word(text, 0, 0, -1, "root") for text in ("We", "walked", "home", "again", "."))
    example = Example("1", ("We walked home again .",), words)
    (encoded,) = Encoder(tokenizer_of("trimmed"), chat=True).encode([example])
    spelt = ["" for _ in words]
    for piece, word in zip(encoded.text, encoded.word.tolist(), strict=True):
        if word >= 0:
            spelt[word] += piece.strip()
    assert spelt == [word.text for word in words]


def refusal(template: str | None, **options: Any) -> ModelError:
    tokenizer = tokenizer_of("chatml")
    tokenizer.chat_template = template
    with pytest.raises(ModelError) as error:
        list(Encoder(tokenizer, chat=True, **options).encode([Example("1", ("the cat",))]))
    return error.value


def test_a_tokenizer_without_a_chat_template_is_refused() -> None:
    error = refusal(None)
    assert error.message == (
        "the tokenizer has no chat template, so that texts cannot be made turns of a chat"
    )
    assert error.hint == "leave chat=True out, or choose a model that was tuned for chats"


def test_a_template_that_changes_the_text_is_refused() -> None:
    error = refusal("{% for m in messages %}{{ m['content'] | upper | reverse }}{% endfor %}")
    assert error.message.startswith("the tokenizer's chat template changes the text itself")


def test_a_template_that_fails_is_refused_with_its_own_words() -> None:
    error = refusal("{{ raise_exception('only system turns') }}")
    assert "the tokenizer's chat template failed: " in error.message
    assert "only system turns" in error.message


def test_a_chat_cannot_lose_its_special_tokens() -> None:
    assert refusal(CHATML, bos="none").message == (
        "a chat template writes its own special tokens, which cannot be removed"
    )
