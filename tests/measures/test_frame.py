"""Attention along frame links: equal to a plain-loop twin, exact on planted heads, and
undefined where no link is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import pytest
from hypothesis import given, settings

from headscope.corpus import Example, FrameLink, Word, from_examples, from_texts
from headscope.errors import UserError
from headscope.measures import Frame
from headscope.runs.survey import survey
from measures.annotated import CASES, made, real_maps, values_of
from planted import place, planted_bert

DIRECTIONS = Frame.dims["direction"]


def frame(
    map: list[list[float]], words: Sequence[int], links: Sequence[FrameLink], *, causal: bool
) -> dict[str, float]:
    """the largest attention among the token pairs of the annotated link, both
    directions and each alone; later tokens are not seen by a causal model.
    """
    found: dict[str, list[float]] = {name: [] for name in DIRECTIONS}
    for link in links:
        for query in range(len(map)):
            for key in range(len(map)):
                if causal and key > query:
                    continue
                of_target = [
                    link.target[0] <= words[token] <= link.target[1] for token in (query, key)
                ]
                of_element = [
                    link.filler[0] <= words[token] <= link.filler[1] for token in (query, key)
                ]
                if of_target[0] and of_element[1]:
                    found["target to element"].append(map[query][key])
                if of_element[0] and of_target[1]:
                    found["element to target"].append(map[query][key])
    found["both"] = found["target to element"] + found["element to target"]
    return {name: max(values) if values else nan for name, values in found.items()}


@given(case=CASES)
@settings(deadline=None, max_examples=60)
def test_values_equal_those_of_the_twin(case):
    batch, maps, causal = made(case)
    values = values_of(Frame, batch, maps, causal=causal)
    for row, head, item, real in real_maps(batch, maps):
        expected = frame(real, item.word.tolist(), item.example.links, causal=causal)
        wanted = pytest.approx([expected[name] for name in DIRECTIONS], nan_ok=True)
        assert values[row, head].tolist() == wanted


# [CLS] the old dog s saw the cat [SEP]: "dogs" is two pieces
WORDS = tuple(Word(text) for text in ("the", "old", "dogs", "saw", "the", "cat"))
DOGS = FrameLink("Seeing", "Perceiver", (3, 3), (1, 2))


def run(links: tuple[FrameLink, ...]):
    corpus = from_examples([Example("1", ("the old dogs saw the cat",), WORDS, links=links)])
    return survey(planted_bert(), corpus, measures=["frame"], max_length=24).mean("frame")


@pytest.mark.parametrize(
    ("head", "there", "back"),
    [
        ("previous", 1.0, 0.0),  # from "saw" to "##s", the last piece of "dogs"
        ("next", 0.0, 1.0),
        ("uniform", 1 / 9, 1 / 9),
    ],
)
def test_planted_heads_have_the_attention_counted_by_hand(head, there, back):
    found = run((DOGS,)).sel(**place(head))
    expected = {"target to element": there, "element to target": back, "both": max(there, back)}
    for direction, value in expected.items():
        assert found.sel(direction=direction).item() == pytest.approx(value, abs=1e-5)


def test_a_corpus_without_frames_says_so_when_asked():
    with pytest.raises(
        UserError,
        match=r"^the measure 'frame' needs frames, which 1 text does not have \(it has plain text "
        r"only\)\nnext: use a corpus with frame links$",
    ):
        survey(planted_bert(), from_texts(["a dog"]), measures=["frame"], max_length=24)
