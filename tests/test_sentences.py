"""A SentenceTransformer made of our module gives the vectors of ``Model.encode``.

Where sentence-transformers has such modules of its own, they give the same vectors.
"""

from __future__ import annotations

import copy
import pickle
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AttentionInterface, AutoModel

import headscope as hs
from headscope.errors import ModelError, UserError
from headscope.heads import Head
from headscope.models import NAME, Pooling
from headscope.models.pooling import write_modules
from tiny import tiny_model, tiny_network, tiny_tokenizer

sentence_transformers = pytest.importorskip(
    "sentence_transformers",
    reason="sentence-transformers is not installed: pip install 'headscope[sentences]'",
)
from sentence_transformers import SentenceTransformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Normalize, Transformer  # noqa: E402
from sentence_transformers.sentence_transformer.modules import Pooling as TheirPooling  # noqa: E402

from headscope.sentences import HeadVectors  # noqa: E402

SENTENCES = [
    "the cat sat.",
    "a small bird sang in the old tree while rain fell on the roof.",
    "we walked",
    "She didn't know why.",
]
PAIRS = [("the dog sat by the door.", "a small bird sang."), ("we walked", "it was 10 o'clock.")]
HEADS = Pooling("2-4,1-1")


def saved(kind: str, folder: Path, pooling: Pooling) -> str:
    """A folder as ``headscope tune`` writes it."""
    tiny_network(kind).save_pretrained(folder)
    tiny_tokenizer(kind).save_pretrained(folder)
    pooling.write(folder)
    write_modules(folder)
    return str(folder)


@pytest.mark.parametrize(
    ("kind", "pooling"),
    [
        ("bert", HEADS),
        ("gpt2", HEADS),
        ("llama", HEADS),
        ("mpnet", HEADS),
        ("t5", Pooling(layer=1)),
        ("bert", Pooling(position="mean")),
    ],
)
def test_a_folder_gives_the_vectors_of_encode(kind, pooling, tmp_path):
    folder = saved(kind, tmp_path, pooling)
    model, ours = SentenceTransformer(folder, trust_remote_code=True, device="cpu"), hs.load(folder)
    for texts in (SENTENCES, PAIRS):
        assert np.allclose(model.encode(texts), ours.encode(texts), atol=1e-6)
    assert (
        model.encode("the cat sat.").shape
        == (model.get_embedding_dimension(),)
        == (pooling.width(ours),)
    )


def test_sentence_transformers_asks_for_trust_in_a_class_that_is_not_its_own(tmp_path):
    with pytest.raises(
        ValueError, match=r"headscope\.sentences\.HeadVectors(.|\n)*trust_remote_code=True"
    ):
        SentenceTransformer(saved("bert", tmp_path, HEADS), device="cpu")


def test_trust_is_not_passed_on_to_the_model(tmp_path):
    folder = saved("bert", tmp_path, HEADS)
    config = (
        (tmp_path / "config.json")
        .read_text()
        .replace("{", '{"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},', 1)
    )
    (tmp_path / "config.json").write_text(
        config.replace('"model_type": "bert"', '"model_type": "evil"')
    )
    (tmp_path / "evil.py").write_text("raise SystemExit('the model ran its own code')")
    with pytest.raises(
        ModelError, match="comes with its own code, which is not run unless you allow it"
    ):
        SentenceTransformer(folder, trust_remote_code=True, device="cpu")


def test_heads_are_given_in_any_form_and_keep_their_order():
    model = tiny_model("bert")
    for heads in (["2-4", "1-1"], "2-4, 1-1", [Head(1, 3), "L0H0"]):
        module = HeadVectors(model, heads=heads)
        assert repr(module) == "HeadVectors(tiny-bert, heads 2-4, 1-1, cls)"
        assert np.allclose(
            SentenceTransformer(modules=[module], device="cpu").encode(SENTENCES),
            model.encode(SENTENCES, pooling=HEADS),
            atol=1e-6,
        )


@pytest.mark.parametrize(
    ("kind", "position", "theirs"),
    [
        ("bert", "cls", "cls"),
        ("bert", "mean", "mean"),
        ("roberta", "mean", "mean"),
        ("gpt2", "last", "lasttoken"),
    ],
)
def test_vectors_of_the_last_layer_equal_those_of_their_own_modules(
    kind, position, theirs, tmp_path
):
    folder = saved(kind, tmp_path, Pooling(position=position))
    transformer = Transformer(folder)
    # GPT-2 has none, and their module needs one even if nothing is padded.
    transformer.tokenizer.pad_token = (
        transformer.tokenizer.pad_token or transformer.tokenizer.eos_token
    )
    expected = SentenceTransformer(
        modules=[transformer, TheirPooling(transformer.get_embedding_dimension(), theirs)],
        device="cpu",
    )
    found = SentenceTransformer(modules=[HeadVectors(folder)], device="cpu")
    assert np.allclose(found.encode(SENTENCES), expected.encode(SENTENCES, batch_size=1), atol=1e-5)


