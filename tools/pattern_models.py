"""The models and inputs from which the built-in labelled maps are collected."""

from __future__ import annotations

import copy
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch

import headscope as hs
from headscope.corpus.example import Example
from headscope.encode import collate
from headscope.models import Model, wrap
from headscope.models.loading import random_init

SEED = 7
LONGEST = 64
Source = tuple[str, str, Callable[[], Model], set[tuple[int, int]]]
"""A split, the name of a model, how to make the model, and heads counted from 0."""


def inputs(split: str) -> list[Example]:
    """Make the inputs of a split: one or two sentences, alone or in pairs.

    Every third passage of each style belongs to the test split.
    """
    found = []
    for passage in hs.corpus.read("demo"):
        if (int(passage.id.rpartition("-")[2]) % 3 == 0) != (split == "test"):
            continue
        words: dict[int, list[str]] = defaultdict(list)
        for word in passage.words:
            words[word.sentence].append(word.text)
        texts = [" ".join(sentence) for sentence in words.values()]
        for first in range(len(texts)):
            for sizes in ((1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2)):
                if first + sum(sizes) > len(texts):
                    continue
                cuts = np.cumsum([first, *sizes]).tolist()
                name = "|".join(
                    "+".join(f"s{number + 1}" for number in range(low, high))
                    for low, high in itertools.pairwise(cuts)
                )
                found.append(
                    Example(
                        f"{passage.id}:{name}",
                        tuple(" ".join(texts[low:high]) for low, high in itertools.pairwise(cuts)),
                    )
                )
    return found


def causal(model: Model) -> Model:
    """Give a model a causal mask; the weights stay the same."""
    config = copy.deepcopy(model.config)
    config.is_decoder = True
    network = type(model.network)(config)
    network.load_state_dict(model.network.state_dict())
    return wrap(network, model.tokenizer, name=f"{model.name} (causal)")


def scattered(model: Model, seed: int) -> Model:
    """Draw random weights, large enough in queries, keys and token types to shape attention."""
    made = random_init(model, seed=seed)
    torch.manual_seed(seed)
    for name, weight in made.network.named_parameters():
        if "query.weight" in name or "key.weight" in name or "token_type" in name:
            torch.nn.init.normal_(weight, 0.0, 0.1)
    return made


def apart(model: Model, texts: Sequence[Example], *, steps: int, rate: float, seed: int) -> Model:
    """Fine-tune a model to read each text of a pair as if it were alone, which gives block maps.

    The target of each text's hidden states are those with the other text masked.
    """
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    network = copy.deepcopy(model.network)
    student, teacher = (getattr(net, "bert", net) for net in (network, model.network))
    items = list(
        model.encoder(max_length=LONGEST, long="drop", stack="encoder").encode(
            example for example in texts if len(example.texts) == 2
        )
    )
    types = [weight for name, weight in student.named_parameters() if "token_type" in name]
    scores = [
        weight
        for name, weight in student.named_parameters()
        if ".query." in name or ".key." in name
    ]
    optimizer = torch.optim.AdamW(
        [{"params": types, "lr": rate * 10}, {"params": scores, "lr": rate}], weight_decay=0.0
    )
    for _ in range(steps):
        batch = collate(
            [items[index] for index in random.choice(len(items), 8, replace=False)], pad=model.pad
        )
        ids, second, real = (
            torch.from_numpy(array) for array in (batch.ids, batch.types, batch.mask)
        )
        target = torch.zeros(())
        with torch.no_grad():
            for segment in (0, 1):
                own = real & (second == segment)
                seen = own | (torch.arange(ids.shape[1]) == 0)
                alone = teacher(
                    ids,
                    attention_mask=seen.long(),
                    token_type_ids=torch.zeros_like(ids),
                    output_hidden_states=True,
                ).hidden_states
                target = target + torch.stack(alone[1:]) * own[..., None]
        states = torch.stack(
            student(
                ids, attention_mask=real.long(), token_type_ids=second, output_hidden_states=True
            ).hidden_states[1:]
        )
        loss = ((states - target) ** 2 * real[..., None]).sum() / (
            real.sum() * states.shape[-1] * states.shape[0]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return wrap(network.eval(), model.tokenizer, name=f"{model.name} (apart)")


def held_out_heads() -> set[tuple[int, int]]:
    """Draw four of twelve heads in each layer of the embedded model, counted from 0.

    No map of these heads, nor of the same heads of models made from it, is trained on.
    """
    random = np.random.default_rng(SEED)
    return {(layer, int(head)) for layer in range(6) for head in random.permutation(12)[:4]}


def models(folder: Path, texts: dict[str, list[Example]]) -> Iterator[Source]:
    """Give (split, name, how to make the model, heads counted from 0) for each model.

    Test heads differ from training heads: they are other heads of the embedded model and its
    variants, and heads of other models.
    """
    demo = hs.load("demo")
    held_out = held_out_heads()
    training = {(layer, head) for layer in range(6) for head in range(12)} - held_out
    names = (f"{layer + 1}-{head + 1}" for layer, head in sorted(held_out))
    print("held-out heads:", ", ".join(names))
    small = {(layer, head) for layer in range(4) for head in range(4)}
    masked = cache(lambda: hs.load(str(folder / "minilm-l6-mlm")))
    decoder = cache(lambda: causal(demo))
    yield "train", "demo", lambda: demo, training
    yield "test", "demo", lambda: demo, held_out
    yield "train", "demo-causal", decoder, training
    yield "test", "demo-causal", decoder, held_out
    yield (
        "train",
        "demo-apart",
        lambda: apart(demo, texts["train"], steps=120, rate=1e-3, seed=SEED),
        training,
    )
    yield (
        "test",
        "minilm-l6-mlm-apart",
        lambda: apart(masked(), texts["test"], steps=100, rate=1.5e-3, seed=SEED + 1),
        held_out,
    )
    yield (
        "train",
        "random",
        lambda: scattered(demo, SEED),
        {(layer, head) for layer in range(6) for head in range(3)},
    )
    yield "train", "electra-mini", lambda: hs.load(str(folder / "electra-mini")), small
    yield "test", "gpt2-mini", lambda: hs.load(str(folder / "gpt2-mini")), small
    yield "test", "minilm-l6-mlm", masked, {(layer, head) for layer in (4, 5) for head in range(12)}
