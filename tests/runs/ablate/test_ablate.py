"""Disabling heads over a corpus: against full passes done one by one, transformers' own losses, finite differences, and models in which one head matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
)

import headscope.runs.ablate.ablate as engine
from headscope.corpus import Corpus, Example, from_examples, from_texts
from headscope.encode import Batch, batches
from headscope.errors import Interrupted, ModelError, UserError
from headscope.heads import Head, parse_heads
from headscope.models import Model, Replacement, Shape, wrap
from headscope.results import Results
from headscope.runs.ablate.ablate import ablate
from headscope.runs.ablate.importance import head_importance
from headscope.runs.ablate.objective import Labels, LanguageModel, Probe, label_columns
from headscope.runs.ablate.plan import plan
from headscope.runs.ablate.prune import greedy, prune
from headscope.runs.ablate.sweep import head_means
from headscope.tasks import Task
from tiny import HEADS, LAYERS, SENTENCES, WIDTH, place, tiny_network, tiny_tokenizer, views_of

TASK = Task("made", "Made", "classification", ("no", "yes"), ("accuracy", "f1"))
NUMBER = Task("number", "Number", "regression", (), ("pearson", "spearman"))
RUN: dict[str, Any] = {"batch_size": 2, "max_length": 24}


def classifier(
    kind: str = "bert", task: Task = TASK, *, only: tuple[int, int] | None = None
) -> Model:
    """A random classifier; with ``only``, one in which the output of no other head reaches the rest of the model."""
    names = dict(enumerate(task.labels or ("score",)))
    network = tiny_network(
        kind,
        auto=AutoModelForSequenceClassification,
        num_labels=task.outputs,
        id2label=names,
        label2id={name: index for index, name in names.items()},
    )
    tokenizer = tiny_tokenizer(kind)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
        network.config.pad_token_id = tokenizer.pad_token_id
    if only is not None:
        with torch.no_grad():
            for layer in range(LAYERS):
                weight = place(network.base_model, kind, "encoder", layer)[1].weight
                for head in range(HEADS):
                    if (layer, head) != only:
                        weight[:, head * WIDTH : (head + 1) * WIDTH] = 0.0
    return wrap(network, tokenizer, name=f"tiny-{kind}")


def language_model(kind: str) -> Model:
    auto = AutoModelForCausalLM if kind in {"gpt2", "llama"} else AutoModelForMaskedLM
    return wrap(tiny_network(kind, auto=auto), tiny_tokenizer(kind), name=f"tiny-{kind}")


def labelled(task: Task = TASK) -> Corpus:
    labels = [
        task.labels[index % 2] if task.labels else str(index / 2) for index in range(len(SENTENCES))
    ]
    return from_examples(
        [
            Example(f"s{index}", (text,), label=label)
            for index, (text, label) in enumerate(zip(SENTENCES, labels, strict=True))
        ],
        name="made.tsv",
    )


def one_by_one(model: Model, text: str) -> Batch:
    return next(
        batches(
            model.encoder(max_length=24, long="truncate", stack="").encode(from_texts([text])),
            size=1,
            pad=model.pad,
        )
    )


def off(name: str) -> list[Head]:
    """The heads that a run's name says, from 0."""
    if name.startswith("layer"):
        return [Head(int(name.split()[1]) - 1, head) for head in range(HEADS)]
    if name == "none":
        return []
    return [
        Head(int(layer) - 1, int(head) - 1)
        for layer, head in (one.split("-") for one in name.split(","))
    ]


