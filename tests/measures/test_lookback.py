"""Attention of an answer to its context: against loops, in closed form, and of planted models."""

from __future__ import annotations

from math import nan

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpus import from_texts
from headscope.encode import Encoded, Encoder, collate
from headscope.errors import UserError
from headscope.labels import label_text
from headscope.measures import Context, Lookback
from headscope.models import LayerView, Shape
from planted import HEADS, planted_bert
from tiny import eager_run, tiny_model, tiny_tokenizer

PAIRS = [
    ("the cat sat on the mat, and the dog sat by the door.", "the cat sat on a mat."),
    ("a small bird sang.", "it sang in the old tree while rain fell on the roof."),
    ("she walked home.", "home."),
]


def loops(rows: list[list[float]], segments: list[int]) -> tuple[float, float]:
    """The share and the ratio of one map, from the paper's formula."""
    first = segments.index(1)
    shares, ratios = [], []
    for query, segment in enumerate(segments):
        if segment != 1:
            continue
        context = [rows[query][key] for key in range(first)]
        answer = [rows[query][key] for key in range(first, query + 1) if segments[key] == 1]
        shares.append(sum(context) / (sum(context) + sum(answer)))
        means = sum(context) / len(context), sum(answer) / len(answer)
        ratios.append(means[0] / sum(means))
    return sum(shares) / len(shares), sum(ratios) / len(ratios)


def encoded(kind: str) -> list[Encoded]:
    return list(Encoder(tiny_tokenizer(kind)).encode(from_texts(PAIRS)))


@pytest.mark.parametrize(("kind", "stack"), [("llama", "decoder"), ("bert", "encoder")])
def test_lookback_is_what_loops_over_eager_attention_give(kind, stack):
    model = tiny_model(kind)
    atlas = hs.survey(model, PAIRS, measures="lookback", max_length=60, batch_size=3)
    found = atlas.mean("lookback").transpose("layer", "head", "lookback")
    expected = np.zeros(found.shape)
    for item in encoded(kind):
        maps = eager_run(kind, collate([item]))[1][stack]
        for layer, heads in enumerate(maps):
            for head, rows in enumerate(heads[0].tolist()):
                values = loops(rows, item.segment.tolist())
                expected[layer, head] += np.array(values) / len(PAIRS)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert float(found.sel(lookback="share").std()) > 0


def uniform(item: Encoded, *, causal: bool) -> list[float]:
    """Both values under uniform attention, in a batch with a longer text."""
    batch = collate([item, max(encoded("llama"), key=len)])
    maps = torch.full((2, 1, batch.width, batch.width), torch.inf)  # in padding
    size = len(item)
    maps[0, 0, :size, :size] = 1 / size
    if causal:
        maps[0, 0, :size, :size] = (
            torch.ones(size, size).tril() / torch.arange(1, size + 1)[:, None]
        )
    maps[:, :, :, size:] = maps[1, 0] = 0.0
    measure = Lookback().bind(Context(Shape(1, 1, 1), causal=causal), [])
    view = LayerView("decoder", 0, maps, torch.zeros(2, batch.width, 1, 1), torch.nn.Identity())
    found: list[float] = measure.layer(view, maps, measure.prepare(batch, "cpu"))[0, 0].tolist()
    return found


@pytest.mark.parametrize("causal", [True, False])
def test_uniform_attention_has_the_contexts_share_of_the_tokens(causal):
    for item in encoded("llama"):
        segments = item.segment.tolist()
        context, answer = segments.index(1), segments.count(1)
        if segments[context:] != [1] * answer:  # the answer has no special tokens inside
            raise AssertionError(segments)
        share = np.mean([context / (context + so_far) for so_far in range(1, answer + 1)])
        np.testing.assert_allclose(uniform(item, causal=causal), [share, 0.5], rtol=1e-6)


def test_planted_heads_look_at_the_context_or_at_the_answer():
    pairs = [("the dog sat", "a cat saw it"), ("who sat", "it")]
    atlas = hs.survey(planted_bert(), pairs, measures="lookback", max_length=24)
    means = atlas.mean("lookback").sel(lookback="share")

    def of(name):
        layer, head = HEADS[name]
        return float(means.sel(layer=layer, head=head))

    assert of("cls") == pytest.approx(1)  # the start token stands before the answer
    assert of("current") == pytest.approx(0)
    # The first token of an answer looks at the [SEP] before it, the others within the answer.
    assert of("previous") == pytest.approx((1 / 4 + 1) / 2)


def test_an_answer_that_was_cut_off_does_not_count():
    [item] = Encoder(tiny_tokenizer("llama")).encode(from_texts(["the cat sat."]))
    np.testing.assert_equal(uniform(item, causal=True), [nan, nan])


def test_texts_without_an_answer_are_refused_and_values_have_words():
    with pytest.raises(UserError, match=r"the measure 'lookback' needs pair, which .* not have"):
        hs.survey("demo", ["the cat sat."], measures="lookback")
    atlas = hs.survey(tiny_model("llama"), PAIRS, measures="lookback", max_length=60)
    words = label_text("lookback", {"lookback": "share"}, atlas["lookback"].attrs)
    assert words == "share of attention on the context, not on the answer so far"
    assert atlas.find("lookback:share > 0 and lookback:ratio < 1")
