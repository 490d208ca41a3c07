"""Random tokens written twice: scores equal plain loops over the maps of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus import from_texts
from headscope.errors import ModelError
from headscope.results import merge
from headscope.runs import synthetic as module
from headscope.runs.survey import survey
from headscope.runs.synthetic import Sequences, ordinary_tokens, synthetic
from measures.test_induction import eager, hand_made
from planted import VOCABULARY
from tiny import tiny_model

N, COUNT, SEED = 8, 5, 3
OFFSETS = {"induction": 1 - N, "duplicate": -N, "previous": -1}


@pytest.fixture(scope="module")
def induction():
    return hand_made()


def drawn(words: list[int], start: int) -> list[list[int]]:
    """The sequences, drawn as the docs say."""
    found = []
    for number in range(COUNT):
        random = np.random.default_rng([SEED, number])
        chosen = random.choice(np.array(words), N, replace=False).tolist()
        found.append([start, *chosen, *chosen])
    return found


def looped(network: Any, ids: list[list[int]]) -> dict[str, Any]:
    """Scores of every sequence, (sequence, layer, head), one weight at a time."""
    found: dict[str, list[Any]] = {name: [] for name in OFFSETS}
    for sequence in ids:
        with torch.inference_mode():
            maps = network(input_ids=torch.tensor([sequence]), output_attentions=True).attentions
        for name, offset in OFFSETS.items():
            scores = np.zeros((len(maps), maps[0].shape[1]))
            for layer, weights in enumerate(maps):
                for head in range(weights.shape[1]):
                    for row in range(1 + N, 1 + 2 * N):
                        scores[layer, head] += float(weights[0, head, row, row + offset]) / N
            found[name].append(scores)
    return {name: np.array(scores) for name, scores in found.items()}


@pytest.mark.parametrize("kind", ["hand-made", "tiny llama"])
def test_scores_are_those_of_a_plain_loop_over_eager_attention(kind, induction):
    model = induction if kind == "hand-made" else tiny_model("llama")
    special = {VOCABULARY.index(name) for name in ("[PAD]", "[UNK]", "[CLS]", "[MASK]")}
    words = (
        [number for number in range(len(VOCABULARY)) if number not in special]
        if kind == "hand-made"
        else ordinary_tokens(model).tolist()
    )
    assert model.bos_token is not None
    with eager(model) as network:
        expected = looped(network, drawn(words, model.bos_token))
    found = synthetic(model, n=N, sequences=COUNT, seed=SEED)
    for name, scores in expected.items():
        values = found["synthetic"].sel(score=name)
        np.testing.assert_allclose(values["mean"], scores.mean(0), atol=1e-5)
        np.testing.assert_allclose(values["deviation"], scores.std(0, ddof=1), atol=1e-5)
        assert (values["n"] == COUNT).all()


def test_the_induction_head_of_a_hand_made_model_is_found_and_no_other(induction):
    means = synthetic(induction, n=N, sequences=COUNT).mean("synthetic")
    assert float(means.sel(layer=2, head=1, score="induction")) > 0.999
    assert int((means.sel(score="induction") > 0.5).sum()) == 1
    assert float(means.sel(layer=1, head=1, score="previous")) > 0.999
    assert int((means.sel(score="previous") > 0.5).sum()) == 1


def test_the_summary_names_the_heads_that_complete_the_repetition(induction):
    remarks = synthetic(induction, n=N, sequences=COUNT).remarks()
    assert remarks == [
        "On random tokens written twice, 1 head (2-1) puts more than half of its attention on what "
        "followed the same token before (induction)."
    ]


def test_no_token_stands_twice_in_a_copy_and_none_is_special(induction):
    for item in Sequences(N, COUNT, SEED).items(induction, 0, COUNT):
        start, copies = item.ids[0], item.ids[1:]
        assert start == induction.bos_token
        assert copies[:N].tolist() == copies[N:].tolist()
        assert len(set(copies[:N].tolist())) == N
        assert not set(copies.tolist()) & set(induction.tokenizer.all_special_ids)


def test_another_seed_draws_other_tokens_and_the_same_seed_the_same(induction):
    def ids(seed: int) -> list[list[int]]:
        return [item.ids.tolist() for item in Sequences(N, 2, seed).items(induction, 0, 2)]

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)
    assert ids(1)[0] != ids(1)[1]


def test_a_survey_in_shards_has_the_sequences_of_the_whole(induction, monkeypatch):
    monkeypatch.setattr(module, "SIZE", 2)
    monkeypatch.setattr(module, "Sequences", lambda seed: Sequences(N, COUNT, seed))
    texts = from_texts(["the dog sat.", "a cat saw it."])
    options = {"measures": "position", "max_length": 16, "synthetic": True}
    whole = survey(induction, texts, **options)  # type: ignore[arg-type]
    parts = [survey(induction, texts, shard=(part, 2), **options) for part in (1, 2)]  # type: ignore[arg-type]
    assert whole.measures == ("position", "synthetic")
    assert whole.provenance["synthetic"] == {"n": N, "count": COUNT, "seed": 0}
    merged = merge(parts)["synthetic"]
    assert (merged["mean"] == whole["synthetic"]["mean"]).all()
    assert (merged["n"] == COUNT).all()


def test_a_survey_adds_the_sequences_only_where_they_can_be_had(induction):
    texts = from_texts(["the dog sat.", "a cat saw it."])
    few = survey(induction, texts, max_length=16)
    assert "synthetic" not in few
    assert "too few to draw 64" in few.provenance["notes"][-1]
    encoder = survey(tiny_model("bert"), texts, max_length=16)
    assert "synthetic" not in encoder
    assert not any("random tokens" in note for note in encoder.provenance["notes"])
    named = survey(induction, texts, measures="position", max_length=16)
    assert not any("random tokens" in note for note in named.provenance["notes"])


@pytest.mark.parametrize(
    ("kind", "n", "text"),
    [
        ("bert", N, "tiny-bert is not a decoder-only language model"),
        ("t5", N, "tiny-t5 is not a decoder-only language model"),
        ("hand-made", 19, "has 18 ordinary tokens, too few to draw 19 different ones"),
        (
            "gpt2",
            200,
            "two copies of 200 tokens take 401 with the start token, and tiny-gpt2 takes",
        ),
    ],
)
def test_models_that_cannot_read_the_sequences_are_refused_with_the_reason(
    kind, n, text, induction
):
    model = induction if kind == "hand-made" else tiny_model(kind)
    with pytest.raises(ModelError) as error:
        hs.synthetic(model, n=n)
    assert text in error.value.message
    assert error.value.hint
