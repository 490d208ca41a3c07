"""The embeddings alone: against transformers' own embedding layers and scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import xarray as xr
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from headscope.errors import Interrupted
from headscope.models import Model
from headscope.results import Atlas
from headscope.runs.probe import Vectors, probe
from headscope.runs.probe.vectors import text_embeddings
from headscope.stats.tables.probing import top_table
from runs.probe.planted_tasks import ONE, QUICK, dogs, pairs_task, reading, words_task
from tiny import tiny_model


def embedded(model: Model, texts: list[Any]) -> NDArray[np.float64]:
    """The mean over tokens of transformers' embedding layers, text by text without padding."""
    found = []
    for text in texts:
        pair = (text,) if isinstance(text, str) else text
        tokens = model.tokenizer(*pair, return_tensors="pt")
        with torch.inference_mode():
            if hasattr(model.network, "embeddings"):  # BERT
                types = tokens["token_type_ids"]
                state = model.network.embeddings(tokens["input_ids"], types)
            else:  # GPT-2
                ids = tokens["input_ids"]
                state = model.network.wte(ids) + model.network.wpe(torch.arange(ids.shape[1]))
        found.append(state[0].double().mean(0).numpy())
    return np.stack(found)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_embeddings_are_the_mean_of_what_the_embedding_layer_returns(kind: str) -> None:
    model = tiny_model(kind)
    texts = ["cat", "the dog sat by the old tree", "rain fell on the roof of the door"]
    found = text_embeddings(
        model, [(text,) for text in texts], Vectors(max_length=32, batch_size=2)
    )
    np.testing.assert_allclose(found, embedded(model, texts), atol=1e-6)


def test_scores_are_those_of_scikit_learn_on_them(tmp_path: Path) -> None:
    model, asked = tiny_model("bert"), words_task((150, 60, 200))
    results = probe(
        model, [asked], cache=tmp_path, embeddings=True, **(ONE | {"max_length": 64}), **QUICK
    )
    x, gold = {}, {}
    for split in ("train", "dev", "test"):
        examples = asked.splits[split]
        x[split] = embedded(model, [example.texts[0] for example in examples])
        gold[split] = np.array([example.label for example in examples])
    mean, spread = x["train"].mean(0), x["train"].std(0)
    judge = LogisticRegression(C=1 / (1e-2 * 150), max_iter=5000, tol=1e-8)
    judge.fit((x["train"] - mean) / spread, gold["train"])
    found = results["probe_embeddings"].sel(task="words")
    for split, name in (("dev", "validation"), ("test", "test")):
        expected = judge.score((x[split] - mean) / spread, gold[split])
        assert float(found[name]) == pytest.approx(expected, abs=0.0051)
    assert float(found["low"]) < float(found["test"]) < float(found["high"])
    row = top_table(results).iloc[0]
    assert row["embeddings"] == pytest.approx(100 * float(found["test"]))


def test_a_word_is_in_the_embeddings_where_no_head_reads_it(tmp_path: Path) -> None:
    """At [CLS] no head of this model depends on the words, but the mean embedding does."""
    results = probe(reading(), dogs(), cache=tmp_path, embeddings=True, **ONE, **QUICK)
    majority = float(results["probe"]["majority"][0])
    assert (results["probe"]["test"].values == majority).all()
    assert float(results["probe_embeddings"]["test"][0]) == 1.0


def test_other_numbers_are_the_same_bit_for_bit_with_and_without_them(tmp_path: Path) -> None:
    model, asked = tiny_model("bert"), [words_task((60, 20, 30)), dogs(sizes=(40, 10, 20))]
    options: dict[str, Any] = ONE | {"l2": (1e-2, 1e-1)}
    plain = probe(model, asked, cache=tmp_path / "one", **options)
    more = probe(model, asked, cache=tmp_path / "two", embeddings=True, **options)
    assert set(more.measures) - set(plain.measures) == {"probe_embeddings"}
    for name in plain:
        xr.testing.assert_identical(plain[name], more[name])
    assert "embeddings" not in plain.provenance["settings"]
    assert more.provenance["settings"]["embeddings"] is True
    assert np.isfinite(more["probe_embeddings"]["control"].values).all()


def test_they_are_kept_in_results_and_checkpoints(tmp_path: Path) -> None:
    model, path = tiny_model("bert"), tmp_path / "p.nc"
    asked = [dogs("one", 0, (40, 10, 20)), dogs("two", 1, (40, 10, 20))]
    options: dict[str, Any] = {"cache": tmp_path, "embeddings": True} | ONE | QUICK

    def stop(done: int, total: int) -> None:
        if total == 2 * 2 * (2 + 2) and done == 10:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped after 1 of 2 tasks"):
        probe(model, asked, output=path, progress=stop, **options)
    resumed = probe(model, asked, output=path, **options)
    fresh = probe(model, asked, **options)
    for one in (resumed, Atlas.open(path)):
        xr.testing.assert_equal(one["probe_embeddings"], fresh["probe_embeddings"])
    assert fresh["probe_embeddings"]["task"].values.tolist() == ["one", "two"]


def test_pairs_apart_have_both_embeddings_their_distance_and_their_product(
    given: list[Any], tmp_path: Path
) -> None:
    model, asked = tiny_model("bert"), pairs_task()
    how: dict[str, Any] = {"pairs": "apart", "embeddings": True, "repeats": 1}
    probe(model, [asked], cache=tmp_path, **how, **ONE, **QUICK)
    pairs = [example.texts for split in ("train", "test") for example in asked.splits[split]]
    u, v = (embedded(model, [pair[side] for pair in pairs]) for side in (0, 1))
    expected = np.concatenate([u, v, np.abs(u - v), u * v], 1)
    np.testing.assert_allclose(given[-1][0], expected, atol=1e-6)
