"""Classifiers on the last layer, a layer or heads: inputs, gradients and saved files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModel, AutoTokenizer

import headscope as hs
from headscope.corpus import Example, from_examples
from headscope.errors import Interrupted, ModelError, UserError
from headscope.heads import Head
from headscope.models import Pooling
from headscope.runs.tune import (
    PooledClassifier,
    load_pooled,
    parse_pooling,
    pooling_slug,
    predict,
    read_record,
)
from headscope.runs.tune.rows import encode_rows
from headscope.tasks import Task
from runs.in_process import interrupt_at
from runs.tune.animals import (
    ANIMALS,
    plain_adamw,
    saved,
    sentences,
    tune_animals,
    weights,
)
from tiny import (
    DECODERS,
    ENCODERS,
    HIDDEN,
    LAYERS,
    STACKS,
    WIDTH,
    eager_inputs,
    eager_run,
    place,
    split_values,
    tiny_batch,
    tiny_model,
    tiny_network,
)

LENGTHS = (9, 5, 12)  # of tiny_batch
RUN = "its heads run from 1-1 to 2-4 (L0H0 to L1H3)"
HEADS = Pooling(heads="2-3,1-1")


def at(values: torch.Tensor, position: str) -> torch.Tensor:
    """The vector of each text of a tiny batch, from a plain loop."""
    return torch.stack(
        [
            {"cls": row[0], "last": row[length - 1], "mean": row[:length].mean(0)}[position]
            for row, length in zip(values, LENGTHS, strict=True)
        ]
    )


def by_hand(network: Any, kind: str, pooling: Pooling) -> torch.Tensor:
    """The vectors of heads from transformers' own maps and values."""
    values: list[torch.Tensor] = []
    modules = dict.fromkeys(
        place(network, kind, STACKS[kind][0], layer)[2] for layer in range(LAYERS)
    )
    handles = [
        module.register_forward_hook(
            lambda _module, _given, output: values.append(split_values(kind, output))
        )
        for module in modules
    ]
    maps = eager_run(kind, tiny_batch(kind), network=network)[1][STACKS[kind][0]]
    for handle in handles:
        handle.remove()
    outputs = [maps[layer][:, head] @ values[layer][:, :, head] for layer, head in pooling.heads]
    return torch.cat([at(output, pooling.position) for output in outputs], 1)


def inputs_of(kind: str) -> dict[str, torch.Tensor]:
    return eager_inputs(kind, tiny_batch(kind))


@pytest.mark.parametrize(
    ("kind", "position"),
    [
        *((kind, "cls") for kind in ENCODERS),
        *((kind, "last") for kind in DECODERS),
        ("bert", "mean"),
        ("gpt2", "mean"),
    ],
)
def test_gradients_flow_through_the_chosen_heads_only(kind, position):
    pooling = Pooling(HEADS.heads, position=position)
    model, labels = tiny_model(kind), torch.tensor([0, 2, 1])
    pooled = PooledClassifier(model, pooling, 3, seed=1).eval()
    found = pooled(**inputs_of(kind), labels=labels)
    found.loss.backward()
    network = tiny_network(kind)
    vectors = by_hand(network, kind, pooling)
    dense, classifier = (part.weight.detach().T for part in (pooled.dense, pooled.classifier))
    outputs = torch.tanh(vectors @ dense) @ classifier
    torch.testing.assert_close(found.logits, outputs, atol=1e-5, rtol=1e-4)
    loss = -torch.log_softmax(outputs, 1)[torch.arange(3), labels].mean()
    torch.testing.assert_close(found.loss, loss)
    loss.backward()
    wanted = {name: value.grad for name, value in network.named_parameters()}
    for name, value in model.network.named_parameters():
        assert (value.grad is None) == (wanted[name] is None), name
        if value.grad is not None:
            torch.testing.assert_close(value.grad, wanted[name], atol=1e-6, rtol=1e-3, msg=name)
    assert any(value is None for value in wanted.values())


