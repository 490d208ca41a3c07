"""Fit the constants of the fast Jensen–Shannon divergence (src/headscope/measures/distance.py).

x ln x is an integral of exponentials e^{-λx} over λ. The quadrature has ``TERMS`` nodes, each √6
times the one before. Its weights start from the trapezoid rule; least squares on the relative error
of the divergence of pairs (p, q) then adjusts them, mostly at the two ends.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

TERMS, FIRST, RATIO = 21, 0.4, 6**0.5


def divergence(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The exact contribution of a pair of weights to the Jensen–Shannon divergence."""

    def f(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x * np.log(np.maximum(x, 1e-300)), 0.0)

    return 0.5 * f(p) + 0.5 * f(q) - f((p + q) / 2)


def main() -> None:
    """Print the factors and the relative errors that they leave."""
    nodes = FIRST * RATIO ** np.arange(TERMS)
    trapezoid = np.log(RATIO) / nodes
    x = np.concatenate([[0.0], np.geomspace(1e-8, 1, 90)])
    p, q = (part.ravel() for part in np.meshgrid(x, x))
    near = np.geomspace(1e-6, 1, 120)
    p = np.concatenate([p, *([near] * 4)])
    q = np.concatenate([q, *(near * factor for factor in (0.98, 0.9, 0.75, 0.5))])
    p, q = p[p > q], q[p > q]
    target = divergence(p, q)
    terms = 0.5 * (np.expm1(-np.outer(p, nodes) / 2) - np.expm1(-np.outer(q, nodes) / 2)) ** 2
    weight = 1 / (target + 1e-7 + p * 1e-4)
    factors = lsq_linear(
        terms * trapezoid * weight[:, None],
        target * weight,
        bounds=(0, np.inf),
        tol=1e-14,
        max_iter=2000,
    ).x
    error = np.abs(terms @ (factors * trapezoid) - target) / (target + 1e-12)
    print("FACTORS =", tuple(round(float(factor), 5) for factor in factors))
    for low, high in ((1e-5, 1e-3), (1e-3, 1e-1), (1e-1, 1)):
        largest = error[(p >= low) & (p <= high)].max()
        print(f"larger weight in {low:g}–{high:g}: relative error up to {largest:.1e}")


if __name__ == "__main__":
    main()
