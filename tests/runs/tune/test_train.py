"""Training learns a planted task, equals a plain loop, and saves an ordinary checkpoint."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import headscope as hs
from headscope.corpus import Example, from_examples
from headscope.errors import UserError
from headscope.runs.tune import load_classifier, read_record, tune
from headscope.runs.tune.rows import LengthOrder, encode_rows
from headscope.tasks import GLUE, Task
from runs.tune.animals import ANIMALS, plain_adamw, same, saved, sentences, tune_animals, weights

LEARNED = {"train": sentences(160, 0), "dev": sentences(60, 1), "epochs": 8}


@pytest.fixture(scope="module")
def tuned(bert, tmp_path_factory):
    """A model tuned to tell cats from dogs."""
    return tune_animals(bert, tmp_path_factory.mktemp("runs") / "animals", **LEARNED)


def test_the_planted_task_is_learned(tuned):
    assert tuned.scores["accuracy"] > 0.95
    assert tuned.majority["accuracy"] < 0.7
    assert len(tuned.losses) == 8
    assert tuned.losses[-1] < tuned.losses[0] / 2


def test_an_ablation_reads_the_task_from_the_record(tuned):
    atlas = hs.ablate(tuned.folder, dev=sentences(60, 1), heads=False, resamples=100, max_length=32)
    assert atlas["layer_off"].attrs["baseline"] == pytest.approx(tuned.scores["accuracy"])
    only_dogs = [one for one in sentences(60, 1) if one.label == "dog"]  # a single class: no task
    some = hs.ablate(str(tuned.folder), dev=only_dogs, heads=False, resamples=100, max_length=32)
    assert some.provenance["objective"]["labels"] == ["cat", "dog"]


def test_an_ablation_of_a_tuned_model_asks_for_its_examples(tuned):
    with pytest.raises(UserError) as caught:
        hs.ablate(tuned.folder)
    assert caught.value.message == (
        f"{tuned.folder} was tuned for animals; its examples are needed to judge it"
    )
    assert caught.value.hint.startswith("give data='glue'")


def test_a_model_that_was_tuned_for_a_built_in_task_is_ablated_with_nothing_given(tmp_path):
    given = {"limit": 16, "max_length": 24}
    tuned = hs.tune("demo", task="opinion", output=tmp_path / "opinion", epochs=1, **given)
    how = {"heads": False, "layers": False, "sets": ["1-1"], **given}
    atlas = hs.ablate(tuned.folder, **how)
    assert atlas.provenance["objective"]["labels"] == ["negative", "positive"]
    assert atlas["set_off"].attrs["baseline"] == pytest.approx(tuned.scores["accuracy"])
    named = hs.ablate(tuned.folder, task="opinion", **how)
    assert named["set_off"].equals(atlas["set_off"])


def test_transformers_gives_the_saved_checkpoint_the_same_score(tuned):
    network = AutoModelForSequenceClassification.from_pretrained(tuned.folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(tuned.folder)
    right = []
    for example in sentences(60, 1):
        with torch.no_grad():
            logits = network(**tokenizer(example.texts[0], return_tensors="pt")).logits
        right.append(network.config.id2label[logits.argmax().item()] == example.label)
    assert tuned.scores["accuracy"] == pytest.approx(np.mean(right))
    assert network.config.architectures == ["BertForSequenceClassification"]
    names = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    names |= {"headscope-tune.json", "headscope-files.json"}
    assert {path.name for path in tuned.folder.iterdir()} == names


def test_the_trained_classifier_loads_without_a_note(tuned):
    assert load_classifier(tuned.folder, ANIMALS)[1] == []


def test_the_record_has_everything_and_can_be_read_again(tuned):
    about = json.loads((tuned.folder / "headscope-tune.json").read_text())
    assert about["task"]["labels"] == ["cat", "dog"]
    settings = {"start": "pretrained", "seed": 0, "epochs": 8, "batch_size": 8}
    assert about["settings"].items() >= settings.items()
    assert about["examples"] == {"train": 160, "dev": 60}
    assert about["scores"] == tuned.scores
    assert set(about["versions"]) == {"headscope", "torch", "transformers", "accelerate"}
    assert about["minutes"] == pytest.approx(tuned.seconds / 60, abs=0.01)
    assert read_record(tuned.folder) == tuned


def test_a_finished_folder_is_not_trained_again(bert, tuned):
    steps: list[int] = []
    before = (tuned.folder / "model.safetensors").stat().st_mtime_ns
    watch = {"progress": lambda done, _: steps.append(done)}
    again = tune_animals(bert, tuned.folder, **LEARNED, **watch)
    assert (again.again, again, steps) == (True, tuned, [])
    assert (tuned.folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 5}, "epochs: 8 there, 5 here"),
        ({"start": "random"}, "start: 'pretrained' there, 'random' here"),
        ({"train": sentences(160, 7)}, "train.sha256: "),
    ],
)
def test_a_folder_of_another_finished_run_is_not_overwritten(bert, tuned, change, message):
    with pytest.raises(UserError) as caught:
        tune_animals(bert, tuned.folder, **(LEARNED | change))
    assert caught.value.message.startswith(f"{tuned.folder} holds the results of another run: ")
    assert message in caught.value.message


def test_a_folder_with_other_files_is_not_written_to(bert, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty, and not the folder of a fine-tuning run"):
        tune_animals(bert, tmp_path)


def test_training_equals_a_plain_loop(tmp_path):
    """AdamW with decay on matrices only, a learning rate that rises for a tenth of the steps and
    falls to zero, gradients clipped to norm 1, no dropout."""
    folder = saved(
        "bert", tmp_path / "model", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    corpus = sentences(44, 0)
    how = {"epochs": 2, "learning_rate": 1e-3, "seed": 5}
    tune_animals(folder, tmp_path / "out", train=corpus, **how)
    model, _ = load_classifier(folder, ANIMALS, seed=5)
    rows, _ = encode_rows(model, ANIMALS, corpus, max_length=32)
    network = model.network.train()
    optimizer = plain_adamw(network.named_parameters())
    total, step = 2 * 6, 0
    rise = math.ceil(total * 0.1)
    for epoch in range(2):
        order = LengthOrder(rows.lengths, batch_size=8, seed=5)
        order.set_epoch(epoch)
        indices = list(order)
        for start in range(0, 44, 8):
            rate = step / rise if step < rise else (total - step) / (total - rise)
            for group in optimizer.param_groups:
                group["lr"] = 1e-3 * rate
            optimizer.zero_grad()
            losses = []
            for index in indices[start : start + 8]:
                ids, label = torch.from_numpy(rows[index]["ids"]), rows[index]["label"]
                logits = network(input_ids=ids.long()[None]).logits
                losses.append(torch.nn.functional.cross_entropy(logits, torch.tensor([label])))
            torch.stack(losses).mean().backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            step += 1
    found = weights(tmp_path / "out")
    began = dict(load_classifier(folder, ANIMALS, seed=5)[0].network.named_parameters())
    moved = max((found[name] - value).abs().max().item() for name, value in began.items())
    assert moved > 3e-3
    for name, value in network.named_parameters():
        # A key bias adds the same to every score of a query: its gradient is only rounding, which
        # Adam makes large.
        if "key.bias" in name:
            continue
        torch.testing.assert_close(found[name], value.detach(), atol=2e-5, rtol=0)


def test_seeds_make_different_runs_and_equal_seeds_equal_ones(bert, tmp_path):
    folders = [
        tune_animals(bert, tmp_path / name, train=sentences(24, 0), seed=seed).folder
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert same(folders[0], folders[1])
    assert not same(folders[0], folders[2])


def test_a_loaded_model_is_tuned_like_its_folder_and_stays_unchanged(bert, tmp_path):
    model = hs.load(bert)
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    loaded = tune_animals(model, tmp_path / "loaded")
    assert same(loaded.folder, tune_animals(bert, tmp_path / "folder").folder)
    assert loaded.model == model.label
    after = model.network.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_a_task_is_given_by_name_and_tables_as_files(bert, tmp_path):
    table = tmp_path / "table.tsv"
    table.write_text("the cat sat\tentailment\na dog sat\tnot_entailment\n" * 3)
    given: dict[str, Any] = {"train": table, "dev": table, "start": "untrained", "max_length": 32}
    named = tune(bert, task="rte", output=tmp_path / "named", **given)
    assert (named.task, named.examples) == (GLUE["rte"], {"train": 6, "dev": 6})
    own = tune(bert, output=tmp_path / "own", **given)
    assert (own.task.name, own.task.labels) == ("custom", ("entailment", "not_entailment"))


def test_untrained_is_scored_as_loaded_with_a_note(bert, tmp_path):
    steps: list[int] = []
    watch = {"progress": lambda step, _: steps.append(step)}
    done = tune_animals(bert, tmp_path / "x", start="untrained", **watch)
    assert steps == []
    assert done.losses == []
    assert "classifier.weight" in done.notes[0]
    began = load_classifier(bert, ANIMALS)[0].network.state_dict()
    assert all(torch.equal(value, began[name]) for name, value in weights(done.folder).items())


@pytest.mark.parametrize(
    ("start", "note"),
    [
        ("untrained", "its score is not that of an untrained one"),
        ("pretrained", "training continues from it"),
    ],
)
def test_a_note_says_that_a_classifier_is_already_trained(tuned, tmp_path, start, note):
    given = {"dev": sentences(60, 1), "start": start, "learning_rate": 1e-9}
    done = tune_animals(tuned.folder, tmp_path / "x", **given)
    known = f"{tuned.folder} already has a trained classifier for these classes"
    assert done.notes == [f"{known}: {note}"]
    assert done.scores == tuned.scores


def test_from_random_every_weight_is_new(bert, tmp_path):
    done = tune_animals(bert, tmp_path / "x", start="random", learning_rate=1e-6)
    query = weights(done.folder)["bert.encoder.layer.0.attention.self.query.weight"]
    # The tiny model's own weights have ten times this deviation.
    assert query.std().item() == pytest.approx(0.02, rel=0.1)
    assert done.notes == []


def test_gpt2_learns_and_saves_its_padding_token(gpt2, tmp_path):
    done = tune_animals(gpt2, tmp_path / "x", **LEARNED)
    assert done.scores["accuracy"] > done.majority["accuracy"] + 0.2
    tokenizer = AutoTokenizer.from_pretrained(done.folder)
    config = AutoModelForSequenceClassification.from_pretrained(done.folder).config
    assert tokenizer.pad_token_id == tokenizer.eos_token_id == config.pad_token_id


def test_a_regression_learns_how_many_cats_there_are(bert, tmp_path):
    random = np.random.default_rng(0)

    def counted(count: int) -> hs.corpus.Corpus:
        numbers = random.integers(0, 4, count).tolist()
        texts = [" ".join(["cat"] * number + ["dog"] * (4 - number)) for number in numbers]
        rows = enumerate(zip(texts, numbers, strict=True))
        return from_examples(
            [Example(str(row), (text,), label=f"{number / 4}") for row, (text, number) in rows]
        )

    cats = Task("cats", "cats", "regression", (), ("pearson", "spearman"))
    data = {"task": cats, "train": counted(120), "dev": counted(40)}
    done = tune_animals(bert, tmp_path / "x", epochs=4, **data)
    assert done.scores["pearson"] > 0.9
    assert math.isnan(done.majority["pearson"])
    assert math.isnan(read_record(done.folder).majority["pearson"])


def test_bf16_trains_on_a_cpu(bert, tmp_path):
    done = tune_animals(bert, tmp_path / "x", precision="bf16")
    assert {value.dtype for value in weights(done.folder).values()} == {torch.float32}


def test_the_limit_applies_to_both_tables(bert, tmp_path):
    done = tune_animals(
        bert, tmp_path / "x", train=sentences(40, 0), dev=sentences(40, 1), limit=12
    )
    assert done.examples == {"train": 12, "dev": 12}
