"""Train a small language model with checkpoints, to see its heads appear (headscope track).

Usage: python tools/makers/train_small.py FOLDER [--steps 900] [--also 370,380] [--seed 0]

Texts are made up: a passage of 16 to 64 random words of a small vocabulary, written again and again
until the text has 128 words. The words themselves cannot be predicted in the first copy; from the
second on, an induction head can. The distance between copies differs from text to text, so a head
that looks back by a fixed number of words does not help.

The model is a GPT-2 of two layers of four heads. FOLDER gets one folder per checkpoint (step-0,
step-30, …), with logarithmically spaced steps; held-out texts as ``texts.txt``, for the survey; and
``log.json``: the losses, the settings and the time taken. Minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

WORDS, LENGTH, SHORTEST, LONGEST = 256, 128, 16, 64
START = "<s>"
HELD_OUT = 64
"""Texts that are written for the survey."""
WARM = 50
"""Steps until the learning rate is at its height."""


def vocabulary() -> list[str]:
    """Made-up words of two syllables: bada, bade, …"""
    syllables = [first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou"]
    made = [one + two for one in syllables for two in syllables]
    return [str(word) for word in np.random.default_rng(0).choice(made, WORDS, replace=False)]


def make_tokenizer(words: list[str]) -> PreTrainedTokenizerFast:
    """One token per word, and a start token before each text."""
    table = {word: number for number, word in enumerate([START, *words])}
    tokenizer = Tokenizer(models.WordLevel(table, unk_token=START))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A", pair=f"{START} $A $B", special_tokens=[(START, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=START,
        bos_token=START,
        eos_token=START,
        pad_token=START,
        model_max_length=LENGTH + 2,
    )


def make_texts(count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Token ids, (text, word): a passage of random words, again and again."""
    texts = np.empty((count, LENGTH), np.int64)
    for text in texts:
        size = int(random.integers(SHORTEST, LONGEST + 1))
        passage = 1 + random.choice(WORDS, size, replace=False)
        text[:] = np.resize(passage, LENGTH)
    return texts


def make_network(seed: int) -> GPT2LMHeadModel:
    """Two layers of four heads, with random weights."""
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=WORDS + 1,
        n_embd=128,
        n_layer=2,
        n_head=4,
        n_inner=128,
        n_positions=LENGTH + 2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def checkpoint_steps(steps: int, count: int) -> list[int]:
    """0, and then steps whose logarithms are evenly spaced, up to the last one.

    >>> checkpoint_steps(900, 4)
    [0, 30, 164, 900]
    """
    spaced = np.geomspace(max(steps // 30, 1), steps, count - 1)
    return [0, *sorted({round(step) for step in spaced.tolist()})]


def train(
    folder: Path, *, wanted: list[int], steps: int, batch: int, rate: float, seed: int
) -> None:
    """Train, and save checkpoints, held-out texts and a log."""
    began = time.monotonic()
    words = vocabulary()
    tokenizer, network = make_tokenizer(words), make_network(seed)
    random = np.random.default_rng(seed)
    held_out = make_texts(HELD_OUT, np.random.default_rng([seed, 1]))
    folder.mkdir(parents=True, exist_ok=True)
    lines = (" ".join(words[token - 1] for token in text) for text in held_out)
    (folder / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    optimizer = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=0.01)
    log = []
    for step in range(steps + 1):
        if step in wanted:
            network.save_pretrained(folder / f"step-{step}")
            tokenizer.save_pretrained(folder / f"step-{step}")
            first, later = losses(network, held_out)
            log.append({"step": step, "first copy": first, "later copies": later})
            print(f"step {step}: loss {first:.2f} in the first copy, {later:.2f} in later ones")
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / WARM)
        ids = _with_start(make_texts(batch, random))
        loss = network(ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    about = {"steps": steps, "batch": batch, "rate": rate, "seed": seed, "torch": torch.__version__}
    about["seconds"] = round(time.monotonic() - began)
    text = json.dumps({"settings": about, "losses": log}, indent=1)
    (folder / "log.json").write_text(text + "\n", encoding="utf-8")


def losses(network: GPT2LMHeadModel, texts: NDArray[np.int64]) -> tuple[float, float]:
    """The mean loss in nats of the first 16 words and of the last 64 of each text.

    The first 16 words are always new; the last 64 always stood before.
    """
    ids = _with_start(texts)
    with torch.no_grad():
        logits = network(ids).logits[:, :-1]
    each = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
    return float(each[:, :SHORTEST].mean()), float(each[:, LONGEST:].mean())


def _with_start(texts: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(np.insert(texts, 0, 0, axis=1))


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--checkpoints", type=int, default=13)
    parser.add_argument("--also", default="", help="further checkpoints: 370,380")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    train(
        given.folder,
        wanted=checkpoint_steps(given.steps, given.checkpoints)
        + [int(step) for step in given.also.split(",") if step],
        steps=given.steps,
        batch=given.batch,
        rate=given.rate,
        seed=given.seed,
    )


if __name__ == "__main__":
    main()
