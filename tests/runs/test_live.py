"""The model behind the explorer, against transformers' own eager attention and hooks by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
)

from headscope.encode import collate
from headscope.errors import ModelError, UserError
from headscope.models import Model, load, wrap
from headscope.runs.live import LiveModel
from headscope.runs.live.text import LiveText
from tiny import HEADS, KINDS, LAYERS, WIDTH, eager_run, tiny_model, tiny_network, tiny_tokenizer

MASKED = LiveText("the cat sat on the [MASK] by the door.")
CAUSAL = LiveText("the cat sat on the mat, and the dog")
AUTO = {"bert": AutoModelForMaskedLM, "gpt2": AutoModelForCausalLM}
TEXTS = {"bert": MASKED, "gpt2": CAUSAL}


@cache
def live(kind: str) -> LiveModel:
    model = wrap(tiny_network(kind, auto=AUTO[kind]), tiny_tokenizer(kind), name=f"tiny-{kind}")
    return LiveModel(model)


def inputs(kind: str, text: LiveText) -> dict[str, Tensor]:
    coded = tiny_tokenizer(kind)(text.text, return_tensors="pt")
    return {name: coded[name] for name in coded if name != "token_type_ids"}


def projection(kind: str, network: Any, layer: int) -> Any:
    """The module that reads the outputs of a layer's heads, one after the other."""
    if kind == "bert":
        return network.bert.encoder.layer[layer].attention.output.dense
    return network.transformer.h[layer].attn.c_proj


