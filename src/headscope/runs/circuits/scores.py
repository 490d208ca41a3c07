"""The arithmetic of circuits: products of heads' matrices that are never formed whole.

A head reads the stream with ``query``, ``key`` and ``value``, (hidden, width), and writes to it
with ``output``, (width, hidden). Its circuits ``value @ output`` and ``query @ key.T`` are
(hidden, hidden), but of rank width: norms and eigenvalues follow from (width, width) matrices.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from headscope.models.projections import Projections, split_up

KINDS = ("Q", "K", "V")
"""What an earlier head can feed of a later one: its queries, its keys or its values."""


class Reader(NamedTuple):
    """A circuit of later heads as ``inner @ outer.T``: what it multiplies the stream by.

    ``inner`` is (group, hidden, width), ``root`` (group, head of the group, width, width) with
    ``root.T @ root`` equal to ``outer.T @ outer``, so that only ``root`` is needed for norms.
    """

    inner: Tensor
    root: Tensor


def gram(matrices: Tensor) -> Tensor:
    """``M.T @ M`` of each matrix, (head, width, width), in float64."""
    wide = matrices.double()
    return wide.transpose(1, 2) @ wide


def gram_root(products: Tensor) -> Tensor:
    """A matrix ``R`` with ``R.T @ R`` equal to each product, (…, width, width).

    By eigenvalues, since products may be singular.

    Examples
    --------
    >>> product = torch.tensor([[[4.0, 0.0], [0.0, 0.0]]], dtype=torch.float64)
    >>> root = gram_root(product)
    >>> torch.allclose(root.transpose(1, 2) @ root, product)
    True
    """
    values, vectors = torch.linalg.eigh(products)
    root: Tensor = values.clamp(min=0).sqrt()[..., None] * vectors.transpose(-1, -2)
    return root


def spread_groups(matrices: Tensor, heads: int) -> Tensor:
    """The matrices of key-value heads for every query head, (head, …)."""
    return matrices.repeat_interleave(heads // len(matrices), 0)


def circuit_norms(layer: Projections) -> tuple[Tensor, Tensor]:
    """The Frobenius norms of the OV and QK circuits of every head of a layer, (head,), float64."""
    heads = len(layer.query)
    value, key = (spread_groups(gram(part), heads) for part in (layer.value, layer.key))
    output, query = gram(layer.output.transpose(1, 2)), gram(layer.query)
    ov = (value * output).sum((1, 2)).clamp(min=0).sqrt()
    qk = (query * key).sum((1, 2)).clamp(min=0).sqrt()
    return ov, qk


def copying_scores(layer: Projections, vocabulary: Tensor) -> Tensor:
    """The copying score of every head of a layer, (head,), float64.

    The sum of the real parts of the eigenvalues of ``W_E W_V W_O W_U`` over the sum of their
    absolute values. Its eigenvalues other than 0 are those of ``W_O W_U W_E W_V``, which is only
    (width, width).

    Parameters
    ----------
    layer
        The matrices of the layer.
    vocabulary
        ``W_U W_E``, (hidden, hidden).
    """
    read = spread_groups(vocabulary @ layer.value, len(layer.output))
    small = (layer.output @ read).double().cpu()
    sizes = torch.linalg.eigvals(small).abs().sum(1)
    trace = small.diagonal(dim1=1, dim2=2).sum(1)
    return torch.where(sizes > 0, trace / sizes, math.nan)


def value_roots(layer: Projections) -> Tensor:
    """Small matrices that stand for the values of heads, (head, width, width).

    For any ``X``, the norm of ``value @ output @ X`` is that of ``root @ output @ X``.
    """
    roots = spread_groups(gram_root(gram(layer.value)), len(layer.output))
    return roots.to(layer.output.dtype)


def readers(layer: Projections) -> dict[str, Reader]:
    """The circuits of a layer's heads by what they read: queries, keys or values."""
    query, key = gram_root(gram(layer.query)), gram_root(gram(layer.key))
    output = gram_root(gram(layer.output.transpose(1, 2)))
    heads, groups = len(layer.query), len(layer.key)
    grouped = (groups, heads // groups)
    return {
        "Q": _folded(Reader(layer.query, spread_groups(key, heads)[:, None])),
        "K": _folded(Reader(layer.key, split_up(query, 0, grouped))),
        "V": _folded(Reader(layer.value, split_up(output, 0, grouped))),
    }


def products(writing: Tensor, reader: Reader) -> Tensor:
    """The norms of ``W_OV`` of earlier heads times a circuit of later ones, (later, earlier).

    One (width, width) block per pair is all that is computed of the (hidden, hidden) product.

    Parameters
    ----------
    writing
        What the heads of one earlier layer write, (head, width, hidden): ``root @ output``; see
        :func:`value_roots`.
    reader
        Of one later layer; see :func:`readers`.
    """
    earlier, width, _ = writing.shape
    groups, _, size = reader.inner.shape
    stacked = reader.inner.transpose(0, 1).flatten(1)
    blocks = (writing.flatten(0, 1) @ stacked).view(earlier, width, groups, size)
    if reader.root.shape[1] == 1:  # folded in already
        return _norm(blocks, (1, 3)).T
    found = []
    for group in range(groups):
        block = blocks[:, :, group]
        for root in reader.root[group].to(block.dtype):
            found.append(_norm(block @ root.T, (1, 2)))
    return torch.stack(found)


def random_ratios(
    hidden: int, width: int, inner: int, *, draws: int, generator: torch.Generator
) -> Tensor:
    """The composition of random heads, (draw,), before any baseline is subtracted.

    Parameters
    ----------
    hidden
        The width of the stream.
    width
        The width of the earlier head's values.
    inner
        The width of the later head's circuit.
    draws
        How many pairs of heads to draw: all entries independent and normal.
    generator
        The source of randomness.
    """
    found = []
    for _ in range(draws):
        value, output, read, outer = (
            torch.randn(hidden, size, generator=generator) for size in (width, width, inner, inner)
        )
        grams = [gram(part[None])[0] for part in (value, output, read, outer)]
        block = (output.T @ read).double()
        top = ((grams[0] @ block) * (block @ grams[3])).sum()
        under = (grams[0] * grams[1]).sum() * (grams[2] * grams[3]).sum()
        found.append((top / under).sqrt())
    return torch.stack(found)


def _folded(reader: Reader) -> Reader:
    """With the root in the inner matrix, where every head has one of its own."""
    if reader.root.shape[1] > 1:
        return reader
    root = reader.root[:, 0].to(reader.inner.dtype)
    return Reader(reader.inner @ root.transpose(1, 2), reader.root)


def _norm(blocks: Tensor, dims: tuple[int, int]) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(blocks, dim=dims)
    return norms