def test_a_saved_model_is_read_with_its_modules_and_its_maximum_length(tmp_path):
    model = SentenceTransformer(
        modules=[HeadVectors(tiny_model("bert"), pooling=HEADS), Normalize()], device="cpu"
    )
    model.max_seq_length = 9
    model.save(str(tmp_path))
    again = SentenceTransformer(str(tmp_path), trust_remote_code=True, device="cpu")
    assert np.array_equal(again.encode(SENTENCES), model.encode(SENTENCES))
    assert np.allclose(np.linalg.norm(again.encode(SENTENCES), axis=1), 1)
    assert again.max_seq_length == 9
    ours = tiny_model("bert").encode(SENTENCES, pooling=HEADS, max_length=9)
    assert np.allclose(
        again.encode(SENTENCES), ours / np.linalg.norm(ours, axis=1, keepdims=True), atol=1e-6
    )
    assert hs.load(tmp_path).pooling == HEADS.fit(tiny_model("bert"))
    weights = dict(tiny_network("bert").named_parameters())
    assert all(
        torch.equal(weight, weights[name])
        for name, weight in AutoModel.from_pretrained(tmp_path).named_parameters()
    )


def test_a_prompt_is_put_before_every_text():
    model = tiny_model("bert")
    found = SentenceTransformer(modules=[HeadVectors(model, pooling=HEADS)], device="cpu")
    assert np.allclose(
        found.encode(SENTENCES, prompt="we know: "),
        model.encode([f"we know: {text}" for text in SENTENCES], pooling=HEADS),
        atol=1e-6,
    )
    assert np.allclose(
        found.encode(PAIRS, prompt="we know: "),
        model.encode([(f"we know: {first}", second) for first, second in PAIRS], pooling=HEADS),
        atol=1e-6,
    )


def test_training_reaches_only_the_weights_that_make_the_vectors():
    model = SentenceTransformer(
        modules=[HeadVectors(tiny_model("bert"), heads=["1-2"])], device="cpu"
    )
    model(model.preprocess(SENTENCES))["sentence_embedding"].square().sum().backward()
    reached = {
        name
        for name, weight in model[0].network.named_parameters()
        if weight.grad is not None and weight.grad.any()
    }
    assert {
        "embeddings.word_embeddings.weight",
        "encoder.layer.0.attention.self.value.weight",
    } <= reached
    assert [
        name
        for name in reached
        if not name.startswith(("embeddings.", "encoder.layer.0.attention.self."))
    ] == []
    rows = model[0].network.encoder.layer[0].attention.self.value.weight.grad.abs().sum(1) > 0
    assert rows.nonzero().flatten().tolist() == list(range(8, 16))  # the second head's eight rows


def test_a_copy_and_another_process_give_the_same_vectors(monkeypatch):
    model = SentenceTransformer(
        modules=[HeadVectors(tiny_model("bert"), pooling=HEADS)], device="cpu"
    )
    expected = model.encode(SENTENCES)
    assert np.array_equal(copy.deepcopy(model).encode(SENTENCES), expected)
    kept = pickle.dumps(model)
    # As in a process that has not loaded any model.
    monkeypatch.delitem(AttentionInterface._global_mapping, NAME)
    assert np.array_equal(pickle.loads(kept).encode(SENTENCES), expected)


def test_dtype_is_the_only_model_kwarg(tmp_path):
    folder = saved("bert", tmp_path, HEADS)
    for dtype in (torch.bfloat16, "bfloat16"):
        assert (
            SentenceTransformer(
                folder, trust_remote_code=True, device="cpu", model_kwargs={"dtype": dtype}
            ).dtype
            == torch.bfloat16
        )
    with pytest.raises(
        UserError,
        match=r"^the model_kwargs must be one of dtype; got 'attn_implementation' instead",
    ):
        SentenceTransformer(
            folder,
            trust_remote_code=True,
            device="cpu",
            model_kwargs={"attn_implementation": "sdpa"},
        )
    with pytest.raises(UserError, match=r"^the backend must be one of torch; got 'onnx' instead"):
        SentenceTransformer(folder, trust_remote_code=True, device="cpu", backend="onnx")


def test_wrong_heads_and_empty_sentences_are_errors():
    model = tiny_model("bert")
    with pytest.raises(UserError, match=r"^the model has no head 3-1 \(L2H0\); its heads run from"):
        HeadVectors(model, heads=["3-1"])
    with pytest.raises(UserError, match="a head must be given as LAYER-HEAD counted from 1"):
        HeadVectors(model, heads=["3:1"])
    with pytest.raises(UserError, match=r"^a vector is made of heads or of a pooling, not of both"):
        HeadVectors(model, heads=["1-1"], pooling=HEADS)
    with pytest.raises(UserError, match=r"^sentence 2 has no text that tiny-bert can read"):
        SentenceTransformer(modules=[HeadVectors(model)], device="cpu").encode(
            ["the cat", ""], batch_size=2
        )


def test_without_sentence_transformers_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers.base.modules", None)
    monkeypatch.delitem(sys.modules, "headscope.sentences")
    with pytest.raises(ImportError, match=r"pip install 'headscope\[sentences\]'"):
        import_module("headscope.sentences")
