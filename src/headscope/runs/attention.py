"""The attention of one text: every head's map, of tokens or of words."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpus import Example, surface_words
from headscope.encode import Encoded, collate
from headscope.encode.template import TEXT
from headscope.errors import UserError, wrong_type
from headscope.heads import Head, HeadsLike
from headscope.models import LayerView, Model, ModelLike, using_model
from headscope.options import Loading
from headscope.results import TextAttention

Maps = NDArray[np.float32]
UNLIMITED = 10**6
"""The largest number of tokens for a model without a limit."""


def attention(
    model: ModelLike,
    text: str | tuple[str, str],
    pair: str | None = None,
    *,
    heads: HeadsLike | None = None,
    words: bool = False,
    stack: str = "",
    max_length: int | None = None,
    device: str = "cpu",
) -> TextAttention:
    """Look at the attention of one text.

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.models.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``.
    text
        The text, or a pair of texts.
    pair
        The second text of a pair.
    heads
        Keep only these heads, such as ``"3-9"`` or ``"4-*,L2H8"``. Default: all. The maps of a long
        text take (length × length × 4) bytes per head.
    words
        Give maps between words instead of tokens (Clark et al. 2019, Section 4.1): attention to a
        word is summed over its pieces, and attention from a word is averaged over them. Special
        tokens stay.
    stack
        ``"encoder"`` or ``"decoder"``, for models with both. Default: the encoder.
    max_length
        Cut the text to this many tokens. Default: the whole text, and an error if the model cannot
        take it.
    device
        Where to run a model that is loaded by name.

    Returns
    -------
    TextAttention
        The maps, labelled with layers and heads from 1 and with the tokens. It prints its strongest
        links, and draws itself in a notebook.

    Raises
    ------
    UserError
        The text is empty, too long or not a string, or the model has no such head.

    See Also
    --------
    headscope.survey : Statistics of all heads over a whole corpus.

    Examples
    --------
    >>> import headscope as hs
    >>> found = hs.attention("demo", "The dog barked.")
    >>> found.tokens
    ('[CLS]', 'The', 'dog', 'barked', '.', '[SEP]')
    >>> found.table("1-3", special=False, top=1)[["from", "to"]].values.tolist()
    [['barked', 'dog']]
    """
    texts = read_texts(text, pair)
    with using_model(model, Loading(device=device)) as found:
        return _attention(found, texts, heads, words, stack or found.main_stack(), max_length)


def read_texts(text: object, pair: object) -> tuple[str, ...]:
    """The text or the two texts, checked."""
    both = isinstance(text, tuple) and len(text) == 2 and pair is None
    texts = text if both else (text,) if pair is None else (text, pair)
    assert isinstance(texts, tuple)
    for one in texts:
        if not isinstance(one, str):
            raise wrong_type(
                "text",
                one,
                "a string or a pair of strings",
                hint='give attention(model, "The dog barked."); survey takes lists of texts',
            )
        if not one.strip():
            raise UserError(f"the text {one!r} is empty", hint="give at least one word")
    return texts


def _attention(
    model: Model,
    texts: tuple[str, ...],
    heads: HeadsLike | None,
    words: bool,
    stack: str,
    max_length: int | None,
) -> TextAttention:
    shape = model.shape(stack)
    if stack == "cross":
        raise UserError(
            "the rows and columns of cross attention are different tokens, and cannot be drawn "
            "as one text",
            hint="give stack='encoder' or stack='decoder'",
        )
    chosen = shape.every_head if heads is None else shape.parse(heads)
    encoded = encode_text(model, texts, stack, max_length)
    tokens = token_names(model, encoded)
    special = encoded.kind != TEXT
    groups: Maps | None = None
    if words:
        groups, tokens, special = word_groups(encoded, tokens)
    layers = sorted({head.layer for head in chosen})
    numbers = sorted({head.head for head in chosen})
    weights = head_maps(model, encoded, stack, chosen, layers, numbers, groups)
    return TextAttention.build(
        weights,
        tokens=tokens,
        special=special.tolist(),
        model=model.name,
        layers=[layer + 1 for layer in layers],
        heads=[number + 1 for number in numbers],
        shape=(shape.layers, shape.heads),
        numbers=shape.labels,
        units="words" if words else "tokens",
    )


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
