"""Small tokenizers of every family, trained in memory: the reference of the encoding tests."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and the dog barks.",
    "A dog barks at the café; the crème brûlée is naïve.",
    "Größere Häuser stehen an der Straße. Der Fuß schmerzt.",
    "彼は東京の大学で日本語を勉強しています。",
    "猫が好きです。犬も好きです。",
    "The 🙂 smiles, the 👩‍👩‍👧 waves. 🇩🇪!",
    "Who lives there? She lives there, he doesn't, 10,000 others do.",
]
BERT = {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]"}
SENTENCEPIECE = {
    "unk_token": "<unk>",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
}
KINDS = (
    *("wordpiece", "gpt2", "gpt2-prefix", "roberta", "bart-prefix", "t5", "xlmr", "albert"),
    *("llama", "mistral"),
)
MARKS_WORDS = tuple(kind for kind in KINDS if kind not in {"gpt2", "roberta"})
"""Where a word has the same pieces at the start of a text as after a space."""
FAITHFUL = ("gpt2", "gpt2-prefix", "roberta", "bart-prefix", "llama", "mistral")
"""Where the pieces spell exactly what was given."""


@cache
def tokenizer(kind: str) -> Any:
    """The tokenizer of a family, trained once."""
    return MAKERS[kind]()


def _template(trained: Tokenizer, single: str, pair: str, *names: str) -> None:
    trained.post_processor = processors.TemplateProcessing(
        single=single,
        pair=pair,
        special_tokens=[(name, trained.token_to_id(name)) for name in names],
    )


def wordpiece() -> Any:
    """BERT: lower case, accents off, ``[CLS] a [SEP] b [SEP]`` with token types."""
    trained = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=True)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.train_from_iterator(
        SENTENCES,
        trainers.WordPieceTrainer(
            vocab_size=240, special_tokens=list(BERT.values()), show_progress=False
        ),
    )
    _template(trained, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", "[CLS]", "[SEP]")
    return PreTrainedTokenizerFast(
        tokenizer_object=trained,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **BERT,
    )


def _byte_level(prefix: bool, specials: list[str]) -> Tokenizer:
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    trained.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trained.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=330, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return trained


def gpt2(*, prefix: bool = False) -> Any:
    """GPT-2: bytes, no special tokens; the space before a word is part of its first piece."""
    trained = _byte_level(prefix, ["<|endoftext|>"])
    trained.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(
        tokenizer_object=trained, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )


def roberta(*, prefix: bool = False) -> Any:
    """RoBERTa and BART: bytes, ``<s> a </s></s> b </s>``, spaces taken off the offsets."""
    trained = _byte_level(prefix, ["<s>", "<pad>", "</s>", "<unk>"])
    trained.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=prefix
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=trained, cls_token="<s>", sep_token="</s>", **SENTENCEPIECE
    )


def _unigram(normalizer: Any, scheme: str = "always") -> Tokenizer:
    trained = Tokenizer(models.Unigram())
    trained.normalizer = normalizer
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    trained.decoder = decoders.Metaspace(prepend_scheme=scheme)
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    trained.train_from_iterator(
        SENTENCES,
        trainers.UnigramTrainer(
            vocab_size=220, special_tokens=specials, unk_token="<unk>", show_progress=False
        ),
    )
    return trained


def t5() -> Any:
    """T5: Unigram, ``a </s> b </s>``, no start token."""
    trained = _unigram(
        normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    )
    _template(trained, "$A </s>", "$A </s> $B </s>", "</s>")
    return PreTrainedTokenizerFast(
        tokenizer_object=trained, **(SENTENCEPIECE | {"bos_token": None})
    )


@cache
def charsmap() -> bytes:
    """SentencePiece's normalization table (nmt_nfkc), as in T5, XLM-R and ALBERT.

    It turns a zero-width space into a space.
    """
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=written,
        vocab_size=100,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    return bytes(
        sentencepiece_model_pb2.ModelProto.FromString(
            written.getvalue()
        ).normalizer_spec.precompiled_charsmap
    )


def xlmr() -> Any:
    """XLM-R: Unigram behind SentencePiece's normalization, ``<s> a </s></s> b </s>``."""
    trained = _unigram(
        normalizers.Sequence(
            [normalizers.Precompiled(charsmap()), normalizers.Replace(Regex(" {2,}"), " ")]
        )
    )
    _template(trained, "<s> $A </s>", "<s> $A </s> </s> $B </s>", "<s>", "</s>")
    return PreTrainedTokenizerFast(
        tokenizer_object=trained, cls_token="<s>", sep_token="</s>", **SENTENCEPIECE
    )


def albert() -> Any:
    """ALBERT: Unigram, lower case without accents, ``[CLS] a [SEP] b [SEP]`` with token types."""
    parts = [
        normalizers.NFKD(),
        normalizers.StripAccents(),
        normalizers.Lowercase(),
        normalizers.Precompiled(charsmap()),
        normalizers.Replace(Regex(" {2,}"), " "),
    ]
    trained = _unigram(normalizers.Sequence(parts))
    _template(trained, "<s> $A </s>", "<s> $A </s> $B:1 </s>:1", "<s>", "</s>")
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=trained,
        cls_token="<s>",
        sep_token="</s>",
        model_input_names=names,
        **SENTENCEPIECE,
    )


def _byte_fallback(scheme: str | None) -> Tokenizer:
    """SentencePiece's BPE.

    With ``scheme`` None, the normalizer puts the mark before the text, as in Llama 2.
    """
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    trained.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme or "first")
    specials = ["<unk>", "<s>", "</s>", "<pad>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained.train_from_iterator(
        SENTENCES[:3],
        trainers.BpeTrainer(vocab_size=440, special_tokens=specials, show_progress=False),
    )
    if scheme is None:
        trained.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        trained.pre_tokenizer = None
    trained.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    return trained


def llama() -> Any:
    """Llama 2: BPE with bytes for unknown characters, ``<s> a <s> b``, no pre-tokenizer."""
    trained = _byte_fallback(None)
    _template(trained, "<s> $A", "<s> $A <s> $B:1", "<s>")
    return PreTrainedTokenizerFast(tokenizer_object=trained, **SENTENCEPIECE)


def mistral() -> Any:
    """The same with the mark in the pre-tokenizer, and nothing between the texts: ``<s> a b``."""
    trained = _byte_fallback("always")
    _template(trained, "<s> $A", "<s> $A $B:1", "<s>")
    return PreTrainedTokenizerFast(tokenizer_object=trained, **SENTENCEPIECE)


MAKERS = {
    "wordpiece": wordpiece,
    "gpt2": gpt2,
    "gpt2-prefix": lambda: gpt2(prefix=True),
    "roberta": roberta,
    "bart-prefix": lambda: roberta(prefix=True),
    "t5": t5,
    "xlmr": xlmr,
    "albert": albert,
    "llama": llama,
    "mistral": mistral,
}
