"""Surveys of cross attention, against transformers' eager maps and plain loops."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import headscope as hs
import twins
from headscope.corpus import Example
from headscope.encode import OTHER, SEPARATOR, START, TEXT, collate
from headscope.encode.cross import CrossEncoded, key_batch, key_item
from headscope.errors import ModelError, UserError
from headscope.measures.registry import cross_measures
from headscope.models import observe
from headscope.runs.forward import finite
from tiny import BOTH, SENTENCES, tiny_model, tiny_network

PAIRS = list(pairwise(SENTENCES))
STARTS = {"t5": 0, "bart": 2}
# T5 begins with its padding token, BART with </s>, which also ends its texts.
KINDS = {"t5": {1: SEPARATOR, 0: OTHER}, "bart": {0: START, 2: SEPARATOR}}


def eager_maps(kind: str, first: str, second: str) -> tuple[np.ndarray, list[int], list[int]]:
    """Cross attention of transformers itself, (layer, head, row, key); tokens of columns, rows."""
    tokenizer = tiny_model(kind).tokenizer
    keys = tokenizer(first)["input_ids"]
    rows = [STARTS[kind], *tokenizer(second)["input_ids"]]
    with torch.no_grad():
        output = tiny_network(kind)(
            input_ids=torch.tensor([keys]),
            decoder_input_ids=torch.tensor([rows]),
            output_attentions=True,
        )
    maps = torch.stack(output.cross_attentions)[:, 0].double().numpy()
    assert maps.shape[2:] == (len(rows), len(keys))
    return maps, keys, rows


def kinds_of(kind: str, tokens: list[int]) -> list[int]:
    return [KINDS[kind].get(token, TEXT) for token in tokens]


def expected(kind: str, pairs: list[tuple[str, str]]) -> dict[str, np.ndarray]:
    """The means of every measure, (layer, head, label), in plain loops."""
    values: dict[str, list[list[list[list[float]]]]] = {
        name: [] for name in ("entropy", "special", "peak", "alignment")
    }
    tokenizer = tiny_model(kind).tokenizer
    for pair in pairs:
        maps, keys, rows = eager_maps(kind, *pair)
        key_kinds, row_kinds = kinds_of(kind, keys), kinds_of(kind, rows)
        stops = [tokenizer.decode([token]).strip() in {".", ","} for token in keys]
        words = [_words(tokenizer, text) for text in pair]
        columns = [[one == START for one in key_kinds], [one == SEPARATOR for one in key_kinds]]
        found: dict[str, list[list[list[float]]]] = {name: [] for name in values}
        for layer in maps:
            for name in values:
                found[name].append([])
            for weights in layer:
                entropies = twins.entropy(weights.tolist(), row_kinds)
                entropies["uniform"] = float(np.log(len(keys)))
                found["entropy"][-1].append(list(entropies.values()))
                found["special"][-1].append(_special(weights, [*columns, stops], row_kinds))
                found["peak"][-1].append(list(twins.peak(weights.tolist()).values()))
                found["alignment"][-1].append(_alignment(weights, words[0], ["", *words[1]]))
        for name in values:
            values[name].append(found[name])
    return {name: _mean(np.array(one)) for name, one in values.items()}


def _mean(values: np.ndarray) -> np.ndarray:
    """The mean over the pairs for which a value is defined."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0).sum(0) / known.sum(0)


def _words(tokenizer: Any, text: str) -> list[str]:
    """The word of each token, in lower case, by the places of its characters."""
    words = []
    for start, end in tokenizer(text, return_offsets_mapping=True)["offset_mapping"]:
        begin = (
            start + len(text[start:]) - len(text[start:].lstrip())
        )  # spaces belong to what follows
        found = [
            one.group().lower()
            for one in re.finditer(r"\w+(?:'\w+)*|[^\w\s]", text)
            if start < end and one.start() <= begin < one.end()
        ]
        words.append(found[0] if found else "")
    return words


