"""What a survey keeps of every head equals plain loops over transformers' eager attention."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import headscope as hs
from headscope.corpus import from_texts, read
from headscope.encode import Batch, collate
from headscope.errors import UserError
from headscope.measures import Context, Position
from headscope.models import LayerView, Model, observe
from headscope.results import Atlas
from headscope.results.kept import PARTS, ExampleStore, KeptMap
from headscope.runs import forward
from headscope.runs.forward import Hearing, Pass, Place
from headscope.runs.keeping import Keeper, largest, sparse_map
from headscope.runs.survey import survey
from runs.keeping.plain import CAUSAL, Plain, digest, histogram, plain_examples, score, top_keys
from runs.test_circuits import Counting
from runs.test_survey import broken_bert
from tiny import HEADS, LAYERS, SENTENCES, tiny_model

KINDS = ("bert", "gpt2", "llama")
GRID = list(product(range(LAYERS), range(HEADS)))
LENGTHS = {"short": 48, "long": 300}


@cache
def texts(size: str) -> list[str]:
    """Forty short texts, or a dozen of which some have more tokens than are kept."""
    random = np.random.default_rng(4)
    words = " ".join(SENTENCES).split()
    count, longest = (40, 24) if size == "short" else (12, 240)
    return [
        " ".join(random.choice(words, random.integers(3, longest)).tolist()) for _ in range(count)
    ]


@cache
def model_of(kind: str) -> Model:
    longest = {"gpt2": "n_positions"}.get(kind, "max_position_embeddings")
    return tiny_model(kind, **{longest: 400})


@cache
def plain(kind: str, size: str) -> list[Plain]:
    return plain_examples(kind, model_of(kind), texts(size), LENGTHS[size])


def run(kind: str, size: str, **options: Any) -> Atlas:
    how = {"measures": "position", "max_length": LENGTHS[size], "batch_size": 3, "seed": 7}
    return survey(model_of(kind), from_texts(texts(size)), **(how | options))


@cache
def atlas(kind: str, size: str) -> Atlas:
    return run(kind, size, examples=12)


CASES = pytest.mark.parametrize(("kind", "size"), list(product(KINDS, LENGTHS)))


def name_of(layer: int, head: int) -> str:
    return f"{layer + 1}-{head + 1}"


def check_map(found: KeptMap, example: Plain, layer: int, head: int) -> None:
    """The eight largest weights of each row within the window, as far as rounding tells."""
    window = min(len(example), 128)
    assert len(found.counts) == len(found.text.tokens) == window
    assert found.text.length == len(example)
    dense, maps = found.dense(), example.maps[layer, head, :window, :window]
    for query in range(window):
        expected = top_keys(maps[query])
        kept = np.flatnonzero(dense[query])
        assert found.counts[query] == len(kept) <= 8
        np.testing.assert_allclose(dense[query, kept], maps[query, kept], atol=1e-4)
        weights = np.sort(dense[query, kept])[::-1]
        clear = [weight / 65535 for _, weight in expected if weight / 65535 > 0.0052]
        np.testing.assert_allclose(weights[: len(clear)], clear, atol=1e-4)


@CASES
def test_the_strongest_are_the_examples_with_the_largest_scores(kind, size):
    kept = atlas(kind, size).kept
    for layer, head in GRID:
        scores = {one.id: score(one, layer, head) for one in plain(kind, size)}
        order = sorted(plain(kind, size), key=lambda one: (-scores[one.id], one.number))
        found = kept.strongest(name_of(layer, head))
        assert len(found) == 3
        np.testing.assert_allclose(
            [one.score for one in found], [scores[one.id] for one in order[:3]], atol=1e-5
        )
        for one in found:
            assert one.score == pytest.approx(scores[one.text.id], abs=1e-5)
            check_map(one, plain(kind, size)[one.text.number - 1], layer, head)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@CASES
def test_the_sample_has_the_smallest_digests_and_all_heads_maps(kind, size):
    kept = atlas(kind, size).kept
    chosen = sorted(plain(kind, size), key=lambda one: digest(one, 7))[:12]
    for layer, head in GRID:
        found = kept.sample(name_of(layer, head))
        assert sorted(one.text.number for one in found) == sorted(one.number for one in chosen)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        for one in found:
            example = plain(kind, size)[one.text.number - 1]
            assert one.score == pytest.approx(score(example, layer, head), abs=1e-5)
            check_map(one, example, layer, head)


@CASES
def test_the_histogram_is_that_of_the_sample(kind, size):
    kept = atlas(kind, size).kept
    chosen = sorted(plain(kind, size), key=lambda one: digest(one, 7))[:12]
    for layer, head in GRID:
        offsets, share, uniform = kept.histogram(name_of(layer, head))
        assert offsets.tolist() == list(range(-16, 17))
        expected, even = histogram(chosen, layer, head, kind in CAUSAL)
        np.testing.assert_allclose(share, expected, atol=1e-5)
        np.testing.assert_allclose(uniform, even, atol=1e-5)
        assert share.sum() == pytest.approx(uniform.sum(), abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_rows_give_the_same(kind, monkeypatch):
    monkeypatch.setattr(observe, "WEIGHTS", 1)  # blocks of 16 rows, eight of them in the window
    alike(run(kind, "long", examples=12), atlas(kind, "long"))


def alike(one: Atlas, other: Atlas) -> None:
    """The same texts, and the same numbers within rounding."""
    assert one.kept.texts == other.kept.texts
    for layer, head in GRID:
        name = name_of(layer, head)
        for way in ("strongest", "sample"):
            mine, theirs = getattr(one.kept, way)(name), getattr(other.kept, way)(name)
            by_number = {one.text.number: one for one in theirs}
            assert {one.text.number for one in mine} == set(by_number)
            for found in mine:
                twin = by_number[found.text.number]
                assert found.score == pytest.approx(twin.score, abs=1e-5)
                near(found, twin)
        for mine, theirs in zip(one.kept.histogram(name), other.kept.histogram(name), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-5)


def near(one: KeptMap, other: KeptMap) -> None:
    """Equal weights; a key may be missing whose weight is at the edge of being kept."""
    mine, theirs = one.dense(), other.dense()
    both = (mine > 0) & (theirs > 0)
    np.testing.assert_allclose(mine[both], theirs[both], atol=1e-4)
    for query in range(len(mine)):
        edge = min(
            (row[row > 0].min() if (row > 0).sum() == 8 else 0.005)
            for row in (mine[query], theirs[query])
        )
        alone = (mine[query] > 0) != (theirs[query] > 0)
        assert (np.maximum(mine[query], theirs[query])[alone] < edge + 1e-4).all()


@pytest.mark.parametrize("size", [1, 16])
@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_neither_batch_size_nor_padding_changes_what_is_kept(kind, size):
    alike(run(kind, "short", examples=12, batch_size=size), atlas(kind, "short"))


def test_of_equal_weights_the_leftmost_are_kept():
    maps = torch.full((1, 2, 20), 0.05)
    maps[0, 1, [3, 17]] = 0.3
    found = sparse_map(largest(maps)[0].numpy(), 2)
    assert found.keys.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 3, 17, 0, 1, 2, 4, 5, 6]
    assert found.weights.tolist() == [3277] * 8 + [19660] * 2 + [3277] * 6


def test_weights_of_0_and_1_and_a_hair_more_are_kept_as_they_are():
    maps = torch.tensor([[[1.0 + 1e-6, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0049, 0.0051, 0.9]]])
    found = sparse_map(largest(maps)[0].numpy(), 3)
    assert found.counts.tolist() == [1, 1, 2]
    assert found.keys.tolist() == [0, 2, 2, 1]
    assert found.weights.tolist() == [65535, 65535, 58982, 334]


def test_of_equal_scores_the_first_examples_of_the_corpus_stay():
    same = ["the cat sat on the mat"] * 40
    kept = survey(
        model_of("bert"), from_texts(same), measures="position", batch_size=3, examples=8
    ).kept
    for layer, head in GRID:
        found = kept.strongest(name_of(layer, head))
        assert [one.text.number for one in found] == [1, 2]


def test_another_seed_draws_another_sample_and_the_strongest_stay():
    one, other = (run("bert", "short", examples=12, seed=seed).kept for seed in (7, 8))
    numbers = [{found.text.number for found in kept.sample("1-1")} for kept in (one, other)]
    assert numbers[0] != numbers[1]
    assert len(numbers[0]) == len(numbers[1]) == 12
    assert [found.text for found in one.strongest("2-2")] == [
        found.text for found in other.strongest("2-2")
    ]


# --- devices ---

DEPTH = {"bert": "num_hidden_layers", "gpt2": "n_layer"}


def made(kind: str, *, length: int = 60, **changes: Any) -> tuple[Pass, Keeper, Batch]:
    """A pass over six passages that keeps four."""
    model: Model = tiny_model(kind, **changes)
    stack = model.main_stack()
    encoder = model.encoder(max_length=length, long="truncate", stack=stack)
    batch = collate(encoder.encode(read("demo", limit=6)), pad=model.pad)
    context = Context(model.shape(stack), causal=model.causal(stack))
    keeper = Keeper(model, context)
    keeper.store = ExampleStore(context.shape.labels, context.shape.heads, 4, 1)
    keeper.keys = {id(item): PARTS * number for number, item in enumerate(batch.items, 1)}
    measure = Position().bind(context, [item.example for item in batch.items])
    return Pass(model, [measure], stack, context, keeper), keeper, batch


def found(survey: Pass, batch: Batch) -> Keeper:
    examples = survey.run(batch).examples
    assert examples is not None
    return examples


def copies(kind: str, layers: int) -> int:
    survey, _, batch = made(kind, **{DEPTH[kind]: layers})
    survey.run(batch)
    with Counting() as counting:
        survey.run(batch)
    return sum(counting.counts.values())


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_copies_grow_neither_with_layers_nor_with_blocks(kind, monkeypatch):
    few = copies(kind, 2)
    assert copies(kind, 5) == few > 0
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    cut = copies(kind, 2)
    assert copies(kind, 5) == cut <= few + 10


class Spread(Hearing):
    """Layers in turn on two devices; here both are the processor."""

    second = False

    def rows(self, view: LayerView, block: Tensor, first_row: int) -> None:
        self.second = view.layer % 2 == 1
        super().rows(view, block, first_row)

    def place(self, device: torch.device) -> Place:
        where = torch.device("cuda:1") if self.second else device
        if where not in self.places:
            here = super().place(device)
            groups = [group.on(self.batch, device) for group in self.groups]
            self.places[where] = replace(here, groups=groups) if self.second else here
        return self.places[where]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_model_spread_over_devices_keeps_the_same(kind, monkeypatch):
    survey, keeper, batch = made(kind)
    together = found(survey, batch)
    monkeypatch.setattr(forward, "Hearing", Spread)
    keeper.needed = {}
    apart = found(survey, batch)
    for name in ("scores", "entering", "chosen", "codes", "share", "even"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(together, name))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_no_more_than_the_window_is_held(kind, monkeypatch):
    monkeypatch.setattr(observe, "WEIGHTS", 1)
    longest = {"bert": "max_position_embeddings", "gpt2": "n_positions"}[kind]
    survey, _, batch = made(kind, length=400, **{longest: 400})
    assert batch.width > 2 * 128
    held: list[int] = []
    end = Keeper.end

    def spy(self: Keeper, view: LayerView) -> None:
        storages = {block.untyped_storage().data_ptr(): block for block in self.blocks}
        held.append(sum(block.untyped_storage().nbytes() for block in storages.values()))
        end(self, view)

    monkeypatch.setattr(Keeper, "end", spy)
    survey.run(batch)
    heads = 4
    assert held == [len(batch) * heads * 128 * 128 * 4] * 2


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_blocks_are_not_changed_after_they_are_handed_over(kind, monkeypatch):
    """They are held until the layer ends, while the model and other measures go on with them."""
    from headscope.measures import MEASURES

    survey, keeper, batch = made(kind)
    context = keeper.context
    items = [item.example for item in batch.items]
    without_head = [MEASURES[name] for name in MEASURES if "lm" not in MEASURES[name].needs]
    measures = [measure().bind(context, items) for measure in without_head]
    survey = Pass(survey.model, measures, survey.stack, context, keeper)
    copied: list[tuple[Tensor, Tensor]] = []
    rows, end = Keeper.rows, Keeper.end

    def copying(self: Keeper, view: LayerView, block: Tensor, first_row: int) -> None:
        rows(self, view, block, first_row)
        copied.append((self.blocks[-1], self.blocks[-1].clone()))

    def comparing(self: Keeper, view: LayerView) -> None:
        assert copied
        assert all(torch.equal(*pair) for pair in copied)
        copied.clear()
        end(self, view)

    monkeypatch.setattr(Keeper, "rows", copying)
    monkeypatch.setattr(Keeper, "end", comparing)
    survey.run(batch)


# --- examples of a corpus ---


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize("relation", ["", "det", "previous"])
def test_on_demand_gives_what_results_that_keep_all_give(kind, relation):
    model, corpus = tiny_model(kind), read("demo", limit=10)
    atlas = hs.survey(model, corpus, measures="position", max_length=60, batch_size=3)
    for head in ("1-2", "L1H3"):
        kept = atlas.examples(head, relation=relation, k=6)
        found = hs.examples(
            model, corpus, head, relation=relation, top=6, max_length=60, batch_size=4
        )
        assert list(found.columns) == list(kept.columns)
        for name in set(found.columns) & {"score", "attention"}:
            np.testing.assert_allclose(found[name], kept[name], atol=1e-4)
        same = ["rank", "id", "text", *(["found", "of", "direction"] if relation else [])]
        pd.testing.assert_frame_equal(pd.DataFrame(found[same]), pd.DataFrame(kept[same]))


def test_the_limit_counts_the_first_examples_and_progress_ends_at_it():
    told: list[tuple[int, int]] = []
    how = {"limit": 3, "batch_size": 1, "max_length": 60}
    how["progress"] = lambda done, total: told.append((done, total))
    found = hs.examples(tiny_model("bert"), list(SENTENCES), "1-1", **how)
    assert sorted(found["id"]) == ["1", "2", "3"]
    assert told[-1] == (3, 3)


def test_long_inputs_show_their_first_128_tokens():
    model = tiny_model("bert", max_position_embeddings=400)
    text = " ".join(SENTENCES * 4)
    found = hs.examples(model, [text], "2-1", max_length=400)
    kept = hs.survey(model, [text], measures="position", max_length=400)
    assert found["text"].tolist() == kept.examples("2-1")["text"].tolist()
    assert len(found["text"][0]) < len(text) / 2
    np.testing.assert_allclose(found["score"], kept.examples("2-1")["score"], atol=1e-5)


def test_examples_whose_attention_is_not_finite_are_left_out():
    found = hs.examples(
        broken_bert(), from_texts(["a dog", "who sat", "the cat"]), "1-1", max_length=24
    )
    assert sorted(found["id"]) == ["1", "3"]


def test_what_cannot_be_looked_for_is_an_error_before_the_model_is_run(tmp_path):
    model = tiny_model("bert")
    with pytest.raises(UserError, match="have no dependency trees") as caught:
        hs.examples("no-such-model", list(SENTENCES), "1-1", relation="det")
    assert "parse=True" in caught.value.hint
    with pytest.raises(UserError, match="unknown relation 'deet'; did you mean 'det'"):
        hs.examples("no-such-model", read("demo", limit=3), "1-1", relation="deet")
    with pytest.raises(UserError, match="the model has no head 3-1"):
        hs.examples(model, list(SENTENCES), "3-1", max_length=60)
    with pytest.raises(UserError, match="one head is needed here"):
        hs.examples(model, list(SENTENCES), "1-1,1-2", max_length=60)
    with pytest.raises(UserError, match="the number of examples must be 1 or more, got 0"):
        hs.examples(model, list(SENTENCES), "1-1", top=0, max_length=60)
    with pytest.raises(UserError, match="cross attention"):
        hs.examples(tiny_model("t5"), list(SENTENCES), "1-1", stack="cross", max_length=60)


def test_a_known_head_of_the_embedded_model_finds_determiners():
    found = hs.examples("demo", read("demo", limit=12), "3-9", relation="det", top=12)
    assert found["found"].sum() / found["of"].sum() > 0.8
    assert set(found["direction"]) == {"dependent → head word"}
    previous = hs.examples("demo", read("demo", limit=4), "1-3", relation="previous", top=4)
    assert previous["found"].sum() / previous["of"].sum() > 0.99