@pytest.mark.parametrize("kind", [*ENCODERS, *DECODERS])
@pytest.mark.parametrize("layer", range(1, LAYERS + 1))
def test_the_vector_of_a_layer_is_transformers_hidden_state(kind, layer):
    pooling = Pooling(layer=layer, position="last")
    pooled = PooledClassifier(tiny_model(kind), pooling, 2, seed=0).eval()
    expected = at(eager_run(kind, tiny_batch(kind))[0].hidden_states[layer], "last")
    torch.testing.assert_close(pooled.vectors(**inputs_of(kind)), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "pooling",
    [Pooling(heads="1-4,1-2", position="last"), Pooling(layer=1, position="last")],
    ids=["heads", "layer"],
)
# ALBERT has one layer, which it runs again and again.
@pytest.mark.parametrize("kind", sorted({*ENCODERS, *DECODERS} - {"albert"}))
def test_layers_above_the_chosen_ones_are_not_computed(kind, pooling):
    model = tiny_model(kind)
    pooled = PooledClassifier(model, pooling, 2, seed=0).eval()
    seen: list[int] = []
    for layer in range(LAYERS):
        place(model.network, kind, STACKS[kind][0], layer)[2].register_forward_hook(
            lambda *_, layer=layer: seen.append(layer)
        )
    pooled(**inputs_of(kind))
    assert seen == [0]


def test_new_weights_are_drawn_with_the_seed():
    one, same, other = (
        PooledClassifier(tiny_model("bert"), Pooling(HEADS.heads, position="cls"), 2, seed=seed)
        for seed in (1, 1, 2)
    )
    assert torch.equal(one.dense.weight, same.dense.weight)
    assert torch.equal(one.classifier.weight, same.classifier.weight)
    assert not torch.equal(one.dense.weight, other.dense.weight)
    assert one.dense.weight.shape == (HIDDEN, 2 * WIDTH)
    assert one.classifier.weight.shape == (2, HIDDEN)
    assert one.dense.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert one.dropout.p == 0.1
    assert not one.dense.bias.any()
    assert not one.classifier.bias.any()


@pytest.fixture(scope="module")
def tuned(bert, tmp_path_factory):
    """Tuned from two heads of the first layer."""
    output = tmp_path_factory.mktemp("runs") / "heads"
    data = {"train": sentences(160, 0), "dev": sentences(60, 1)}
    return tune_animals(bert, output, **data, pooling=Pooling(heads="1-4,1-2"), epochs=6, seed=3)


def test_it_learns_and_only_the_weights_in_use_change(bert, tuned):
    assert tuned.scores["accuracy"] > tuned.majority["accuracy"] + 0.2
    before, after = weights(bert), weights(tuned.folder)
    changed = {name for name, value in after.items() if not torch.equal(value, before[name])}
    in_use = re.compile(r"embeddings\.|encoder\.layer\.0\.attention\.self\.")
    assert changed == set(filter(in_use.match, before))


