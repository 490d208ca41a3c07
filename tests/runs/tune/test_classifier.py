"""Models with trained, new and random classifiers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

from headscope.errors import ModelError
from headscope.runs.tune import load_classifier, predict, task_for
from headscope.runs.tune.rows import encode_rows
from headscope.tasks import GLUE
from runs.tune.animals import ANIMALS, saved, sentences
from tiny import KINDS, tiny_tokenizer

FAMILIES = [kind for kind in KINDS if kind not in ("t5", "bart")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A BERT with the three classes of MNLI in another order."""
    labels = {0: "CONTRADICTION", 1: "ENTAILMENT", 2: "NEUTRAL"}
    return saved(
        "bert",
        tmp_path_factory.mktemp("mnli"),
        auto=AutoModelForSequenceClassification,
        num_labels=3,
        id2label=labels,
        label2id={label: index for index, label in labels.items()},
    )


def test_a_trained_classifier_is_loaded_whole_without_a_note(trained):
    model, notes = load_classifier(trained)
    assert notes == []
    whole = AutoModelForSequenceClassification.from_pretrained(trained).state_dict()
    assert all(
        torch.equal(value, whole[name]) for name, value in model.network.state_dict().items()
    )


def test_the_note_on_a_missing_classifier_names_its_weights(bert):
    model, notes = load_classifier(bert)
    assert notes == [
        f"the classifier of {bert} was never trained for this task: 2 of its weights are random "
        "(classifier.bias, classifier.weight)"
    ]
    assert model.notes == notes


def test_the_note_includes_a_missing_pooler(tmp_path):
    folder = saved("bert", tmp_path)
    _drop(folder, "pooler")
    _, notes = load_classifier(folder)
    assert (
        "4 of its weights are random (bert.pooler.dense.bias, bert.pooler.dense.weight, "
        "classifier.bias, classifier.weight)" in notes[0]
    )


def _drop(folder, word):
    from safetensors.torch import load_file, save_file

    weights = {
        name: value
        for name, value in load_file(folder / "model.safetensors").items()
        if word not in name
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def test_a_missing_layer_is_an_error_as_in_any_model(tmp_path):
    folder = saved("bert", tmp_path)
    _drop(folder, "layer.1.attention.self.query")
    with pytest.raises(ModelError, match=r"the weights of .* do not fit its config: 2 are missing"):
        load_classifier(folder, GLUE["rte"])


def test_a_classifier_of_other_classes_is_replaced_with_a_note(trained):
    model, notes = load_classifier(trained, GLUE["rte"])
    assert model.config.num_labels == 2
    assert len(notes) == 1
    assert "classifier.weight" in notes[0]


def test_a_task_gives_its_classes_to_a_new_classifier(bert):
    model, _ = load_classifier(bert, GLUE["mnli"])
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    assert model.config.label2id == {"entailment": 0, "neutral": 1, "contradiction": 2}
    assert model.network.classifier.out_features == 3
    assert load_classifier(bert, GLUE["sts-b"])[0].config.problem_type == "regression"


def test_classes_in_another_order_are_recognised_by_their_names(trained, bert):
    model, notes = load_classifier(trained, GLUE["mnli"])
    assert notes == []
    assert task_for(model, GLUE["mnli"]).labels == ("contradiction", "entailment", "neutral")
    fresh, _ = load_classifier(bert, GLUE["mnli"])
    assert task_for(fresh, GLUE["mnli"]) == GLUE["mnli"]


def test_the_seed_draws_the_classifier_without_touching_the_global_generator(bert):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    one, two, other = (
        load_classifier(bert, ANIMALS, seed=seed)[0].network.classifier.weight for seed in (0, 0, 1)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    assert torch.equal(torch.rand(1), expected)


def test_random_weights_are_normal_with_a_deviation_of_002_throughout(bert):
    model, notes = load_classifier(bert, ANIMALS, random=True)
    assert notes == []
    before = AutoModelForSequenceClassification.from_config(model.config).state_dict()
    matrices = {name: value for name, value in model.network.named_parameters() if value.dim() > 1}
    drawn = torch.cat([value.flatten() for value in matrices.values()]).detach().numpy()
    assert len(drawn) > 10_000
    assert drawn.std() == pytest.approx(0.02, rel=0.03)
    assert drawn.mean() == pytest.approx(0, abs=0.001)
    for name, value in model.network.named_parameters():
        if name not in matrices:
            assert torch.equal(value, before[name])  # zeros for biases, ones for LayerNorm
    pretrained = load_classifier(bert, ANIMALS)[0].network
    assert not torch.equal(
        matrices["bert.encoder.layer.0.attention.self.query.weight"],
        pretrained.bert.encoder.layer[0].attention.self.query.weight,
    )


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_batch_gives_the_outputs_of_single_texts_in_every_family(tmp_path, kind):
    model, _ = load_classifier(saved(kind, tmp_path), ANIMALS)
    rows, _ = encode_rows(model, ANIMALS, sentences(7, 1), max_length=48)
    together, alone = predict(model, rows, batch_size=7), predict(model, rows, batch_size=1)
    assert together.shape == (7, 2)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert len({round(float(value), 4) for value in together[:, 0]}) > 1


def test_gpt2_pads_with_its_end_token_and_classifies_the_last_real_token(gpt2):
    model, _ = load_classifier(gpt2, ANIMALS)
    assert (
        model.config.pad_token_id
        == model.tokenizer.pad_token_id
        == model.tokenizer.eos_token_id
        == model.pad
    )
    rows, _ = encode_rows(model, ANIMALS, sentences(5, 1), max_length=48)
    found = predict(model, rows, batch_size=5)
    for row, logits in zip(rows.rows, found, strict=True):
        hidden = model.network.transformer(
            input_ids=torch.from_numpy(row["ids"])[None].long()
        ).last_hidden_state[0, -1]
        np.testing.assert_allclose(model.network.score(hidden).detach().numpy(), logits, atol=1e-5)


def test_outputs_equal_those_of_transformers(trained):
    model, _ = load_classifier(trained)
    network = AutoModelForSequenceClassification.from_pretrained(trained).eval()
    corpus = sentences(6, 2, pair=True)
    rows, _ = encode_rows(model, ANIMALS, corpus, max_length=64)
    coded = tiny_tokenizer("bert")(
        *zip(*(example.texts for example in corpus), strict=True), padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        np.testing.assert_allclose(
            predict(model, rows, batch_size=4), network(**coded).logits.numpy(), atol=1e-5
        )


@pytest.mark.parametrize("kind", ["t5", "bart"])
def test_encoder_decoders_are_refused(tmp_path, kind):
    with pytest.raises(ModelError, match=rf"classifiers on top of {kind} are not supported"):
        load_classifier(saved(kind, tmp_path), ANIMALS)
