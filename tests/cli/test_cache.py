"""``headscope cache`` from end to end, with a tiny model in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForCausalLM

from cli.conftest import Run
from tiny import SENTENCES, tiny_network, tiny_tokenizer

SIZES = (
    *("--tokens", "48", "--passages", "3", "--length", "200", "--needles", "2", "--draws", "2"),
    *("--keep", "0.5,0", "--window.first", "2", "--window.recent", "5", "--tolerance", "99"),
)


@pytest.fixture
def model(here: Path) -> None:
    """A language model of two layers with two KV heads each, and texts."""
    network = tiny_network("llama", auto=AutoModelForCausalLM, max_position_embeddings=400)
    network.save_pretrained(here / "llama")
    tiny_tokenizer("llama").save_pretrained(here / "llama")
    (here / "plain.txt").write_text("\n\n".join(SENTENCES * 20))


@pytest.mark.slow
@pytest.mark.usefixtures("model")
def test_a_choice_is_tested_shown_drawn_and_exported(run: Run, here: Path) -> None:
    rankings = ("--by", "position:previous", "--by", "entropy:all")
    done = run("cache", "llama", "plain.txt", *rankings, *SIZES, "-o", "cache.nc")
    assert done.code == 0, done.err
    assert done.out.splitlines()[-1] == "cache.nc"
    said = " ".join(done.err.split())
    for by in ("position:previous", "entropy:all"):
        assert f"KV heads cut to the first 2 and the last 5 tokens, by {by}: the loss" in said
    assert "the smallest cache within 99 nats of loss and 99 of recall: 50.0 % of KV heads" in said
    assert "loss: 3 texts of 48 tokens; recall: 2 prompts" in said
    again = run("cache", "llama", "plain.txt", *rankings, *SIZES, "-o", "cache.nc")
    assert "cache.nc: it already holds this run" in again.err
    rows = json.loads(run("table", "cache.nc", "cache", "--json").out)
    assert len(rows) == 3 * 3 * 2
    assert {row["kept"] for row in rows} == {4, 2, 0}
    done = run("export", "cache.nc", "--format", "duoattention", "-o", "pattern")
    assert done.code == 0, done.err
    gates = np.loadtxt(here / "pattern" / "full_attention_heads.tsv", delimiter="\t")
    assert gates.shape == (2, 2)
    assert gates.sum() == 2
    done = run("export", "cache.nc", "--format", "headkv", "--by", "kept:entropy:2", "-o", "h.json")
    assert done.code == 2
    named = run(
        *("export", "cache.nc", "--format", "headkv", "-o", "h.json"),
        *("--by", 'kept:"entropy:all":2'),
    )
    assert named.code == 0, named.err
    assert run("figures", "cache.nc", "--figure", "cache", "-o", "drawn").code == 0
    assert (here / "drawn" / "cache.png").exists()
    assert "heads that keep the" in run("heads", "cache.nc", "--by", 'kept:"entropy:all":2').out


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("given", "error", "advice"),
    [
        (
            ("--tokens", "64", "--by", "entropy:all"),
            "error: texts of 64 tokens are no longer than what is left of a cut cache, 4 + 64",
            "next:  give --tokens 272, or a smaller --window.recent",
        ),
        (
            ("--keep", "half"),
            "error: the share of KV heads must be a number, got 'half' instead",
            "next:  see headscope cache --help",
        ),
        (
            ("--by", "missing.nc:retrieval"),
            "error: no such results file: missing.nc",
            "next:  ",
        ),
        (
            ("--by", "retrieval"),
            "error: the ranking of KV heads must be one of FILE.nc:VALUE, activity, ",
            "next:  give --by retrieval.nc:retrieval, a value of a file, or a measure",
        ),
        (
            ("--by", ""),
            "error: at least one ranking and one share below 1 must be given",
            "next:  e.g. --by retrieval.nc:retrieval, --keep 0.5",
        ),
        (
            ("--tokens", "100000",),
            "has no two texts of 400 tokens",
            "next:  give more text, or shorter texts: --tokens 100",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_what_to_do(
    run: Run, here: Path, given: tuple[str, ...], error: str, advice: str
) -> None:
    (here / "plain.txt").write_text("\n\n".join(SENTENCES * 3))
    done = run("cache", "llama", "plain.txt", "--length", "200", "--needles", "2", *given)
    assert done.code == 2
    assert error in done.told[0]
    assert done.told[1].startswith(advice)