def _alignment(weights: np.ndarray, columns: list[str], rows: list[str]) -> list[float]:
    """Attention to words equal to each row's own word, and to that of the row after."""
    found = []
    for asked in (rows, [*rows[1:], ""]):
        sums = [
            sum(weights[row, key] for key, other in enumerate(columns) if other == word)
            for row, word in enumerate(asked)
            if word and word in columns
        ]
        found.append(float(np.mean(sums)) if sums else np.nan)
    return found


def _special(weights: np.ndarray, columns: list[list[bool]], row_kinds: list[int]) -> list[float]:
    """Attention to each kind of column from all rows, from end tokens and from the others."""
    end = np.array(row_kinds) == SEPARATOR
    found = []
    for column in columns:
        for rows in (np.ones_like(end), end, ~end):
            to = weights[rows][:, np.array(column)].sum(-1)
            found.append(to.mean() if any(column) and rows.any() else np.nan)
    return found


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("kind", BOTH)
def test_a_survey_of_cross_attention_equals_plain_loops_over_eager_maps(kind, batch_size):
    atlas = hs.survey(tiny_model(kind), PAIRS, stack="cross", max_length=64, batch_size=batch_size)
    assert atlas.measures == ("special", "entropy", "peak", "alignment")
    assert atlas.provenance["model"]["stack"] == "cross"
    for name, values in expected(kind, PAIRS).items():
        means = atlas.mean(name).values.reshape(values.shape)
        np.testing.assert_allclose(means, values, atol=1e-5, err_msg=name)
    assert int(atlas["peak"]["n"].min()) == len(PAIRS)


def test_blocks_of_rows_give_the_same(monkeypatch):
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    monkeypatch.setattr(observe, "_cut", {})
    atlas = hs.survey(tiny_model("bart"), PAIRS, stack="cross", max_length=64)
    for name, values in expected("bart", PAIRS).items():
        means = atlas.mean(name).values.reshape(values.shape)
        np.testing.assert_allclose(means, values, atol=1e-5, err_msg=name)


def test_a_single_text_goes_to_the_encoder_and_the_decoder():
    atlas = hs.survey(
        tiny_model("bart"), [SENTENCES[0]], stack="cross", measures="entropy", max_length=64
    )
    values = expected("bart", [(SENTENCES[0], SENTENCES[0])])["entropy"]
    np.testing.assert_allclose(atlas.mean("entropy").values, values, atol=1e-5)


def test_shards_merge_to_the_whole():
    options: dict[str, Any] = {"stack": "cross", "max_length": 64, "batch_size": 1}
    whole = hs.survey(tiny_model("t5"), PAIRS, **options)
    parts = [hs.survey(tiny_model("t5"), PAIRS, shard=(i, 2), **options) for i in (1, 2)]
    merged = hs.merge(parts)
    for name in whole:
        np.testing.assert_array_equal(merged.mean(name).values, whole.mean(name).values)


@pytest.mark.parametrize("name", ["position", "role", "distance", "pattern"])
def test_measures_of_one_text_are_refused(name):
    message = f"the measure '{name}' is about the tokens of one text"
    with pytest.raises(UserError, match=message) as e:
        hs.survey(tiny_model("t5"), PAIRS, stack="cross", measures=[name], max_length=64)
    assert "choose from special, entropy, peak, alignment" in str(e.value.hint)
    assert cross_measures() == ["special", "entropy", "peak", "alignment"]


class Largest(hs.Measure):
    """The largest weight of a map."""

    name, title, unit, source = "largest", "Largest weight", "share of attention", "mine"
    dims: ClassVar[dict[str, tuple[str, ...]]] = {"of": ("map",)}  # type: ignore[misc]

    def layer(self, view: Any, attention: torch.Tensor, prepared: Any) -> torch.Tensor:
        return attention.amax((2, 3))[..., None]


class LargestAcross(Largest):
    """The same, for cross attention too."""

    cross = True


