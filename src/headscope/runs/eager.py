"""A model beside transformers' own eager attention: the same weights run twice on one device."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from headscope.encode import Encoded, collate
from headscope.errors import UserError
from headscope.models import LayerView, Model
from headscope.models.attach import as_eager
from headscope.models.forward import evaluating, network_inputs
from headscope.models.shape import text_config
from headscope.runs.looking import CheckOptions
from headscope.runs.synthetic import encoded_tokens, ordinary_tokens, start_of

LENGTHS = (24, 5, 40, 11)
"""Of the texts in the padded batch; the first is also run alone."""
LONG = 512
"""A long text has at least so many tokens, unless the model takes fewer."""
LONGEST = 4096
MEMORY = 2**30
"""Eager maps are kept whole; of texts whose maps take more bytes, only outputs are compared."""
MAPS, OUTPUTS = "maps", "outputs"
ALONE, PADDED, LONG_TEXT = "one text", "a batch of several lengths", "a long text"
# The same batch may be off by rounding (causal models leave out keys that are masked anyway), and
# a text in a batch more than that: products of other sizes are rounded differently in every layer.
# Of 30 layers 1e-5 was measured in float32. Wrong attention is off by 0.1 and more.
CLOSE = {torch.float64: 1e-6, torch.float32: 1e-3}
ROUGH = 0.05
"""The same in half precision and for quantised weights."""
REACH = re.compile(r"window|topk|top_k|local|chunk")
"""What a configuration calls the numbers of tokens beyond which attention changes."""
FAILURES = (RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError)


@dataclass(frozen=True)
class Agreement:
    """One comparison with eager attention.

    Parameters
    ----------
    text
        What was run: ``"one text"``, ``"a batch of several lengths"`` or ``"a long text"``.
    what
        ``"maps"``, or ``"outputs"`` of the layers (the hidden states).
    stack
        ``"encoder"``, ``"decoder"`` or ``"cross"``; "" if nothing could be run.
    tokens
        The length of the longest text.
    layers
        How many layers were compared.
    difference
        The largest one: of maps, in attention; of outputs, relative to the layer's largest number.
    layer
        The layer in which it was found, from 1.
    allowed
        A larger difference is a failure.
    error
        Why the comparison could not be made; "" if it was.
    """

    text: str
    what: str
    stack: str = ""
    tokens: int = 0
    layers: int = 0
    difference: float = math.inf
    layer: int = 0
    allowed: float = 0.0
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the difference is within rounding."""
        return not self.error and self.difference <= self.allowed

    @property
    def digits(self) -> str:
        """To which digit both agree, in words.

        >>> Agreement("one text", "maps", difference=0.0).digits
        'every bit'
        >>> Agreement("one text", "maps", difference=3e-7).digits
        '6 digits'
        """
        if self.difference == 0:
            return "every bit"
        if not self.difference < 0.1:
            return "none"
        digits = math.floor(-math.log10(self.difference))
        return f"{digits} digit{'s' * (digits != 1)}"

    def sentence(self) -> str:
        """What is wrong, in words."""
        if self.error:
            return f"{self.what} of {self.text} could not be compared: {self.error}"
        return (
            f"{self.what} of the {self.stack} on {self.text} differ by {self.difference:.2g} "
            f"(layer {self.layer})"
        )