@pytest.mark.parametrize("way", ["uniform", "zero", "mean"])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_outputs_are_those_of_full_passes_example_by_example(kind: str, way: str) -> None:
    model = classifier(kind)
    data = ablate(model, labelled(), Labels(model, TASK), way=way, sets=["1-2,2-4"], **RUN)[
        "ablation"
    ]
    assert data["run"].values.tolist() == [
        "none",
        *(f"{layer}-{head}" for layer in (1, 2) for head in range(1, 5)),
        "layer 1",
        "layer 2",
        "1-2,2-4",
    ]
    stack = model.main_stack()
    means = head_means(
        model,
        batches(
            model.encoder(max_length=24, long="truncate", stack="").encode(labelled()),
            size=5,
            pad=model.pad,
        ),
        stack,
    )
    for example, text in enumerate(SENTENCES):
        batch = one_by_one(model, text)
        for name in data["run"].values:
            replacement = Replacement(off(name), way, stack, means) if off(name) else None
            with torch.inference_mode():
                expected = model.forward(batch, replacement=replacement).logits[0]
            assert data["outputs"].sel(run=name, example=f"s{example}").values == pytest.approx(
                expected.numpy(), abs=1e-5
            )
    assert data["gold"].sel(example=["s0", "s1", "s4"]).values.tolist() == [0, 1, 0]
    assert data["kind"].values.tolist()[:2] == ["baseline", "head"]
    assert data["off"].values.tolist() == [0, *[1] * 8, 4, 4, 2]


def test_the_mean_loss_of_a_run_is_its_cross_entropy_with_an_interval() -> None:
    model = classifier()
    data = ablate(model, labelled(), Labels(model, TASK), layers=False, **RUN)["ablation"]
    losses = torch.nn.functional.cross_entropy(
        torch.from_numpy(data["outputs"].sel(run="1-2").values),
        torch.from_numpy(data["gold"].values).long(),
        reduction="none",
    ).numpy()
    assert data["mean"].sel(run="1-2").item() == pytest.approx(losses.mean(), abs=1e-6)
    assert data["low"].sel(run="1-2") < data["mean"].sel(run="1-2") < data["high"].sel(run="1-2")
    assert data["n"].values.tolist() == [5] * 9


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "albert", "gpt2", "llama"])
def test_a_language_models_loss_is_the_one_that_transformers_computes(kind: str) -> None:
    model = language_model(kind)
    objective = LanguageModel(model, seed=3)
    data = ablate(model, from_texts(SENTENCES), objective, layers=False, way="zero", **RUN)[
        "ablation"
    ]
    for example, text in enumerate(SENTENCES, 1):
        batch = one_by_one(model, text)
        question = objective.ask(from_texts_batch(batch, str(example)))
        ids, asked = torch.from_numpy(batch.ids), question.asked
        labels = ids if objective.causal else ids.masked_fill(~asked, -100)
        with torch.inference_mode():
            plain = model.network(torch.from_numpy(question.batch.ids), labels=labels).loss
            without = model.forward(
                question.batch, replacement=Replacement("2-3", "zero"), labels=labels
            ).loss
        assert data["outputs"].sel(run="none", example=str(example)).item() == pytest.approx(
            plain.item(), abs=1e-5
        )
        assert data["outputs"].sel(run="2-3", example=str(example)).item() == pytest.approx(
            without.item(), abs=1e-5
        )
    assert data.attrs["metric"] == "loss"
    assert data.attrs["better"] == "lower"


def from_texts_batch(batch: Batch, name: str) -> Batch:
    """The same batch of one text under the name that it has in a corpus of several: which pieces are masked depends on it."""
    item = batch.items[0]
    values = {field: getattr(item, field) for field in item.__slots__} | {
        "example": Example(name, item.example.texts)
    }
    return Batch(batch.index, (type(item)(**values),), batch.ids, batch.types, batch.mask)


def test_a_masked_piece_is_masked_in_every_run_and_others_are_seen() -> None:
    model = language_model("bert")
    batch = one_by_one(model, SENTENCES[0])
    question = LanguageModel(model, seed=0).ask(batch)
    changed = question.batch.ids != batch.ids
    assert changed.any()
    assert (question.batch.ids[changed] == model.tokenizer.mask_token_id).all()
    assert np.array_equal(changed, question.asked.numpy())  # type: ignore[union-attr]
    assert not np.array_equal(LanguageModel(model, seed=1).ask(batch).batch.ids, question.batch.ids)


