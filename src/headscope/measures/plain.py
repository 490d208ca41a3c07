"""Measures of attention that comes from elsewhere: vLLM, JAX, another library, a paper's dump.

``hs.measures.entropy(attention)`` is :func:`measured` with that measure. Whatever is registered has
such a function, as long as maps and tokens are all it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headscope.corpus import Example
from headscope.encode import SEPARATOR, START, TEXT, Encoded, collate
from headscope.errors import UserError
from headscope.measures.base import Context, Measure
from headscope.measures.lazy import torch
from headscope.measures.registry import HOW, MEASURES

if TYPE_CHECKING:
    from torch import Tensor

BEGINS = frozenset({"[CLS]", "<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>", "<|im_start|>"})
ENDS = frozenset({"[SEP]", "</s>", "<eos>"})
"""What start and end tokens are called, unless ``start`` and ``separator`` say otherwise."""
STOPS = frozenset({".", ","})
SPACES = "Ġ▁ "
"""What tokenizers write for the space before a token."""
ROUNDING = 1e-2
"""By how much the sum of a row may be over 1: half precision adds up to so much."""
MAPS = "give (batch, head, query, key), or (head, query, key) for one text"


def measured(
    measure: str | Measure,
    attention: Any,
    mask: Any = None,
    *,
    tokens: Sequence[Sequence[str]] | Sequence[str] | None = None,
    causal: bool = False,
    start: Collection[str] = BEGINS,
    separator: Collection[str] = ENDS,
) -> xr.DataArray:
    """Compute a measure of attention maps, wherever they come from.

    Parameters
    ----------
    measure
        The name of a measure, or an object with options of its own (``hs.Streaming(recent=16)``).
    attention
        One layer's weights after the softmax, (batch, head, query, key), or (head, query, key) for
        one text: a tensor of PyTorch, or an array of NumPy, JAX or anything that turns into one.
    mask
        Which tokens are real, (batch, token); padding stands on the right. Default: all.
    tokens
        The tokens of each text. Without them there are no special tokens, no full stops and commas,
        and none that occurs again, and measures of these are NaN.
    causal
        Whether a token sees only itself and earlier tokens.
    start, separator
        Which tokens begin a text, and which end one ([CLS] and [SEP], and what other models have).

    Returns
    -------
    xarray.DataArray
        (example, head) and the measure's own dimensions; NaN where it is not defined. For one text,
        without ``example``.

    Raises
    ------
    UserError
        If these are not attention maps, or the measure needs more than maps and tokens.

    See Also
    --------
    headscope.survey : the mean over a corpus, with intervals.

    Examples
    --------
    >>> import numpy as np
    >>> import headscope as hs
    >>> even = np.full((2, 3, 4, 4), 0.25)
    >>> entropy = hs.measures.entropy(even).sel(row="all")  # of two texts and three heads
    >>> entropy.shape, bool(np.allclose(entropy, np.log(4)))
    ((2, 3), True)
    >>> special = hs.measures.special(even[0], tokens="[CLS] a b [SEP]".split())
    >>> special.sel(token="cls", row="all").values.tolist()
    [0.25, 0.25, 0.25]
    """
    used = MEASURES[measure]() if isinstance(measure, str) else measure
    check_plain(type(used))
    maps = _as_tensor(attention)
    single = maps.dim() == 3
    if single:
        maps = maps[None]
        mask = None if mask is None else np.asarray(mask)[None]
        tokens = None if tokens is None else [tokens]  # type: ignore[list-item]
    real = _real(mask, maps)
    texts = _texts(tokens, real)
    _check_maps(maps, real, causal)
    kinds = {**dict.fromkeys(start, START), **dict.fromkeys(separator, SEPARATOR)}
    batch = collate([_item(text, kinds) for text in texts])
    heads = maps.shape[1]
    from headscope.models import Shape

    bound = used.bind(Context(Shape(layers=1, heads=heads, width=1), causal), ())
    prepared = bound.prepare(batch, maps.device)
    width = batch.width
    values = bound.layer(None, maps[..., :width, :width], prepared)  # type: ignore[arg-type]
    totals = bound.totals(prepared)
    values = bound.finish([values], prepared)[:, 0]
    if totals is not None:
        values = values / totals[:, None].to(values.device)
    labels = {dim: list(names) for dim, names in bound.dims.items()}
    shape = (len(texts), heads, *map(len, labels.values()))
    array = xr.DataArray(
        values.cpu().numpy().reshape(shape),
        {"head": np.arange(1, heads + 1), **labels},
        ("example", "head", *labels),
        name=bound.name,
        attrs={"title": bound.title, "unit": bound.unit, "source": bound.source},
    )
    return array[0] if single else array


def is_plain(kind: type[Measure]) -> bool:
    """Whether maps and tokens are enough for a measure."""
    of_model = (kind.attach, kind.check_model) != (Measure.attach, Measure.check_model)
    return not kind.needs and kind.grid and not of_model


def check_plain(kind: type[Measure]) -> None:
    """Refuse a measure for which maps and tokens are not enough."""
    if not is_plain(kind):
        needs = sorted(kind.needs)
        advice = f"; {HOW[needs[0]]['hint']}" if needs else ", which has the model, too"
        raise UserError(
            f"the measure {kind.name} needs more than maps and tokens: "
            f"{', '.join(needs) or 'the model'}",
            hint=f"measure it with hs.survey{advice}",
        )


def _as_tensor(attention: Any) -> Tensor:
    maps = attention if isinstance(attention, torch.Tensor) else np.asarray(attention)
    if maps.ndim not in {3, 4} or maps.shape[-1] != maps.shape[-2]:
        raise UserError(
            "attention must have as many keys as queries, and three or four dimensions; "
            f"got the shape {tuple(maps.shape)}",
            hint=MAPS,
        )
    return torch.as_tensor(maps).detach().to(torch.float32)


def _real(mask: Any, maps: Tensor) -> NDArray[np.bool_]:
    """Which tokens are real, (batch, token)."""
    shape = (len(maps), maps.shape[-1])
    if mask is None:
        return np.ones(shape, np.bool_)
    mask = mask.cpu() if isinstance(mask, torch.Tensor) else mask
    real = np.asarray(mask).astype(np.bool_)
    if real.shape != shape:
        raise UserError(
            f"the mask must have the shape {shape} of texts and tokens; got {real.shape}",
            hint="give 1 for real tokens and 0 for padding",
        )
    if (real[:, 1:] & ~real[:, :-1]).any() or not real[:, 0].all():
        raise UserError(
            "padding must stand on the right of each text, and each text needs a token",
            hint="cut the padding off, and give one text at a time",
        )
    return real


def _texts(tokens: Any, real: NDArray[np.bool_]) -> list[list[str] | int]:
    """The tokens of each text, or how many it has."""
    counts = real.sum(1).tolist()
    if tokens is None:
        return list(counts)
    texts = [list(text) for text in tokens]
    lengths = list(map(len, texts))
    if lengths != counts:
        raise UserError(
            f"there must be one token per row of attention; texts have {lengths} tokens, "
            f"the maps {counts}",
            hint="give the tokens that the model saw, special ones included",
        )
    return list(texts)


def _check_maps(maps: Tensor, real: NDArray[np.bool_], causal: bool) -> None:
    """Refuse what cannot be attention after a softmax."""
    for map_, count in zip(maps, real.sum(1).tolist(), strict=True):
        block = map_[:, :count, :count]
        if not torch.isfinite(block).all():
            wrong = "has NaN or infinity on real tokens"
        elif block.min() < 0 or block.sum(-1).max() > 1 + ROUNDING:
            wrong = "has weights below 0, or rows that sum to more than 1"
        elif causal and torch.triu(block, 1).abs().max() > 0:
            wrong = "looks at later tokens, and causal is True"
        else:
            continue
        raise UserError(
            f"attention {wrong}", hint="give weights after the softmax, without dropout"
        )


def _item(text: list[str] | int, kinds: dict[str, int]) -> Encoded:
    """One text as measures know it."""
    count = text if isinstance(text, int) else len(text)
    names = [""] * count if isinstance(text, int) else text
    kind = np.array([kinds.get(name, TEXT) for name in names], np.int8)
    special = kind != TEXT
    numbers: dict[str, int] = {}
    return Encoded(
        Example("", ("",)),
        ids=np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64),
        types=np.zeros(count, np.int64),
        kind=kind,
        segment=np.where(special, -1, 0).astype(np.int8),
        word=np.full(count, -1, np.int64),
        stop=np.array([name.lstrip(SPACES) in STOPS for name in names], np.bool_),
        text=tuple(names),
        unit=np.full(count, -1, np.int64),
        unknown=np.full(count, isinstance(text, int), np.bool_),
    )
