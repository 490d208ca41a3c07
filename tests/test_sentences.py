"""A SentenceTransformer made of our module gives the vectors of ``Model.encode``.

Where sentence-transformers has such modules of its own, they give the same vectors.
"""

from __future__ import annotations

import copy
import json
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


def sentence_model(*modules: object) -> SentenceTransformer:
    return SentenceTransformer(modules=list(modules), device="cpu")


def opened(folder: str, **options: object) -> SentenceTransformer:
    return SentenceTransformer(folder, trust_remote_code=True, device="cpu", **options)


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
    model, ours = opened(folder), hs.load(folder)
    for texts in (SENTENCES, PAIRS):
        assert np.allclose(model.encode(texts), ours.encode(texts), atol=1e-6)
    width = (pooling.width(ours),)
    assert model.encode("the cat sat.").shape == (model.get_embedding_dimension(),) == width


def test_sentence_transformers_asks_for_trust_in_a_class_that_is_not_its_own(tmp_path):
    message = r"headscope\.sentences\.HeadVectors(.|\n)*trust_remote_code=True"
    with pytest.raises(ValueError, match=message):
        SentenceTransformer(saved("bert", tmp_path, HEADS), device="cpu")


def test_trust_is_not_passed_on_to_the_model(tmp_path):
    folder = saved("bert", tmp_path, HEADS)
    path = tmp_path / "config.json"
    code = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
    config = json.loads(path.read_text()) | {"model_type": "evil", "auto_map": code}
    path.write_text(json.dumps(config))
    (tmp_path / "evil.py").write_text("raise SystemExit('the model ran its own code')")
    message = "comes with its own code, which is not run unless you allow it"
    with pytest.raises(ModelError, match=message):
        opened(folder)


def test_heads_are_given_in_any_form_and_keep_their_order():
    model = tiny_model("bert")
    for heads in (["2-4", "1-1"], "2-4, 1-1", [Head(1, 3), "L0H0"]):
        module = HeadVectors(model, heads=heads)
        assert repr(module) == "HeadVectors(tiny-bert, heads 2-4, 1-1, cls)"
        expected = model.encode(SENTENCES, pooling=HEADS)
        assert np.allclose(sentence_model(module).encode(SENTENCES), expected, atol=1e-6)


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
    pooling = TheirPooling(transformer.get_embedding_dimension(), theirs)
    expected = sentence_model(transformer, pooling)
    found = sentence_model(HeadVectors(folder))
    assert np.allclose(found.encode(SENTENCES), expected.encode(SENTENCES, batch_size=1), atol=1e-5)


def test_a_saved_model_is_read_with_its_modules_and_its_maximum_length(tmp_path):
    model = sentence_model(HeadVectors(tiny_model("bert"), pooling=HEADS), Normalize())
    model.max_seq_length = 9
    model.save(str(tmp_path))
    again = opened(str(tmp_path))
    assert np.array_equal(again.encode(SENTENCES), model.encode(SENTENCES))
    assert np.allclose(np.linalg.norm(again.encode(SENTENCES), axis=1), 1)
    assert again.max_seq_length == 9
    ours = tiny_model("bert").encode(SENTENCES, pooling=HEADS, max_length=9)
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    assert np.allclose(again.encode(SENTENCES), ours, atol=1e-6)
    assert hs.load(tmp_path).pooling == HEADS.fit(tiny_model("bert"))
    weights = dict(tiny_network("bert").named_parameters())
    for name, weight in AutoModel.from_pretrained(tmp_path).named_parameters():
        assert torch.equal(weight, weights[name])


def test_a_prompt_is_put_before_every_text():
    model = tiny_model("bert")
    found = sentence_model(HeadVectors(model, pooling=HEADS))
    prompted = [f"we know: {text}" for text in SENTENCES]
    pairs = [(f"we know: {first}", second) for first, second in PAIRS]
    for texts, whole in ((SENTENCES, prompted), (PAIRS, pairs)):
        expected = model.encode(whole, pooling=HEADS)
        assert np.allclose(found.encode(texts, prompt="we know: "), expected, atol=1e-6)


def test_training_reaches_only_the_weights_that_make_the_vectors():
    model = sentence_model(HeadVectors(tiny_model("bert"), heads=["1-2"]))
    model(model.preprocess(SENTENCES))["sentence_embedding"].square().sum().backward()
    reached = {
        name
        for name, weight in model[0].network.named_parameters()
        if weight.grad is not None and weight.grad.any()
    }
    inside = ("embeddings.", "encoder.layer.0.attention.self.")
    assert {f"{inside[0]}word_embeddings.weight", f"{inside[1]}value.weight"} <= reached
    assert [name for name in reached if not name.startswith(inside)] == []
    rows = model[0].network.encoder.layer[0].attention.self.value.weight.grad.abs().sum(1) > 0
    assert rows.nonzero().flatten().tolist() == list(range(8, 16))  # the second head's eight rows


def test_a_copy_and_another_process_give_the_same_vectors(monkeypatch):
    model = sentence_model(HeadVectors(tiny_model("bert"), pooling=HEADS))
    expected = model.encode(SENTENCES)
    assert np.array_equal(copy.deepcopy(model).encode(SENTENCES), expected)
    kept = pickle.dumps(model)
    # As in a process that has not loaded any model.
    monkeypatch.delitem(AttentionInterface._global_mapping, NAME)
    assert np.array_equal(pickle.loads(kept).encode(SENTENCES), expected)


def test_dtype_is_the_only_model_kwarg(tmp_path):
    folder = saved("bert", tmp_path, HEADS)
    for dtype in (torch.bfloat16, "bfloat16"):
        assert opened(folder, model_kwargs={"dtype": dtype}).dtype == torch.bfloat16
    message = "^the model_kwargs must be one of dtype; got 'attn_implementation' instead"
    with pytest.raises(UserError, match=message):
        opened(folder, model_kwargs={"attn_implementation": "sdpa"})
    with pytest.raises(UserError, match=r"^the backend must be one of torch; got 'onnx' instead"):
        opened(folder, backend="onnx")


def test_wrong_heads_and_empty_sentences_are_errors():
    model = tiny_model("bert")
    with pytest.raises(UserError, match=r"^the model has no head 3-1 \(L2H0\); its heads run from"):
        HeadVectors(model, heads=["3-1"])
    with pytest.raises(UserError, match="a head must be given as LAYER-HEAD counted from 1"):
        HeadVectors(model, heads=["3:1"])
    with pytest.raises(UserError, match=r"^a vector is made of heads or of a pooling, not of both"):
        HeadVectors(model, heads=["1-1"], pooling=HEADS)
    with pytest.raises(UserError, match=r"^sentence 2 has no text that tiny-bert can read"):
        sentence_model(HeadVectors(model)).encode(["the cat", ""], batch_size=2)


def test_without_sentence_transformers_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers.base.modules", None)
    monkeypatch.delitem(sys.modules, "headscope.sentences")
    with pytest.raises(ImportError, match=r"pip install 'headscope\[sentences\]'"):
        import_module("headscope.sentences")