@contextmanager
def replaced(network: Any, kind: str, off: list[tuple[int, int]], fill: Any) -> Iterator[None]:
    """Outputs of heads replaced before the projection: ``fill(layer, head, values)``."""

    def hook(layer: int) -> Callable[..., Any]:
        def change(_module: Any, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            values = given[0].clone()
            for where, head in off:
                if where == layer:
                    part = slice(head * WIDTH, (head + 1) * WIDTH)
                    values[..., part] = fill(layer, head, values[..., part])
            return (values, *given[1:])

        return change

    with ExitStack() as stack:
        for layer in range(LAYERS):
            handle = projection(kind, network, layer).register_forward_pre_hook(hook(layer))
            stack.callback(handle.remove)
        yield


def eager(kind: str, off: list[tuple[int, int]] = [], fill: Any = None) -> Any:  # noqa: B006
    """What transformers computes, with heads replaced by hand."""
    network = tiny_network(kind, auto=AUTO[kind])
    with torch.no_grad(), replaced(network, kind, off, fill):
        return network(**inputs(kind, TEXTS[kind]), output_attentions=True)


def at_of(kind: str) -> int:
    ids = inputs(kind, TEXTS[kind])["input_ids"][0].tolist()
    return ids.index(tiny_tokenizer(kind).mask_token_id) if kind == "bert" else len(ids) - 1


def probabilities(kind: str, output: Any) -> Any:
    return output.logits[0, at_of(kind)].double().softmax(-1).numpy()


def zero(_layer: int, _head: int, values: Tensor) -> Tensor:
    return torch.zeros_like(values)


@pytest.mark.parametrize("kind", [*KINDS, "gemma4", "gpt-oss", "qwen3.5"])
def test_maps_of_every_architecture_equal_eager_attention(kind):
    model = tiny_model(kind)
    text = LiveText("the cat sat on the mat, and the dog")
    for stack in model.stacks:
        if stack == "cross":
            continue
        found = LiveModel(model, stack=stack)
        batch = collate([found.read(text).encoded], pad=model.pad)
        if stack == "decoder" and model.encoder_decoder:
            ids = torch.from_numpy(batch.ids)
            with torch.no_grad():
                output = tiny_network(kind)(
                    input_ids=ids[:, 1:], decoder_input_ids=ids, output_attentions=True
                )
            expected = torch.stack(output.decoder_attentions)[:, 0].numpy()
        else:
            with torch.no_grad():
                expected = torch.stack(eager_run(kind, batch)[1][stack])[:, 0].numpy()
        maps = found.maps(text, [str(head) for head in found.shape.every_head])
        assert maps.dtype == np.uint16
        maps = maps.reshape(expected.shape) / 65535
        np.testing.assert_allclose(maps, expected, atol=0.5 / 65535 + 2e-6)
        small = found.changes(text, str(found.shape.every_head[0])).small
        assert small.shape == (*expected.shape[:2], *expected.shape[2:])


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_a_window_is_cut_from_the_whole_map(kind):
    whole = live(kind).maps(TEXTS[kind], "2-3,1-1")
    part = live(kind).maps(TEXTS[kind], "2-3,1-1", rows=(2, 5), keys=(1, 99))
    np.testing.assert_array_equal(part, whole[:, 2:5, 1:])


def carried(kind: str) -> np.ndarray:
    """Norm-weighted maps by hand: what each key sends through each head, as shares of a row."""
    network, values = tiny_network(kind, auto=AUTO[kind]), list[Tensor]()
    with ExitStack() as stack, torch.no_grad():
        for layer in range(LAYERS):
            if kind == "bert":
                module = network.bert.encoder.layer[layer].attention.self.value
            else:
                module = network.transformer.h[layer].attn.c_attn
            keep = module.register_forward_hook(lambda _one, _given, output: values.append(output))
            stack.callback(keep.remove)
        output = network(**inputs(kind, TEXTS[kind]), output_attentions=True)
    attention = torch.stack(output.attentions)[:, 0].numpy()
    found = np.zeros_like(attention)
    for layer, head, row in np.ndindex(attention.shape[:3]):
        weight = projection(kind, network, layer).weight.detach()
        written = weight.T if kind == "bert" else weight
        part = slice(head * WIDTH, (head + 1) * WIDTH)
        value = values[layer][0, :, -HEADS * WIDTH :][:, part]
        for key in range(attention.shape[3]):
            sent = attention[layer, head, row, key] * value[key] @ written[part]
            found[layer, head, row, key] = float(sent.norm())
    return found / found.sum(-1, keepdims=True)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_norm_weighted_maps_are_shares_of_what_keys_send(kind):
    expected = carried(kind)
    names = [f"{layer + 1}-{head + 1}" for layer in range(LAYERS) for head in range(HEADS)]
    found = live(kind).maps(TEXTS[kind], names, weights="norm").reshape(expected.shape)
    np.testing.assert_allclose(found / 65535, expected, atol=2e-5)
    assert (found != live(kind).maps(TEXTS[kind], names).reshape(expected.shape)).any()
    part = live(kind).maps(TEXTS[kind], "2-3", rows=(2, 5), keys=(1, 3), weights="norm")
    np.testing.assert_array_equal(part[0], found[1, 2, 2:5, 1:3])
    small = live(kind).thumbnails(TEXTS[kind], weights="norm")
    np.testing.assert_allclose(small / 255, np.sqrt(expected), atol=0.5 / 255 + 1e-4)
    assert (small != live(kind).thumbnails(TEXTS[kind])).any()
    changed = live(kind).changes(TEXTS[kind], "2-1", weights="norm").small
    # before the projection of the head that is off nothing changes
    np.testing.assert_allclose(changed[0].astype(int), small[0].astype(int), atol=1)
    np.testing.assert_allclose(changed[1, 1:].astype(int), small[1, 1:].astype(int), atol=1)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_predictions_equal_those_of_transformers(kind):
    expected = probabilities(kind, eager(kind))
    found = live(kind).predictions(TEXTS[kind])
    order = np.argsort(-expected)[:10]
    assert [one.id for one in found.choices] == order.tolist()
    np.testing.assert_allclose([one.before for one in found.choices], expected[order], rtol=1e-4)
    assert found.at == at_of(kind)
    assert found.divergence == 0
    assert [one.after for one in found.choices] == [one.before for one in found.choices]


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
@pytest.mark.parametrize(("how", "fill"), [("zero", zero), ("mean", None)])
def test_predictions_with_heads_off_equal_heads_replaced_by_hand(kind, how, fill):
    off = [(0, 1), (1, 2)]
    if how == "mean":  # of the pass in which all heads are on, over the tokens of the text
        seen: dict[tuple[int, int], Tensor] = {}

        def note(layer: int, head: int, values: Tensor) -> Tensor:
            seen[layer, head] = values.mean(1, keepdim=True)
            return values

        eager(kind, off, note)

        def fill(layer: int, head: int, values: Tensor) -> Tensor:
            return seen[layer, head].expand_as(values)

    before, after = probabilities(kind, eager(kind)), probabilities(kind, eager(kind, off, fill))
    found = live(kind).predictions(TEXTS[kind], off="1-2,2-3", how=how)
    places = [one.id for one in found.choices]
    np.testing.assert_allclose([one.before for one in found.choices], before[places], rtol=1e-4)
    np.testing.assert_allclose([one.after for one in found.choices], after[places], rtol=1e-4)
    assert found.divergence == pytest.approx(entropy(before, after), rel=1e-3)
    assert set(np.argsort(-before)[:5]) <= set(places)
    assert np.argmax(after) in places


def test_a_uniform_head_gives_the_mean_of_its_values():
    network = tiny_network("bert", auto=AutoModelForMaskedLM)
    values: list[Tensor] = []
    handle = network.bert.encoder.layer[1].attention.self.value.register_forward_hook(
        lambda _module, _given, output: values.append(output)
    )
    with torch.no_grad():
        network(**inputs("bert", MASKED))
    handle.remove()
    mean_value = values[0][0, :, 2 * WIDTH : 3 * WIDTH].mean(0)
    expected = probabilities(
        "bert", eager("bert", [(1, 2)], lambda _l, _h, one: mean_value.expand_as(one))
    )
    found = live("bert").predictions(MASKED, off="2-3", how="uniform")
    places = [one.id for one in found.choices]
    np.testing.assert_allclose([one.after for one in found.choices], expected[places], rtol=1e-4)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_each_head_off_in_turn_equals_single_passes_by_hand(kind):
    before = probabilities(kind, eager(kind))
    for layer in range(LAYERS):
        found = live(kind).effects(TEXTS[kind], layer + 1)
        expected = [
            entropy(before, probabilities(kind, eager(kind, [(layer, head)], zero)))
            for head in range(HEADS)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_changes_are_jensen_shannon_divergences_of_eager_maps(kind):
    before = torch.stack(eager(kind).attentions)[:, 0].double().numpy()
    after = torch.stack(eager(kind, [(0, 1)], zero).attentions)[:, 0].double().numpy()
    found = live(kind).changes(TEXTS[kind], "1-2")
    expected = np.nan_to_num(jensenshannon(before, after, axis=-1) ** 2)
    np.testing.assert_allclose(found.divergence, expected.mean(-1), atol=1e-6)
    assert found.divergence[0].max() == 0
    best = found.moves[0]
    assert (best.head.layer, best.head.head) == (1, int(found.divergence[1].argmax()))
    row = best.row
    text_rows = np.flatnonzero(~live(kind).read(TEXTS[kind]).special)
    assert expected[1, best.head.head, row] == expected[1, best.head.head, text_rows].max()
    gain = after[1, best.head.head, row] - before[1, best.head.head, row]
    assert (best.more[0], best.less[0]) == (gain.argmax(), gain.argmin())
    assert best.more[1:] == pytest.approx(
        (before[1, best.head.head, row, best.more[0]], after[1, best.head.head, row, best.more[0]]),
        abs=1e-5,
    )


def test_thumbnails_of_short_texts_are_the_maps_themselves():
    expected = torch.stack(eager("bert").attentions)[:, 0].numpy()
    found = live("bert").thumbnails(MASKED)
    np.testing.assert_allclose(found / 255, np.sqrt(expected), atol=0.5 / 255 + 1e-6)


def test_maps_and_thumbnails_with_heads_off_equal_eager_attention_with_heads_off():
    after = torch.stack(eager("bert", [(0, 1)], zero).attentions)[:, 0].numpy()
    small = live("bert").changes(MASKED, "1-2").small
    np.testing.assert_allclose(small / 255, np.sqrt(after), atol=0.5 / 255 + 1e-6)
    found = live("bert").maps(MASKED, "2-1", off="1-2") / 65535
    np.testing.assert_allclose(found[0], after[1, 0], atol=1e-5)


def test_thumbnails_of_long_texts_average_rows_and_add_up_keys():
    text = LiveText(" ".join(["the cat sat on the mat ,"] * 7))
    model = live("bert")
    whole = model.maps(text, "1-1,2-4") / 65535
    length, side = whole.shape[-1], 32
    assert length > side
    cells = np.arange(length) * side // length
    expected = np.zeros((2, side, side))
    for row in range(length):
        for key in range(length):
            expected[:, cells[row], cells[key]] += whole[:, row, key] / (cells == cells[row]).sum()
    small = model.thumbnails(text)
    np.testing.assert_allclose(
        small[[0, 1], [0, 3]] / 255, np.sqrt(expected), atol=0.5 / 255 + 2e-3
    )
    np.testing.assert_allclose(((small / 255.0) ** 2).sum(-1), 1.0, atol=0.1)


@pytest.mark.parametrize("how", ["mean", "uniform"])
def test_changes_agree_with_maps_for_every_way_of_switching_off(how):
    model, names = live("bert"), [f"2-{head}" for head in range(1, HEADS + 1)]
    before = model.maps(MASKED, names) / 65535
    after = model.maps(MASKED, names, off="1-2", how=how) / 65535
    expected = np.nan_to_num(jensenshannon(before, after, axis=-1) ** 2).mean(-1)
    found = model.changes(MASKED, "1-2", how=how).divergence
    assert expected.max() > 1e-4
    np.testing.assert_allclose(found[1], expected, rtol=0.02, atol=1e-5)


def test_the_layers_of_two_texts_are_kept_and_no_more():
    model = LiveModel(tiny_model("bert"))
    for number in range(20):
        model.thumbnails(LiveText("cat " * (number + 1)))
    assert len(model._texts) == 2


def test_words_group_their_pieces_and_a_mask_is_a_word():
    reading = live("bert").read(LiveText("the unhappiest [MASK], again"))
    assert reading.words == ["the", "unhappiest", "[MASK]", ",", "again"]
    assert reading.tokens[0] == "[CLS]"
    assert reading.tokens[-1] == "[SEP]"
    assert reading.unit[0] == reading.unit[-1] == -1
    assert [reading.tokens[place] for place in reading.masks] == ["[MASK]"]
    pieces = [one for one, unit in zip(reading.tokens, reading.unit, strict=True) if unit == 1]
    assert "".join(pieces) == "unhappiest"
    assert np.diff(reading.unit[1:-1]).min() >= 0


def test_generating_appends_the_most_likely_token_and_keeps_its_id():
    model, network = live("gpt2"), tiny_network("gpt2", auto=AutoModelForCausalLM)
    ids = inputs("gpt2", CAUSAL)["input_ids"]
    more: tuple[int, ...] = ()
    for _ in range(4):
        with torch.no_grad():
            expected = int(network(input_ids=ids).logits[0, -1].argmax())
        token, _name, probability, _ends = model.generate(CAUSAL._replace(more=more))
        assert token == expected
        assert 0 < probability <= 1
        more += (token,)
        ids = torch.cat([ids, torch.tensor([[token]])], 1)
    reading = model.read(CAUSAL._replace(more=more))
    assert reading.encoded.ids.tolist() == ids[0].tolist()


def test_a_text_beyond_the_models_length_says_how_long_it_is():
    with pytest.raises(UserError) as caught:
        live("bert").thumbnails(LiveText("cat " * 100))
    assert caught.value.message == (
        "the text has 102 tokens, and at most 64 can be read by tiny-bert here"
    )


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_text_is_an_error(text):
    with pytest.raises(UserError, match="the text is empty"):
        live("bert").read(LiveText(text))


def test_a_model_without_a_head_predicts_nothing():
    model = LiveModel(tiny_model("bert"))
    assert model.describe()["predicts"] == ""
    with pytest.raises(UserError, match="no language-model head and no classifier"):
        model.predictions(MASKED)
    assert model.maps(MASKED, "1-1").shape[1:] == (len(model.read(MASKED)),) * 2


def test_a_masked_model_without_a_mask_asks_for_one():
    with pytest.raises(UserError, match="no word is masked"):
        live("bert").predictions(LiveText("the cat sat"))


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_class_probabilities_equal_those_of_transformers(kind):
    def build() -> Any:
        changes = {"num_labels": 3}
        return tiny_network(kind, auto=AutoModelForSequenceClassification, **changes)

    model = LiveModel(wrap(build(), tiny_tokenizer(kind), name="classifier"))
    text = LiveText("the cat sat on the mat")
    with torch.no_grad():
        expected = build()(**inputs(kind, text)).logits[0].softmax(-1).numpy()
    found = model.predictions(text, off="1-1")
    assert model.describe()["predicts"] == "class"
    before = {one.id: one.before for one in found.choices}
    np.testing.assert_allclose([before[place] for place in range(3)], expected, rtol=1e-4)
    assert found.at == -1
    assert sum(one.after for one in found.choices) == pytest.approx(1)
    singly = [model.predictions(text, off=f"2-{head}").divergence for head in range(1, HEADS + 1)]
    np.testing.assert_allclose(model.effects(text, 2), singly, rtol=1e-3, atol=1e-7)
    assert model.changes(text, "1-1").divergence.shape == (LAYERS, HEADS)


def test_attention_that_is_not_finite_is_an_error():
    network = tiny_network("bert")
    with torch.no_grad():
        network.encoder.layer[0].attention.self.query.weight.fill_(float("nan"))
    model = LiveModel(wrap(network, tiny_tokenizer("bert"), name="broken"))
    with pytest.raises(ModelError, match="attention of broken is not finite"):
        model.thumbnails(LiveText("the cat"))


def test_a_pass_stops_in_the_layer_in_which_nobody_waits_any_more():
    model = LiveModel(tiny_model("bert"))
    calls = []

    class Gone(Exception):
        pass

    def check() -> None:
        calls.append(1)
        raise Gone

    with pytest.raises(Gone):
        model.answer("thumbnails", {"text": MASKED.text}, check)
    assert len(calls) == 1
    assert model.thumbnails(MASKED).shape[:2] == (LAYERS, HEADS)  # and the model still works


def test_only_the_layers_that_are_needed_are_computed():
    model = LiveModel(tiny_model("bert"))
    model.thumbnails(MASKED)
    layers = []
    for number in range(LAYERS):
        module = model.model.network.encoder.layer[number].attention.self.query
        module.register_forward_hook(lambda *_given, number=number: layers.append(number))
    model.maps(MASKED, "1-1")
    assert layers == [0]
    layers.clear()
    model.maps(MASKED, "2-1")
    assert layers == [1]


def test_requests_are_checked_and_answered_with_arrays():
    answers = live("bert")
    document, arrays = answers.answer(
        "maps", {"text": MASKED.text, "heads": ["1-2"], "rows": [0, 3], "keys": [0, 4]}
    )
    assert document == {"heads": ["1-2"]}
    assert arrays["weights"].shape == (1, 3, 4)
    for wrong in (
        {},
        {"text": 3, "heads": ["1-1"]},
        {"text": "a", "heads": []},
        {"text": "a", "heads": ["9-9"]},
        {"text": "a", "heads": ["1-1"], "rows": [5]},
        {"text": "a", "heads": ["1-1"], "rows": [50, 60]},
        {"text": "a", "heads": ["1-1"], "how": "off", "off": ["1-1"]},
        {"text": "a", "heads": ["1-1"], "file": "/etc/passwd"},
    ):
        with pytest.raises(UserError):
            answers.answer("maps", wrong)
    with pytest.raises(UserError, match="the action must be one of"):
        answers.answer("erase", {})


def test_checkpoints_are_loaded_with_the_head_they_were_saved_with(tmp_path):
    for auto, ending in (
        (AutoModelForMaskedLM, "ForMaskedLM"),
        (AutoModelForSequenceClassification, "ForSequenceClassification"),
        (None, "Model"),
    ):
        folder = tmp_path / ending
        network = tiny_network("bert", **({"auto": auto} if auto else {}))
        network.save_pretrained(folder)
        tiny_tokenizer("bert").save_pretrained(folder)
        with load(folder, head="own") as model:
            assert isinstance(model, Model)
            assert type(model.network).__name__ == f"Bert{ending}"


@pytest.mark.shared
def test_a_noun_is_lost_when_two_heads_of_a_real_model_are_off(shared):
    model = LiveModel(load(shared / "models" / "minilm-l6-mlm", head="own"))
    text = LiveText("She opened the old wooden door and closed the [MASK] again.")
    found = model.predictions(text, off="5-8,6-8")
    assert (found.choices[0].name, round(found.choices[0].before, 3)) == ("door", 0.327)
    assert found.choices[0].after < 0.02
    effects = np.array([model.effects(text, layer) for layer in range(1, 7)])
    assert np.unravel_index(effects.argmax(), effects.shape) == (4, 7)
