"""Head distances: the exact path equals scipy, the fast path the exact one to 1e-3, whatever
the maps.
"""

from __future__ import annotations

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from headscope.corpus import from_texts, read
from headscope.encode import Batch, collate
from headscope.measures import Context, Distance, exact_divergence, fast_divergence
from headscope.models import Model, load
from headscope.runs.survey import survey
from measures.test_twins import view_of
from tiny import SENTENCES, maps_of, tiny_batch, tiny_model

RELATIVE = 1e-3
TINY = 1e-9
"""Nats: where identical rows are rounded to float32, this is all that a divergence can be off."""


def random_maps(
    heads: int, size: int, temperature: float, seed: int, *, causal: bool = False
) -> torch.Tensor:
    """Softmax of random scores: from nearly uniform rows (hot) to nearly one-hot ones (cold)."""
    scores = (
        torch.randn(heads, size, size, generator=torch.Generator().manual_seed(seed)) / temperature
    )
    if causal:
        scores = scores.masked_fill(~torch.ones(size, size, dtype=torch.bool).tril(), -torch.inf)
    return scores.softmax(-1)


def one_hot(heads: int, size: int, seed: int) -> torch.Tensor:
    return torch.eye(size)[
        torch.randint(size, (heads, size), generator=torch.Generator().manual_seed(seed))
    ]


def by_scipy(maps: torch.Tensor) -> np.ndarray:
    """Mean over rows of the squared Jensen–Shannon distance: the divergence in nats."""
    rows = maps.double().numpy()
    return np.array(
        [[np.mean(jensenshannon(one, other, axis=1) ** 2) for other in rows] for one in rows]
    )


def check(maps: torch.Tensor) -> None:
    """The fast path is near the exact one, and both are symmetric with nothing on the diagonal."""
    exact, fast = exact_divergence(maps), fast_divergence(maps)
    np.testing.assert_allclose(fast, exact, rtol=RELATIVE, atol=TINY)
    for found in (exact, fast):
        assert found.dtype == torch.float64
        assert not found.diagonal().any()
        np.testing.assert_allclose(found, found.T, rtol=1e-5, atol=TINY)
        assert float(found.min()) >= -TINY
        assert float(found.max()) <= log(2) * (1 + RELATIVE)


@given(
    heads=st.integers(2, 4),
    size=st.integers(1, 12),
    temperature=st.sampled_from([0.05, 0.3, 1.0, 5.0]),
    seed=st.integers(0, 10**6),
    causal=st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_the_exact_path_is_scipys_divergence_averaged_over_rows(
    heads, size, temperature, seed, causal
):
    maps = random_maps(heads, size, temperature, seed, causal=causal)
    np.testing.assert_allclose(exact_divergence(maps), by_scipy(maps), rtol=1e-6, atol=TINY)


@pytest.mark.parametrize("temperature", [0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("size", [2, 17, 128])
@pytest.mark.parametrize("causal", [False, True])
def test_the_fast_path_is_within_a_thousandth_of_the_exact_one(temperature, size, causal):
    check(random_maps(8, size, temperature, seed=size, causal=causal))


def test_sharp_and_broad_heads_together_are_within_a_thousandth_too():
    mixed = [random_maps(3, 64, heat, seed=place) for place, heat in enumerate((0.02, 0.3, 1, 30))]
    check(torch.cat([*mixed, one_hot(3, 64, seed=9)]))
    apart = torch.stack([torch.eye(50), torch.eye(50).roll(1, 1), torch.full((50, 50), 1 / 50)])
    check(apart)
    np.testing.assert_allclose(exact_divergence(apart), by_scipy(apart), rtol=1e-6, atol=TINY)
    assert float(exact_divergence(apart)[0, 1]) == pytest.approx(log(2), rel=1e-12)


@pytest.mark.parametrize("apart", [1e-4, 1e-3, 1e-2, 0.03, 0.1])
@pytest.mark.parametrize("temperature", [0.1, 1.0])
def test_nearly_equal_heads_are_within_a_thousandth_too(apart, temperature):
    one, other = random_maps(2, 40, temperature, seed=2)
    maps = torch.stack([one, one * (1 - apart) + other * apart, other])
    assert float(exact_divergence(maps)[0, 1]) > 0
    check(maps)


def test_identical_heads_have_distance_0():
    one = random_maps(1, 30, 0.5, seed=4)[0]
    for found in (
        exact_divergence(torch.stack([one, one, one])),
        fast_divergence(torch.stack([one, one, one])),
    ):
        np.testing.assert_allclose(found, 0.0, atol=TINY)


def distances(model: Model, batch: Batch) -> np.ndarray:
    """(batch, head, head), from the maps of all layers."""
    stack = model.main_stack()
    measure = Distance().bind(Context(model.shape(stack)), [])
    held = measure.prepare(batch, "cpu")
    layers = [measure.layer(view_of(maps), maps, held) for maps in maps_of(model, batch)[stack]]
    return measure.finish(layers, held)[..., 0].numpy()


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_distances_are_between_the_heads_of_all_layers_and_padding_is_invisible(kind):
    model, plain = tiny_model(kind), tiny_batch(kind)
    encoder = model.encoder(max_length=60, long="truncate", stack=model.main_stack())
    texts = [SENTENCES[0], "a bird", "we walked to the river"]
    batch = collate(encoder.encode(from_texts(texts)), pad=model.pad)
    assert len({*batch.lengths.tolist()}) == 3
    found = distances(model, batch)
    for row, item in enumerate(batch.items):
        alone = collate([item], pad=model.pad)
        maps = torch.cat([layer[0] for layer in maps_of(model, alone)[model.main_stack()]])
        np.testing.assert_allclose(found[row], by_scipy(maps), rtol=2 * RELATIVE, atol=1e-7)
    assert plain.width > 1


def test_the_survey_names_every_pair_of_heads_and_averages_over_examples():
    model = tiny_model("bert")
    texts = ["the cat sat on the mat", "a bird sang"]
    data = survey(model, from_texts(texts), measures=["distance"], max_length=60, batch_size=2)[
        "distance"
    ]
    names = [f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert data["one"].values.tolist() == data["other"].values.tolist() == names
    encoder = model.encoder(max_length=60, long="truncate", stack="encoder")
    single = [
        by_scipy(torch.cat([layer[0] for layer in maps_of(model, collate([item]))["encoder"]]))
        for item in encoder.encode(from_texts(texts))
    ]
    np.testing.assert_allclose(data["mean"], np.mean(single, axis=0), rtol=2 * RELATIVE, atol=1e-7)
    assert (data["n"] == 2).all()
    assert (
        "distance" not in survey(model, from_texts(texts), max_length=60).measures
    )  # only when asked for


@pytest.mark.shared
@pytest.mark.parametrize("name", ["electra-mini", "gpt2-mini"])
def test_on_the_maps_of_trained_models_the_fast_path_is_within_a_thousandth(shared, name):
    model = load(shared / "models" / name)
    encoder = model.encoder(max_length=64, long="truncate", stack=model.main_stack())
    for item in encoder.encode(read("demo", limit=2)):
        check(
            torch.cat([layer[0] for layer in maps_of(model, collate([item]))[model.main_stack()]])
        )