@dataclass(frozen=True)
class Check:
    """What :func:`check` found.

    Parameters
    ----------
    model
        The model's name.
    rows
        The comparisons.
    notes
        What was not compared, and remarks on the model.
    """

    model: str
    rows: tuple[Agreement, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether everything agrees."""
        return bool(self.rows) and all(row.agrees for row in self.rows)

    def verdict(self) -> str:
        """The result in one sentence."""
        if self.passed:
            worst = max(self.rows, key=lambda row: row.difference)
            digits = "in every bit" if worst.difference == 0 else f"to {worst.digits} or more"
            return f"PASS: {self.model} agrees with eager attention {digits}"
        wrong = "; ".join(row.sentence() for row in self.rows if not row.agrees)
        return f"FAIL: {self.model} does not agree with eager attention: {wrong}"

    def frame(self) -> pd.DataFrame:
        """One row per comparison."""
        return pd.DataFrame(
            {
                "text": row.text,
                "tokens": row.tokens,
                "compared": f"{row.what} ({row.stack})" if row.stack else row.what,
                "layers": row.layers,
                "largest difference": row.difference,
                "agrees to": row.digits if not row.error else row.error,
                "allowed": row.allowed,
                "verdict": "ok" if row.agrees else "FAIL",
            }
            for row in self.rows
        )

    def __str__(self) -> str:
        notes = "".join(f"\nnote: {note}" for note in self.notes)
        return f"{self.frame().to_string(index=False)}{notes}\n{self.verdict()}"


def compare_with_eager(model: Model, options: CheckOptions) -> Check:
    """What :func:`headscope.check` returns."""
    length, notes = long_length(model, options.max_length)
    random = np.random.default_rng(options.seed)
    *texts, long = [_item(model, random, size) for size in (*LENGTHS, length)]
    rows: list[Agreement] = []
    for name, group, maps in (
        (ALONE, texts[:1], True),
        (PADDED, texts, True),
        (LONG_TEXT, [long], map_bytes(model, length) <= MEMORY),
    ):
        rows += _compared(model, name, group, maps=maps)
        if not maps:
            notes.append(
                f"the maps of {length} tokens take {map_bytes(model, length) / 2**30:.0f} GB, "
                "so only the outputs of the layers were compared there"
            )
    return Check(model.label, tuple(rows), (*model.notes, *notes))


def long_length(model: Model, wanted: int | None) -> tuple[int, list[str]]:
    """How many tokens the long text has, and what it does not reach."""
    limit = model.longest or LONGEST
    if wanted is not None:
        if not LENGTHS[1] <= wanted <= (model.longest or wanted):
            most = f" to {model.longest}" if model.longest else " or more"
            raise UserError(
                f"the maximum length must be {LENGTHS[1]}{most} for {model.name}, got {wanted} "
                "instead",
                hint=f"leave max_length= out, or give {LENGTHS[1]}{most}",
            )
        return wanted, []
    reach = reach_of(text_config(model.network))
    length = min(max(LONG, reach + reach // 8), limit, LONGEST)
    if reach < length:
        return length, []
    return length, [
        f"attention may change beyond {reach} tokens (a window or index of the configuration), and "
        f"the long text has {length}: a larger max_length= makes it longer"
    ]


def reach_of(config: Any) -> int:
    """The largest number of tokens that a configuration names as a window or an index.

    >>> from transformers import MistralConfig
    >>> reach_of(MistralConfig(sliding_window=1024))
    1024
    """
    values = vars(config)
    positions = values.get("max_position_embeddings")  # no window is longer
    most = positions if isinstance(positions, int) and positions else math.inf
    reaches = [
        value
        for key, value in values.items()
        if REACH.search(key) and type(value) is int and value <= most
    ]
    blocks = values.get("index_block_size", 0) * values.get("index_topk_blocks", 0)
    return int(max([0, blocks, *reaches]))


def map_bytes(model: Model, length: int) -> int:
    """How much memory all maps of a text take."""
    size = torch.finfo(model.network.dtype).bits // 8
    return sum(shape.layers * shape.heads for shape in model.shapes.values()) * length**2 * size


def _item(model: Model, random: np.random.Generator, size: int) -> Encoded:
    """A text of random tokens, with the model's start token."""
    size = min(size, model.longest or size)
    start = start_of(model)
    tokens = random.choice(ordinary_tokens(model), size - (start is not None))
    return encoded_tokens(f"{size} tokens", tokens, start)


@dataclass
class Reference:
    """What eager attention gives for one text.

    Parameters
    ----------
    maps
        (head, query, key) of every layer of each stack.
    states
        (query, width) after every layer of each stack.
    """

    maps: dict[str, list[Tensor]] = field(default_factory=dict)
    states: dict[str, list[Tensor]] = field(default_factory=dict)


def eager_reference(model: Model, item: Encoded, *, maps: bool) -> Reference:
    """Run one text by transformers' own eager attention, unobserved."""
    inputs = network_inputs(model, collate([item], pad=model.pad), "")
    with torch.inference_mode(), as_eager(model.network), evaluating(model.network):
        output = model.network(**inputs, output_attentions=maps, output_hidden_states=True)
    return Reference(
        {stack: [layer[0] for layer in layers] for stack, layers in _maps(model, output) if maps},
        {stack: [layer[0] for layer in layers] for stack, layers in _states(model, output)},
    )


def _maps(model: Model, output: Any) -> Iterator[tuple[str, list[Tensor]]]:
    for stack in model.shapes:
        name = f"{stack}_attentions" if model.encoder_decoder else "attentions"
        maps = getattr(output, name, None) or ()
        yield stack, [map_ for map_ in maps if map_ is not None]


def _states(model: Model, output: Any) -> Iterator[tuple[str, list[Tensor]]]:
    """The hidden states after each layer; cross attention has none of its own."""
    for stack in model.shapes:
        name = f"{stack}_hidden_states" if model.encoder_decoder else "hidden_states"
        yield stack, list((getattr(output, name, None) or ())[1:])


class Beside:
    """Holds the blocks of an observed pass beside the eager maps of each of its texts."""

    whole_maps = False

    def __init__(self, references: Sequence[Reference]) -> None:
        self.references = references
        self.layers: dict[str, int] = {}
        self.gaps: dict[str, dict[int, float]] = {}
        """The largest difference in each layer of each stack."""

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        """Compare a block, without what is padding."""
        count = self.layers.get(view.stack, 0)
        for row, reference in enumerate(self.references):
            maps = reference.maps.get(view.stack, [])
            if count < len(maps):
                theirs = maps[count][:, first_row : first_row + block.shape[2]]
                ours = block[row, :, : theirs.shape[1], : theirs.shape[2]]
                self.note(view.stack, view.layer, gap(ours, theirs))

    def note(self, stack: str, layer: int, difference: float) -> None:
        """Keep the largest difference of a layer."""
        known = self.gaps.setdefault(stack, {})
        known[layer] = max(known.get(layer, 0.0), difference)

    def end(self, view: LayerView) -> None:
        """Count the layer."""
        self.layers[view.stack] = self.layers.get(view.stack, 0) + 1


def gap(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference; infinite if the shapes differ, or only one is a number.

    >>> gap(torch.tensor([0.5, torch.nan]), torch.tensor([0.25, torch.nan]))
    0.25
    >>> gap(torch.tensor([torch.nan]), torch.tensor([0.25])), gap(torch.ones(2), torch.ones(3))
    (inf, inf)
    """
    if ours.shape != theirs.shape:
        return math.inf
    if not theirs.numel():
        return 0.0
    difference = (ours.double() - theirs.to(ours.device).double()).abs()
    both = torch.isnan(ours) & torch.isnan(theirs)
    return float(difference.masked_fill(both, 0.0).nan_to_num(math.inf).max())


def _compared(model: Model, name: str, items: list[Encoded], *, maps: bool) -> list[Agreement]:
    """Compare some texts in batches with each of them alone."""
    tokens = max(len(item) for item in items)
    try:
        rows = list(_rows(model, name, items, maps=maps))
    except FAILURES as error:
        what = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"
        return [Agreement(name, f"{MAPS} and {OUTPUTS}", tokens=tokens, error=what)]
    return rows or [Agreement(name, MAPS, tokens=tokens, error="eager attention returns nothing")]


def _rows(model: Model, name: str, items: list[Encoded], *, maps: bool) -> Iterator[Agreement]:
    references = {item.example.id: eager_reference(model, item, maps=maps) for item in items}
    compared = {MAPS: Beside([]), OUTPUTS: Beside([])}
    counted: dict[str, int] = {}
    for batch in model.batches(items, size=len(items)):
        beside = Beside([references[item.example.id] for item in batch.items])
        with torch.inference_mode():
            output = model.forward(batch, listeners=[beside], output_hidden_states=True)
        counted |= beside.layers
        for stack, layers in beside.gaps.items():
            for layer, difference in layers.items():
                compared[MAPS].note(stack, layer, difference)
        _compare_states(model, output, beside.references, compared[OUTPUTS])
    allowed = ROUGH if model.quantization else CLOSE.get(model.network.dtype, ROUGH)
    tokens = max(len(item) for item in items)
    for stack in model.shapes:
        expected = len(next(iter(references.values())).maps.get(stack, []))
        if maps and counted.get(stack, 0) != expected:
            why = f"{counted.get(stack, 0)} layers are observed and eager attention has {expected}"
            yield Agreement(name, MAPS, stack, tokens, error=why)
        for what, side in compared.items():
            gaps = side.gaps.get(stack, {})
            if gaps:
                worst = max(gaps, key=lambda layer: gaps[layer])
                yield Agreement(
                    name, what, stack, tokens, len(gaps), gaps[worst], worst + 1, allowed
                )


def _compare_states(
    model: Model, output: Any, references: Sequence[Reference], beside: Beside
) -> None:
    """Compare what each layer gives to the next, relative to its largest number."""
    for stack, layers in _states(model, output):
        for layer, ours in enumerate(layers):
            for row, reference in enumerate(references):
                theirs = reference.states[stack][layer]
                size = max(float(theirs.abs().max()), torch.finfo(theirs.dtype).tiny)
                beside.note(stack, layer, gap(ours[row, : len(theirs)], theirs) / size)
