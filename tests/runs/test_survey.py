"""A survey: what it counts, what it says of itself, and how far it tells it has come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import headscope
from headscope.corpus import Corpus, from_texts
from headscope.errors import UserError
from headscope.models import Model, wrap
from headscope.results import Atlas, merge
from headscope.runs.survey import survey
from planted import VOCABULARY, planted_bert, planted_tokenizer
from tiny import tiny_model

TEXTS = [
    "a dog",
    "the cat sat.",
    "who saw it",
    "the old dog, the mat",
    "it barks!",
    "a cat sat on the mat.",
    "who barks",
]
NAMES = ["position", "special", "entropy"]


def run(model: Model, corpus: Corpus, **options: Any) -> Atlas:
    return survey(
        model, corpus, **{"max_length": 24, "batch_size": 2, "measures": NAMES, **options}
    )


def broken_bert() -> Model:
    """A planted model that breaks on two words: at "who" its embedding is NaN; at "old" the first
    layer overflows, and the second sees NaN.
    """
    model = planted_bert()
    with torch.no_grad():
        model.network.embeddings.word_embeddings.weight[VOCABULARY.index("who")] = float("nan")
        first = model.network.encoder.layer[0]
        first.intermediate.dense.weight[0, VOCABULARY.index("old")] = 10.0
        first.intermediate.dense.bias[0] = -5.0
        # 5 for that word, and just 0 for all others
        first.intermediate.intermediate_act_fn = torch.nn.ReLU()
        first.output.dense.weight[0, 0] = 3e38
    return wrap(model.network, planted_tokenizer(), name="broken-bert")


@pytest.mark.parametrize("size", [1, 2, 7])
def test_examples_whose_attention_is_not_finite_are_named_with_their_layer_and_the_others_count(
    size,
):
    results = run(broken_bert(), from_texts(TEXTS), batch_size=size)
    counts = results.provenance["counts"]
    assert sorted(counts["nonfinite_examples"]) == [
        "3: attention is not finite in layer 1",
        "4: attention is not finite in layer 2",
        "7: attention is not finite in layer 1",
    ]
    assert (counts["read"], counts["used"], counts["seen"], counts["nonfinite"]) == (7, 7, 4, 3)
    assert (results["position"]["n"] == 4).all()
    without = run(broken_bert(), from_texts([TEXTS[index] for index in (0, 1, 4, 5)]))
    for name in NAMES:
        for key in ("mean", "deviation", "low", "high", "n"):
            one, other = results[name][key].values, without[name][key].values
            np.testing.assert_allclose(one, other, atol=1e-6, rtol=1e-5)
    said = "3 examples were skipped because of attention that was not finite, e.g. "
    assert said in results.remarks()[-1]


def test_at_most_twenty_broken_examples_are_named_but_all_are_counted():
    results = run(broken_bert(), from_texts(["who", "a dog"] * 25), batch_size=3)
    counts = results.provenance["counts"]
    assert (counts["nonfinite"], counts["seen"], len(counts["nonfinite_examples"])) == (25, 25, 20)


def test_a_corpus_of_which_every_example_breaks_gives_nan_and_count_0():
    results = run(broken_bert(), from_texts(["who", "who saw"]))
    assert results["entropy"]["mean"].isnull().all()
    assert not results["entropy"]["n"].any()


def test_provenance_says_which_model_corpus_settings_and_versions_made_the_numbers():
    model, corpus = tiny_model("gpt2"), from_texts(["a dog"], name="mine.txt")
    known = run(model, corpus, seed=4, limit=1).provenance
    expected = {
        "name": "tiny-gpt2",
        "revision": "",
        "type": "gpt2",
        "dtype": "float32",
        "quantization": "",
        "adapter": "",
        "bos": "keep",
        "chat": False,
        "tokens": {"start": "<|endoftext|>", "separator": "<|endoftext|>"},
        "causal": True,
        "weights": model.digest,
        "stack": "decoder",
        "layers": 2,
        "heads": 4,
    }
    assert {key: known["model"][key] for key in expected} == expected
    assert known["model"]["config"]["n_head"] == 4  # all that can change a number is there
    read = {"name": "mine.txt", "format": "memory", "sha256": corpus.checksum}
    assert {key: known["corpus"][key] for key in read} == read
    settings = {"max_length": 24, "long": "truncate", "batch_size": 2, "stack": "decoder"}
    assert known["settings"].items() >= (settings | {"limit": 1, "seed": 4}).items()
    assert known["measures"] == NAMES
    assert known["shards"] == ["1/1"]
    assert known["versions"]["torch"] == torch.__version__
    assert known["versions"]["headscope"] == headscope.__version__


@pytest.mark.parametrize(("given", "kept"), [(1, 1), (2, 2), (4, None)])
def test_provenance_says_how_many_heads_share_keys_where_queries_are_grouped(given, kept):
    model = tiny_model("llama", num_key_value_heads=given)
    known = run(model, from_texts(["a dog"])).provenance["model"]
    assert (known["heads"], known.get("kv_heads")) == (4, kept)


def test_other_weights_are_another_model():
    one, other = (
        run(tiny_model("bert", seed=seed), from_texts(["a dog"])).provenance["model"]
        for seed in (0, 1)
    )
    assert one["weights"] != other["weights"]
    assert {**one, "weights": ""} == {**other, "weights": ""}


def test_text_beyond_the_maximum_length_is_counted_and_remarked_unless_it_is_split():
    model, texts = tiny_model("bert"), ["the dog sat " * 40, "the cat sat"] * 3
    cut = survey(model, from_texts(texts), measures="position", max_length=32)
    counts = cut.provenance["counts"]
    tokens = len(model.tokenizer(texts[0], add_special_tokens=False)["input_ids"])
    short = len(model.tokenizer(texts[1], add_special_tokens=False)["input_ids"])
    assert counts["tokens"] == 3 * (tokens + short)
    assert counts["tokens_lost"] == 3 * (tokens - 30)
    (said,) = [text for text in cut.remarks() if text.startswith("Used ")]
    assert said.startswith(f"Used {3 * (30 + short):,} of {3 * (tokens + short):,} tokens: 3 ")
    whole = survey(model, from_texts(texts), measures="position", max_length=32, long="split")
    assert whole.provenance["counts"]["tokens"] == 3 * (tokens + short)
    assert whole.provenance["counts"]["tokens_lost"] == 0
    assert not [text for text in whole.remarks() if text.startswith("Used ")]
    many = from_texts(texts * 4)
    options: dict[str, Any] = {"measures": "position", "max_length": 32, "batch_size": 1}
    shards = [survey(model, many, shard=(part, 2), **options) for part in (1, 2)]
    merged = merge(shards).provenance["counts"]
    counts = survey(model, many, **options).provenance["counts"]
    assert (merged["tokens"], merged["tokens_lost"]) == (counts["tokens"], counts["tokens_lost"])


def test_a_limit_counts_the_first_examples_only():
    results = run(planted_bert(), from_texts(TEXTS), limit=3)
    assert results.provenance["counts"]["read"] == 3
    assert (results["entropy"]["n"] == 3).all()


def test_one_measure_may_be_named_by_itself():
    assert run(planted_bert(), from_texts(TEXTS), measures="entropy").measures == ("entropy",)


def test_a_decoder_beside_an_encoder_is_surveyed_when_asked_for():
    model = tiny_model("t5")
    encoder, decoder = run(model, from_texts(TEXTS)), run(model, from_texts(TEXTS), stack="decoder")
    assert encoder.provenance["model"]["stack"] == "encoder"
    assert decoder.provenance["model"]["stack"] == "decoder"
    assert encoder["position"]["mean"].sel(offset="next").notnull().all()
    assert decoder["position"]["mean"].sel(offset="next").isnull().all()
    assert (decoder["position"]["mean"].sel(offset="previous") > 0).all()


@pytest.mark.parametrize(("long", "length"), [("truncate", 24), ("split", 6), ("drop", 6)])
def test_progress_goes_up_from_nothing_to_the_size_of_the_corpus(long, length):
    few = ["the old dog saw it, the cat sat on a mat! who barks", "a dog", "it"]
    texts = [*few, "the old dog saw the cat"] * 4 + ["a dog"]
    told: list[tuple[int, int]] = []
    how = {"long": long, "max_length": length, "batch_size": 1, "measures": ["entropy"]}
    watch = lambda done, total: told.append((done, total))  # noqa: E731
    results = run(planted_bert(), from_texts(texts), progress=watch, **how)
    counted = {"truncate": "used", "split": "split", "drop": "too_long"}[long]
    assert results.provenance["counts"][counted] > 0
    done = [one for one, _ in told]
    assert done == sorted(done)
    assert done[0] >= 0
    assert done[0] < len(texts) / 2
    assert done[-1] == len(texts)
    assert {total for _, total in told} == {len(texts)}


@pytest.mark.parametrize("measure", ["pattern", "distance"])
def test_a_measure_of_whole_maps_is_refused_at_great_lengths(measure):
    model = tiny_model("llama", max_position_embeddings=5000)
    message = rf"'{measure}' needs whole .* up to 2048 tokens, got .*4096"
    with pytest.raises(UserError, match=message):
        survey(model, from_texts(["the cat"]), measures=[measure], max_length=4096)
    survey(model, from_texts(["the cat"]), measures=["entropy"], max_length=4096)
