"""Checkpoints of a planted model, in which roles come and go as the table says."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import torch

from headscope.models import Model, wrap
from planted import HEADS, WIDTH, planted_bert, planted_tokenizer

STEPS = (0, 10, 20, 30)
PRESENT = {
    "previous": (False, False, True, True),  # appears at step 20
    "current": (True, False, True, True),  # was there, is lost, and is there for good from 20 on
    "next": (True, True, True, False),  # is lost at the end
}
TEXTS = [
    "the {} dog saw {} cat on a {} mat {}".format(*words)
    for words in product(("old", "who", "it"), ("a", "the"), ("old", "dog", "cat"), (".", "!"))
]


def planted_checkpoint(number: int, name: str = "") -> Model:
    """One checkpoint; a head that is not there attends evenly."""
    model = planted_bert()
    with torch.no_grad():
        for head, present in PRESENT.items():
            if not present[number]:
                layer, place = HEADS[head]
                query = model.network.encoder.layer[layer - 1].attention.self.query
                query.weight[(place - 1) * WIDTH : place * WIDTH] = 0.0
                query.bias[(place - 1) * WIDTH : place * WIDTH] = 0.0
    return wrap(model.network, planted_tokenizer(), name=name or f"step-{STEPS[number]}")


def save_checkpoints(folder: Path) -> list[Path]:
    """All checkpoints as folders."""
    places = []
    for number, step in enumerate(STEPS):
        places.append(folder / f"checkpoint-{step}")
        with planted_checkpoint(number) as model:
            model.network.save_pretrained(places[-1])
            model.tokenizer.save_pretrained(places[-1])
    return places
