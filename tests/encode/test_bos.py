"""The beginning-of-sequence token: added, kept as the tokenizer has it, or removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.corpus import Example
from headscope.encode import START, Encoded, Encoder
from headscope.errors import ModelError, UserError
from tiny import tiny_tokenizer

ONE, TWO = ("the cat sat.",), ("the cat sat.", "a dog barked.")


def encode(kind: str, texts: tuple[str, ...], **options: Any) -> Encoded:
    (encoded,) = Encoder(tiny_tokenizer(kind), **options).encode([Example("1", texts)])
    return encoded


@pytest.mark.parametrize("texts", [ONE, TWO])
def test_a_token_that_the_tokenizer_does_not_add_is_added(texts: tuple[str, ...]) -> None:
    tokenizer = tiny_tokenizer("gpt2")
    plain, added = encode("gpt2", texts), encode("gpt2", texts, bos="add")
    assert added.ids.tolist() == [tokenizer.bos_token_id, *plain.ids.tolist()]
    assert np.flatnonzero(added.kind == START).tolist() == [0]
    assert (plain.kind == START).sum() == 0
    assert added.unit[1:].tolist() == plain.unit.tolist()
    assert added.text[1:] == plain.text


@pytest.mark.parametrize("kind", ["llama", "gemma", "opt", "roberta"])
def test_a_token_that_is_there_is_not_added_twice(kind: str) -> None:
    kept, added = encode(kind, ONE), encode(kind, ONE, bos="add")
    assert added.ids.tolist() == kept.ids.tolist()


@pytest.mark.parametrize("texts", [ONE, TWO])
@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_none_gives_the_tokens_of_the_texts_alone(kind: str, texts: tuple[str, ...]) -> None:
    tokenizer = tiny_tokenizer(kind)
    expected = [
        token for text in texts for token in tokenizer(text, add_special_tokens=False)["input_ids"]
    ]
    assert encode(kind, texts, bos="none").ids.tolist() == expected


def test_none_leaves_other_special_tokens() -> None:
    kept, without = encode("roberta", TWO), encode("roberta", TWO, bos="none")
    assert without.ids.tolist() == kept.ids.tolist()[1:]
    bert = encode("bert", TWO)
    assert encode("bert", TWO, bos="none").ids.tolist() == bert.ids.tolist()


def test_a_token_of_the_configuration_alone_counts_as_a_beginning() -> None:
    added = encode("qwen", ONE, bos="add", bos_token=0)
    assert tiny_tokenizer("qwen").bos_token_id is None
    assert (added.ids[0], added.kind[0]) == (0, START)


def test_the_token_takes_room() -> None:
    long = ("the cat sat on the mat, and the dog sat by the door.",)
    assert len(encode("gpt2", long, bos="add", max_length=8)) == 8


def test_what_cannot_be_done_is_refused() -> None:
    with pytest.raises(ModelError) as error:
        encode("bert", ONE, bos="add")
    assert error.value.message == "the model has no beginning-of-sequence token that could be added"
    with pytest.raises(UserError) as wrong:
        encode("gpt2", ONE, bos="ad")
    assert wrong.value.message == (
        "the treatment of the beginning-of-sequence token must be one of add, keep, none; "
        "got 'ad' instead. Did you mean 'add'?"
    )