def test_a_causal_text_of_one_token_has_no_loss_and_is_left_out_by_name() -> None:
    model = language_model("gpt2")
    results = ablate(
        model, from_texts([*SENTENCES, "a"]), LanguageModel(model, 0), layers=False, **RUN
    )
    assert results["ablation"].sizes["example"] == 5
    assert results.provenance["counts"]["nonfinite_examples"] == ["6: no finite output"]
    with pytest.raises(UserError, match="no example of texts can be used"):
        ablate(model, from_texts(["a"]), LanguageModel(model, 0), layers=False, **RUN)


def test_a_probe_is_any_function_of_the_models_output() -> None:
    model = wrap(tiny_network("bert"), tiny_tokenizer("bert"), name="tiny")
    probe = Probe("first number", lambda output, batch: output.last_hidden_state[:, 0, 0])
    data = ablate(model, from_texts(SENTENCES), probe, layers=False, **RUN)["ablation"]
    with torch.inference_mode():
        expected = model.forward(
            one_by_one(model, SENTENCES[2]), replacement=Replacement("1-4")
        ).last_hidden_state[0, 0, 0]
    assert data["outputs"].sel(run="1-4", example="3").item() == pytest.approx(
        expected.item(), abs=1e-5
    )
    assert data["mean"].sel(run="none").item() == pytest.approx(
        -data["outputs"].sel(run="none").mean().item(), abs=1e-5
    )  # more is better: a loss is its negative
    judged = Probe(
        "two",
        lambda output, batch: output.last_hidden_state[:, 0, :2],
        metric="accuracy",
        gold=lambda example: float(example.label == "yes"),
    )
    data = ablate(model, labelled(), judged, layers=False, **RUN)["ablation"]
    assert data["gold"].sel(example=["s0", "s1"]).values.tolist() == [0, 1]
    assert data.sizes["output"] == 2


def test_a_regression_keeps_one_number_and_its_right_answer() -> None:
    model = classifier(task=NUMBER)
    data = ablate(model, labelled(NUMBER), Labels(model, NUMBER), layers=False, **RUN)["ablation"]
    assert data["gold"].sel(example="s3").item() == 1.5
    assert data.sizes["output"] == 1
    assert data["mean"].sel(run="none").item() == pytest.approx(
        ((data["outputs"].sel(run="none")[:, 0] - data["gold"]) ** 2).mean().item(), abs=1e-5
    )


def test_only_the_head_that_matters_changes_anything_and_only_it_is_important() -> None:
    model = classifier(only=(1, 2))
    results = ablate(model, labelled(), Labels(model, TASK), way="zero", importance=True, **RUN)
    outputs = results["ablation"]["outputs"]
    changes = np.abs(outputs - outputs.sel(run="none")).max(("example", "output"))
    assert [str(name) for name in changes["run"].values[changes.values > 1e-6]] == [
        "2-3",
        "layer 2",
    ]
    found = results["importance"]["mean"]
    assert found.where(found > 1e-7, drop=True)["layer"].values.tolist() == [2]
    assert found.where(found > 1e-7, drop=True)["head"].values.tolist() == [3]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_importance_is_the_derivative_of_each_examples_loss_by_a_gate_on_the_head(
    kind: str,
) -> None:
    model = classifier(kind)
    model.network.double()
    objective, stack, step = Labels(model, TASK), model.main_stack(), 1e-4
    for batch in batches(
        model.encoder(max_length=24, long="truncate", stack="").encode(labelled()),
        size=3,
        pad=model.pad,
    ):
        question = objective.ask(batch)
        found = head_importance(model, objective, question, stack)
        for layer, head in ((0, 0), (0, 3), (1, 1)):

            def losses(
                gate: float, layer: int = layer, head: int = head, question: Any = question
            ) -> Any:
                def scale(
                    _module: Any, arguments: tuple[torch.Tensor, ...]
                ) -> tuple[torch.Tensor, ...]:
                    split = arguments[0].unflatten(-1, (HEADS, WIDTH)).clone()
                    split[..., head, :] *= gate
                    return (split.flatten(-2), *arguments[1:])

                hook = place(model.network.base_model, kind, stack, layer)[
                    1
                ].register_forward_pre_hook(scale)
                try:
                    with torch.inference_mode():
                        return torch.nn.functional.cross_entropy(
                            model.forward(question.batch).logits, question.gold, reduction="none"
                        ).numpy()
                finally:
                    hook.remove()

            expected = np.abs(losses(1 + step) - losses(1 - step)) / (2 * step)
            assert found[:, layer, head] == pytest.approx(expected, rel=1e-3, abs=1e-6)
            assert expected.max() > 1e-4


