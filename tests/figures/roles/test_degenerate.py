"""Figures of roles where there is little to draw: valid charts, or the reason for none."""

import numpy as np
import pytest

from figures.made_roles import GALLERY, NAMES, made, random_scores
from headscope.figures import find_figure

DEGENERATE = {
    "constant scores, and every role for every head": np.full((5, 2, 3, len(NAMES)), 4.0),
    "nothing but zeros, and no role for any head": np.zeros((5, 2, 3, len(NAMES))),
    "three sequences and one head": random_scores(1, 1, sequences=3),
    "one fine role alone": np.where(np.array(NAMES) == "nsubj", random_scores(), np.nan),
    "two sequences": random_scores(sequences=2),
    "one sequence": random_scores(sequences=1),
}


@pytest.mark.parametrize("case", DEGENERATE)
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_degenerate_results_have_a_valid_chart(name, case):
    results = made(DEGENERATE[case])
    spec = find_figure(name, results).draw(results).to_dict()
    assert "NaN" not in repr(spec)
    assert "Infinity" not in repr(spec)
    assert ("no role could be tested" in repr(spec)) == (case in ("two sequences", "one sequence"))
