"""The frame of special tokens, learned from the tokenizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from encode.tokenizers import KINDS, MARKS_WORDS, tokenizer
from headscope.corpus import Example
from headscope.corpus.example import surface_words
from headscope.encode import OTHER, SEPARATOR, START, TEXT, Encoded, Encoder
from headscope.encode.template import find_template, marks_words, probe, special_kind
from headscope.errors import ModelError, UserError
from refusals import refusal
from tiny import tiny_tokenizer

# --- template ---

FRAMES = {
    "wordpiece": ("[CLS] 0 [SEP]", "[CLS] 0 [SEP] 1 [SEP]"),
    "gpt2": ("0", "0 1"),
    "gpt2-prefix": ("0", "0 1"),
    "roberta": ("<s> 0 </s>", "<s> 0 </s> </s> 1 </s>"),
    "bart-prefix": ("<s> 0 </s>", "<s> 0 </s> </s> 1 </s>"),
    "t5": ("0 </s>", "0 </s> 1 </s>"),
    "xlmr": ("<s> 0 </s>", "<s> 0 </s> </s> 1 </s>"),
    "albert": ("<s> 0 </s>", "<s> 0 </s> 1 </s>"),
    "llama": ("<s> 0", "<s> 0 <s> 1"),
    "mistral": ("<s> 0", "<s> 0 1"),
}


def spelled(made, parts):
    return " ".join(
        str(part.text) if part.token is None else made.convert_ids_to_tokens(part.token)
        for part in parts
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_frame_of_every_family_is_found(kind):
    made = tokenizer(kind)
    template = find_template(made)
    one, two = FRAMES[kind]
    assert (spelled(made, template.one), spelled(made, template.two)) == (one, two)
    expected = (len(one.split()) - 1, len(two.split()) - 2)
    assert (template.specials(1), template.specials(2)) == expected
    assert template.separates() == ("0 1" not in two)


@pytest.mark.parametrize("kind", KINDS)
def test_whether_a_word_is_the_same_after_a_space_is_found(kind):
    assert marks_words(tokenizer(kind)) == (kind in MARKS_WORDS)


BERT = {"CLS": START, "SEP": SEPARATOR, "PAD": OTHER}


@pytest.mark.parametrize(
    ("kind", "token", "meaning"),
    [
        *(("wordpiece", f"[{name}]", kind) for name, kind in BERT.items()),
        *(("roberta", "<s>", START), ("roberta", "</s>", SEPARATOR)),
        *(("t5", "</s>", SEPARATOR), ("t5", "<pad>", OTHER)),
        *(("llama", "<s>", START), ("gpt2", "<|endoftext|>", START)),
    ],
)
def test_a_special_token_is_a_start_a_separator_or_something_else(kind, token, meaning):
    made = tokenizer(kind)
    assert special_kind(made, made.convert_tokens_to_ids(token)) == meaning


def framed(model, normalizer=None):
    """A tokenizer around a model, with [CLS] and [SEP]."""
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if normalizer:
        made.normalizer = normalizer
    made.add_special_tokens(["[CLS]", "[SEP]"])
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, cls_token="[CLS]", sep_token="[SEP]")


def test_a_tokenizer_that_drops_letters_is_probed_with_its_own_tokens():
    digits = framed(models.BPE({"7": 0, "8": 1}, []))
    assert digits("a", add_special_tokens=False)["input_ids"] == []
    assert probe(digits) == "7"
    template = find_template(digits)
    expected = ("[CLS] 0 [SEP]", "[CLS] 0 [SEP] 1 [SEP]")
    assert (spelled(digits, template.one), spelled(digits, template.two)) == expected
    assert [part.type for part in template.two] == [0, 0, 0, 1, 1]
    assert marks_words(digits)


def test_a_letter_that_becomes_several_pieces_is_one_text():
    several = framed(
        models.WordLevel({"x": 0, "y": 1, "?": 2}, unk_token="?"), normalizers.Replace("a", "x y x")
    )
    assert len(several("a", add_special_tokens=False)["input_ids"]) == 3
    assert spelled(several, find_template(several).two) == "[CLS] 0 [SEP] 1 [SEP]"


def test_an_unknown_letter_is_a_text_like_any_other():
    unknown = framed(models.WordLevel({"x": 0, "?": 1}, unk_token="?"))
    assert spelled(unknown, find_template(unknown).one) == "[CLS] 0 [SEP]"


def test_a_tokenizer_that_makes_nothing_of_any_text_is_refused():
    nothing = framed(models.BPE({}, []))
    error = refusal(ModelError, find_template, nothing)
    name = type(nothing).__name__
    message = f"{name} makes no tokens of any text\nnext: check the tokenizer.json beside the model"
    assert str(error) == message


def test_a_tokenizer_without_offsets_is_refused():
    error = refusal(ModelError, find_template, ByT5Tokenizer())
    message = "ByT5Tokenizer gives no character offsets, which are needed to align words and pieces"
    assert str(error) == f"{message}\nnext: save a fast tokenizer (tokenizer.json) beside the model"


# --- bos ---

LONG = ("the cat sat on the mat, and the dog sat by the door.",)
ONE, TWO = ("the cat sat.",), ("the cat sat.", "a dog barked.")


def encode(kind: str, texts: tuple[str, ...], **options: Any) -> Encoded:
    (encoded,) = Encoder(tiny_tokenizer(kind), **options).encode([Example("1", texts)])
    return encoded


@pytest.mark.parametrize("texts", [ONE, TWO])
def test_a_token_that_the_tokenizer_does_not_add_is_added(texts):
    tokenizer = tiny_tokenizer("gpt2")
    plain, added = encode("gpt2", texts), encode("gpt2", texts, bos="add")
    assert added.ids.tolist() == [tokenizer.bos_token_id, *plain.ids.tolist()]
    assert np.flatnonzero(added.kind == START).tolist() == [0]
    assert (plain.kind == START).sum() == 0
    assert added.unit[1:].tolist() == plain.unit.tolist()
    assert added.text[1:] == plain.text


@pytest.mark.parametrize("kind", ["llama", "gemma", "opt", "roberta"])
def test_a_token_that_is_there_is_not_added_twice(kind):
    kept, added = encode(kind, ONE), encode(kind, ONE, bos="add")
    assert added.ids.tolist() == kept.ids.tolist()


@pytest.mark.parametrize("texts", [ONE, TWO])
@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_none_gives_the_tokens_of_the_texts_alone(kind, texts):
    tokenizer = tiny_tokenizer(kind)
    expected = [
        token for text in texts for token in tokenizer(text, add_special_tokens=False)["input_ids"]
    ]
    assert encode(kind, texts, bos="none").ids.tolist() == expected


def test_none_leaves_other_special_tokens():
    kept, without = encode("roberta", TWO), encode("roberta", TWO, bos="none")
    assert without.ids.tolist() == kept.ids.tolist()[1:]
    bert = encode("bert", TWO)
    assert encode("bert", TWO, bos="none").ids.tolist() == bert.ids.tolist()


def test_a_token_of_the_configuration_alone_counts_as_a_beginning():
    added = encode("qwen", ONE, bos="add", bos_token=0)
    assert tiny_tokenizer("qwen").bos_token_id is None
    assert (added.ids[0], added.kind[0]) == (0, START)


def test_the_token_takes_room():
    assert len(encode("gpt2", LONG, bos="add", max_length=8)) == 8


def test_what_cannot_be_done_is_refused():
    message = "the model has no beginning-of-sequence token that could be added"
    assert refusal(ModelError, encode, "bert", ONE, bos="add").message == message
    assert refusal(UserError, encode, "gpt2", ONE, bos="ad").message == (
        "the treatment of the beginning-of-sequence token must be one of add, keep, none; "
        "got 'ad' instead. Did you mean 'add'?"
    )


# --- chat ---

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


def encode_chat(tokenizer: Any, texts: tuple[str, ...], **options: Any) -> Encoded:
    (encoded,) = Encoder(tokenizer, chat=True, **options).encode([Example("1", texts)])
    return encoded


def theirs(tokenizer: Any, texts: tuple[str, ...]) -> list[int]:
    """The tokens that transformers makes of the same chat."""
    roles = ("user", "assistant")
    turns = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
    return list(tokenizer.apply_chat_template(turns, tokenize=True, return_dict=False))


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_chat_has_the_tokens_of_transformers(kind, texts):
    tokenizer = tokenizer_of(kind)
    assert encode_chat(tokenizer, texts).ids.tolist() == theirs(tokenizer, texts)


@pytest.mark.parametrize("texts", TEXTS)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_the_pieces_of_each_word_spell_it(kind, texts):
    encoded = encode_chat(tokenizer_of(kind), texts)
    words = surface_words(Example("1", texts))
    spelt = ["" for _ in words]
    for piece, unit in zip(encoded.text, encoded.unit.tolist(), strict=True):
        if unit >= 0:
            spelt[unit] += piece
    assert [word.strip() for word in spelt] == words
    expected = set(range(len(texts)))
    assert {segment for segment in encoded.segment.tolist() if segment >= 0} == expected


def test_marks_of_turns_are_neither_text_nor_beginnings():
    tokenizer = tokenizer_of("chatml")
    encoded = encode_chat(tokenizer, ("the cat", "the dog"))
    start, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    assert np.flatnonzero(encoded.kind == START).tolist() == [0]
    assert (encoded.ids == start).sum() == 2
    assert np.array_equal(encoded.kind == SEPARATOR, encoded.ids == end)
    template = (encoded.kind == OTHER) | (encoded.kind == START) | (encoded.kind == SEPARATOR)
    assert np.array_equal(template, encoded.segment < 0)
    assert all(not piece for piece, kind in zip(encoded.text, encoded.kind, strict=True) if kind)
    assert "".join(np.array(encoded.text)[encoded.kind == TEXT]) == "the catthe dog"


def test_a_long_chat_loses_text_and_keeps_its_template():
    tokenizer = tokenizer_of("chatml")
    whole, cut = encode_chat(tokenizer, LONG), encode_chat(tokenizer, LONG, max_length=20)
    template = whole.ids[whole.kind != TEXT].tolist()
    assert len(cut) == 20 < len(whole)
    assert cut.ids[cut.kind != TEXT].tolist() == template


def test_annotated_words_are_aligned_in_a_chat():
    from headscope.corpus import Word

    words = tuple(Word(text, 0, 0, -1, "root") for text in ("We", "walked", "home", "again", "."))
    example = Example("1", ("We walked home again .",), words)
    (encoded,) = Encoder(tokenizer_of("trimmed"), chat=True).encode([example])
    spelt = ["" for _ in words]
    for piece, word in zip(encoded.text, encoded.word.tolist(), strict=True):
        if word >= 0:
            spelt[word] += piece.strip()
    assert spelt == [word.text for word in words]


def refused(template: str | None, **options: Any) -> ModelError:
    tokenizer = tokenizer_of("chatml")
    tokenizer.chat_template = template
    return refusal(
        ModelError,
        lambda: list(Encoder(tokenizer, chat=True, **options).encode([Example("1", ("the cat",))])),
    )


def test_a_tokenizer_without_a_chat_template_is_refused():
    error = refused(None)
    message = "the tokenizer has no chat template, so that texts cannot be made turns of a chat"
    assert error.message == message
    assert error.hint == "leave chat=True out, or choose a model that was tuned for chats"


def test_a_template_that_changes_the_text_is_refused():
    error = refused("{% for m in messages %}{{ m['content'] | upper | reverse }}{% endfor %}")
    assert error.message.startswith("the tokenizer's chat template changes the text itself")


def test_a_template_that_fails_is_refused_with_its_own_words():
    error = refused("{{ raise_exception('only system turns') }}")
    assert "the tokenizer's chat template failed: " in error.message
    assert "only system turns" in error.message


def test_a_chat_cannot_lose_its_special_tokens():
    message = "a chat template writes its own special tokens, which cannot be removed"
    assert refused(CHATML, bos="none").message == message
