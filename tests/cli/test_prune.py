"""``headscope prune`` from end to end, with tiny models in folders."""

from __future__ import annotations

import json

import pytest
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from tiny import SENTENCES, tiny_network, tiny_tokenizer

RUN = ("--max-length", "24", "--batch-size", "2")


@pytest.fixture
def models(here):
    """A classifier and a language model with two groups of heads; texts, and a labelled table."""
    names = {"id2label": {0: "no", 1: "yes"}, "label2id": {"no": 0, "yes": 1}}
    for kind, auto, changes in (
        ("bert", AutoModelForSequenceClassification, names),
        ("qwen3", AutoModelForCausalLM, {}),
    ):
        tiny_network(kind, auto=auto, **changes).save_pretrained(here / kind)
        tiny_tokenizer(kind).save_pretrained(here / kind)
    texts = SENTENCES * 2
    (here / "plain.txt").write_text("\n\n".join(texts))
    rows = [f"{text}\t{('no', 'yes')[at % 2]}" for at, text in enumerate(texts)]
    (here / "table.tsv").write_text("\n".join(["text\tlabel", *rows]) + "\n")


@pytest.mark.usefixtures("models")
def test_a_language_model_gets_smaller(run, here):
    done = run("prune", "qwen3", "--share", "0.5", "--corpus", "plain.txt", *RUN, "-o", "small")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "small"
    for column in ("heads removed", "loss", "random", "saved"):
        assert column in done.out
    assert "shares of heads whose weights can be cut out: 0.5" in done.err
    said = " ".join(done.err.split())
    assert "4 of 8 heads removed (50.0 %), by importance: loss" in said
    assert "parameters (-8.5 %)" in said
    assert "times as fast" in said
    assert 'transformers.AutoModelForCausalLM.from_pretrained("small")' in said
    assert AutoModelForCausalLM.from_pretrained(here / "small").config.num_key_value_heads == 1
    again = run("prune", "qwen3", "--share", "0.5", "--corpus", "plain.txt", *RUN, "-o", "small")
    assert "small: it already holds this run" in again.err


@pytest.mark.usefixtures("models")
def test_a_classifier_is_zeroed_and_says_so(run, here):
    done = run("prune", "bert", "--dev", "table.tsv", "--share", "0.25", "--json", *RUN)
    assert done.code == 0, done.err
    rows = json.loads(done.out)
    assert [row["removed"] for row in rows] == [0, 1, 2]
    said = " ".join(done.err.split())
    assert "Output weights of the heads are zero; the file is not smaller" in said
    assert "documents are few" in said or "examples are few" in said
    assert (here / "pruned" / "headscope-prune.json").exists()


@pytest.mark.usefixtures("models")
def test_importance_runs_alone_and_ranks_heads(run):
    alone = ("--importance", "--no-heads", "--no-layers", "-o", "rank.nc")
    done = run("ablate", "qwen3", "--corpus", "plain.txt", "--max-length", "24", *alone)
    assert done.code == 0, done.err
    assert "Gradient importance" in done.out
    assert "headscope heads rank.nc --by importance" in done.err
    assert run("table", "rank.nc", "ablation").out.count("L0H") == 4
    done = run("prune", "qwen3", "--by", "rank.nc", "--corpus", "plain.txt", *RUN)
    assert "by importance in rank.nc" in " ".join(done.err.split())


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("given", "error", "advice"),
    [
        (
            ("qwen3", "--share", "2"),
            "error: the share of heads to remove must be between 0 and 1, got 2 instead",
            "next:  give e.g. --share 0.2 for a fifth",
        ),
        (
            ("bert", "--corpus", "plain.txt"),
            "error: bert has no language-model head: ",
            "next:  give --task and --data for a tuned classifier, or choose a masked or causal "
            "language model",
        ),
        (
            ("qwen3", "--share", "0.2", "--cut", "--corpus", "plain.txt"),
            "error: the shares of heads whose weights can be cut out of qwen3: 0.5; got 0.2",
            "next:  leave --cut out to set output weights to zero, or give --share 0.5",
        ),
        (
            ("qwen3", "--corpus", "plain.txt", "-o", "bert"),
            "is not empty, and not the folder of a pruned model",
            "next:  choose another folder, or give --overwrite to write into it",
        ),
    ],
)
def test_mistakes_are_told_with_what_to_do(run, given, error, advice):
    done = run("prune", *given)
    assert done.code == 2
    assert error in done.told[0]
    assert done.told[1] == advice
