"""Copying scores, norms and composition of all heads, from the weights alone.

A head reads the stream with ``query``, ``key`` and ``value``, (hidden, width), and writes to it
with ``output``, (width, hidden). Its circuits ``value @ output`` and ``query @ key.T`` are
(hidden, hidden), but of rank width: norms and eigenvalues follow from (width, width) matrices, and
the products of heads' matrices are never formed whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError
from headscope.identity import compact
from headscope.models import Model, ModelLike, using_model
from headscope.models.projections import (
    CHUNK,
    Projections,
    Weights,
    base_digests,
    is_tied,
    split_up,
)
from headscope.models.stream import find_stream, first_mlp
from headscope.progress import Reporter
from headscope.results import Atlas
from headscope.results.merge import CIRCUITS
from headscope.results.schema import COMPOSITION, VOCABULARY
from headscope.runs.relations import COPY, SUPPRESS, WORDS, Relations
from headscope.runs.run import Run, describe

if TYPE_CHECKING:
    from headscope.runs.looking import CircuitOptions

DRAWS = 64
"""Pairs of random heads behind a baseline."""
SOURCE = "Elhage et al. 2021"
COPYING = ("copying score", "sum of eigenvalues ÷ sum of their sizes, −1 to 1")
OV_NORM = ("norm of the OV circuit", "Frobenius norm of W_V W_O")
QK_NORM = ("norm of the QK circuit", "Frobenius norm of W_Q W_Kᵀ")
KINDS = ("Q", "K", "V")
"""What an earlier head can feed of a later one: its queries, its keys or its values."""
Array = NDArray[np.float64]


@contextmanager
def with_unembedding(model: ModelLike, options: CircuitOptions) -> Iterator[Model]:
    """A model; one that is loaded here gets its language-model head where that is needed."""
    with using_model(model, options) as bare:
        if not isinstance(model, str | Path) or is_tied(bare) or bare.capabilities:
            yield bare
            return
    del bare  # not twice in memory
    with using_model(model, options, head="lm") as whole:
        yield whole


class Circuits(Run[Atlas]):
    """The run of :func:`headscope.circuits`."""

    def __init__(self, model: Model, options: CircuitOptions) -> None:
        super().__init__(options, "circuits")
        self.model, self.seed = model, options.seed
        self.weights = Weights(model, options.stack)
        self.relations, self.within = options.word_pairs, options.within
        self.pairs = WordPairs(model, self.weights, self.relations)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, seed, and what is left out."""
        digests = base_digests(self.model)
        return {
            "kind": CIRCUITS,
            "model": describe(self.model, self.weights.stack) | {"same_weights": digests},
            "settings": {
                "seed": self.seed,
                "draws": DRAWS,
                "within": self.within,
                "relations": compact(self.relations),
            },
            "notes": [*self.weights.notes, *self.pairs.notes],
        }

    def work(self, reporter: Reporter) -> Atlas:
        """Read one layer after another."""
        with torch.inference_mode():
            groups = self._groups(reporter)
        return Atlas.build(groups, self.provenance())

    def _groups(self, reporter: Reporter) -> dict[str, xr.Dataset]:
        weights, shape = self.weights, (self.weights.layers, self.weights.heads)
        copying, ov, qk = (np.full(shape, np.nan) for _ in range(3))
        ratios = np.full((len(KINDS), *shape, *shape), np.nan)
        words = np.full((*shape, len(self.pairs.labels), len(self.pairs.vectors)), np.nan)
        roots: list[Tensor] = []
        total = weights.layers * (weights.layers + 1) // 2
        with reporter.progress("circuits") as update:
            vocabulary = weights.vocabulary_product()
            for place in range(weights.layers):
                layer = weights.layer(place)
                ov[place], qk[place] = (norms.cpu() for norms in circuit_norms(layer))
                if vocabulary is not None:
                    product = vocabulary.to(layer.value.device)
                    copying[place] = copying_scores(layer, product).numpy()
                if self.pairs.labels:
                    words[place] = self.pairs.scores(layer, self.within)
                reading = readers(layer)
                roots.append(value_roots(layer))
                for earlier in range(place):
                    writing = (roots[earlier] @ weights.output(earlier)).to(layer.value.device)
                    for at, kind in enumerate(KINDS):
                        norms = products(writing, reading[kind]).cpu().numpy()
                        ratios[at, place, :, earlier] = norms
                    update(place * (place + 1) // 2 + earlier + 1, total)
            update(total, total)
        words[:1, ..., 1:] = np.nan  # heads of the first layer do not read its MLP
        _divide(ratios, ov, qk)
        groups = {} if vocabulary is None else {"copying": self._statistic(copying, *COPYING)}
        groups["ov_norm"] = self._statistic(ov, *OV_NORM)
        groups["qk_norm"] = self._statistic(qk, *QK_NORM)
        groups["composition"] = self._composition(ratios)
        if self.pairs.labels:
            groups[VOCABULARY] = self._vocabulary(words)
        return groups

    def _statistic(
        self, values: Array, title: str, unit: str, source: str = SOURCE, **labels: Sequence[str]
    ) -> xr.Dataset:
        """A number per head and label. There is no corpus, hence no interval and no example."""
        dims = ("layer", "head", *labels)
        nothing = np.full(values.shape, np.nan)
        data = xr.Dataset(
            {
                "mean": (dims, values),
                "low": (dims, nothing),
                "high": (dims, nothing),
                "n": (dims, np.zeros(values.shape, np.int64)),
            },
            {**self._grid(), **{dim: list(names) for dim, names in labels.items()}},
        )
        return data.assign_attrs(
            title=title, unit=self._unit(unit), source=source, kind="weights", listed="yes"
        )

    def _vocabulary(self, shares: Array) -> xr.Dataset:
        """The share of each relation's pairs, (layer, head, relation, embedding)."""
        labels = self.pairs.labels
        said = {
            "relation": {name: WORDS.get(name, f"map words by {name!r}") for name in labels},
            "embedding": {PLAIN: "", MLP: ", from what the first MLP writes"},
        }
        data = self._statistic(
            shares,
            "relation between words",
            f"share of pairs with the second word among the top {self.within}",
            "Elhelo and Geva 2025, §3; McDougall et al. 2023; Gould et al. 2024",
            relation=list(labels),
            embedding=list(self.pairs.vectors),
        )
        words = json.dumps({"says": "weights that {relation}{embedding}", "labels": said})
        return data.assign(pairs=("relation", list(labels.values()))).assign_attrs(words=words)

    def _composition(self, ratios: Array) -> xr.Dataset:
        generator = torch.Generator().manual_seed(self.seed)
        first = self.weights.layer(0)
        sizes = {"Q": first.query, "K": first.query, "V": first.value}
        drawn = [
            random_ratios(
                self.weights.hidden,
                first.value.shape[2],
                sizes[kind].shape[2],
                draws=DRAWS,
                generator=generator,
            )
            for kind in KINDS
        ]
        means = np.array([float(sample.mean()) for sample in drawn])
        deviations = np.array([float(sample.std()) for sample in drawn])
        excess = (ratios - means.reshape(-1, 1, 1, 1, 1)).astype(np.float32)
        grid = self._grid()
        data = xr.Dataset(
            {
                "excess": (("kind", "layer", "head", "from_layer", "from_head"), excess),
                "baseline": ("kind", means),
                "baseline_deviation": ("kind", deviations),
            },
            {"kind": list(KINDS), **grid, **{f"from_{dim}": grid[dim] for dim in grid}},
        )
        return data.assign_attrs(
            title="composition of an earlier head with a later one",
            unit=self._unit("ratio of norms over that of random heads"),
            **{"source": SOURCE, "kind": COMPOSITION, "listed": "no"},
        )

    def _unit(self, unit: str) -> str:
        folding = self.weights.folding
        return f"{unit}; {folding}" if folding else unit

    def _grid(self) -> dict[str, Any]:
        layers, heads = self.weights.shape.labels, self.weights.heads
        return {"layer": list(layers), "head": list(range(1, heads + 1))}


def _divide(ratios: Array, ov: Array, qk: Array) -> None:
    """Divide norms of products by both factors' norms, in place; NaN where one of them is 0."""
    later = np.stack([qk, qk, ov])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios /= later[:, :, :, None, None] * ov
    ratios[~np.isfinite(ratios)] = np.nan


# --- words ---

PLAIN, MLP = "plain", "mlp"
LEAST = 5
"""Relations with fewer pairs of single tokens are left out."""
NO_MLP = (
    "relations between words start at plain embeddings, and the norm before the unembedding is not "
    "part of them: the residual stream of this model is not the sum of what its layers add"
)


class WordPairs:
    """Pairs of tokens in a relation, and which heads map the first to the second.

    Parameters
    ----------
    model
        The model.
    weights
        Its weights.
    relations
        Pairs of words by relation. Words that are not single tokens are left out.

    Attributes
    ----------
    labels : dict of str to int
        The number of pairs by relation.
    vectors : dict of str to Tensor
        What stands for the first words, (pair, hidden): embeddings, and what the MLP of the first
        layer writes for them.
    notes : list of str
        What was left out.
    """

    def __init__(self, model: Model, weights: Weights, relations: Relations) -> None:
        self.labels: dict[str, int] = {}
        self.vectors: dict[str, Tensor] = {}
        self.notes: list[str] = []
        self.unembedding, self.norm = weights.unembedding, None
        embedding = weights.embedding
        if embedding is None or self.unembedding is None or not relations:
            return
        tokens = {name: single_tokens(model, pairs) for name, pairs in relations.items()}
        lost = {name: len(relations[name]) - len(pairs) for name, pairs in tokens.items()}
        if any(lost.values()):
            named = ", ".join(f"{name} {count}" for name, count in lost.items() if count)
            self.notes.append(
                f"pairs of words that are not single tokens are skipped: {named}; relations with "
                f"fewer than {LEAST} pairs left are left out"
            )
        tokens = {name: pairs for name, pairs in tokens.items() if len(pairs) >= LEAST}
        if not tokens:
            return
        known = sorted({first for pairs in tokens.values() for first, _ in pairs})
        tokens[COPY] = [(token, token) for token in known]  # from the other end: SUPPRESS
        self.labels = {name: len(pairs) for name, pairs in tokens.items()} | {SUPPRESS: len(known)}
        first, self.targets = torch.tensor([pair for all_ in tokens.values() for pair in all_]).T
        own = self.vectors[PLAIN] = embedding[first.to(embedding.device)].float()
        try:
            stream = find_stream(model, weights.stack, headless=True)
        except ModelError:
            self.notes.append(NO_MLP)
            return
        self.norm = stream.norm
        if stream.layers[0].mlp is not None:
            self.vectors[MLP] = first_mlp(model, stream.layers[0], own)

    def scores(self, layer: Projections, within: int) -> Array:
        """The share of pairs that the heads of a layer map, (head, relation, embedding).

        A pair counts if fewer than ``within`` tokens of the vocabulary score as much as its second
        one. The vocabulary is taken in parts: no (token, token) matrix is made.
        """
        assert self.unembedding is not None
        device, kinds = layer.value.device, len(self.vectors)
        read = torch.cat([vectors.to(device) for vectors in self.vectors.values()]) @ layer.value
        read = spread_groups(read, len(layer.output))
        targets, same = self.targets.to(device).repeat(kinds), self.labels[SUPPRESS]
        own = self._directions(self.targets, device).repeat(kinds, 1) @ layer.output.mT
        own = (read * own).sum(-1, keepdim=True)
        above, below = torch.zeros(2, *own.shape[:2], device=device)
        for first in range(0, len(self.unembedding), CHUNK):
            part = torch.arange(first, min(first + CHUNK, len(self.unembedding)))
            written = layer.output @ self._directions(part, device).T
            inside = (targets >= first) & (targets <= part[-1])
            for head, sent in enumerate(written):
                logits = read[head] @ sent
                logits[inside, targets[inside] - first] = math.nan  # not a rival of itself
                # In place: counting booleans takes ten times as long as adding floats.
                below[head] += torch.le(logits, own[head], out=sent.new_empty(logits.shape)).sum(1)
                above[head] += logits.ge_(own[head]).sum(1)
        rivals = torch.stack([above, below]).view(2, -1, kinds, len(self.targets))
        hits = (rivals < within).cpu().numpy()
        ends = np.cumsum(list(self.labels.values()))[:-2]
        parts = [*np.split(hits[0], ends, axis=2), hits[1][..., -same:]]
        return np.stack([part.mean(2) for part in parts], 1)

    def _directions(self, tokens: Tensor, device: torch.device) -> Tensor:
        """By what the stream scores some tokens, (token, hidden), with the last norm folded in."""
        assert self.unembedding is not None
        rows = self.unembedding[tokens.to(self.unembedding.device)].to(device, torch.float32)
        return rows if self.norm is None else self.norm.direction(rows)


def single_tokens(model: Model, pairs: list[tuple[str, str]]) -> list[tuple[int, int]]:
    """The pairs whose words are single tokens: after a space or, if more are then, without one.

    Parameters
    ----------
    model
        The model whose tokenizer it is.
    pairs
        Pairs of words.
    """
    tokenizer = model.tokenizer
    kept: list[list[tuple[int, int]]] = []
    for lead in (" ", ""):
        words = [lead + word for pair in pairs for word in pair]
        coded = tokenizer(words, add_special_tokens=False, verbose=False)["input_ids"]
        alone = [ids[0] if len(ids) == 1 else tokenizer.unk_token_id for ids in coded]
        both = zip(alone[::2], alone[1::2], strict=True)
        kept.append([pair for pair in both if tokenizer.unk_token_id not in pair])
    return max(kept, key=len)


# --- the arithmetic ---


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
    return ov, (query * key).sum((1, 2)).clamp(min=0).sqrt()


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
    roots = reader.root.to(blocks.dtype)
    pairs = ((blocks[:, :, group], root) for group in range(groups) for root in roots[group])
    return torch.stack([_norm(block @ root.T, (1, 2)) for block, root in pairs])


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
    ratios = []
    for _ in range(draws):
        value, output, read, outer = (
            torch.randn(hidden, size, generator=generator) for size in (width, width, inner, inner)
        )
        grams = [gram(part[None])[0] for part in (value, output, read, outer)]
        block = (output.T @ read).double()
        top = ((grams[0] @ block) * (block @ grams[3])).sum()
        under = (grams[0] * grams[1]).sum() * (grams[2] * grams[3]).sum()
        ratios.append((top / under).sqrt())
    return torch.stack(ratios)


def _folded(reader: Reader) -> Reader:
    """With the root in the inner matrix, where every head has one of its own."""
    if reader.root.shape[1] > 1:
        return reader
    root = reader.root[:, 0].to(reader.inner.dtype)
    return Reader(reader.inner @ root.transpose(1, 2), reader.root)


def _norm(blocks: Tensor, dims: tuple[int, int]) -> Tensor:
    norms: Tensor = torch.linalg.vector_norm(blocks, dim=dims)
    return norms
