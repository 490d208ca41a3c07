"""The maps of one text: of tokens or of words, and with the classes of their patterns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import Encoded, collate
from headscope.encode.template import TEXT
from headscope.errors import UserError
from headscope.heads import Head
from headscope.measures.patterns.network import CLASSES, SHIPPED, load_network, pictures
from headscope.models import LayerView, Model
from headscope.results import TextAttention

if TYPE_CHECKING:
    from headscope.runs.attention import AttentionOptions

Maps = NDArray[np.float32]
UNLIMITED = 10**6
"""The largest number of tokens for a model without a limit."""


def text_attention(
    model: Model, texts: tuple[str, ...], options: AttentionOptions
) -> TextAttention:
    """What :func:`headscope.attention` returns."""
    stack = options.stack or model.main_stack()
    shape = model.shape(stack)
    chosen = shape.every_head if options.heads is None else shape.parse(options.heads)
    encoded = encode_text(model, texts, stack, options.max_length)
    tokens = token_names(model, encoded)
    special = encoded.kind != TEXT
    groups: Maps | None = None
    if options.words:
        groups, tokens, special = word_groups(encoded, tokens)
    layers = sorted({head.layer for head in chosen})
    numbers = sorted({head.head for head in chosen})
    weights = head_maps(model, encoded, stack, chosen, layers, numbers, groups)
    classes = classify_maps(weights, options.network) if options.patterns else None
    return TextAttention.build(
        weights,
        tokens=tokens,
        special=special.tolist(),
        model=model.name,
        layers=[layer + 1 for layer in layers],
        heads=[number + 1 for number in numbers],
        shape=(shape.layers, shape.heads),
        numbers=shape.labels,
        units="words" if options.words else "tokens",
        classes=classes,
    )


def classify_maps(
    maps: Maps, network: str | Path | None = None
) -> tuple[NDArray[np.object_], NDArray[np.float32]]:
    """The pattern class of every map, and the probability that the network gives to it.

    Both are (layer, head); see Kovaleva et al. 2019, Section 4.1.
    """
    classifier = load_network(Path(network) if network else SHIPPED)
    with torch.inference_mode():
        scores = [
            torch.softmax(classifier(pictures(torch.from_numpy(np.ascontiguousarray(layer)))), 1)
            for layer in maps
        ]
    shares = torch.stack(scores).numpy()
    return np.array(CLASSES, dtype=object)[shares.argmax(-1)], shares.max(-1)


def token_names(model: Model, encoded: Encoded) -> list[str]:
    """The characters of each token; special tokens by their names."""
    names = model.tokenizer.convert_ids_to_tokens(encoded.ids.tolist())
    return [piece.strip() or name for piece, name in zip(encoded.text, names, strict=True)]


def encode_text(
    model: Model, texts: tuple[str, ...], stack: str, max_length: int | None
) -> Encoded:
    """The tokens; a text that the model cannot take whole is an error unless it may be cut."""
    room = max_length or model.longest or UNLIMITED
    encoder = model.encoder(max_length=room, long="truncate", stack=stack)
    encoded = list(encoder.encode([Example("text", texts)]))
    if not encoded:
        raise UserError(f"the text {texts[0]!r} has no tokens", hint="give at least one word")
    if encoder.counts.truncated and max_length is None:
        raise UserError(
            f"the text has more than {room} tokens, the most that {model.name} takes",
            hint=f"shorten the text, or cut it with max_length={room}",
            command=f"shorten the text, or cut it with --max-length {room}",
        )
    return encoded[0]


def head_maps(
    model: Model,
    encoded: Encoded,
    stack: str,
    chosen: tuple[Head, ...],
    layers: list[int],
    numbers: list[int],
    groups: Maps | None,
) -> Maps:
    """The maps of the chosen heads, (layer, head, query, key), NaN for others of their layers."""
    size = len(encoded) if groups is None else len(groups)
    weights = np.full((len(layers), len(numbers), size, size), np.nan, np.float32)

    def listen(view: LayerView) -> None:
        if view.stack != stack:
            return
        for head in chosen:
            if head.layer == view.layer:
                one = view.attention[0, head.head].cpu().numpy()
                place = layers.index(head.layer), numbers.index(head.head)
                weights[place] = one if groups is None else word_weights(one, groups)

    with torch.inference_mode():
        model.forward(collate([encoded], pad=model.pad), listeners=[listen], stack=stack)
    return weights


def word_groups(encoded: Encoded, tokens: list[str]) -> tuple[Maps, list[str], NDArray[np.bool_]]:
    """Which tokens make up each word; a token outside all words stands for itself.

    Returns the grouping, (word, token), the words, and which of them are special tokens.
    """
    names = surface_words(encoded.example)
    owners: list[tuple[str, int]] = []
    for place, unit in enumerate(encoded.unit.tolist()):
        owners.append(("word", unit) if unit >= 0 else ("token", place))
    units = list(dict.fromkeys(owners))
    groups = np.array([[owner == unit for owner in owners] for unit in units], np.float32)
    shown = [names[place] if kind == "word" else tokens[place] for kind, place in units]
    special = np.array(
        [kind == "token" and encoded.kind[place] != TEXT for kind, place in units], np.bool_
    )
    return groups, shown, special


def word_weights(weights: Maps, groups: Maps) -> Maps:
    """Turn a map between tokens into one between words (Clark et al. 2019, Section 4.1).

    Parameters
    ----------
    weights
        (token, token).
    groups
        (word, token): 1 where the token is a piece of the word.

    Returns
    -------
    numpy.ndarray
        (word, word): summed over the pieces of the attended word, averaged over the pieces of the
        attending one. Rows still sum to 1.

    Examples
    --------
    >>> pieces = np.array([[1, 1, 0], [0, 0, 1]], np.float32)
    >>> weights = np.array([[0.5, 0.3, 0.2], [0, 0, 1], [0.25, 0.25, 0.5]], np.float32)
    >>> print(word_weights(weights, pieces))
    [[0.4 0.6]
     [0.5 0.5]]
    """
    means = groups / groups.sum(1, keepdims=True)
    result: Maps = means @ weights @ groups.T
    return result
