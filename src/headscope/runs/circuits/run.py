"""Copying scores, norms and composition of all heads, from the weights alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.models import Model, ModelLike, using_model
from headscope.models.weights import Weights, base_digests, is_tied
from headscope.options import Loading, Saving
from headscope.progress import ProgressLike, Reporter
from headscope.results import Atlas
from headscope.results.circuits import CIRCUITS
from headscope.results.schema import COMPOSITION
from headscope.runs.circuits.scores import (
    KINDS,
    circuit_norms,
    copying_scores,
    products,
    random_ratios,
    readers,
    value_roots,
)
from headscope.runs.run import Run, describe

DRAWS = 64
"""Pairs of random heads behind a baseline."""
SOURCE = "Elhage et al. 2021"
Array = NDArray[np.float64]


def circuits(
    model: ModelLike,
    *,
    seed: int = 0,
    stack: str = "",
    device: str = "cpu",
    output: str | Path | None = None,
    overwrite: bool = False,
    progress: ProgressLike = False,
) -> Atlas:
    """Read circuits off the weights of a model: no corpus is needed (Elhage et al. 2021).

    Parameters
    ----------
    model
        A hub id, a folder, ``"demo"``, a :class:`~headscope.Model`, or a network with its
        tokenizer, ``(network, tokenizer)``. A model that is loaded by name gets its language-model
        head where its unembedding differs from its embeddings.
    seed
        For the random heads that composition is compared with.
    stack
        ``"encoder"`` or ``"decoder"``, for models with both. Default: the encoder.
    device
        Where to compute with a model that is loaded by name.
    output
        Where to save the results. If this file already holds them, it is opened instead.
    overwrite
        As in :func:`headscope.survey`.
    progress
        Whether to show a progress bar.

    Returns
    -------
    Atlas
        With the groups

        - ``copying``: the copying score of every head, from -1 to 1. It is positive if attention to
          a token raises the score of the same token. Absent where the model has no unembedding;
        - ``ov_norm`` and ``qk_norm``: the Frobenius norms of ``W_V W_O`` and ``W_Q W_Kᵀ``. In
          these and in all other numbers, the norm before attention is folded into the matrices that
          read the stream, and before a LayerNorm they are centred: units say which;
        - ``composition``: for every pair of heads, how much the later one (``layer``, ``head``)
          reads of what the earlier one (``from_layer``, ``from_head``) writes, by ``kind``: through
          its queries, keys or values. ``excess`` is the ratio of norms minus ``baseline``, the mean
          of random heads of the same shape, which varies by ``baseline_deviation``.

        The provenance has ``notes`` on what the matrices leave out.

    Raises
    ------
    UserError
        The architecture stores its projections in an unknown way, or the stack is ``"cross"``.

    See Also
    --------
    headscope.Atlas.composition : The heads that one head composes with.

    References
    ----------
    Elhage et al. (2021), A mathematical framework for transformer circuits.

    Examples
    --------
    >>> import headscope as hs
    >>> atlas = hs.circuits("demo")
    >>> atlas.measures
    ('copying', 'ov_norm', 'qk_norm', 'composition')
    >>> len(atlas.composition("3-9", kind="K", top=2))  # earlier heads and later ones
    4
    """
    with loading(model, device=device) as found:
        saving = Saving(output=output, overwrite=overwrite, progress=progress)
        return Circuits(found, saving, seed=seed, stack=stack).execute()


@contextmanager
def loading(model: ModelLike, **options: Any) -> Iterator[Model]:
    """A model; one that is loaded here gets its language-model head where that is needed.

    Parameters
    ----------
    model
        See :func:`circuits`.
    **options
        Options of :func:`headscope.load`, for a model that is loaded by name.
    """
    with using_model(model, Loading(**options)) as found:
        if not isinstance(model, str | Path) or is_tied(found) or found.capabilities:
            yield found
            return
    del found  # not twice in memory
    with using_model(model, Loading(**options), head="lm") as found:
        yield found


class Circuits(Run[Atlas]):
    """The run of :func:`circuits`."""

    def __init__(
        self,
        model: Model,
        options: Saving,
        *,
        seed: int,
        stack: str = "",
    ) -> None:
        super().__init__(options, "circuits")
        self.model, self.seed = model, seed
        self.weights = Weights(model, stack)

    @cached_property
    def about(self) -> dict[str, Any]:
        """Model, seed, and what is left out."""
        digests = base_digests(self.model)
        return {
            "kind": CIRCUITS,
            "model": describe(self.model, self.weights.stack) | {"same_weights": digests},
            "settings": {"seed": self.seed, "draws": DRAWS},
            "notes": list(self.weights.notes),
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
        roots: list[torch.Tensor] = []
        total = weights.layers * (weights.layers + 1) // 2
        with reporter.progress("circuits") as update:
            vocabulary = weights.vocabulary_product()
            for place in range(weights.layers):
                layer = weights.layer(place)
                ov[place], qk[place] = (norms.cpu() for norms in circuit_norms(layer))
                if vocabulary is not None:
                    product = vocabulary.to(layer.value.device)
                    copying[place] = copying_scores(layer, product).numpy()
                reading = readers(layer)
                roots.append(value_roots(layer))
                for earlier in range(place):
                    writing = (roots[earlier] @ weights.output(earlier)).to(layer.value.device)
                    for at, kind in enumerate(KINDS):
                        norms = products(writing, reading[kind]).cpu().numpy()
                        ratios[at, place, :, earlier] = norms
                    update(place * (place + 1) // 2 + earlier + 1, total)
            update(total, total)
        _divide(ratios, ov, qk)
        found = {} if vocabulary is None else {"copying": self._statistic(copying, *COPYING)}
        found["ov_norm"] = self._statistic(ov, *OV_NORM)
        found["qk_norm"] = self._statistic(qk, *QK_NORM)
        found["composition"] = self._composition(ratios)
        return found

    def _statistic(self, values: Array, title: str, unit: str) -> xr.Dataset:
        """A number per head. There is no corpus, hence no interval and no example."""
        dims = ("layer", "head")
        nothing = np.full(values.shape, np.nan)
        return xr.Dataset(
            {
                "mean": (dims, values),
                "low": (dims, nothing),
                "high": (dims, nothing),
                "n": (dims, np.zeros(values.shape, np.int64)),
            },
            self._grid(),
            {
                "title": title,
                "unit": self._unit(unit),
                "source": SOURCE,
                "kind": "weights",
                "listed": "yes",
            },
        )

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
        means = np.array([float(one.mean()) for one in drawn])
        deviations = np.array([float(one.std()) for one in drawn])
        excess = (ratios - means.reshape(-1, 1, 1, 1, 1)).astype(np.float32)
        grid = self._grid()
        return xr.Dataset(
            {
                "excess": (("kind", "layer", "head", "from_layer", "from_head"), excess),
                "baseline": ("kind", means),
                "baseline_deviation": ("kind", deviations),
            },
            {
                "kind": list(KINDS),
                **grid,
                "from_layer": grid["layer"],
                "from_head": grid["head"],
            },
            {
                "title": "composition of an earlier head with a later one",
                "unit": self._unit("ratio of norms over that of random heads"),
                "source": SOURCE,
                "kind": COMPOSITION,
                "listed": "no",
            },
        )

    def _unit(self, unit: str) -> str:
        folding = self.weights.folding
        return f"{unit}; {folding}" if folding else unit

    def _grid(self) -> dict[str, Any]:
        layers, heads = self.weights.shape.labels, self.weights.heads
        return {"layer": list(layers), "head": list(range(1, heads + 1))}


COPYING = ("copying score", "sum of eigenvalues ÷ sum of their sizes, −1 to 1")
OV_NORM = ("norm of the OV circuit", "Frobenius norm of W_V W_O")
QK_NORM = ("norm of the QK circuit", "Frobenius norm of W_Q W_Kᵀ")


def _divide(ratios: Array, ov: Array, qk: Array) -> None:
    """Divide norms of products by both factors' norms, in place; NaN where one of them is 0."""
    later = np.stack([qk, qk, ov])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios /= later[:, :, :, None, None] * ov
    ratios[~np.isfinite(ratios)] = np.nan
