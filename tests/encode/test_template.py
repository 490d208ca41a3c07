"""The frame of special tokens, learned from the tokenizer."""

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from encode.tokenizers import KINDS, MARKS_WORDS, tokenizer
from headscope.encode import OTHER, SEPARATOR, START
from headscope.encode.template import find_template, marks_words, probe, special_kind
from headscope.errors import ModelError

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
    assert (template.specials(1), template.specials(2)) == (
        len(one.split()) - 1,
        len(two.split()) - 2,
    )
    assert template.separates() == ("0 1" not in two)


@pytest.mark.parametrize("kind", KINDS)
def test_whether_a_word_is_the_same_after_a_space_is_found(kind):
    assert marks_words(tokenizer(kind)) == (kind in MARKS_WORDS)


@pytest.mark.parametrize(
    ("kind", "token", "meaning"),
    [
        ("wordpiece", "[CLS]", START),
        ("wordpiece", "[SEP]", SEPARATOR),
        ("wordpiece", "[PAD]", OTHER),
        ("roberta", "<s>", START),
        ("roberta", "</s>", SEPARATOR),
        ("t5", "</s>", SEPARATOR),
        ("t5", "<pad>", OTHER),
        ("llama", "<s>", START),
        ("gpt2", "<|endoftext|>", START),
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
    assert (spelled(digits, template.one), spelled(digits, template.two)) == (
        "[CLS] 0 [SEP]",
        "[CLS] 0 [SEP] 1 [SEP]",
    )
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
    with pytest.raises(ModelError) as caught:
        find_template(nothing)
    name = type(nothing).__name__
    assert (
        str(caught.value)
        == f"{name} makes no tokens of any text\nnext: check the tokenizer.json beside the model"
    )


def test_a_tokenizer_without_offsets_is_refused():
    with pytest.raises(ModelError) as caught:
        find_template(ByT5Tokenizer())
    message = "ByT5Tokenizer gives no character offsets, which are needed to align words and pieces"
    assert (
        str(caught.value)
        == f"{message}\nnext: save a fast tokenizer (tokenizer.json) beside the model"
    )