def test_the_vectors_of_the_saved_checkpoint_are_those_the_classifier_saw(tuned):
    model, pooled = load_pooled(tuned.folder)
    rows, _ = encode_rows(model, ANIMALS, sentences(60, 1), max_length=32)
    outputs = predict(model, rows, batch_size=8, pooled=pooled)
    assert np.mean(outputs.argmax(1) == rows.labels) == tuned.scores["accuracy"]
    own = load_file(tuned.folder / "headscope-classifier.safetensors")
    texts = [example.texts[0] for example in sentences(60, 1)]
    vectors = torch.from_numpy(hs.load(tuned.folder).encode(texts))
    assert vectors.shape == (60, 2 * WIDTH)
    expected = (
        torch.tanh(vectors @ own["dense.weight"].T + own["dense.bias"]) @ own["classifier.weight"].T
        + own["classifier.bias"]
    )
    np.testing.assert_allclose(outputs, expected.numpy(), atol=1e-5)
    network = AutoModel.from_pretrained(tuned.folder, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(tuned.folder)
    values: list[torch.Tensor] = []
    network.get_submodule("encoder.layer.0.attention.self.value").register_forward_hook(
        lambda _module, _given, output: values.append(output.unflatten(-1, (4, WIDTH)))
    )
    inputs = tokenizer(texts[0], return_tensors="pt")
    with torch.no_grad():
        maps = network(**inputs, output_attentions=True).attentions[0]
    plain = torch.cat([maps[0, head, 0] @ values[0][0, :, head] for head in (3, 1)])
    torch.testing.assert_close(vectors[0], plain, atol=1e-5, rtol=1e-4)


def test_the_record_holds_the_pooling_and_may_lack_it(tuned, tmp_path):
    assert tuned.pooling == Pooling(heads="1-4,1-2", position="cls")
    assert read_record(tuned.folder) == tuned
    about = json.loads((tuned.folder / "headscope-tune.json").read_text())
    assert about["pooling"] == {"heads": ["1-4", "1-2"], "layer": None, "position": "cls"}
    del about["pooling"]
    (tmp_path / "headscope-tune.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="its contents do not match the digest written with them"):
        read_record(tmp_path)
    del about["digest"]  # as records were before there were digests
    (tmp_path / "headscope-tune.json").write_text(json.dumps(about))
    assert read_record(tmp_path).pooling is None


def test_the_papers_learning_rate_is_the_default(bert, tmp_path):
    for pooling, rate in ((Pooling(), 2e-5), (None, 5e-5)):
        output = tmp_path / str(rate)
        done = tune_animals(bert, output, pooling=pooling, learning_rate=None)
        assert done.settings.learning_rate == rate


def test_training_equals_a_plain_loop(tmp_path, monkeypatch):
    """The first step of AdamW on the hidden state of the first layer, gradients clipped to norm 1,
    no dropout and no warm-up."""
    monkeypatch.setattr("headscope.runs.tune.classifier.DROPOUT", 0.0)
    folder = saved(
        "bert", tmp_path / "model", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    corpus = sentences(8, 0)
    how = {"pooling": Pooling(layer=1), "warmup": 0.0, "learning_rate": 1e-3, "seed": 5}
    tune_animals(folder, tmp_path / "out", train=corpus, dev=corpus, **how)
    model = hs.load(folder)
    start = PooledClassifier(model, Pooling(layer=1, position="cls"), 2, seed=5)
    layers = nn.ModuleDict({"dense": start.dense, "classifier": start.classifier})
    network = AutoModel.from_pretrained(folder)
    parts = nn.ModuleDict({"network": network, **layers}).train()
    named = dict(parts.named_parameters())
    optimizer = plain_adamw(named.items())
    rows, _ = encode_rows(model, ANIMALS, corpus, max_length=32)
    losses = []
    for row in rows.rows:
        ids = torch.from_numpy(row["ids"]).long()[None]
        state = network(input_ids=ids, output_hidden_states=True).hidden_states[1][:, 0]
        logits = start.classifier(torch.tanh(start.dense(state)))
        losses.append(nn.functional.cross_entropy(logits, torch.tensor([row["label"]])))
    torch.stack(losses).mean().backward()
    nn.utils.clip_grad_norm_(parts.parameters(), 1.0)
    # The first step of Adam is the sign of the gradient: near 0, rounding decides.
    sure = {
        name: torch.as_tensor(value.grad is None or value.grad.abs() > 1e-6)
        for name, value in named.items()
    }
    optimizer.step()
    found = load_file(tmp_path / "out" / "headscope-classifier.safetensors")
    found |= {f"network.{name}": value for name, value in weights(tmp_path / "out").items()}
    assert found.keys() == named.keys()
    for name, value in named.items():
        pair = (torch.where(sure[name], one, 0.0) for one in (found[name], value.detach()))
        torch.testing.assert_close(*pair, atol=2e-5, rtol=0)
    assert sum(int(mask.sum()) for mask in sure.values()) > 5000


def parts_of(folder: Path) -> dict[str, torch.Tensor]:
    return weights(folder) | load_file(folder / "headscope-classifier.safetensors")


@pytest.mark.parametrize("pooling", [Pooling(layer=1), HEADS], ids=["layer", "heads"])
def test_an_interrupted_run_resumes_to_the_same_weights(bert, tmp_path, pooling):
    given = {"epochs": 2, "pooling": pooling, "train": sentences(16, 0)}
    whole = tune_animals(bert, tmp_path / "whole", **given)
    with pytest.raises(Interrupted, match="the state after step 2 is kept"):
        tune_animals(bert, tmp_path / "parts", progress=interrupt_at(3), every=0, **given)
    steps = []
    given["progress"] = lambda done, _: steps.append(done)
    parts = tune_animals(bert, tmp_path / "parts", **given)
    one, two = parts_of(whole.folder), parts_of(parts.folder)
    assert steps == [3, 4]
    assert one.keys() == two.keys()
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    assert parts.scores == whole.scores
    assert not (parts.folder / "checkpoints").exists()


def test_the_pooling_is_part_of_the_identity_of_a_run(bert, tmp_path):
    place = tmp_path / "x"
    last = tune_animals(bert, place, pooling=Pooling())
    again = tune_animals(bert, place, pooling=Pooling(layer=2, position="cls"))
    assert (again.again, again) == (True, last)
    assert tune_animals(bert, tmp_path / "plain").identity != last.identity
    for other, words in (
        (Pooling(position="mean"), "'layer 2 (mean)'"),
        (HEADS, "'heads 2-3, 1-1 (cls)'"),
        (None, "'none'"),
    ):
        with pytest.raises(UserError) as caught:
            tune_animals(bert, place, pooling=other)
        assert caught.value.message.startswith(f"{place} holds the results of another run: ")
        assert f"pooling: 'layer 2 (cls)' there, {words} here" in caught.value.message


def test_a_run_without_a_pooling_removes_the_files_of_one_with_a_pooling(bert, tmp_path):
    tune_animals(bert, tmp_path / "x", pooling=Pooling(layer=1))
    assert hs.load(tmp_path / "x").pooling.layer == 1
    tune_animals(bert, tmp_path / "x", resume=False)
    assert hs.load(tmp_path / "x").pooling.layer == 2
    assert not list((tmp_path / "x").glob("headscope-classifier*"))
    message = r"x has no classifier on a layer or on heads: no headscope-classifier.safetensors"
    with pytest.raises(ModelError, match=message):
        load_pooled(tmp_path / "x")


def test_untrained_is_scored_as_drawn_and_random_draws_all_weights(bert, tmp_path):
    untrained = tune_animals(bert, tmp_path / "u", pooling=HEADS, start="untrained")
    assert untrained.notes == [
        f"the classifier on heads 2-3, 1-1 of {bert} was never trained: its weights are random"
    ]
    before = weights(bert)
    assert all(torch.equal(value, before[name]) for name, value in weights(tmp_path / "u").items())
    tune_animals(bert, tmp_path / "r", pooling=HEADS, start="random", learning_rate=1e-8)
    drawn = weights(tmp_path / "r")["encoder.layer.0.attention.self.query.weight"]
    assert drawn.std().item() == pytest.approx(0.02, rel=0.1)


def test_the_vector_of_a_causal_model_is_at_its_last_token(gpt2, tmp_path):
    done = tune_animals(gpt2, tmp_path / "x", pooling=HEADS)
    assert done.pooling == Pooling(HEADS.heads, position="last")
    model, pooled = load_pooled(tmp_path / "x")
    rows, _ = encode_rows(model, ANIMALS, sentences(8, 1), max_length=32)
    outputs = predict(model, rows, batch_size=3, pooled=pooled)
    vectors = torch.from_numpy(model.encode([example.texts[0] for example in sentences(8, 1)]))
    expected = pooled.classifier(torch.tanh(pooled.dense(vectors)))
    np.testing.assert_allclose(outputs, expected.detach().numpy(), atol=1e-5)


def test_a_regression_is_trained_on_the_squared_error(bert, tmp_path):
    pooling = Pooling(layer=1, position="cls")
    pooled = PooledClassifier(tiny_model("bert"), pooling, 1, seed=0).eval()
    gold = np.array([0.5, 3.0, 4.25])
    found = pooled(**inputs_of("bert"), labels=torch.from_numpy(gold).float())
    squares = (found.logits[:, 0].detach().numpy() - gold) ** 2
    assert found.loss.item() == pytest.approx(squares.mean(), rel=1e-5)
    texts = [" ".join(["cat"] * row + ["dog"] * (8 - row)) for row in range(8)]
    corpus = from_examples(
        [Example(str(row), (text,), label=str(row / 2)) for row, text in enumerate(texts)]
    )
    cats = Task("cats", "cats", "regression", (), ("pearson", "spearman"))
    data = {"task": cats, "train": corpus, "dev": corpus}
    done = tune_animals(bert, tmp_path / "x", pooling=Pooling(layer=1), **data)
    model, again = load_pooled(tmp_path / "x")
    rows, _ = encode_rows(model, done.task, corpus, max_length=32)
    outputs = predict(model, rows, batch_size=8, pooled=again)
    assert outputs.shape == (8,)
    expected = np.corrcoef(outputs, np.arange(8))[0, 1]
    assert done.scores["pearson"] == pytest.approx(expected, abs=1e-4)


def test_mixed_precision_trains_heads_and_saves_float32(bert, tmp_path):
    tune_animals(bert, tmp_path / "x", pooling=HEADS, precision="bf16")
    assert {value.dtype for value in parts_of(tmp_path / "x").values()} == {torch.float32}


@pytest.mark.parametrize(
    ("pooling", "message"),
    [
        (Pooling(heads="1-1,3-1"), f"head 3-1 (L2H0); {RUN}"),
        (Pooling(heads="1-5"), f"head 1-5 (L0H4); {RUN}"),
        (Pooling(heads=Head(-1, 0)), f"head 0-1 (L-1H0); {RUN}"),
        (Pooling(layer=3), "layer 3; its layers run from 1 to 2"),
    ],
)
def test_a_head_or_layer_that_does_not_exist_is_an_error_before_anything_is_written(
    bert, tmp_path, pooling, message
):
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tmp_path / "x", pooling=pooling)
    assert caught.value.message == f"the model has no {message}"
    assert not (tmp_path / "x").exists()


def test_encoder_decoders_and_the_first_token_of_causal_models_are_refused(gpt2, tmp_path):
    for kind in ("t5", "bart"):
        with pytest.raises(ModelError, match=f"classifiers on top of {kind} are not supported"):
            tune_animals(saved(kind, tmp_path / kind), tmp_path / "x", pooling=Pooling())
    with pytest.raises(UserError, match="the position must be last or mean for "):
        tune_animals(gpt2, tmp_path / "x", pooling=Pooling(position="cls"))


def test_a_damaged_classifier_is_an_error(bert, tmp_path):
    tune_animals(bert, tmp_path / "x", pooling=HEADS)
    path = tmp_path / "x" / "headscope-classifier.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    with pytest.raises(ModelError, match=r"is damaged: headscope-classifier.safetensors has chang"):
        load_pooled(tmp_path / "x")
    (tmp_path / "x" / "headscope-files.json").unlink()  # as folders were before
    for bad in (whole[:-8], b"", whole.replace(b"dense.bias", b"dense.bigs")):
        path.write_bytes(bad)
        message = r"headscope-classifier.safetensors does not fit the model: "
        with pytest.raises(ModelError, match=message) as caught:
            load_pooled(tmp_path / "x")
        assert caught.value.hint == "delete the folder and tune again"
    path.write_bytes(whole)
    Pooling(layer=1, position="cls").write(tmp_path / "x")
    with pytest.raises(ModelError, match="does not fit the model: "):
        load_pooled(tmp_path / "x")


@pytest.mark.parametrize(
    "text", ["", "first", "layer", "layer:", "layer:x", "heads:", "head:3-9", "layer:²"]
)
def test_text_that_is_not_a_pooling_is_an_error(text):
    with pytest.raises(UserError) as caught:
        parse_pooling(text)
    assert caught.value.message == (
        f"a pooling must be last, layer:N or heads:LAYER-HEAD,…; got {text!r} instead"
    )


@pytest.mark.parametrize("name", ["3", "3-9;4-1", "3-", "A-1"])
def test_text_that_is_not_a_head_is_an_error(name):
    with pytest.raises(UserError, match=f"a head must be given as .*; got '{name}' instead"):
        parse_pooling(f"heads:1-1,{name}")


def test_heads_are_read_in_both_conventions_and_a_head_given_twice_counts_once():
    assert parse_pooling("heads:3-9, L3H0, L2H8").heads == ((2, 8), (3, 0))


def test_a_position_is_added_to_a_pooling_and_must_not_contradict_it():
    assert parse_pooling(Pooling(layer=3), "mean") == Pooling(layer=3, position="mean")
    with pytest.raises(UserError, match="is at position 'cls', and position is 'mean'"):
        parse_pooling(Pooling(position="cls"), "mean")


def test_folders_of_many_heads_have_short_distinct_names():
    texts = [
        f"heads:{','.join(f'{layer}-{head}' for layer in range(1, 25) for head in range(1, last))}"
        for last in (15, 16, 17)
    ]
    names = [pooling_slug(parse_pooling(text, "mean")) for text in texts]
    assert len(set(names)) == 3
    assert all(len(name) < 40 and name.endswith("-mean") for name in names)