def test_the_mean_output_of_a_head_is_over_all_real_tokens() -> None:
    model = classifier()
    stream = list(
        batches(
            model.encoder(max_length=24, long="truncate", stack="").encode(labelled()),
            size=3,
            pad=model.pad,
        )
    )
    rows = {
        layer: np.concatenate(
            [
                view.output.double().numpy()[batch.mask]
                for batch in stream
                for view in views_of(model, batch)
                if view.layer == layer
            ]
        )
        for layer in range(LAYERS)
    }
    found = head_means(model, stream, "encoder")
    assert all(
        found[layer].numpy() == pytest.approx(rows[layer].mean(0), abs=1e-6)
        for layer in range(LAYERS)
    )


def test_what_is_off_does_not_depend_on_the_batch_size() -> None:
    model = classifier()
    one, many = (
        ablate(
            model, labelled(), Labels(model, TASK), importance=True, batch_size=size, max_length=24
        )
        for size in (1, 5)
    )
    order = one["ablation"]["example"].values
    assert many["ablation"]["outputs"].sel(example=order).values == pytest.approx(
        one["ablation"]["outputs"].values, abs=1e-5
    )
    assert many["importance"]["mean"].values == pytest.approx(
        one["importance"]["mean"].values, abs=1e-5
    )


def stop_after(passes: int) -> Any:
    def progress(done: int, _total: int) -> None:
        if done >= passes:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("passes", [2 * 11 + 1, 4 * 11])
def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path: Path, passes: int) -> None:
    model, path = classifier(), tmp_path / "off.nc"
    whole = ablate(model, labelled(), Labels(model, TASK), importance=True, **RUN)
    with pytest.raises(
        Interrupted, match=r"stopped after \d examples; the state is kept in .*off\.nc\.partial"
    ):
        ablate(
            model,
            labelled(),
            Labels(model, TASK),
            importance=True,
            output=path,
            progress=stop_after(passes),
            **RUN,
        )
    partial = tmp_path / "off.nc.partial"
    assert partial.exists()
    again = ablate(model, labelled(), Labels(model, TASK), importance=True, output=path, **RUN)
    assert not partial.exists()
    assert again["ablation"].drop_vars("bucket").equals(whole["ablation"].drop_vars("bucket"))
    assert again["importance"]["mean"].equals(whole["importance"]["mean"])
    assert again.provenance["counts"] == whole.provenance["counts"]
    assert Results.open(path)["ablation"]["outputs"].equals(whole["ablation"]["outputs"])


def test_a_finished_run_is_opened_and_another_is_not_mixed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, path = classifier(), tmp_path / "off.nc"
    ablate(model, labelled(), Labels(model, TASK), layers=False, output=path, **RUN)
    with pytest.raises(Interrupted):
        ablate(
            model,
            labelled(),
            Labels(model, TASK),
            layers=False,
            way="zero",
            output=path,
            progress=stop_after(19),
            **RUN,
        )
    with pytest.raises(UserError, match="is the checkpoint of another run"):
        ablate(model, labelled(), Labels(model, TASK), layers=False, way="mean", output=path, **RUN)
    monkeypatch.setattr(engine, "Sweep", None)  # nothing may be computed
    assert (
        ablate(model, labelled(), Labels(model, TASK), layers=False, output=path, **RUN)[
            "ablation"
        ].attrs["way"]
        == "uniform"
    )


