"""A norm whose divisor is held fixed, so that what it makes of a sum is the sum of its parts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headscope.models.norms import Gain, measure_gain

TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class FrozenNorm:
    """LayerNorm or RMSNorm as a linear map of its input, up to one divisor per token.

    The norm computes ``(x - mean) / σ * scale + shift``, without the mean for RMSNorm. With σ as it
    was in the pass, every part of ``x`` has its share in the result.

    Parameters
    ----------
    module
        The norm.
    gain
        Its scale, and whether it subtracts the mean.
    shift
        What it adds, (hidden,).
    """

    module: nn.Module
    gain: Gain
    shift: Tensor

    @classmethod
    def of(cls, module: nn.Module, size: int) -> FrozenNorm:
        """Measure what a norm does to vectors of some size."""
        known = next(module.parameters(), torch.zeros(()))
        zero = torch.zeros(1, size, dtype=known.dtype, device=known.device)
        with torch.inference_mode():
            shift = module(zero)[0].float().clone()
        return cls(module, measure_gain(module, size), shift)

    def inverse(self, given: Tensor, made: Tensor) -> Tensor:
        """``1 / σ`` of every token, from what the norm read and what it made of it, (…,)."""
        scaled = self.centred(given.float()) * self.gain.scale.to(given.device)
        rest = made.float() - self.shift.to(made.device)
        return (rest * scaled).sum(-1) / scaled.square().sum(-1).clamp_min(TINY)

    def apply(self, part: Tensor, inverse: Tensor) -> Tensor:
        """What the norm makes of a part of its input, without its shift, (…, hidden)."""
        return self.centred(part) * self.gain.scale.to(part.device) * inverse[..., None]

    def direction(self, directions: Tensor) -> Tensor:
        """Directions before the norm that stand for directions after it, up to ``1 / σ``.

        ``<apply(part, inverse), u>`` is ``<part, direction(u)> * inverse``.
        """
        return self.centred(directions * self.gain.scale.to(directions.device))

    def centred(self, vectors: Tensor) -> Tensor:
        """Vectors without their mean, if the norm subtracts it."""
        return vectors - vectors.mean(-1, keepdim=True) if self.gain.centred else vectors
