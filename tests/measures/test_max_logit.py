"""The largest attention score against scores that transformers' own code is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

import headscope as hs
from headscope.encode import collate
from headscope.errors import ModelError
from headscope.models import Model
from headscope.models.attention import eager_function
from headscope.models.forward import network_inputs
from headscope.models.implementation import NAME
from headscope.stats.max_logits import largest_logits
from planted_induction import induction_model
from tiny import tiny_model

TEXTS = ["the dog barks at the cat", "a cat", "the mat and the dog and the cat that sat"]


def scores_of(model: Model, texts: list[str]) -> np.ndarray:
    """The largest score of each text, layer and head, from plain products of queries and keys."""
    found: list[torch.Tensor] = []

    def plain(module, query, key, value, attention_mask, scaling=None, **kwargs):
        groups = query.shape[1] // key.shape[1]
        scores = query @ key.repeat_interleave(groups, 1).transpose(2, 3)
        scores = scores * (query.shape[-1] ** -0.5 if scaling is None else scaling)
        hidden = torch.zeros_like(scores, dtype=torch.bool)
        if attention_mask is not None:
            hidden |= attention_mask < -1e4
        found.append(scores.masked_fill(hidden, -torch.inf).amax((2, 3)))
        call = eager_function(module)
        return call(module, query, key, value, attention_mask, scaling=scaling, **kwargs)

    AttentionInterface.register("plain", plain)
    AttentionMaskInterface.register("plain", eager_mask)
    stack = model.main_stack()
    encoder = model.encoder(max_length=16, long="truncate", stack=stack)
    rows = []
    model.network.set_attn_implementation("plain")
    try:
        for item in encoder.encode(hs.read(texts)):  # one by one: nothing is padded
            found.clear()
            with torch.inference_mode():
                model.network(**network_inputs(model, collate([item]), stack))
            rows.append(torch.stack([layer[0] for layer in found]).numpy())
    finally:
        model.network.set_attn_implementation(NAME)
    return np.stack(rows)


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "neox"])
def test_the_largest_score_is_that_of_all_products(family: str) -> None:
    model = tiny_model(family)
    expected = scores_of(model, TEXTS)
    atlas = hs.survey(model, TEXTS, measures="max_logit", max_length=16)
    data = atlas["max_logit"]
    order = np.argsort(data["id"].values.astype(int))  # batches go by length
    np.testing.assert_allclose(data["value"][order].squeeze(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(data["mean"], expected.mean(0), rtol=1e-5, atol=1e-6)
    table = largest_logits(atlas).set_index("head")
    np.testing.assert_allclose(table.loc["1-2", "largest"], expected[:, 0, 1].max(), rtol=1e-5)
    assert table["texts"].unique().tolist() == [len(TEXTS)]


def test_shards_keep_the_largest_score(tmp_path: Path) -> None:
    model = induction_model()
    texts = ["ab cd ef gh", "kl mn", "cd ab ij", "gh gh ef"] * 5
    whole = hs.survey(model, texts, measures="max_logit", max_length=16, batch_size=1)
    paths = [tmp_path / f"{part}.nc" for part in (1, 2)]
    for part, path in enumerate(paths, 1):
        hs.survey(
            model,
            texts,
            measures="max_logit",
            max_length=16,
            batch_size=1,
            shard=(part, 2),
            output=path,
        )
    merged = hs.merge([hs.open(path) for path in paths])
    one, other = (largest_logits(atlas).set_index("head") for atlas in (whole, merged))
    np.testing.assert_array_equal(one["largest"].sort_index(), other["largest"].sort_index())


def test_a_bias_on_scores_is_refused() -> None:
    with pytest.raises(ModelError, match="it adds a bias to its scores"):
        hs.survey(tiny_model("t5"), TEXTS, measures="max_logit", max_length=16)


def test_private_attention_is_refused() -> None:
    with pytest.raises(ModelError, match="shows no queries and keys"):
        hs.survey(tiny_model("mpnet"), TEXTS, measures="max_logit", max_length=16)
