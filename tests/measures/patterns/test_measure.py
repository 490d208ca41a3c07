"""The measure of pattern classes: planted heads have the class they were made to have, and plain
drawings are seen for what they are.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.corpus import Corpus, from_texts
from headscope.errors import UserError
from headscope.measures import choose
from headscope.measures.patterns import Pattern
from headscope.measures.patterns.network import (
    CLASSES,
    PatternNet,
    classify,
    load_network,
    save_network,
)
from headscope.runs.survey import survey
from planted import HEADS, planted_bert, planted_gpt2
from tiny import tiny_model


def pairs() -> Corpus:
    """Pairs of twenty tokens or so: long enough for a pattern to be seen."""
    return from_texts(
        [
            ("the old dog sat on a mat , who saw it", "a cat barks on the mat , the old"),
            ("who saw the dog on the old mat it", "the cat sat on it and the dog sat on a"),
            ("a dog saw a cat", "who sat on the old mat , it barks on the old a mat"),
        ]
    )


def drawing(name: str, length: int, *, causal: bool = False) -> torch.Tensor:
    """A plain map of one class: rows add up to 1."""
    scores = np.full((length, length), 0.2)
    places = np.arange(length)
    if "vertical" in name:
        scores[:, 0] = length
    if "diagonal" in name:
        scores[places[1:], places[:-1]] = length
    if name == "block":
        half = length // 2
        scores[:half, :half] = scores[half:, half:] = 6.0
    if causal:
        scores = np.tril(scores)
    return torch.tensor(scores / scores.sum(1, keepdims=True), dtype=torch.float32)


@pytest.mark.parametrize("length", [12, 16, 24, 40, 64, 100, 128])
@pytest.mark.parametrize("name", ["vertical", "diagonal", "vertical+diagonal", "block"])
def test_a_plain_drawing_is_seen_for_what_it_is_at_every_length(name, length):
    found = classify(load_network(), drawing(name, length)[None, None], [length])
    assert CLASSES[int(found)] == name


@pytest.mark.parametrize("length", [16, 32, 64])
@pytest.mark.parametrize("name", ["vertical", "diagonal", "vertical+diagonal"])
def test_so_is_the_drawing_of_a_causal_head(name, length):
    found = classify(load_network(), drawing(name, length, causal=True)[None, None], [length])
    assert CLASSES[int(found)] == name


@pytest.mark.parametrize("causal", [False, True])
def test_planted_heads_have_the_class_they_were_made_to_have(causal):
    model = planted_gpt2() if causal else planted_bert()
    shares = survey(model, pairs(), measures=["pattern"], max_length=24).mean("pattern")
    expected = {"previous": "diagonal", "current": "diagonal", "cls": "vertical"}
    if not causal:
        expected |= {"next": "diagonal", "sep": "vertical", "segment": "block"}
    for name, pattern in expected.items():
        layer, head = HEADS[name]
        assert shares.sel(layer=layer, head=head, pattern=pattern) == 1.0, name


def test_the_shares_of_a_head_add_up_to_one_and_count_the_inputs():
    results = survey(
        tiny_model("bert"),
        from_texts(["the cat sat on the mat.", "a bird sang", ("the dog", "by the door")]),
        measures=["pattern"],
        max_length=32,
    )
    assert (results.mean("pattern").sum("pattern") == 1.0).all()
    assert (results["pattern"]["n"] == 3).all()


def test_it_is_only_computed_when_asked_for():
    assert "pattern" not in [measure.name for measure in choose(None, [], corpus="texts")]
    (chosen,) = choose(["pattern"], [], corpus="texts")
    assert isinstance(chosen, Pattern)


def test_another_network_can_be_put_in_its_place_and_the_results_say_so(tmp_path):
    network = PatternNet()
    with torch.no_grad():
        network.last.weight.zero_()
        network.last.bias.copy_(torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0]))
    save_network(tmp_path / "mine.safetensors", network)
    before = survey(planted_bert(), pairs(), measures=["pattern"], max_length=24)
    mine = Pattern(tmp_path / "mine.safetensors")
    after = survey(planted_bert(), pairs(), measures=[mine], max_length=24)
    assert (after.mean("pattern").sel(pattern="block") == 1.0).all()
    assert before["pattern"].attrs["network"] != after["pattern"].attrs["network"]
    with pytest.raises(UserError, match="no such file"):
        Pattern(tmp_path / "none.safetensors")
