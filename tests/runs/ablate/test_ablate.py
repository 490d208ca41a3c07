"""Ablations against full passes one by one, and against planted models."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.corpus import from_examples
from headscope.errors import UserError
from headscope.heads import Head
from headscope.models import Replacement
from headscope.runs.ablate import ablate
from headscope.runs.ablate.objectives import label_columns
from headscope.runs.ablate.work import head_means
from headscope.stats.tables.ablation import change_table
from runs.ablate.made import (
    NUMBER,
    RUN,
    TASK,
    classifier,
    disabled_heads,
    labelled,
    language_model,
    one_by_one,
    stream,
)
from tiny import LAYERS, SENTENCES, tiny_network, tiny_tokenizer, views_of


@pytest.mark.parametrize("way", ["uniform", "zero", "mean"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_outputs_equal_those_of_full_passes_example_by_example(kind, way):
    model = classifier(kind)
    atlas = ablate(model, task=TASK, dev=labelled(), way=way, sets=["1-2,2-4"], **RUN)  # type: ignore[arg-type]
    data = atlas["ablation"]
    heads = [f"{layer}-{head}" for layer in (1, 2) for head in range(1, 5)]
    assert data["run"].values.tolist() == ["none", *heads, "layer 1", "layer 2", "1-2,2-4"]
    stack = model.main_stack()
    means = head_means(model, stream(model, labelled(), 5), stack)
    for example, text in enumerate(SENTENCES):
        batch = one_by_one(model, text)
        for name in data["run"].values:
            off = disabled_heads(name)
            replacement = Replacement(off, way, stack, means) if off else None
            with torch.inference_mode():
                expected = model.forward(batch, replacement=replacement).logits[0]
            found = data["outputs"].sel(run=name, example=f"s{example}").values
            assert found == pytest.approx(expected.numpy(), abs=1e-5)
    assert data["gold"].sel(example=["s0", "s1", "s4"]).values.tolist() == [0, 1, 0]
    assert data["kind"].values.tolist()[:2] == ["baseline", "head"]
    assert data["off"].values.tolist() == [0, *[1] * 8, 4, 4, 2]


def test_kv_heads_are_cut_to_a_window_together() -> None:
    model = language_model("llama")
    how = {"way": "window", "kv": True, "layers": False, "first": 1, "recent": 2}
    atlas = ablate(model, corpus=labelled(), **how, **RUN)  # type: ignore[arg-type]
    data = atlas["ablation"]
    assert data["run"].values.tolist() == ["none", "1-1,1-2", "1-3,1-4", "2-1,2-2", "2-3,2-4"]
    assert data.attrs["way"] == "cut to the first 1 and the last 2 tokens"
    assert "head_off" not in atlas
    for example, text in enumerate(SENTENCES):
        batch = one_by_one(model, text)
        ids = torch.from_numpy(batch.ids)[0]
        for name in data["run"].values[1:]:
            off = Replacement(name, "window", "decoder", window=(1, 2))
            with torch.inference_mode():
                logits = model.forward(batch, replacement=off).logits[0]
            expected = torch.nn.functional.cross_entropy(logits[:-1], ids[1:]).item()
            found = data["outputs"].sel(run=name, example=f"s{example}").item()
            assert found == pytest.approx(expected, abs=1e-5)
    with pytest.raises(UserError, match="those of a window; the way is uniform"):
        ablate(model, corpus=labelled(), first=2, **RUN)
    with pytest.raises(UserError, match=r"at most 24 tokens fit into a window of 4 \+ 64"):
        ablate(model, corpus=labelled(), way="window", **RUN)


def test_sums_are_kept_by_buckets_of_documents_and_examples_keep_their_document() -> None:
    documents = ["news-1", "news-2", "news-1", "", "news-2"]
    examples = [
        replace(example, group=document)
        for example, document in zip(labelled(), documents, strict=True)
    ]
    corpus = from_examples(examples, name="made.tsv")
    atlas = ablate(classifier(), task=TASK, dev=corpus, importance=True, layers=False, **RUN)
    data, importance = atlas["ablation"], atlas["importance"]
    groups = dict(zip(data["example"].values, data["group"].values, strict=True))
    assert groups == {f"s{number}": name for number, name in enumerate(documents)}
    assert importance["group"].sel(example="s4").item() == "news-2"
    place = int(hashlib.sha256(b"news-1").hexdigest(), 16) % 32
    assert data.sizes["bucket"] == importance.sizes["bucket"] == 32
    mine = data["outputs"].sel(run="1-2", example=["s0", "s2"]).values
    losses = torch.nn.functional.cross_entropy(
        torch.from_numpy(mine), torch.tensor([0, 0]), reduction="none"
    ).double()
    bucket = data.sel(run="1-2").isel(bucket=place)
    assert int(bucket["count"]) == 2
    assert float(bucket["sum"]) == pytest.approx(float(losses.sum()), rel=1e-6)
    assert float(bucket["square"]) == pytest.approx(float((losses**2).sum()), rel=1e-6)
    by_hand = importance["values"].sel(example=["s0", "s2"]).values.astype(float).sum(0)
    found = importance["sum"].isel(bucket=place).values
    assert found.ravel().tolist() == pytest.approx(by_hand.ravel().tolist(), rel=1e-12)
    assert int(data["count"].sel(run="1-2").sum()) == 5


def test_notes_of_the_corpus_are_kept_in_the_provenance():
    corpus = replace(labelled(), remarks=lambda: ("two mentions were skipped",))
    atlas = ablate(classifier(), task=TASK, dev=corpus, heads=False, **RUN)
    assert "two mentions were skipped" in atlas.provenance["notes"]


def test_the_mean_loss_of_a_pass_is_its_cross_entropy_with_an_interval():
    atlas = ablate(classifier(), task=TASK, dev=labelled(), layers=False, **RUN)
    data = atlas["ablation"]
    losses = torch.nn.functional.cross_entropy(
        torch.from_numpy(data["outputs"].sel(run="1-2").values),
        torch.from_numpy(data["gold"].values).long(),
        reduction="none",
    ).numpy()
    one = data.sel(run="1-2")
    assert one["mean"].item() == pytest.approx(losses.mean(), abs=1e-6)
    assert one["low"] < one["mean"] < one["high"]
    assert data["n"].values.tolist() == [5] * 9


def test_scores_tests_agreement_and_the_curve_are_in_the_results(tmp_path):
    path = tmp_path / "off.nc"
    given = {"importance": True, "prune": True, "sets": ["1-1,1-2"], "correction": "bh"}
    atlas = ablate(classifier(), task=TASK, dev=labelled(), output=path, **given, **RUN)  # type: ignore[arg-type]
    names = {"ablation", "importance", "importance_agreement", "pruning"}
    assert set(atlas.measures) == names | {"head_off", "layer_off", "set_off"}
    data = atlas["ablation"]
    right = (data["outputs"].argmax("output") == data["gold"]).mean("example").values
    assert atlas["head_off"]["mean"].values.ravel() == pytest.approx(right[1:9])
    assert atlas["layer_off"]["mean"].values == pytest.approx(right[9:11])
    assert atlas["set_off"]["mean"].values == pytest.approx(right[11:])
    assert atlas["head_off"].attrs["baseline"] == pytest.approx(right[0])
    assert atlas["head_off"].attrs["resamples"] == 50
    assert {"p", "p_corrected", "difference_low"} <= set(atlas["head_off"])
    assert atlas["pruning"].attrs["unit"] == "accuracy"
    expected = ["drop in accuracy", "size of the change in loss"]
    assert atlas["importance_agreement"]["against"].values.tolist() == expected
    assert len(change_table(atlas)) == 8
    assert atlas.provenance["scores"] == {"correction": "bh", "resamples": 50, "confidence": 0.95}


def test_a_network_with_its_tokenizer_is_ablated_like_its_model():
    def first(output, batch):  # type: ignore[no-untyped-def]
        return output.last_hidden_state[:, 0, 0]

    pair = (tiny_network("bert"), tiny_tokenizer("bert"))
    atlas = ablate(pair, corpus=list(SENTENCES), objective=first, layers=False, **RUN)
    assert atlas["ablation"].attrs["objective"] == "first"
    assert atlas["head_off"].attrs["metric"] == "mean"


def test_own_tables_name_the_classes():
    model = classifier()
    by_dev = ablate(model, dev=labelled(), layers=False, **RUN)
    by_train = ablate(model, train=labelled(), dev=labelled().first(3), layers=False, **RUN)
    assert by_dev.provenance["objective"]["labels"] == ["no", "yes"]
    assert by_train["ablation"].sizes["example"] == 3


def test_a_regression_keeps_one_number_and_its_right_answer():
    model = classifier(task=NUMBER)
    atlas = ablate(model, task=NUMBER, dev=labelled(NUMBER), layers=False, **RUN)
    data = atlas["ablation"]
    assert data["gold"].sel(example="s3").item() == 1.5
    assert data.sizes["output"] == 1
    errors = (data["outputs"].sel(run="none")[:, 0] - data["gold"]) ** 2
    assert data["mean"].sel(run="none").item() == pytest.approx(errors.mean().item(), abs=1e-5)
    assert atlas["head_off"].attrs["metric"] == "pearson"
    other = ablate(model, task=NUMBER, dev=labelled(NUMBER), metric="spearman", **RUN)
    assert other["head_off"].attrs["metric"] == "spearman"


def test_only_the_head_that_matters_changes_anything_and_only_it_is_important():
    model = classifier(only=(1, 2))
    atlas = ablate(model, task=TASK, dev=labelled(), way="zero", importance=True, **RUN)
    outputs = atlas["ablation"]["outputs"]
    changes = np.abs(outputs - outputs.sel(run="none")).max(("example", "output"))
    changed = [str(name) for name in changes["run"].values[changes.values > 1e-6]]
    assert changed == ["2-3", "layer 2"]
    importance = atlas["importance"]["mean"]
    important = importance.where(importance > 1e-7, drop=True)
    assert important["layer"].values.tolist() == [2]
    assert important["head"].values.tolist() == [3]


def test_the_mean_output_of_a_head_is_over_all_real_tokens():
    model = classifier()
    found = stream(model, labelled(), 3)
    means = head_means(model, found, "encoder")
    for layer in range(LAYERS):
        rows = [
            view.output.double().numpy()[batch.mask]
            for batch in found
            for view in views_of(model, batch)
            if view.layer == layer
        ]
        expected = np.concatenate(rows).mean(0)
        assert means[layer].numpy() == pytest.approx(expected, abs=1e-6)


def test_outputs_do_not_depend_on_the_batch_size():
    given = {"task": TASK, "dev": labelled(), "importance": True, **RUN}
    one, many = (ablate(classifier(), **given | {"batch_size": size}) for size in (1, 5))
    order = one["ablation"]["example"].values
    assert many["ablation"]["outputs"].sel(example=order).values == pytest.approx(
        one["ablation"]["outputs"].values, abs=1e-5
    )
    assert many["importance"]["mean"].values == pytest.approx(
        one["importance"]["mean"].values, abs=1e-5
    )


def test_labels_that_a_checkpoint_has_in_another_order_are_put_in_the_tasks_order():
    model, given = classifier(), {"task": TASK, "dev": labelled(), "layers": False, **RUN}
    plain = ablate(model, **given)["ablation"]["outputs"]
    model.config.id2label = {0: "YES", 1: "no"}
    assert label_columns(model.config, TASK.labels) == [1, 0]
    turned = ablate(model, **given)["ablation"]["outputs"]
    assert turned.values == pytest.approx(plain.values[..., ::-1], abs=1e-6)
    model.config.id2label = {0: "LABEL_0", 1: "LABEL_1"}
    assert label_columns(model.config, TASK.labels) == []


def test_a_causal_text_of_one_token_has_no_loss_and_is_skipped_by_name():
    model = language_model("gpt2")
    atlas = ablate(model, corpus=[*SENTENCES, "a"], layers=False, **RUN)
    assert atlas["ablation"].sizes["example"] == 5
    counts = atlas.provenance["counts"]
    assert (counts["seen"], counts["nonfinite"]) == (5, 1)
    assert counts["nonfinite_examples"] == ["6: no finite output"]
    with pytest.raises(UserError, match=r"no example of .* can be used"):
        ablate(model, corpus=["a"], layers=False, **RUN)


def test_sets_are_given_as_names_in_both_conventions_or_as_heads():
    sets = ["L0H1, 2-4", "2-*", [Head(0, 0), "1-3"]]
    atlas = ablate(
        classifier(), task=TASK, dev=labelled(), heads=False, layers=False, sets=sets, **RUN
    )
    assert atlas["set_off"]["set"].values.tolist() == ["1-2,2-4", "2-1,2-2,2-3,2-4", "1-1,1-3"]
    assert "head_off" not in atlas.measures