def test_a_measure_of_ones_own_takes_part_if_it_says_so():
    run: dict[str, Any] = {"stack": "cross", "max_length": 64, "batch_size": 1}
    with pytest.raises(UserError, match="'largest' is about the tokens of one text") as error:
        hs.survey(tiny_model("t5"), PAIRS, measures=Largest, **run)
    assert "set cross = True in its class" in str(error.value.hint)
    atlas = hs.survey(tiny_model("t5"), PAIRS, measures=LargestAcross, **run)
    maps = [eager_maps("t5", *pair)[0].max((2, 3)) for pair in PAIRS]
    np.testing.assert_allclose(atlas.mean("largest").values[..., 0], np.mean(maps, 0), atol=1e-5)


def test_long_and_empty_texts_are_counted():
    model = tiny_model("bart")
    encoder = model.cross_encoder(max_length=10, long="truncate")
    pairs = [("the cat", SENTENCES[1]), ("the cat", "a dog"), ("", "a dog"), ("a dog", "")]
    examples = [Example(str(index), pair) for index, pair in enumerate(pairs)]
    items = list(encoder.encode(examples))
    counts = encoder.counts
    assert [item.example.id for item in items] == ["0", "1"]
    assert (counts.read, counts.used, counts.truncated, counts.empty) == (4, 2, 1, 2)
    kept = sum(int((one.kind == TEXT).sum()) for item in items for one in (item, key_item(item)))
    assert counts.tokens - counts.tokens_lost == kept < counts.tokens
    first = items[0]
    assert isinstance(first, CrossEncoded)
    assert first.ids.tolist()[0] == 2
    assert len(first) == 10
    assert key_item(first).ids.tolist() == model.tokenizer("the cat")["input_ids"]
    assert first.example.texts == pairs[0]
    drop = model.cross_encoder(max_length=10, long="drop")
    assert [item.example.id for item in drop.encode(examples)] == ["1"]
    assert drop.counts.dropped[0] == "0: more than 10 tokens"
    with pytest.raises(UserError, match="cannot be split for cross attention"):
        hs.survey(model, PAIRS, stack="cross", long="split", max_length=64)


def test_models_without_cross_attention_and_comparisons_are_refused(tmp_path):
    with pytest.raises(ModelError, match="the stack of tiny-bert must be"):
        hs.survey(tiny_model("bert"), PAIRS, stack="cross")
    with pytest.raises(UserError, match="cannot be drawn as one text"):
        hs.attention(tiny_model("t5"), "the cat sat", stack="cross")
    with pytest.raises(UserError, match="not compared token by token"):
        hs.compare(tiny_model("t5"), tiny_model("t5", seed=1), PAIRS, stack="cross")
    run: dict[str, Any] = {"stack": "cross", "max_length": 64}
    one, two = (hs.survey(tiny_model("t5", seed=seed), PAIRS, **run) for seed in (0, 1))
    assert "entropy-change" in hs.compare(one, two).measures


def test_padded_rows_and_padded_keys_may_hold_attention_that_is_not_finite():
    block = torch.full((2, 1, 3, 4), 0.25)
    rows = torch.tensor([[True, True, True], [True, True, False]])
    keys = torch.tensor([[True, True, False, False], [True, True, True, True]])
    block[0, 0, 0, 2] = block[1, 0, 2, 0] = float("nan")  # both on padding
    cleaned, bad = finite(block, rows, keys)
    assert bad.tolist() == [False, False]
    assert torch.isfinite(cleaned).all()
    block[1, 0, 1, 3] = float("inf")
    assert finite(block, rows, keys)[1].tolist() == [False, True]


def test_a_batch_of_one_text_has_its_own_tokens_as_keys():
    model = tiny_model("bart")
    encoder = model.encoder(max_length=64, long="truncate", stack="encoder")
    batch = collate(encoder.encode([Example("1", (SENTENCES[0],))]))
    assert key_batch(batch) is batch