def test_progress_counts_examples_times_runs_and_never_goes_back() -> None:
    model, seen = classifier(), list[tuple[int, int]]()
    ablate(
        model,
        labelled(),
        Labels(model, TASK),
        progress=lambda done, total: seen.append((done, total)),
        **RUN,
    )
    assert {total for _, total in seen} == {5 * 11}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == 55


def test_the_labels_of_a_checkpoint_in_another_order_are_put_in_the_tasks() -> None:
    model = classifier()
    model.config.id2label = {0: "YES", 1: "no"}
    assert label_columns(model.config, TASK.labels) == [1, 0]
    turned = ablate(model, labelled(), Labels(model, TASK), layers=False, **RUN)["ablation"][
        "outputs"
    ]
    plain = ablate(classifier(), labelled(), Labels(classifier(), TASK), layers=False, **RUN)[
        "ablation"
    ]["outputs"]
    assert turned.values == pytest.approx(plain.values[..., ::-1], abs=1e-6)
    model.config.id2label = {0: "LABEL_0", 1: "LABEL_1"}
    assert label_columns(model.config, TASK.labels) == []


def test_pruning_keeps_the_head_that_matters_to_the_end_and_is_told_on_other_examples() -> None:
    model = classifier(only=(0, 1))
    corpus = from_examples(
        [
            Example(f"e{index}", (SENTENCES[index % 5],), label="yes" if index % 2 else "no")
            for index in range(6)
        ],
        name="made.tsv",
    )
    objective = Labels(model, TASK)
    data = prune(model, corpus, objective, way="zero", points=8, **RUN)
    assert sorted(data["example"].values.tolist()) == ["e1", "e3", "e5"]
    assert data.attrs["chosen_on"] == 3
    assert data.attrs["order_importance"].split(",")[-1] == "1-2"
    kinds = data["kind"].values
    assert data["left"].values[kinds == "greedy"].tolist() == [7, 6, 5, 4, 3, 2, 1]
    kept = (
        np.abs(data["outputs"] - data["outputs"].sel(run="none")).max(("example", "output")).values
    )
    assert (kept[kinds == "importance"] < 1e-6).all()
    gone = [
        "1-2" in data.attrs["order_random"].split(",")[: 8 - left]
        for left in data["left"].values[kinds == "random"]
    ]
    assert (kept[kinds == "random"] > 1e-6).tolist() == gone


def test_a_pruned_set_gives_what_a_full_pass_with_it_gives() -> None:
    model = classifier()
    data = prune(model, labelled(), Labels(model, TASK), points=4, **RUN)
    order = parse_heads(data.attrs["order_greedy"])
    for example in data["example"].values:
        with torch.inference_mode():
            logits = model.forward(
                one_by_one(model, SENTENCES[int(example[1:])]),
                replacement=Replacement(order[:4]),
            ).logits[0]
        assert data["outputs"].sel(run="greedy, 4 left", example=example).values == pytest.approx(
            logits.numpy(), abs=1e-5
        )


