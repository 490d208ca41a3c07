"""Figure 1 of Pande et al. 2021: a box around one token, and arcs to the tokens of its sieve."""

import numpy as np
import pytest

from figures.made_roles import rows_of
from headscope.figures import DrawnSieve, save_chart, sieve_arcs
from headscope.figures.lines import WIDE_LETTER, text_width, token_places

TOKENS = ["[CLS]", "the", "dog", "barked", "[SEP]"]
SIEVES = [
    DrawnSieve("local", "within two", 2, (0, 1, 2, 3, 4)),
    DrawnSieve("nsubj", "its head word", 2, (3,)),
    DrawnSieve("delimiter", "specials", 1, (0, 4)),
]


@pytest.mark.parametrize("sieve", SIEVES, ids=lambda sieve: sieve.role)
def test_arcs_go_from_the_token_to_those_of_its_sieve(sieve):
    chart = sieve_arcs(TOKENS, [sieve])
    places = token_places(TOKENS)
    arcs = rows_of(chart, "x", "y", "key", "step")
    assert tuple(arcs["key"].unique()) == sieve.keys
    for key, points in arcs.groupby("key"):
        ends = [points["x"].iloc[0], points["x"].iloc[-1]]
        if key != sieve.query:  # a token in its own sieve has a loop
            assert ends == pytest.approx([places[sieve.query], places[key]])
    [box] = rows_of(chart, "x", "right", "y", "top").to_dict("records")
    assert box["x"] < places[sieve.query] < box["right"]
    inks = rows_of(chart, "x", "y", "token", "ink")
    assert tuple(np.flatnonzero(inks["ink"] != "#444")) == sieve.keys


def test_the_panels_are_saved_as_a_picture(tmp_path):
    save_chart(sieve_arcs(TOKENS, SIEVES), tmp_path / "sieves.png")
    assert (tmp_path / "sieves.png").read_bytes().startswith(b"\x89PNG")


def test_tokens_do_not_overlap_and_fit_the_width():
    places = token_places(TOKENS)
    halves = [WIDE_LETTER * len(token) / 2 for token in TOKENS]
    for place in range(len(TOKENS) - 1):
        assert places[place] + halves[place] < places[place + 1] - halves[place + 1]
    assert places[-1] + halves[-1] < text_width(TOKENS)