def test_greedy_with_all_heads_tried_takes_the_cheapest_each_time_and_stops_at_its_budget() -> None:
    heads = [(0, head) for head in range(4)]
    pairs = {frozenset({(0, 0), (0, 1)}): 5.0}  # each alone is free, both together are dear

    def losses(base: list[tuple[int, int]], tried: list[tuple[int, int]]) -> list[float]:
        sets = [frozenset(base), *(frozenset([*base, head]) for head in tried)]
        return [
            sum({(0, 0): 0.1, (0, 1): 0.2, (0, 2): 1.0, (0, 3): 2.0}[head] for head in one)
            + sum(cost for pair, cost in pairs.items() if pair <= one)
            for one in sets
        ]

    told: list[int] = []
    assert greedy(heads, losses, 4, 99, told.append) == [(0, 0), (0, 2), (0, 3)]
    assert told == [4, 8, 11, 13]
    assert greedy(heads, losses, 2, 4 + 2 * 2, lambda _: None) == [(0, 0), (0, 2)]
    assert greedy(heads, losses, 4, 4, lambda _: None) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda model: plan(Shape(2, 4, 8), sets=["3-1"]),
            r"the model has no head 3-1 \(L2H0\); its heads run from 1-1 to 2-4",
        ),
        (
            lambda model: plan(Shape(2, 4, 8), sets=[[Head(0, -1)]]),
            r"the model has no head 1-0 \(L0H-1\); its heads run from 1-1 to 2-4",
        ),
        (lambda model: plan(Shape(1, 4, 8)), "layer 1 would disable all 4 heads of the model"),
        (
            lambda model: plan(Shape(2, 1, 8), heads=False, layers=False, sets=["*-1"]),
            "1-1,2-1 would disable all 2 heads of the model",
        ),
        (lambda model: plan(Shape(2, 4, 8), sets=[[]]), "the set of heads is empty"),
        (
            lambda model: plan(Shape(2, 4, 8), heads=False, layers=False),
            "there is nothing to disable",
        ),
        (
            lambda model: plan(Shape(2, 4, 8), sets=["3:9"]),
            "a head must be given as LAYER-HEAD counted from 1",
        ),
        (
            lambda model: ablate(model, labelled(), Labels(model, TASK), way="off"),
            "the way to disable a head must be one of mean, uniform, zero; got 'off' instead",
        ),
        (
            lambda model: ablate(model, labelled(), Labels(model, TASK), long="split"),
            "an example cannot be split here",
        ),
        (
            lambda model: Labels(model, TASK, "pearson"),
            "the metric of Made must be one of accuracy, f1; got 'pearson' instead",
        ),
        (lambda model: Labels(model, NUMBER), "tiny-bert has 2 outputs, and Number needs 1"),
        (
            lambda model: Labels(language_model("bert"), TASK),
            "tiny-bert has no classifier, and Made needs 2",
        ),
        (
            lambda model: Labels(model, Task("x", "X", "classification", ("one",), ("accuracy",))),
            "a task needs two classes or more; X has only 'one'",
        ),
        (
            lambda model: LanguageModel(model, 0),
            "tiny-bert has no language-model head, and no task was given",
        ),
        (
            lambda model: Probe("x", lambda output, batch: 0, metric="acc"),
            "the metric must be one of",
        ),
        (
            lambda model: Probe("x", lambda output, batch: 0, metric="f1"),
            "the metric f1 needs the right answers",
        ),
        (
            lambda model: ablate(
                model, labelled(), Probe("x", lambda output, batch: output.logits[:1]), **RUN
            ),
            "the probe x must give one row an example, 2 here",
        ),
        (
            lambda model: prune(model, labelled().first(1), Labels(model, TASK), **RUN),
            "a pruning curve needs two examples or more",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(classifier())


def test_a_model_with_both_stacks_and_a_tokenizer_without_a_mask_have_no_loss() -> None:
    both = wrap(tiny_network("t5", auto=AutoModelForSeq2SeqLM), tiny_tokenizer("t5"), name="t5")
    with pytest.raises(
        ModelError, match="t5 is an encoder and a decoder, whose loss is not supported"
    ):
        LanguageModel(both, 0)
    masked = language_model("bert")
    masked.tokenizer.mask_token = None
    with pytest.raises(ModelError, match="the tokenizer of tiny-bert has no mask token"):
        LanguageModel(masked, 0)
